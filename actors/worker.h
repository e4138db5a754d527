/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_WORKER_H
#define RGI_ACTORS_WORKER_H

/*
 * worker.h - what does a worker own?
 *
 * struct rgm_worker is a home: the one thread that makes messages, gets them
 * back, and may touch everything in here. A worker proper also runs actors on
 * a provider; a guest (a plain thread, actors/guest.c) has the sending half
 * only. What other threads may touch of it is its inbox, which belongs to the
 * runtime's slot of that number (struct rgi_inbox), and its counters, which
 * are read without order.
 *
 * Fields are grouped by the file that writes them.
 */

#include <ringmail/actor.h>
#include <ringmail/clock.h>
#include <ringmail/counters.h>
#include <ringmail/provider.h>
#include <ringmail/runtime.h>
#include <ringmail/stop.h>
#include <ringmail/timer.h>
#include <ringmail/watch.h>

#include "actors/bundle.h"
#include "actors/request.h"
#include "actors/slab.h"
#include "base/assert.h"
#include "base/list.h"
#include "mailbox/mail.h"
#include "mailbox/outbox.h"
#include "timers/timers.h"

/* ---- messages ---- */

/* The runtime's own messages (kind RGM_KIND_CONTROL). */
enum rgi_control {
    RGI_CONTROL_NONE,
    RGI_CONTROL_STOP,       /* the runtime stops */
    RGI_CONTROL_CLOSE,      /* all are quiet: close */
    RGI_CONTROL_SPAWN,      /* an actor for a lent slot; ordinary mail */
    RGI_CONTROL_STOP_ACTOR, /* for the actor addressed */
    RGI_CONTROL_LEND,       /* the borrower wants, or gets, slot numbers */
    RGI_CONTROL_BACK,       /* the borrower gives slot numbers back */
    RGI_CONTROL_SPAWN_ASK,  /* a guest's spawn */
    RGI_CONTROL_RETIRE,     /* worker 0's order; comes back when admitted */
    RGI_CONTROL_MEET,       /* worker 0's order; comes back when all are met */
    RGI_CONTROL_CAME,       /* a new worker's thread has its provider */
    RGI_CONTROL_GONE,       /* a retired worker's thread has closed */
    RGI_CONTROL_JOIN,       /* a new worker lends slot numbers from now on */
    RGI_CONTROL_RECALL,     /* a retiring worker wants its numbers back */
    RGI_CONTROL_FORCE,      /* the runtime ends by force */
    RGI_CONTROL_JOB,        /* a job is back from its thread; see jobs.c */
    RGI_CONTROL_SLOT,       /* a pool slot for an acquire; see acquire.c */
    RGI_CONTROL_CANCEL,     /* looks for the request it lies in */
    RGI_CONTROL_CANCEL_HOME, /* and has done so */
    RGI_CONTROL_SCOPE_ORDER, /* a scope was cancelled elsewhere */
    RGI_CONTROL_SCOPE_TIE,   /* ties a scope to another worker's */
    RGI_CONTROL_SCOPE_UNTIE,
    RGI_CONTROL_LEASE,      /* a worker lease is released */
    RGI_CONTROL_WATCH,      /* a watcher, for the actor addressed; ordinary */
    RGI_CONTROL_TASK,       /* stop the actor of a task */
    RGI_CONTROL_DOWN,       /* a watcher on its way home, ordinary, or at home */
    RGI_CONTROL_MOVE,       /* an actor's state; ordinary mail */
    RGI_CONTROL_SIGNAL,     /* a signal for an actor; see signals.c */
    RGI_CONTROL_FORGET,     /* no actor lives that moved from a number */
    RGI_CONTROL_ABROAD,     /* of an operation: of another runtime, abroad.c */
    RGI_CONTROL_CANCEL_ABROAD /* looks for one like that */
};

/* A lane's name in a message; lane.c makes it. */
#define RGI_LANE_NONE 0 /* charged to no lane */

static inline void *
rgi_record_of(struct rgm_message *message)
{
    return (char *)message - message->type->header_offset;
}

/* ---- lanes: actors/lane.c ---- */

/* The allowance of one sender with one destination. */
struct rgi_lane {
    uint32_t count; /* messages out */
    uint64_t bytes;
    struct rgi_chain waiting; /* asks in line */
};

/* Asks that wait for their road, charged to no lane yet: actors/shards.c. */
struct rgi_hold {
    struct rgi_chain waiting;
    struct rgi_hold *next; /* in the worker's list, while open */
};

/* ---- slots: actors/slots.c ---- */

enum rgi_slot_state {
    RGI_SLOT_FREE,
    RGI_SLOT_LENT,  /* a number somebody may spawn into; mail waits in it */
    RGI_SLOT_LIVE,
    RGI_SLOT_MOVED, /* its actor lives elsewhere; see move.c */
    RGI_SLOT_SPENT  /* generations used up */
};

struct rgi_slot {
    union {
        struct rgm_actor *actor;     /* LIVE */
        struct rgm_message *waiting; /* LENT: newest first */
        uint64_t next_free;          /* FREE */
        uint64_t moved_to;           /* MOVED */
    } u;
    uint32_t generation;
    uint8_t state;
    uint8_t stop_waits; /* LENT: a stop came before the spawn */
    uint8_t watched;    /* LENT, LIVE: somebody is in the table of watchers */
};

#define RGI_SLOT_CHUNK 4096u
#define RGI_SLOTS_MAX (1u << RGM_ADDRESS_SLOT_BITS)
#define RGI_GENERATION_MAX ((1u << RGM_ADDRESS_GENERATION_BITS) - 1)

struct rgi_slots {
    struct rgi_slot **chunks; /* RGI_SLOTS_MAX / RGI_SLOT_CHUNK of them */
    uint32_t last; /* 1 to that were ever used; 0: the worker itself */
    uint32_t first_free;      /* 0: none */
    uint32_t lent;            /* in state LENT */
    uint32_t generation_start; /* of a slot never used; tests raise it */
};

/* Slot numbers a borrower holds of one owner. */
struct rgi_loan {
    struct rgm_message message; /* the node that travels; the borrower's */
    bool out;                   /* it is with the owner */
    uint32_t travelling_count;
    uint32_t travelling_wanted;
    struct rgm_address *travelling; /* numbers in the node */
    struct rgm_address *held;       /* numbers at hand */
    uint32_t held_count;
    bool open; /* the owner lends */
    struct rgm_message *join; /* goes home when the first numbers are here */
    /* The other direction: what we tell this worker as an owner. */
    struct rgm_message notice;
    bool notice_out;
};

/* ---- kept requests: actors/answer.c ---- */

struct rgi_kept {
    struct rgm_request *request; /* NULL: free */
    struct rgm_actor *keeper;
    uint32_t generation;
    uint32_t next; /* in the keeper's list, or the free list; 0 ends */
    uint32_t previous;
    struct rgm_token alias; /* its keeper has moved: the token he has */
#if defined(RGI_SLOW_ASSERTS) && RGI_SLOW_ASSERTS
    uint32_t row; /* waits.c: 0: none */
#endif
};

/* ---- dispatch: actors/dispatch.c ---- */

struct rgi_dispatch_entry {
    const struct rgm_message_type *type;
    void (*handle)(struct rgm_actor *self, void *record);
};

/* A behaviour made ready: its handlers by a perfect hash of the type. */
struct rgi_dispatch {
    const struct rgm_behaviour *behaviour;
    rgm_hook_function *settled; /* the behaviour's, at hand */
    struct rgi_dispatch *next; /* in the runtime's list */
    uint64_t seed;
    uint32_t shift;
    struct rgi_dispatch_entry entries[];
};

static inline const struct rgi_dispatch_entry *
rgi_dispatch_find(const struct rgi_dispatch *dispatch,
                  const struct rgm_message_type *type)
{
    uint64_t hash = ((uint64_t)(uintptr_t)type) * dispatch->seed;

    return &dispatch->entries[hash >> dispatch->shift];
}

#define RGI_DISPATCH_CACHE 64u

/* ---- the actor's life: actors/actor.c ---- */

enum rgi_life {
    RGI_LIFE_RUNNING,
    RGI_LIFE_FROZEN,   /* about to move: mail collects, answers arrive */
    RGI_LIFE_STOPPING, /* no deliveries; answers still arrive */
    RGI_LIFE_STOPPED
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct rgm_actor) == 88,
               "an idle actor costs what it did");

/* What a movable actor has besides, behind its struct; see move.c. */
struct rgi_roam {
    struct rgm_address name;     /* it has moved: its first address */
    struct rgi_forward *forward; /* it has moved: where that is known */
    struct rgi_move *move;       /* it is about to move */
};

/* What an actor takes of a slab. */
static inline size_t
rgi_actor_bytes(const struct rgm_behaviour *behaviour)
{
    size_t bytes = (behaviour->size_bytes + 7) & ~(size_t)7;

    return behaviour->movable ? bytes + sizeof(struct rgi_roam)
                              : behaviour->size_bytes;
}

#define RGI_ACTOR_STARTS 0x01  /* `started` has not run yet */
#define RGI_ACTOR_RETIRES 0x02 /* is to be told of the stop */
#define RGI_ACTOR_ROOT 0x04    /* its end stops the runtime */
#define RGI_ACTOR_FOREIGN 0x08 /* made by another thread, from its slab */
#define RGI_ACTOR_LOST 0x10    /* something of its went with a provider */
#define RGI_ACTOR_ENDING 0x20  /* what it has out was cancelled */
#define RGI_ACTOR_PARCEL 0x40  /* an output or fault of its is in `parcels` */
#define RGI_ACTOR_MOVED RGM_ACTOR_HAS_MOVED /* see move.c */

/* ---- watchers: actors/watch.c ---- */

#define RGI_WATCH_START 16u

/* Who watches the actors of this worker: by slot, in chains of their own. */
struct rgi_watchers {
    struct rgm_watcher **buckets; /* NULL: the first few */
    uint32_t size;                /* a power of two; 0: the first few */
    uint32_t count;
    struct rgm_watcher *start[RGI_WATCH_START];
};

/* ---- places of reusable timers: actors/timer.c ---- */

struct rgi_timer_places {
    struct rgi_timer_place_entry *entries;
    uint32_t size;
    uint32_t first_free; /* 1 + number; 0: none */
};

/* ---- the idle spinner: actors/spinner.c ---- */

struct rgi_spinner {
    uint32_t minimum_ns;
    uint32_t maximum_ns; /* 0: never spins */
    uint32_t threshold_ns; /* a park shorter than this was a mistake */
    uint32_t budget_ns;
    uint32_t floor_ns; /* learned */
};

/* ---- a slot of a worker made for one actor: actors/dedicated.c ---- */

struct rgi_spawn;

struct rgi_seat {
    struct rgm_address number;
    struct rgi_spawn *spawn; /* the node that brings the actor; a guest: NULL */
    bool taken;
};

/* ---- what keeps a worker from ending: actors/blockers.c ---- */

/* Of one kind. Written by the worker, read by anyone: stop-watch. */
struct rgi_blocker {
    uint64_t count;
    uint64_t since_ns; /* CLOCK_MONOTONIC */
    const char *name;
};

struct rgi_stop_watch {
    uint64_t turn_ns; /* when the last turn with a stop in it began; 0: none */
    uint64_t actor;   /* address of the one whose name is given */
    struct rgi_blocker now[RGM_BLOCKER_KINDS_COUNT];
    struct rgi_blocker given_up[RGM_BLOCKER_KINDS_COUNT];
    uint32_t cursor; /* the slot to look at first */
};

/* ---- the worker ---- */

struct rgm_worker {
    /* Constant after start. */
    struct rgm_runtime *runtime;
    struct rgi_inbox *inbox;
    uint32_t number;
    uint32_t here; /* the number whose actors live here; a guest: of nobody */
    uint32_t identity; /* no other worker of the process has it, nor had */
    uint32_t workers_count; /* numbers known to be in use; only grows */
    uint32_t quota;
    uint32_t lane_messages;
    uint64_t lane_bytes;
    bool is_guest;

    /* The delivery in progress: answer.c, actor.c. */
    struct rgm_message *handling; /* not yet answered; NULL: answered */
    struct rgm_actor *running;

    /* home.c: what is sent and what comes home. */
    struct rgi_mail mail;
    uint64_t dirty; /* bit i: outboxes[i] is not empty */
    uint64_t dirty_since_ns; /* when that was first seen; 0: not yet */
    uint64_t dirty_since_count; /* deliveries by then */
    uint64_t next_look;         /* deliveries at the next look at the clock */
    struct rgi_outbox outboxes[RGM_WORKERS_MAX];
    struct rgi_bundle bundles[RGM_WORKERS_MAX]; /* for the same outboxes */
    struct rgi_lane *lanes; /* two per destination; before them one that is
                             * credited what was charged to none */
    struct rgi_hold *holds; /* open ones */
    uint32_t messages_out;
    uint32_t strays_out; /* of those: whose asker has moved, stays.c */

    /* actor.c */
    struct rgm_actor *ready_first; /* the next generation */
    struct rgm_actor *ready_last;
    uint32_t actors_count;
    struct rgi_slots slots;
    struct rgi_slab slab;
    const struct rgi_dispatch *dispatch_cache[RGI_DISPATCH_CACHE];

    /* watch.c, end.c */
    struct rgi_watchers watchers;
    struct rgm_link parcels; /* of actors that have not ended yet */

    /* answer.c */
    struct rgi_kept *kept; /* index 0 is unused */
    uint32_t kept_size;
    uint32_t kept_free;
    uint32_t kept_count;

    /* storage.c */
    struct rgm_pool *storage; /* of reads that name none; NULL: none yet */

    /* drop.c */
    struct rgm_actor janitor; /* asks for what nobody else is left to ask */
    uint32_t cleanups_out;    /* that nobody waits for */

    /* move.c */
    struct rgm_link movers; /* frozen, and nothing is out */
    uint32_t frozen_count;
    bool stays; /* the runtime stops: nobody moves */

    /* worker_lease.c */
    struct rgm_link leases; /* held, oldest first */
    struct rgm_link leases_spare;
    uint32_t leases_count;

    /* operations.c */
    struct rgm_provider *provider;
    struct rgi_timers *timers;
    struct rgm_link due;
    uint32_t timers_held; /* sleeps that are out, and places taken */
    struct rgi_timer_places timer_places;
    struct rgm_link deadlines; /* asked, and their timers not armed yet */
    struct rgm_link distant;   /* a moment by now, and far: not armed either */
    uint64_t distant_since_ns; /* of the first in it, or earlier */
    uint64_t distant_turn;     /* when one was last put there */
    struct rgm_turn turn; /* completions collected, not delivered */
    uint32_t operations_out;
    struct rgm_link remote; /* operations asked from elsewhere */
    uint32_t remote_count;
    struct rgm_link strays; /* begun here by who has moved since */

    /* commands.c */
    struct rgi_names *names; /* operations of ours that have a number */
    uint64_t names_last;     /* the last number we gave */

    /* acquire.c */
    struct rgm_link outputs;  /* halves of its writers */
    struct rgm_link inputs;   /* halves of its readers */
    struct rgm_link acquires; /* that wait, and are the first for their pool */

    /* turn.c */
    uint64_t now_ns;
    bool now_fresh;   /* read in this turn */
    struct rgm_peek peek; /* the provider's */
    /* Set by whoever posts, dirties an outbox or starts an operation while a
     * batch runs: something but the ready actors wants its turn. */
    bool attention;
    bool entries_new; /* operations were handed to the provider */
    uint64_t provider_seen; /* deliveries when it was last looked at */
    struct rgi_spinner spinner;
    uint64_t parked_ns; /* park-since: when it fell asleep; 0: awake */
    struct rgi_loan *loans; /* by owner */
    uint32_t spawn_turn;    /* round robin */
    bool draining; /* the runtime stops, or this worker retires */
    bool retiring; /* this worker retires */

    /* drain.c */
    bool drains_armed; /* somebody has waited, once */
    bool drained;      /* and it was empty at the last look */
    struct rgm_link drains;

    /* dedicated.c */
    bool dedicated; /* one actor's: takes no placements, ends by itself */
    bool seated;    /* its seat is lent, taken or back */
    struct rgi_seat *seat; /* of another worker, while its answer is given */

    struct rgm_message *meeting; /* the order to meet the others */
    uint32_t notices_out;
    bool counted_quiet;
    bool close_ordered;
    bool finished;
    int failure;

    /* stop.c, blockers.c */
    bool forced;
    bool gave_up; /* `failure` is not the provider's */
    uint64_t give_up_ns; /* when forced: at this time of the provider */
    const struct rgi_dispatch *running_dispatch; /* of the last that ran */
    struct rgi_stop_watch watch;

    struct rgm_counters counters;
};

/*
 * Which worker this thread is; NULL on a plain thread. It refuses a wait that
 * would block a worker, names who is there for a report, and tells a caller of
 * the wrong thread. What it saves, a detour by the inbox, it saves by
 * rgi_here(); nothing depends on that.
 */
extern __thread struct rgm_worker *rgi_current
    __attribute__((tls_model("initial-exec")));

/* The worker this thread is, for those who could go round by its inbox. */
#ifdef RGI_SLOW_ASSERTS
/* Nobody, if RGM_LOCALITY=off was in the environment when the runtime was made:
 * so cases can be run without. */
struct rgm_worker *rgi_here(void);
#else
static inline struct rgm_worker *
rgi_here(void)
{
    return rgi_current;
}
#endif

/*
 * Counters are written by their owner alone and read by anyone without order.
 * counter-*: publishes nothing; relaxed, so that what the compiler knows of
 * other memory stays known on the paths that count.
 */
static inline void
rgi_counter_add(uint64_t *counter, uint64_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    /* One instruction, where the compiler makes three of an atomic store. */
    __asm__("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
#else
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
#endif
}

#define rgi_count(worker, name) rgi_count_by(worker, name, 1)
#define rgi_count_by(worker, name, n)                                         \
    rgi_counter_add(&(worker)->counters.name, (n))
#define rgi_gauge(worker, name, value)                                        \
    ck_pr_store_64(&(worker)->counters.name, (value))

static inline bool
rgi_is_owner(const struct rgm_worker *worker)
{
    return worker->is_guest || rgi_current == worker;
}

/* ---- home.c ---- */

/* Send what is charged (or free of charge) on its way to message->to. */
static inline void rgi_post(struct rgm_worker *worker,
                            struct rgm_message *message, uint32_t destination);
void rgi_post_far(struct rgm_worker *worker, struct rgm_message *message,
                  uint32_t destination);
/* The same for a one-way message from a worker to another. */
void rgi_post_one_way(struct rgm_worker *worker, struct rgm_message *message,
                      uint32_t destination);
/* A one-way message was handled: home, with others if it may. */
void rgi_send_back(struct rgm_worker *worker, struct rgm_message *message);
/* Turn a message home, from wherever it is. */
void rgi_send_home(struct rgm_worker *worker, struct rgm_message *message,
                   int status);
/* The same for a request of an actor's, answered by its handler. */
void rgi_send_answer(struct rgm_worker *worker, struct rgm_request *request,
                     int status);
/* Take back what was posted to another worker and not flushed. Returns: whether
 * it was there. */
bool rgi_unpost(struct rgm_worker *worker, struct rgm_message *message,
                uint32_t destination);
/* The same, behind what was sent there as ordinary mail. */
void rgi_send_home_in_line(struct rgm_worker *worker,
                           struct rgm_message *message, int status);
/* One of ours is home: credit it and hand it to its actor or its hook. */
void rgi_come_home(struct rgm_worker *worker, struct rgm_message *message);
/* An answer follows its asker to another worker: mail that nobody holds. */
void rgi_post_answer(struct rgm_worker *worker, struct rgm_message *message,
                     uint32_t destination);
/* Push all outboxes. */
void rgi_flush_all(struct rgm_worker *worker);
/* The time of this turn. */
uint64_t rgi_now(struct rgm_worker *worker);

/* ---- resize.c ---- */

/* A number that was not known to be in use: is it now? */
bool rgi_number_learn(struct rgm_worker *worker, uint32_t number);
/* The numbers that take placements. Cost: a load. */
uint64_t rgi_live(const struct rgm_worker *worker);
/* A resize was asked of this worker. */
int rgi_resize_start(struct rgm_worker *worker,
                     struct rgm_operation *operation);
void rgi_resize_cancel(struct rgm_worker *worker,
                       struct rgm_operation *operation);
/* The stop has reached worker 0. False: it waits for a growth. */
bool rgi_resize_stop(struct rgm_worker *worker);
/* Whether worker 0 has nothing to look after any more. */
bool rgi_resize_idle(const struct rgm_worker *worker);
void rgi_resize_control(struct rgm_worker *worker,
                        struct rgm_message *message);
/* Perhaps all it told the others is home. */
void rgi_worker_met(struct rgm_worker *worker);
/* Nobody lives any more that moved from a number. */
void rgi_resize_forget(struct rgm_worker *worker, struct rgm_message *message);
/* A retired worker's thread is about to end. */
void rgi_worker_gone(struct rgm_worker *worker);

int rgi_dedicate_start(struct rgm_worker *worker,
                       struct rgm_operation *operation);

/* ---- dedicated.c ---- */

/* This worker is made for one actor: lend the number for it. 0 or -ENOMEM. */
int rgi_dedicated_sit(struct rgm_worker *worker, struct rgm_address *ret_seat);
/* A turn of such a worker: does it retire? */
void rgi_dedicated_step(struct rgm_worker *worker);
/* The seat, or why there is none, for whoever asked. */
void rgi_dedicated_answered(struct rgm_actor *self,
                            struct rgm_request *request);
bool rgi_is_dedicate(const struct rgm_request *request);
/* Whoever asked does not hear of it. */
void rgi_dedicated_unheard(struct rgm_worker *worker,
                           struct rgm_request *request);
/* Spawn on the number that is being answered. */
int rgi_seat_spawn(struct rgm_worker *worker,
                   const struct rgm_behaviour *behaviour,
                   const void *argument, struct rgm_message *watch,
                   struct rgm_address *ret_address);
/* From a plain thread: ask for a thread and spawn there; blocks. */
int rgi_guest_spawn_own(struct rgm_actor *self,
                        const struct rgm_behaviour *behaviour,
                        const void *argument, struct rgm_message *watch,
                        struct rgm_address *ret_address);

/* ---- move.c ---- */

/* This worker retires: does the actor move instead of stopping? */
bool rgi_move_begin(struct rgm_worker *worker, struct rgm_actor *actor);
/* A frozen actor gets mail; asks; has perhaps nothing out any more. */
void rgi_move_collect(struct rgm_actor *actor, struct rgm_message *message);
void rgi_move_hold(struct rgm_actor *actor, struct rgm_request *request);
void rgi_move_look(struct rgm_worker *worker, struct rgm_actor *actor);
/* Code of a frozen actor's has run. */
void rgi_move_spoke(struct rgm_actor *actor);
/* It stops instead; one that is not frozen: nothing. */
void rgi_move_give_up(struct rgm_worker *worker, struct rgm_actor *actor);
/* A lease was released: who waited for it? */
void rgi_moves_look_again(struct rgm_worker *worker);
/* Let some of those go that can. */
void rgi_moves_step(struct rgm_worker *worker);
void rgi_moves_stop(struct rgm_worker *worker);
void rgi_move_relay(struct rgm_worker *worker, const struct rgi_slot *slot,
                    struct rgm_message *message);
void rgi_move_control(struct rgm_worker *worker, struct rgm_message *message);
/* One that has moved is about to run. */
void rgi_moved_runs(struct rgm_actor *actor);
/* The address it was spawned with; what it has besides, if it is movable. */
#define rgi_name_of(actor) rgm_actor_address(actor)
struct rgi_roam *rgi_roam_of(const struct rgm_actor *actor);

/* ---- stays.c ---- */

/* Whether it goes on where it is when its actor moves. */
bool rgi_may_stay(const struct rgm_actor *actor,
                  const struct rgm_request *request);
/* How many of an actor's do. Cost: a walk over what it has out. */
uint32_t rgi_stays_count(const struct rgm_actor *actor);
/* It goes to that address; and it has come. */
void rgi_stays_leave(struct rgm_worker *worker, struct rgm_actor *actor,
                     struct rgm_address to);
void rgi_stays_arrive(struct rgm_worker *worker, struct rgm_actor *actor);
/* One is home, and credited: it goes on, if its asker has moved. Returns:
 * whether it does. */
bool rgi_stray_home(struct rgm_worker *worker, struct rgm_message *message);
/* One has come after its asker; or met the worker closed. */
void rgi_stray_arrived(struct rgm_worker *worker, struct rgm_message *message);
void rgi_stray_refused(struct rgm_worker *worker, struct rgm_message *message);

/* ---- forwards.c ---- */

/* Whether there is memory for the table of this worker. */
bool rgi_forwards_ready(struct rgm_worker *worker);
/* Enter where an actor of this worker goes. */
struct rgi_forward *rgi_forward_make(struct rgm_worker *worker,
                                     struct rgm_address from,
                                     struct rgm_address to,
                                     struct rgi_forward *previous);
/* Whether it has just arrived: true once. Thread: the actor's worker. */
bool rgi_forward_arrives(struct rgi_forward *forward);
/* An actor has ended that moved. */
void rgi_forwards_end(struct rgm_worker *worker, struct rgi_forward *forward);
/* Where the actor has gone that had an address of a closed worker; zero: it
 * has ended, or never moved. Thread: any that found it closed. */
struct rgm_address rgi_forward_find(struct rgm_runtime *runtime,
                                    struct rgm_address old);
/* Whether anybody has moved from a number. Thread: any. */
bool rgi_forwards_any(struct rgm_runtime *runtime, uint32_t number);
/* A worker has gone. Returns: whether nobody lives that moved from it.
 * Thread: worker 0; of both. */
bool rgi_forwards_worker_gone(struct rgm_runtime *runtime, uint32_t number);
void rgi_forwards_free(struct rgm_runtime *runtime, uint32_t number);

/* ---- worker_lease.c ---- */

void rgi_worker_leases_init(struct rgm_worker *worker);
void rgi_worker_leases_deinit(struct rgm_worker *worker);
void rgi_worker_lease_control(struct rgm_worker *worker,
                              struct rgm_message *message);
/* A worker ends by force: leases are left to whoever has their tokens. False:
 * some were being released; they are about to arrive as mail, and must. */
bool rgi_worker_leases_give_up(struct rgm_worker *worker);
/* The behaviour's name of who holds one, or NULL. */
const char *rgi_worker_lease_name(const struct rgm_worker *worker);
/* Whether this actor took a lease that is held. */
bool rgi_worker_has_lease_of(const struct rgm_worker *worker,
                             const struct rgm_actor *actor);
int rgi_lease_holders_start(struct rgm_worker *worker,
                            struct rgm_operation *operation);

/* ---- lane.c ---- */

/* An ask that does not fit waits in line. */
void rgi_lane_wait(struct rgm_worker *worker, struct rgm_message *message,
                   uint32_t destination);
/* Everybody in line who is marked goes home with -ECANCELED. */
void rgi_lanes_leave(struct rgm_worker *worker);
/* Take out of the lines with a destination what is `wanted`, in order. */
void rgi_lanes_pull(struct rgm_worker *worker, uint32_t destination,
                    bool (*wanted)(struct rgm_message *message,
                                   const void *context),
                    const void *context, struct rgi_chain *ret_pulled);
/* A hold is open from here until it is released: then what is in it goes to
 * the address, by the lane. */
void rgi_hold_open(struct rgm_worker *worker, struct rgi_hold *hold);
void rgi_hold_release(struct rgm_worker *worker, struct rgi_hold *hold,
                      struct rgm_address to);
/* Let those who wait go, the first first, as long as they fit. */
void rgi_lane_advance(struct rgm_worker *worker, uint16_t name);
/* Credit so many that came home, of one size, and send on who waited. */
void rgi_lane_credit_many(struct rgm_worker *worker, uint16_t name,
                          uint32_t count, uint32_t each_bytes);

/* ---- slots.c ---- */

int rgi_slots_init(struct rgi_slots *slots);
void rgi_slots_deinit(struct rgi_slots *slots);
/* Take a free slot; 0 and its address without worker bits, or -ENOMEM. */
int rgi_slots_take(struct rgi_slots *slots, struct rgi_slot **ret_slot,
                   uint32_t *ret_index);
/* Free one whose generation was used, or (unused) was never told. */
void rgi_slots_release(struct rgi_slots *slots, uint32_t index, bool used);

static inline struct rgi_slot *
rgi_slot_at(const struct rgi_slots *slots, uint32_t index)
{
    return &slots->chunks[index / RGI_SLOT_CHUNK][index % RGI_SLOT_CHUNK];
}

static inline uint32_t
rgi_address_slot(struct rgm_address address)
{
    return (uint32_t)(address.bits >> RGM_ADDRESS_GENERATION_BITS) &
           (RGI_SLOTS_MAX - 1);
}

static inline uint32_t
rgi_address_generation(struct rgm_address address)
{
    return (uint32_t)address.bits & RGI_GENERATION_MAX;
}

static inline struct rgm_address
rgi_address_make(uint32_t worker, uint32_t slot, uint32_t generation)
{
    struct rgm_address address = {
        (uint64_t)worker << 54 |
        (uint64_t)slot << RGM_ADDRESS_GENERATION_BITS | generation};

    return address;
}

/* Whether a handle opened at `where` is of this worker's present incarnation. */
static inline bool
rgi_handle_is_here(const struct rgm_worker *worker, struct rgm_address where)
{
    return rgm_address_same(
        where, rgi_address_make(worker->number, 0, worker->identity));
}

/* The slot an address names, whatever its state, or NULL when stale. */
static inline struct rgi_slot *
rgi_slot_find(const struct rgi_slots *slots, struct rgm_address address)
{
    uint32_t index = rgi_address_slot(address);
    struct rgi_slot *slot;

    if (index - 1 >= slots->last) /* none, or the worker itself */
        return NULL;
    slot = rgi_slot_at(slots, index);
    return slot->generation == rgi_address_generation(address) ? slot : NULL;
}

/* The actor of that address on this worker, or NULL: it is gone. */
static inline struct rgm_actor *
rgi_actor_live(const struct rgm_worker *worker, struct rgm_address address)
{
    const struct rgi_slot *slot = rgi_slot_find(&worker->slots, address);

    return slot != NULL && slot->state == RGI_SLOT_LIVE ? slot->u.actor : NULL;
}

/* ---- dispatch.c ---- */

/* The behaviour made ready. Returns: 0, -EINVAL for its handlers, -ENOMEM. */
int rgi_dispatch_of(struct rgm_worker *worker,
                    const struct rgm_behaviour *behaviour,
                    const struct rgi_dispatch **ret_dispatch);
void rgi_dispatch_free_all(struct rgi_dispatch *first);

/* ---- actor.c ---- */

/* Take a request back that waits for its actor to be spawned. */
void rgi_slot_withdraw(struct rgm_worker *worker, struct rgm_message *message);
/* Mail for an address on this worker. */
void rgi_deliver(struct rgm_worker *worker, struct rgm_message *message);
/* What stands at the head of a chain of mail for one live actor, all of one
 * type, goes into its line in one piece. Returns: how many, at most `most`; 0
 * when the first is something else. */
uint32_t rgi_deliver_run(struct rgm_worker *worker, struct rgi_chain *chain,
                         uint32_t most);
/* Put something in an actor's line and the actor in the ready list. */
static inline void rgi_actor_wake(struct rgm_worker *worker,
                                  struct rgm_actor *actor);
void rgi_actor_run(struct rgm_worker *worker, struct rgm_actor *actor);
void rgi_actor_stop(struct rgm_worker *worker, struct rgm_actor *actor);
/* Tell all actors that the worker drains. */
void rgi_actors_retire(struct rgm_worker *worker);
/* Make a prepared actor live in a slot that is taken or lent. */
void rgi_actor_install(struct rgm_worker *worker, struct rgm_actor *actor,
                       struct rgm_address address);
/* Stop whoever lives at an address of this worker, or is still to come. */
void rgi_actor_stop_at(struct rgm_worker *worker, struct rgm_address address);
/* Newest first becomes oldest first. */
struct rgm_message *rgi_reversed(struct rgm_message *newest);

static inline void
rgi_actor_wake(struct rgm_worker *worker, struct rgm_actor *actor)
{
    if (actor->ready)
        return;
    actor->ready = 1;
    actor->ready_next = NULL;
    if (__builtin_expect(worker->ready_first == NULL, 1))
        worker->ready_first = actor;
    else
        worker->ready_last->ready_next = actor;
    worker->ready_last = actor;
}

static inline void
rgi_actor_push_all(struct rgm_worker *worker, struct rgm_actor *actor,
                   struct rgm_message *first, struct rgm_message *last)
{
    last->next = NULL;
    if (__builtin_expect(actor->mail_first == NULL, 1))
        actor->mail_first = first;
    else
        actor->mail_last->next = first;
    actor->mail_last = last;
    rgi_actor_wake(worker, actor);
}

static inline void
rgi_actor_push(struct rgm_worker *worker, struct rgm_actor *actor,
               struct rgm_message *message)
{
    rgi_actor_push_all(worker, actor, message, message);
}

/* Put messages before all that an actor has in its line. */
static inline void
rgi_actor_push_first(struct rgm_worker *worker, struct rgm_actor *actor,
                     struct rgi_chain *chain)
{
    if (chain->first == NULL)
        return;
    chain->last->next = actor->mail_first;
    if (actor->mail_first == NULL)
        actor->mail_last = chain->last;
    actor->mail_first = chain->first;
    rgi_actor_wake(worker, actor);
}

/*
 * Mail for an actor of this worker goes straight into its line, which is
 * served in a later batch (or later in this one), unless something of ours
 * waits in the local FIFO, which it must not overtake, or the actor is the one
 * that runs, whose line must stay finite.
 */
static inline void
rgi_post_here(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_slot *slot;

    if (worker->mail.mail[RGI_LOCAL].first == NULL) {
        slot = rgi_slot_find(&worker->slots, message->to);
        if (slot != NULL && slot->state == RGI_SLOT_LIVE &&
            slot->u.actor != worker->running) {
            rgi_actor_push(worker, slot->u.actor, message);
            return;
        }
    }
    worker->attention = true;
    rgi_mail_post_local(&worker->mail, message);
}

static inline void
rgi_post(struct rgm_worker *worker, struct rgm_message *message,
         uint32_t destination)
{
    if (__builtin_expect(destination == worker->number, 1))
        rgi_post_here(worker, message);
    else
        rgi_post_far(worker, message, destination);
}

/* ---- send.c ---- */

/* A request is its asker's no more, but the user's. */
static inline void
rgi_scope_unlink(struct rgm_actor *actor, struct rgm_request *request)
{
    rgi_list_remove_known(&request->scope.link); /* it was out */
    actor->out_count--;
    rgi_request_ends(request);
    request->message.flags &= RGI_MESSAGE_TAKEN;
}

/* Something was set on it, or its asker has lost another. */
void rgi_special_answered(struct rgm_worker *worker, struct rgm_actor *actor,
                          struct rgm_request *request);

/* An answer is delivered: leave the scope, run the callback (or wait for its
 * turn in an order). */
static inline void
rgi_request_answered(struct rgm_worker *worker, struct rgm_actor *actor,
                     struct rgm_request *request)
{
    if (__builtin_expect(request->asker_flags != 0, 0) ||
        __builtin_expect(actor->flags & RGI_ACTOR_LOST, 0)) {
        rgi_special_answered(worker, actor, request);
        return;
    }
    rgi_scope_unlink(actor, request);
    request->answer(actor, request);
}

/* A request of this worker's went with a provider: there will be no answer,
 * and its record is nobody's. */
void rgi_request_lost(struct rgm_worker *worker, struct rgm_request *request);
/* Complete a request of this worker's without its having been anywhere. */
void rgi_request_fail(struct rgm_worker *worker, struct rgm_request *request,
                      int status);
/* Send by no lane: what there is a bounded number of. As rgm_send_message. */
int rgi_send_uncharged(struct rgm_actor *self, struct rgm_address to,
                       struct rgm_message *message);
/* Charge a message to the lane of what is answered late; all of a send but that
 * it is posted. */
int rgi_send_begin(struct rgm_actor *self, struct rgm_address to,
                   struct rgm_message *message);
/* Ask by no lane: for what others wait for, and whose number is bounded. */
void rgi_ask_uncharged(struct rgm_actor *self, struct rgm_request *request,
                       rgm_answer_function *answer);
/* Ask, and wait in a hold; order: or NULL. */
void rgi_ask_held(struct rgm_actor *self, struct rgm_order *order,
                  struct rgm_request *request, rgm_answer_function *answer,
                  struct rgi_hold *hold);

/* Ask, or be answered with the status if it is not 0. */
void rgi_ask_checked(struct rgm_actor *self, struct rgm_request *request,
                     rgm_answer_function *answer, int status);

/* Ask what a frozen actor has asked. */
void rgi_ask_again(struct rgm_worker *worker, struct rgm_actor *actor,
                   struct rgm_request *request);

/* ---- answer.c ---- */

/* What an actor keeps, for a move: how many; take one out, and the token its
 * keeper has of it; keep one that has arrived. */
uint32_t rgi_kept_count(const struct rgm_worker *worker,
                        const struct rgm_actor *actor);
struct rgm_request *rgi_kept_remove(struct rgm_worker *worker,
                                    struct rgm_actor *actor,
                                    struct rgm_token *ret_token);
int rgi_keep_moved(struct rgm_worker *worker, struct rgm_actor *actor,
                   struct rgm_message *message, struct rgm_token token);

/* A kept request is to be delivered again: it is the caller's, the token is
 * spent. NULL when it was. */
struct rgm_request *rgi_unkeep(struct rgm_actor *self, struct rgm_token token);
/* Who keeps a request that is kept on this worker. */
struct rgm_actor *rgi_keeper_of(const struct rgm_worker *worker,
                                const struct rgm_message *message);
/* A stopping actor's kept requests: withdrawn and sent home. */
void rgi_withdraw_all(struct rgm_worker *worker, struct rgm_actor *actor);
/* A kept request is cancelled: its token is spent, its keeper is told in its
 * turn. */
void rgi_withdraw_one(struct rgm_worker *worker, struct rgm_message *message);
/* A marked request has come up in an actor's line: it goes home. */
void rgi_deliver_cancelled(struct rgm_worker *worker, struct rgm_actor *actor,
                           struct rgm_message *message);

/* ---- cancel.c ---- */

/* Ask that a request of this worker's comes home, wherever it is: at home, on
 * its way home or cancelled before, nothing happens. `why` is a flag for the
 * asker, or 0. In line for allowance it is only marked: rgi_lanes_leave. */
void rgi_request_cancel(struct rgm_worker *worker, struct rgm_request *request,
                        uint32_t why);
/* What an actor has out, as it stops. */
void rgi_requests_cancel(struct rgm_worker *worker, struct rgm_link *list);
/* The same of an actor that moves, but for what stays. */
void rgi_requests_cancel_to_move(struct rgm_worker *worker,
                                 struct rgm_actor *actor);
/* A cancel node has reached this worker; one of another runtime's. */
void rgi_cancel_arrived(struct rgm_worker *worker, struct rgm_message *node);
void rgi_cancel_visited(struct rgm_worker *worker, struct rgm_message *node);
/* It met a closed inbox. */
void rgi_cancel_refused(struct rgm_worker *worker, struct rgm_message *node,
                        uint32_t destination);

/* ---- commands.c ---- */

int rgi_names_init(struct rgm_worker *worker);
void rgi_names_deinit(struct rgm_worker *worker);
/* How many can be found; for tests. Cost: the whole table. */
uint32_t rgi_names_count(const struct rgm_worker *worker);
/* The one with that number, or NULL. */
struct rgm_operation *rgi_name_find(const struct rgm_worker *worker,
                                    uint64_t number);
/* It has a number, and is begun: it can be found. */
void rgi_name_add(struct rgm_worker *worker, struct rgm_operation *operation);
/* One that this worker has begun gets a number, if it has none. */
void rgi_name_give(struct rgm_worker *worker, struct rgm_operation *operation);
/* An operation leaves for another worker: it gets a number. Returns: whether it
 * needs no allowance. */
bool rgi_operation_leaves(struct rgm_worker *worker,
                          struct rgm_message *message);
/* If it is a command, apply it, or put it where what it names may come from.
 * local: it was asked here. Returns: whether it is one. */
bool rgi_command(struct rgm_worker *worker, struct rgm_message *message,
                 bool local);

static inline bool
rgi_is_command(const struct rgm_operation *operation)
{
    return operation->kind == RGM_OP_CANCEL ||
           operation->kind == RGM_OP_RETIME;
}

static inline void
rgi_name_remove(struct rgm_operation *operation)
{
    if (rgi_list_is_linked(&operation->named))
        rgi_list_remove(&operation->named);
}

/* ---- deadline.c ---- */

/* What a timer of the worker's is for; rgi_timer.kind. */
enum rgi_timer_kind {
    RGI_TIMER_SLEEP,
    RGI_TIMER_DEADLINE,
    RGI_TIMER_TIMEOUT,
    RGI_TIMER_REUSED
};

/* What no other runtime's deadlines have. */
uint64_t rgi_domain(const struct rgm_worker *worker);
/* Whether the deadline an operation came with from elsewhere has passed. */
bool rgi_deadline_has_come(struct rgm_worker *worker,
                           const struct rgm_message *message);
/* traffic.c: counts what a completed operation has moved; a transfer at once. */
void rgi_traffic_count(struct rgm_worker *worker,
                       struct rgm_operation *operation);
void rgi_traffic_read(struct rgm_worker *worker, uint64_t bytes);
void rgi_traffic_write(struct rgm_worker *worker, uint64_t bytes);
/* The runtime's dial timeout, for a connect that has no deadline. */
void rgi_deadline_default(struct rgm_worker *worker,
                          struct rgm_request *request);
/* May the request be asked with the deadline it has? 0; -EINVAL; -ETIMEDOUT for an
 * operation that is too late already; or, for a guest's first, -ENOMEM. */
int rgi_deadline_check(struct rgm_worker *worker,
                       const struct rgm_request *request);
/* It is asked: its deadline counts, from the first wait on. */
void rgi_deadline_begin(struct rgm_worker *worker,
                        struct rgm_request *request);
/* The deadline of one that has stayed counts on the worker its asker came to: of
 * the record, only the asker's part is written. */
void rgi_deadline_resume(struct rgm_worker *worker,
                         struct rgm_request *request);
/* Make a duration that begins now into a moment. */
void rgi_deadline_settle(struct rgm_worker *worker,
                         struct rgm_request *request);
/* Arm the timers of all that were asked and have to wait now. */
void rgi_deadlines_arm(struct rgm_worker *worker);
/* All that are distant go into the queue. */
void rgi_deadlines_queue(struct rgm_worker *worker);
void rgi_deadline_disarm(struct rgm_worker *worker,
                         struct rgm_request *request);
/* One is due. Returns: whether it is marked and in line: rgi_lanes_leave. */
bool rgi_deadline_expired(struct rgm_worker *worker, struct rgi_timer *timer);
/* When a request that this worker holds expires, or RGM_NEVER. */
uint64_t rgi_deadline_of(struct rgm_worker *worker,
                         const struct rgm_request *request);

/* ---- abandon.c ---- */

/* One that was given up while its asker was elsewhere has come to it. */
void rgi_abandoned_arrived(struct rgm_actor *actor,
                           struct rgm_request *request);
int rgi_timeout_start(struct rgm_worker *worker,
                      struct rgm_operation *operation);
bool rgi_timeout_is_over(struct rgi_timer *timer);
/* Its request has to wait from now on. */
void rgi_timeout_arm(struct rgm_worker *worker, struct rgi_timer *timer,
                     uint64_t now_ns);
void rgi_timeout_expired(struct rgm_worker *worker, struct rgi_timer *timer);
void rgi_timeout_cancel(struct rgm_worker *worker,
                        struct rgm_operation *operation);
void rgi_timeout_abandoned(struct rgm_worker *worker,
                           struct rgm_operation *operation);
/* A request is lost, which a timeout may be waiting for. */
void rgi_timeout_lost(struct rgm_worker *worker, struct rgm_request *request);

/* ---- timer.c ---- */

/* Whether one more may wait for time here. */
bool rgi_timer_has_room(const struct rgm_worker *worker);
/* All places are given up; the worker has ended. */
void rgi_timer_places_forget(struct rgm_worker *worker);
/* A wait or a release. Returns: as rgi_acquire_start. */
int rgi_timer_start(struct rgm_worker *worker,
                    struct rgm_operation *operation);
/* A sleep or a wait is over. */
void rgi_timer_home(struct rgm_worker *worker,
                    struct rgm_operation *operation);
/* A request was given up: if it is a wait, it ends, and so does its timer. */
void rgi_timer_abandoned(struct rgm_worker *worker,
                         struct rgm_request *request);

/* ---- scope.c ---- */

/* May this actor ask in the scope? 0, -EINVAL, or -ECANCELED. */
int rgi_scope_check(const struct rgm_actor *self,
                    const struct rgm_scope *scope);
int rgi_scope_close_start(struct rgm_worker *worker,
                          struct rgm_operation *operation);
/* An actor stops: what it has open is cancelled and closed. */
void rgi_scopes_end(struct rgm_worker *worker, struct rgm_actor *actor);
void rgi_scope_control(struct rgm_worker *worker, struct rgm_message *node);

/* ---- family.c ---- */

/* A request that others were asked for leaves our hands: they are cancelled. */
void rgi_family_ends(struct rgm_worker *worker, struct rgm_message *message);
/* One that was asked for another is answered. */
void rgi_family_leave(struct rgm_request *child);

/* ---- file_lanes.c ---- */

int rgi_collect_start(struct rgm_worker *worker,
                      struct rgm_operation *operation);
void rgi_collect_cancel(struct rgm_worker *worker,
                        struct rgm_operation *operation);
int rgi_lane_close_start(struct rgm_worker *worker,
                         struct rgm_operation *operation);
/* The operation will not end any more; if it is a lane's, those who wait for
 * that are told. */
void rgi_lane_lost(struct rgm_worker *worker, struct rgm_operation *operation);

/* ---- operations.c ---- */

/* What of a sleep or a reusable timer the worker's queue has. */
static inline struct rgi_timer *
rgi_timer_armed(struct rgm_timer *timer)
{
    _Static_assert(sizeof(struct rgi_timer) <=
                       sizeof(((struct rgm_timer *)0)->armed),
                   "a timer has room for what is armed");
    return (struct rgi_timer *)(void *)timer->armed;
}

/* Let a sleep end at another time: 0, -ESRCH when it has ended, -EINVAL when it
 * is none. */
int rgi_sleep_retime(struct rgm_worker *worker,
                     struct rgm_operation *operation, uint64_t deadline_ns);

/* An operation is asked: start it, if it is this worker's, or refuse it, if
 * its preparation did (it may have no address then). False: it must travel. */
bool rgi_operate_here(struct rgm_worker *worker, struct rgm_message *message);
/* Start an operation that has reached its worker. */
void rgi_operate(struct rgm_worker *worker, struct rgm_message *message);
/* Ask one that this worker has begun to stop. */
void rgi_operate_cancel(struct rgm_worker *worker,
                        struct rgm_message *message);
/* Is it an operation that cleans up, which a stopping actor may still ask? */
bool rgi_operation_is_cleanup(const struct rgm_message *message);

static inline bool
rgi_is_cleanup(const struct rgm_message *message)
{
    return message->type->kind == RGM_KIND_OPERATION &&
           rgi_operation_is_cleanup(message);
}

/* Move due sleeps to the completions. */
void rgi_timers_turn(struct rgm_worker *worker);
/* Deliver the completions collected. */
void rgi_completions_deliver(struct rgm_worker *worker);
/* The provider has ended: give up what it holds. */
void rgi_operations_lose(struct rgm_worker *worker);
/* Cancel what was asked from elsewhere: the worker drains. */
void rgi_operate_close(struct rgm_worker *worker);

/* ---- abroad.c ---- */

/* Give a worker an identity that no other of the process has, nor had. */
void rgi_identity_take(struct rgm_worker *worker);
/* Workers of other runtimes find this one, by its identity; and no longer, and
 * none is about to push. Again: nothing. */
void rgi_abroad_open(struct rgm_worker *worker);
void rgi_abroad_close(struct rgm_worker *worker);
/* An operation that is in no list, and for no worker of this runtime, goes to the
 * runtime of its handle. Returns: whether it has; if not, nothing has happened. */
bool rgi_abroad_leaves(struct rgm_worker *worker, struct rgm_message *message);
/* One that is not of this runtime goes home. */
void rgi_abroad_returns(struct rgm_worker *worker, struct rgm_message *message);
/* A node goes after one that is in another runtime. Returns: whether it has. */
bool rgi_abroad_chase(struct rgm_worker *worker, struct rgm_message *node,
                      const struct rgm_message *message);
/* A node of another runtime's has done what it came for. */
void rgi_abroad_chased(struct rgm_worker *worker, struct rgm_message *node);

/* Is it a handle that an address is of, and not whoever has a number? */
static inline bool
rgi_is_of_a_handle(struct rgm_address address)
{
    return rgi_address_generation(address) !=
           rgi_address_generation(rgm_worker_address(0));
}

/* ---- drain.c ---- */

/* Somebody waits for this worker to run empty. */
int rgi_drain_start(struct rgm_worker *worker,
                    struct rgm_operation *operation);
void rgi_drain_cancel(struct rgm_worker *worker,
                      struct rgm_operation *operation);
/* A turn of one that is waited for; whether anything is queued. */
void rgi_drains_look(struct rgm_worker *worker, bool queued);

/* ---- acquire.c ---- */

/* Takes a slot or stands in line for one. Returns: 0: it stands in line, or its
 * answer is in `turn`; 1: it has its slot; or why it is refused. */
int rgi_acquire_start(struct rgm_worker *worker,
                      struct rgm_operation *operation);
/* A slot, or the end of its pool, has arrived for the one whose node it is. */
void rgi_acquire_arrived(struct rgm_worker *worker,
                         struct rgm_message *message);
/* Takes one of this worker's out of line, unless it is too late. */
void rgi_acquire_cancel(struct rgm_worker *worker,
                        struct rgm_operation *operation);

/* ---- holder.c ---- */

struct rgi_holder;

/* Pools note from now on which actor takes a slot. */
void rgi_holders_name(void);
void rgi_holder_of_actor(const struct rgm_actor *actor,
                         struct rgi_holder *ret_holder);

/* ---- spawn.c ---- */

/* Allocate and prepare an actor by its factory, on the calling thread. */
int rgi_actor_make(struct rgm_worker *maker,
                   const struct rgm_behaviour *behaviour, const void *argument,
                   struct rgm_actor **ret_actor);
void rgi_actor_unmake(struct rgm_worker *worker, struct rgm_actor *actor);
/* Spawn on this very worker. */
int rgi_spawn_local(struct rgm_worker *worker,
                    const struct rgm_behaviour *behaviour,
                    const void *argument, struct rgm_actor **ret_actor);
/* Spawn on a worker (RGM_ANY_WORKER: the next in turn), with a watcher's
 * message that is there before the actor runs. NULL: nobody watches. */
int rgi_spawn_watched(struct rgm_actor *self, uint32_t number,
                      const struct rgm_behaviour *behaviour,
                      const void *argument, struct rgm_message *watch,
                      struct rgm_address *ret_address);
/* Reserve a number of this worker's slots for somebody; get it back unused. */
int rgi_slot_lend(struct rgm_worker *worker, struct rgm_address *ret_number);
void rgi_slot_take_back(struct rgm_worker *worker, struct rgm_address number);
int rgi_loans_init(struct rgm_worker *worker);
/* Take a number of an owner's out of the stock, if there is one. */
bool rgi_loan_spend(struct rgm_worker *worker, uint32_t owner,
                    struct rgm_address *ret_number);
/* The first number of a set from this one on, and round. */
uint32_t rgi_next_of(uint64_t set, uint32_t from);
void rgi_loans_deinit(struct rgm_worker *worker);
/* Give back all borrowed numbers; true when every node is home too. */
bool rgi_loans_give_back(struct rgm_worker *worker);
void rgi_spawn_control(struct rgm_worker *worker, struct rgm_message *message);
void rgi_spawn_home(struct rgm_worker *worker, struct rgm_message *message);
/* The order to stop an actor has arrived, or is home again. */
void rgi_stop_control(struct rgm_worker *worker, struct rgm_message *message);
/* Before the threads start: lend the borrower its first numbers. */
int rgi_loans_fill(struct rgm_worker *borrower, struct rgm_worker *owner);
/* Borrow from, and lend to, each of these from now on. */
void rgi_loans_meet(struct rgm_worker *worker, uint64_t peers);
/* Only borrow. */
void rgi_loans_borrow(struct rgm_worker *worker, uint64_t peers);
/* What brings an actor to another worker: taken, NULL without memory, given back
 * unused, or sent with the actor or (NULL) to say that nobody comes. */
struct rgi_spawn *rgi_spawn_node(struct rgm_worker *worker);
void rgi_spawn_node_free(struct rgm_worker *worker, struct rgi_spawn *spawn);
void rgi_spawn_node_send(struct rgm_worker *worker, struct rgi_spawn *spawn,
                         struct rgm_actor *actor, struct rgm_address number);
/* Ask each of these for what it has borrowed. */
void rgi_loans_recall(struct rgm_worker *worker, uint64_t peers);
/* A JOIN or RECALL: somebody else's has come, or ours is home. */
void rgi_notice_control(struct rgm_worker *worker,
                        struct rgm_message *message);

/* ---- counters.c ---- */

/* Bring the gauges and the provider's counters up to date. */
void rgi_counters_publish(struct rgm_worker *worker);

/* ---- cpus.c ---- */

/* The CPUs a cgroup quota amounts to, rounded up; UINT32_MAX: no quota. */
uint32_t rgi_cgroup_cpus(const char *root, const char *membership);
/* CLOCK_MONOTONIC, for threads without a provider. */
uint64_t rgi_clock_now(void);

/* ---- guest.c ---- */

/* A guest's spawn has arrived at its worker. */
void rgi_guest_spawn_arrived(struct rgm_worker *worker,
                             struct rgm_message *message);

/* A number that was lent for it is not used, or is: blocks for the answer. */
void rgi_guest_seat_back(struct rgm_worker *guest, struct rgm_address number);
int rgi_guest_spawn_at(struct rgm_worker *guest, struct rgm_address number,
                       const struct rgm_behaviour *behaviour,
                       const void *argument, struct rgm_message *watch,
                       struct rgm_address *ret_address);

/* Spawn from a plain thread: blocks for the answer. */
int rgi_guest_spawn(struct rgm_worker *guest, uint32_t number,
                    const struct rgm_behaviour *behaviour,
                    const void *argument, struct rgm_message *watch,
                    struct rgm_address *ret_address);

/* ---- storage.c ---- */

/* Start a read that names no pool. Returns: as of a start; -ENOMEM. */
int rgi_storage_start(struct rgm_worker *worker,
                      struct rgm_operation *operation);
/* The provider is closed. */
void rgi_storage_close(struct rgm_worker *worker);

/* ---- drop.c ---- */

void rgi_janitor_init(struct rgm_worker *worker);

/* transfer.c: whether the handle is an open stream of this worker; and one
 * transfer on it, now, which fills in what it is about. Returns: 0 or bytes, or a
 * negative errno. */
struct rgm_socket;
struct rgm_transfer;
int rgi_transfer_check(const struct rgm_worker *worker,
                       const struct rgm_socket *socket);
int64_t rgi_transfer(struct rgm_worker *worker, const struct rgm_socket *socket,
                     struct rgm_transfer *transfer);

/* ---- spinner.c ---- */

int rgi_spinner_init(struct rgi_spinner *spinner, uint32_t minimum_ns,
                     uint32_t maximum_ns, uint32_t threshold_ns);
void rgi_spinner_hit(struct rgi_spinner *spinner);
void rgi_spinner_miss(struct rgi_spinner *spinner);
void rgi_spinner_parked(struct rgi_spinner *spinner, uint64_t parked_ns);

/* ---- stop.c ---- */

/* The order to end by force has arrived; worker 0 tells the others. */
void rgi_force(struct rgm_worker *worker);
/* It drains: an order to end by force may have waited for that. */
void rgi_force_waited(struct rgm_worker *worker);
/* A turn while it is forced: give up what has lingered too long. */
void rgi_force_turn(struct rgm_worker *worker);
/* When it must look again, or the deadline given. */
uint64_t rgi_force_deadline(const struct rgm_worker *worker,
                            uint64_t deadline_ns);

/* ---- blockers.c ---- */

/* A turn while it drains: say what is still out. */
void rgi_blockers_publish(struct rgm_worker *worker);
/* It is quiet: nothing is. */
void rgi_blockers_clear(struct rgm_worker *worker);
/* A worker has got this number anew. */
void rgi_blockers_renew(struct rgm_worker *worker);
/* What is out now is about to be given up. */
void rgi_blockers_give_up(struct rgm_worker *worker, uint32_t operations);
void rgi_blockers_give_up_leases(struct rgm_worker *worker);
/* What was given up, in the order of workers and kinds; as
 * rgm_runtime_blockers. Thread: any, after the end. */
uint32_t rgi_blockers_given_up(struct rgm_runtime *runtime,
                               struct rgm_blocker *ret_blockers,
                               uint32_t room);

/* ---- turn.c ---- */

/* No new actors or operations from elsewhere; who lives is told. */
void rgi_worker_drain(struct rgm_worker *worker);
/* Turns until the worker has closed. */
void rgi_worker_loop(struct rgm_worker *worker);
/* Close one that never ran: what was sent to it goes home. */
void rgi_worker_close(struct rgm_worker *worker);

#include "actors/watch.h"

#endif /* RGI_ACTORS_WORKER_H */
