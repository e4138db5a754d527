/* SPDX-License-Identifier: MIT */

/*
 * agent.c - what does an agent do? Whatever its random number says: ask,
 * cancel, forward, keep, freeze and drop, connect and break off, die.
 */

#include <string.h>

#include "soak/soak.h"

/* Bytes on the way to another agent; the view comes home with it, unless the
 * receiver took it. */
struct parcel {
    struct rgm_message message;
    struct soak *soak;
    struct rgm_view view;
    uint8_t mark; /* in every byte */
};
RGM_MESSAGE_RETURNED(parcel, parcel_home);

enum link_state { LINK_CLOSED, LINK_DIALS, LINK_IDLE, LINK_BUSY };

struct agent {
    struct rgm_actor actor;
    struct soak *soak;
    uint32_t index;
    uint64_t random;
    uint64_t next_number;
    bool dormant; /* no timer is armed */
    struct rgm_sleep sleep;

    struct job jobs[SOAK_JOBS];
    bool job_out[SOAK_JOBS];
    uint64_t asked, answered; /* in this life */
    struct rgm_token tokens[SOAK_TOKENS];
    uint32_t tokens_count;
    struct rgm_view held; /* of a parcel, for a while */
    struct rgm_acquire acquire;
    bool acquiring;
    struct rgm_job work; /* on a thread of the pool */
    bool working;
    struct rgm_down down; /* of somebody it watches */
    bool watching;
    struct rgm_worker_lease lease; /* this worker is needed, for a while */

    enum link_state link;
    struct rgm_stream stream;
    struct rgm_connect connect;
    struct rgm_write write;
    struct rgm_read read;
    struct rgm_close close;
    char out[64], in[64];
    uint32_t in_count;
};

RGM_FACTORY(agent, agent_argument, agent_make);
RGM_HANDLER(agent, job, agent_job);
RGM_HANDLER(agent, parcel, agent_parcel);
RGM_HANDLER(agent, wake, agent_wake);
RGM_HOOK(agent, agent_started);
RGM_HOOK(agent, agent_stopped);
RGM_ANSWER(agent, job, agent_answered);
RGM_ANSWER(agent, rgm_sleep, agent_tick);
RGM_ANSWER(agent, rgm_acquire, agent_acquired);
RGM_ANSWER(agent, rgm_job, agent_worked);
RGM_ANSWER(agent, rgm_down, agent_told);
RGM_ANSWER(agent, rgm_connect, agent_connected);
RGM_ANSWER(agent, rgm_write, agent_written);
RGM_ANSWER(agent, rgm_read, agent_has_read);
RGM_ANSWER(agent, rgm_close, agent_closed);

static void
agent_withdrawn(struct rgm_actor *self, struct rgm_request *request)
{
    (void)request;
    soak_count(((struct agent *)(void *)self)->soak->counts.withdrawn);
}

static const struct rgm_handler agent_handlers[] = {
    RGM_ON(agent, job, agent_job),
    RGM_ON(agent, parcel, agent_parcel),
    RGM_ON(agent, wake, agent_wake),
};

const struct rgm_behaviour agent_behaviour = {
    .name = "agent",
    .size_bytes = sizeof(struct agent),
    RGM_HANDLERS(agent_handlers),
    .factory = RGM_MAKE(agent, agent_make),
    .started = RGM_DO(agent, agent_started),
    .withdrawn = agent_withdrawn,
    .stopped = RGM_DO(agent, agent_stopped),
};

static int
agent_make(struct agent *self, const struct agent_argument *argument)
{
    uint64_t lives = soak_see(&argument->soak->counts.lives);

    self->soak = argument->soak;
    self->index = argument->index;
    self->random = (argument->soak->seed ^ (argument->index + 1) *
                                               UINT64_C(0x9e3779b97f4a7c15)) +
                   lives;
    if (self->random == 0)
        self->random = 1;
    return 0;
}

struct rgm_address
soak_address(const struct soak *soak, uint32_t index)
{
    struct rgm_address address = {
        __atomic_load_n(&soak->addresses[index], __ATOMIC_ACQUIRE)};

    if (address.bits == SOAK_UNBORN)
        address.bits = 0;
    return address;
}

static struct rgm_address
somebody(struct agent *self)
{
    return soak_address(self->soak, soak_pick(&self->random, SOAK_AGENTS));
}

/* --------------------------------------------------------------------- jobs */

/* A record that is at home and is to go to somebody; or NULL. */
static struct job *
job_for_somebody(struct agent *self)
{
    struct rgm_address to = somebody(self);
    uint32_t i = 0;

    while (i < SOAK_JOBS && self->job_out[i])
        i++;
    if (i == SOAK_JOBS || to.bits == 0)
        return NULL;
    self->job_out[i] = true;
    self->asked++;
    job_prepare(&self->jobs[i], to);
    self->jobs[i].number = ++self->next_number;
    return &self->jobs[i];
}

/* One in four has less time than some take to answer. */
static void
ask_somebody(struct agent *self)
{
    struct job *job = job_for_somebody(self);

    if (job == NULL)
        return;
    if (soak_pick(&self->random, 4) == 0)
        rgm_expire_after(job, soak_pick(&self->random, 2000000));
    rgm_ask(self, job, RGM_REPLY(agent, job, agent_answered));
}

/* What is asked for a kept one is cancelled when that is answered. */
static void
ask_for(struct agent *self, struct job *parent)
{
    struct job *job = job_for_somebody(self);

    if (job != NULL)
        rgm_ask_for(self, parent, job, RGM_REPLY(agent, job, agent_answered));
}

static bool
is_an_answer(int status)
{
    switch (status) {
    case 0:
    case -ESRCH:     /* stale, or the keeper has stopped */
    case -EPIPE:     /* its worker has gone */
    case -EPROTO:    /* nobody wanted to answer */
    case -ELOOP:     /* forwarded too often */
    case -ECANCELED: /* by us */
    case -ETIMEDOUT:
        return true;
    default:
        return false;
    }
}

static void
agent_answered(struct agent *self, struct job *job)
{
    size_t i = (size_t)(job - self->jobs);

    rgi_check(i < SOAK_JOBS && self->job_out[i]);
    rgi_check(is_an_answer(rgm_status(job)));
    if (rgm_status(job) == 0)
        rgi_check((job->number & 1) == 1); /* see done() */
    self->job_out[i] = false;
    self->answered++;
}

static void
cancel_something(struct agent *self)
{
    uint32_t i = soak_pick(&self->random, SOAK_JOBS + 4);

    soak_count(self->soak->counts.cancelled);
    if (i < SOAK_JOBS)
        rgm_cancel(self, &self->jobs[i]);
    else if (i == SOAK_JOBS)
        rgm_cancel(self, &self->read);
    else if (i == SOAK_JOBS + 1)
        rgm_cancel(self, &self->acquire);
    else if (i == SOAK_JOBS + 2)
        rgm_cancel(self, &self->work);
    else
        rgm_cancel(self, &self->write);
}

static void
done(struct job *job)
{
    job->number |= 1;
}

static void
agent_job(struct agent *self, struct job *job)
{
    struct soak_counts *counts = &self->soak->counts;
    struct rgm_address to = somebody(self);
    uint32_t what = soak_pick(&self->random, 20);

    if (what < 3 && to.bits != 0) {
        soak_count(counts->forwarded);
        rgm_forward(self, job, to);
    } else if (what < 7 && self->tokens_count < SOAK_TOKENS &&
               !soak_flag(&self->soak->lull)) {
        soak_count(counts->kept);
        rgi_check(rgm_keep(self, job,
                           &self->tokens[self->tokens_count++]) == 0);
        if (soak_pick(&self->random, 3) == 0)
            ask_for(self, job);
    } else if (what == 7) {
        soak_count(counts->unanswered);
    } else {
        done(job);
        rgm_reply(self, job, 0);
    }
}

/* Withdrawn ones are spent, and answering them does nothing. */
static void
answer_one(struct agent *self)
{
    struct rgm_address to = somebody(self);
    struct rgm_token token;
    struct job *job;

    if (self->tokens_count == 0)
        return;
    token = self->tokens[--self->tokens_count];
    job = RGM_KEPT(self, token, job);
    if (job == NULL)
        return;
    if (to.bits != 0 && soak_pick(&self->random, 3) == 0) {
        rgi_check(rgm_forward_kept(self, token, to) == 0);
        return;
    }
    done(job);
    rgi_check(rgm_answer(self, token, 0) == 0);
    rgi_check(rgm_answer(self, token, 0) == -EALREADY);
}

/* ------------------------------------------------------------------ parcels */

static void
parcel_home(struct parcel *parcel, int status)
{
    rgi_check(is_an_answer(status) || status == -ENOSYS);
    rgm_view_drop(&parcel->view);
    soak_count(parcel->soak->counts.parcels_home);
}

/* The parcel's view, or, now and then, a clone of a part of it. */
static void
freeze(struct agent *self, struct rgm_lease *lease, struct parcel *parcel)
{
    struct rgm_view whole;

    parcel->soak = self->soak;
    parcel->mark = (uint8_t)soak_random(&self->random);
    memset(lease->data, parcel->mark, lease->length_bytes);
    rgi_check(rgm_lease_truncate(
                  lease, 1 + soak_pick(&self->random, SOAK_SLOT_BYTES)) == 0);
    rgi_check(rgm_lease_freeze(lease, &whole) == 0);
    if (soak_pick(&self->random, 2) == 0) {
        parcel->view = whole;
        return;
    }
    parcel->view = rgm_view_clone(&whole);
    rgm_view_drop(&whole);
}

static void
send_parcel(struct agent *self)
{
    struct rgm_address to = somebody(self);
    struct rgm_lease lease;
    struct parcel *parcel;

    if (to.bits == 0 ||
        rgm_pool_try_acquire(self->soak->pool, &lease) != 0)
        return;
    parcel = parcel_take(&self->actor, 0);
    rgi_check(parcel != NULL);
    freeze(self, &lease, parcel);
    if (rgm_send(self, to, parcel) == 0) {
        soak_count(self->soak->counts.parcels_sent);
        return;
    }
    rgm_view_drop(&parcel->view);
    parcel_give(&self->actor, parcel);
}

/* Where the pool is empty this waits for a slot; what comes is used, whether it
 * was cancelled meanwhile or not. */
static void
wait_for_a_slot(struct agent *self)
{
    if (self->acquiring)
        return;
    self->acquiring = true;
    rgm_pool_acquire(&self->acquire, rgm_here(self), self->soak->pool);
    rgm_ask(self, &self->acquire, RGM_REPLY(agent, rgm_acquire,
                                            agent_acquired));
}

static void
agent_acquired(struct agent *self, struct rgm_acquire *acquire)
{
    self->acquiring = false;
    rgi_check(rgm_status(acquire) == 0 || rgm_status(acquire) == -ECANCELED);
    if (rgm_status(acquire) != 0)
        return;
    soak_count(self->soak->counts.acquired);
    memset(acquire->lease.data, 0xa5, acquire->lease.length_bytes);
    rgi_check(rgm_lease_drop(&acquire->lease) == 0);
}

static int64_t
work(struct rgm_job *job)
{
    uint64_t random = (uint64_t)(uintptr_t)job | 1;

    for (int i = 0; i < 2000 && !rgm_job_is_cancelled(job); i++)
        (void)soak_random(&random);
    return 1;
}

static void
begin_work(struct agent *self)
{
    if (self->working)
        return;
    self->working = true;
    rgm_job_run(&self->work, rgm_here(self), work);
    rgm_ask(self, &self->work, RGM_REPLY(agent, rgm_job, agent_worked));
}

static void
agent_worked(struct agent *self, struct rgm_job *job)
{
    self->working = false;
    rgi_check(rgm_status(job) == 0 || rgm_status(job) == -ECANCELED);
    rgi_check(rgm_status(job) != 0 || job->result == 1);
    soak_count(self->soak->counts.worked);
}

/* Each watch is answered once: by an end, or because nobody watches any more. */
static void
watch_somebody(struct agent *self)
{
    struct rgm_address who = somebody(self);

    if (self->watching) {
        rgm_demonitor(self, &self->down);
        return;
    }
    if (who.bits == 0 || rgm_address_same(who, rgm_self(self)))
        return;
    self->watching = true;
    rgm_monitor(self, &self->down, who, RGM_REPLY(agent, rgm_down,
                                                  agent_told));
}

static void
agent_told(struct agent *self, struct rgm_down *down)
{
    rgi_check(self->watching);
    rgi_check(rgm_status(down) == 0 || rgm_status(down) == -ECANCELED);
    self->watching = false;
    soak_count(self->soak->counts.told);
}

/* A lease keeps the worker; refused when that is retiring already. */
static void
hold_the_worker(struct agent *self)
{
    if (rgm_worker_lease_active(&self->lease))
        rgm_worker_lease_release(&self->lease);
    else if (rgm_worker_lease_take(self, &self->lease) == 0)
        soak_count(self->soak->counts.leases);
}

static void
agent_parcel(struct agent *self, struct parcel *parcel)
{
    const uint8_t *bytes = parcel->view.data;

    for (size_t i = 0; i < parcel->view.length_bytes; i++)
        rgi_check(bytes[i] == parcel->mark);
    soak_count(self->soak->counts.views);
    if (soak_pick(&self->random, 4) != 0)
        return; /* it goes home as it came */
    rgm_view_drop(&self->held);
    self->held = parcel->view;
    memset(&parcel->view, 0, sizeof(parcel->view));
}

/* ------------------------------------------------------------------ sockets */

static void
hang_up(struct agent *self)
{
    rgm_stream_close(&self->close, &self->stream);
    self->link = LINK_BUSY;
    rgm_ask(self, &self->close, RGM_REPLY(agent, rgm_close, agent_closed));
}

static void
agent_closed(struct agent *self, struct rgm_close *close)
{
    rgi_check(rgm_status(close) == 0);
    self->link = LINK_CLOSED;
}

static void
dial(struct agent *self)
{
    if (!soak_flag(&self->soak->listens))
        return;
    memset(&self->stream, 0, sizeof(self->stream));
    rgm_stream_connect(&self->connect, rgm_here(self), &self->stream,
                       &self->soak->endpoint);
    self->link = LINK_DIALS;
    rgm_ask(self, &self->connect, RGM_REPLY(agent, rgm_connect,
                                            agent_connected));
}

static void
agent_connected(struct agent *self, struct rgm_connect *connect)
{
    if (rgm_status(connect) != 0) {
        self->link = LINK_CLOSED;
        return;
    }
    self->link = LINK_IDLE;
    soak_count(self->soak->counts.connected);
}

static void
talk(struct agent *self)
{
    self->link = LINK_BUSY;
    self->in_count = 0;
    memset(self->out, (int)soak_random(&self->random), sizeof(self->out));
    rgm_stream_write(&self->write, &self->stream, self->out,
                     sizeof(self->out));
    rgm_ask(self, &self->write, RGM_REPLY(agent, rgm_write, agent_written));
}

static void
read_on(struct agent *self)
{
    rgm_stream_read(&self->read, &self->stream, self->in + self->in_count,
                    sizeof(self->in) - self->in_count);
    rgm_ask(self, &self->read, RGM_REPLY(agent, rgm_read, agent_has_read));
}

static void
agent_written(struct agent *self, struct rgm_write *write)
{
    if (rgm_status(write) == 0)
        read_on(self);
    else
        hang_up(self);
}

static void
agent_has_read(struct agent *self, struct rgm_read *read)
{
    if (rgm_status(read) != 0 || read->end) {
        hang_up(self);
        return;
    }
    self->in_count += (uint32_t)read->count;
    if (self->in_count < sizeof(self->in)) {
        read_on(self);
        return;
    }
    rgi_check(memcmp(self->in, self->out, sizeof(self->in)) == 0);
    soak_add(&self->soak->counts.echoed, sizeof(self->in));
    if (soak_pick(&self->random, 8) == 0)
        hang_up(self);
    else
        self->link = LINK_IDLE;
}

static void
use_the_link(struct agent *self)
{
    if (self->link == LINK_CLOSED)
        dial(self);
    else if (self->link == LINK_IDLE)
        talk(self);
}

/* ------------------------------------------------------------------ its life */

static void
rest(struct agent *self)
{
    /* Some follow each other at once, some leave their worker time to sleep. */
    uint64_t pause_ns = soak_pick(&self->random, 4) == 0
                            ? soak_pick(&self->random, 20000)
                            : soak_pick(&self->random, 8000000);

    self->dormant = soak_flag(&self->soak->lull);
    if (self->dormant)
        return;
    rgm_sleep_for(&self->sleep, rgm_here(self), pause_ns);
    rgm_ask(self, &self->sleep, RGM_REPLY(agent, rgm_sleep, agent_tick));
}

static void
act(struct agent *self)
{
    switch (soak_pick(&self->random, 16)) {
    case 0:
        cancel_something(self);
        break;
    case 1:
    case 2:
        send_parcel(self);
        break;
    case 3:
    case 4:
        use_the_link(self);
        break;
    case 5:
        rgm_view_drop(&self->held);
        break;
    case 6:
        if (soak_pick(&self->random, 64) == 0)
            rgm_stop(self);
        break;
    case 7:
        wait_for_a_slot(self);
        break;
    case 8:
        if (soak_pick(&self->random, 8) == 0)
            hold_the_worker(self);
        break;
    case 10:
        if (soak_pick(&self->random, 4) == 0)
            watch_somebody(self);
        break;
    case 9:
        if (soak_pick(&self->random, 4) == 0)
            begin_work(self);
        break;
    default:
        ask_somebody(self);
    }
    while (self->tokens_count > 0 && soak_pick(&self->random, 3) != 0)
        answer_one(self);
}

static void
agent_started(struct agent *self)
{
    soak_count(self->soak->counts.lives);
    __atomic_store_n(&self->soak->addresses[self->index],
                     rgm_self(self).bits, __ATOMIC_RELEASE);
    rest(self);
}

/* Before a lull nobody is left waiting for a token. */
static void
fall_dormant(struct agent *self)
{
    while (self->tokens_count > 0)
        answer_one(self);
    rgm_view_drop(&self->held);
    rgm_worker_lease_release(&self->lease);
}

static void
agent_tick(struct agent *self, struct rgm_sleep *sleep)
{
    if (rgm_status(sleep) != 0)
        return; /* it stops */
    soak_count(self->soak->counts.ticks);
    if (soak_flag(&self->soak->lull))
        fall_dormant(self);
    else
        act(self);
    rest(self);
}

static void
agent_wake(struct agent *self, struct wake *wake)
{
    (void)wake;
    if (self->dormant)
        rest(self);
}

static void
agent_stopped(struct agent *self)
{
    struct soak_counts *counts = &self->soak->counts;

    rgi_check(self->asked == self->answered);
    rgi_check(!self->watching && !self->working && !self->acquiring);
    rgm_view_drop(&self->held);
    rgm_worker_lease_release(&self->lease);
    rgi_check(rgm_socket_drop(&self->actor, &self->stream.socket) == 0);
    soak_add(&counts->asked, self->asked);
    soak_add(&counts->answered, self->answered);
    soak_count(counts->deaths);
    __atomic_store_n(&self->soak->addresses[self->index], 0,
                     __ATOMIC_RELEASE);
}
