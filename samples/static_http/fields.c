/* SPDX-License-Identifier: MIT */

/* fields.c - what do the header fields of a request say about what they want? */

#include "samples/static_http/fields.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* A number, and where it ends; more digits than fit say the most there is.
 * Returns: whether there is one. */
static bool
number_read(const char **text, uint64_t *ret_number)
{
    const char *at = *text;
    uint64_t number = 0;

    while (*at >= '0' && *at <= '9') {
        uint64_t digit = (uint64_t)(*at++ - '0');

        number = number > (UINT64_MAX - digit) / 10 ? UINT64_MAX
                                                    : number * 10 + digit;
    }
    *ret_number = number;
    if (at == *text)
        return false;
    *text = at;
    return true;
}

/* The last so many bytes. */
static enum range_kind
suffix(uint64_t wanted, uint64_t size_bytes, uint64_t *ret_first,
       uint64_t *ret_length)
{
    if (wanted == 0 || size_bytes == 0)
        return RANGE_UNSATISFIABLE;
    *ret_length = wanted < size_bytes ? wanted : size_bytes;
    *ret_first = size_bytes - *ret_length;
    return RANGE_PART;
}

enum range_kind
range_read(const char *field, uint64_t size_bytes, uint64_t *ret_first,
           uint64_t *ret_length)
{
    static const char unit[] = "bytes=";
    uint64_t first, last = UINT64_MAX;
    bool has_first, has_last;

    if (strncasecmp(field, unit, sizeof(unit) - 1) != 0)
        return RANGE_WHOLE;
    field += sizeof(unit) - 1;
    has_first = number_read(&field, &first);
    if (*field++ != '-')
        return RANGE_WHOLE;
    has_last = number_read(&field, &last);
    if (*field != '\0' || (!has_first && !has_last))
        return RANGE_WHOLE;
    if (!has_first)
        return suffix(last, size_bytes, ret_first, ret_length);
    if (!has_last)
        last = UINT64_MAX;
    if (last < first)
        return RANGE_WHOLE; /* it says nothing */
    if (first >= size_bytes)
        return RANGE_UNSATISFIABLE;
    *ret_first = first;
    *ret_length = (last < size_bytes ? last + 1 : size_bytes) - first;
    return RANGE_PART;
}

bool
tags_have(const char *field, const char *tag)
{
    size_t tag_bytes = strlen(tag);

    if (strcmp(field, "*") == 0)
        return true;
    while (*field != '\0') {
        field += strspn(field, " \t,");
        if (strncmp(field, "W/", 2) == 0)
            field += 2;
        if (strncmp(field, tag, tag_bytes) == 0 &&
            strchr(" \t,", field[tag_bytes]) != NULL)
            return true;
        field += strcspn(field, ",");
    }
    return false;
}

static const char *const day_names[] = {"Sun", "Mon", "Tue", "Wed",
                                        "Thu", "Fri", "Sat"};
static const char *const month_names[] = {"Jan", "Feb", "Mar", "Apr",
                                          "May", "Jun", "Jul", "Aug",
                                          "Sep", "Oct", "Nov", "Dec"};

void
date_write(int64_t seconds, char *ret_text)
{
    time_t when = (time_t)seconds;
    struct tm parts;

    if (gmtime_r(&when, &parts) == NULL || parts.tm_year < -1900 ||
        parts.tm_year > 9999 - 1900)
        memset(&parts, 0, sizeof(parts)), parts.tm_mday = 1;
    snprintf(ret_text, DATE_BYTES, "%s, %02u %s %04u %02u:%02u:%02u GMT",
             day_names[(unsigned)parts.tm_wday % 7],
             (unsigned)parts.tm_mday % 100,
             month_names[(unsigned)parts.tm_mon % 12],
             (unsigned)(parts.tm_year + 1900) % 10000,
             (unsigned)parts.tm_hour % 100, (unsigned)parts.tm_min % 100,
             (unsigned)parts.tm_sec % 100);
}

bool
date_read(const char *text, int64_t *ret_seconds)
{
    struct tm parts;
    char month[4], rest[2];
    char again[DATE_BYTES];

    memset(&parts, 0, sizeof(parts));
    if (strlen(text) != DATE_BYTES - 1 ||
        sscanf(text + 4, "%d %3s %d %d:%d:%d GM%1s", &parts.tm_mday, month,
               &parts.tm_year, &parts.tm_hour, &parts.tm_min, &parts.tm_sec,
               rest) != 7)
        return false;
    parts.tm_year -= 1900;
    while (parts.tm_mon < 12 && strcmp(month, month_names[parts.tm_mon]) != 0)
        parts.tm_mon++;
    *ret_seconds = (int64_t)timegm(&parts);
    date_write(*ret_seconds, again);
    return strcmp(text, again) == 0; /* no 31st of February */
}
