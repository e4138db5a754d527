/* SPDX-License-Identifier: MIT */

/*
 * abroad_test.c - does an operation go to the runtime of its handle, and come
 * home, whoever stops, cancels or fails meanwhile?
 *
 * One thread plays two runtimes: the owner's, which has the stream, and the
 * asker's.
 */

#include <ringmail/abandon.h>
#include <ringmail/deadline.h>
#include <ringmail/identity.h>
#include <ringmail/resize.h>

#include "actors/orders.h"
#include "actors/stepped.h"

/* How many in one run: a second one takes seconds. One thread plays all, so a
 * sanitizer sees little of it, and is slow. */
static unsigned
interruptions(unsigned quick, unsigned full)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    (void)full;
    return quick - 1;
#else
    return rgi_scale_is_full() ? full : quick;
#endif
}

/* ---------------------------------------------------------------- the asker */

enum errand { READ, READ_LIMITED, READ_TIMED, CANCEL, LEAVE, TRY, SHRINK, GO };

/* What one has asked and heard. */
struct asking {
    struct rgm_stream *stream;
    struct rgm_read read;
    char byte;
    unsigned asked, answers, stopped, resized, released;
    struct rgm_resize resize;
    struct rgm_timeout timeout;
    int status; /* of the last */
    int tried;
};

RGM_ANSWER(robot, rgm_read, on_read);
RGM_ANSWER(robot, rgm_resize, on_resized);
RGM_ANSWER(robot, rgm_timeout, on_timeout);

static void
heard(struct robot *self, int status)
{
    struct asking *asking = test_of(self);

    rgi_check(rgi_current == self->actor.worker);
    asking->status = status;
    asking->answers++;
}

static void
on_read(struct robot *self, struct rgm_read *read)
{
    heard(self, rgm_status(read));
}

static void
on_resized(struct robot *self, struct rgm_resize *resize)
{
    struct asking *asking = test_of(self);

    asking->resized += rgm_status(resize) == 0;
}

static void
on_released(struct rgm_actor *janitor, struct rgm_request *request)
{
    struct asking *asking =
        rgi_container_of(request, struct asking, read.request);

    (void)janitor;
    asking->released++;
}

static void
on_timeout(struct robot *self, struct rgm_timeout *timeout)
{
    heard(self, rgm_status(timeout));
}

static void
prepare(struct asking *asking)
{
    rgm_stream_read(&asking->read, asking->stream, &asking->byte, 1);
}

static void
run_errand(struct robot *self, struct note *note)
{
    struct asking *asking = test_of(self);

    switch ((enum errand)note->value) {
    case READ_LIMITED:
    case READ:
        prepare(asking);
        if (note->value == READ_LIMITED)
            rgm_expire_after(&asking->read, RGM_NS_PER_MS);
        asking->asked++;
        rgm_ask(self, &asking->read, RGM_REPLY(robot, rgm_read, on_read));
        break;
    case READ_TIMED:
        prepare(asking);
        rgm_timeout_prepare(&asking->timeout, &self->actor,
                            &asking->read.request, RGM_NS_PER_MS, on_released);
        rgm_ask(self, &asking->timeout,
                RGM_REPLY(robot, rgm_timeout, on_timeout));
        break;
    case TRY:
        prepare(asking);
        asking->tried = rgm_try_ask(self, &asking->read,
                                    RGM_REPLY(robot, rgm_read, on_read));
        asking->asked += asking->tried == 0;
        break;
    case CANCEL:
        rgm_cancel(self, &asking->read);
        break;
    case LEAVE:
        rgi_check(rgm_leave_request_to(&self->actor, &asking->read.request,
                                       on_released) ==
                  (asking->answers == 0 ? 0 : -EALREADY));
        break;
    case SHRINK:
        rgm_resize_to(&asking->resize, 1);
        rgm_ask(self, &asking->resize,
                RGM_REPLY(robot, rgm_resize, on_resized));
        break;
    case GO:
        rgm_stop(self);
        break;
    default:
        rgi_unreachable();
    }
}

static void
asker_stopped(struct robot *self)
{
    struct asking *asking = test_of(self);

    asking->stopped++;
}

/* The same, and it moves when its worker retires; what it has out stays. */
static const struct rgm_behaviour roamer_behaviour = {
    .name = "roamer",
    .size_bytes = sizeof(struct robot),
    RGM_HANDLERS(robot_handlers),
    .factory = RGM_MAKE(robot, robot_make),
    .movable = true,
    .operations_stay = true,
    .stopped = RGM_DO(robot, robot_stopped),
};

/* ---------------------------------------------------------- the two runtimes */

struct pair {
    struct stepped play; /* the asker's runtime */
    struct rgm_runtime *owner;
    struct rgm_stream stream; /* of the owner's worker `at` */
    struct asking asking;
    struct script script;
    struct rgm_address asker; /* on worker 0 */
    struct stepped_guest guest;
    uint32_t first; /* of the owner's players */
    int outcome;    /* of a read as soon as it is submitted; 1: none yet */
};

static void
decide(struct rgm_script *script, struct rgm_operation *operation,
       void *argument)
{
    struct pair *pair = argument;

    if (operation->kind == RGM_OP_CONNECT || operation->kind == RGM_OP_CLOSE)
        rgm_script_complete(script, operation, 0);
    else if (operation->kind == RGM_OP_READ && pair->outcome != 1)
        rgm_script_complete(script, operation, pair->outcome);
}

static uint64_t
operations_of(struct rgm_runtime *runtime)
{
    struct rgm_counters counters;

    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &counters) == 0);
    return counters.operations;
}

/* The asker's runtime has `workers`; the stream is of the owner's worker `at`. */
static void
pair_open(struct pair *pair, uint32_t workers, uint32_t at)
{
    struct rgm_runtime_options options = {.workers = at + 1,
                                          .provider = &rgm_provider_scripted};
    struct rgm_connect connect;
    struct rgm_endpoint endpoint;

    memset(pair, 0, sizeof(*pair));
    pair->outcome = 1;
    stepped_begin(&pair->play, workers);
    options.provider_argument = pair->play.script;
    pair->first = rgm_stepper_count(pair->play.stepper);
    pair->owner = rig_make_with(&options);
    rgi_check(rgm_runtime_start(pair->owner) == 0);
    rgm_script_on_submit(pair->play.script, decide, pair);
    rgi_check(rgm_endpoint_parse("127.0.0.1", 1, &endpoint) == 0);
    rgm_stream_connect(&connect, rgm_worker_address(at), &pair->stream,
                       &endpoint);
    rgi_check(rgm_call(pair->owner, &connect) == 0);
    pair->asking.stream = &pair->stream;
    pair->asking.status = 1;
    pair->script = (struct script){
        .note = run_errand, .stopped = asker_stopped, .test = &pair->asking};
    pair->asker = stepped_spawn(&pair->play, 0, &pair->script);
    stepped_open(&pair->play, &pair->guest);
}

static void
pair_tell(struct pair *pair, enum errand errand)
{
    stepped_tell(&pair->guest, pair->asker, errand);
}

static void
pair_run(struct pair *pair, enum errand errand)
{
    pair_tell(pair, errand);
    stepped_settle(&pair->play);
}

/* It has asked, and what it asks is about to be pushed to wherever it goes. */
static void
pair_sets_out(struct pair *pair)
{
    pair_tell(pair, READ);
    rgi_check(stepped_to(&pair->play, 0, "push"));
}

/* The owner has ended, or ends now. */
static void
owner_end(struct pair *pair)
{
    if (pair->owner == NULL)
        return;
    rgm_runtime_stop(pair->owner);
    rgi_check(rgm_runtime_wait(pair->owner) == 0);
    rgi_check(rgm_runtime_destroy(pair->owner) == 0);
    pair->owner = NULL;
}

static void
pair_close(struct pair *pair)
{
    stepped_close(&pair->guest);
    owner_end(pair);
    stepped_end(&pair->play);
}

static struct rgm_operation *
submitted_read(struct pair *pair)
{
    return rgm_script_find(pair->play.script, RGM_OP_READ, 0);
}

/* ------------------------------------------------------------- there and back */

/* Of the asker's runtime, and of the stream. */
static const struct {
    uint32_t workers, at;
} roads[] = {{1, 0}, {2, 1}, {1, 2}};

#define ROADS (sizeof(roads) / sizeof(roads[0]))

/* From worker 0: to the same number, to another, and to one that the asker's
 * runtime has not. */
static void
goes_to(uint32_t workers, uint32_t at)
{
    struct pair pair;
    uint64_t here, there;

    pair_open(&pair, workers, at);
    here = operations_of(pair.play.runtime);
    there = operations_of(pair.owner);
    pair_run(&pair, READ);
    rgi_check(pair.asking.answers == 0 && submitted_read(&pair) != NULL);
    rgi_check(rgm_script_worker(submitted_read(&pair)) == at);
    rgi_check(pair.stream.socket.busy == 1);
    rgi_check(rgm_script_complete_read(pair.play.script, submitted_read(&pair),
                                       "x", 1, false) == 0);
    stepped_settle(&pair.play);
    rgi_check(pair.asking.answers == 1 && pair.asking.status == 0);
    rgi_check(pair.asking.read.count == 1 && pair.asking.byte == 'x');
    rgi_check(pair.stream.socket.busy == 0);
    rgi_check(operations_of(pair.play.runtime) == here);
    rgi_check(operations_of(pair.owner) == there + 1);
    pair.outcome = 0;
    pair_run(&pair, TRY);
    rgi_check(pair.asking.tried == 0 && pair.asking.answers == 2);
    rgi_check(operations_of(pair.play.runtime) == here);
    pair_close(&pair);
}

static void
opl_11_an_operation_goes_to_the_runtime_of_its_handle(void)
{
    for (size_t road = 0; road < ROADS; road++)
        goes_to(roads[road].workers, roads[road].at);
}

static void
opl_11_who_has_ended_is_not_found(void)
{
    struct pair pair;

    for (uint32_t at = 0; at < 2; at++) {
        pair_open(&pair, 1, at);
        owner_end(&pair);
        pair_run(&pair, READ);
        rgi_check(pair.asking.answers == 1);
        rgi_check(pair.asking.status == (at == 0 ? -EINVAL : -ESRCH));
        pair_run(&pair, TRY);
        rgi_check(pair.asking.answers == 2);
        pair_close(&pair);
    }
}

/* It names one, and a handle of the other: that is a mistake, and no road. */
static void
opl_11_a_plain_thread_names_its_runtime(void)
{
    struct pair pair;
    uint64_t there;

    for (size_t road = 0; road < ROADS; road++) {
        pair_open(&pair, roads[road].workers, roads[road].at);
        there = operations_of(pair.owner);
        prepare(&pair.asking);
        rgi_check(rgm_call(pair.play.runtime, &pair.asking.read) ==
                  (road < 2 ? -EINVAL : -ESRCH));
        rgi_check(operations_of(pair.owner) == there);
        pair_close(&pair);
    }
}

/* A number of an asker's is no number here: who names one of the owner's own does
 * not reach it. */
static void
opl_11_numbers_are_of_one_runtime(void)
{
    struct pair pair;
    struct rgm_identity identity = {.where = rgm_worker_address(1)};

    pair_open(&pair, 2, 1); /* leaves its worker, so it has a number */
    pair_run(&pair, READ);
    identity.number = submitted_read(&pair)->number;
    rgi_check(identity.number != 0);
    rgi_check(rgm_runtime_cancel(pair.owner, identity) == -ESRCH);
    rgi_check(pair.asking.answers == 0);
    pair_run(&pair, CANCEL);
    rgi_check(pair.asking.answers == 1 && pair.asking.status == -ECANCELED);
    pair_close(&pair);
}

/* Nobody waits for it any more, but the record is out until it is home. */
static void
opl_11_one_that_is_given_up_is_released_once(void)
{
    struct pair pair;

    for (size_t road = 0; road < ROADS; road++) {
        pair_open(&pair, roads[road].workers, roads[road].at);
        rgm_script_hold_cancels(pair.play.script, true);
        pair_run(&pair, READ);
        pair_run(&pair, LEAVE);
        pair_run(&pair, GO);
        rgi_check(pair.asking.stopped == 1 && pair.asking.released == 0);
        rgm_script_complete(pair.play.script, submitted_read(&pair), -EAGAIN);
        stepped_settle(&pair.play);
        rgi_check(pair.asking.released == 1 && pair.asking.answers == 0);
        pair_close(&pair);
    }
}

/* Also where it is a duration still when the record leaves. */
static void
opl_11_its_deadline_is_kept_at_home(void)
{
    struct pair pair;

    for (size_t road = 0; road < ROADS; road++) {
        pair_open(&pair, roads[road].workers, roads[road].at);
        pair_run(&pair, READ_LIMITED);
        rgi_check(pair.asking.answers == 0 && submitted_read(&pair) != NULL);
        rgi_check((submitted_read(&pair)->request.message.flags &
                   RGI_MESSAGE_DEADLINE) == 0);
        rgm_script_advance(pair.play.script, RGM_NS_PER_S);
        stepped_settle(&pair.play);
        rgi_check(pair.asking.answers == 1);
        rgi_check(pair.asking.status == -ETIMEDOUT);
        rgi_check(pair.stream.socket.busy == 0);
        pair_close(&pair);
    }
}

/* The owner's workers go on, and nobody else. */
static void
owner_rests(struct pair *pair)
{
    uint32_t at = rgm_address_worker(pair->stream.socket.worker);
    bool any = true;

    while (any) {
        any = false;
        for (uint32_t i = 0; i <= at; i++)
            any |= rgm_stepper_step(pair->play.stepper, pair->first + i);
    }
}

/* It is found, and about to be pushed to, when its runtime stops: it waits for that
 * before it closes. */
static void
opl_11_a_worker_does_not_close_under_a_push(void)
{
    struct pair pair;

    for (size_t road = 0; road < ROADS; road++) {
        uint32_t embassy = roads[road].workers - 1;

        pair_open(&pair, roads[road].workers, roads[road].at);
        pair_tell(&pair, READ);
        if (embassy != 0)
            stepped_rest(&pair.play, 0);
        rgi_check(stepped_to(&pair.play, embassy, "abroad"));
        rgm_runtime_stop(pair.owner);
        owner_rests(&pair);
        rgi_check(pair.asking.answers == 0);
        stepped_settle(&pair.play);
        rgi_check(pair.asking.answers == 1);
        rgi_check(pair.asking.status == -EPIPE);
        pair_close(&pair);
    }
}

/* ---------------------------------------------------------------- each order */

/* Everybody goes on, in an order of the list's. */
static void
settle_chosen(struct pair *pair, struct orders *orders)
{
    rgm_stepper_choose(pair->play.stepper, orders_choose, orders);
    (void)rgm_stepper_settle(pair->play.stepper);
    rgm_stepper_choose(pair->play.stepper, NULL, NULL);
}

/* One answer, whatever is first. Ends at once, or only when it is cancelled. */
static void
cancel_in_each_order(size_t road, int outcome)
{
    static struct orders orders;
    uint64_t cancelled = 0;

    orders_begin(&orders, interruptions(2, 3));
    do {
        struct pair pair;

        pair_open(&pair, roads[road].workers, roads[road].at);
        pair.outcome = outcome;
        pair_sets_out(&pair);
        pair_tell(&pair, CANCEL);
        settle_chosen(&pair, &orders);
        orders_check(pair.asking.answers == 1);
        orders_check(pair.asking.status == -ECANCELED ||
                     pair.asking.status == outcome);
        orders_check(pair.stream.socket.busy == 0);
        cancelled += pair.asking.status == -ECANCELED;
        pair_close(&pair);
    } while (orders_next(&orders));
    fprintf(stderr, "# %" PRIu64 " orders, %" PRIu64 " cancelled\n",
            orders.runs, cancelled);
    rgi_check(cancelled > 0);
    rgi_check(outcome == 1 || orders.runs == 1 || cancelled < orders.runs);
}

static void
opl_11_a_cancel_finds_it_in_each_order(void)
{
    for (size_t road = 0; road < ROADS; road++)
        cancel_in_each_order(road, 1);
}

static void
opl_11_a_cancel_meets_its_end_in_each_order(void)
{
    for (size_t road = 0; road < ROADS; road++)
        cancel_in_each_order(road, 0);
}

/* Where there are few workers more interruptions cost no more. */
static unsigned
of_a_stop(size_t road)
{
    return road == 0 ? interruptions(3, 4) : interruptions(1, 2);
}

/* The read's runtime stops while it is on its way, or there; cancelled or not. */
static void
owner_stops_in_each_order(size_t road, bool cancels)
{
    static struct orders orders;
    uint64_t ended = 0;

    orders_begin(&orders, of_a_stop(road));
    do {
        struct pair pair;

        pair_open(&pair, roads[road].workers, roads[road].at);
        if (cancels)
            pair_sets_out(&pair);
        pair_tell(&pair, cancels ? CANCEL : READ);
        rgm_runtime_stop(pair.owner);
        settle_chosen(&pair, &orders);
        orders_check(pair.asking.answers == 1);
        orders_check(pair.asking.status == -EPIPE ||
                     pair.asking.status == -EINVAL ||
                     pair.asking.status == -ESRCH ||
                     (cancels && pair.asking.status == -ECANCELED));
        ended += pair.asking.status == -EPIPE;
        owner_end(&pair);
        pair_close(&pair);
    } while (orders_next(&orders));
    fprintf(stderr, "# %" PRIu64 " orders, %" PRIu64 " ended by the stop\n",
            orders.runs, ended);
    rgi_check(orders.runs == 1 || ended > 0);
}

static void
opl_11_its_runtime_stops_in_each_order(void)
{
    for (size_t road = 0; road < ROADS; road++)
        owner_stops_in_each_order(road, false);
}

static void
opl_11_its_runtime_stops_under_a_cancel_in_each_order(void)
{
    for (size_t road = 0; road < ROADS; road++)
        owner_stops_in_each_order(road, true);
}

/* The asker goes, alone or with its runtime: its read ends first, and nothing has
 * happened to the other. */
static void
asker_goes_in_each_order(size_t road, bool alone, int outcome)
{
    static struct orders orders;

    orders_begin(&orders, of_a_stop(road));
    do {
        struct pair pair;

        pair_open(&pair, roads[road].workers, roads[road].at);
        pair.outcome = outcome;
        pair_sets_out(&pair);
        if (alone)
            pair_tell(&pair, GO);
        else
            rgm_runtime_stop(pair.play.runtime);
        settle_chosen(&pair, &orders);
        orders_check(pair.asking.answers == pair.asking.asked);
        orders_check(pair.asking.stopped == 1);
        orders_check(pair.stream.socket.busy == 0);
        orders_check(rgm_script_count(pair.play.script, RGM_OP_READ) == 0);
        pair_close(&pair);
    } while (orders_next(&orders));
    rgi_check(orders.runs == 1 || orders.runs > 10);
}

static void
opl_11_its_asker_stops_in_each_order(void)
{
    for (size_t road = 0; road < ROADS; road++)
        asker_goes_in_each_order(road, true, 1);
    asker_goes_in_each_order(1, true, 0);
}

static void
opl_11_the_askers_runtime_stops_in_each_order(void)
{
    for (size_t road = 0; road < ROADS; road++)
        asker_goes_in_each_order(road, false, 1);
    asker_goes_in_each_order(1, false, 0);
}

/* Both stop, and neither waits for what the other does not give. */
static void
both_stop_in_each_order(size_t road)
{
    static struct orders orders;

    orders_begin(&orders, of_a_stop(road));
    do {
        struct pair pair;

        pair_open(&pair, roads[road].workers, roads[road].at);
        pair_sets_out(&pair);
        rgm_runtime_stop(pair.owner);
        rgm_runtime_stop(pair.play.runtime);
        settle_chosen(&pair, &orders);
        orders_check(pair.asking.answers == pair.asking.asked);
        orders_check(pair.asking.stopped == 1);
        pair_close(&pair);
    } while (orders_next(&orders));
    rgi_check(orders.runs == 1 || orders.runs > 10);
}

static void
opl_11_both_runtimes_stop_in_each_order(void)
{
    for (size_t road = 0; road < ROADS; road++)
        both_stop_in_each_order(road);
}

/* -------------------------------------------------------- workers that come, go */

static void
resize(struct pair *pair, struct rgm_runtime *runtime, uint32_t workers)
{
    struct rgm_resize resize;

    rgm_resize_to(&resize, workers);
    rgi_check(rgm_call(runtime, &resize) == 0);
    stepped_settle(&pair->play);
}

/* The worker of that number here has gone, and was nobody to this anyway. */
static void
opl_11_a_number_that_has_gone_here_is_not_asked(void)
{
    struct pair pair;

    pair_open(&pair, 3, 2);
    resize(&pair, pair.play.runtime, 1);
    pair.outcome = 0;
    pair_run(&pair, READ);
    rgi_check(pair.asking.answers == 1 && pair.asking.status == 0);
    pair_close(&pair);
}

/* The stream's worker goes with a read on it; another one gets its number. */
static void
opl_11_a_worker_that_retires_ends_it(void)
{
    struct pair pair;

    pair_open(&pair, 1, 2);
    pair_run(&pair, READ);
    resize(&pair, pair.owner, 1);
    rgi_check(pair.asking.answers == 1 && pair.asking.status == -EPIPE);
    pair_run(&pair, READ);
    rgi_check(pair.asking.answers == 2 && pair.asking.status == -ESRCH);
    resize(&pair, pair.owner, 3);
    pair_run(&pair, READ);
    rgi_check(pair.asking.answers == 3 && pair.asking.status == -ESRCH);
    pair_close(&pair);
}

/* Its home is the worker it was asked from, which waits for it, and from there it
 * goes after its asker; whoever cancels it there. */
static void
roamer_in_each_order(bool ends)
{
    static struct orders orders;

    orders_begin(&orders, interruptions(1, 2));
    do {
        struct pair pair;
        struct rgm_address roamer;

        pair_open(&pair, 2, 2);
        rgi_check(rgm_runtime_spawn(pair.play.runtime, 1, &roamer_behaviour,
                                    &pair.script, &roamer) == 0);
        stepped_settle(&pair.play);
        stepped_tell(&pair.guest, roamer, READ);
        stepped_settle(&pair.play);
        pair_tell(&pair, SHRINK);
        stepped_tell(&pair.guest, roamer, CANCEL);
        if (ends)
            rgm_script_complete(pair.play.script, submitted_read(&pair), 0);
        settle_chosen(&pair, &orders);
        orders_check(pair.asking.answers == 1);
        orders_check(pair.asking.status == (ends ? 0 : -ECANCELED));
        orders_check(pair.asking.resized == 1);
        pair_close(&pair);
    } while (orders_next(&orders));
    rgi_check(orders.runs == 1 || orders.runs > 10);
}

static void
opl_11_it_follows_an_asker_that_moves_in_each_order(void)
{
    roamer_in_each_order(true);
    roamer_in_each_order(false);
}

/* ------------------------------------------------------------------- and fails */

/* The owner has ended so, and the asker's record went with it: its memory stays. */
static void
pair_lost(struct pair *pair, int ended)
{
    rgi_check(rgm_runtime_wait(pair->owner) == ended);
    rgi_check(rgm_runtime_destroy(pair->owner) == 0);
    stepped_close(&pair->guest);
    rgm_runtime_stop(pair->play.runtime);
    rgi_check(rgm_runtime_wait(pair->play.runtime) == 0);
    rgi_check(rgm_runtime_destroy(pair->play.runtime) == 0);
    rgm_stepper_destroy(pair->play.stepper);
    rgm_script_destroy(pair->play.script);
}

/* The asker is not told, and ends unheard. */
static void
pair_lose(struct pair *pair, int ended)
{
    pair_lost(pair, ended);
    rgi_check(pair->asking.answers == 0 && pair->asking.stopped == 0);
}

/* The stream's provider fails and keeps the read: its asker ends unheard, as if it
 * had asked its own. Leaves memory behind. */
static void
opl_11_one_that_is_lost_stops_its_asker(void)
{
    struct pair pair;

    pair_open(&pair, 1, 2);
    pair_run(&pair, READ);
    rgm_script_fail(pair.play.script, 2, -EIO);
    stepped_settle(&pair.play);
    rgi_check(pair.asking.answers == 0);
    pair_lose(&pair, -EIO);
}

/* The same with one that was given up: it is nobody's, so nobody is stopped, and it
 * is not released. Its asker may have moved meanwhile. Leaves memory behind. */
static void
given_up_and_lost(bool moves)
{
    struct pair pair;
    struct rgm_address asker;

    pair_open(&pair, 2, 2);
    asker = pair.asker;
    if (moves)
        rgi_check(rgm_runtime_spawn(pair.play.runtime, 1, &roamer_behaviour,
                                    &pair.script, &asker) == 0);
    rgm_script_hold_cancels(pair.play.script, true);
    stepped_tell(&pair.guest, asker, READ);
    stepped_settle(&pair.play);
    if (moves)
        pair_run(&pair, SHRINK);
    stepped_tell(&pair.guest, asker, LEAVE);
    stepped_settle(&pair.play);
    rgm_script_fail(pair.play.script, 2, -EIO);
    stepped_settle(&pair.play);
    rgi_check(pair.asking.stopped == 0);
    stepped_tell(&pair.guest, asker, GO);
    stepped_settle(&pair.play);
    rgi_check(pair.asking.stopped == 1);
    rgi_check(pair.asking.released == 0 && pair.asking.answers == 0);
    pair_lost(&pair, -EIO);
}

static void
opl_11_one_that_is_given_up_and_lost_stops_nobody(void)
{
    given_up_and_lost(false);
    given_up_and_lost(true);
}

/* The provider fails while the read is on its way, or there, and its asker cancels
 * it, gives it up, or goes: told once, or lost, and everybody ends. Leaves memory
 * behind. */
static void
fails_in_each_order(enum errand errand, bool arrived)
{
    static struct orders orders;
    uint64_t lost = 0;

    orders_begin(&orders, of_a_stop(2));
    do {
        struct pair pair;
        bool told;

        pair_open(&pair, 1, 2);
        rgm_script_hold_cancels(pair.play.script, true);
        if (arrived)
            pair_run(&pair, READ);
        else
            pair_sets_out(&pair);
        pair_tell(&pair, errand);
        rgm_script_fail(pair.play.script, 2, -EIO);
        settle_chosen(&pair, &orders);
        told = pair.asking.answers + pair.asking.released == 1;
        pair_lost(&pair, -EIO);
        orders_check(pair.asking.answers + pair.asking.released == told);
        orders_check(!told || pair.asking.stopped == 1);
        lost += !told;
    } while (orders_next(&orders));
    fprintf(stderr, "# %" PRIu64 " orders, %" PRIu64 " lost\n", orders.runs,
            lost);
    rgi_check(arrived == (lost > 0));
}

static void
opl_11_its_provider_fails_in_each_order(void)
{
    for (unsigned arrived = 0; arrived < 2; arrived++) {
        fails_in_each_order(CANCEL, arrived != 0);
        fails_in_each_order(LEAVE, arrived != 0);
        fails_in_each_order(GO, arrived != 0);
    }
}

static void
time_passes(struct pair *pair)
{
    stepped_settle(&pair->play);
    rgm_script_advance(pair->play.script, RGM_NS_PER_S);
    stepped_settle(&pair->play);
}

/* What a timeout waited for is lost, so its time need not come. Leaves memory
 * behind. */
static void
opl_11_one_with_a_timeout_is_lost_with_it(void)
{
    struct pair pair;

    pair_open(&pair, 1, 2);
    rgm_script_hold_cancels(pair.play.script, true);
    pair_run(&pair, READ_TIMED);
    rgi_check(submitted_read(&pair) != NULL);
    rgm_script_fail(pair.play.script, 2, -EIO);
    time_passes(&pair);
    pair_lose(&pair, -EIO);
}

/* The same when the owner is forced to end, and its provider keeps the read: it is
 * no plain thread that waits. Leaves memory behind. */
static void
opl_11_an_owner_that_is_forced_gives_it_up(void)
{
    struct pair pair;

    pair_open(&pair, 1, 2);
    rgm_script_hold_cancels(pair.play.script, true);
    pair_run(&pair, READ);
    rgm_runtime_force(pair.owner, RGM_NS_PER_MS);
    time_passes(&pair);
    rgi_check(pair.asking.answers == 0);
    pair_lose(&pair, 0);
}

/* The asker's waits for the other, whose end gives it back. Leaves memory behind. */
static void
opl_11_both_are_forced_and_end(void)
{
    struct pair pair;

    pair_open(&pair, 1, 2);
    rgm_script_hold_cancels(pair.play.script, true);
    pair_run(&pair, READ);
    rgm_runtime_force(pair.play.runtime, RGM_NS_PER_MS);
    time_passes(&pair);
    rgm_runtime_force(pair.owner, RGM_NS_PER_MS);
    time_passes(&pair);
    pair_lose(&pair, 0);
}

/* Its memory may be written to by the other: whoever asked waits for that, also
 * forced. */
static void
opl_11_an_asker_that_is_forced_waits_for_it(void)
{
    struct pair pair;

    pair_open(&pair, 1, 2);
    rgm_script_hold_cancels(pair.play.script, true);
    pair_run(&pair, READ);
    rgm_runtime_force(pair.play.runtime, RGM_NS_PER_MS);
    time_passes(&pair);
    rgi_check(pair.asking.answers == 0 && pair.asking.stopped == 0);
    rgi_check(rgm_script_is_cancelled(pair.play.script, submitted_read(&pair)));
    rgm_script_complete(pair.play.script, submitted_read(&pair), -EAGAIN);
    stepped_settle(&pair.play);
    rgi_check(pair.asking.answers == 1 && pair.asking.status == -ECANCELED);
    rgi_check(pair.asking.stopped == 1);
    pair_close(&pair);
}

/* The last ones leave memory behind: it may still be written to. */
#define CASES(X)                                                               \
    X(abroad, opl_11_an_operation_goes_to_the_runtime_of_its_handle)           \
    X(abroad, opl_11_who_has_ended_is_not_found)                               \
    X(abroad, opl_11_a_plain_thread_names_its_runtime)                         \
    X(abroad, opl_11_numbers_are_of_one_runtime)                               \
    X(abroad, opl_11_one_that_is_given_up_is_released_once)                    \
    X(abroad, opl_11_its_deadline_is_kept_at_home)                             \
    X(abroad, opl_11_a_worker_does_not_close_under_a_push)                     \
    X(abroad, opl_11_a_cancel_finds_it_in_each_order)                          \
    X(abroad, opl_11_a_cancel_meets_its_end_in_each_order)                     \
    X(abroad, opl_11_its_runtime_stops_in_each_order)                          \
    X(abroad, opl_11_its_runtime_stops_under_a_cancel_in_each_order)           \
    X(abroad, opl_11_its_asker_stops_in_each_order)                            \
    X(abroad, opl_11_the_askers_runtime_stops_in_each_order)                   \
    X(abroad, opl_11_both_runtimes_stop_in_each_order)                         \
    X(abroad, opl_11_a_number_that_has_gone_here_is_not_asked)                 \
    X(abroad, opl_11_a_worker_that_retires_ends_it)                            \
    X(abroad, opl_11_it_follows_an_asker_that_moves_in_each_order)             \
    X(abroad, opl_11_an_asker_that_is_forced_waits_for_it)                     \
    X(abroad, opl_11_an_owner_that_is_forced_gives_it_up)                      \
    X(abroad, opl_11_both_are_forced_and_end)                                  \
    X(abroad, opl_11_one_that_is_lost_stops_its_asker)                         \
    X(abroad, opl_11_one_that_is_given_up_and_lost_stops_nobody)               \
    X(abroad, opl_11_its_provider_fails_in_each_order)                         \
    X(abroad, opl_11_one_with_a_timeout_is_lost_with_it)

RGI_CASES(CASES)
