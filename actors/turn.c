/* SPDX-License-Identifier: MIT */

/*
 * turn.c - one turn of a worker, over and over.
 *
 *   1. sort     urgent messages are applied; mail goes into actors' lines
 *   2. timers   due sleeps become completions
 *   3. run      the actors that are ready now: a finite batch; whoever becomes
 *               ready meanwhile is in the next one
 *   4. flush    one chain per destination
 *   5. provider one turn: without blocking when there is work; else look for
 *               some (spin), fall asleep in the inbox's word, look again, and
 *               submit and wait in one system call
 *   6. deliver  the completions collected in 2 and 5 go into actors' lines
 *
 * Falling asleep cannot lose a wake: everything only we can see is looked at
 * first (lines, FIFOs, outboxes, timers), then one compare-and-swap from
 * "awake, empty" decides it with all senders. Whoever replaces "asleep" rings,
 * and a ring ends the provider's wait, also when it came before it.
 *
 * A draining worker counts itself quiet once, when nothing of its own is out;
 * whoever completes the count orders all to close.
 */

#include "actors/runtime.h"

#include "base/baton.h"
#include "base/bell.h"

/* ---- 1. sort ---- */

/* Everybody is told that this worker goes, or all do. */
void
rgi_worker_drain(struct rgm_worker *worker)
{
    worker->draining = true;
    if (worker->number == 0)
        rgi_signals_stop(worker->runtime);
    rgi_actors_retire(worker);
    rgi_operate_close(worker);
    rgi_requests_cancel(worker, &worker->janitor.scope); /* was given up */
    rgi_force_waited(worker);
}

static void
apply_control(struct rgm_worker *worker, struct rgm_message *message)
{
    switch ((enum rgi_control)message->control) {
    case RGI_CONTROL_STOP:
        if (worker->retiring)
            rgi_moves_stop(worker);
        else if (worker->number != 0 || rgi_resize_stop(worker))
            rgi_worker_drain(worker);
        break;
    case RGI_CONTROL_FORCE:
        rgi_force(worker);
        break;
    case RGI_CONTROL_CLOSE:
        worker->close_ordered = true;
        break;
    case RGI_CONTROL_STOP_ACTOR:
        rgi_stop_control(worker, message);
        break;
    case RGI_CONTROL_SPAWN:
    case RGI_CONTROL_LEND:
    case RGI_CONTROL_BACK:
        rgi_spawn_control(worker, message);
        break;
    case RGI_CONTROL_SPAWN_ASK:
        rgi_guest_spawn_arrived(worker, message);
        break;
    case RGI_CONTROL_RETIRE:
    case RGI_CONTROL_MEET:
    case RGI_CONTROL_CAME:
    case RGI_CONTROL_GONE:
        rgi_resize_control(worker, message);
        break;
    case RGI_CONTROL_JOIN:
    case RGI_CONTROL_RECALL:
        rgi_notice_control(worker, message);
        break;
    case RGI_CONTROL_JOB:
        rgi_job_arrived(worker, message);
        break;
    case RGI_CONTROL_SLOT:
        rgi_acquire_arrived(worker, message);
        break;
    case RGI_CONTROL_SCOPE_ORDER:
    case RGI_CONTROL_SCOPE_TIE:
    case RGI_CONTROL_SCOPE_UNTIE:
        rgi_scope_control(worker, message);
        break;
    case RGI_CONTROL_CANCEL:
    case RGI_CONTROL_CANCEL_HOME:
        rgi_cancel_arrived(worker, message);
        break;
    case RGI_CONTROL_CANCEL_ABROAD:
        rgi_cancel_visited(worker, message);
        break;
    case RGI_CONTROL_LEASE:
        rgi_worker_lease_control(worker, message);
        break;
    case RGI_CONTROL_TASK:
        rgi_task_control(worker, message);
        break;
    case RGI_CONTROL_WATCH:
    case RGI_CONTROL_DOWN:
        rgi_watch_control(worker, message);
        break;
    case RGI_CONTROL_MOVE:
        rgi_move_control(worker, message);
        break;
    case RGI_CONTROL_SIGNAL:
        rgi_signal_arrived(worker, message);
        break;
    case RGI_CONTROL_FORGET:
        rgi_resize_forget(worker, message);
        break;
    case RGI_CONTROL_NONE:
    case RGI_CONTROL_ABROAD: /* an operation's */
    default:
        rgi_unreachable();
    }
}

static inline void
sort_one(struct rgm_worker *worker, struct rgm_message *message)
{
    if (message->type->kind == RGM_KIND_CONTROL)
        apply_control(worker, message);
    else if (message->flags & RGI_MESSAGE_URGENT)
        rgi_come_home(worker, message);
    else
        rgi_deliver(worker, message);
}

/* The first of a chain, and what follows for the same actor, up to `most`. */
static inline uint32_t
sort_run(struct rgm_worker *worker, struct rgi_chain *chain, uint32_t most)
{
    uint32_t count = rgi_deliver_run(worker, chain, most);

    if (count > 0)
        return count;
    sort_one(worker, rgi_chain_pop(chain));
    return 1;
}

static inline void
sort(struct rgm_worker *worker)
{
    struct rgi_mail *mail = &worker->mail;
    struct rgm_message *message;
    struct rgi_chain *run;
    uint32_t left = worker->quota;

    rgi_mail_refill(mail);
    while ((message = rgi_mail_next_urgent(mail)) != NULL)
        sort_one(worker, message);
    while (left > 0 && (run = rgi_mail_one_side(mail)) != NULL)
        left -= sort_run(worker, run, left);
    while (left > 0 && (message = rgi_mail_next(mail)) != NULL) {
        sort_one(worker, message);
        left--;
    }
}

/* ---- 5. the provider's turn ---- */

static inline bool
has_work(const struct rgm_worker *worker)
{
    return worker->ready_first != NULL || rgi_mail_pending(&worker->mail) ||
           worker->turn.first != NULL || worker->dirty != 0;
}

/*
 * The provider has ended with an error: whatever it still holds is lost, since
 * the kernel may go on writing to it. The worker goes on without, so that
 * everything else comes home, and the whole runtime stops.
 */
static void
fail(struct rgm_worker *worker, int error)
{
    struct rgm_runtime *runtime = worker->runtime;

    worker->failure = error;
    rgi_operations_lose(worker);
    /* runtime-failure: publishes the first failure to whoever waits. */
    (void)ck_pr_cas_32((uint32_t *)&runtime->failure, 0, (uint32_t)error);
    rgm_runtime_stop(runtime);
}

/* Without a provider there are the bell and the deadline to wait for. */
static void
wait_without_provider(struct rgm_worker *worker, uint64_t deadline_ns)
{
    int bell = worker->runtime->places[worker->number].bell;
    uint64_t now_ns;

    if (deadline_ns == 0 || worker->turn.first != NULL)
        return;
    now_ns = worker->provider->ops->now(worker->provider);
    if (deadline_ns != RGM_NEVER)
        deadline_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    worker->turn.rang |= rgi_bell_await(bell, deadline_ns);
}

static inline uint64_t
work_done(const struct rgm_worker *worker)
{
    return worker->counters.deliveries + worker->counters.spawned;
}

static inline void
provider_turn(struct rgm_worker *worker, uint64_t deadline_ns)
{
    struct rgm_provider *provider = worker->provider;
    uint64_t entries = provider->kernel_entries;
    int status;

    worker->entries_new = false;
    worker->provider_seen = work_done(worker);
    if (__builtin_expect(worker->failure != 0, 0)) {
        wait_without_provider(worker, deadline_ns);
        return;
    }
    status = provider->ops->wait(provider, deadline_ns, &worker->turn);

    if (provider->kernel_entries != entries)
        worker->now_fresh = false;
    if (status != 0)
        fail(worker, status);
}

/* Anything new, seen without a system call? A slot that comes home in the
 * provider's turn is mail of our own. */
static inline bool
glance(struct rgm_worker *worker)
{
    if (rgi_inbox_has_mail(worker->inbox))
        return true;
    provider_turn(worker, 0);
    return has_work(worker);
}

#define GLANCES_PER_CLOCK 32u

static inline void
pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Look for work until the budget is used up. */
static bool
spin(struct rgm_worker *worker, uint64_t start_ns)
{
    const struct rgm_provider_ops *ops = worker->provider->ops;

    do {
        for (unsigned i = 0; i < GLANCES_PER_CLOCK; i++) {
            if (glance(worker))
                return true;
            pause_a_little();
        }
    } while (ops->now(worker->provider) - start_ns <
             worker->spinner.budget_ns);
    return false;
}

/* Spinning pays only when the next deadline lies beyond the budget. */
static bool
spin_found(struct rgm_worker *worker, uint64_t deadline_ns)
{
    uint64_t now_ns;

    if (worker->spinner.maximum_ns == 0)
        return false;
    now_ns = worker->provider->ops->now(worker->provider);
    if (deadline_ns != RGM_NEVER &&
        deadline_ns <= now_ns + worker->spinner.budget_ns)
        return false;
    if (spin(worker, now_ns)) {
        rgi_spinner_hit(&worker->spinner);
        rgi_count(worker, spins_hit);
        return true;
    }
    rgi_spinner_miss(&worker->spinner);
    rgi_count(worker, spins_missed);
    return false;
}

/* Why a park ended; judged in this order. */
static void
count_park(struct rgm_worker *worker, bool rang)
{
    rgi_count(worker, parks);
    if (rang)
        rgi_count(worker, park_bell);
    else if (worker->turn.first != NULL)
        rgi_count(worker, park_io);
    else
        rgi_count(worker, park_deadline);
}

static inline void
forget_stale_bell(struct rgm_worker *worker)
{
    if (!worker->turn.rang)
        return;
    worker->turn.rang = false; /* a bell seen awake means nothing */
    rgi_count(worker, bells_stale);
}

/* A shorter wait than this costs more than it saves, if there is a CPU to
 * spend: where nobody may spin, nobody looks at the clock until it is late. */
#define SHORTEST_PARK_NS (50 * RGM_NS_PER_US)

static inline bool
is_too_short(const struct rgm_worker *worker, uint64_t start_ns,
             uint64_t deadline_ns)
{
    uint64_t shortest_ns =
        worker->spinner.maximum_ns != 0 ? SHORTEST_PARK_NS : 0;

    return deadline_ns != RGM_NEVER && deadline_ns <= start_ns + shortest_ns;
}

static void
park(struct rgm_worker *worker, uint64_t deadline_ns)
{
    const struct rgm_provider_ops *ops = worker->provider->ops;
    uint64_t start_ns = ops->now(worker->provider);

    if (is_too_short(worker, start_ns, deadline_ns)) {
        provider_turn(worker, 0);
        worker->now_fresh = false;
        return;
    }
    forget_stale_bell(worker); /* heard while it was looking for work */
    if (!rgi_inbox_sleep(worker->inbox))
        return;
    rgi_counters_publish(worker);
    rgi_waits_look(worker);
    /* park-since: publishes nothing but the time, to watchdogs. */
    ck_pr_store_64(&worker->parked_ns, start_ns);
    provider_turn(worker, deadline_ns);
    ck_pr_store_64(&worker->parked_ns, 0);
    rgi_inbox_wake(worker->inbox);
    worker->now_fresh = false;
    count_park(worker, worker->turn.rang);
    worker->turn.rang = false;
    rgi_spinner_parked(&worker->spinner,
                       ops->now(worker->provider) - start_ns);
}

/*
 * A busy worker calls its provider when it has entries for it, when the words
 * to peek at say that there is something, and after so many deliveries.
 */
#define DELIVERIES_PER_LOOK 256u

static inline bool
peek(const struct rgm_peek *peek)
{
    /* provider-peek: observes nothing but that something is there. */
    return ck_pr_load_32(peek->tail) != ck_pr_load_32(peek->head) ||
           (ck_pr_load_32(peek->flags) & peek->flags_mask) != 0;
}

static inline bool
provider_is_due(const struct rgm_worker *worker)
{
    return worker->entries_new || peek(&worker->peek) ||
           work_done(worker) - worker->provider_seen >= DELIVERIES_PER_LOOK;
}

static inline uint64_t
next_deadline(struct rgm_worker *worker)
{
    uint64_t deadline_ns = rgi_timers_next(worker->timers);

    return __builtin_expect(worker->forced, 0)
               ? rgi_force_deadline(worker, deadline_ns)
               : deadline_ns;
}

/* An idle worker submits and waits in one system call; one that may spin
 * submits with its first look. */
static inline void
provider_step(struct rgm_worker *worker)
{
    if (has_work(worker) || rgi_inbox_has_mail(worker->inbox)) {
        if (provider_is_due(worker))
            provider_turn(worker, 0);
    } else if (!spin_found(worker, next_deadline(worker))) {
        if (!rgi_list_empty(&worker->distant))
            rgi_deadlines_queue(worker); /* a spin is shorter than far */
        park(worker, next_deadline(worker));
    }
    forget_stale_bell(worker);
}

/* ---- draining, quiet, closed ---- */

static bool
is_quiet(struct rgm_worker *worker)
{
    return worker->actors_count == 0 && worker->messages_out == 0 &&
           worker->operations_out == 0 && worker->kept_count == 0 &&
           !has_work(worker) && rgi_loans_give_back(worker) &&
           (worker->slots.lent == 0 || worker->forced) &&
           worker->notices_out == 0 && worker->leases_count == 0 &&
           rgi_resize_idle(worker) && worker->dirty == 0;
}

static void
order_close(struct rgm_worker *worker)
{
    struct rgm_runtime *runtime = worker->runtime;

    for (uint32_t i = 0; i < runtime->places_count; i++) {
        struct rgi_place *place = &runtime->places[i];

        if (i != worker->number && runtime->members & rgi_bit(i) &&
            rgi_inbox_push(&place->inbox, &place->close, &place->close) ==
                RGI_PUSHED_AND_RANG)
            rgi_count(worker, bells);
    }
}

/* What the closing exchange caught was accepted: it goes home. Only other
 * people's mail can be there; when all stop together, only guests'. */
static void
close_inbox(struct rgm_worker *worker)
{
    struct rgm_message *newest;
    struct rgm_message *message;

    rgi_abroad_close(worker);
    newest = rgi_inbox_close_begin(worker->inbox);
    if (newest != NULL)
        rgi_mail_sort(&worker->mail, newest);
    do {
        while ((message = rgi_mail_next_urgent(&worker->mail)) != NULL ||
               (message = rgi_mail_next(&worker->mail)) != NULL)
            sort_one(worker, message);
        rgi_flush_all(worker);
    } while (has_work(worker));
    rgi_inbox_close_end(worker->inbox);
}

void
rgi_worker_close(struct rgm_worker *worker)
{
    worker->draining = true;
    worker->counted_quiet = true; /* it has never lived */
    close_inbox(worker);
}

static void
count_quiet(struct rgm_worker *worker)
{
    struct rgm_runtime *runtime = worker->runtime;

    worker->counted_quiet = true;
    RGI_GATE("quiet");
    rgi_blockers_clear(worker);
    if (worker->retiring || worker->dedicated) {
        worker->close_ordered = true; /* nobody waits for it */
        return;
    }
    /* runtime-quiet: publishes that nothing of ours is out; whoever completes
     * the count observes all the others' and orders the close. */
    ck_pr_fence_release();
    if (ck_pr_faa_32(&runtime->quiet, 1) + 1 ==
        (uint32_t)__builtin_popcountll(runtime->members)) {
        ck_pr_fence_acquire();
        order_close(worker);
        worker->close_ordered = true;
    }
}

static void
drain_step(struct rgm_worker *worker)
{
    if (worker->frozen_count > 0)
        rgi_moves_step(worker);
    if (worker->forced)
        rgi_force_turn(worker);
    if (!worker->counted_quiet) {
        rgi_blockers_publish(worker);
        if (is_quiet(worker))
            count_quiet(worker);
    }
    if (worker->close_ordered) {
        RGI_GATE("close");
        close_inbox(worker);
        worker->finished = true;
    }
}

/* ---- the turn ---- */

/* ---- 3. run ---- */

/*
 * One batch after the other, as long as nothing else could want its turn:
 * between batches only memory is looked at, and, where two actors talk to each
 * other so that a batch is one of them, only now and then. Bounded, so that the
 * clock and the counters get theirs.
 */
#define BATCHES_PER_TURN 32u
#define SINGLES_PER_LOOK 4u /* a power of two */

static inline bool
something_came(const struct rgm_worker *worker)
{
    return rgi_inbox_has_mail(worker->inbox) || peek(&worker->peek);
}

/* After a batch: the first of the next one; NULL: the turn goes on. `left`
 * batches may follow. */
static inline struct rgm_actor *
next_batch(struct rgm_worker *worker, unsigned left)
{
    struct rgm_actor *actor = worker->ready_first;

    if (actor == NULL || worker->attention)
        return NULL;
    if ((left % SINGLES_PER_LOOK == 0 || actor->ready_next != NULL) &&
        (left == 0 || something_came(worker)))
        return NULL;
    worker->ready_first = NULL;
    return actor;
}

static inline void
run_batches(struct rgm_worker *worker)
{
    unsigned left = BATCHES_PER_TURN;
    struct rgm_actor *actor = worker->ready_first;

    worker->attention = worker->dirty != 0 ||
                        rgi_mail_pending(&worker->mail) ||
                        rgi_timers_count(worker->timers) != 0 ||
                        worker->draining || worker->entries_new;
    if (actor == NULL)
        return;
    worker->ready_first = NULL;
    do {
        struct rgm_actor *next = actor->ready_next;

        actor->ready = 0;
        rgi_actor_run(worker, actor);
        actor = next != NULL ? next : next_batch(worker, --left);
    } while (actor != NULL);
    worker->running = NULL;
    rgi_count_by(worker, batches, BATCHES_PER_TURN - left);
}

#define TURNS_PER_PUBLISH 1024u

static inline void
turn(struct rgm_worker *worker)
{
    worker->now_fresh = false;
    rgi_count(worker, turns);
    if (worker->counters.turns % TURNS_PER_PUBLISH == 0)
        rgi_counters_publish(worker);
    RGI_GATE("turn");
    sort(worker);
    if (rgi_timers_count(worker->timers) != 0)
        rgi_timers_turn(worker);
    RGI_GATE("run");
    run_batches(worker);
    if (worker->dirty != 0)
        rgi_flush_all(worker);
    if (!rgi_list_empty(&worker->deadlines))
        rgi_deadlines_arm(worker);
    else if (!rgi_list_empty(&worker->distant) &&
             worker->distant_turn != worker->counters.turns)
        rgi_deadlines_queue(worker);
    RGI_GATE("flushed");
    if (__builtin_expect(worker->drains_armed, 0))
        rgi_drains_look(worker, has_work(worker) ||
                                    rgi_inbox_has_mail(worker->inbox));
    if (__builtin_expect(worker->dedicated, 0))
        rgi_dedicated_step(worker);
    if (worker->draining) {
        drain_step(worker);
        if (worker->finished)
            return;
    }
    provider_step(worker);
    if (worker->turn.first != NULL)
        rgi_completions_deliver(worker);
}

void
rgi_worker_loop(struct rgm_worker *worker)
{
    while (!worker->finished)
        turn(worker);
    rgi_counters_publish(worker);
}
