/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_RESPONSE_H
#define STATIC_HTTP_RESPONSE_H

/*
 * response.h - what does a client get for what it asked?
 *
 * Each function adds one answer's head, and its body if that is in memory, to
 * an output with room. It uses `keep_alive` of the request for what it says of
 * the connection.
 */

#include "samples/static_http/output.h"
#include "samples/static_http/request.h"

/* The part of a file that is still to be sent behind the head. */
struct part {
    uint64_t first;
    uint64_t length_bytes; /* 0: nothing */
};

/* A file: all of it, a part, or that the client has it already. */
struct part respond_file(struct output *output, const struct site *site,
                         const struct request *request,
                         struct file_entry *entry);

/* No file: a status of 301 (path: the directory) or 400 and above. */
void respond_status(struct output *output, const struct site *site,
                    const struct request *request, int status,
                    const char *path);

#endif /* STATIC_HTTP_RESPONSE_H */
