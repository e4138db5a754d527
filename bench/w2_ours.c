/* SPDX-License-Identifier: MIT */

/*
 * w2_ours.c - how many one-way messages pass between two workers?
 *
 *     bench_w2 one-way|both-ways SLICES COUNT
 *
 * A party sends while its allowance lasts, at most BURST in one delivery, and
 * goes on when its message to itself comes round: the returns that came home
 * meanwhile are its backpressure. Messages come from the worker's slab. The
 * limit, in alternating slices on the same two threads, is a batched ring of
 * pointers, or one each way, in which nothing comes home.
 */

#include "bench/duet.h"
#include "bench/ours.h"

#define BURST 256

struct item {
    struct rgm_message message;
    uint64_t value;
};
RGM_MESSAGE(item);

/* "Go on sending", to oneself. */
struct go {
    struct rgm_message message;
};
RGM_MESSAGE(go);

/* Play the limit's other side. */
struct play {
    struct rgm_request request;
    uint64_t count;
};
RGM_REQUEST(play);

/* Send so many; answered when so many have been received. */
struct exchange {
    struct rgm_request request;
    struct rgm_address peer;
    uint64_t send, receive;
};
RGM_REQUEST(exchange);

static enum duet_piece piece;
static uint64_t count;
static struct duet duet;
static struct bench_slices slices;

struct party {
    struct rgm_actor actor;
    struct rgm_address peer;
    uint64_t sent, to_send;
    uint64_t received, to_receive;
    uint64_t sum;
    struct item *refused; /* the next to send, when there was no allowance */
    struct go go[2];      /* one is being handled while the other is sent */
    unsigned go_next;
    struct rgm_token asked;
    bool asked_open;
    /* of the party that measures */
    struct play play;
    struct exchange exchange;
    bool exchanged;
    uint64_t begin_ns;
    size_t slice;
};

RGM_FACTORY(party, rgm_address, party_make);
RGM_HOOK(party, party_started);
RGM_HANDLER(party, item, party_item);
RGM_HANDLER(party, go, party_go);
RGM_HANDLER(party, play, party_play);
RGM_HANDLER(party, exchange, party_exchange);
RGM_ANSWER(party, play, party_played);
RGM_ANSWER(party, exchange, party_exchanged);

static int
party_make(struct party *self, const struct rgm_address *peer)
{
    go_init(&self->go[0]);
    go_init(&self->go[1]);
    if (peer != NULL)
        self->peer = *peer;
    return 0;
}

/* -- sending and receiving ------------------------------------------------ */

static struct item *
party_next_item(struct party *self)
{
    struct item *item = self->refused;

    self->refused = NULL;
    if (item == NULL)
        item = item_take(&self->actor, 0);
    if (item == NULL)
        bench_fail("item", ENOMEM);
    return item;
}

static void
party_go_on(struct party *self)
{
    struct go *go = &self->go[self->go_next++ % 2];

    ours_check("go", rgm_send(self, rgm_self(self), go));
}

static void
party_go(struct party *self, struct go *go)
{
    (void)go;
    for (int i = 0; i < BURST && self->sent < self->to_send; i++) {
        struct item *item = party_next_item(self);
        int status;

        item->value = self->sent;
        status = rgm_send(self, self->peer, item);
        if (status == -EAGAIN) {
            self->refused = item;
            break;
        }
        ours_check("send", status);
        self->sent++;
    }
    if (self->sent < self->to_send)
        party_go_on(self);
}

static void
party_begin(struct party *self, uint64_t send, uint64_t receive)
{
    self->sent = 0;
    self->to_send = send;
    self->received = 0;
    self->to_receive = receive;
    if (send != 0)
        party_go_on(self);
}

static void party_end_slice(struct party *self);

static void
party_item(struct party *self, struct item *item)
{
    self->sum += item->value;
    if (++self->received < self->to_receive)
        return;
    if (self->asked_open) {
        self->asked_open = false;
        rgm_answer(self, self->asked, 0);
    } else {
        party_end_slice(self);
    }
}

/* -- the party that is told ----------------------------------------------- */

static void
party_play(struct party *self, struct play *play)
{
    duet_play(&duet, piece, 1, play->count);
    rgm_reply(self, play, 0);
}

static void
party_exchange(struct party *self, struct exchange *exchange)
{
    self->peer = exchange->peer;
    ours_check("keep", rgm_keep(self, exchange, &self->asked));
    self->asked_open = true;
    party_begin(self, exchange->send, exchange->receive);
}

/* -- the party that measures ---------------------------------------------- */

static void
party_limit(struct party *self)
{
    uint64_t ns;

    self->play.count = count;
    rgm_ask(self, &self->play, RGM_REPLY(party, play, party_played));
    rgm_flush(self);
    ns = duet_play(&duet, piece, 0, count);
    slices.limit[self->slice] = (double)ns / (double)count;
}

static void
party_started(struct party *self)
{
    if (self->peer.bits == 0)
        return;
    play_prepare(&self->play, self->peer);
    exchange_prepare(&self->exchange, self->peer);
    self->exchange.peer = rgm_self(self);
    party_limit(self);
}

static void
party_played(struct party *self, struct play *play)
{
    bool both = piece == DUET_BOTH_WAYS;
    uint64_t send = both ? count / 2 : count, receive = both ? count / 2 : 0;

    ours_check("play", rgm_status(play));
    if (self->slice == slices.count) {
        rgm_runtime_stop(ours_runtime);
        return;
    }
    self->exchanged = false;
    self->exchange.send = receive;
    self->exchange.receive = send;
    self->begin_ns = bench_now_ns();
    rgm_ask(self, &self->exchange, RGM_REPLY(party, exchange, party_exchanged));
    party_begin(self, send, receive);
}

/* Both must be through: what this one receives, and what the other does. */
static void
party_end_slice(struct party *self)
{
    if (!self->exchanged || self->received < self->to_receive)
        return;
    slices.ours[self->slice++] =
        (double)(bench_now_ns() - self->begin_ns) / (double)count;
    party_limit(self);
}

static void
party_exchanged(struct party *self, struct exchange *exchange)
{
    ours_check("exchange", rgm_status(exchange));
    self->exchanged = true;
    party_end_slice(self);
}

static const struct rgm_handler party_handlers[] = {
    RGM_ON(party, item, party_item),
    RGM_ON(party, go, party_go),
    RGM_ON(party, play, party_play),
    RGM_ON(party, exchange, party_exchange),
};
static const struct rgm_behaviour party_behaviour = {
    .name = "party",
    .size_bytes = sizeof(struct party),
    .factory = RGM_MAKE(party, party_make),
    .started = RGM_DO(party, party_started),
    RGM_HANDLERS(party_handlers),
};

int
main(int argc, char **argv)
{
    struct rgm_address peer;

    if (argc != 4 || (strcmp(argv[1], "one-way") != 0 &&
                      strcmp(argv[1], "both-ways") != 0)) {
        fputs("usage: bench_w2 one-way|both-ways SLICES COUNT\n", stderr);
        return 2;
    }
    piece = argv[1][0] == 'o' ? DUET_ONE_WAY : DUET_BOTH_WAYS;
    slices.count = bench_number(argv[2], BENCH_SLICES_MAX);
    count = bench_number(argv[3], UINT64_C(1) << 40);
    ours_start(2, 0);
    peer = ours_spawn(1, &party_behaviour, NULL);
    ours_spawn(0, &party_behaviour, &peer);
    ours_wait();
    bench_slices_report(&slices, argv[1], 1);
    return 0;
}
