/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_OUTPUT_H
#define STATIC_HTTP_OUTPUT_H

/*
 * output.h - what goes out in one write: text that was composed here, and bytes
 * of files that stay where they are.
 *
 * A connection fills one while the one before is on its way. Who adds has looked
 * that there is room: output_has_room says so for one answer.
 */

#include "samples/static_http/cache.h"

#define OUTPUT_BYTES 16384
#define OUTPUT_VECTORS 32
#define OUTPUT_ANSWER_BYTES 1536 /* the most composed text of one answer */
#define OUTPUT_COPY_BYTES 512    /* bodies up to this are copied */

struct output {
    struct rgm_write write;
    struct output *next;
    struct rgm_vector vectors[OUTPUT_VECTORS];
    struct file_entry *entries[OUTPUT_VECTORS]; /* whose bytes they are */
    uint32_t vectors_count;
    uint32_t used_bytes;
    char bytes[OUTPUT_BYTES];
};

/* Returns: NULL without memory. */
struct output *output_take(struct site *site);

/* Lets go of the files and keeps the rest for somebody else. */
void output_give(struct rgm_actor *self, struct site *site,
                 struct output *output);

bool output_has_room(const struct output *output);

void output_text(struct output *output, const char *text, size_t length);

/* So many bytes of the entry's memory. */
void output_body(struct output *output, struct file_entry *entry,
                 uint64_t first, uint64_t length_bytes);

/* Frees what is kept. */
void outputs_free(struct site *site);

#endif /* STATIC_HTTP_OUTPUT_H */
