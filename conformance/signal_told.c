/* SPDX-License-Identifier: MIT */

/* signal_told.c - what does a case about signals stand on? */

#include "conformance/signal_told.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a process of its own ---- */

void
apart_dispositions(struct sigaction *ret_actions)
{
    memset(ret_actions, 0, (SIGNAL_NUMBERS + 1) * sizeof(*ret_actions));
    for (int i = 1; i <= SIGNAL_NUMBERS; i++)
        (void)sigaction(i, NULL, &ret_actions[i]);
}

bool
apart_same_dispositions(const struct sigaction *these)
{
    struct sigaction now[SIGNAL_NUMBERS + 1];

    apart_dispositions(now);
    for (int i = 1; i <= SIGNAL_NUMBERS; i++)
        if (these[i].sa_handler != now[i].sa_handler)
            return false;
    return true;
}

void
apart_run(struct stage *stage, stage_case_function *run)
{
    struct sigaction before[SIGNAL_NUMBERS + 1];
    int status = 0;
    pid_t child;

#if defined(__SANITIZE_THREAD__)
    /* It follows no child of a program that has threads: the runner's is one. */
    fprintf(stderr, "# not under ThreadSanitizer\n");
    if (stage != NULL)
        return;
#endif
    apart_dispositions(before);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGABRT, SIG_DFL);
        run(stage);
        _exit(0);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    rgi_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rgi_check(apart_same_dispositions(before));
}

/* ---- what is told ---- */

void
told_init(struct told *told)
{
    memset(told, 0, sizeof(*told));
    rgi_check(pthread_mutex_init(&told->lock, NULL) == 0);
    rgi_check(pthread_cond_init(&told->changed, NULL) == 0);
}

void
told_call(void *argument, int32_t number, uint32_t count)
{
    struct told *told = argument;

    rgi_check(count > 0);
    pthread_mutex_lock(&told->lock);
    told->calls++;
    told->signals += count;
    told->number = number;
    told->thread = pthread_self();
    told->inside = true;
    pthread_cond_broadcast(&told->changed);
    while (told->gated)
        pthread_cond_wait(&told->changed, &told->lock);
    rgi_check(told->destroyed == 0);
    told->inside = false;
    pthread_cond_broadcast(&told->changed);
    pthread_mutex_unlock(&told->lock);
    if (told->faults[0] != NULL)
        rgm_signal_fault(told->faults[0]);
}

void
told_destroyed(void *argument)
{
    struct told *told = argument;

    if (told->faults[1] != NULL)
        rgm_signal_fault(told->faults[1]);
    pthread_mutex_lock(&told->lock);
    rgi_check(!told->inside);
    told->destroyed++;
    pthread_cond_broadcast(&told->changed);
    pthread_mutex_unlock(&told->lock);
}

void
told_subscribe(struct stage *stage, struct told *told, int number)
{
    told_init(told);
    told->runtime = stage->runtime;
    rgi_check(rgm_signal_call(stage->runtime, number, told_call, told,
                              told_destroyed, &told->guard) == 0);
}

void
told_gate_shut(struct told *told)
{
    pthread_mutex_lock(&told->lock);
    told->gated = true;
    pthread_mutex_unlock(&told->lock);
}

void
told_gate_open(struct told *told)
{
    pthread_mutex_lock(&told->lock);
    told->gated = false;
    pthread_cond_broadcast(&told->changed);
    pthread_mutex_unlock(&told->lock);
}

/* All that came before has been told when this has. */
void
told_settle(struct stage *stage)
{
    struct told last;

    told_subscribe(stage, &last, SIGURG);
    rgi_check(raise(SIGURG) == 0);
    TOLD_AWAIT(&last, last.calls > 0);
    rgm_signal_drop(&last.guard);
    TOLD_AWAIT(&last, last.destroyed == 1);
}
