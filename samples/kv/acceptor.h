/* SPDX-License-Identifier: MIT */
#ifndef KV_ACCEPTOR_H
#define KV_ACCEPTOR_H

/*
 * acceptor.h - the actor that takes in a worker's connections.
 *
 * One per worker, on the worker that holds its listener. Worker 0 has those of
 * workers that have gone, too: spare ones, which only accept.
 */

#include "samples/kv/cluster.h"

/* What it is made from. */
struct listening {
    struct kv_worker *worker;
    const struct rgm_listener *listener; /* becomes the acceptor's, by value */
    bool spare;
};

extern const struct rgm_behaviour acceptor_behaviour;

#endif /* KV_ACCEPTOR_H */
