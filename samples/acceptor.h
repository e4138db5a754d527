/* SPDX-License-Identifier: MIT */
#ifndef SAMPLES_ACCEPTOR_H
#define SAMPLES_ACCEPTOR_H

/*
 * acceptor.h - one listener per worker on one port, one actor per connection.
 *
 * Run acceptor_behaviour as the root actor with a struct acceptor_options. It
 * says where it listens, brings its like up on the other workers, spawns
 * `connection` with each accepted stream (struct rgm_stream) as its argument,
 * and closes its listener when the runtime stops. One that cannot listen says so,
 * and ends with a status that tells why.
 */

#include <ringmail/ringmail.h>

struct acceptor_options {
    struct rgm_endpoint endpoint;
    const struct rgm_behaviour *connection;
    bool first; /* on worker 0: chooses the port and starts the others */
};

extern const struct rgm_behaviour acceptor_behaviour;

#endif /* SAMPLES_ACCEPTOR_H */
