/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_REQUEST_H
#define STATIC_HTTP_REQUEST_H

/*
 * request.h - what does a client ask for? http-parser, and the few fields that
 * matter here.
 */

#include <http_parser.h>

#include "samples/static_http/server.h"

enum field {
    FIELD_RANGE,
    FIELD_IF_RANGE,
    FIELD_IF_NONE_MATCH,
    FIELD_IF_MODIFIED_SINCE,
    FIELDS_COUNT,
    FIELD_HOST = FIELDS_COUNT,
    FIELD_EXPECT,
    FIELD_OTHER
};

struct value {
    uint16_t length_bytes; /* 0: it is not there, or too long to matter */
    bool too_long;
    char text[254];
};

struct request {
    struct request *next;
    struct value values[FIELDS_COUNT];
    uint64_t body_bytes;
    uint32_t target_bytes;
    int status; /* 0, or what is wrong with it */
    uint8_t field; /* whose value is being read; enum field */
    uint8_t name_bytes;
    uint8_t hosts_count;
    bool in_name; /* a field's name is being read */
    bool headed;  /* the header is over */
    bool expects;
    bool complete;
    bool conditional; /* it says more than what it wants: see response.c */
    bool head;
    bool keep_alive;
    bool old; /* HTTP/1.0: says when it keeps the connection */
    char name[24];
    char target[LIMIT_TARGET_BYTES];
};

/* Once, before any other: the limit of a header is the whole process's. */
void requests_setup(void);

/* Returns: NULL without memory. */
struct request *request_take(struct site *site);
void request_give(struct site *site, struct request *request);
void requests_free(struct site *site);

void request_parser_init(http_parser *parser);

/*
 * Reads on. It is complete when request->complete, or when its status says what
 * is wrong with it: then nothing more can be read from this connection.
 * Returns: how many bytes it has used.
 */
size_t request_feed(http_parser *parser, struct request *request,
                    const char *bytes, size_t length);

/* The text of a field, or NULL. */
const char *request_field(const struct request *request, enum field field);

#endif /* STATIC_HTTP_REQUEST_H */
