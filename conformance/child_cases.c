/* SPDX-License-Identifier: MIT */

/* child_cases.c - what must every provider show of child processes? */

#include "conformance/child_cases.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/shim.h"

STEP(child_step, rgm_child_wait);

#define HERE rgm_worker_address(0)

/* A child that ends with `code`, or (negative) waits for a signal. In a group of
 * its own if that is wanted. */
static pid_t
child_start(int code, bool own_group)
{
    pid_t child = fork();

    rgi_check(child >= 0);
    if (child == 0) {
        /* A case that fails leaves none behind. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (own_group)
            (void)setpgid(0, 0);
        while (code < 0)
            pause();
        _exit(code);
    }
    if (own_group)
        (void)setpgid(child, child);
    return child;
}

static void
child_end(pid_t child)
{
    rgi_check(kill(child, SIGKILL) == 0);
    rgi_check(waitpid(child, NULL, 0) == child);
}

static int
wait_for(struct stage *stage, struct rgm_child_wait *wait,
         enum rgm_child_select select, int32_t id, uint32_t flags)
{
    rgm_child_wait(wait, HERE, select, id, flags);
    return rgm_call(stage->runtime, wait);
}

static bool
tells(const struct rgm_child_wait *wait, pid_t child,
      enum rgm_child_event event, int status)
{
    return wait->process == child && wait->event == event &&
           wait->status == status;
}

void
prw_01_selection_is_as_the_system_has_it(struct stage *stage)
{
    struct rgm_child_wait wait;
    pid_t first;
    pid_t second;

    stage_open(stage);
    first = child_start(3, true);
    second = child_start(4, false);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, second, 0) == 0);
    rgi_check(tells(&wait, second, RGM_CHILD_HAS_EXITED, 4));
    rgi_check(wait_for(stage, &wait, RGM_CHILD_GROUP, first, 0) == 0);
    rgi_check(tells(&wait, first, RGM_CHILD_HAS_EXITED, 3));
    rgi_check(wait_for(stage, &wait, RGM_CHILD_ANY, 0, 0) == -ECHILD);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, first, 0) == -ECHILD);
    first = child_start(5, false);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_ANY, 0, 0) == 0);
    rgi_check(tells(&wait, first, RGM_CHILD_HAS_EXITED, 5));
    rgi_check(wait.user == getuid());
    stage_close(stage);
}

void
prw_02_exit_kill_stop_and_continue_are_told(struct stage *stage)
{
    const uint32_t all = RGM_CHILD_STOPPED | RGM_CHILD_CONTINUED;
    struct rgm_child_wait wait;
    pid_t child;

    stage_open(stage);
    child = child_start(7, false);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, child, 0) == 0);
    rgi_check(tells(&wait, child, RGM_CHILD_HAS_EXITED, 7));
    child = child_start(-1, false);
    rgi_check(kill(child, SIGSTOP) == 0);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, child, all) == 0);
    rgi_check(tells(&wait, child, RGM_CHILD_HAS_STOPPED, SIGSTOP));
    rgi_check(kill(child, SIGCONT) == 0);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, child, all) == 0);
    rgi_check(tells(&wait, child, RGM_CHILD_HAS_CONTINUED, SIGCONT));
    rgi_check(kill(child, SIGKILL) == 0);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, child, all) == 0);
    rgi_check(tells(&wait, child, RGM_CHILD_WAS_KILLED, SIGKILL));
    stage_close(stage);
}

void
prw_05_cancelled_wait_has_reaped_nothing(struct stage *stage)
{
    struct child_step wait = {0};
    int status = 0;
    pid_t child;

    stage_open(stage);
    child = child_start(-1, false);
    rgm_child_wait(&wait.op, HERE, RGM_CHILD_PROCESS, child, 0);
    stage_begin(stage, &wait);
    (void)stage_counters(stage);
    stage_cancel(stage, &wait);
    rgi_check(stage_end(stage, &wait) == -ECANCELED);
    rgi_check(kill(child, SIGTERM) == 0);
    rgi_check(waitpid(child, &status, 0) == child);
    rgi_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    stage_close(stage);
}

void
prw_06_no_path_ends_the_child(struct stage *stage)
{
    struct child_step wait = {0};
    pid_t child;

    stage_open(stage);
    child = child_start(-1, false);
    rgm_child_wait(&wait.op, HERE, RGM_CHILD_PROCESS, child, 0);
    stage_begin(stage, &wait);
    (void)stage_counters(stage);
    stage_cancel(stage, &wait);
    rgi_check(stage_end(stage, &wait) == -ECANCELED);
    rgi_check(kill(child, 0) == 0 && waitpid(child, NULL, WNOHANG) == 0);
    child_end(child);
    stage_close(stage);
}

void
prw_07_one_of_two_waits_gets_the_child(struct stage *stage)
{
    struct child_step waits[2] = {0};
    int answers[2];
    pid_t child;

    stage_open(stage);
    child = child_start(-1, false);
    for (int i = 0; i < 2; i++) {
        rgm_child_wait(&waits[i].op, HERE, RGM_CHILD_PROCESS, child, 0);
        stage_begin(stage, &waits[i]);
    }
    (void)stage_counters(stage);
    rgi_check(kill(child, SIGKILL) == 0);
    for (int i = 0; i < 2; i++)
        answers[i] = stage_end(stage, &waits[i]);
    rgi_check((answers[0] == 0 && answers[1] == -ECHILD) ||
              (answers[1] == 0 && answers[0] == -ECHILD));
    rgi_check(waitpid(child, NULL, WNOHANG) < 0 && errno == ECHILD);
    stage_close(stage);
}

void
prw_08_end_leaves_the_child_to_the_program(struct stage *stage)
{
    struct child_step wait = {0};
    int status = 0;
    pid_t child;

    stage_open(stage);
    child = child_start(-1, false);
    rgm_child_wait(&wait.op, HERE, RGM_CHILD_PROCESS, child, 0);
    stage_begin(stage, &wait);
    (void)stage_counters(stage);
    stage_close(stage);
    rgi_check(stage_end(stage, &wait) == -ECANCELED);
    rgi_check(kill(child, SIGKILL) == 0);
    rgi_check(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

/* Without a limit that would hang: the child never ends by itself. */
void
prw_09_end_waits_for_no_child(struct stage *stage)
{
    static struct child_step waits[20];
    pid_t child;

    stage_open(stage);
    child = child_start(-1, false);
    for (int i = 0; i < 20; i++) {
        step_clear(&waits[i]);
        rgm_child_wait(&waits[i].op, HERE,
                       i % 2 == 0 ? RGM_CHILD_PROCESS : RGM_CHILD_ANY, child,
                       0);
        stage_begin(stage, &waits[i]);
    }
    stage_close(stage);
    for (int i = 0; i < 20; i++)
        rgi_check(stage_end(stage, &waits[i]) == -ECANCELED);
    child_end(child);
}

/* ---- several owners, and the program itself, wait for children at once ---- */

#define OWNERS 4
#define CHILDREN_MAX 100

static uint32_t
children_each(void)
{
    return rgi_scale_is_full() ? CHILDREN_MAX : CHILDREN_MAX / 5;
}

/* Children that are none of the runtime's business. */
static void *
wait_for_ones_own(void *argument)
{
    uint32_t count = children_each();

    (void)argument;
    for (uint32_t i = 0; i < count; i++) {
        pid_t child = child_start((int)(i % 100) + 100, false);
        int status = 0;

        rgi_check(waitpid(child, &status, 0) == child);
        rgi_check(WIFEXITED(status) &&
                  WEXITSTATUS(status) == (int)(i % 100) + 100);
    }
    return NULL;
}

void
field_b82_each_end_reaches_its_owner_once(struct stage *stage)
{
    static struct child_step waits[OWNERS][CHILDREN_MAX];
    static pid_t children[OWNERS][CHILDREN_MAX];
    uint32_t count = children_each();
    pthread_t thread;

    stage->options.workers = OWNERS;
    stage_open(stage);
    rgi_check(pthread_create(&thread, NULL, wait_for_ones_own, NULL) == 0);
    for (uint32_t i = 0; i < count * OWNERS; i++) {
        uint32_t owner = i % OWNERS, number = i / OWNERS;
        struct child_step *wait = &waits[owner][number];

        children[owner][number] = child_start((int)number, false);
        step_clear(wait);
        rgm_child_wait(&wait->op, rgm_worker_address(owner), RGM_CHILD_PROCESS,
                       children[owner][number], 0);
        stage_begin_on(stage, owner, wait);
    }
    for (uint32_t i = 0; i < count * OWNERS; i++) {
        uint32_t owner = i % OWNERS, number = i / OWNERS;

        rgi_check(stage_end(stage, &waits[owner][number]) == 0);
        rgi_check(stage_answers(stage, &waits[owner][number]) == 1);
        rgi_check(tells(&waits[owner][number].op, children[owner][number],
                        RGM_CHILD_HAS_EXITED, (int)number));
    }
    rgi_check(pthread_join(thread, NULL) == 0);
    rgi_check(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* no zombie */
    stage_close(stage);
}

void
child_waits_are_checked_and_leave_nothing(struct stage *stage)
{
    struct rgm_child_wait wait;
    unsigned descriptors;

    stage_open(stage);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, 0, 0) == -EINVAL);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, -1, 0) == -EINVAL);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_GROUP, -1, 0) == -EINVAL);
    rgi_check(wait_for(stage, &wait, RGM_CHILD_ANY, 0, 4) == -EINVAL);
    rgi_check(wait_for(stage, &wait, (enum rgm_child_select)3, 1, 0) ==
              -EINVAL);
    descriptors = descriptors_open();
    for (int i = 0; i < 50; i++) {
        pid_t child = child_start(i, false);

        rgi_check(wait_for(stage, &wait, RGM_CHILD_PROCESS, child, 0) == 0);
        rgi_check(tells(&wait, child, RGM_CHILD_HAS_EXITED, i));
    }
    rgi_check(descriptors_open() == descriptors);
    stage_close(stage);
}
