/* SPDX-License-Identifier: MIT */

/* commands_test.c - does a command by identity find what it names, once, and
 * nothing else? */

#include <pthread.h>
#include <unistd.h>

#include <ringmail/identity.h>

#include "actors/stepped.h"

/* ---- an actor that asks for a listen, and tells its identity ---- */

struct asking {
    struct rgm_address where;   /* whom it asks */
    struct rgm_identity identity;
    int identified;
    int status; /* of the answer; 1: none yet */
    bool stops;  /* with the answer */
    bool sleeps; /* it asks for a sleep instead */
    uint64_t deadline_ns;
    pid_t thread;
};

static void on_listened(struct robot *self, struct rgm_listen *listen);
static void on_slept(struct robot *self, struct rgm_sleep *sleep);

RGM_ANSWER(robot, rgm_listen, on_listened);
RGM_ANSWER(robot, rgm_sleep, on_slept);

static void
ask_and_identify(struct robot *self, struct note *note)
{
    struct asking *asking = test_of(self);

    (void)note;
    asking->status = 1;
    if (asking->sleeps) {
        rgm_sleep_until(&self->sleep, asking->where, asking->deadline_ns);
        rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_slept));
        asking->identified =
            rgm_identify(self, &self->sleep, &asking->identity);
        return;
    }
    fake_prepare(&self->listen, &self->listener, asking->where);
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_listened));
    asking->identified = rgm_identify(self, &self->listen, &asking->identity);
}

static void
on_listened(struct robot *self, struct rgm_listen *listen)
{
    struct asking *asking = test_of(self);

    asking->status = rgm_status(listen);
    if (asking->stops)
        rgm_stop(self);
    self->listener = (struct rgm_listener){.socket = {.open = 0}};
}

static void
on_slept(struct robot *self, struct rgm_sleep *sleep)
{
    struct asking *asking = test_of(self);

    asking->status = rgm_status(sleep);
}

/* ---- an actor that commands ---- */

struct commanding {
    struct rgm_identity identity;
    struct rgm_cancellation cancellation;
    struct rgm_retiming retiming;
    uint64_t deadline_ns; /* 0: cancels */
    bool detour; /* sends itself a note first */
    int status;           /* 1: none yet */
    unsigned answers;
};

static void on_cancelled(struct robot *self, struct rgm_cancellation *command);
static void on_retimed(struct robot *self, struct rgm_retiming *command);

RGM_ANSWER(robot, rgm_cancellation, on_cancelled);
RGM_ANSWER(robot, rgm_retiming, on_retimed);

static void
command(struct robot *self, struct note *note)
{
    struct commanding *commanding = test_of(self);

    (void)note;
    if (commanding->detour) {
        commanding->detour = false;
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
        return;
    }
    commanding->status = 1;
    if (commanding->deadline_ns != 0) {
        rgm_retime_identity(&commanding->retiming, commanding->identity,
                            commanding->deadline_ns);
        rgm_ask(self, &commanding->retiming,
                RGM_REPLY(robot, rgm_retiming, on_retimed));
        return;
    }
    rgm_cancel_identity(&commanding->cancellation, commanding->identity);
    rgm_ask(self, &commanding->cancellation,
            RGM_REPLY(robot, rgm_cancellation, on_cancelled));
}

static void
on_cancelled(struct robot *self, struct rgm_cancellation *answer)
{
    struct commanding *commanding = test_of(self);

    commanding->status = rgm_status(answer);
    commanding->answers++;
}

static void
on_retimed(struct robot *self, struct rgm_retiming *answer)
{
    struct commanding *commanding = test_of(self);

    commanding->status = rgm_status(answer);
    commanding->answers++;
}

/* ---- the stage: an asker, and a commander on each worker ---- */

struct theatre {
    struct stepped play;
    struct stepped_guest guest;
    struct asking asking;
    struct commanding commanding[3];
    struct script scripts[4];
    struct rgm_address asker;
    struct rgm_address commanders[3];
};

/* The asker is on worker 0 and asks worker 1. */
static void
theatre_open(struct theatre *theatre)
{
    memset(theatre, 0, sizeof(*theatre));
    theatre->asking.where = rgm_worker_address(1);
    stepped_begin(&theatre->play, 3);
    theatre->scripts[3] = (struct script){.note = ask_and_identify,
                                          .test = &theatre->asking};
    theatre->asker = stepped_spawn(&theatre->play, 0, &theatre->scripts[3]);
    for (uint32_t i = 0; i < 3; i++) {
        theatre->scripts[i] =
            (struct script){.note = command, .test = &theatre->commanding[i]};
        theatre->commanders[i] =
            stepped_spawn(&theatre->play, i, &theatre->scripts[i]);
    }
    stepped_open(&theatre->play, &theatre->guest);
}

static void
theatre_close(struct theatre *theatre)
{
    stepped_close(&theatre->guest);
    stepped_end(&theatre->play);
}

/* The asker asks; nobody else moves. */
static void
asks(struct theatre *theatre)
{
    stepped_tell(&theatre->guest, theatre->asker, 0);
    stepped_rest(&theatre->play, 0);
    rgi_check(theatre->asking.identified == 0);
    rgi_check(theatre->asking.status == 1);
}

/* What the commander of a worker is to do when that is stepped. */
static void
tells(struct theatre *theatre, uint32_t worker)
{
    theatre->commanding[worker].identity = theatre->asking.identity;
    stepped_tell(&theatre->guest, theatre->commanders[worker], 0);
}

static uint64_t
replays(struct theatre *theatre)
{
    return stepped_counters(&theatre->play, RGM_ANY_WORKER).commands_replayed;
}

/* How many operations the script has in its hands. */
static size_t
begun(struct theatre *theatre)
{
    return rgm_script_count(theatre->play.script, RGM_SCRIPT_ANY);
}

static uint32_t
named(struct theatre *theatre, uint32_t worker)
{
    return rgi_names_count(theatre->play.runtime->workers[worker]);
}

/* Its answer is -ESRCH, or what it should be; it is one. */
static void
check_told(struct theatre *theatre, uint32_t worker, int status)
{
    rgi_check(theatre->commanding[worker].answers == 1);
    rgi_check(theatre->commanding[worker].status == status);
    theatre->commanding[worker].answers = 0;
}

/* Worker 1's own actor cancels what lies in worker 1's inbox, published and not
 * yet taken: the cancel goes behind it, once. */
static void
overtake(struct theatre *theatre, bool detour)
{
    uint64_t before = replays(theatre);

    theatre->commanding[1].detour = detour;
    tells(theatre, 1);
    rgi_check(stepped_to(&theatre->play, 1, "run"));
    if (detour)
        rgi_check(stepped_to(&theatre->play, 1, "run"));
    asks(theatre);
    theatre->commanding[1].identity = theatre->asking.identity;
    rgi_check(begun(theatre) == 0); /* it is in the inbox */
    stepped_settle(&theatre->play);
    check_told(theatre, 1, 0);
    rgi_check(theatre->asking.status == -ECANCELED);
    rgi_check(replays(theatre) == before + 1);
    rgi_check(named(theatre, 1) == 0);
}

/* Whichever side worker 1 serves first in its next turn: not the one that it
 * served last in this one. */
static void
mbx_03_cancel_read_first_goes_behind_the_submit(void)
{
    struct theatre theatre;

    theatre_open(&theatre);
    overtake(&theatre, false);
    overtake(&theatre, true);
    theatre_close(&theatre);
}

/* Behind all that is there, not in front: what lies between is begun, too. */
static void
mbx_03_replayed_at_the_tail(void)
{
    struct asking other = {.where = rgm_worker_address(1)};
    struct script script = {.note = ask_and_identify, .test = &other};
    struct rgm_address second;
    struct theatre theatre;

    theatre_open(&theatre);
    second = stepped_spawn(&theatre.play, 0, &script);
    tells(&theatre, 1);
    rgi_check(stepped_to(&theatre.play, 1, "run"));
    stepped_tell(&theatre.guest, second, 0); /* the first in the inbox */
    asks(&theatre);                          /* the second */
    theatre.commanding[1].identity = theatre.asking.identity;
    stepped_settle(&theatre.play);
    check_told(&theatre, 1, 0);
    rgi_check(theatre.asking.status == -ECANCELED && other.status == 1);
    rgi_check(begun(&theatre) == 1 && named(&theatre, 1) == 1);
    theatre.commanding[1].identity = other.identity;
    stepped_tell(&theatre.guest, theatre.commanders[1], 0);
    stepped_settle(&theatre.play);
    check_told(&theatre, 1, 0);
    rgi_check(other.status == -ECANCELED && named(&theatre, 1) == 0);
    theatre_close(&theatre);
}

/* Known when it comes: applied at once, from the third place and from its own. */
static void
cancels_what_it_finds_from_anywhere(void)
{
    struct theatre theatre;

    theatre_open(&theatre);
    for (uint32_t worker = 0; worker < 3; worker++) {
        asks(&theatre);
        stepped_settle(&theatre.play);
        rgi_check(begun(&theatre) == 1 && named(&theatre, 1) == 1);
        tells(&theatre, worker);
        stepped_settle(&theatre.play);
        check_told(&theatre, worker, 0);
        rgi_check(theatre.asking.status == -ECANCELED);
        rgi_check(named(&theatre, 1) == 0);
    }
    rgi_check(replays(&theatre) == 0);
    theatre_close(&theatre);
}

/* An operation of the asker's own worker is in no table until it is named. */
static void
operation_of_the_own_worker_has_an_identity_too(void)
{
    struct theatre theatre;
    struct rgm_identity old;

    theatre_open(&theatre);
    theatre.asking.where = rgm_worker_address(0);
    asks(&theatre);
    rgi_check(named(&theatre, 0) == 1);
    old = theatre.asking.identity;
    tells(&theatre, 2);
    stepped_settle(&theatre.play);
    check_told(&theatre, 2, 0);
    rgi_check(theatre.asking.status == -ECANCELED);
    rgi_check(named(&theatre, 0) == 0);
    asks(&theatre);
    rgi_check(theatre.asking.identity.number != old.number);
    theatre.asking.identity = old;
    tells(&theatre, 2);
    stepped_settle(&theatre.play);
    check_told(&theatre, 2, -ESRCH);
    rgi_check(theatre.asking.status == 1); /* the new one is out */
    rgm_script_complete(theatre.play.script,
                        rgm_script_find(theatre.play.script, RGM_SCRIPT_ANY, 0),
                        -EACCES);
    stepped_settle(&theatre.play);
    rgi_check(theatre.asking.status == -EACCES && named(&theatre, 0) == 0);
    theatre_close(&theatre);
}

static void
ends(struct theatre *theatre, int status)
{
    rgm_script_complete(theatre->play.script,
                        rgm_script_find(theatre->play.script, RGM_SCRIPT_ANY,
                                        0),
                        status);
    stepped_settle(&theatre->play);
    rgi_check(theatre->asking.status == status);
}

static void
mbx_04_second_miss_is_returned(void)
{
    struct theatre theatre;

    theatre_open(&theatre);
    asks(&theatre);
    stepped_settle(&theatre.play);
    ends(&theatre, -EACCES);
    for (uint32_t worker = 0; worker < 3; worker++) {
        tells(&theatre, worker);
        stepped_settle(&theatre.play);
        check_told(&theatre, worker, -ESRCH);
        rgi_check(replays(&theatre) == worker + 1); /* once each */
    }
    rgi_check(named(&theatre, 1) == 0);
    theatre_close(&theatre);
}

/* ---- a million commands for what has ended ---- */

struct insisting {
    struct rgm_cancellation cancellation;
    struct rgm_identity identity;
    uint64_t left;
    uint64_t missed;
};

static void on_missed(struct robot *self, struct rgm_cancellation *command);

RGM_ANSWER(robot, rgm_cancellation, on_missed);

static void
insist(struct robot *self, struct note *note)
{
    struct insisting *insisting = test_of(self);

    (void)note;
    rgm_cancel_identity(&insisting->cancellation, insisting->identity);
    rgm_ask(self, &insisting->cancellation,
            RGM_REPLY(robot, rgm_cancellation, on_missed));
}

static void
on_missed(struct robot *self, struct rgm_cancellation *answer)
{
    struct insisting *insisting = test_of(self);

    insisting->missed += rgm_status(answer) == -ESRCH;
    if (--insisting->left > 0)
        rgm_ask(self, answer, RGM_REPLY(robot, rgm_cancellation, on_missed));
}

static void
mbx_04_a_million_misses_leave_nothing(void)
{
    struct insisting insisting = {.left = rgi_scale(1000000)};
    struct script script = {.note = insist, .test = &insisting};
    uint64_t count = insisting.left;
    struct rgm_address address;
    struct theatre theatre;
    size_t live;

    theatre_open(&theatre);
    asks(&theatre);
    stepped_settle(&theatre.play);
    ends(&theatre, -EACCES);
    insisting.identity = theatre.asking.identity;
    address = stepped_spawn(&theatre.play, 1, &script);
    live = rgi_memory_live();
    stepped_tell(&theatre.guest, address, 0);
    stepped_settle(&theatre.play);
    rgi_check(insisting.left == 0 && insisting.missed == count);
    rgi_check(replays(&theatre) == count);
    rgi_check(named(&theatre, 1) == 0 && rgi_memory_live() == live);
    theatre_close(&theatre);
}

/* The cancel is held before its push while its operation ends and the same
 * record is asked again: it must not take the one for the other. */
static void
mbx_11_late_command_does_not_hit_the_record_again(void)
{
    struct theatre theatre;
    struct rgm_operation *first;

    theatre_open(&theatre);
    asks(&theatre);
    stepped_settle(&theatre.play);
    first = rgm_script_find(theatre.play.script, RGM_SCRIPT_ANY, 0);
    tells(&theatre, 2);
    rgi_check(stepped_to(&theatre.play, 2, "push"));
    rgm_script_complete(theatre.play.script, first, -EACCES);
    stepped_rest(&theatre.play, 1);
    stepped_rest(&theatre.play, 0);
    rgi_check(theatre.asking.status == -EACCES);
    asks(&theatre);
    stepped_rest(&theatre.play, 1);
    rgi_check(rgm_script_find(theatre.play.script, RGM_SCRIPT_ANY, 0) ==
              first); /* the same memory */
    stepped_settle(&theatre.play);
    check_told(&theatre, 2, -ESRCH);
    rgi_check(theatre.asking.status == 1 && begun(&theatre) == 1);
    ends(&theatre, -EACCES);
    theatre_close(&theatre);
}

/* Applied on the owner's thread and nowhere else: nothing changes before that
 * one is stepped. */
static void
mbx_09_cancel_and_timer_update_travel_to_the_owner(void)
{
    struct theatre theatre;
    struct rgm_script *script;

    theatre_open(&theatre);
    script = theatre.play.script;
    theatre.asking.sleeps = true;
    theatre.asking.deadline_ns = rgm_script_now(script) + 1000;
    asks(&theatre);
    stepped_settle(&theatre.play);
    theatre.commanding[2].deadline_ns = rgm_script_now(script) + 500;
    tells(&theatre, 2);
    stepped_rest(&theatre.play, 2); /* sooner */
    rgm_script_advance(script, 499);
    stepped_rest(&theatre.play, 1);
    stepped_settle(&theatre.play);
    check_told(&theatre, 2, 0);
    rgi_check(theatre.asking.status == 1);
    rgm_script_advance(script, 1);
    stepped_settle(&theatre.play);
    rgi_check(theatre.asking.status == 0);

    theatre.asking.deadline_ns = rgm_script_now(script) + 100;
    asks(&theatre);
    stepped_settle(&theatre.play);
    theatre.commanding[2].deadline_ns = rgm_script_now(script) + 300;
    tells(&theatre, 2);
    stepped_settle(&theatre.play); /* later */
    check_told(&theatre, 2, 0);
    rgm_script_advance(script, 299);
    stepped_settle(&theatre.play);
    rgi_check(theatre.asking.status == 1);
    theatre.commanding[2].deadline_ns = 0;
    tells(&theatre, 2); /* a cancel */
    stepped_rest(&theatre.play, 2);
    stepped_rest(&theatre.play, 0);
    rgi_check(theatre.asking.status == 1); /* the owner has not moved */
    stepped_rest(&theatre.play, 1);
    stepped_settle(&theatre.play);
    check_told(&theatre, 2, 0);
    rgi_check(theatre.asking.status == -ECANCELED);
    theatre_close(&theatre);
}

/* A time that has come is not moved any more; what is no sleep has none. */
static void
retiming_has_its_refusals(void)
{
    struct theatre theatre;
    struct rgm_script *script;

    theatre_open(&theatre);
    script = theatre.play.script;
    asks(&theatre);
    stepped_settle(&theatre.play);
    theatre.commanding[1].deadline_ns = rgm_script_now(script) + 500;
    tells(&theatre, 1);
    stepped_settle(&theatre.play);
    check_told(&theatre, 1, -EINVAL); /* a listen */
    ends(&theatre, -EACCES);
    theatre.asking.sleeps = true;
    theatre.asking.deadline_ns = rgm_script_now(script) + 100;
    asks(&theatre);
    stepped_settle(&theatre.play);
    theatre.commanding[1].deadline_ns = RGM_NEVER;
    tells(&theatre, 1);
    stepped_settle(&theatre.play);
    check_told(&theatre, 1, -EINVAL);
    theatre.commanding[1].deadline_ns = rgm_script_now(script) + 500;
    tells(&theatre, 1);
    rgi_check(stepped_to(&theatre.play, 1, "run"));
    rgm_script_advance(script, 100); /* due, and not collected */
    stepped_settle(&theatre.play);
    check_told(&theatre, 1, -ESRCH);
    rgi_check(theatre.asking.status == 0);
    theatre_close(&theatre);
}

/* ---- identities and their refusals ---- */

struct checking {
    struct rgm_listen second;
    struct rgm_listener listeners[2];
    struct question question;
    int status[4];
    int cancelled; /* 1: not yet */
    struct rgm_cancellation cancellation;
    struct rgm_identity identity;
};

static void on_second(struct robot *self, struct rgm_listen *listen);
static void on_passed(struct robot *self, struct rgm_cancellation *command);

RGM_ANSWER(robot, rgm_listen, on_second);
RGM_ANSWER(robot, rgm_cancellation, on_passed);

/* One message of allowance: the second waits, commands do not. */
static void
check_identities(struct robot *self, struct note *note)
{
    struct checking *checking = test_of(self);
    struct rgm_identity none;

    (void)note;
    question_prepare(&checking->question, rgm_self(self));
    checking->status[0] = rgm_identify(self, &checking->question, &none);
    fake_prepare(&self->listen, &checking->listeners[0],
                 rgm_worker_address(1));
    checking->status[1] = rgm_identify(self, &self->listen, &none);
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_second));
    checking->status[2] =
        rgm_identify(self, &self->listen, &checking->identity);
    fake_prepare(&checking->second, &checking->listeners[1],
                 rgm_worker_address(1));
    rgm_ask(self, &checking->second, RGM_REPLY(robot, rgm_listen, on_second));
    checking->status[3] = rgm_identify(self, &checking->second, &none);
    rgm_cancel_identity(&checking->cancellation, checking->identity);
    checking->cancelled =
        rgm_try_ask(self, &checking->cancellation,
                    RGM_REPLY(robot, rgm_cancellation, on_passed)) == 0
            ? 1
            : 2;
    rgi_check(rgm_identify(self, &checking->cancellation, &none) == -EINVAL);
}

static void
on_second(struct robot *self, struct rgm_listen *listen)
{
    (void)self;
    rgi_check(rgm_status(listen) == -ECANCELED);
}

static void
on_passed(struct robot *self, struct rgm_cancellation *answer)
{
    struct checking *checking = test_of(self);

    checking->cancelled = rgm_status(answer);
    rgm_cancel(self, &checking->second);
}

static void
commands_need_no_allowance(void)
{
    struct rgm_runtime_options options = {.workers = 2, .lane_messages = 1};
    struct checking checking = {.cancelled = 3};
    struct script script = {.note = check_identities, .test = &checking};
    struct stepped_guest guest;
    struct stepped play;

    stepped_begin_with(&play, &options);
    stepped_open(&play, &guest);
    stepped_tell(&guest, stepped_spawn(&play, 0, &script), 0);
    stepped_settle(&play);
    rgi_check(checking.status[0] == -EINVAL); /* no operation */
    rgi_check(checking.status[1] == -ESRCH);  /* at home */
    rgi_check(checking.status[2] == 0);
    rgi_check(checking.status[3] == -EAGAIN); /* in line */
    rgi_check(checking.cancelled == 0);
    stepped_close(&guest);
    stepped_end(&play);
}

static void
plain_thread_cancels_by_identity(void)
{
    struct rgm_identity none = {{0}, 0};
    struct rgm_runtime *runtime;
    struct theatre theatre;

    theatre_open(&theatre);
    runtime = theatre.play.runtime;
    asks(&theatre);
    rgi_check(rgm_runtime_cancel(runtime, theatre.asking.identity) == 0);
    stepped_settle(&theatre.play);
    rgi_check(theatre.asking.status == -ECANCELED);
    rgi_check(rgm_runtime_cancel(runtime, theatre.asking.identity) == -ESRCH);
    rgi_check(rgm_runtime_cancel(runtime, none) == -EINVAL);
    stepped_close(&theatre.guest);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_cancel(runtime, theatre.asking.identity) == -EPIPE);
    stepped_leave(&theatre.play);
}

static void
mbx_10_commands_need_no_memory(void)
{
    struct theatre theatre;

    theatre_open(&theatre);
    asks(&theatre);
    stepped_settle(&theatre.play);
    tells(&theatre, 2);
    rgi_memory_fail_nth(1);
    stepped_settle(&theatre.play);
    rgi_check(!rgi_memory_fail_off()); /* nothing was asked for */
    check_told(&theatre, 2, 0);
    rgi_check(theatre.asking.status == -ECANCELED);
    theatre_close(&theatre);
}

static void
go_on(struct robot *self)
{
    (void)self;
}

/* A worker that drains begins nothing for others, and still obeys: what is out
 * there has to end somehow. */
static void
draining_worker_obeys(void)
{
    struct theatre theatre;

    theatre_open(&theatre);
    theatre.scripts[3].retiring = go_on;
    theatre.asking.where = rgm_worker_address(0);
    theatre.asking.stops = true;
    asks(&theatre);
    stepped_close(&theatre.guest);
    rgm_runtime_stop(theatre.play.runtime);
    stepped_settle(&theatre.play);
    rgi_check(theatre.asking.status == 1);
    rgi_check(rgm_runtime_cancel(theatre.play.runtime,
                                 theatre.asking.identity) == 0);
    stepped_settle(&theatre.play);
    rgi_check(theatre.asking.status == -ECANCELED);
    stepped_end(&theatre.play);
}

/* As soon as the identity is known to anybody, its submission is out. */
static void
identity_is_given_when_the_submit_is_pushed(void)
{
    struct theatre theatre;

    theatre_open(&theatre);
    stepped_tell(&theatre.guest, theatre.asker, 0);
    while (theatre.asking.identity.number == 0)
        rgi_check(stepped_step(&theatre.play, 0));
    tells(&theatre, 1);
    stepped_rest(&theatre.play, 1);
    check_told(&theatre, 1, 0);
    stepped_settle(&theatre.play);
    rgi_check(theatre.asking.status == -ECANCELED);
    theatre_close(&theatre);
}

/* ---- seven threads, real ones ---- */

#define STRANGERS 7
#define SLEEPERS 4

struct crowd {
    pthread_mutex_t lock;
    struct rgm_identity out[SLEEPERS]; /* under the lock */
    uint64_t wished[SLEEPERS]; /* the number last cancelled; under the lock */
    struct rgm_runtime *runtime;
    uint64_t rounds;  /* of each sleeper */
    uint64_t answers; /* worker 0's */
    uint64_t cancelled;
    _Atomic bool over;
    _Atomic uint64_t hits, misses;
};

struct sleeper {
    struct crowd *crowd;
    unsigned number;
    uint64_t left;
};

static void on_rested(struct robot *self, struct rgm_sleep *sleep);

RGM_ANSWER(robot, rgm_sleep, on_rested);

static void
rest(struct robot *self, struct sleeper *sleeper)
{
    struct crowd *crowd = sleeper->crowd;
    struct rgm_identity identity;
    int status;

    rgm_sleep_for(&self->sleep, rgm_worker_address(1),
                  sleeper->left % 3 * 20000);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_rested));
    status = rgm_identify(self, &self->sleep, &identity);
    rgi_check(status == 0);
    pthread_mutex_lock(&crowd->lock);
    crowd->out[sleeper->number] = identity;
    pthread_mutex_unlock(&crowd->lock);
}

static void
rest_first(struct robot *self)
{
    rest(self, test_of(self));
}

/* Who was cancelled was wished to be, by that number and no older one. */
static void
on_rested(struct robot *self, struct rgm_sleep *sleep)
{
    struct sleeper *sleeper = test_of(self);
    struct crowd *crowd = sleeper->crowd;

    if (rgm_status(sleep) == -ECANCELED) {
        crowd->cancelled++;
        pthread_mutex_lock(&crowd->lock);
        rgi_check(crowd->wished[sleeper->number] ==
                  crowd->out[sleeper->number].number);
        pthread_mutex_unlock(&crowd->lock);
    } else {
        rgi_check(rgm_status(sleep) == 0);
    }
    crowd->answers++;
    if (--sleeper->left > 0)
        rest(self, sleeper);
    else
        rgm_stop(self);
}

static void *
cancel_strangers(void *argument)
{
    struct crowd *crowd = argument;
    unsigned turn = 0;

    while (!crowd->over) {
        struct rgm_identity identity;
        int status;

        pthread_mutex_lock(&crowd->lock);
        identity = crowd->out[turn % SLEEPERS];
        crowd->wished[turn % SLEEPERS] = identity.number;
        pthread_mutex_unlock(&crowd->lock);
        turn++;
        if (identity.number == 0)
            continue;
        status = rgm_runtime_cancel(crowd->runtime, identity);
        rgi_check(status == 0 || status == -ESRCH);
        if (status == 0)
            crowd->hits++;
        else
            crowd->misses++;
    }
    return NULL;
}

static void
can_17_seven_threads_cancel_what_is_recycled(void)
{
    struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .rounds = 50 + rgi_scale(100000)};
    struct rgm_runtime_options options = {.workers = 2,
                                          .provider = &fake_class};
    struct sleeper sleepers[SLEEPERS];
    struct script scripts[SLEEPERS];
    pthread_t threads[STRANGERS];

    fake_reset();
    crowd.runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(crowd.runtime) == 0);
    for (unsigned i = 0; i < STRANGERS; i++)
        rgi_check(pthread_create(&threads[i], NULL, cancel_strangers,
                                 &crowd) == 0);
    for (unsigned i = 0; i < SLEEPERS; i++) {
        struct rgm_address address;

        sleepers[i] = (struct sleeper){&crowd, i, crowd.rounds};
        scripts[i] =
            (struct script){.started = rest_first, .test = &sleepers[i]};
        rgi_check(rgm_runtime_spawn(crowd.runtime, 0, &robot_behaviour,
                                    &scripts[i], &address) == 0);
    }
    for (;;) { /* until all sleepers have stopped */
        struct rgm_counters counters;

        rgi_check(rgm_runtime_counters(crowd.runtime, 0, &counters) == 0);
        if (counters.stopped == SLEEPERS)
            break;
        sched_yield();
    }
    crowd.over = true;
    for (unsigned i = 0; i < STRANGERS; i++)
        rgi_check(pthread_join(threads[i], NULL) == 0);
    rgm_runtime_stop(crowd.runtime);
    rgi_check(rgm_runtime_wait(crowd.runtime) == 0);
    rgi_check(crowd.answers == crowd.rounds * SLEEPERS);
    rgi_check(crowd.hits > 0 && crowd.misses > 0 && crowd.cancelled > 0);
    rig_destroy(crowd.runtime);
}

#define CASES(X)                                                               \
    X(commands, mbx_03_cancel_read_first_goes_behind_the_submit)               \
    X(commands, mbx_03_replayed_at_the_tail)                                   \
    X(commands, cancels_what_it_finds_from_anywhere)                           \
    X(commands, operation_of_the_own_worker_has_an_identity_too)               \
    X(commands, mbx_04_second_miss_is_returned)                                \
    X(commands, mbx_04_a_million_misses_leave_nothing)                         \
    X(commands, mbx_09_cancel_and_timer_update_travel_to_the_owner)            \
    X(commands, mbx_10_commands_need_no_memory)                                \
    X(commands, draining_worker_obeys)                                         \
    X(commands, identity_is_given_when_the_submit_is_pushed)                   \
    X(commands, mbx_11_late_command_does_not_hit_the_record_again)             \
    X(commands, retiming_has_its_refusals)                                     \
    X(commands, commands_need_no_allowance)                                    \
    X(commands, plain_thread_cancels_by_identity)                              \
    X(commands, can_17_seven_threads_cancel_what_is_recycled)

RGI_CASES(CASES)
