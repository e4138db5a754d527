/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_FIELDS_H
#define STATIC_HTTP_FIELDS_H

/*
 * fields.h - what do the header fields of a request say about what they want?
 * RFC 9110: ranges (14), preconditions (13), dates (5.6.7).
 */

#include <stdbool.h>
#include <stdint.h>

enum range_kind {
    RANGE_WHOLE,        /* none, several, or none that can be read */
    RANGE_PART,         /* one */
    RANGE_UNSATISFIABLE /* one, and nothing of it is there */
};

/* What a Range field wants of so many bytes. A list of several ranges is
 * answered with everything, as a server may. */
enum range_kind range_read(const char *field, uint64_t size_bytes,
                           uint64_t *ret_first, uint64_t *ret_length);

/* Whether a list of entity tags ("*" too) has this one; weak ones match it. */
bool tags_have(const char *field, const char *tag);

/* "Sun, 06 Nov 1994 08:49:37 GMT". Room: DATE_BYTES. */
#define DATE_BYTES 30
void date_write(int64_t seconds, char *ret_text);

/* Returns: whether it is such a date. */
bool date_read(const char *text, int64_t *ret_seconds);

#endif /* STATIC_HTTP_FIELDS_H */
