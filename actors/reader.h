/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_READER_H
#define RGI_ACTORS_READER_H

/* reader.h - what does a worker do for the readers of its streams? */

#include "actors/worker.h"

/* A request to a reader. Returns: 0: it is out; or a negative errno. */
RGM_MUST_USE int rgi_reader_start(struct rgm_worker *worker,
                                  struct rgm_operation *operation);

/* One that is out is to end: what stands in line does. */
void rgi_reader_cancel(struct rgm_worker *worker,
                       struct rgm_operation *operation);

/* The provider has ended, and no read of a reader comes home any more. */
void rgi_readers_lose(struct rgm_worker *worker);

/* Gives up those that nobody has dropped. Thread: who frees the worker. */
void rgi_readers_forget(struct rgm_worker *worker);

#endif /* RGI_ACTORS_READER_H */
