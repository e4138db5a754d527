/* SPDX-License-Identifier: MIT */

/*
 * shards_move.c - how do slots get from one worker to another, with requests
 * on all roads meanwhile?
 *
 *   coordinator      old owner        new owner        every worker
 *        |-- order ----->|                |                 |
 *        |               |-- first ------>|                 |
 *        |     forwards  |-- chunks ----->| keeps           |
 *        |     from here |                |-- news -------->| holds
 *        |        on     |<------------------------ mark ---|
 *        |               |-- mark ------->|                 |
 *        |               |                |--- mark home -->| lets go, to the
 *        |               |                |<-- news home ---|    new owner
 *        |               |-- last ------->| owns, serves    |
 *        |               |<-- last home --| when all news is home
 *        |<- order home -|                                  |
 *
 * 1. The order finds the old owner: from here on the slots are not its any
 *    more. It announces the move, and what arrives for the slots is forwarded
 *    behind that. Chunks follow, a few at a time.
 * 2. The first chunk finds the new owner: it keeps what arrives for the slots,
 *    and tells every worker, the two owners' included.
 * 3. Who hears it holds what is asked for the slots from now on, and sends a
 *    mark down the old road: behind everything it has sent there. When the new
 *    owner has sent the mark home, the old road is empty, and what was held
 *    takes the new one. So a pipeline never overtakes itself.
 * 4. The last chunk leaves when all others are home, that is, taken in. It
 *    makes the new owner serve what it has kept, and it is home when all news
 *    is, that is, when all marks are: only then may the slots move again, and
 *    the old owner close.
 *
 * None of these messages is charged to a lane: they cannot wait behind
 * requests that wait for them. There are at most chunks_count + 1 of them
 * between two workers at a time.
 *
 * What can fail: memory, to take a chunk in or to keep a message. Then it is
 * asked again after a pause. A new owner that has stopped: what it does not
 * take is dropped, and the coordinator is told.
 */

#include "actors/shards.h"

static void retry_later(struct rgm_actor *self, struct rgm_shard *shard);

/* Gone, or we are: it makes no sense to ask again. */
static bool
is_final(const struct rgm_actor *self, int status)
{
    return status == -ESRCH || status == -EPIPE || status == -ECANCELED ||
           self->life != RGI_LIFE_RUNNING;
}

/* ---- the old owner ---- */

static void on_chunk_home(struct rgm_actor *self, struct rgm_request *request);

static void
chunk_ask(struct rgm_actor *self, struct rgm_shard *shard,
          struct rgm_shard_chunk *chunk)
{
    struct rgi_shard_giver *giver = &shard->parts->giver;

    giver->out++;
    rgm_request_to(&chunk->request, shard->members[giver->move->to]);
    rgi_ask_uncharged(self, &chunk->request, on_chunk_home);
}

static struct rgm_shard_chunk *
chunk_at_home(struct rgi_shard *parts)
{
    for (uint32_t i = 0; i < parts->chunks_count; i++) {
        struct rgm_shard_chunk *chunk = &parts->giver.chunks[i];

        if (rgi_request_is_home(&chunk->request) && !chunk->waits)
            return chunk;
    }
    return NULL;
}

/* Fill one chunk from the slot at hand; go to the next slot at its end.
 * Returns false when nothing can be handed out for now. */
static bool
chunk_fill(struct rgm_actor *self, struct rgm_shard *shard,
           struct rgm_shard_chunk *chunk)
{
    struct rgi_shard_giver *giver = &shard->parts->giver;
    int status;

    chunk->move = giver->move;
    chunk->phase = RGI_CHUNK_STATE;
    chunk->slot = giver->move->slots[giver->at];
    status = shard->parts->options->hand_out(self, chunk->slot, chunk);
    if (status < 0) {
        rgi_assert(chunk->state == NULL);
        giver->starved = true;
        retry_later(self, shard);
        return false;
    }
    if (status == RGM_SHARD_DONE)
        giver->at++;
    if (chunk->state != NULL)
        chunk_ask(self, shard, chunk);
    return true;
}

static void
chunk_last(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_giver *giver = &shard->parts->giver;
    struct rgm_shard_chunk *chunk = chunk_at_home(shard->parts);

    giver->ended = true;
    chunk->move = giver->move;
    chunk->phase = RGI_CHUNK_LAST;
    chunk_ask(self, shard, chunk);
}

/* Hand out as much as may be on its way. */
static void
give(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_giver *giver = &shard->parts->giver;
    struct rgm_shard_chunk *chunk;

    while (!giver->starved && giver->at < giver->move->count &&
           (chunk = chunk_at_home(shard->parts)) != NULL)
        if (!chunk_fill(self, shard, chunk))
            return;
    if (giver->at == giver->move->count && giver->out == 0 &&
        giver->waiting == 0 && !giver->ended)
        chunk_last(self, shard);
}

static void
giver_end(struct rgm_actor *self, struct rgm_shard *shard, int status)
{
    struct rgi_shard_giver *giver = &shard->parts->giver;
    const struct rgi_move *move = giver->move;

    if (status == 0) {
        for (uint32_t i = 0; i < move->count; i++)
            shard->here[move->slots[i]] = RGI_SLOT_AWAY;
        giver->move = NULL;
        shard->parts->counters.moved_out += move->count;
    }
    (void)rgm_answer_kept(self, giver->token, status);
}

/* The new owner is gone. What is still here goes on being forwarded, so that
 * whoever asks is told. */
static void
give_up(struct rgm_actor *self, struct rgm_shard *shard,
        struct rgm_shard_chunk *chunk, int status)
{
    struct rgi_shard_giver *giver = &shard->parts->giver;

    if (chunk->state != NULL)
        shard->parts->options->drop(self, chunk);
    chunk->state = NULL;
    giver->failed = status;
    if (giver->out + giver->waiting == 0)
        giver_end(self, shard, status);
}

static void
on_chunk_home(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_shard_chunk *chunk = (struct rgm_shard_chunk *)(void *)request;
    struct rgm_shard *shard = chunk->shard;
    struct rgi_shard_giver *giver = &shard->parts->giver;
    int status = rgm_status(chunk);

    giver->out--;
    if (status == 0 && giver->failed == 0) {
        if (chunk->phase == RGI_CHUNK_LAST)
            giver_end(self, shard, 0);
        else
            give(self, shard);
    } else if (giver->failed != 0 || is_final(self, status)) {
        give_up(self, shard, chunk,
                giver->failed != 0 ? giver->failed : status);
    } else {
        chunk->waits = true; /* to be asked again, as it is */
        giver->waiting++;
        retry_later(self, shard);
    }
}

/* The order to hand over. */
void
rgi_shard_on_order(struct rgm_actor *self, struct rgm_shard *shard,
                   struct rgm_shard_note *note)
{
    struct rgi_shard_giver *giver = &shard->parts->giver;
    const struct rgi_move *move = note->move;
    struct rgm_shard_chunk *first = chunk_at_home(shard->parts);
    int status = rgm_keep_request(self, &note->request, &giver->token);

    if (status != 0) {
        (void)rgm_reply_request(self, &note->request, status);
        return;
    }
    giver->move = move;
    giver->at = 0;
    giver->failed = 0;
    giver->starved = false;
    giver->ended = false;
    for (uint32_t i = 0; i < move->count; i++) {
        rgi_assert(shard->here[move->slots[i]] == RGI_SLOT_OWNED);
        shard->here[move->slots[i]] = RGI_SLOT_LEAVING;
    }
    shard->owned_count -= move->count;
    first->move = move;
    first->phase = RGI_CHUNK_FIRST;
    chunk_ask(self, shard, first);
    give(self, shard);
}

/* ---- the new owner ---- */

static void on_news_home(struct rgm_actor *self, struct rgm_request *request);

static void
news_ask(struct rgm_actor *self, struct rgm_shard *shard, uint32_t worker)
{
    struct rgi_shard_taker *taker = &shard->parts->taker;
    struct rgm_shard_note *news = &taker->news[worker];

    news->what = RGI_NOTE_NEWS;
    news->move = taker->move;
    news->failed = false;
    taker->news_out++;
    rgm_request_to(&news->request, shard->members[worker]);
    rgi_ask_uncharged(self, &news->request, on_news_home);
}

static void
take_begin(struct rgm_actor *self, struct rgm_shard *shard,
           const struct rgi_move *move)
{
    struct rgi_shard_taker *taker = &shard->parts->taker;

    rgi_assert(taker->move == NULL);
    taker->move = move;
    taker->complete = false;
    for (uint32_t i = 0; i < move->count; i++) {
        rgi_assert(shard->here[move->slots[i]] == RGI_SLOT_AWAY);
        shard->here[move->slots[i]] = RGI_SLOT_ARRIVING;
    }
    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++)
        if (shard->members[i].bits != 0)
            news_ask(self, shard, i);
}

/* All of the state is here, and nothing is on the old road any more. */
static void
take_end(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_taker *taker = &shard->parts->taker;

    if (!taker->complete || taker->news_out + taker->news_waiting > 0)
        return;
    taker->move = NULL;
    (void)rgm_answer_kept(self, taker->last, 0);
}

/* The last chunk is here: the slots are ours, and what was kept is served. */
static void
take_complete(struct rgm_actor *self, struct rgm_shard *shard,
              struct rgm_shard_chunk *chunk)
{
    struct rgi_shard_taker *taker = &shard->parts->taker;
    const struct rgi_move *move = taker->move;
    int status = rgm_keep_request(self, &chunk->request, &taker->last);

    if (status != 0) {
        (void)rgm_reply_request(self, &chunk->request, status);
        return;
    }
    for (uint32_t i = 0; i < move->count; i++)
        shard->here[move->slots[i]] = RGI_SLOT_OWNED;
    shard->owned_count += move->count;
    shard->parts->counters.moved_in += move->count;
    taker->complete = true;
    rgi_shard_kept_deliver(self, shard);
    take_end(self, shard);
}

void
rgi_shard_on_chunk(struct rgm_actor *self, struct rgm_shard *shard,
                   struct rgm_shard_chunk *chunk)
{
    int status = 0;

    switch ((enum rgi_chunk_phase)chunk->phase) {
    case RGI_CHUNK_FIRST:
        take_begin(self, shard, chunk->move);
        break;
    case RGI_CHUNK_STATE:
        status = shard->parts->options->take_in(self, chunk->slot, chunk);
        if (status == 0)
            chunk->state = NULL;
        break;
    case RGI_CHUNK_LAST:
        take_complete(self, shard, chunk);
        return;
    }
    (void)rgm_reply_request(self, &chunk->request, status);
}

/* A member that has stopped has nothing on any road. */
static void
on_news_home(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_shard_note *news = (struct rgm_shard_note *)(void *)request;
    struct rgm_shard *shard = news->shard;
    struct rgi_shard_taker *taker = &shard->parts->taker;
    int status = rgm_status(news);

    taker->news_out--;
    if (status != 0 && !is_final(self, status)) {
        news->failed = true;
        taker->news_waiting++;
        retry_later(self, shard);
        return;
    }
    take_end(self, shard);
}

/* ---- every worker ---- */

static void
on_mark_home(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_shard_note *mark = (struct rgm_shard_note *)(void *)request;
    struct rgm_shard *shard = mark->shard;
    struct rgi_shard *parts = shard->parts;
    uint64_t held_ns = rgm_now(self) - parts->client.heard_ns;

    if (held_ns > parts->counters.longest_hold_ns)
        parts->counters.longest_hold_ns = held_ns;
    rgi_shard_release(self, shard);
    if (parts->taker.move == NULL) /* else it is for slots that arrive here */
        rgi_shard_kept_forward(self, shard, shard->members[mark->move->to]);
    parts->client.move = NULL;
    (void)rgm_answer_kept(self, parts->client.news, 0);
}

void
rgi_shard_on_news(struct rgm_actor *self, struct rgm_shard *shard,
                  struct rgm_shard_note *note)
{
    struct rgi_shard_client *client = &shard->parts->client;
    struct rgm_shard_note *mark = &client->mark;
    int status = rgm_keep_request(self, &note->request, &client->news);

    if (status != 0) {
        (void)rgm_reply_request(self, &note->request, status);
        return;
    }
    rgi_assert(client->move == NULL);
    client->move = note->move;
    client->heard_ns = rgm_now(self);
    rgi_shard_hold(self, shard);
    mark->what = RGI_NOTE_MARK;
    mark->move = note->move;
    rgm_request_to(&mark->request, shard->members[note->move->from]);
    rgi_ask_uncharged(self, &mark->request, on_mark_home);
}

/* The old owner forwards it behind all it has forwarded; the new one sends it
 * home. */
void
rgi_shard_on_mark(struct rgm_actor *self, struct rgm_shard *shard,
                  struct rgm_shard_note *note)
{
    const struct rgi_shard *parts = shard->parts;

    if (parts->giver.move == note->move)
        (void)rgm_forward_message(self, &note->request.message,
                                  shard->members[note->move->to]);
    else
        (void)rgm_reply_request(self, &note->request, 0);
}

/* ---- again, after a pause ---- */

static void
chunks_again(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard *parts = shard->parts;
    struct rgi_shard_giver *giver = &parts->giver;

    for (uint32_t i = 0; i < parts->chunks_count; i++) {
        struct rgm_shard_chunk *chunk = &giver->chunks[i];

        if (!chunk->waits)
            continue;
        chunk->waits = false;
        giver->waiting--;
        parts->counters.retries++;
        chunk_ask(self, shard, chunk);
    }
    giver->starved = false;
    give(self, shard);
}

static void
chunks_drop(struct rgm_actor *self, struct rgm_shard *shard, int status)
{
    struct rgi_shard *parts = shard->parts;

    for (uint32_t i = 0; i < parts->chunks_count; i++) {
        struct rgm_shard_chunk *chunk = &parts->giver.chunks[i];

        if (!chunk->waits)
            continue;
        chunk->waits = false;
        parts->giver.waiting--;
        give_up(self, shard, chunk, status);
    }
}

static void
news_again(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_taker *taker = &shard->parts->taker;

    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++) {
        if (!taker->news[i].failed)
            continue;
        taker->news_waiting--;
        shard->parts->counters.retries++;
        news_ask(self, shard, i);
    }
}

static struct rgm_shard *
shard_of_sleep(struct rgm_sleep *sleep)
{
    struct rgi_shard *parts = rgi_container_of(sleep, struct rgi_shard, retry);

    return parts->client.mark.shard;
}

static void
on_pause_over(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_shard *shard =
        shard_of_sleep((struct rgm_sleep *)(void *)request);
    struct rgi_shard *parts = shard->parts;

    parts->retrying = false;
    if (parts->giver.failed != 0 || self->life != RGI_LIFE_RUNNING) {
        chunks_drop(self, shard,
                    parts->giver.failed != 0 ? parts->giver.failed
                                             : -ECANCELED);
        return;
    }
    if (parts->giver.waiting > 0 || parts->giver.starved)
        chunks_again(self, shard);
    if (parts->taker.news_waiting > 0)
        news_again(self, shard);
}

static void
retry_later(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard *parts = shard->parts;

    if (parts->retrying)
        return;
    parts->retrying = true;
    rgm_sleep_for(&parts->retry, rgm_worker_address(self->worker->number),
                  RGM_SHARD_RETRY_NS);
    rgi_request_bind(&parts->retry.request);
    rgm_ask_request(self, &parts->retry.request, on_pause_over);
}
