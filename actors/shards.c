/* SPDX-License-Identifier: MIT */

/*
 * shards.c - to whom does a request for a slot go, and who handles it?
 *
 * Asked:    along the worker's road of the slot. While the slot is on the move
 *           the road is held: requests collect here, uncharged, and then go to
 *           the new owner (rgi_shard_hold, rgi_shard_release).
 * Admitted: where the slot is owned. Where it arrives the request is kept, and
 *           delivered again when the slot is complete, before what came later.
 *           Where it has left, the request is forwarded behind it.
 *
 * A request that comes to a shard for another reason (asked of any, by who has
 * no map) takes that worker's road.
 */

#include "actors/shards.h"

#include <string.h>

#include "base/memory.h"

_Static_assert(RGI_SLOT_OWNED == RGM_SHARD_OWNED_, "the header knows it, too");

/* ---- a shard ---- */

static uint32_t
or_default(uint32_t option, uint32_t value)
{
    return option != 0 ? option : value;
}

static int
sizes_set(struct rgi_shard *parts, const struct rgm_shards_options *options)
{
    parts->options = options;
    parts->slots_count = or_default(options->slots, RGM_SHARD_SLOTS);
    parts->slots_per_move =
        or_default(options->slots_per_move, RGM_SHARD_SLOTS_PER_MOVE);
    parts->chunks_count = or_default(options->chunks, RGM_SHARD_CHUNKS);
    if (parts->slots_count > RGM_SHARD_SLOTS_MAX || parts->slots_count < 2 ||
        (parts->slots_count & (parts->slots_count - 1)) != 0 ||
        parts->slots_per_move > RGM_SHARD_SLOTS_PER_MOVE_MAX ||
        parts->chunks_count > RGM_SHARD_CHUNKS_MAX ||
        options->hand_out == NULL || options->take_in == NULL ||
        options->drop == NULL)
        return -EINVAL;
    return 0;
}

static void
parts_free(struct rgi_shard *parts)
{
    rgi_free(parts->giver.chunks);
    rgi_free(parts->taker.news);
    rgi_free(parts->dealer.notes);
    rgi_free(parts->dealer.roads);
    rgi_free(parts->kept.tokens);
    rgi_free(parts);
}

static bool
parts_alloc(struct rgi_shard *parts)
{
    struct rgi_shard_giver *giver = &parts->giver;
    struct rgi_shard_dealer *dealer = &parts->dealer;

    giver->chunks = rgi_alloc(parts->chunks_count * sizeof(*giver->chunks));
    parts->taker.news = rgi_alloc(RGM_WORKERS_MAX * sizeof(*parts->taker.news));
    dealer->notes = rgi_alloc(RGM_WORKERS_MAX * sizeof(*dealer->notes));
    dealer->roads = rgi_alloc(parts->slots_count * sizeof(*dealer->roads));
    return giver->chunks != NULL && parts->taker.news != NULL &&
           dealer->notes != NULL && dealer->roads != NULL;
}

/* Everything is at home from the beginning. */
static void
parts_prepare(struct rgm_shard *shard, struct rgi_shard *parts)
{
    struct rgm_address nobody = {0};

    for (uint32_t i = 0; i < parts->chunks_count; i++) {
        rgm_shard_chunk_prepare(&parts->giver.chunks[i], nobody);
        parts->giver.chunks[i].shard = shard;
    }
    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++) {
        rgm_shard_note_prepare(&parts->taker.news[i], nobody);
        parts->taker.news[i].shard = shard;
        rgm_shard_note_prepare(&parts->dealer.notes[i], nobody);
        parts->dealer.notes[i].shard = shard;
    }
    rgm_shard_note_prepare(&parts->client.mark, nobody);
    parts->client.mark.shard = shard;
    rgm_shard_note_prepare(&parts->dealer.order, nobody);
    parts->dealer.order.shard = shard;
}

int
rgm_shard_init(struct rgm_shard *shard,
               const struct rgm_shards_options *options)
{
    struct rgi_shard *parts = rgi_alloc(sizeof(*parts));
    int status;

    if (parts == NULL)
        return -ENOMEM;
    status = sizes_set(parts, options);
    if (status != 0) {
        rgi_free(parts);
        return status;
    }
    memset(shard, 0, sizeof(*shard));
    shard->roads = rgi_alloc(parts->slots_count * sizeof(*shard->roads));
    shard->here = rgi_alloc(parts->slots_count);
    if (shard->roads == NULL || shard->here == NULL || !parts_alloc(parts)) {
        rgi_free(shard->roads);
        rgi_free(shard->here);
        parts_free(parts);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < parts->slots_count; i++)
        shard->roads[i] = RGI_ROAD_NONE;
    shard->shift = 64 - (uint32_t)__builtin_ctz(parts->slots_count);
    shard->members = parts->members;
    shard->parts = parts;
    parts_prepare(shard, parts);
    return 0;
}

void
rgm_shard_close(struct rgm_shard *shard)
{
    if (shard->parts == NULL)
        return;
    rgi_free(shard->roads);
    rgi_free(shard->here);
    parts_free(shard->parts);
    memset(shard, 0, sizeof(*shard));
}

void
rgm_shard_counters(const struct rgm_shard *shard,
                   struct rgm_shard_counters *ret_counters)
{
    *ret_counters = shard->parts->counters;
}

/* ---- asking ---- */

__attribute__((noinline)) static void
ask_off_road(struct rgm_actor *self, struct rgm_shard *shard,
             struct rgm_order *order, uint16_t road,
             struct rgm_request *request, rgm_answer_function *answer)
{
    static const struct rgm_address nobody = {0};

    if (road & RGI_ROAD_HELD) {
        rgm_request_to(request,
                       shard->members[road & ~(uint32_t)RGI_ROAD_HELD]);
        shard->parts->counters.held++;
        rgi_ask_held(self, order, request, answer, &shard->parts->client.hold);
        return;
    }
    rgm_request_to(request, nobody);
    if (order != NULL)
        rgm_ask_request_in(self, order, request, answer);
    else
        rgm_ask_request(self, request, answer);
}

void
rgm_shard_ask_request(struct rgm_actor *self, struct rgm_shard *shard,
                      struct rgm_order *order, uint64_t hash,
                      struct rgm_request *request, rgm_answer_function *answer)
{
    uint16_t road = shard->roads[rgm_shard_slot(shard, hash)];

    rgi_assert_slow(rgi_is_owner(self->worker));
    if (__builtin_expect(road >= RGM_WORKERS_MAX, 0)) {
        ask_off_road(self, shard, order, road, request, answer);
    } else {
        rgm_request_to(request, shard->members[road]);
        if (order != NULL)
            rgm_ask_request_in(self, order, request, answer);
        else
            rgm_ask_request(self, request, answer);
    }
    /* No callback runs inside an ask, so this line is the asker's still. */
    request->asker_flags |= RGI_ASKED_SHARDED;
}

/* ---- holding ---- */

/* In line for the old owner, and for a slot that is held now? */
static bool
is_held(struct rgm_message *message, const void *context)
{
    const struct rgm_shard *shard = context;
    const struct rgm_request *request = rgi_request_of(message);
    uint64_t hash;

    if (!(request->asker_flags & RGI_ASKED_SHARDED) ||
        !rgm_address_same(message->to,
                          shard->members[shard->parts->client.move->from]))
        return false;
    memcpy(&hash, request + 1, sizeof(hash)); /* RGM_SHARDED */
    return (shard->roads[rgm_shard_slot(shard, hash)] & RGI_ROAD_HELD) != 0;
}

void
rgi_shard_hold(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_client *client = &shard->parts->client;
    const struct rgi_move *move = client->move;

    for (uint32_t i = 0; i < move->count; i++)
        shard->roads[move->slots[i]] = (uint16_t)(move->from | RGI_ROAD_HELD);
    rgi_hold_open(self->worker, &client->hold);
    rgi_lanes_pull(self->worker, move->from, is_held, shard,
                   &client->hold.waiting);
}

void
rgi_shard_release(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_client *client = &shard->parts->client;
    const struct rgi_move *move = client->move;

    for (uint32_t i = 0; i < move->count; i++)
        shard->roads[move->slots[i]] = (uint16_t)move->to;
    rgi_hold_release(self->worker, &client->hold, shard->members[move->to]);
}

/* ---- keeping ---- */

static bool
line_grow(struct rgi_shard_line *line)
{
    uint32_t capacity = line->capacity == 0 ? 64 : line->capacity * 2;
    struct rgm_token *tokens = rgi_alloc(capacity * sizeof(*tokens));

    if (tokens == NULL)
        return false;
    for (uint32_t i = 0; i < line->count; i++)
        tokens[i] = line->tokens[(line->first + i) % line->capacity];
    rgi_free(line->tokens);
    line->tokens = tokens;
    line->first = 0;
    line->capacity = capacity;
    return true;
}

static struct rgm_token
line_pop(struct rgi_shard_line *line)
{
    struct rgm_token token = line->tokens[line->first];

    line->first = (line->first + 1) % line->capacity;
    line->count--;
    return token;
}

int
rgi_shard_keep(struct rgm_actor *self, struct rgm_shard *shard,
               struct rgm_request *request)
{
    struct rgi_shard_line *line = &shard->parts->kept;
    struct rgm_token token;
    int status;

    if (line->count == line->capacity && !line_grow(line))
        return -ENOMEM;
    status = rgm_keep_request(self, request, &token);
    if (status != 0)
        return status;
    line->tokens[(line->first + line->count++) % line->capacity] = token;
    return 0;
}

/* They are older than what the actor has in its line. */
void
rgi_shard_kept_deliver(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_line *line = &shard->parts->kept;
    struct rgi_chain chain = {NULL, NULL};

    while (line->count > 0) {
        struct rgm_request *request = rgi_unkeep(self, line_pop(line));

        if (request != NULL) /* not withdrawn */
            rgi_chain_append(&chain, &request->message);
    }
    rgi_actor_push_first(self->worker, self, &chain);
}

void
rgi_shard_kept_forward(struct rgm_actor *self, struct rgm_shard *shard,
                       struct rgm_address to)
{
    struct rgi_shard_line *line = &shard->parts->kept;

    while (line->count > 0)
        (void)rgm_forward_kept_request(self, line_pop(line), to);
}

/* ---- admitting ---- */

static void
keep_or_refuse(struct rgm_actor *self, struct rgm_shard *shard,
               struct rgm_request *request)
{
    int status = rgi_shard_keep(self, shard, request);

    if (status != 0)
        (void)rgm_reply_request(self, request, status);
    else
        shard->parts->counters.kept++;
}

/* One that has no reason to be here takes this worker's road. */
static void
send_along(struct rgm_actor *self, struct rgm_shard *shard, uint16_t road,
           struct rgm_request *request)
{
    if (road & RGI_ROAD_HELD)
        keep_or_refuse(self, shard, request);
    else if (road < RGM_WORKERS_MAX)
        (void)rgm_forward_message(self, &request->message,
                                  shard->members[road]);
    else
        (void)rgm_reply_request(self, request, -ESRCH);
}

bool
rgm_shard_admit_request(struct rgm_actor *self, struct rgm_shard *shard,
                        uint64_t hash, struct rgm_request *request)
{
    struct rgi_shard *parts = shard->parts;
    uint32_t slot = rgm_shard_slot(shard, hash);

    switch ((enum rgi_shard_slot)shard->here[slot]) {
    case RGI_SLOT_OWNED:
        return true;
    case RGI_SLOT_ARRIVING:
        keep_or_refuse(self, shard, request);
        return false;
    case RGI_SLOT_LEAVING:
        parts->counters.forwarded++;
        (void)rgm_forward_message(self, &request->message,
                                  shard->members[parts->giver.move->to]);
        return false;
    case RGI_SLOT_AWAY:
        break;
    }
    send_along(self, shard, shard->roads[slot], request);
    return false;
}

int
rgm_shard_forward_kept_request(struct rgm_actor *self,
                               const struct rgm_shard *shard,
                               struct rgm_token token)
{
    const struct rgi_move *move = shard->parts->giver.move;

    rgi_assert(move != NULL); /* in hand_out only */
    return rgm_forward_kept_request(self, token, shard->members[move->to]);
}

/* ---- the library's own messages ---- */

void
rgm_shard_handle(struct rgm_actor *self, struct rgm_shard *shard, void *record)
{
    const struct rgm_request *request = record;
    struct rgm_shard_note *note = record;

    if (request->message.type == &rgm_shard_chunk_type) {
        rgi_shard_on_chunk(self, shard, record);
        return;
    }
    if (request->message.type == &rgm_reshard_type) {
        rgi_shard_on_reshard(self, shard, record);
        return;
    }
    switch ((enum rgi_note)note->what) {
    case RGI_NOTE_MEMBERS:
        rgi_shard_on_members(self, shard, note);
        break;
    case RGI_NOTE_MOVE:
        rgi_shard_on_order(self, shard, note);
        break;
    case RGI_NOTE_NEWS:
        rgi_shard_on_news(self, shard, note);
        break;
    case RGI_NOTE_MARK:
        rgi_shard_on_mark(self, shard, note);
        break;
    }
}
