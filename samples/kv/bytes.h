/* SPDX-License-Identifier: MIT */
#ifndef KV_BYTES_H
#define KV_BYTES_H

/*
 * bytes.h - what is a string here, and how do numbers travel in one?
 *
 * Keys and values are bytes with a length; a zero byte is one like any other.
 * The number rules are Redis's: no plus sign, no blanks, no leading zeros, so
 * that a text that parses is exactly the text the number prints as.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Somebody else's bytes. */
struct bytes {
    const char *data;
    size_t length_bytes;
};

/* The longest int64 in decimal, with its sign. */
#define BYTES_NUMBER_MAX 20

/* For a string literal or an array with a terminator. */
#define BYTES(literal) ((struct bytes){(literal), sizeof(literal) - 1})

static inline bool
bytes_same(struct bytes a, struct bytes b)
{
    return a.length_bytes == b.length_bytes &&
           (a.length_bytes == 0 || memcmp(a.data, b.data, a.length_bytes) == 0);
}

static inline char
bytes_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Is it this word, in whatever case? `word` is lower case. */
static inline bool
bytes_is(struct bytes bytes, const char *word)
{
    for (size_t i = 0; i < bytes.length_bytes; i++)
        if (word[i] == '\0' || bytes_lower(bytes.data[i]) != word[i])
            return false;
    return word[bytes.length_bytes] == '\0';
}

/* Returns whether it is a number that fits; else *ret_number is untouched. */
static inline bool
bytes_to_number(struct bytes bytes, int64_t *ret_number)
{
    const char *at = bytes.data;
    const char *end = bytes.data + bytes.length_bytes;
    bool negative = false;
    uint64_t limit = INT64_MAX;
    uint64_t value;

    if (bytes.length_bytes == 0 || bytes.length_bytes > BYTES_NUMBER_MAX)
        return false;
    if (bytes.length_bytes == 1 && *at == '0') {
        *ret_number = 0;
        return true;
    }
    if (*at == '-') {
        negative = true;
        limit++;
        at++;
    }
    if (at == end || *at < '1' || *at > '9')
        return false;
    value = (uint64_t)(*at++ - '0');
    for (; at < end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';

        if (digit > 9 || value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_number = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* Writes at most BYTES_NUMBER_MAX bytes, no terminator. Returns how many. */
static inline size_t
bytes_from_number(int64_t number, char *ret_text)
{
    char digits[BYTES_NUMBER_MAX];
    uint64_t value = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t at = sizeof(digits);
    size_t count;

    if (value < 10 && number >= 0) { /* the length of most values */
        *ret_text = (char)('0' + value);
        return 1;
    }
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    if (number < 0)
        digits[--at] = '-';
    count = sizeof(digits) - at;
    memcpy(ret_text, digits + at, count);
    return count;
}

#endif /* KV_BYTES_H */
