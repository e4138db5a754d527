/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_WRITER_H
#define RGI_ACTORS_WRITER_H

/* writer.h - what does a worker do for the writers of its streams? */

#include "actors/worker.h"

/* A submit, a flush or a close of a writer. Returns: 0: it is out; positive: it
 * was done at once; or a negative errno. */
RGM_MUST_USE int rgi_writer_start(struct rgm_worker *worker,
                                  struct rgm_operation *operation);

/* One that is out is to end: what stands in line does. */
void rgi_writer_cancel(struct rgm_worker *worker,
                       struct rgm_operation *operation);

/* The provider has ended, and no write of a writer comes home any more. */
void rgi_writers_lose(struct rgm_worker *worker);

#endif /* RGI_ACTORS_WRITER_H */
