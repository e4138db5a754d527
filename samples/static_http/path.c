/* SPDX-License-Identifier: MIT */

/*
 * path.c - which file does a request target mean?
 *
 * 1. An absolute URI loses its scheme and authority; a query is cut off.
 * 2. Percent signs are decoded, once.
 * 3. Segments are taken over one by one: "." is left out, ".." takes one back
 *    and never leaves the root, hidden ones end it.
 * 4. A path that ends with a slash means the index in it.
 */

#include "samples/static_http/path.h"

#include <string.h>
#include <strings.h>

static int
hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Returns the length, or -1: a percent sign that says nothing, or a zero. */
static int
decode(const char *from, size_t length, char *to)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++) {
        char byte = from[i];

        if (byte == '%') {
            int high = i + 2 < length ? hex_value(from[i + 1]) : -1;
            int low = i + 2 < length ? hex_value(from[i + 2]) : -1;

            if (high < 0 || low < 0)
                return -1;
            byte = (char)(high << 4 | low);
            i += 2;
        }
        if (byte == '\0')
            return -1;
        to[count++] = byte;
    }
    return (int)count;
}

/* The path of a target without its query: begins with a slash, or is empty. */
static const char *
cut(const char *target, size_t *length)
{
    static const char scheme[] = "http://";
    const size_t scheme_bytes = sizeof(scheme) - 1;
    const char *end = target + *length;
    const char *query = memchr(target, '?', *length);

    if (query != NULL)
        end = query;
    if ((size_t)(end - target) >= scheme_bytes &&
        strncasecmp(target, scheme, scheme_bytes) == 0) {
        target = memchr(target + scheme_bytes, '/',
                        (size_t)(end - target) - scheme_bytes);
        if (target == NULL)
            target = end;
    }
    *length = (size_t)(end - target);
    return target;
}

static bool
segment_is(const char *segment, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(segment, word, length) == 0;
}

/* One segment back: "a/b/" becomes "a/". */
static size_t
take_back(const char *path, size_t length)
{
    if (length > 0)
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

/* Returns the length of what is left, or -1: something is hidden. */
static int
normalise(const char *from, size_t length, char *to)
{
    size_t count = 0;

    for (size_t at = 0; at < length;) {
        const char *segment = from + at;
        const char *slash = memchr(segment, '/', length - at);
        size_t bytes = slash != NULL ? (size_t)(slash - segment) : length - at;

        at += bytes + (slash != NULL);
        if (bytes == 0 || segment_is(segment, bytes, "."))
            continue;
        if (segment_is(segment, bytes, "..")) {
            count = take_back(to, count);
            continue;
        }
        if (segment[0] == '.' && !segment_is(segment, bytes, ".well-known"))
            return -1;
        memmove(to + count, segment, bytes);
        count += bytes;
        if (slash != NULL)
            to[count++] = '/';
    }
    return (int)count;
}

int
path_from_target(const char *target, size_t target_bytes, char *ret_path)
{
    static const char index[] = "index.html";
    char decoded[PATH_MAX_BYTES];
    int length;

    target = cut(target, &target_bytes);
    if (target_bytes > 0 && target[0] != '/')
        return 400;
    if (target_bytes + sizeof(index) > PATH_MAX_BYTES)
        return 404;
    length = decode(target, target_bytes, decoded);
    if (length < 0)
        return 400;
    length = normalise(decoded, (size_t)length, ret_path);
    if (length < 0)
        return 404;
    ret_path[length] = '\0';
    if (length == 0 || ret_path[length - 1] == '/')
        memcpy(ret_path + length, index, sizeof(index));
    return 0;
}

const char *
path_media_type(const char *path)
{
    static const struct {
        const char *ending;
        const char *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".htm", "text/html; charset=utf-8"},
        {".txt", "text/plain; charset=utf-8"},
        {".md", "text/markdown; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".csv", "text/csv; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".json", "application/json"},
        {".xml", "application/xml"},
        {".pdf", "application/pdf"},
        {".wasm", "application/wasm"},
        {".zip", "application/zip"},
        {".gz", "application/gzip"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".jpeg", "image/jpeg"},
        {".gif", "image/gif"},
        {".webp", "image/webp"},
        {".avif", "image/avif"},
        {".svg", "image/svg+xml"},
        {".ico", "image/x-icon"},
        {".woff2", "font/woff2"},
        {".mp3", "audio/mpeg"},
        {".mp4", "video/mp4"},
        {".webm", "video/webm"},
    };
    const char *name = strrchr(path, '/');
    const char *ending = strrchr(name != NULL ? name : path, '.');

    for (size_t i = 0; ending != NULL && i < sizeof(types) / sizeof(types[0]);
         i++)
        if (strcasecmp(ending, types[i].ending) == 0)
            return types[i].type;
    return "application/octet-stream";
}
