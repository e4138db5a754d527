/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_JOB_H
#define CAPABILITIES_JOB_H

/*
 * job.h - what of a job is the runtime's?
 *
 *     wait --admit--> queued --begin--> running --> done
 *       '---------cancel--'
 *
 * All of `phase` is under the lock of the pool.
 */

#include <ringmail/job.h>

enum rgi_job_phase {
    RGI_JOB_WAITING, /* for admission */
    RGI_JOB_QUEUED,
    RGI_JOB_RUNNING,
    RGI_JOB_DONE /* its node is on its way to the worker */
};

/* Each kind of job has threads and places of its own. */
enum rgi_job_kind {
    RGI_JOB_ORDINARY,
    RGI_JOB_CLEANUP,
    RGI_JOB_LOOKUP, /* of a name */
    RGI_JOB_KINDS_COUNT
};

/* Lies in job->place, which is declared as words: may_alias. */
struct __attribute__((may_alias)) rgi_job_place {
    struct rgm_message node; /* brings the job back to its worker */
    void *worker;
    int32_t status; /* of the admission */
    uint8_t phase;  /* enum rgi_job_phase */
    uint8_t kind;   /* enum rgi_job_kind */
    uint32_t cancelled; /* atomic: job-cancelled */
};

_Static_assert(sizeof(struct rgi_job_place) <=
                   sizeof(((struct rgm_job *)0)->place),
               "a job has room for its place");

static inline struct rgi_job_place *
rgi_job_place(const struct rgm_job *job)
{
    return (struct rgi_job_place *)(uintptr_t)(const void *)job->place;
}

#endif /* CAPABILITIES_JOB_H */
