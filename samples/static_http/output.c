/* SPDX-License-Identifier: MIT */

/* output.c - what goes out in one write? */

#include "samples/static_http/output.h"

#include <stdlib.h>
#include <string.h>

#define OUTPUTS_KEPT 256u

struct output *
output_take(struct site *site)
{
    struct output *output = site->outputs;

    if (output != NULL) {
        site->outputs = output->next;
        site->outputs_count--;
    } else {
        output = malloc(sizeof(*output));
        if (output == NULL)
            return NULL;
    }
    output->vectors_count = 0;
    output->used_bytes = 0;
    return output;
}

void
output_give(struct rgm_actor *self, struct site *site, struct output *output)
{
    for (uint32_t i = 0; i < output->vectors_count; i++)
        if (output->entries[i] != NULL)
            entry_release(self, site, output->entries[i]);
    if (site->outputs_count >= OUTPUTS_KEPT) {
        free(output);
        return;
    }
    output->next = site->outputs;
    site->outputs = output;
    site->outputs_count++;
}

bool
output_has_room(const struct output *output)
{
    return output->used_bytes + OUTPUT_ANSWER_BYTES <= OUTPUT_BYTES &&
           output->vectors_count + 2 <= OUTPUT_VECTORS;
}

void
output_text(struct output *output, const char *text, size_t length)
{
    char *at = output->bytes + output->used_bytes;
    uint32_t count = output->vectors_count;

    memcpy(at, text, length);
    output->used_bytes += (uint32_t)length;
    if (count > 0 && output->entries[count - 1] == NULL) { /* right before it */
        output->vectors[count - 1].length_bytes += length;
        return;
    }
    output->vectors[count] = (struct rgm_vector){at, length};
    output->entries[count] = NULL;
    output->vectors_count++;
}

void
output_body(struct output *output, struct file_entry *entry, uint64_t first,
            uint64_t length_bytes)
{
    if (length_bytes <= OUTPUT_COPY_BYTES) {
        output_text(output, entry->body + first, (size_t)length_bytes);
        return;
    }
    entry_hold(entry);
    output->vectors[output->vectors_count] =
        (struct rgm_vector){entry->body + first, (size_t)length_bytes};
    output->entries[output->vectors_count++] = entry;
}

void
outputs_free(struct site *site)
{
    struct output *output;

    while ((output = site->outputs) != NULL) {
        site->outputs = output->next;
        free(output);
    }
}
