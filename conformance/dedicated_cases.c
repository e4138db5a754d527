/* SPDX-License-Identifier: MIT */

/* dedicated_cases.c - has an actor with a thread of its own a provider of its
 * own, on every provider? */

#include "conformance/dedicated_cases.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ringmail/dedicated.h>

/* Lets as many through as were let in. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned count;
};

static void
gate_init(struct gate *gate)
{
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
    gate->count = 0;
}

static void
gate_deinit(struct gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

static void
gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->count++;
    pthread_cond_signal(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static void
gate_pass(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->count == 0)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->count--;
    pthread_mutex_unlock(&gate->lock);
}

struct hermitage {
    struct stage *stage;
    struct rgm_listener listener;
    struct rgm_endpoint endpoint;
    uint32_t number;
    long thread;
    unsigned served; /* atomic */
    struct gate inside, go;
};

/* Listens, accepts one, and echoes a byte, all on its own thread. */
struct hermit {
    struct rgm_actor actor;
    struct hermitage *home;
    struct rgm_listen listen;
    struct rgm_accept accept;
    struct rgm_stream stream;
    struct rgm_read read;
    struct rgm_write write;
    struct rgm_close close_stream, close_listener;
    char byte;
};

struct block {
    struct rgm_request request;
    uint32_t number;
};
RGM_REQUEST(block);

RGM_HOOK(hermit, hermit_started);
RGM_HANDLER(hermit, block, hermit_block);
RGM_ANSWER(hermit, rgm_listen, hermit_listens);
RGM_ANSWER(hermit, rgm_accept, hermit_accepted);
RGM_ANSWER(hermit, rgm_read, hermit_has_read);
RGM_ANSWER(hermit, rgm_write, hermit_has_written);
RGM_ANSWER(hermit, rgm_close, hermit_closed);
RGM_FACTORY(hermit, hermitage, hermit_make);

static const struct rgm_handler hermit_handlers[] = {
    RGM_ON(hermit, block, hermit_block),
};
static const struct rgm_behaviour hermit_behaviour = {
    .name = "hermit",
    .size_bytes = sizeof(struct hermit),
    RGM_HANDLERS(hermit_handlers),
    .factory = RGM_MAKE(hermit, hermit_make),
    .started = RGM_DO(hermit, hermit_started),
};

static int
hermit_make(struct hermit *self, const struct hermitage *home)
{
    self->home = (struct hermitage *)(uintptr_t)home;
    return 0;
}

static void
hermit_started(struct hermit *self)
{
    struct rgm_endpoint any = loopback();

    self->home->number = rgm_worker_number(&self->actor);
    self->home->thread = syscall(SYS_gettid);
    rgm_stream_listen(&self->listen, rgm_here(self), &self->home->listener,
                      &any, false);
    rgm_ask(self, &self->listen, RGM_REPLY(hermit, rgm_listen, hermit_listens));
}

static void
hermit_listens(struct hermit *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) == 0);
    self->home->endpoint = listen->endpoint;
    gate_open(&self->home->inside);
    rgm_stream_accept(&self->accept, &self->home->listener, &self->stream);
    rgm_ask(self, &self->accept,
            RGM_REPLY(hermit, rgm_accept, hermit_accepted));
}

static void
hermit_accepted(struct hermit *self, struct rgm_accept *accept)
{
    rgi_check(rgm_status(accept) == 0);
    rgm_stream_read(&self->read, &self->stream, &self->byte, 1);
    rgm_ask(self, &self->read, RGM_REPLY(hermit, rgm_read, hermit_has_read));
}

static void
hermit_has_read(struct hermit *self, struct rgm_read *read)
{
    rgi_check(rgm_status(read) == 0 && read->count == 1);
    rgi_check(syscall(SYS_gettid) == self->home->thread);
    rgm_stream_write(&self->write, &self->stream, &self->byte, 1);
    rgm_ask(self, &self->write,
            RGM_REPLY(hermit, rgm_write, hermit_has_written));
}

static void
hermit_has_written(struct hermit *self, struct rgm_write *write)
{
    rgi_check(rgm_status(write) == 0);
    __atomic_fetch_add(&self->home->served, 1, __ATOMIC_SEQ_CST);
    rgm_stream_close(&self->close_stream, &self->stream);
    rgm_ask(self, &self->close_stream,
            RGM_REPLY(hermit, rgm_close, hermit_closed));
}

static void
hermit_closed(struct hermit *self, struct rgm_close *close)
{
    rgi_check(rgm_status(close) == 0);
    if (close == &self->close_listener) {
        rgm_stop(self);
        return;
    }
    rgm_listener_close(&self->close_listener, &self->home->listener);
    rgm_ask(self, &self->close_listener,
            RGM_REPLY(hermit, rgm_close, hermit_closed));
}

static void
hermit_block(struct hermit *self, struct block *block)
{
    block->number = rgm_worker_number(&self->actor);
    gate_open(&self->home->inside);
    gate_pass(&self->home->go);
    rgm_reply(self, block, 0);
}

static struct rgm_address
hermit_begin(struct stage *stage, struct hermitage *home)
{
    struct rgm_address address;

    memset(home, 0, sizeof(*home));
    home->stage = stage;
    gate_init(&home->inside);
    gate_init(&home->go);
    stage->options.workers = 2;
    stage_open(stage);
    rgi_check(rgm_runtime_spawn(stage->runtime, RGM_OWN_THREAD,
                                &hermit_behaviour, home, &address) == 0);
    gate_pass(&home->inside);
    rgi_check(home->number == 2 && rgm_address_worker(address) == 2);
    rgi_check(rgm_runtime_workers(stage->runtime) == 2);
    rgi_check(rgm_runtime_threads(stage->runtime) == 3);
    return address;
}

static void
hermit_end(struct stage *stage, struct hermitage *home)
{
    stage_close(stage); /* looks at descriptors: the ring has gone, too */
    gate_deinit(&home->inside);
    gate_deinit(&home->go);
}

void
tsk_14_its_operations_are_its_own_providers(struct stage *stage)
{
    struct rgm_counters counters;
    struct hermitage home;
    char byte = 'q';
    int peer;

    (void)hermit_begin(stage, &home);
    peer = peer_connect(&home.endpoint);
    peer_send(peer, &byte, 1);
    byte = 0;
    peer_receive(peer, &byte, 1);
    rgi_check(byte == 'q');
    peer_expect_end(peer);
    peer_close(peer);
    while (rgm_runtime_threads(stage->runtime) != 2) /* it has ended */
        sched_yield();
    rgi_check(__atomic_load_n(&home.served, __ATOMIC_SEQ_CST) == 1);
    rgi_check(rgm_runtime_counters(stage->runtime, 2, &counters) == 0);
    rgi_check(counters.completions >= 5 && counters.operations >= 5);
    rgi_check(counters.kernel_entries > 0);
    for (uint32_t i = 0; i < 2; i++) { /* and nobody else's */
        rgi_check(rgm_runtime_counters(stage->runtime, i, &counters) == 0);
        rgi_check(counters.completions == 0);
    }
    hermit_end(stage, &home);
}

struct blocked {
    struct rgm_runtime *runtime;
    struct block block;
    int status;
};

static void *
ask_and_wait(void *argument)
{
    struct blocked *blocked = argument;

    blocked->status = rgm_call(blocked->runtime, &blocked->block);
    return NULL;
}

void
tsk_14_one_that_blocks_holds_up_nobody_else(struct stage *stage)
{
    struct blocked blocked = {.status = 1};
    struct hermitage home;
    struct sleep_step sleep = {0};
    pthread_t thread;
    int peer;

    block_prepare(&blocked.block, hermit_begin(stage, &home));
    blocked.runtime = stage->runtime;
    rgi_check(pthread_create(&thread, NULL, ask_and_wait, &blocked) == 0);
    gate_pass(&home.inside); /* it blocks */
    for (uint32_t i = 0; i < 20; i++) {
        rgm_sleep_for(&sleep.op, rgm_worker_address(i % 2), 1000);
        rgi_check(stage_run(stage, &sleep) == 0);
    }
    rgi_check(rgm_runtime_resize(stage->runtime, 3) == 0); /* grows past it */
    rgi_check(rgm_runtime_live(stage->runtime) == 0xb);
    gate_open(&home.go);
    pthread_join(thread, NULL);
    rgi_check(blocked.status == 0 && blocked.block.number == 2);
    peer = peer_connect(&home.endpoint);
    peer_send(peer, "q", 1);
    while (rgm_runtime_threads(stage->runtime) != 3)
        sched_yield();
    peer_close(peer);
    hermit_end(stage, &home);
}
