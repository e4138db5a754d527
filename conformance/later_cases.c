/* SPDX-License-Identifier: MIT */

/* later_cases.c - when does a message that is sent later arrive, and what if its
 * sender thinks better of it, ends, or has too many? */

#include "conformance/later_cases.h"

#include <time.h>

#define FAR_NS (3600 * RGM_NS_PER_S)

/* Both providers' clock is this one. */
static uint64_t
now_ns(void)
{
    struct timespec now;

    rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

struct parcel_post;

/* A message that says when it is home. */
struct later_note {
    struct rgm_message message;
    struct parcel_post *post;
    uint32_t number;
};

struct parcel_post {
    struct stage *stage;
    struct rgm_address to;
    struct rgm_identity identities[8];
    struct later_note *notes[8];
    uint64_t due_ns[8], late_ns[8]; /* due then, and not after that */
    uint32_t next;
    int32_t statuses[8]; /* under the stage's lock */
    uint32_t home;
    uint32_t received[8];
    uint32_t received_count;
};

RGM_MESSAGE_RETURNED(later_note, later_note_home);

static void
later_note_home(struct later_note *note, int status)
{
    struct parcel_post *post = note->post;

    pthread_mutex_lock(&post->stage->lock);
    post->statuses[note->number] = status;
    post->home++;
    pthread_cond_broadcast(&post->stage->answered);
    pthread_mutex_unlock(&post->stage->lock);
}

struct receiver {
    struct rgm_actor actor;
};
RGM_HANDLER(receiver, later_note, receiver_note);

static const struct rgm_handler receiver_handlers[] = {
    RGM_ON(receiver, later_note, receiver_note)};
static const struct rgm_behaviour receiver_behaviour = {
    .name = "receiver",
    .size_bytes = sizeof(struct receiver),
    RGM_HANDLERS(receiver_handlers),
};

static void
receiver_note(struct receiver *self, struct later_note *note)
{
    struct parcel_post *post = note->post;

    (void)self;
    rgi_check(now_ns() >= post->due_ns[note->number]);
    pthread_mutex_lock(&post->stage->lock);
    post->received[post->received_count++] = note->number;
    pthread_mutex_unlock(&post->stage->lock);
}

static int
post_one(struct puppet *puppet, struct parcel_post *post, uint64_t after_ns)
{
    struct later_note *note = later_note_take(&puppet->actor, 0);
    uint32_t number = post->next;
    int status;

    rgi_check(note != NULL);
    note->post = post;
    note->number = number;
    post->notes[number] = note;
    post->due_ns[number] = now_ns() + after_ns;
    status = rgm_send_after(puppet, post->to, note, after_ns,
                            &post->identities[number]);
    post->late_ns[number] = now_ns() + after_ns;
    if (status == 0)
        post->next++;
    else
        later_note_give(&puppet->actor, note);
    return status;
}

static void
post_init(struct stage *stage, struct parcel_post *post, uint32_t worker)
{
    memset(post, 0, sizeof(*post));
    post->stage = stage;
    rgi_check(rgm_runtime_spawn(stage->runtime, worker, &receiver_behaviour,
                                NULL, &post->to) == 0);
}

static void
await_home(struct parcel_post *post, uint32_t count)
{
    pthread_mutex_lock(&post->stage->lock);
    while (post->home < count)
        pthread_cond_wait(&post->stage->answered, &post->stage->lock);
    rgi_check(post->home == count);
    pthread_mutex_unlock(&post->stage->lock);
}

static void
post_four(struct puppet *puppet, void *argument)
{
    static const uint64_t after_ns[] = {3 * RGM_NS_PER_MS, RGM_NS_PER_MS, 0,
                                        2 * RGM_NS_PER_MS};

    for (uint32_t i = 0; i < 4; i++)
        rgi_check(post_one(puppet, argument, after_ns[i]) == 0);
}

/* Nothing came before what was due clearly earlier: a sender that was kept
 * waiting between two posts has moved them. */
static void
check_order(const struct parcel_post *post)
{
    for (uint32_t i = 0; i < post->received_count; i++)
        for (uint32_t j = i + 1; j < post->received_count; j++)
            rgi_check(post->due_ns[post->received[i]] <=
                      post->late_ns[post->received[j]] + RGM_NS_PER_MS / 2);
}

void
later_messages_are_sent_in_time_and_come_home(struct stage *stage)
{
    struct parcel_post post;

    stage->options.workers = 2;
    stage_open(stage);
    for (uint32_t worker = 0; worker < 2; worker++) {
        post_init(stage, &post, worker);
        stage_do(stage, post_four, &post);
        await_home(&post, 4);
        rgi_check(post.received_count == 4);
        check_order(&post);
        for (uint32_t i = 0; i < 4; i++)
            rgi_check(post.statuses[i] == 0);
        rgi_check(stage_counters(stage).timers == 0);
    }
    stage_close(stage);
}

static void
post_and_cancel(struct puppet *puppet, void *argument)
{
    struct parcel_post *post = argument;
    struct rgm_identity nobody = {.where = rgm_worker_address(0)};

    for (uint32_t i = 0; i < 4; i++)
        rgi_check(post_one(puppet, post, i == 1 ? 0 : FAR_NS) == 0);
    rgi_check(rgm_send_cancel(puppet, post->identities[0]) == 0);
    rgi_check(rgm_send_cancel(puppet, post->identities[0]) == -ESRCH);
    rgi_check(rgm_send_cancel(puppet, post->identities[1]) == -ESRCH);
    rgi_check(rgm_send_cancel(puppet, post->identities[2]) == 0);
    rgi_check(rgm_send_cancel(puppet, nobody) == -ESRCH);
    nobody.where = rgm_worker_address(1);
    rgi_check(rgm_send_cancel(puppet, nobody) == -EINVAL);
}

void
later_messages_can_be_cancelled(struct stage *stage)
{
    struct parcel_post post;

    stage_open(stage);
    post_init(stage, &post, 0);
    stage_do(stage, post_and_cancel, &post);
    await_home(&post, 3);
    rgi_check(post.statuses[0] == -ECANCELED && post.statuses[1] == 0 &&
              post.statuses[2] == -ECANCELED);
    /* By its name, from anywhere. */
    rgi_check(rgm_runtime_cancel(stage->runtime, post.identities[3]) == 0);
    await_home(&post, 4);
    rgi_check(post.statuses[3] == -ECANCELED && post.received_count == 1);
    rgi_check(stage_counters(stage).timers == 0);
    stage_close(stage);
}

static void
post_three_far(struct puppet *puppet, void *argument)
{
    for (uint32_t i = 0; i < 3; i++)
        rgi_check(post_one(puppet, argument, FAR_NS) == 0);
}

void
later_messages_end_with_their_actor(struct stage *stage)
{
    struct parcel_post post;

    stage_open(stage);
    post_init(stage, &post, 0);
    stage_do(stage, post_three_far, &post);
    (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]);
    await_home(&post, 3);
    for (uint32_t i = 0; i < 3; i++)
        rgi_check(post.statuses[i] == -ECANCELED);
    rgi_check(post.received_count == 0);
    stage_close(stage);
}

static void
post_until_full(struct puppet *puppet, void *argument)
{
    struct parcel_post *post = argument;
    struct rgm_address real = post->to;

    rgi_check(post_one(puppet, post, RGM_NEVER) == -EINVAL);
    post->to.bits += 1; /* another generation */
    rgi_check(post_one(puppet, post, 0) == -ESRCH);
    post->to = real;
    post_three_far(puppet, post);
    rgi_check(post_one(puppet, post, FAR_NS) == -EAGAIN);
    rgi_check(rgm_send_cancel(puppet, post->identities[0]) == 0);
}

static void
post_one_more(struct puppet *puppet, void *argument)
{
    rgi_check(post_one(puppet, argument, FAR_NS) == 0);
    rgi_check(post_one(puppet, argument, FAR_NS) == -EAGAIN);
}

void
later_messages_are_charged_and_take_places(struct stage *stage)
{
    for (int by_places = 0; by_places < 2; by_places++) {
        struct parcel_post post;

        stage->options.timers_max = by_places ? 3 : 0;
        stage->options.lane_messages = by_places ? 0 : 3;
        stage_open(stage);
        post_init(stage, &post, 0);
        stage_do(stage, post_until_full, &post);
        await_home(&post, 1);
        stage_do(stage, post_one_more, &post);
        (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]);
        await_home(&post, 4);
        rgi_check(post.received_count == 0);
        stage_close(stage);
    }
}
