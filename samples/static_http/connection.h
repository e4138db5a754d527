/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_CONNECTION_H
#define STATIC_HTTP_CONNECTION_H

/* connection.h - the actor of one client; connection.c and fetch.c. */

#include "samples/static_http/response.h"

/* Spawned with the struct rgm_stream that was accepted. */
extern const struct rgm_behaviour connection_behaviour;

/* The end of a connection, in this order. */
enum phase { PHASE_SERVING, PHASE_LINGERING, PHASE_CLOSING, PHASE_GONE };

struct connection {
    struct rgm_actor actor;
    struct rgm_stream stream;
    struct site *site;
    http_parser parser;
    struct rgm_view input;     /* what was read and is not parsed yet */
    size_t input_at;
    char *spilled;             /* the same, out of its pool */
    struct request *request;   /* being read, or to be answered */
    struct output *filling;    /* answers that wait */
    struct output *flying;     /* being written */
    struct fetch *fetch;       /* a file is being looked for */
    struct file_entry *entry;  /* being sent from the file */
    struct part part;          /* what is left of that */
    struct rgm_deadline header_deadline;
    uint8_t phase;
    bool operating;    /* `operation` is out */
    bool sending;      /* `send` is out */
    bool input_ended;  /* the peer sends no more, or is not read from */
    bool last;         /* the answer that ends it is in the output, or gone */
    bool broken;       /* nothing is written any more */
    bool cancelled;    /* what is out has been asked to stop */
    bool peer_ended;   /* it sends no more */
    bool answered;     /* something, at least once */
    bool stopping;     /* the server */
    struct rgm_send_file send;
    union { /* one at a time */
        struct rgm_read_pooled read;
        struct rgm_shutdown shutdown;
        struct rgm_close close;
    } operation;
};

/* fetch.c: looks for a file. */
struct fetch;

/* Opens what the path says; connection_fetched comes in a later delivery.
 * Returns: false without memory. */
bool fetch_begin(struct connection *self, const char *path);
void fetch_cancel(struct connection *self);

/* The answer to that: an entry, held for the connection, or a status. `path`
 * is valid inside the call. */
void connection_fetched(struct connection *self, struct file_entry *entry,
                        int status, const char *path);

#endif /* STATIC_HTTP_CONNECTION_H */
