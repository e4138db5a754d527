/* SPDX-License-Identifier: MIT */

/* request.c - what does a client ask for? */

#include "samples/static_http/request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REQUESTS_KEPT 256u

/* ------------------------------------------------------- while it is parsed */

static int
on_target(http_parser *parser, const char *at, size_t length)
{
    struct request *request = parser->data;

    if (length > sizeof(request->target) - request->target_bytes) {
        request->status = 414;
        return -1;
    }
    memcpy(request->target + request->target_bytes, at, length);
    request->target_bytes += (uint32_t)length;
    return 0;
}

static int
on_name(http_parser *parser, const char *at, size_t length)
{
    struct request *request = parser->data;
    size_t room;

    if (!request->in_name) {
        request->in_name = true;
        request->name_bytes = 0;
    }
    room = sizeof(request->name) - request->name_bytes;
    if (length > room)
        length = room; /* as long as that is none of ours */
    memcpy(request->name + request->name_bytes, at, length);
    request->name_bytes = (uint8_t)(request->name_bytes + length);
    return 0;
}

static uint8_t
field_named(const struct request *request)
{
    static const struct {
        const char *name;
        uint8_t length;
        uint8_t field;
    } names[] = {
        {"host", 4, FIELD_HOST},
        {"expect", 6, FIELD_EXPECT},
        {"range", 5, FIELD_RANGE},
        {"if-range", 8, FIELD_IF_RANGE},
        {"if-none-match", 13, FIELD_IF_NONE_MATCH},
        {"if-modified-since", 17, FIELD_IF_MODIFIED_SINCE},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (request->name_bytes == names[i].length &&
            strncasecmp(request->name, names[i].name, names[i].length) == 0)
            return names[i].field;
    return FIELD_OTHER;
}

static void
value_add(struct value *value, const char *at, size_t length)
{
    if (value->too_long ||
        length >= sizeof(value->text) - value->length_bytes) {
        value->too_long = true;
        value->length_bytes = 0;
        return;
    }
    memcpy(value->text + value->length_bytes, at, length);
    value->length_bytes = (uint16_t)(value->length_bytes + length);
    value->text[value->length_bytes] = '\0';
}

/* What follows a chunked body says nothing to us. */
static void
field_begins(struct request *request)
{
    request->in_name = false;
    request->field = request->headed ? FIELD_OTHER : field_named(request);
    if (request->field == FIELD_HOST && request->hosts_count < 2)
        request->hosts_count++;
    if (request->field == FIELD_EXPECT)
        request->expects = true;
    if (request->field >= FIELDS_COUNT)
        return;
    request->conditional = true;
    /* A list may be said in several lines. */
    if (request->field == FIELD_IF_NONE_MATCH &&
        request->values[FIELD_IF_NONE_MATCH].length_bytes > 0)
        value_add(&request->values[FIELD_IF_NONE_MATCH], ", ", 2);
}

static int
on_value(http_parser *parser, const char *at, size_t length)
{
    struct request *request = parser->data;

    if (request->in_name)
        field_begins(request);
    if (request->field < FIELDS_COUNT)
        value_add(&request->values[request->field], at, length);
    return 0;
}

/* Blanks behind a value are no part of it. */
static void
values_trim(struct request *request)
{
    for (int i = 0; i < FIELDS_COUNT; i++) {
        struct value *value = &request->values[i];

        while (value->length_bytes > 0 &&
               (value->text[value->length_bytes - 1] == ' ' ||
                value->text[value->length_bytes - 1] == '\t'))
            value->text[--value->length_bytes] = '\0';
    }
}

static int
refuse(struct request *request, int status)
{
    request->status = status;
    return -1;
}

static bool
has_body(const http_parser *parser)
{
    return (parser->flags & F_CHUNKED) != 0 ||
           (parser->content_length != ULLONG_MAX && parser->content_length > 0);
}

static int
on_header_end(http_parser *parser)
{
    struct request *request = parser->data;

    request->headed = true;
    values_trim(request);
    request->head = parser->method == HTTP_HEAD;
    request->old =
        parser->http_major < 1 ||
        (parser->http_major == 1 && parser->http_minor == 0);
    if (parser->http_major > 1)
        return refuse(request, 505);
    if (request->hosts_count > 1 || (request->hosts_count == 0 && !request->old))
        return refuse(request, 400);
    if (parser->method != HTTP_GET && parser->method != HTTP_HEAD)
        return refuse(request, 405);
    if (parser->content_length != ULLONG_MAX &&
        parser->content_length > LIMIT_BODY_BYTES)
        return refuse(request, 413);
    /* It waits for our word before it sends what we have no use for. */
    if (request->expects && has_body(parser))
        return refuse(request, 417);
    return 0;
}

static int
on_body(http_parser *parser, const char *at, size_t length)
{
    struct request *request = parser->data;

    (void)at;
    request->body_bytes += length;
    return request->body_bytes > LIMIT_BODY_BYTES ? refuse(request, 413) : 0;
}

static int
on_complete(http_parser *parser)
{
    struct request *request = parser->data;

    request->complete = true;
    request->keep_alive = http_should_keep_alive(parser) != 0;
    http_parser_pause(parser, 1);
    return 0;
}

static const http_parser_settings settings = {
    .on_url = on_target,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_headers_complete = on_header_end,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

/* ------------------------------------------------------------------ records */

void
requests_setup(void)
{
    http_parser_set_max_header_size(LIMIT_HEADER_BYTES);
}

struct request *
request_take(struct site *site)
{
    struct request *request = site->requests;

    if (request != NULL) {
        site->requests = request->next;
        site->requests_count--;
    } else {
        request = malloc(sizeof(*request));
        if (request == NULL)
            return NULL;
    }
    for (int i = 0; i < FIELDS_COUNT; i++) {
        request->values[i].length_bytes = 0;
        request->values[i].too_long = false;
    }
    memset(&request->body_bytes, 0,
           offsetof(struct request, name) -
               offsetof(struct request, body_bytes));
    return request;
}

void
request_give(struct site *site, struct request *request)
{
    if (site->requests_count >= REQUESTS_KEPT) {
        free(request);
        return;
    }
    request->next = site->requests;
    site->requests = request;
    site->requests_count++;
}

void
requests_free(struct site *site)
{
    struct request *request;

    while ((request = site->requests) != NULL) {
        site->requests = request->next;
        free(request);
    }
}

void
request_parser_init(http_parser *parser)
{
    http_parser_init(parser, HTTP_REQUEST);
}

static int
status_of(enum http_errno error)
{
    switch (error) {
    case HPE_HEADER_OVERFLOW:
        return 431;
    case HPE_INVALID_METHOD:
        return 501;
    case HPE_INVALID_VERSION:
        return 505;
    default:
        return 400;
    }
}

size_t
request_feed(http_parser *parser, struct request *request, const char *bytes,
             size_t length)
{
    size_t used;
    enum http_errno error;

    parser->data = request;
    used = http_parser_execute(parser, &settings, bytes, length);
    error = HTTP_PARSER_ERRNO(parser);
    if (error == HPE_PAUSED)
        http_parser_pause(parser, 0);
    else if (error != HPE_OK && request->status == 0)
        request->status = status_of(error);
    return used;
}

const char *
request_field(const struct request *request, enum field field)
{
    const struct value *value = &request->values[field];

    return value->length_bytes > 0 ? value->text : NULL;
}
