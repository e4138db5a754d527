/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_HARNESS_H
#define CONFORMANCE_HARNESS_H

/*
 * harness.h - what does a conformance case stand on?
 *
 *     test thread --- rgm_call -------------------> worker (stage->runtime)
 *         |      \--- stage_do --> puppet, on its worker: asks and cancels
 *         '---------- peer_* ----> the other end, plain sockets on loopback
 *
 * A case is `void name(struct stage *stage)`. It gets a stage that knows its
 * provider, may set options, opens it, plays, and closes it. Closing checks
 * that the runtime ends, that everything was answered, and that no descriptor
 * is left.
 *
 * An operation that is to be cancelled, or watched while it is out, is a step:
 * the record and, right behind it, the count of its answers.
 *
 *     struct read_step read;
 *
 *     rgm_stream_read(&read.op, &stream, bytes, sizeof(bytes));
 *     stage_begin(stage, &read);
 *     stage_cancel(stage, &read);
 *     rgi_check(stage_end(stage, &read) == -ECANCELED);
 *
 * Nothing here waits without a limit: GUARD_S, and the case's own.
 */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"
#include "conformance/runner.h"
#include "conformance/spy.h"

#define GUARD_S 60 /* against hanging; nothing is measured by it */

/* GUARD_S, or less where something is expected to hang. */
unsigned stage_guard_s(void);
void stage_guard_set(unsigned seconds);

/* How often a step was asked and answered. Under the stage's lock. */
struct track {
    uint32_t asked;
    uint32_t answered;
};

#define STEP(name, record)                                                     \
    struct name {                                                              \
        struct record op;                                                      \
        struct track track;                                                    \
    };                                                                         \
    _Static_assert(offsetof(struct name, track) == sizeof(struct record),      \
                   "the track lies right behind the record")

STEP(listen_step, rgm_listen);
STEP(accept_step, rgm_accept);
STEP(connect_step, rgm_connect);
STEP(read_step, rgm_read);
STEP(pooled_step, rgm_read_pooled);
STEP(write_step, rgm_write);
STEP(shutdown_step, rgm_shutdown);
STEP(close_step, rgm_close);
STEP(option_step, rgm_socket_option);
STEP(names_step, rgm_names);
STEP(sleep_step, rgm_sleep);
STEP(acquire_step, rgm_acquire);

struct automaton;

struct stage {
    /* Set before the case runs; options may be changed before stage_open. */
    const struct rgm_provider_class *class;
    struct rgm_runtime_options options;
    bool spied; /* set before stage_open: the provider is behind a spy */

    struct rgm_runtime *runtime;
    struct rgm_address puppets[RGM_WORKERS_MAX]; /* one per worker */
    struct rgm_listener listener;                /* stage_listen */
    struct rgm_endpoint endpoint;
    unsigned descriptors;          /* before it was opened */
    void *context;                 /* the fixture's */
    const struct store_ops *store; /* likewise; NULL: a directory, store.h */

    struct automaton *automaton; /* scripted: plays the machine */

    pthread_mutex_t lock; /* of all tracks */
    pthread_cond_t answered;
};

/* Makes a zeroed one with a class usable; for cases that need a second. */
void stage_init(struct stage *stage);
void stage_deinit(struct stage *stage);

/* For a fixture of the scripted provider: a script, and an automaton that plays
 * the machine. */
void stage_script_begin(struct stage *stage);
void stage_script_end(struct stage *stage);

/* Whether its provider is this one, or a fault in front of it. */
bool stage_is_on(const struct stage *stage, const char *class_name);

/* Whether what its provider asks of the kernel passes the C library, and shim.h. */
bool stage_is_shimmed(const struct stage *stage);

/* Whether its attempts at sockets are made by threads that may be held in one. */
bool stage_can_be_gated(const struct stage *stage);

/* Starts a runtime (one worker, unless options say otherwise). */
void stage_open(struct stage *stage);

/* Another puppet for a worker that has none any more. */
void stage_renew_puppet(struct stage *stage, uint32_t worker);

/* Stops it, waits for it and frees it; nothing may be left. */
void stage_close(struct stage *stage);

/* The same in parts, for cases about the end. */
void stage_stop(struct stage *stage);
void stage_wait(struct stage *stage);

/* ------------------------------------------------------------- the puppet */

/* An actor that does what it is told. */
struct puppet {
    struct rgm_actor actor;
    struct stage *stage;
    uint32_t number; /* of its worker */
};

typedef void errand_function(struct puppet *puppet, void *argument);

/* Runs a function in a delivery of the puppet on that worker; returns when it
 * has returned. */
void stage_do_on(struct stage *stage, uint32_t worker, errand_function *run,
                 void *argument);
void stage_do(struct stage *stage, errand_function *run, void *argument);

/* Asks, in the puppet's delivery. What answers is counted. */
void puppet_ask(struct puppet *puppet, struct rgm_request *request);

#define puppet_begin(puppet, step)                                             \
    puppet_ask_step((puppet), &(step)->op.request, &(step)->track)
void puppet_ask_step(struct puppet *puppet, struct rgm_request *request,
                     struct track *track);

/* Makes a step new, when it is one of many in memory that was not set. */
#define step_clear(step) ((step)->track = (struct track){0, 0})

#define stage_begin(stage, step)                                               \
    stage_begin_request((stage), 0, &(step)->op.request, &(step)->track)
#define stage_begin_on(stage, worker, step)                                    \
    stage_begin_request((stage), (worker), &(step)->op.request, &(step)->track)
#define stage_cancel(stage, step)                                              \
    stage_cancel_request((stage), 0, &(step)->op.request)
#define stage_cancel_on(stage, worker, step)                                   \
    stage_cancel_request((stage), (worker), &(step)->op.request)
/* Waits for the answer of the last ask. Returns its status. */
#define stage_end(stage, step)                                                 \
    stage_end_request((stage), &(step)->op.request, &(step)->track)
#define stage_is_out(stage, step) stage_is_out_track((stage), &(step)->track)
#define stage_answers(stage, step) stage_answers_track((stage), &(step)->track)
#define stage_run(stage, step)                                                 \
    (stage_begin((stage), (step)), stage_end((stage), (step)))

void stage_begin_request(struct stage *stage, uint32_t worker,
                         struct rgm_request *request, struct track *track);
void stage_cancel_request(struct stage *stage, uint32_t worker,
                          struct rgm_request *request);
int stage_end_request(struct stage *stage, struct rgm_request *request,
                      struct track *track);
bool stage_is_out_track(struct stage *stage, const struct track *track);
uint32_t stage_answers_track(struct stage *stage, const struct track *track);

/* Operations that are out and use the stream, seen by its worker. */
uint32_t stage_busy(struct stage *stage, const struct rgm_stream *stream);

/* Operations that are out, on all workers, as of a turn from now. */
uint64_t stage_in_flight(struct stage *stage);

/* All counters, as of a turn from now. */
struct rgm_counters stage_counters(struct stage *stage);

/* -------------------------------------------------------------- its streams */

/* 127.0.0.1, a port that the kernel chooses. */
struct rgm_endpoint loopback(void);

void stage_listen(struct stage *stage);

/* A connection to stage->listener, which is opened when it is not.
 * Returns: the peer's descriptor; *near is our end. */
int stage_pair(struct stage *stage, struct rgm_stream *near);

/* The same with both ends ours. */
void stage_pair_own(struct stage *stage, struct rgm_stream *near,
                    struct rgm_stream *far);

/* These answer with the status; a read returns the count instead, and says in
 * *ret_end whether that was the end. */
int stage_write(struct stage *stage, struct rgm_stream *stream,
                const void *data, size_t length_bytes);
long stage_read(struct stage *stage, struct rgm_stream *stream, void *memory,
                size_t capacity_bytes, bool *ret_end);
int stage_shutdown(struct stage *stage, struct rgm_stream *stream);
int stage_close_stream(struct stage *stage, struct rgm_stream *stream);
int stage_close_listener(struct stage *stage, struct rgm_listener *listener);

/* Reads until `length_bytes` are there. */
void stage_read_all(struct stage *stage, struct rgm_stream *stream,
                    void *memory, size_t length_bytes);

struct rgm_pool *pool_of(uint32_t slots_count, size_t slot_size_bytes);

/* From now on pool_of() gives its pools this storage; NULL: slabs. Thread: the
 * case's. */
void pools_use(struct rgm_pool_storage *storage);

/* --------------------------------------------------------------- the peers */

int peer_connect(const struct rgm_endpoint *endpoint);
/* The kernel's form of an address. Returns: its length. */
socklen_t peer_to_kernel(const struct rgm_endpoint *endpoint,
                         struct sockaddr_storage *ret_address);
/* Listens on *endpoint, which becomes what it is bound to. */
int peer_listen(struct rgm_endpoint *endpoint, int backlog);
int peer_accept(int listener);
void peer_send(int peer, const void *data, size_t length_bytes);
void peer_receive(int peer, void *memory, size_t length_bytes);
/* Returns: how much it was; 0: the end. */
size_t peer_receive_some(int peer, void *memory, size_t capacity_bytes);
/* The next thing to receive is the end of the stream. */
void peer_expect_end(int peer);
/* Nothing is there to be received. */
void peer_expect_nothing(int peer);
void peer_shutdown(int peer);
void peer_close(int peer);
/* Closes so that our end sees ECONNRESET. */
void peer_reset(int peer);

/* Our end of a peer's connection, as a descriptor; the peer's is inet. */
int descriptor_of_peer(int peer);

/* A path that names `what` and nobody else has, for mkstemp and mkdtemp: under
 * TMPDIR, or /tmp. */
void scratch_path(char *ret_path, size_t size_bytes, const char *what);

/* How many descriptors the process has open. */
unsigned descriptors_open(void);

/* A choice that RGM_SEED repeats; *random is rgi_seed() at first. */
uint64_t next_random(uint64_t *random);

/* Bytes that tell where in a stream they are. */
void pattern_fill(void *memory, size_t length_bytes, uint64_t offset);
bool pattern_holds(const void *memory, size_t length_bytes, uint64_t offset);

#endif /* CONFORMANCE_HARNESS_H */
