/* SPDX-License-Identifier: MIT */

/*
 * supervised.c - who starts a worker again when it fails, and for how long?
 *
 * A worker divides. A division by zero is its fault: it reports one and ends,
 * and its supervisor starts it again. The third time in five seconds is one too
 * often: the supervisor gives up, and the fault itself arrives at the program.
 */

#include <ringmail/ringmail.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct divide { struct rgm_request request; int dividend, divisor, quotient; };
RGM_REQUEST(divide);
struct fault { struct rgm_parcel parcel; int dividend; };
struct worker { struct rgm_actor actor; };
RGM_HANDLER(worker, divide, worker_divide);

static void
fault_free(struct rgm_parcel *parcel)
{
    free(parcel);
}

static void
worker_divide(struct worker *self, struct divide *divide)
{
    struct fault *fault;

    if (divide->divisor != 0) {
        divide->quotient = divide->dividend / divide->divisor;
        rgm_reply(self, divide, 0);
        return;
    }
    if ((fault = malloc(sizeof(*fault))) == NULL)
        abort();
    rgm_parcel_init(&fault->parcel, fault_free);
    fault->dividend = divide->dividend;
    rgm_fail(self, &fault->parcel); /* unanswered: it comes home -EPROTO */
}

static const struct rgm_handler worker_handlers[] = {
    RGM_ON(worker, divide, worker_divide)};
static const struct rgm_behaviour worker_behaviour = {
    "worker", sizeof(struct worker), RGM_HANDLERS(worker_handlers)};
static const struct rgm_child children[] = {
    {"divider", &worker_behaviour, NULL, RGM_ANY_WORKER, RGM_RESTART_ALWAYS}};
static const struct rgm_supervisor_options options = {
    RGM_ONE_FOR_ONE, RGM_CHILDREN(children), .restarts_max = 2};

/* A worker that is gone was not asked: ask the next one. */
static void
ask(struct rgm_runtime *runtime, struct rgm_task *supervisor, int divisor)
{
    struct rgm_child_where where;
    struct divide divide;
    int status;

    do {
        rgm_child_where_prepare(&where, rgm_task_who(supervisor));
        where.child = 0;
        status = rgm_call(runtime, &where);
        divide_prepare(&divide, where.address);
        divide.dividend = 42;
        divide.divisor = divisor;
        if (status == 0)
            status = rgm_call(runtime, &divide);
    } while (status == -ESRCH && rgm_task_end(supervisor) == NULL);
    printf("42 / %d: %s\n", divisor, status == 0 ? "answered" : "failed");
}

int
main(void)
{
    struct rgm_runtime *runtime;
    struct rgm_task *supervisor;
    struct rgm_end end;

    if (rgm_runtime_create(NULL, &runtime) != 0 ||
        rgm_runtime_start(runtime) != 0 ||
        rgm_runtime_task(runtime, 0, &rgm_supervisor, &options,
                         &supervisor) != 0)
        return 1;
    for (int i = 0; i < 5; i++)
        ask(runtime, supervisor, i % 2 == 0 && i < 4 ? 6 : 0);
    if (rgm_task_join(supervisor, &end) != 0)
        return 1;
    printf("gave up: %s, dividing %d\n", rgm_end_text(end.kind),
           ((struct fault *)(void *)end.parcel)->dividend);
    rgm_parcel_drop(end.parcel);
    rgm_runtime_stop(runtime);
    return rgm_runtime_wait(runtime) != 0 || rgm_runtime_destroy(runtime) != 0;
}
