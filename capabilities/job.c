/* SPDX-License-Identifier: MIT */

/*
 * job.c - how is a job prepared, and what does it say of itself?
 *
 * Threads and places are the runtime's own business, as a sleep is the
 * worker's: no provider sees a job.
 */

#include <ringmail/job.h>

#include <errno.h>

#include "capabilities/job.h"
#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_job = {
    .name = "rgm_job",
    .size_bytes = sizeof(struct rgm_job),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

void
rgm_job_run(struct rgm_job *job, struct rgm_address where,
            rgm_job_function *run)
{
    rgi_operation_prepare(&job->operation, RGM_OP_JOB, &rgi_type_job, where);
    job->run = run;
    if (run == NULL)
        rgi_operation_refuse(&job->operation, -EINVAL);
}

bool
rgm_job_is_cancelled(const struct rgm_job *job)
{
    /* job-cancelled: observes a wish, and nothing that was written with it. */
    return __atomic_load_n(&rgi_job_place(job)->cancelled, __ATOMIC_RELAXED) !=
           0;
}

void
rgm_job_fault(struct rgm_job *job, void *fault, void (*destroy)(void *fault))
{
    rgm_job_fault_drop(job);
    job->fault = fault;
    job->fault_destroy = destroy;
}

void
rgm_job_fault_drop(struct rgm_job *job)
{
    void *fault = job->fault;

    job->fault = NULL;
    if (fault != NULL && job->fault_destroy != NULL)
        job->fault_destroy(fault);
}
