/* SPDX-License-Identifier: MIT */

/*
 * guest.c - a plain thread takes part: it sends, asks, and blocks for answers.
 *
 * A guest is a home without actors or provider: an inbox, lanes, a slab. What
 * it sends is pushed at once, since it has no turn that would flush. Its bell
 * is a futex wake by address: harmless when it comes late, because the inbox
 * belongs to the runtime's guest number and outlives the guest. Closing waits
 * until everything is home, so nobody can push to a guest that has gone.
 */

#include "actors/runtime.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/baton.h"
#include "base/memory.h"

/* ---- futex ---- */

struct futex_look {
    uint32_t *word;
    uint32_t seen;
};

static bool
has_changed(void *argument)
{
    const struct futex_look *look = argument;

    /* futex-played: the player goes on, and looks again itself. */
    return ck_pr_load_32(look->word) != look->seen;
}

void
rgi_futex_wait(uint32_t *word, uint32_t seen)
{
    struct futex_look look = {word, seen};

    if (rgi_baton != NULL) {
        rgi_baton->await(rgi_baton, "futex", has_changed, &look);
        return;
    }
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

bool
rgi_futex_wait_until(uint32_t *word, uint32_t seen, uint64_t deadline_ns)
{
    struct timespec until = {(time_t)(deadline_ns / RGM_NS_PER_S),
                             (long)(deadline_ns % RGM_NS_PER_S)};

    if (deadline_ns == RGM_NEVER) {
        rgi_futex_wait(word, seen);
        return true;
    }
    /* With a bitset the time is absolute. */
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &until,
                   NULL, FUTEX_BITSET_MATCH_ANY) == 0 ||
           errno != ETIMEDOUT;
}

void
rgi_relax(void)
{
    if (rgi_baton != NULL)
        rgi_baton->relax(rgi_baton, "yield");
    else
        sched_yield();
}

void
rgi_futex_wake(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL,
                  0);
}

/* The half of the head word that says "asleep": a message's address never
 * equals it there, since it is aligned. */
static uint32_t *
head_word(struct rgi_inbox *inbox)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (uint32_t *)(void *)&inbox->head;
#else
    return (uint32_t *)(void *)&inbox->head + 1;
#endif
}

static void
guest_bell(void *argument)
{
    rgi_futex_wake(argument);
}

/* ---- numbers ---- */

static int
number_take(struct rgm_runtime *runtime, uint32_t *ret_number)
{
    for (uint32_t i = 0; i < RGM_GUESTS_MAX / 64; i++) {
        uint64_t *word = &runtime->guests_taken[i];
        uint64_t taken = ck_pr_load_64(word);

        while (taken != UINT64_MAX) {
            unsigned bit = (unsigned)__builtin_ctzll(~taken);
            uint64_t seen;

            /* runtime-guests: observes what the number's last owner left. */
            if (ck_pr_cas_64_value(word, taken, taken | UINT64_C(1) << bit,
                                   &seen)) {
                ck_pr_fence_acquire();
                *ret_number = i * 64 + bit;
                return 0;
            }
            taken = seen;
        }
    }
    return -EAGAIN;
}

static void
number_give(struct rgm_runtime *runtime, uint32_t number)
{
    uint64_t *word = &runtime->guests_taken[number / 64];

    /* runtime-guests: publishes the home to the number's next owner. */
    ck_pr_fence_release();
    ck_pr_and_64(word, ~(UINT64_C(1) << number % 64));
}

/* ---- open ---- */

static struct rgi_guest_home *
home_make(struct rgm_runtime *runtime, uint32_t number)
{
    struct rgi_guest_home *home =
        rgi_alloc_aligned(RGI_CACHE_PAIR, sizeof(*home));

    if (home == NULL)
        return NULL;
    rgi_inbox_init(&home->inbox, guest_bell, head_word(&home->inbox));
    if (rgi_home_init(&home->worker, runtime, RGM_WORKERS_MAX + number,
                      &home->inbox) != 0) {
        rgi_free(home);
        return NULL;
    }
    home->worker.is_guest = true;
    return home;
}

static void
actor_init(struct rgm_guest *guest, struct rgm_worker *worker)
{
    memset(guest, 0, sizeof(*guest));
    guest->actor.address = rgi_address_make(worker->number, 1, 1);
    guest->actor.worker = worker;
    rgi_list_init(&guest->actor.scope);
    guest->home = worker;
}

int
rgm_guest_open(struct rgm_runtime *runtime, struct rgm_guest *guest)
{
    struct rgi_guest_home *home;
    uint32_t number;
    int status;

    if (rgi_current != NULL)
        return -EDEADLK;
    if (ck_pr_load_32(&runtime->state) == RGI_RUNTIME_ENDED)
        return -EPIPE;
    status = number_take(runtime, &number);
    if (status != 0)
        return status;
    home = runtime->guests[number];
    if (home == NULL) {
        home = home_make(runtime, number);
        if (home == NULL) {
            number_give(runtime, number);
            return -ENOMEM;
        }
        runtime->guests[number] = home;
    }
    actor_init(guest, &home->worker);
    rgi_inbox_open(&home->inbox);
    return 0;
}

/* ---- waiting ---- */

static void
control_home(struct rgm_worker *worker, struct rgm_message *message)
{
    if (message->control == RGI_CONTROL_STOP_ACTOR) {
        rgi_stop_control(worker, message);
    } else if (message->control == RGI_CONTROL_CANCEL ||
               message->control == RGI_CONTROL_CANCEL_HOME) {
        rgi_cancel_arrived(worker, message);
    } else if (message->control == RGI_CONTROL_WATCH ||
               message->control == RGI_CONTROL_DOWN) {
        rgi_watch_control(worker, message);
    } else if (message->control == RGI_CONTROL_SCOPE_ORDER) {
        rgi_scope_control(worker, message);
    } else { /* a spawn: its sender looks at it */
        message->state = RGI_MESSAGE_HOME;
        worker->messages_out--;
    }
}

/* Bring home what has come; how many one-way messages. */
static uint32_t
arrivals(struct rgm_worker *worker)
{
    struct rgm_message *message;
    uint32_t count = 0;

    rgi_flush_all(worker);
    rgi_mail_refill(&worker->mail);
    while ((message = rgi_mail_next_urgent(&worker->mail)) != NULL) {
        if (message->type->kind == RGM_KIND_CONTROL) {
            control_home(worker, message);
            continue;
        }
        count += message->type->kind == RGM_KIND_MESSAGE;
        rgi_come_home(worker, message);
    }
    while ((message = rgi_mail_next(&worker->mail)) != NULL)
        rgi_send_home(worker, message, -ENOSYS);
    return count;
}

/* Give the answers at hand to their functions; how many. */
static uint32_t
deliver(struct rgm_worker *worker, struct rgm_guest *guest)
{
    struct rgm_message *message;
    uint32_t count = 0;

    worker->ready_first = NULL;
    worker->ready_last = NULL;
    guest->actor.ready = 0;
    while ((message = guest->actor.mail_first) != NULL) {
        guest->actor.mail_first = message->next;
        rgi_request_answered(worker, &guest->actor, rgi_request_of(message));
        count++;
    }
    return count;
}

/* Who closes watches nobody any more. */
static void
watch_no_longer(struct rgm_worker *worker, struct rgm_guest *guest)
{
    struct rgm_link *link = guest->actor.scope.next;

    while (link != &guest->actor.scope) {
        struct rgm_request *request =
            rgi_container_of(link, struct rgm_request, scope.link);

        link = link->next;
        if (rgi_is_watch(request))
            rgi_request_cancel(worker, request, 0);
    }
}

/* Who waits too long is cancelled, and its answer waited for. */
static void
deadlines_turn(struct rgm_worker *worker)
{
    if (!rgi_list_empty(&worker->deadlines))
        rgi_deadlines_arm(worker);
    if (worker->timers == NULL || rgi_timers_count(worker->timers) == 0)
        return;
    worker->now_fresh = false;
    rgi_timers_turn(worker);
}

static uint64_t
next_deadline(struct rgm_worker *worker)
{
    return worker->timers != NULL ? rgi_timers_next(worker->timers)
                                  : RGM_NEVER;
}

/* Sleep until a push, or until a deadline comes. Only the head word decides
 * whether there is mail; a bell may be late. */
static void
sleep_until_mail(struct rgm_worker *worker)
{
    struct rgi_inbox *inbox = worker->inbox;
    uint64_t deadline_ns;

    if (worker->dirty != 0) {
        rgi_relax(); /* until a worker has finished closing */
        return;
    }
    deadlines_turn(worker);
    if (worker->dirty != 0 || rgi_mail_pending(&worker->mail) ||
        !rgi_inbox_sleep(inbox))
        return;
    deadline_ns = next_deadline(worker);
    while (rgi_inbox_word(inbox) == RGI_INBOX_ASLEEP)
        if (!rgi_futex_wait_until(head_word(inbox),
                                  (uint32_t)(uintptr_t)RGI_INBOX_ASLEEP,
                                  deadline_ns))
            break;
    rgi_inbox_wake(inbox);
}

uint32_t
rgm_guest_wait(struct rgm_guest *guest)
{
    struct rgm_worker *worker = guest->actor.worker;
    uint32_t count;

    for (;;) {
        count = arrivals(worker);
        count += deliver(worker, guest);
        if (count > 0 || worker->messages_out == 0)
            return count;
        sleep_until_mail(worker);
    }
}

void
rgm_guest_close(struct rgm_guest *guest)
{
    struct rgm_worker *worker = guest->actor.worker;
    struct rgm_message *caught;

    watch_no_longer(worker, guest);
    while (worker->messages_out > 0 || guest->actor.mail_first != NULL)
        (void)rgm_guest_wait(guest);
    caught = rgi_inbox_close_begin(worker->inbox);
    rgi_assert(caught == NULL);
    rgi_inbox_close_end(worker->inbox);
    guest->home = NULL;
    guest->actor.worker = NULL;
    number_give(worker->runtime, worker->number - RGM_WORKERS_MAX);
}

/* ---- one call ---- */

static void
call_done(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

int
rgm_call_request(struct rgm_runtime *runtime, struct rgm_request *request)
{
    struct rgm_guest guest;
    int status = rgm_guest_open(runtime, &guest);

    if (status != 0)
        return status;
    rgm_ask_request(&guest.actor, request, call_done);
    rgm_guest_close(&guest);
    return request->message.status;
}

/* ---- spawning from outside ---- */

/*
 * Two trips of one node: the first brings a number of the worker's slots, or
 * its refusal; then the factory runs; the second brings the actor, or, when
 * there is none, the number back. A number that was lent is a promise, so
 * nothing can fail once the factory has run, unless the end is forced.
 */
struct guest_spawn {
    struct rgm_message message;
    struct rgm_address number; /* zero on the first trip */
    struct rgm_actor *actor;
};

static const struct rgm_message_type guest_spawn_type = {
    "spawn from outside", sizeof(struct guest_spawn), 0, RGM_KIND_CONTROL, 0,
    NULL};

/* On the worker. */
void
rgi_guest_spawn_arrived(struct rgm_worker *worker,
                        struct rgm_message *message)
{
    struct guest_spawn *spawn =
        rgi_container_of(message, struct guest_spawn, message);
    int status = 0;

    if (spawn->number.bits == 0) {
        status = worker->draining || worker->dedicated
                     ? -EPIPE
                     : rgi_slot_lend(worker, &spawn->number);
    } else if (spawn->actor != NULL && worker->counted_quiet) {
        status = -EPIPE; /* by force, with its number lent: it closes */
    } else if (spawn->actor != NULL) {
        spawn->actor->flags |= RGI_ACTOR_FOREIGN;
        rgi_actor_install(worker, spawn->actor, spawn->number);
    } else {
        rgi_slot_take_back(worker, spawn->number);
    }
    rgi_send_home(worker, message, status);
}

static int
trip(struct rgm_worker *worker, struct guest_spawn *spawn, uint32_t number)
{
    spawn->message.state = RGI_MESSAGE_OUT;
    spawn->message.status = 0;
    spawn->message.flags = 0;
    spawn->message.control = RGI_CONTROL_SPAWN_ASK;
    worker->messages_out++;
    rgi_post(worker, &spawn->message, number);
    for (;;) {
        (void)arrivals(worker);
        if (spawn->message.state == RGI_MESSAGE_HOME)
            return spawn->message.status;
        sleep_until_mail(worker);
    }
}

/* Whose turn it is among those that take placements. */
static uint32_t
next_in_turn(struct rgm_runtime *runtime)
{
    uint64_t live = ck_pr_load_64(&runtime->live);
    uint32_t turn = ck_pr_faa_32(&runtime->spawn_turn, 1) %
                    (uint32_t)__builtin_popcountll(live);

    while (turn-- > 0)
        live &= live - 1;
    return (uint32_t)__builtin_ctzll(live);
}

struct rgm_address
rgm_runtime_any(struct rgm_runtime *runtime)
{
    return rgm_worker_address(next_in_turn(runtime));
}

/* Nobody will take placements any more. */
static bool
is_ending(struct rgm_runtime *runtime)
{
    /* runtime-stop, runtime-state: set before any worker refuses for that; when it
     * could not start the state follows. */
    return ck_pr_load_32(&runtime->stop_requested) != 0 ||
           ck_pr_load_32(&runtime->state) == RGI_RUNTIME_ENDED;
}

/* Who may be any worker is told of no retirement: the next one is asked. */
static int
trip_first(struct rgm_worker *worker, struct guest_spawn *spawn,
           uint32_t *number)
{
    struct rgm_runtime *runtime = worker->runtime;
    bool any = *number == RGM_ANY_WORKER;
    int status;

    do {
        if (any)
            *number = next_in_turn(runtime);
        status = trip(worker, spawn, *number);
    } while (any && status == -EPIPE && !is_ending(runtime));
    return status;
}

static void
spawn_init(const struct rgm_worker *worker, struct guest_spawn *spawn)
{
    memset(spawn, 0, sizeof(*spawn));
    spawn->message.type = &guest_spawn_type;
    spawn->message.lane = RGI_LANE_NONE;
    spawn->message.from = rgm_worker_address(worker->number);
}

/* The number is there: the factory, and the second trip. */
static int
trip_second(struct rgm_worker *worker, struct guest_spawn *spawn,
            const struct rgm_behaviour *behaviour, const void *argument,
            struct rgm_message *watch, struct rgm_address *ret_address)
{
    uint32_t number = rgm_address_worker(spawn->number);
    int status = rgi_actor_make(worker, behaviour, argument, &spawn->actor);

    if (status == 0 && watch != NULL)
        rgi_watch_begin(worker, watch, spawn->number);
    if (trip(worker, spawn, number) != 0 && status == 0) {
        rgi_actor_unmake(worker, spawn->actor); /* it closed: it was forced */
        /* The watcher is told that it is gone. */
        status = watch != NULL ? 0 : -EPIPE;
    }
    if (status == 0)
        *ret_address = spawn->number;
    return status;
}

int
rgi_guest_spawn(struct rgm_worker *worker, uint32_t number,
                const struct rgm_behaviour *behaviour, const void *argument,
                struct rgm_message *watch, struct rgm_address *ret_address)
{
    struct guest_spawn spawn;
    int status;

    if (number == RGM_ANY_WORKER && behaviour != NULL &&
        behaviour->thread_bound)
        return -EINVAL;
    spawn_init(worker, &spawn);
    status = trip_first(worker, &spawn, &number);
    if (status != 0)
        return status;
    return trip_second(worker, &spawn, behaviour, argument, watch,
                       ret_address);
}

int
rgi_guest_spawn_at(struct rgm_worker *worker, struct rgm_address number,
                   const struct rgm_behaviour *behaviour, const void *argument,
                   struct rgm_message *watch, struct rgm_address *ret_address)
{
    struct guest_spawn spawn;

    spawn_init(worker, &spawn);
    spawn.number = number;
    return trip_second(worker, &spawn, behaviour, argument, watch,
                       ret_address);
}

void
rgi_guest_seat_back(struct rgm_worker *worker, struct rgm_address number)
{
    struct guest_spawn spawn;

    spawn_init(worker, &spawn);
    spawn.number = number;
    (void)trip(worker, &spawn, rgm_address_worker(number));
}

int
rgm_runtime_spawn(struct rgm_runtime *runtime, uint32_t worker,
                  const struct rgm_behaviour *behaviour, const void *argument,
                  struct rgm_address *ret_address)
{
    struct rgm_guest guest;
    int status;

    if (worker != RGM_ANY_WORKER && worker != RGM_OWN_THREAD &&
        worker >= ck_pr_load_32(&runtime->numbers_used))
        return -EINVAL;
    status = rgm_guest_open(runtime, &guest);
    if (status != 0)
        return status;
    status = worker == RGM_OWN_THREAD
                 ? rgi_guest_spawn_own(&guest.actor, behaviour, argument, NULL,
                                       ret_address)
                 : rgi_guest_spawn(guest.actor.worker, worker, behaviour,
                                   argument, NULL, ret_address);
    rgm_guest_close(&guest);
    return status;
}

int
rgm_runtime_stop_actor(struct rgm_runtime *runtime,
                       struct rgm_address address)
{
    struct rgm_guest guest;
    int status = rgm_guest_open(runtime, &guest);

    if (status != 0)
        return status;
    status = rgm_stop_address(&guest.actor, address);
    rgm_guest_close(&guest);
    return status;
}
