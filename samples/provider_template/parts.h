/* SPDX-License-Identifier: MIT */
#ifndef PROVIDER_TEMPLATE_PARTS_H
#define PROVIDER_TEMPLATE_PARTS_H

/*
 * parts.h - what do the provider, its streams and its files share?
 *
 * The world is everything that exists, under one lock. A provider tries each
 * operation when it is submitted; one that has to wait is tried again whenever
 * the world has changed, which every provider is told. Plain, and not fast.
 */

#include <pthread.h>

#include <ringmail/file.h>

#include "samples/provider_template/memory.h"

#define MEMORY_WAITS 1 /* of an attempt: not yet */
#define MEMORY_PIPE_BYTES ((size_t)65536)
#define MEMORY_PEERS_MAX 64

/* One direction of a connection. */
struct memory_pipe {
    unsigned char bytes[MEMORY_PIPE_BYTES];
    size_t first;
    size_t count;
    bool ended; /* by a shutdown or a close of its writer */
};

/* Side 0 has connected, side 1 was accepted. It is freed when both are shut. */
struct memory_connection {
    struct memory_pipe pipes[2]; /* [side]: what that side has written */
    struct rgm_endpoint names[2];
    bool shut[2];
    bool reset;   /* by one of them */
    bool told[2]; /* that it was reset: once, then it is over */
    struct memory_connection *next; /* in the line of a listener */
};

struct memory_listener {
    uint16_t port;
    struct memory_connection *first; /* not accepted yet */
    struct memory_connection *last;
    struct memory_listener *next;
};

struct memory_file {
    char path[128];
    unsigned char *bytes;
    size_t size_bytes;
    uint64_t inode;
    uint32_t mode;
    uint32_t opened; /* how often */
    bool unlinked;
    struct memory_file *next;
};

enum memory_what { MEMORY_STREAM, MEMORY_LISTENER, MEMORY_FILE };

/* What a handle's `resource` points to. */
struct memory_handle {
    enum memory_what what;
    const struct rgm_provider *owner; /* NULL: a peer's */
    struct memory_connection *connection;
    int side;
    struct memory_listener *listener;
    struct memory_file *file;
    uint32_t flags;  /* of a file */
    uint64_t cursor; /* likewise */
    struct memory_handle *next;
};

struct memory_waker {
    int news; /* an eventfd */
    struct memory_waker *next;
};

struct memory_world {
    pthread_mutex_t lock;
    /* Under the lock, all of it. */
    pthread_cond_t changed;      /* for peers */
    struct memory_waker *wakers; /* for providers */
    struct memory_handle *handles;
    struct memory_listener *listeners;
    struct memory_file *files;
    uint16_t last_port;
    uint64_t last_inode;
    struct memory_handle *peers[MEMORY_PEERS_MAX];
};

/* The world is another now. Under the lock. */
void memory_changed(struct memory_world *world);

/* Returns: NULL without memory. Under the lock. */
struct memory_handle *
memory_handle_new(struct memory_world *world, enum memory_what what);
/* Closes what it stands for and frees it. Under the lock. */
void memory_handle_free(struct memory_world *world,
                        struct memory_handle *handle, bool reset);

/* Returns: a status, or MEMORY_WAITS. Under the lock, on the owner's thread. */
int memory_attempt_stream(struct memory_world *world,
                          struct rgm_operation *operation);
int memory_attempt_file(struct memory_world *world,
                        struct rgm_operation *operation);

void memory_stream_close(struct memory_world *world,
                         struct memory_handle *handle, bool reset);
void memory_listener_close(struct memory_world *world,
                           struct memory_listener *listener);
void memory_file_close(struct memory_world *world, struct memory_file *file);

/* The handle that an operation uses. */
static inline struct memory_handle *
memory_handle_at(const struct rgm_socket *socket)
{
    return (struct memory_handle *)(uintptr_t)socket->resource;
}

#endif /* PROVIDER_TEMPLATE_PARTS_H */
