/* SPDX-License-Identifier: MIT */

/* stepper_test.c - does a worker go on only when it is stepped, and always in
 * the same way? */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ringmail/signal.h>
#include <ringmail/stop.h>

#include "actors/stepped.h"

/* ---- an actor that counts, and tells another one ---- */

struct relay {
    struct rgm_address next;
    long seen;
    long sum;
};

static void
relay_note(struct robot *self, struct note *note)
{
    struct relay *relay = test_of(self);

    relay->seen++;
    relay->sum += note->value;
    if (relay->next.bits != 0)
        rgi_check(robot_send(self, relay->next, note->value) == 0);
}

static void
nobody_moves_unless_stepped(void)
{
    struct relay relay = {{0}, 0, 0};
    struct script script = {.note = relay_note, .test = &relay};
    struct stepped_guest guest;
    struct rgm_address address;
    struct stepped play;

    stepped_begin(&play, 2);
    address = stepped_spawn(&play, 1, &script);
    stepped_open(&play, &guest);
    rgi_check(stepped_is_at(&play, 1, "wait"));
    rgi_check(!stepped_step(&play, 1)); /* asleep: nothing has come */
    stepped_tell(&guest, address, 7);
    rgi_check(relay.seen == 0);
    rgi_check(!stepped_step(&play, 0)); /* not for that one */
    rgi_check(rgm_stepper_is_ready(play.stepper, play.players[1]));
    stepped_rest(&play, 1);
    rgi_check(relay.seen == 1 && relay.sum == 7);
    stepped_close(&guest);
    stepped_end(&play);
}

/* Both are held in the middle of a turn at the same time. */
static void
two_are_inside_their_turns_at_once(void)
{
    struct relay left = {{0}, 0, 0}, right = {{0}, 0, 0};
    struct script scripts[2] = {{.note = relay_note, .test = &left},
                                {.note = relay_note, .test = &right}};
    struct rgm_address addresses[2];
    struct stepped_guest guest;
    struct stepped play;

    stepped_begin(&play, 2);
    addresses[0] = stepped_spawn(&play, 0, &scripts[0]);
    addresses[1] = stepped_spawn(&play, 1, &scripts[1]);
    left.next = addresses[1];
    stepped_open(&play, &guest);
    stepped_tell(&guest, addresses[0], 1);
    stepped_tell(&guest, addresses[1], 2);
    rgi_check(stepped_to(&play, 0, "push"));
    rgi_check(stepped_to(&play, 1, "sleep"));
    rgi_check(left.seen == 1 && right.seen == 1);
    rgi_check(stepped_is_at(&play, 0, "push"));
    stepped_settle(&play);
    rgi_check(right.seen == 2 && right.sum == 3);
    stepped_close(&guest);
    stepped_end(&play);
}

/* ---- equal scripts, equal runs ---- */

struct dice {
    uint64_t state;
};

static uint32_t
dice_throw(void *argument, uint32_t count)
{
    struct dice *dice = argument;

    dice->state = dice->state * UINT64_C(6364136223846793005) + 1;
    return (uint32_t)(dice->state >> 33) % count;
}

/* A ring of three actors on three workers, and a note that goes round it;
 * who goes next is thrown. */
static uint64_t
run_of(uint64_t source)
{
    struct dice dice = {source};
    struct relay relays[3] = {{{0}, 0, 0}, {{0}, 0, 0}, {{0}, 0, 0}};
    struct script scripts[3];
    struct stepped_guest guest;
    struct rgm_address first;
    struct stepped play;
    uint64_t digest;

    stepped_begin(&play, 3);
    for (uint32_t i = 3; i-- > 0;) {
        scripts[i] = (struct script){.note = relay_note, .test = &relays[i]};
        first = stepped_spawn(&play, i, &scripts[i]);
        if (i > 0)
            relays[i - 1].next = first;
    }
    rgm_stepper_choose(play.stepper, dice_throw, &dice);
    play.chosen = true;
    stepped_open(&play, &guest);
    for (long i = 0; i < 4; i++)
        stepped_tell(&guest, first, i);
    stepped_settle(&play);
    rgi_check(relays[2].seen == 4 && relays[2].sum == 6);
    stepped_close(&guest);
    digest = rgm_stepper_digest(play.stepper);
    rgm_stepper_choose(play.stepper, NULL, NULL);
    stepped_end(&play);
    return digest;
}

static void
same_choices_same_run(void)
{
    uint64_t first = run_of(1);
    unsigned others = 0;

    for (uint64_t source = 1; source <= 10; source++) {
        uint64_t digest = run_of(source);

        rgi_check(digest == run_of(source));
        others += digest != first;
    }
    rgi_check(others >= 5); /* or nothing was chosen */
}

/* ---- time ---- */

struct nap {
    struct rgm_sleep sleep;
    uint64_t woken_ns;
};

static void on_woken(struct robot *self, struct rgm_sleep *sleep);

RGM_ANSWER(robot, rgm_sleep, on_woken);

static void
nap_note(struct robot *self, struct note *note)
{
    struct nap *nap = test_of(self);

    rgm_sleep_for(&nap->sleep, rgm_worker_address(0), (uint64_t)note->value);
    rgm_ask(self, &nap->sleep, RGM_REPLY(robot, rgm_sleep, on_woken));
}

static void
on_woken(struct robot *self, struct rgm_sleep *sleep)
{
    struct nap *nap = test_of(self);

    rgi_check(rgm_status(sleep) == 0);
    nap->woken_ns = rgm_now(&self->actor);
}

static void
time_is_the_scripts(void)
{
    struct nap nap = {.woken_ns = 0};
    struct script script = {.note = nap_note, .test = &nap};
    struct stepped_guest guest;
    struct stepped play;
    uint64_t begin_ns;

    stepped_begin(&play, 1);
    begin_ns = rgm_script_now(play.script);
    stepped_open(&play, &guest);
    stepped_tell(&guest, stepped_spawn(&play, 0, &script),
                 1000000 * (long)RGM_NS_PER_MS);
    stepped_settle(&play);
    rgm_script_advance(play.script, 1000000 * RGM_NS_PER_MS - 1);
    stepped_settle(&play);
    rgi_check(nap.woken_ns == 0);
    rgi_check(rgm_script_jump(play.script));
    stepped_settle(&play);
    rgi_check(nap.woken_ns == begin_ns + 1000000 * RGM_NS_PER_MS);
    stepped_close(&guest);
    stepped_end(&play);
}

/* ---- players of the test's own ---- */

struct caller {
    struct stepped *play;
    struct rgm_address whom;
    struct question question;
    int status;
};

static void
call(void *argument)
{
    struct caller *caller = argument;

    question_prepare(&caller->question, caller->whom);
    caller->status = rgm_call(caller->play->runtime, &caller->question);
}

static void
keep_it(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
    *(struct robot **)test_of(self) = self;
}

static void
answer_kept(struct robot *self, struct note *note)
{
    (void)note;
    rgi_check(rgm_answer(self, self->token, 0) == 0);
}

static void
a_plain_thread_is_played(void)
{
    struct robot *keeper = NULL;
    struct script script = {
        .question = keep_it, .note = answer_kept, .test = &keeper};
    struct stepped_guest guest;
    struct caller caller;
    struct stepped play;
    int player;

    stepped_begin(&play, 1);
    caller = (struct caller){.play = &play, .status = 1};
    caller.whom = stepped_spawn(&play, 0, &script);
    player = rgm_stepper_play(play.stepper, "caller", call, &caller);
    rgi_check(player >= 0);
    stepped_settle(&play);
    rgi_check(keeper != NULL && caller.status == 1);
    rgi_check(strcmp(rgm_stepper_at(play.stepper, (uint32_t)player), "futex") ==
              0);
    stepped_open(&play, &guest);
    stepped_tell(&guest, caller.whom, 0);
    stepped_settle(&play);
    rgi_check(caller.status == 0);
    rgi_check(strcmp(rgm_stepper_at(play.stepper, (uint32_t)player), "over") ==
              0);
    stepped_close(&guest);
    stepped_end(&play);
}

/* ---- run, with worker 0 on the caller's thread ---- */

static void
send_to_oneself_and_stop(struct robot *self)
{
    rgm_stop(self);
    *(bool *)test_of(self) = true;
}

static void
worker_0_may_be_the_stepping_thread(void)
{
    bool started = false;
    struct script root = {.started = send_to_oneself_and_stop,
                          .test = &started};
    struct rgm_runtime_options options = {.workers = 3};
    struct stepped play;

    memset(&play, 0, sizeof(play));
    rgi_check(rgm_stepper_create(&play.stepper) == 0);
    rgi_check(rgm_script_create(&play.script) == 0);
    options.provider = &rgm_provider_scripted;
    options.provider_argument = play.script;
    play.runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_run(play.runtime, &robot_behaviour, &root) == 0);
    rgi_check(started);
    stepped_leave(&play);
}

/* ---- what needs a thread that is none of the stepper's ---- */

static void
who_plays_has_no_thread_for_signals_or_for_the_end(void)
{
    struct rgm_signal_guard guard = {NULL};
    struct stepped play;

    stepped_begin(&play, 1);
    rgi_check(rgm_signal_stop(play.runtime, SIGTERM, &guard) == -ENOTSUP);
    rgi_check(rgm_runtime_drop(play.runtime) == -ENOTSUP);
    rgm_runtime_stop(play.runtime);
    rgi_check(rgm_runtime_wait(play.runtime) == 0);
    rgi_check(rgm_runtime_drop(play.runtime) == 0); /* all is over */
    rgm_stepper_destroy(play.stepper);
    rgm_script_destroy(play.script);
    rgi_check(guard.subscription == NULL && rgi_memory_live() == 0);
}

/* ---- what cannot go on ---- */

static void
wait_for_nobody(void)
{
    struct relay relay = {{0}, 0, 0};
    struct script script = {.note = relay_note, .test = &relay};
    struct stepped play;

    stepped_begin(&play, 1);
    (void)stepped_spawn(&play, 0, &script);
    (void)rgm_runtime_wait(play.runtime); /* nobody has stopped it */
}

static void
a_stall_is_found(void)
{
    pid_t child = fork();
    int status = 0;

    rgi_check(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        (void)freopen("/dev/null", "w", stderr);
        wait_for_nobody();
        _exit(0);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    rgi_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
misuse_is_refused(void)
{
    struct rgm_stepper *stepper, *second = NULL;
    char text[8] = "x";

    for (unsigned long nth = 1;; nth++) {
        int status;

        rgi_memory_fail_nth(nth);
        status = rgm_stepper_create(&stepper);
        if (!rgi_memory_fail_off()) {
            rgi_check(status == 0);
            break;
        }
        rgi_check(status == -ENOMEM);
    }
    rgi_check(rgm_stepper_create(&second) == -EDEADLK && second == NULL);
    rgi_check(rgm_stepper_find(stepper, "worker 0") == -ENOENT);
    rgi_check(rgm_stepper_count(stepper) == 0);
    rgi_check(rgm_stepper_settle(stepper) == 0);
    rgm_stepper_describe(stepper, text, sizeof(text));
    rgi_check(text[0] == '\0');
    for (unsigned i = 0; i < 3; i++) { /* the table, the player, its fiber */
        rgi_memory_fail_nth(i == 0 ? 1 : 2);
        rgi_check(rgm_stepper_play(stepper, "x", call, NULL) == -ENOMEM);
        rgi_check(rgi_memory_fail_off());
    }
    rgm_stepper_destroy(stepper);
    rgm_stepper_destroy(NULL);
    rgi_check(rgi_memory_live() == 0);
}

#define CASES(X)                                                               \
    X(stepper, nobody_moves_unless_stepped)                                    \
    X(stepper, two_are_inside_their_turns_at_once)                             \
    X(stepper, same_choices_same_run)                                          \
    X(stepper, time_is_the_scripts)                                            \
    X(stepper, a_plain_thread_is_played)                                       \
    X(stepper, worker_0_may_be_the_stepping_thread)                            \
    X(stepper, who_plays_has_no_thread_for_signals_or_for_the_end)             \
    X(stepper, a_stall_is_found)                                               \
    X(stepper, misuse_is_refused)

RGI_CASES(CASES)
