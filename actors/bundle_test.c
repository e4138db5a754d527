/* SPDX-License-Identifier: MIT */

/*
 * bundle_test.c - do many returns in one come home exactly once each?
 *
 * Most cases play two workers by hand, without threads: worker 0 sends, the
 * test "handles" on worker 1, and looks at what travels. There is a third that
 * may have forwarded.
 */

#include "actors/lane.h"
#include "actors/rig.h"

/* As large as a note, but another type. */
struct card {
    struct rgm_message message;
    long value;
    void *about;
};
RGM_MESSAGE(card);

struct parcel {
    struct rgm_message message;
    char content[100];
};
RGM_MESSAGE(parcel);

static unsigned tickets_home;

struct ticket {
    struct rgm_message message;
};
RGM_MESSAGE_RETURNED(ticket, ticket_returned);

static void
ticket_returned(struct ticket *ticket, int status)
{
    rgi_check(ticket->message.state == RGI_MESSAGE_HOME && status == 0);
    tickets_home++;
}

struct late {
    struct rgm_message message;
    long value;
    void *about;
};
static const struct rgm_message_type late_type = {
    "late", sizeof(struct late), 0, RGM_KIND_MESSAGE, 1, NULL};

/* ------------------------------------------------------ two workers by hand */

#define HELD 200

struct pair {
    struct rgm_runtime *runtime;
    struct rgm_worker *home, *there;
    struct rgm_actor sender;        /* on `home`; addressed by nobody */
    struct rgm_message *held[HELD]; /* at `there`, in the order of sending */
    size_t count;
};

/* It stands still: a bundle that is kept from running is not sent off for its age. */
static uint64_t
no_time_passes(struct fake *fake)
{
    (void)fake;
    return 1;
}

static void
pair_open(struct pair *pair)
{
    fake_reset();
    fake_plan.now = no_time_passes;
    memset(pair, 0, sizeof(*pair));
    pair->runtime = rig_make(3);
    pair->home = pair->runtime->workers[0];
    pair->there = pair->runtime->workers[1];
    pair->sender.worker = pair->home;
    pair->sender.address = rgi_address_make(0, 1, 1);
    rgi_current = pair->home;
}

static void
pair_close(struct pair *pair)
{
    rgi_check(pair->home->messages_out == 0);
    for (uint32_t i = 0; i < 2 * 3; i++)
        rgi_check(pair->home->lanes[i].count == 0 &&
                  pair->home->lanes[i].bytes == 0);
    rgi_current = NULL;
    rig_destroy(pair->runtime);
}

/* Send one from the slab; it is "there" at once, by way of that worker. */
static struct rgm_message *
pair_send_by(struct pair *pair, uint32_t way,
             const struct rgm_message_type *type, size_t trailing_bytes)
{
    struct rgm_message *message = rgm_take(&pair->sender, type, trailing_bytes);

    rgi_check(message != NULL);
    rgi_check(rgm_send_message(&pair->sender, rgi_address_make(way, 1, 1),
                               message) == 0);
    rgi_flush_all(pair->home);
    rgi_check(rgi_inbox_take(&pair->runtime->places[way].inbox) == message);
    rgi_check(pair->count < HELD);
    pair->held[pair->count++] = message;
    return message;
}

static struct rgm_message *
pair_send(struct pair *pair, const struct rgm_message_type *type,
          size_t trailing_bytes)
{
    return pair_send_by(pair, 1, type, trailing_bytes);
}

static void
pair_handle_all(struct pair *pair)
{
    for (size_t i = 0; i < pair->count; i++)
        rgi_send_back(pair->there, pair->held[i]);
    pair->count = 0;
}

/* Bring home what was pushed. Returns: how many travelled by themselves. */
static unsigned
pair_come_home(struct pair *pair)
{
    struct rgm_message *message;
    unsigned count = 0;

    rgi_mail_refill(&pair->home->mail);
    while ((message = rgi_mail_next_urgent(&pair->home->mail)) != NULL) {
        rgi_come_home(pair->home, message);
        count++;
    }
    rgi_check(!rgi_mail_pending(&pair->home->mail));
    return count;
}

static unsigned
pair_return_all(struct pair *pair)
{
    pair_handle_all(pair);
    rgi_flush_all(pair->there);
    return pair_come_home(pair);
}

static void
many_travel_as_one_and_all_are_credited(void)
{
    struct pair pair;
    const struct rgi_lane *lane;

    pair_open(&pair);
    lane = &pair.home->lanes[2];
    for (int i = 0; i < 40; i++)
        pair_send(&pair, &note_type, 0);
    rgi_check(lane->count == 40 && lane->bytes == 40 * sizeof(struct note));
    rgi_check(pair.home->messages_out == 40);
    pair_handle_all(&pair);
    rgi_check(pair.there->dirty == 1 && pair.there->counters.flushes == 0);
    rgi_check(lane->count == 40);
    rgi_flush_all(pair.there);
    rgi_check(pair.there->dirty == 0 && pair.there->counters.flushes == 1);
    rgi_check(pair_come_home(&pair) == 1);
    rgi_check(lane->count == 0 && lane->bytes == 0);
    pair_close(&pair);
}

/* First back, first out: a second round uses the same memory in the same
 * order, what came back last comes last, and then there is new memory. */
static void
memory_goes_round_in_order(void)
{
    struct pair pair;
    struct rgm_message *first[50];

    pair_open(&pair);
    for (int i = 0; i < 50; i++)
        first[i] = pair_send(&pair, &note_type, 0);
    rgi_check(pair_return_all(&pair) == 1);
    for (int i = 0; i < 20; i++)
        rgi_check(pair_send(&pair, &note_type, 0) == first[i]);
    rgi_check(pair_return_all(&pair) == 1);
    for (int i = 0; i < 50; i++)
        rgi_check(pair_send(&pair, &note_type, 0) == first[(i + 20) % 50]);
    for (int i = 0; i < 50; i++)
        rgi_check(pair_send(&pair, &note_type, 0) != first[i]);
    rgi_check(pair_return_all(&pair) == 2); /* 64 and 36 */
    pair_close(&pair);
}

static void
what_comes_back_is_cleared_when_it_is_taken_again(void)
{
    struct pair pair;
    struct note *note;

    pair_open(&pair);
    for (int i = 0; i < 3; i++) {
        note = (struct note *)(void *)pair_send(&pair, &note_type, 0);
        note->value = -1;
        note->about = &pair;
    }
    rgi_check(pair_return_all(&pair) == 1);
    for (int i = 0; i < 3; i++) {
        note = (struct note *)(void *)pair_send(&pair, &note_type, 0);
        rgi_check(note->value == 0 && note->about == NULL);
        rgi_check(note->message.type == &note_type);
    }
    rgi_check(pair_return_all(&pair) == 1);
    pair_close(&pair);
}

/* At the limit it is pushed, inside the handler. */
static void
a_full_bundle_is_pushed(void)
{
    struct pair pair;

    pair_open(&pair);
    for (size_t i = 0; i < RGI_BUNDLE_MAX - 1; i++)
        pair_send(&pair, &note_type, 0);
    pair_handle_all(&pair);
    rgi_check(pair.there->counters.flushes == 0);
    pair_send(&pair, &note_type, 0);
    pair_handle_all(&pair);
    rgi_check(pair.there->counters.flushes == 1 && pair.there->dirty == 0);
    rgi_check(pair_come_home(&pair) == 1);
    rgi_check(pair.home->messages_out == 0);
    pair_close(&pair);
}

static void
one_alone_stays_a_message(void)
{
    struct pair pair;
    struct rgm_message *message;

    pair_open(&pair);
    message = pair_send(&pair, &note_type, 0);
    pair_handle_all(&pair);
    rgi_flush_all(pair.there);
    rgi_check(message->type == &note_type);
    rgi_check((message->flags & RGI_MESSAGE_BUNDLE) == 0);
    rgi_check(message->status == 0);
    rgi_check(pair_come_home(&pair) == 1);
    rgi_check(pair_send(&pair, &note_type, 0) == message);
    rgi_check(pair_return_all(&pair) == 1);
    pair_close(&pair);
}

/* Of another type, of another size, of another lane: each begins a new one,
 * and the right lane is credited with the right bytes. */
static void
what_differs_travels_apart(void)
{
    struct pair pair;
    const struct rgi_lane *lanes;

    pair_open(&pair);
    lanes = &pair.home->lanes[2];
    for (int i = 0; i < 4; i++)
        pair_send(&pair, &note_type, 0);
    for (int i = 0; i < 2; i++)
        pair_send(&pair, &note_type, 10);
    for (int i = 0; i < 3; i++)
        pair_send(&pair, &card_type, 0);
    for (int i = 0; i < 5; i++)
        pair_send(&pair, &parcel_type, 0);
    for (int i = 0; i < 6; i++)
        pair_send(&pair, &late_type, 0);
    rgi_check(lanes[0].count == 14 && lanes[1].count == 6);
    rgi_check(lanes[0].bytes ==
              9 * sizeof(struct note) + 20 + 5 * sizeof(struct parcel));
    rgi_check(pair_return_all(&pair) == 5);
    pair_close(&pair);
}

/* Of one type, but charged to two lanes: some were forwarded. */
static void
what_was_forwarded_is_credited_where_it_was_charged(void)
{
    struct pair pair;

    pair_open(&pair);
    for (int i = 0; i < 3; i++)
        pair_send_by(&pair, 2, &note_type, 0);
    for (int i = 0; i < 4; i++)
        pair_send(&pair, &note_type, 0);
    rgi_check(pair.home->lanes[4].count == 3);
    rgi_check(pair_return_all(&pair) == 2);
    rgi_check(pair.home->lanes[4].count == 0);
    pair_close(&pair);
}

static void
sizes_in_turn_come_home_each(void)
{
    struct pair pair;

    pair_open(&pair);
    for (int i = 0; i < 30; i++)
        pair_send(&pair, i % 2 ? &note_type : &parcel_type, 0);
    rgi_check(pair_return_all(&pair) == 30);
    pair_close(&pair);
}

/* Whose hook wants to see it, whose memory is the user's or libc's, and who
 * failed: these travel by themselves. */
static void
only_plain_returns_are_tied(void)
{
    struct pair pair;
    struct note own[2];

    pair_open(&pair);
    tickets_home = 0;
    for (int i = 0; i < 3; i++)
        pair_send(&pair, &ticket_type, 0);
    rgi_check(pair_return_all(&pair) == 3 && tickets_home == 3);
    for (int i = 0; i < 2; i++)
        pair_send(&pair, &note_type, 64 * 64);
    rgi_check(pair_return_all(&pair) == 2);
    for (int i = 0; i < 2; i++) {
        note_init(&own[i]);
        rgi_check(rgm_send_message(&pair.sender, rgi_address_make(1, 1, 1),
                                   &own[i].message) == 0);
        rgi_flush_all(pair.home);
        pair.held[pair.count++] = rgi_inbox_take(pair.there->inbox);
    }
    rgi_check(pair_return_all(&pair) == 2);
    rgi_check(own[1].message.state == RGI_MESSAGE_HOME);
    for (int i = 0; i < 2; i++)
        rgi_send_home(pair.there, pair_send(&pair, &note_type, 0), -ESRCH);
    rgi_flush_all(pair.there);
    rgi_check(pair_come_home(&pair) == 2);
    pair_close(&pair);
}

/* What stands beside a bundle keeps its own order and its own credit. */
static void
a_bundle_and_others_share_a_chain(void)
{
    struct pair pair;

    pair_open(&pair);
    tickets_home = 0;
    for (int i = 0; i < 30; i++)
        pair_send(&pair, i % 10 == 9 ? &ticket_type : &note_type, 0);
    rgi_check(pair_return_all(&pair) == 3 + 1 && tickets_home == 3);
    rgi_check(pair.there->counters.flushes == 1);
    pair_close(&pair);
}

/* A closing inbox leaves what is tied where it is; the next look pushes it. */
static void
a_bundle_waits_with_its_outbox(void)
{
    struct pair pair;

    pair_open(&pair);
    for (int i = 0; i < 5; i++)
        pair_send(&pair, &note_type, 0);
    rgi_check(rgi_inbox_close_begin(pair.home->inbox) == NULL);
    pair_handle_all(&pair);
    rgi_flush_all(pair.there);
    rgi_check(pair.there->dirty == 1);
    rgi_inbox_close_end(pair.home->inbox);
    rgi_inbox_open(pair.home->inbox);
    for (int i = 0; i < 5; i++)
        pair_send(&pair, &note_type, 0);
    rgi_check(pair_return_all(&pair) == 2 && pair.there->dirty == 0);
    pair_close(&pair);
}

/* A credit of many lets as many go as fit, in order. */
static void
a_bundle_lets_who_waits_go(void)
{
    struct pair pair;
    struct question waiting[3];
    struct rgi_lane *lane;

    pair_open(&pair);
    lane = &pair.home->lanes[2];
    pair.home->lane_messages = 10;
    for (int i = 0; i < 10; i++)
        pair_send(&pair, &note_type, 0);
    for (int i = 0; i < 3; i++) {
        question_prepare(&waiting[i], rgi_address_make(1, 1, 1));
        waiting[i].request.message.from = pair.sender.address;
        rgi_request_goes(&waiting[i].request);
        rgi_check(!rgi_lane_enter(pair.home, &waiting[i].request.message, 1));
    }
    rgi_check(pair_return_all(&pair) == 1);
    rgi_check(lane->count == 3 && lane->waiting.first == NULL);
    rgi_check(pair.home->outboxes[1].count == 3);
    for (int i = 0; i < 3; i++)
        rgi_lane_credit(pair.home, &waiting[i].request.message);
    (void)rgi_outbox_empty(&pair.home->outboxes[1]);
    pair.home->dirty = 0;
    pair_close(&pair);
}

/* ------------------------------------------------- mail in a row, by hand */

/* Runs of one actor's mail go into its line; what is for others, of another
 * type, or beyond the quota, stays. */
static void
a_row_for_one_actor_is_delivered_in_one_piece(void)
{
    struct pair pair;
    struct rgm_actor *actor[2];
    struct rgi_chain chain = {NULL, NULL};
    static const struct script idle;
    struct note notes[7];
    struct card card;
    static const unsigned to[] = {0, 0, 0, 1, 1, 0};

    pair_open(&pair);
    rgi_current = pair.there;
    for (int i = 0; i < 2; i++)
        rgi_check(rgi_spawn_local(pair.there, &robot_behaviour, &idle,
                                  &actor[i]) == 0);
    for (int i = 0; i < 6; i++) {
        note_init(&notes[i]);
        notes[i].message.to = actor[to[i]]->address;
        rgi_chain_append(&chain, &notes[i].message);
    }
    card_init(&card);
    card.message.to = actor[0]->address;
    rgi_chain_append(&chain, &card.message);
    note_init(&notes[6]);
    notes[6].message.to = rgi_address_make(1, 100, 1); /* nobody's */
    rgi_chain_append(&chain, &notes[6].message);
    rgi_check(rgi_deliver_run(pair.there, &chain, 2) == 2);
    rgi_check(chain.first == &notes[2].message);
    rgi_check(actor[0]->mail_last == &notes[1].message);
    rgi_check(rgi_deliver_run(pair.there, &chain, 9) == 1);
    rgi_check(rgi_deliver_run(pair.there, &chain, 9) == 2);
    rgi_check(actor[1]->mail_first == &notes[3].message &&
              actor[1]->mail_last == &notes[4].message &&
              notes[4].message.next == NULL);
    rgi_check(rgi_deliver_run(pair.there, &chain, 9) == 1);
    rgi_check(rgi_deliver_run(pair.there, &chain, 9) == 1);
    rgi_check(actor[0]->mail_last == &card.message);
    rgi_check(rgi_deliver_run(pair.there, &chain, 9) == 0);
    rgi_check(chain.first == &notes[6].message);
    for (int i = 0; i < 2; i++) {
        actor[i]->mail_first = NULL;
        rgi_actor_stop(pair.there, actor[i]);
    }
    pair.there->ready_first = NULL;
    for (int i = 0; i < 2; i++)
        rgi_actor_run(pair.there, actor[i]);
    pair_close(&pair);
}

struct row {
    long handled;
    long stops_at;
    struct rgm_address forwards_to; /* the second */
};

static void
row_note(struct robot *self, struct note *note)
{
    struct row *row = test_of(self);

    row->handled++;
    if (row->handled == 2 && row->forwards_to.bits != 0)
        rgi_check(rgm_forward_one_way(self, note, row->forwards_to) == 0);
    if (row->handled == row->stops_at)
        rgm_stop(self);
}

/* All that is "there" for this actor goes into its line, and it runs. */
static void
pair_run(struct pair *pair, struct rgm_actor *actor)
{
    const struct rgm_provider_options options = {.worker = 1};
    struct rgi_chain chain = {NULL, NULL};

    rgi_check(fake_open(&options, &pair->there->provider, NULL, 0) == 0);
    for (size_t i = 0; i < pair->count; i++) {
        pair->held[i]->to = actor->address;
        rgi_chain_append(&chain, pair->held[i]);
    }
    pair->count = 0;
    while (chain.first != NULL)
        rgi_check(rgi_deliver_run(pair->there, &chain, 100) > 0);
    rgi_current = pair->there;
    pair->there->ready_first = NULL;
    actor->ready = 0;
    rgi_actor_run(pair->there, actor);
    rgi_current = pair->home;
    fake_close(pair->there->provider);
    pair->there->provider = NULL;
}

static struct rgm_actor *
pair_spawn(struct pair *pair, const struct script *script)
{
    struct rgm_actor *actor;

    rgi_current = pair->there;
    rgi_check(rgi_spawn_local(pair->there, &robot_behaviour, script, &actor) ==
              0);
    rgi_current = pair->home;
    return actor;
}

static void
pair_end(struct pair *pair, struct rgm_actor *actor)
{
    rgi_actor_stop(pair->there, actor);
    pair_run(pair, actor);
    pair->there->ready_first = NULL;
}

/* What comes behind the end of an actor was never handled. */
static void
a_row_ends_where_its_actor_stops(void)
{
    struct row row = {.stops_at = 4};
    struct script script = {.note = row_note, .test = &row};
    struct pair pair;

    pair_open(&pair);
    for (int i = 0; i < 10; i++)
        pair_send(&pair, &note_type, 0);
    pair_run(&pair, pair_spawn(&pair, &script));
    rgi_check(row.handled == 4);
    rgi_check(pair.there->counters.dead_letters == 6);
    rgi_check(pair.there->counters.deliveries == 10);
    rgi_check(pair.there->actors_count == 0);
    rgi_flush_all(pair.there);
    rgi_check(pair_come_home(&pair) == 1 + 6); /* failures go singly */
    pair_close(&pair);
}

/* One without a handler stands in the row, and one is forwarded out of it. */
static void
a_row_is_of_one_type_and_each_may_go_its_own_way(void)
{
    struct row row = {.forwards_to = rgi_address_make(2, 1, 1)};
    struct script script = {.note = row_note, .test = &row};
    struct pair pair;
    struct rgm_actor *actor;
    struct rgm_message *second;

    pair_open(&pair);
    actor = pair_spawn(&pair, &script);
    pair_send(&pair, &note_type, 0);
    second = pair_send(&pair, &note_type, 0);
    pair_send(&pair, &note_type, 0);
    pair_send(&pair, &card_type, 0);
    pair_send(&pair, &note_type, 0);
    pair_send(&pair, &note_type, 0);
    pair_run(&pair, actor);
    rgi_check(row.handled == 5 && pair.there->counters.dead_letters == 1);
    rgi_flush_all(pair.there);
    rgi_check(rgi_inbox_take(&pair.runtime->places[2].inbox) == second);
    rgi_check(pair.home->messages_out == 6);
    rgi_check(pair_come_home(&pair) == 2); /* a bundle of four, and the card */
    rgi_check(pair.home->messages_out == 1);
    rgi_send_back(pair.there, second);
    rgi_flush_all(pair.there);
    rgi_check(pair_come_home(&pair) == 1);
    pair_end(&pair, actor);
    pair_close(&pair);
}

/* ------------------------------------------------------- with real threads */

#define FLOOD 30000

struct flood {
    struct rgm_address peer[2];
    long got[2];  /* notes, by the receiving worker */
    long next[2]; /* the number the next note must have */
    long sent[2];
    long to_send;
    bool done[2];
};

static void
flood_on(struct robot *self)
{
    struct flood *flood = test_of(self);
    uint32_t here = rgm_worker_number(&self->actor);
    struct rgm_worker *worker = self->actor.worker;

    while (flood->sent[here] < flood->to_send) {
        size_t trailing = (size_t)(flood->sent[here] % 3 == 0) * 70;
        struct note *note = note_take(&self->actor, trailing);
        int status;

        rgi_check(note != NULL && note->value == 0);
        note->value = flood->sent[here];
        status = rgm_send(self, flood->peer[!here], note);
        if (status != 0) {
            rgi_check(status == -EAGAIN);
            note_give(&self->actor, note);
            break;
        }
        flood->sent[here]++;
    }
    if (flood->sent[here] < flood->to_send || worker->messages_out > 1)
        rgi_check(robot_send(self, rgm_self(self), -1) == 0);
    else
        flood->done[here] = true;
    if (flood->done[here] && flood->got[here] == flood->to_send)
        rgm_stop(self);
}

static void
flood_note(struct robot *self, struct note *note)
{
    struct flood *flood = test_of(self);
    uint32_t here = rgm_worker_number(&self->actor);

    if (note->value == -1) {
        flood_on(self);
        return;
    }
    rgi_check(note->value == flood->next[here]);
    flood->next[here]++;
    flood->got[here]++;
    note->value = -7; /* whoever takes it again must not see this */
    if (flood->done[here] && flood->got[here] == flood->to_send)
        rgm_stop(self);
}

/* It ends by itself. */
static void
flood_stays(struct robot *self)
{
    (void)self;
}

/* Two workers flood each other, in two sizes; allowances are small, so that
 * every send waits for bundles. Each message arrives once and in order, and
 * every one is home before the end. */
static void
two_that_flood_each_other_lose_and_double_nothing(void)
{
    struct flood flood = {.to_send = (long)rgi_scale(100 * FLOOD)};
    struct script script = {
        .note = flood_note, .retiring = flood_stays, .test = &flood};
    struct rgm_runtime_options options = {
        .workers = 2, .lane_messages = 200, .provider = &fake_class};
    struct rgm_runtime *runtime;
    struct rgm_guest guest;
    struct note *start[2];
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(runtime) == 0);
    for (uint32_t i = 0; i < 2; i++)
        rgi_check(rgm_runtime_spawn(runtime, i, &robot_behaviour, &script,
                                    &flood.peer[i]) == 0);
    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    for (int i = 0; i < 2; i++) {
        start[i] = note_take(&guest.actor, 0);
        rgi_check(start[i] != NULL);
        start[i]->value = -1;
        rgi_check(rgm_send(&guest, flood.peer[i], start[i]) == 0);
    }
    rgm_guest_close(&guest);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(flood.got[0] == flood.to_send && flood.got[1] == flood.to_send);
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &counters) == 0);
    rgi_check(counters.messages_out == 0);
    rgi_check(counters.home == counters.sent_local + counters.sent_remote);
    rig_destroy(runtime);
}

#define CASES(X)                                                               \
    X(bundle, many_travel_as_one_and_all_are_credited)                         \
    X(bundle, memory_goes_round_in_order)                                      \
    X(bundle, what_comes_back_is_cleared_when_it_is_taken_again)               \
    X(bundle, a_full_bundle_is_pushed)                                         \
    X(bundle, one_alone_stays_a_message)                                       \
    X(bundle, what_differs_travels_apart)                                      \
    X(bundle, what_was_forwarded_is_credited_where_it_was_charged)             \
    X(bundle, sizes_in_turn_come_home_each)                                    \
    X(bundle, only_plain_returns_are_tied)                                     \
    X(bundle, a_bundle_and_others_share_a_chain)                               \
    X(bundle, a_bundle_waits_with_its_outbox)                                  \
    X(bundle, a_bundle_lets_who_waits_go)                                      \
    X(bundle, a_row_for_one_actor_is_delivered_in_one_piece)                   \
    X(bundle, a_row_ends_where_its_actor_stops)                                \
    X(bundle, a_row_is_of_one_type_and_each_may_go_its_own_way)                \
    X(bundle, two_that_flood_each_other_lose_and_double_nothing)

RGI_CASES(CASES)
