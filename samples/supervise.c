/* SPDX-License-Identifier: MIT */

/*
 * supervise.c - keep programs running: start them, start them again when they
 * fail, hand signals on.
 *
 *     supervise [--restarts N] [--pause-ms N] COMMAND [ARG...] [-- COMMAND ...]
 *
 * Each command has a keeper, an actor:
 *   started    it subscribes to the signals it hands on, then starts the program
 *   ended      with 0: done. Otherwise it is started again after a pause, twice as
 *              long each time, at most N times (3) without having run well
 *   SIGTERM, SIGINT, SIGQUIT  are handed on, and its end is final then, also when
 *              it is in a pause; SIGHUP, SIGUSR1 and SIGUSR2 are handed on
 *
 * Exits with the status of the first command that failed for good (128 and the
 * number of the signal, if it was one), or 0.
 */

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringmail/ringmail.h>

#define COMMANDS_MAX 32
#define PAUSE_MAX_NS (10 * RGM_NS_PER_S)
#define RAN_WELL_NS (10 * RGM_NS_PER_S) /* then its failures are forgotten */

extern char **environ;

static const int handed_on[] = {SIGTERM, SIGINT,  SIGQUIT,
                                SIGHUP,  SIGUSR1, SIGUSR2};
#define HANDED_ON (sizeof(handed_on) / sizeof(handed_on[0]))

static struct rgm_runtime *runtime;
static unsigned long restarts_max = 3;
static uint64_t pause_first_ns = 100 * RGM_NS_PER_MS;

struct again {
    struct rgm_message message;
};
RGM_MESSAGE(again);

struct keeper {
    struct rgm_actor actor;
    char *const *command;
    pid_t child; /* 0: in a pause */
    bool ending; /* its next end is final */
    unsigned long failures;
    uint64_t started_ns;
    struct rgm_identity pause; /* of the message that will start it again */
    struct rgm_child_wait wait;
    struct rgm_signal_guard guards[HANDED_ON];
};

RGM_FACTORY(keeper, keeper, keeper_make);
RGM_HOOK(keeper, keeper_started);
RGM_HOOK(keeper, keeper_stopped);
RGM_HANDLER(keeper, again, keeper_again);
RGM_HANDLER(keeper, rgm_signal, keeper_signal);
RGM_ANSWER(keeper, rgm_child_wait, keeper_ended);

static const struct rgm_handler keeper_handlers[] = {
    RGM_ON(keeper, again, keeper_again),
    RGM_ON(keeper, rgm_signal, keeper_signal),
};
static const struct rgm_behaviour keeper_behaviour = {
    .name = "keeper",
    .size_bytes = sizeof(struct keeper),
    RGM_HANDLERS(keeper_handlers),
    .factory = RGM_MAKE(keeper, keeper_make),
    .started = RGM_DO(keeper, keeper_started),
    .stopped = RGM_DO(keeper, keeper_stopped),
};

static int
keeper_make(struct keeper *self, const struct keeper *draft)
{
    self->command = draft->command;
    return 0;
}

/* A worker has all signals blocked: the program is to begin with none. In a group
 * of its own, so that a terminal's signals come from us alone. */
static int
program_start(char *const *command, pid_t *ret_child)
{
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int error = posix_spawnattr_init(&attributes);

    if (error != 0)
        return error;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (size_t i = 0; i < HANDED_ON; i++)
        sigaddset(&defaults, handed_on[i]);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    error = posix_spawnp(ret_child, command[0], NULL, &attributes, command,
                         environ);
    (void)posix_spawnattr_destroy(&attributes);
    return error;
}

static void
keeper_start(struct keeper *self)
{
    int error = program_start(self->command, &self->child);

    if (error != 0) {
        fprintf(stderr, "supervise: cannot start %s: %s\n", self->command[0],
                strerror(error));
        rgm_stop_with(self, error == ENOENT ? 127 : 126);
        return;
    }
    self->started_ns = rgm_now(&self->actor);
    printf("%s is %ld\n", self->command[0], (long)self->child);
    fflush(stdout);
    rgm_child_wait(&self->wait, rgm_here(self), RGM_CHILD_PROCESS, self->child,
                   0);
    rgm_ask(self, &self->wait, RGM_REPLY(keeper, rgm_child_wait, keeper_ended));
}

/* It is subscribed before there is a child that a signal could miss. */
static void
keeper_started(struct keeper *self)
{
    for (size_t i = 0; i < HANDED_ON; i++) {
        int status = rgm_signal_tell(runtime, handed_on[i], rgm_self(self),
                                     &self->guards[i]);

        if (status == 0)
            continue;
        fprintf(stderr, "supervise: no signals: %s\n", strerror(-status));
        rgm_stop_with(self, 125);
        return;
    }
    keeper_start(self);
}

static void
keeper_stopped(struct keeper *self)
{
    for (size_t i = 0; i < HANDED_ON; i++)
        rgm_signal_drop(&self->guards[i]);
}

/* Start it again after a while. Returns: whether it will be. */
static bool
keeper_pause(struct keeper *self)
{
    unsigned long doublings = self->failures - 1;
    uint64_t pause_ns = pause_first_ns;
    struct again *again;

    if (self->failures > restarts_max)
        return false;
    while (doublings-- > 0 && pause_ns < PAUSE_MAX_NS)
        pause_ns *= 2;
    if (pause_ns > PAUSE_MAX_NS)
        pause_ns = PAUSE_MAX_NS;
    again = again_take(&self->actor, 0);
    if (again == NULL)
        return false;
    if (rgm_send_after(self, rgm_self(self), again, pause_ns, &self->pause) !=
        0) {
        again_give(&self->actor, again);
        return false;
    }
    printf("%s again in %llu ms\n", self->command[0],
           (unsigned long long)(pause_ns / RGM_NS_PER_MS));
    fflush(stdout);
    return true;
}

static void
keeper_ended(struct keeper *self, struct rgm_child_wait *wait)
{
    bool killed = wait->event != RGM_CHILD_HAS_EXITED;
    int status = killed ? 128 + wait->status : wait->status;

    if (rgm_status(wait) != 0) {
        rgm_stop_with(self, 125);
        return;
    }
    self->child = 0;
    printf("%s ended: %s %d\n", self->command[0], killed ? "signal" : "status",
           wait->status);
    fflush(stdout);
    if (rgm_now(&self->actor) - self->started_ns >= RAN_WELL_NS)
        self->failures = 0;
    self->failures++;
    if (status == 0 || self->ending || !keeper_pause(self))
        rgm_stop_with(self, status);
}

static void
keeper_again(struct keeper *self, struct again *again)
{
    (void)again;
    if (!self->ending)
        keeper_start(self);
}

static void
keeper_signal(struct keeper *self, struct rgm_signal *signal)
{
    int number = signal->number;

    if (number == SIGTERM || number == SIGINT || number == SIGQUIT)
        self->ending = true;
    if (self->child != 0)
        (void)kill(self->child, number); /* it is ours until it was waited for */
    else if (self->ending)
        rgm_stop_with(self, 128 + number);
}

/* ---- the program ---- */

static unsigned long
number_of(const char *text)
{
    char *end;
    unsigned long number = text != NULL ? strtoul(text, &end, 10) : 0;

    if (text == NULL || end == text || *end != '\0' || number > 3600000) {
        fprintf(stderr, "supervise: not a number: %s\n",
                text != NULL ? text : "(none)");
        exit(2);
    }
    return number;
}

/* The options; then the commands, each as an argument vector of its own. */
static size_t
parse(char **words, char **ret_commands[COMMANDS_MAX])
{
    size_t count = 0;

    for (; *words != NULL && strncmp(*words, "--", 2) == 0; words += 2) {
        if (strcmp(*words, "--restarts") == 0)
            restarts_max = number_of(words[1]);
        else if (strcmp(*words, "--pause-ms") == 0)
            pause_first_ns = number_of(words[1]) * RGM_NS_PER_MS;
        else
            return 0;
    }
    while (*words != NULL && count < COMMANDS_MAX) {
        if (strcmp(*words, "--") == 0)
            return 0;
        ret_commands[count++] = words;
        while (*words != NULL && strcmp(*words, "--") != 0)
            words++;
        if (*words != NULL)
            *words++ = NULL;
    }
    return *words == NULL ? count : 0;
}

int
main(int argc, char **argv)
{
    const struct rgm_runtime_options options = {.workers = 1};
    struct rgm_task *tasks[COMMANDS_MAX];
    char **commands[COMMANDS_MAX];
    size_t count = parse(argv + (argc > 0), commands);
    int result = 0;

    if (count == 0) {
        fprintf(stderr, "usage: supervise [--restarts N] [--pause-ms N] "
                        "COMMAND [ARG...] [-- COMMAND [ARG...]]...\n");
        return 2;
    }
    if (rgm_runtime_create(&options, &runtime) != 0 ||
        rgm_runtime_start(runtime) != 0)
        return 125;
    for (size_t i = 0; i < count; i++) {
        struct keeper draft = {.command = commands[i]};

        if (rgm_runtime_task(runtime, 0, &keeper_behaviour, &draft,
                             &tasks[i]) != 0)
            return 125;
    }
    for (size_t i = 0; i < count; i++) {
        struct rgm_end end;

        if (rgm_task_join(tasks[i], &end) == 0 && result == 0)
            result = end.status;
    }
    rgm_runtime_stop(runtime);
    return rgm_runtime_wait(runtime) != 0 || rgm_runtime_destroy(runtime) != 0
               ? 125
               : result;
}
