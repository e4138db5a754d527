/* SPDX-License-Identifier: MIT */
#ifndef KV_CONNECTION_H
#define KV_CONNECTION_H

/*
 * connection.h - the actor that is one client.
 *
 * Spawned on the worker that holds its stream.
 */

#include "samples/kv/cluster.h"

/* What it is made from: a stream, or a connection of another worker. */
struct connected {
    struct kv_worker *worker;
    const struct rgm_stream *stream; /* becomes the connection's, by value */
    struct handover *handover;       /* likewise, all that is in it */
};

extern const struct rgm_behaviour connection_behaviour;

#endif /* KV_CONNECTION_H */
