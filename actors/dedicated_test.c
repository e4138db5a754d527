/* SPDX-License-Identifier: MIT */

/*
 * dedicated_test.c - does an actor with a thread of its own live and end as any
 * other, and is nothing left of the thread?
 *
 * A case is a book that the actors write into; the provider is the fake one.
 */

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ringmail/dedicated.h>
#include <ringmail/resize.h>
#include <ringmail/stop.h>
#include <ringmail/supervisor.h>
#include <ringmail/task.h>

#include "actors/rig.h"

#define PLACES_MAX 64

static long
thread_id(void)
{
    return syscall(SYS_gettid);
}

/* What happened, to be read by the test's thread. */
struct book {
    struct rgm_runtime *runtime;
    struct rgm_runtime_options options;
    atomic_uint asked, answered, spawned, started, stopped, retired, downs;
    atomic_int status;       /* of the last answer */
    atomic_int spawn_status; /* of the last spawn */
    atomic_long threads[PLACES_MAX];
    atomic_uint loners[PLACES_MAX]; /* that started on each number */
    atomic_uint members;            /* that they have spawned */
    atomic_uint pooled[PLACES_MAX]; /* of those that started */
    atomic_int end_kind;
    _Atomic uint64_t address;
    void (*in_answer)(struct book *book, struct rgm_actor *self,
                      uint32_t worker);
};

static void
book_open(struct book *book, uint32_t workers, uint32_t workers_max)
{
    fake_reset();
    memset(book, 0, sizeof(*book));
    book->options = (struct rgm_runtime_options){.workers = workers,
                                                 .workers_max = workers_max,
                                                 .provider = &fake_class};
    book->runtime = rig_make_with(&book->options);
    rgi_check(rgm_runtime_start(book->runtime) == 0);
}

static void
await_count(const atomic_uint *count, unsigned wanted)
{
    while (atomic_load(count) < wanted)
        sched_yield();
}

/* All threads but those of the workers that take placements are gone. */
static void
await_census(struct book *book)
{
    while (rgm_runtime_threads(book->runtime) !=
           rgm_runtime_workers(book->runtime))
        sched_yield();
}

static void
book_close(struct book *book)
{
    rgm_runtime_stop(book->runtime);
    rgi_check(rgm_runtime_wait(book->runtime) == 0);
    rgi_check(atomic_load(&fake_plan.opened) == atomic_load(&fake_plan.closed));
    rgi_check(atomic_load(&book->started) == atomic_load(&book->stopped));
    rig_destroy(book->runtime);
}

/* ------------------------------------------------------------------- actors */

/* Has a thread of its own; spawns four on the others, plainly and by turns. */
struct loner {
    struct rgm_actor actor;
    struct book *book;
    unsigned wanted; /* members in all */
    struct rgm_sleep sleep;
};

struct member {
    struct rgm_actor actor;
    struct book *book;
};

RGM_HOOK(loner, loner_started);
RGM_HOOK(loner, loner_settled);
RGM_HOOK(loner, loner_retiring);
RGM_HOOK(loner, loner_stopped);
RGM_HANDLER(loner, note, loner_note);
RGM_HANDLER(loner, question, loner_question);
RGM_FACTORY(loner, book, loner_make);
RGM_HOOK(member, member_started);
RGM_FACTORY(member, book, member_make);

static const struct rgm_handler loner_handlers[] = {
    RGM_ON(loner, note, loner_note),
    RGM_ON(loner, question, loner_question),
};
static const struct rgm_behaviour loner_behaviour = {
    .name = "loner",
    .size_bytes = sizeof(struct loner),
    RGM_HANDLERS(loner_handlers),
    .factory = RGM_MAKE(loner, loner_make),
    .started = RGM_DO(loner, loner_started),
    .settled = RGM_DO(loner, loner_settled),
    .retiring = RGM_DO(loner, loner_retiring),
    .stopped = RGM_DO(loner, loner_stopped),
};
static const struct rgm_behaviour member_behaviour = {
    .name = "member",
    .size_bytes = sizeof(struct member),
    .factory = RGM_MAKE(member, member_make),
    .started = RGM_DO(member, member_started),
};

static int
loner_make(struct loner *self, const struct book *book)
{
    self->book = (struct book *)(uintptr_t)book;
    return 0;
}

static int
member_make(struct member *self, const struct book *book)
{
    self->book = (struct book *)(uintptr_t)book;
    return 0;
}

static void
member_started(struct member *self)
{
    uint32_t number = rgm_worker_number(&self->actor);

    rgi_check((rgm_runtime_live(self->book->runtime) & rgi_bit(number)) != 0);
    atomic_store(&self->book->threads[number], thread_id());
    atomic_fetch_add(&self->book->pooled[number], 1);
}

/* -EAGAIN: the numbers of the others are still on their way. */
static void
loner_spawns(struct loner *self)
{
    struct rgm_address address;
    int status = 0;

    while (atomic_load(&self->book->members) < self->wanted && status == 0) {
        status =
            atomic_load(&self->book->members) % 2
                ? rgm_spawn(self, &member_behaviour, self->book, &address)
                : rgm_spawn_next(self, &member_behaviour, self->book, &address);
        if (status == 0)
            atomic_fetch_add(&self->book->members, 1);
    }
    rgi_check(status == 0 || status == -EAGAIN || status == -EPIPE);
}

static void
loner_started(struct loner *self)
{
    struct book *book = self->book;
    uint32_t number = rgm_worker_number(&self->actor);

    rgi_check((rgm_runtime_live(book->runtime) & rgi_bit(number)) == 0);
    rgi_check(rgm_spawn_on(self, number, &member_behaviour, book,
                           &(struct rgm_address){0}) == -EPIPE);
    rgi_check(rgm_spawn_on(self, RGM_OWN_THREAD, &member_behaviour, book,
                           &(struct rgm_address){0}) == -EINVAL);
    atomic_store(&book->threads[number], thread_id());
    atomic_store(&book->address, self->actor.address.bits);
    atomic_fetch_add(&book->loners[number], 1);
    atomic_fetch_add(&book->started, 1);
}

static void
loner_settled(struct loner *self)
{
    loner_spawns(self);
}

/* Positive: so many are to be spawned in all; 0: ends; negative: sleeps as well. */
static void
sleep_ended(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

static void
loner_note(struct loner *self, struct note *note)
{
    if (note->value == 0) {
        rgm_stop(self);
    } else if (note->value > 0) {
        self->wanted = (unsigned)note->value;
    } else {
        rgm_sleep_for(&self->sleep, rgm_here(self), 3600 * RGM_NS_PER_S);
        rgm_ask_request(&self->actor, &self->sleep.request, sleep_ended);
    }
}

static void
loner_question(struct loner *self, struct question *question)
{
    question->value = (long)rgm_worker_number(&self->actor);
    rgm_reply(self, question, 0);
}

static void
loner_retiring(struct loner *self)
{
    rgi_check(!rgm_worker_retiring(&self->actor)); /* it is the runtime's end */
    atomic_fetch_add(&self->book->retired, 1);
    rgm_stop(self);
}

static void
loner_stopped(struct loner *self)
{
    atomic_fetch_add(&self->book->stopped, 1);
}

/* ------------------------------------------------------------- who asks */

/* Asks for threads, one per note; what it does with one is the book's. */
struct patron {
    struct rgm_actor actor;
    struct book *book;
    struct rgm_dedicate dedicate;
    struct rgm_down down;
    bool out;
};

RGM_HANDLER(patron, note, patron_note);
RGM_ANSWER(patron, rgm_dedicate, patron_seated);
RGM_ANSWER(patron, rgm_down, patron_down);
RGM_FACTORY(patron, book, patron_make);

static const struct rgm_handler patron_handlers[] = {
    RGM_ON(patron, note, patron_note),
};
static const struct rgm_behaviour patron_behaviour = {
    .name = "patron",
    .size_bytes = sizeof(struct patron),
    RGM_HANDLERS(patron_handlers),
    .factory = RGM_MAKE(patron, patron_make),
};

static int
patron_make(struct patron *self, const struct book *book)
{
    self->book = (struct book *)(uintptr_t)book;
    return 0;
}

/* 1: ask; 0: stop; -1: cancel. */
static void
patron_note(struct patron *self, struct note *note)
{
    if (note->value == 0) {
        rgm_stop(self);
    } else if (note->value < 0) {
        rgm_cancel(self, &self->dedicate);
    } else {
        atomic_fetch_add(&self->book->asked, 1);
        rgm_dedicate(self, &self->dedicate,
                     RGM_REPLY(patron, rgm_dedicate, patron_seated));
    }
}

static void
patron_seated(struct patron *self, struct rgm_dedicate *dedicate)
{
    struct book *book = self->book;

    atomic_store(&book->status, rgm_status(dedicate));
    if (rgm_status(dedicate) == 0 && book->in_answer != NULL)
        book->in_answer(book, &self->actor, dedicate->worker);
    atomic_fetch_add(&book->answered, 1);
}

static void
patron_down(struct patron *self, struct rgm_down *down)
{
    atomic_store(&self->book->end_kind, (int)down->end.kind);
    atomic_fetch_add(&self->book->downs, 1);
}

static void
spawn_plainly(struct book *book, struct rgm_actor *self, uint32_t worker)
{
    struct patron *patron = (struct patron *)(void *)self;
    struct rgm_address address;
    int status = rgm_spawn_on(patron, worker, &loner_behaviour, book, &address);

    atomic_store(&book->spawn_status, status);
    rgi_check(status == 0 || status == -EPIPE || status == -ENOMEM);
    if (status == 0) /* one, and no more */
        rgi_check(rgm_spawn_on(patron, worker, &loner_behaviour, book,
                               &address) == -EAGAIN);
    atomic_fetch_add(&book->spawned, status == 0);
}

static void
spawn_child(struct book *book, struct rgm_actor *self, uint32_t worker)
{
    struct patron *patron = (struct patron *)(void *)self;
    struct rgm_address address;

    rgi_check(rgm_spawn_child(
                  patron, worker, &loner_behaviour, book, &patron->down,
                  RGM_REPLY(patron, rgm_down, patron_down), &address) == 0);
    atomic_fetch_add(&book->spawned, 1);
}

static struct rgm_address
patron_on(struct book *book, uint32_t worker)
{
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(book->runtime, worker, &patron_behaviour, book,
                                &address) == 0);
    return address;
}

static void
nothing(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

/* One note from a plain thread. */
static void
tell(struct book *book, struct rgm_address to, long value)
{
    struct rgm_guest guest;
    struct note note;

    note_init(&note);
    note.value = value;
    rgi_check(rgm_guest_open(book->runtime, &guest) == 0);
    rgi_check(rgm_send(&guest, to, &note) == 0);
    rgm_guest_close(&guest);
}

static struct rgm_address
loner_of(struct book *book)
{
    return (struct rgm_address){atomic_load(&book->address)};
}

/* Ask for one, and wait until it lives. */
static void
patron_asks(struct book *book, struct rgm_address patron)
{
    unsigned before = atomic_load(&book->started);

    tell(book, patron, 1);
    await_count(&book->started, before + 1);
}

static void
members_come(struct book *book, unsigned count)
{
    unsigned wanted = atomic_load(&book->members) + count, now;

    do {
        tell(book, loner_of(book), (long)wanted); /* once more: -EAGAIN */
        sched_yield();
        now = 0;
        for (unsigned i = 0; i < PLACES_MAX; i++)
            now += atomic_load(&book->pooled[i]);
    } while (now < wanted);
}

/* -------------------------------------------------------------------- cases */

static void
tsk_14_a_thread_and_a_ring_of_its_own_and_none_is_left(void)
{
    struct question question;
    struct rgm_address patron;
    struct book book;

    book_open(&book, 2, 4);
    book.in_answer = spawn_plainly;
    patron = patron_on(&book, 1);
    patron_asks(&book, patron);
    rgi_check(rgm_runtime_workers(book.runtime) == 2);
    rgi_check(rgm_runtime_threads(book.runtime) == 3);
    rgi_check(atomic_load(&fake_plan.opened) == 3);
    question_prepare(&question, loner_of(&book));
    rgi_check(rgm_call(book.runtime, &question) == 0 && question.value == 2);
    members_come(&book, 4);
    rgi_check(atomic_load(&book.loners[2]) == 1);
    rgi_check(atomic_load(&book.pooled[2]) == 0); /* all on the others */
    for (unsigned i = 0; i < 2; i++)
        rgi_check(atomic_load(&book.threads[i]) !=
                  atomic_load(&book.threads[2]));
    tell(&book, loner_of(&book), 0);
    await_census(&book);
    rgi_check(atomic_load(&fake_plan.closed) == 1);
    rgi_check(rgm_call(book.runtime, &question) == -EPIPE); /* it is gone */
    book_close(&book);
}

/* Only in the answer, and if not there, nowhere. */
static void
a_seat_that_nobody_takes_goes_back(void)
{
    struct rgm_dedicate dedicate;
    struct rgm_guest guest;
    struct rgm_address patron;
    struct book book;

    book_open(&book, 1, 2);
    patron = patron_on(&book, 0);
    for (unsigned i = 0; i < 3; i++) {
        tell(&book, patron, 1);
        await_count(&book.answered, i + 1);
        rgi_check(atomic_load(&book.status) == 0);
    }
    await_census(&book);
    rgi_check(rgm_guest_open(book.runtime, &guest) == 0);
    rgm_dedicate_actor(&guest.actor, &dedicate, nothing);
    rgi_check(rgm_guest_wait(&guest) == 1 && rgm_status(&dedicate) == 0);
    rgi_check(dedicate.worker == 1);
    rgi_check(rgm_spawn_on(&guest, dedicate.worker, &loner_behaviour, &book,
                           &patron) == -EPIPE);
    rgm_guest_close(&guest);
    await_census(&book);
    rgi_check(rgm_runtime_spawn(book.runtime, 1, &loner_behaviour, &book,
                                &patron) == -EPIPE);
    book_close(&book);
}

static void
nobody_else_is_placed_on_its_worker(void)
{
    struct rgm_address patron, address;
    struct book book;

    book_open(&book, 2, 8);
    book.in_answer = spawn_plainly;
    patron = patron_on(&book, 0);
    patron_asks(&book, patron);
    for (unsigned i = 0; i < 20; i++) {
        rgi_check(rgm_runtime_spawn(book.runtime, RGM_ANY_WORKER,
                                    &member_behaviour, &book, &address) == 0);
        rgi_check(rgm_address_worker(address) < 2);
    }
    rgi_check(rgm_runtime_spawn(book.runtime, 2, &member_behaviour, &book,
                                &address) == -EPIPE);
    book_close(&book);
    rgi_check(atomic_load(&book.retired) == 1);
}

/* It neither counts nor goes, and what it knows of the others follows. */
static void
a_resize_passes_it_by(void)
{
    struct rgm_address patron;
    struct rgm_resize resize;
    struct book book;

    book_open(&book, 1, 8);
    book.in_answer = spawn_plainly;
    patron = patron_on(&book, 0);
    patron_asks(&book, patron); /* number 1 */
    for (unsigned i = 0; i < 3; i++) {
        rgi_check(rgm_runtime_resize(book.runtime, 3) == 0);
        rgi_check(rgm_runtime_live(book.runtime) == 0xd); /* 0, 2, 3 */
        rgi_check(rgm_runtime_threads(book.runtime) == 4);
        members_come(&book, 12);
        rgi_check(atomic_load(&book.pooled[2]) > 0);
        rgi_check(atomic_load(&book.pooled[3]) > 0);
        rgm_resize_to(&resize, 1); /* what it has borrowed comes back */
        resize.until_gone = true;
        rgi_check(rgm_call(book.runtime, &resize) == 0);
        rgi_check(rgm_runtime_threads(book.runtime) == 2);
    }
    tell(&book, loner_of(&book), 0);
    await_census(&book);
    rgi_check(rgm_runtime_resize(book.runtime, 2) == 0);
    rgi_check(rgm_runtime_live(book.runtime) == 0x3); /* its number is free */
    book_close(&book);
}

/* Two numbers in all: the second request waits, a resize passes it, a third one
 * is cancelled. */
static void
where_no_number_is_free_it_waits(void)
{
    struct rgm_address patrons[3];
    struct book book;

    book_open(&book, 1, 2);
    book.in_answer = spawn_plainly;
    for (unsigned i = 0; i < 3; i++)
        patrons[i] = patron_on(&book, 0);
    patron_asks(&book, patrons[0]);
    tell(&book, patrons[1], 1);
    tell(&book, patrons[2], 1);
    await_count(&book.asked, 3);
    rgi_check(rgm_runtime_resize(book.runtime, 1) == 0);
    rgi_check(atomic_load(&book.answered) == 1);
    tell(&book, patrons[2], -1);
    await_count(&book.answered, 2);
    rgi_check(atomic_load(&book.status) == -ECANCELED);
    tell(&book, loner_of(&book), 0);
    await_count(&book.answered, 3);
    rgi_check(atomic_load(&book.status) == 0);
    await_count(&book.started, 2);
    book_close(&book);
}

static void
a_stop_answers_who_waits(void)
{
    struct rgm_address patrons[2];
    struct book book;

    book_open(&book, 1, 2);
    book.in_answer = spawn_plainly;
    for (unsigned i = 0; i < 2; i++)
        patrons[i] = patron_on(&book, 0);
    patron_asks(&book, patrons[0]);
    tell(&book, patrons[1], 1);
    await_count(&book.asked, 2);
    book_close(&book);
    rgi_check(atomic_load(&book.answered) == 2);
    rgi_check(atomic_load(&book.status) == -EPIPE ||
              atomic_load(&book.status) == -ECANCELED);
}

static void
a_provider_that_does_not_open_is_the_answer(void)
{
    struct rgm_address patron, address;
    struct book book;

    book_open(&book, 1, 4);
    book.in_answer = spawn_plainly;
    patron = patron_on(&book, 0);
    fake_plan.open_error = -EMFILE;
    fake_plan.open_error_at = 1;
    tell(&book, patron, 1);
    await_count(&book.answered, 1);
    rgi_check(atomic_load(&book.status) == -EMFILE);
    rgi_check(rgm_runtime_spawn(book.runtime, RGM_OWN_THREAD, &loner_behaviour,
                                &book, &address) == -EMFILE);
    rgi_check(rgm_runtime_threads(book.runtime) == 1);
    fake_plan.open_error = 0;
    patron_asks(&book, patron);
    book_close(&book);
}

/* One allocation after the other is missing, wherever the road needs one. */
static void
a_missing_allocation_is_an_answer_and_leaves_nothing(void)
{
    unsigned long failed = 0;

    for (unsigned long nth = 1;; nth++) {
        struct rgm_address address;
        struct book book;
        int status;

        book_open(&book, 1, 2);
        rgi_memory_fail_nth(nth);
        status = rgm_runtime_spawn(book.runtime, RGM_OWN_THREAD,
                                   &loner_behaviour, &book, &address);
        if (!rgi_memory_fail_off()) {
            rgi_check(status == 0);
            book_close(&book);
            break;
        }
        failed += status != 0;
        rgi_check(status == 0 || status == -ENOMEM);
        book_close(&book);
    }
    rgi_check(failed > 2);
}

static void
tsk_15_it_goes_with_its_parent_and_its_own_go_with_it(void)
{
    struct rgm_address patron;
    struct book book;

    book_open(&book, 2, 4);
    book.in_answer = spawn_child;
    patron = patron_on(&book, 1);
    patron_asks(&book, patron);
    tell(&book, loner_of(&book), -1); /* and has something out */
    tell(&book, patron, 0);
    await_count(&book.downs, 1);
    rgi_check(atomic_load(&book.end_kind) == RGM_END_STOPPED);
    rgi_check(atomic_load(&book.stopped) == 1);
    await_census(&book);
    book_close(&book);
    rgi_check(atomic_load(&book.retired) == 0);
}

static void
a_supervisor_starts_it_again(void)
{
    struct book book;
    struct rgm_child children[2] = {{.name = "loner",
                                     .behaviour = &loner_behaviour,
                                     .argument = &book,
                                     .worker = RGM_OWN_THREAD},
                                    {.name = "member",
                                     .behaviour = &member_behaviour,
                                     .argument = &book,
                                     .worker = 0}};
    struct rgm_supervisor_options options = {.strategy = RGM_ONE_FOR_ONE,
                                             RGM_CHILDREN(children)};
    struct rgm_task *task;
    struct rgm_end end;

    book_open(&book, 1, 2); /* one number: the next waits for the last */
    rgi_check(rgm_runtime_task(book.runtime, 0, &rgm_supervisor, &options,
                               &task) == 0);
    await_count(&book.pooled[0], 1); /* in order: the loner is up */
    await_count(&book.loners[1], 1); /* and has a thread of its own */
    for (unsigned i = 0; i < 3; i++) {
        await_count(&book.started, i + 1);
        tell(&book, loner_of(&book), 0);
        await_count(&book.started, i + 2);
    }
    tell(&book, loner_of(&book), 0); /* once too often */
    rgi_check(rgm_task_join(task, &end) == 0);
    rgi_check(end.kind == RGM_END_DONE);
    rgi_check(atomic_load(&book.started) == 4);
    await_census(&book);
    book_close(&book);
}

/* A supervisor that ends while a thread is on its way to it. */
static void
a_supervisor_ends_before_its_thread_comes(void)
{
    for (unsigned i = 0; i < 20; i++) {
        struct book book;
        struct rgm_child child = {.behaviour = &loner_behaviour,
                                  .argument = &book,
                                  .worker = RGM_OWN_THREAD};
        struct rgm_supervisor_options options = {.children = &child,
                                                 .children_count = 1};
        struct rgm_task *task;

        book_open(&book, 2, 4);
        rgi_check(rgm_runtime_task(book.runtime, i % 2, &rgm_supervisor,
                                   &options, &task) == 0);
        for (unsigned pause = 0; pause < i * 20; pause++)
            sched_yield();
        rgm_task_drop(task);
        await_census(&book);
        book_close(&book);
    }
}

static void
a_task_with_a_thread_is_joined_and_stopped_from_outside(void)
{
    struct rgm_task *tasks[2];
    struct rgm_end end;
    struct book book;

    book_open(&book, 1, 4);
    for (unsigned i = 0; i < 2; i++)
        rgi_check(rgm_runtime_task(book.runtime, RGM_OWN_THREAD,
                                   &loner_behaviour, &book, &tasks[i]) == 0);
    rgi_check(rgm_address_worker(rgm_task_who(tasks[0])) == 1);
    rgi_check(rgm_address_worker(rgm_task_who(tasks[1])) == 2);
    tell(&book, rgm_task_who(tasks[0]), 0);
    rgi_check(rgm_task_join(tasks[0], &end) == 0);
    rgi_check(end.kind == RGM_END_DONE);
    rgm_task_stop(tasks[1]);
    rgi_check(rgm_task_join(tasks[1], &end) == 0);
    rgi_check(end.kind == RGM_END_STOPPED);
    await_census(&book);
    book_close(&book);
}

/* Its provider does not give back what it has; by force it ends all the same. */
static void
a_forced_end_takes_it_along(void)
{
    struct rgm_stop_options options = {
        .timeout_ns = 1, .linger_ns = RGM_NS_PER_MS, .grace_ns = RGM_NEVER};
    struct rgm_stop_report report;
    struct rgm_address patron;
    struct book book;

    book_open(&book, 2, 4);
    book.in_answer = spawn_plainly;
    patron = patron_on(&book, 1);
    patron_asks(&book, patron);
    tell(&book, loner_of(&book), -1);
    rgi_check(rgm_runtime_stop_and_wait(book.runtime, &options, &report) ==
              (report.forced ? -ETIMEDOUT : 0));
    rgi_check(atomic_load(&book.stopped) == 1);
    rgi_check(atomic_load(&fake_plan.opened) == atomic_load(&fake_plan.closed));
    rig_destroy(book.runtime);
}

/* Threads come and go while workers do, and then all is stopped at once. */
static void
all_of_it_at_once(void)
{
    for (unsigned round = 0; round < 3 + rgi_scale(100); round++) {
        struct rgm_address patrons[4];
        struct book book;

        book_open(&book, 2, 8);
        book.in_answer = spawn_plainly;
        for (unsigned i = 0; i < 4; i++)
            patrons[i] = patron_on(&book, i % 2);
        for (unsigned i = 0; i < 8; i++) {
            unsigned answered = atomic_load(&book.answered);

            tell(&book, patrons[i % 4], 1);
            if (i % 4 == 1)
                rgi_check(rgm_runtime_resize(book.runtime, 2 + round % 2) == 0);
            await_count(&book.answered, answered + 1);
            if (atomic_load(&book.spawned) > 3) {
                await_count(&book.started, atomic_load(&book.spawned));
                tell(&book, loner_of(&book), 0);
                await_count(&book.stopped, atomic_load(&book.spawned) - 3);
            }
        }
        tell(&book, patrons[0], 1);
        book_close(&book);
    }
}

#define CASES(X)                                                               \
    X(dedicated, tsk_14_a_thread_and_a_ring_of_its_own_and_none_is_left)       \
    X(dedicated, a_seat_that_nobody_takes_goes_back)                           \
    X(dedicated, nobody_else_is_placed_on_its_worker)                          \
    X(dedicated, a_resize_passes_it_by)                                        \
    X(dedicated, where_no_number_is_free_it_waits)                             \
    X(dedicated, a_stop_answers_who_waits)                                     \
    X(dedicated, a_provider_that_does_not_open_is_the_answer)                  \
    X(dedicated, a_missing_allocation_is_an_answer_and_leaves_nothing)         \
    X(dedicated, tsk_15_it_goes_with_its_parent_and_its_own_go_with_it)        \
    X(dedicated, a_supervisor_starts_it_again)                                 \
    X(dedicated, a_supervisor_ends_before_its_thread_comes)                    \
    X(dedicated, a_task_with_a_thread_is_joined_and_stopped_from_outside)      \
    X(dedicated, a_forced_end_takes_it_along)                                  \
    X(dedicated, all_of_it_at_once)

RGI_CASES(CASES)
