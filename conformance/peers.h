/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_PEERS_H
#define CONFORMANCE_PEERS_H

/*
 * peers.h - what is the other end of a stream, to a provider whose streams are
 * no sockets?
 *
 * The calls a peer is made of. They are used by the test's own threads and may
 * block, but not for longer than stage_guard_s(). A peer is a number, not
 * negative, which means something to these calls alone.
 *
 * Returns, of all of them: 0 or more, or a negative errno.
 */

#include <sys/types.h>

#include <ringmail/stream.h>

struct peer_ops {
    int (*connect)(const struct rgm_endpoint *endpoint);
    /* *endpoint becomes what it is bound to. */
    int (*listen)(struct rgm_endpoint *endpoint, int backlog);
    int (*accept)(int listener);
    ssize_t (*send)(int peer, const void *data, size_t length_bytes);
    /* 0: the end. -EAGAIN: nothing is there and it shall not wait. */
    ssize_t (*receive)(int peer, void *memory, size_t capacity_bytes,
                       bool waits);
    int (*shutdown)(int peer); /* sends no more */
    int (*close)(int peer);    /* of listeners, too */
    int (*reset)(int peer);    /* closes; our end sees -ECONNRESET */
};

/* From now on; NULL: plain sockets. Thread: any, while there is no peer. */
void peers_use(const struct peer_ops *ops);

#endif /* CONFORMANCE_PEERS_H */
