/* SPDX-License-Identifier: MIT */

/*
 * supervise_test.c - do children go with their parent, and does a supervisor
 * start again what ends, in order and not for ever?
 *
 * Every child writes S when it starts and E when it has ended into one book. A
 * plain thread ends children by a question and waits for what must come.
 */

#include <pthread.h>
#include <sched.h>

#include <ringmail/supervisor.h>
#include <ringmail/task.h>

#include "actors/rig.h"

#define SEATS 8
#define PAGES 512

enum way { ENDS_DONE = 1, ENDS_WITH_5, ENDS_AT_FAULT };

struct book;

struct seat {
    struct book *book;
    struct script script;
    char name;
};

struct book {
    struct rgm_runtime *runtime;
    struct rgm_task *task; /* the supervisor */
    struct seat seats[SEATS];
    struct rgm_child children[SEATS];
    struct rgm_supervisor_options options;
    atomic_uint pages[PAGES]; /* what << 8 | who; 0: not written yet */
    atomic_uint used;
    struct rgm_parcel fault;
    atomic_uint faults_destroyed;
    atomic_int refuses; /* the factory of this seat, from now on */
};

static void
note_down(struct seat *seat, char what)
{
    unsigned page = atomic_fetch_add(&seat->book->used, 1);

    rgi_check(page < PAGES);
    atomic_store(&seat->book->pages[page],
                 (unsigned)what << 8 | (unsigned char)seat->name);
}

static void
seat_started(struct robot *self)
{
    note_down(test_of(self), 'S');
}

static void
seat_stopped(struct robot *self)
{
    note_down(test_of(self), 'E');
}

static struct book *fault_book;

static void
fault_destroy(struct rgm_parcel *parcel)
{
    (void)parcel;
    atomic_fetch_add(&fault_book->faults_destroyed, 1);
}

static void
seat_question(struct robot *self, struct question *question)
{
    struct seat *seat = test_of(self);
    enum way way = (enum way)question->value;

    rgm_reply(self, question, 0);
    switch (way) {
    case ENDS_DONE:
        rgm_stop(self);
        break;
    case ENDS_WITH_5:
        rgm_stop_with(self, 5);
        break;
    case ENDS_AT_FAULT:
        rgm_parcel_init(&seat->book->fault, fault_destroy);
        rgm_fail(self, &seat->book->fault);
        break;
    default:
        rgi_check(false);
    }
}

static int
seat_make(struct rgm_actor *actor, const void *argument)
{
    struct robot *self = (struct robot *)(void *)actor;
    const struct script *script = argument;
    struct seat *seat = script->test;

    if (atomic_load(&seat->book->refuses) == seat->name)
        return -ENOTSUP;
    self->script = script;
    return 0;
}

static struct rgm_behaviour seat_behaviour;

static void
book_open(struct book *book, unsigned children, enum rgm_strategy strategy,
          enum rgm_restart restart)
{
    memset(book, 0, sizeof(*book));
    fault_book = book;
    seat_behaviour = robot_behaviour;
    seat_behaviour.factory = seat_make;
    for (unsigned i = 0; i < SEATS; i++) {
        struct seat *seat = &book->seats[i];

        seat->book = book;
        seat->name = (char)('a' + i);
        seat->script = (struct script){.started = seat_started,
                                       .stopped = seat_stopped,
                                       .question = seat_question,
                                       .test = seat};
        book->children[i] = (struct rgm_child){.behaviour = &seat_behaviour,
                                               .argument = &seat->script,
                                               .worker = 1,
                                               .restart = restart};
    }
    book->options = (struct rgm_supervisor_options){
        .strategy = strategy,
        .children = book->children,
        .children_count = children,
        .period_ns = RGM_NEVER};
    fake_reset();
    book->runtime = rig_make(3);
    rgi_check(rgm_runtime_start(book->runtime) == 0);
}

static void
supervise(struct book *book)
{
    rgi_check(rgm_runtime_task(book->runtime, 0, &rgm_supervisor,
                               &book->options, &book->task) == 0);
}

static void
book_close(struct book *book)
{
    rgm_runtime_stop(book->runtime);
    rgi_check(rgm_runtime_wait(book->runtime) == 0);
    rig_destroy(book->runtime);
}

/* As "SaSbEaSa". */
static bool
reads(const struct book *book, const char *text)
{
    size_t pages = strlen(text) / 2;

    if (atomic_load(&book->used) != pages)
        return false;
    for (size_t i = 0; i < pages; i++)
        if (atomic_load(&book->pages[i]) !=
            ((unsigned)text[2 * i] << 8 | (unsigned char)text[2 * i + 1]))
            return false;
    return true;
}

static void
await(const struct book *book, const char *text)
{
    while (!reads(book, text)) {
        rgi_check(atomic_load(&book->used) * 2 <= strlen(text));
        sched_yield();
    }
}

static struct rgm_address
where(const struct book *book, uint32_t child)
{
    struct rgm_child_where question;
    int status;

    do {
        rgm_child_where_prepare(&question, rgm_task_who(book->task));
        question.child = child;
        status = rgm_call(book->runtime, &question);
        if (status != 0)
            sched_yield();
    } while (status == -ESRCH);
    rgi_check(status == 0);
    return question.address;
}

static void
end_child(const struct book *book, uint32_t child, enum way way)
{
    struct question question;

    int status;

    do { /* the one that has ended may not have been missed yet */
        question_prepare(&question, where(book, child));
        question.value = way;
        status = rgm_call(book->runtime, &question);
    } while (status == -ESRCH);
    rgi_check(status == 0);
}

/* ------------------------------------------------------------- strategies */

static void
one_for_one_starts_the_one_again(void)
{
    struct book book;

    book_open(&book, 3, RGM_ONE_FOR_ONE, RGM_RESTART_ALWAYS);
    supervise(&book);
    await(&book, "SaSbSc");
    end_child(&book, 1, ENDS_DONE);
    await(&book, "SaSbScEbSb");
    end_child(&book, 0, ENDS_AT_FAULT);
    await(&book, "SaSbScEbSbEaSa");
    rgm_task_drop(book.task);
    await(&book, "SaSbScEbSbEaSaEcEbEa");
    book_close(&book);
    rgi_check(atomic_load(&book.faults_destroyed) == 1);
}

static void
one_for_all_stops_in_reverse_and_starts_in_order(void)
{
    struct book book;

    book_open(&book, 3, RGM_ONE_FOR_ALL, RGM_RESTART_ALWAYS);
    supervise(&book);
    await(&book, "SaSbSc");
    end_child(&book, 1, ENDS_WITH_5);
    await(&book, "SaSbScEbEcEaSaSbSc");
    rgm_task_drop(book.task);
    await(&book, "SaSbScEbEcEaSaSbScEcEbEa");
    book_close(&book);
}

static void
rest_for_one_takes_those_behind_it(void)
{
    struct book book;

    book_open(&book, 4, RGM_REST_FOR_ONE, RGM_RESTART_ALWAYS);
    supervise(&book);
    await(&book, "SaSbScSd");
    end_child(&book, 1, ENDS_WITH_5);
    await(&book, "SaSbScSdEbEdEcSbScSd");
    rgm_task_drop(book.task);
    await(&book, "SaSbScSdEbEdEcSbScSdEdEcEbEa");
    book_close(&book);
}

static void
who_is_done_or_temporary_stays_down(void)
{
    struct book book;

    book_open(&book, 3, RGM_ONE_FOR_ONE, RGM_RESTART_FAILED);
    book.children[2].restart = RGM_RESTART_NEVER;
    supervise(&book);
    await(&book, "SaSbSc");
    end_child(&book, 0, ENDS_DONE);
    await(&book, "SaSbScEa");
    end_child(&book, 1, ENDS_WITH_5);
    await(&book, "SaSbScEaEbSb");
    end_child(&book, 2, ENDS_AT_FAULT);
    await(&book, "SaSbScEaEbSbEc");
    rgm_task_drop(book.task);
    await(&book, "SaSbScEaEbSbEcEb");
    book_close(&book);
}

/* -------------------------------------------------------------- giving up */

static void
too_many_restarts_end_the_supervisor_with_the_fault(void)
{
    struct rgm_end end;
    struct book book;

    book_open(&book, 2, RGM_ONE_FOR_ONE, RGM_RESTART_ALWAYS);
    book.options.restarts_max = 2;
    supervise(&book);
    await(&book, "SaSb");
    end_child(&book, 0, ENDS_WITH_5);
    await(&book, "SaSbEaSa");
    end_child(&book, 0, ENDS_WITH_5);
    await(&book, "SaSbEaSaEaSa");
    end_child(&book, 0, ENDS_AT_FAULT);
    rgi_check(rgm_task_join(book.task, &end) == 0);
    await(&book, "SaSbEaSaEaSaEaEb");
    rgi_check(end.kind == RGM_END_FAULT && end.parcel == &book.fault);
    rgi_check(atomic_load(&book.faults_destroyed) == 0);
    rgm_parcel_drop(end.parcel);
    rgi_check(atomic_load(&book.faults_destroyed) == 1);
    book_close(&book);
}

/* A restart that is long ago does not count. */
static void
restarts_are_counted_over_a_time(void)
{
    struct book book;

    book_open(&book, 1, RGM_ONE_FOR_ONE, RGM_RESTART_ALWAYS);
    book.options.restarts_max = 1;
    book.options.period_ns = 1;
    supervise(&book);
    for (unsigned i = 0; i < 20; i++) {
        end_child(&book, 0, ENDS_WITH_5);
        while (atomic_load(&book.used) < 2 * i + 3)
            sched_yield();
    }
    rgi_check(rgm_task_end(book.task) == NULL);
    rgm_task_drop(book.task);
    book_close(&book);
}

static void
no_restart_is_one_too_many(void)
{
    struct rgm_end end;
    struct book book;

    book_open(&book, 2, RGM_ONE_FOR_ONE, RGM_RESTART_ALWAYS);
    book.options.restarts_max = RGM_NO_RESTARTS;
    supervise(&book);
    await(&book, "SaSb");
    end_child(&book, 1, ENDS_WITH_5);
    rgi_check(rgm_task_join(book.task, &end) == 0);
    rgi_check(end.kind == RGM_END_DONE && end.status == 5);
    await(&book, "SaSbEbEa");
    book_close(&book);
}

static void
one_that_cannot_be_spawned_ends_the_others_in_reverse(void)
{
    struct rgm_end end;
    struct book book;

    book_open(&book, 4, RGM_ONE_FOR_ONE, RGM_RESTART_ALWAYS);
    atomic_store(&book.refuses, 'c');
    supervise(&book);
    rgi_check(rgm_task_join(book.task, &end) == 0);
    rgi_check(end.kind == RGM_END_DONE && end.status == -ENOTSUP);
    await(&book, "SaSbEbEa");
    book_close(&book);
}

/* More children than numbers are lent: they come in later turns, in order. */
static void
children_wait_for_numbers_in_order(void)
{
    static struct rgm_child many[200];
    struct book book;

    book_open(&book, 1, RGM_ONE_FOR_ONE, RGM_RESTART_ALWAYS);
    for (unsigned i = 0; i < 200; i++)
        many[i] = book.children[0];
    book.options.children = many;
    book.options.children_count = 200;
    supervise(&book);
    (void)where(&book, 199);
    while (atomic_load(&book.used) < 200)
        sched_yield();
    rgm_task_detach(book.task);
    book_close(&book);
    rgi_check(atomic_load(&book.used) == 400);
}

static void
bad_options_are_refused(void)
{
    struct rgm_address address;
    struct book book;

    book_open(&book, 1, RGM_ONE_FOR_ONE, RGM_RESTART_ALWAYS);
    rgi_check(rgm_runtime_spawn(book.runtime, 0, &rgm_supervisor, NULL,
                                &address) == -EINVAL);
    book.options.children_count = RGM_CHILDREN_MAX + 1;
    rgi_check(rgm_runtime_spawn(book.runtime, 0, &rgm_supervisor,
                                &book.options, &address) == -EINVAL);
    book.options.children_count = 1;
    book.options.restarts_max = 1025;
    rgi_check(rgm_runtime_spawn(book.runtime, 0, &rgm_supervisor,
                                &book.options, &address) == -EINVAL);
    book.options.restarts_max = 1024;
    book.children[0].behaviour = NULL;
    rgi_check(rgm_runtime_spawn(book.runtime, 0, &rgm_supervisor,
                                &book.options, &address) == -EINVAL);
    book_close(&book);
}

/* ------------------------------------------------------------------ a tree */

/* Every branch has two children, down to the third level, on other workers. */
struct branch {
    struct rgm_actor actor;
    struct tree *tree;
    uint32_t level;
    struct rgm_down downs[2];
    unsigned downs_count, children_count;
};

struct tree {
    uint32_t level;
    struct tree *below;
    atomic_uint *started;
    atomic_uint *stopped;
};

RGM_ANSWER(branch, rgm_down, branch_down);
RGM_HOOK(branch, branch_started);
RGM_HOOK(branch, branch_stopped);
RGM_FACTORY(branch, tree, branch_make);

static const struct rgm_behaviour branch_behaviour = {
    .name = "branch",
    .size_bytes = sizeof(struct branch),
    .factory = RGM_MAKE(branch, branch_make),
    .started = RGM_DO(branch, branch_started),
    .stopped = RGM_DO(branch, branch_stopped),
};

static int
branch_make(struct branch *self, const struct tree *tree)
{
    self->tree = (struct tree *)(uintptr_t)tree;
    return 0;
}

static void
branch_down(struct branch *self, struct rgm_down *down)
{
    rgi_check(rgm_status(down) == 0);
    rgi_check(down->end.kind == RGM_END_STOPPED);
    rgi_check(self->actor.life == RGI_LIFE_STOPPING);
    self->downs_count++;
}

static void
branch_started(struct branch *self)
{
    struct rgm_address address;

    for (uint32_t i = 0; self->tree->level < 2 && i < 2; i++) {
        int status = rgm_spawn_child(
            self, (rgm_worker_number(&self->actor) + i) % 2, &branch_behaviour,
            self->tree->below, &self->downs[i],
            RGM_REPLY(branch, rgm_down, branch_down), &address);

        /* A stop that was quicker than the spawn acts first. */
        rgi_check(status == (self->actor.life == RGI_LIFE_RUNNING
                                 ? 0
                                 : -ECANCELED));
        self->children_count += status == 0;
    }
    atomic_fetch_add(self->tree->started, 1);
}

/* After its children, however far they are. */
static void
branch_stopped(struct branch *self)
{
    rgi_check(self->downs_count == self->children_count);
    atomic_fetch_add(self->tree->stopped, 1);
}

static void
tsk_15_three_levels_on_two_workers_go_with_the_root(void)
{
    for (uint64_t left = rgi_scale(10000); left > 0; left--) {
        atomic_uint started = 0, stopped = 0;
        struct tree trees[3];
        struct rgm_runtime *runtime;
        struct rgm_task *task;

        for (uint32_t i = 0; i < 3; i++)
            trees[i] = (struct tree){i, &trees[i + 1 < 3 ? i + 1 : 2],
                                     &started, &stopped};
        fake_reset();
        runtime = rig_make(2);
        rgi_check(rgm_runtime_start(runtime) == 0);
        rgi_check(rgm_runtime_task(runtime, 0, &branch_behaviour, &trees[0],
                                   &task) == 0);
        while (left % 2 == 0 && atomic_load(&started) < 7)
            sched_yield(); /* else some are still on their way */
        rgm_task_stop(task);
        rgi_check(rgm_task_wait(task) == 0);
        rgi_check(atomic_load(&stopped) == atomic_load(&started));
        rgm_task_drop(task);
        rgm_runtime_stop(runtime);
        rgi_check(rgm_runtime_wait(runtime) == 0);
        rig_destroy(runtime);
    }
}

/* The order to stop and the child leave in the same breath. */
static void
spawn_and_stop(struct branch *self)
{
    struct rgm_address address;

    rgi_check(rgm_spawn_child(self, 1, &branch_behaviour, self->tree->below,
                              &self->downs[0],
                              RGM_REPLY(branch, rgm_down, branch_down),
                              &address) == 0);
    self->children_count = 1;
    rgm_stop(self);
}

RGM_HOOK(branch, spawn_and_stop);

static void
tsk_15_a_child_that_has_not_left_yet_goes_with_its_parent(void)
{
    static const struct rgm_behaviour hasty = {
        .name = "hasty",
        .size_bytes = sizeof(struct branch),
        .factory = RGM_MAKE(branch, branch_make),
        .started = RGM_DO(branch, spawn_and_stop),
        .stopped = RGM_DO(branch, branch_stopped),
    };
    atomic_uint started = 0, stopped = 0;
    struct tree leaf = {2, NULL, &started, &stopped};
    struct tree root = {1, &leaf, &started, &stopped};
    struct rgm_runtime *runtime;
    struct rgm_task *task;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_task(runtime, 0, &hasty, &root, &task) == 0);
    rgi_check(rgm_task_wait(task) == 0);
    rgi_check(atomic_load(&stopped) == 2); /* and so is the child */
    rgm_task_drop(task);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

static void
a_supervisor_ends_with_the_runtime(void)
{
    for (uint64_t left = rgi_scale(20000); left > 0; left--) {
        struct book book;

        book_open(&book, 4, RGM_ONE_FOR_ALL, RGM_RESTART_ALWAYS);
        for (uint32_t i = 0; i < 4; i++)
            book.children[i].worker = i % 3;
        supervise(&book);
        if (left % 2 == 0)
            (void)where(&book, 3);
        rgm_task_detach(book.task);
        book_close(&book);
    }
}

#define CASES(X)                                                              \
    X(supervise, one_for_one_starts_the_one_again)                            \
    X(supervise, one_for_all_stops_in_reverse_and_starts_in_order)            \
    X(supervise, rest_for_one_takes_those_behind_it)                          \
    X(supervise, who_is_done_or_temporary_stays_down)                         \
    X(supervise, too_many_restarts_end_the_supervisor_with_the_fault)         \
    X(supervise, restarts_are_counted_over_a_time)                            \
    X(supervise, no_restart_is_one_too_many)                                  \
    X(supervise, one_that_cannot_be_spawned_ends_the_others_in_reverse)       \
    X(supervise, children_wait_for_numbers_in_order)                          \
    X(supervise, bad_options_are_refused)                                     \
    X(supervise, tsk_15_three_levels_on_two_workers_go_with_the_root)         \
    X(supervise, tsk_15_a_child_that_has_not_left_yet_goes_with_its_parent)   \
    X(supervise, a_supervisor_ends_with_the_runtime)

RGI_CASES(CASES)
