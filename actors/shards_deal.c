/* SPDX-License-Identifier: MIT */

/*
 * shards_deal.c - who shall own which slots, and in which order do they move?
 *
 * 1. Newcomers are told to all members, and all is told to them. The first
 *    deal is no more than that: the slots are dealt out on paper, and everybody
 *    reads where his are.
 * 2. Then move follows move: a few slots of somebody who has too many, or shall
 *    have none, to somebody who has too few. The next begins when the last one
 *    is home, that is, when nobody is on an old road any more.
 * 3. At the end those who are not wanted any more are forgotten by all.
 *
 * Each step asks, and its answers lead to the next: `proceed` looks at what is,
 * and at what shall be, and does one thing about it.
 */

#include "actors/shards.h"

#include <string.h>

/* ---- what shall be ---- */

/* How many slots each worker has. */
static void
count_slots(const struct rgi_shard *parts, uint32_t *ret_counts)
{
    memset(ret_counts, 0, RGM_WORKERS_MAX * sizeof(*ret_counts));
    for (uint32_t i = 0; i < parts->slots_count; i++)
        ret_counts[parts->dealer.roads[i]]++;
}

/* How many slots a worker shall have: of what does not divide, the first
 * owners get one more. */
static uint32_t
share_of(const struct rgi_shard *parts, uint32_t worker)
{
    const struct rgi_shard_dealer *dealer = &parts->dealer;
    uint64_t before = dealer->owners & ((UINT64_C(1) << worker) - 1);
    uint32_t place = (uint32_t)__builtin_popcountll(before);

    if (!(dealer->owners >> worker & 1))
        return 0;
    return parts->slots_count / dealer->owners_count +
           (place < parts->slots_count % dealer->owners_count);
}

/* The first deal: to each owner a row of slots. */
static void
deal_out(struct rgi_shard *parts)
{
    uint32_t at = 0;

    for (uint32_t worker = 0; worker < RGM_WORKERS_MAX; worker++) {
        uint32_t share = share_of(parts, worker);

        while (share-- > 0)
            parts->dealer.roads[at++] = (uint16_t)worker;
    }
}

/* From whom to whom, and how many at most: who has most too many gives to who
 * has most too few. */
static uint32_t
move_ends(const struct rgi_shard *parts, struct rgi_move *move)
{
    uint32_t counts[RGM_WORKERS_MAX];
    uint32_t most = 0;
    uint32_t least = 0;

    count_slots(parts, counts);
    for (uint32_t worker = 0; worker < RGM_WORKERS_MAX; worker++) {
        uint32_t share = share_of(parts, worker);

        if (counts[worker] > share && counts[worker] - share > most) {
            most = counts[worker] - share;
            move->from = worker;
        }
        if (share > counts[worker] && share - counts[worker] > least) {
            least = share - counts[worker];
            move->to = worker;
        }
    }
    return most < least ? most : least;
}

/* The next move, or false: all is as it shall be. */
static bool
move_find(struct rgi_shard *parts, struct rgi_move *move)
{
    uint32_t count = move_ends(parts, move);

    move->count = 0;
    if (count > parts->slots_per_move)
        count = parts->slots_per_move;
    for (uint32_t i = parts->slots_count; i-- > 0 && move->count < count;)
        if (parts->dealer.roads[i] == move->from)
            move->slots[move->count++] = (uint16_t)i;
    return count > 0;
}

static uint32_t
left_count(const struct rgi_shard *parts)
{
    uint32_t counts[RGM_WORKERS_MAX];
    uint32_t left = 0;

    count_slots(parts, counts);
    for (uint32_t worker = 0; worker < RGM_WORKERS_MAX; worker++) {
        uint32_t share = share_of(parts, worker);

        left += share > counts[worker] ? share - counts[worker] : 0;
    }
    return left;
}

/* ---- what is done about it ---- */

static void proceed(struct rgm_actor *self, struct rgm_shard *shard);

static void
end(struct rgm_actor *self, struct rgm_shard *shard, int status)
{
    struct rgi_shard_dealer *dealer = &shard->parts->dealer;
    struct rgm_reshard *reshard =
        (struct rgm_reshard *)(void *)rgm_kept_request(self, dealer->token);

    dealer->busy = false;
    if (reshard == NULL)
        return; /* withdrawn */
    reshard->moved_count = dealer->moved;
    reshard->left_count = left_count(shard->parts);
    (void)rgm_answer_kept(self, dealer->token, status);
}

static void
on_members_told(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_shard_note *note = (struct rgm_shard_note *)(void *)request;
    struct rgm_shard *shard = note->shard;

    if (--shard->parts->dealer.notes_out == 0)
        proceed(self, shard);
}

/* Tell everybody who there is. */
static void
tell_members(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_dealer *dealer = &shard->parts->dealer;

    dealer->told.roads = dealer->roads;
    dealer->notes_out = 1;
    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++) {
        struct rgm_shard_note *note = &dealer->notes[i];

        if (dealer->told.members[i].bits == 0)
            continue;
        note->what = RGI_NOTE_MEMBERS;
        note->deal = &dealer->told;
        note->newcomer = (dealer->newcomers >> i & 1) != 0;
        rgm_request_to(&note->request, dealer->told.members[i]);
        dealer->notes_out++;
        rgi_ask_uncharged(self, &note->request, on_members_told);
    }
    dealer->newcomers = 0;
    if (--dealer->notes_out == 0)
        proceed(self, shard);
}

/* Is there anybody new? Then all there are and he are to be told. */
static bool
members_add(struct rgi_shard_dealer *dealer)
{
    bool added = false;

    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++) {
        struct rgm_address wanted = dealer->wanted[i];

        if (wanted.bits == 0 ||
            rgm_address_same(dealer->told.members[i], wanted))
            continue;
        dealer->told.members[i] = wanted;
        dealer->newcomers |= UINT64_C(1) << i;
        added = true;
    }
    return added;
}

static bool
members_remove(struct rgi_shard_dealer *dealer)
{
    bool removed = false;

    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++) {
        if (dealer->wanted[i].bits != 0 || dealer->told.members[i].bits == 0)
            continue;
        dealer->told.members[i].bits = 0;
        removed = true;
    }
    return removed;
}

static void
on_moved(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_shard_note *order = (struct rgm_shard_note *)(void *)request;
    struct rgm_shard *shard = order->shard;
    struct rgi_shard_dealer *dealer = &shard->parts->dealer;
    const struct rgi_move *move = &dealer->move;
    int status = rgm_status(order);

    if (status != 0) {
        end(self, shard, status);
        return;
    }
    for (uint32_t i = 0; i < move->count; i++)
        dealer->roads[move->slots[i]] = (uint16_t)move->to;
    dealer->moved += move->count;
    proceed(self, shard);
}

static void
move_order(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard_dealer *dealer = &shard->parts->dealer;
    struct rgm_shard_note *order = &dealer->order;

    order->what = RGI_NOTE_MOVE;
    order->move = &dealer->move;
    rgm_request_to(&order->request, dealer->told.members[dealer->move.from]);
    rgi_ask_uncharged(self, &order->request, on_moved);
}

static void
proceed(struct rgm_actor *self, struct rgm_shard *shard)
{
    struct rgi_shard *parts = shard->parts;
    struct rgi_shard_dealer *dealer = &parts->dealer;

    if (self->life != RGI_LIFE_RUNNING) {
        end(self, shard, -ECANCELED);
    } else if (members_add(dealer)) {
        tell_members(self, shard);
    } else if (move_find(parts, &dealer->move)) {
        if (dealer->moves_left == 0) {
            end(self, shard, 0);
            return;
        }
        dealer->moves_left--;
        move_order(self, shard);
    } else if (members_remove(dealer)) {
        tell_members(self, shard);
    } else {
        end(self, shard, 0);
    }
}

/* ---- the request ---- */

/* All on workers of their own, and this shard is among them. */
static bool
wanted_set(const struct rgm_actor *self, const struct rgm_reshard *reshard,
           struct rgm_address *ret_wanted, uint64_t *ret_owners)
{
    *ret_owners = 0;
    for (uint32_t i = 0; i < reshard->members_count; i++) {
        uint32_t worker = rgm_address_worker(reshard->members[i]);

        if (worker >= RGM_WORKERS_MAX || ret_wanted[worker].bits != 0)
            return false;
        ret_wanted[worker] = reshard->members[i];
        if (i < reshard->owners_count)
            *ret_owners |= UINT64_C(1) << worker;
    }
    return rgm_address_same(ret_wanted[self->worker->number], self->address);
}

static int
reshard_begin(struct rgm_actor *self, struct rgm_shard *shard,
              struct rgm_reshard *reshard)
{
    struct rgi_shard_dealer *dealer = &shard->parts->dealer;
    struct rgm_address wanted[RGM_WORKERS_MAX] = {{0}};
    uint64_t owners;
    int status;

    if (reshard->members_count > RGM_WORKERS_MAX ||
        reshard->owners_count == 0 ||
        reshard->owners_count > reshard->members_count ||
        (shard->parts->joined && !dealer->is) ||
        !wanted_set(self, reshard, wanted, &owners))
        return -EINVAL;
    if (dealer->busy)
        return -EBUSY;
    status = rgm_keep_request(self, &reshard->request, &dealer->token);
    if (status != 0)
        return status;
    dealer->busy = true;
    dealer->owners = owners;
    dealer->owners_count = reshard->owners_count;
    memcpy(dealer->wanted, wanted, sizeof(wanted));
    dealer->moves_left =
        reshard->moves_max != 0 ? reshard->moves_max : UINT32_MAX;
    dealer->moved = 0;
    return 0;
}

void
rgi_shard_on_reshard(struct rgm_actor *self, struct rgm_shard *shard,
                     struct rgm_reshard *reshard)
{
    struct rgi_shard_dealer *dealer = &shard->parts->dealer;
    int status = reshard_begin(self, shard, reshard);

    if (status != 0) {
        (void)rgm_reply_request(self, &reshard->request, status);
        return;
    }
    if (!dealer->is)
        deal_out(shard->parts);
    dealer->is = true;
    proceed(self, shard);
}

/* ---- a member hears who there is ---- */

/* A newcomer reads the map, too, also one that was here before: it has not
 * heard of moves meanwhile. What the map says is its is its: in the first deal,
 * and nothing of it later. */
static void
join(struct rgm_actor *self, struct rgm_shard *shard,
     const struct rgi_deal *deal)
{
    struct rgi_shard *parts = shard->parts;

    shard->owned_count = 0;
    for (uint32_t i = 0; i < parts->slots_count; i++) {
        shard->roads[i] = deal->roads[i];
        shard->here[i] = RGI_SLOT_AWAY;
        if (deal->roads[i] != self->worker->number)
            continue;
        shard->here[i] = RGI_SLOT_OWNED;
        shard->owned_count++;
    }
    parts->joined = true;
}

void
rgi_shard_on_members(struct rgm_actor *self, struct rgm_shard *shard,
                     struct rgm_shard_note *note)
{
    struct rgi_shard *parts = shard->parts;

    memcpy(parts->members, note->deal->members, sizeof(parts->members));
    if (note->newcomer)
        join(self, shard, note->deal);
    (void)rgm_reply_request(self, &note->request, 0);
}
