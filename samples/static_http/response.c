/* SPDX-License-Identifier: MIT */

/*
 * response.c - what does a client get for what it asked?
 *
 * Preconditions first (RFC 9110, 13.2.2): If-None-Match, or if there is none,
 * If-Modified-Since. Then the range, if If-Range is about this version.
 */

#include "samples/static_http/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the head: date, connection, empty line. */
static void
end_head(struct output *output, const struct site *site,
         const struct request *request)
{
    static const char close[] = "Connection: close\r\n\r\n";
    static const char keep[] = "Connection: keep-alive\r\n\r\n";

    output_text(output, site->date, site->date_bytes);
    if (!request->keep_alive)
        output_text(output, close, sizeof(close) - 1);
    else if (request->old)
        output_text(output, keep, sizeof(keep) - 1);
    else
        output_text(output, "\r\n", 2);
}

static bool
client_has_it(const struct request *request, const struct file_entry *entry)
{
    const char *tags = request_field(request, FIELD_IF_NONE_MATCH);
    const char *since = request_field(request, FIELD_IF_MODIFIED_SINCE);
    int64_t seconds;

    if (tags != NULL || request->values[FIELD_IF_NONE_MATCH].too_long)
        return tags != NULL && tags_have(tags, entry->tag);
    return since != NULL && date_read(since, &seconds) &&
           entry->modified_ns / (int64_t)RGM_NS_PER_S <= seconds;
}

/* A part of another version would not fit the client's. */
static bool
range_is_wanted(const struct request *request, const struct file_entry *entry)
{
    const char *version = request_field(request, FIELD_IF_RANGE);

    if (request->values[FIELD_IF_RANGE].too_long)
        return false;
    return version == NULL || strcmp(version, entry->tag) == 0 ||
           strcmp(version, entry->modified) == 0;
}

static void
respond_not_modified(struct output *output, const struct site *site,
                     const struct request *request,
                     const struct file_entry *entry)
{
    static const char line[] = "HTTP/1.1 304 Not Modified\r\n";

    output_text(output, line, sizeof(line) - 1);
    output_text(output, entry->fields, entry->fields_bytes);
    end_head(output, site, request);
}

static void
respond_unsatisfiable(struct output *output, const struct site *site,
                      const struct request *request,
                      const struct file_entry *entry)
{
    char text[160];
    int length = snprintf(text, sizeof(text),
                          "HTTP/1.1 416 Range Not Satisfiable\r\n"
                          "Server: static_http\r\nContent-Length: 0\r\n"
                          "Content-Range: bytes */%" PRIu64 "\r\n",
                          entry->size_bytes);

    output_text(output, text, (size_t)length);
    end_head(output, site, request);
}

static void
start_part(struct output *output, const struct file_entry *entry,
           uint64_t first, uint64_t length_bytes)
{
    static const char line[] = "HTTP/1.1 206 Partial Content\r\n";
    char text[160];
    int length = snprintf(
        text, sizeof(text),
        "Content-Length: %" PRIu64 "\r\nContent-Range: bytes %" PRIu64
        "-%" PRIu64 "/%" PRIu64 "\r\n",
        length_bytes, first, first + length_bytes - 1, entry->size_bytes);

    output_text(output, line, sizeof(line) - 1);
    output_text(output, entry->fields, entry->fields_bytes);
    output_text(output, text, (size_t)length);
}

/* The usual question, to which there is one answer for everybody. */
static bool
is_plain(const struct request *request)
{
    return !request->conditional && !request->head && !request->old &&
           request->keep_alive;
}

/* That answer in one piece, made anew for each date. Returns: false: the body is
 * too long to be copied, or there is no memory. */
static bool
whole_is_made(struct file_entry *entry, const struct site *site)
{
    size_t body_bytes = (size_t)entry->size_bytes;
    size_t all = entry->head_bytes + site->date_bytes + 2 + body_bytes;
    char *at;

    if (entry->whole != NULL && entry->whole_until_ns == site->date_until_ns)
        return true;
    if (entry->body == NULL || entry->size_bytes > OUTPUT_COPY_BYTES)
        return false;
    if (entry->whole == NULL)
        entry->whole = malloc(sizeof(entry->head) + sizeof(site->date) + 2 +
                              OUTPUT_COPY_BYTES);
    if (entry->whole == NULL)
        return false;
    at = entry->whole;
    memcpy(at, entry->head, entry->head_bytes);
    at += entry->head_bytes;
    memcpy(at, site->date, site->date_bytes);
    at += site->date_bytes;
    memcpy(at, "\r\n", 2);
    memcpy(at + 2, entry->body, body_bytes);
    entry->whole_bytes = all;
    entry->whole_until_ns = site->date_until_ns;
    return true;
}

struct part
respond_file(struct output *output, const struct site *site,
             const struct request *request, struct file_entry *entry)
{
    struct part part = {0, entry->size_bytes};
    const char *range = request_field(request, FIELD_RANGE);
    enum range_kind kind = RANGE_WHOLE;

    if (is_plain(request) && whole_is_made(entry, site)) {
        output_text(output, entry->whole, entry->whole_bytes);
        return (struct part){0, 0};
    }
    if (client_has_it(request, entry)) {
        respond_not_modified(output, site, request, entry);
        return (struct part){0, 0};
    }
    if (range != NULL && !request->head && range_is_wanted(request, entry))
        kind = range_read(range, entry->size_bytes, &part.first,
                          &part.length_bytes);
    if (kind == RANGE_UNSATISFIABLE) {
        respond_unsatisfiable(output, site, request, entry);
        return (struct part){0, 0};
    }
    if (kind == RANGE_PART)
        start_part(output, entry, part.first, part.length_bytes);
    else
        output_text(output, entry->head, entry->head_bytes);
    end_head(output, site, request);
    if (request->head)
        return (struct part){0, 0};
    if (entry->body == NULL || part.length_bytes == 0)
        return part;
    output_body(output, entry, part.first, part.length_bytes);
    return (struct part){0, 0};
}

static const char *
reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {301, "Moved Permanently"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {417, "Expectation Failed"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Error";
}

/* "/a%20b/"; what is not harmless is encoded. Returns: the length, or 0: it
 * does not fit. */
static size_t
encode(const char *path, char *to, size_t room)
{
    static const char harmless[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    size_t count = 0;

    to[count++] = '/';
    for (; *path != '\0'; path++) {
        if (count + 5 > room)
            return 0;
        if (strchr(harmless, *path) != NULL)
            to[count++] = *path;
        else
            count += (size_t)snprintf(to + count, 4, "%%%02X",
                                      (unsigned)(unsigned char)*path);
    }
    to[count++] = '/';
    to[count] = '\0';
    return count;
}

void
respond_status(struct output *output, const struct site *site,
               const struct request *request, int status, const char *path)
{
    char place[640] = "";
    char text[1024];
    char body[64];
    int body_bytes, length;

    if (status == 301 && encode(path, place, sizeof(place)) == 0)
        status = 404;
    body_bytes =
        snprintf(body, sizeof(body), "%d %s\n", status, reason(status));
    length = snprintf(text, sizeof(text),
                      "HTTP/1.1 %d %s\r\nServer: static_http\r\n"
                      "Content-Type: text/plain; charset=utf-8\r\n"
                      "Content-Length: %d\r\n%s%s%s%s",
                      status, reason(status), body_bytes,
                      status == 301 ? "Location: " : "",
                      status == 301 ? place : "", status == 301 ? "\r\n" : "",
                      status == 405 ? "Allow: GET, HEAD\r\n" : "");
    output_text(output, text, (size_t)length);
    end_head(output, site, request);
    if (!request->head)
        output_text(output, body, (size_t)body_bytes);
}
