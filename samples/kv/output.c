/* SPDX-License-Identifier: MIT */

/*
 * output.c - what does a connection still have to write?
 *
 * A flight has room for bytes and for some vectors with the views behind them.
 * Bytes that follow bytes lengthen the vector; when bytes or vectors run out,
 * the next flight begins. A write of one flight uses its vectors as they are;
 * for a longer chain they are put together first.
 *
 * A worker keeps some flights for its connections to take. What can fail is
 * memory: then the output says so, and its connection ends.
 */

#include <stdlib.h>
#include <string.h>

#include "samples/kv/output.h"

#define FLIGHT_BYTES 16384 /* all of it */
#define FLIGHT_VECTORS 32
#define FLIGHTS_KEPT 64 /* by each worker */

struct flight {
    struct rgm_write write;
    struct flight *next;
    struct rgm_vector *gathered; /* vectors of a chain, in its first flight */
    uint32_t vectors_count;
    uint32_t bytes_count;
    struct rgm_vector vectors[FLIGHT_VECTORS];
    struct rgm_view views[FLIGHT_VECTORS]; /* empty for bytes of its own */
    char bytes[];
};

#define FLIGHT_ROOM (FLIGHT_BYTES - sizeof(struct flight))
_Static_assert(FLIGHT_ROOM > 2 * OUTPUT_COPY_MAX, "a piece fits in a flight");

static struct flight *
flight_take(struct kv_worker *worker)
{
    struct flight *flight = worker->flights;

    if (flight != NULL) {
        worker->flights = flight->next;
        worker->flights_count--;
    } else {
        flight = malloc(FLIGHT_BYTES);
        if (flight == NULL)
            return NULL;
    }
    flight->next = NULL;
    flight->gathered = NULL;
    flight->vectors_count = 0;
    flight->bytes_count = 0;
    return flight;
}

static void
flight_give(struct kv_worker *worker, struct flight *flight)
{
    for (uint32_t i = 0; i < flight->vectors_count; i++)
        rgm_view_drop(&flight->views[i]);
    free(flight->gathered);
    if (worker->flights_count >= FLIGHTS_KEPT) {
        free(flight);
        return;
    }
    flight->next = worker->flights;
    worker->flights = flight;
    worker->flights_count++;
}

static void
chain_give(struct kv_worker *worker, struct flight *flight)
{
    while (flight != NULL) {
        struct flight *next = flight->next;

        flight_give(worker, flight);
        flight = next;
    }
}

static struct flight *
flight_add(struct output *output, struct kv_worker *worker)
{
    struct flight *flight = flight_take(worker);

    if (flight == NULL) {
        output->failed = true;
        return NULL;
    }
    if (output->filling_first == NULL)
        output->filling_first = flight;
    else
        output->filling_last->next = flight;
    output->filling_last = flight;
    return flight;
}

/* The flight to add to, with a vector and `size_bytes` bytes to spare. */
static inline struct flight *
flight_with(struct output *output, struct kv_worker *worker, size_t size_bytes)
{
    struct flight *flight = output->filling_last;

    if (flight != NULL && flight->vectors_count < FLIGHT_VECTORS &&
        FLIGHT_ROOM - flight->bytes_count >= size_bytes)
        return flight;
    return flight_add(output, worker);
}

char *
output_room(struct output *output, struct kv_worker *worker, size_t size_bytes)
{
    struct flight *flight = flight_with(output, worker, size_bytes);

    return flight != NULL ? flight->bytes + flight->bytes_count : NULL;
}

void
output_wrote(struct output *output, size_t size_bytes)
{
    struct flight *flight = output->filling_last;
    uint32_t count = flight->vectors_count;
    char *bytes = flight->bytes + flight->bytes_count;

    flight->bytes_count += (uint32_t)size_bytes;
    output->filling_bytes += size_bytes;
    if (count > 0) {
        struct rgm_vector *last = &flight->vectors[count - 1];

        if ((const char *)last->data + last->length_bytes == bytes) {
            last->length_bytes += size_bytes;
            return;
        }
    }
    flight->vectors[count] = (struct rgm_vector){bytes, size_bytes};
    flight->views[count] = (struct rgm_view){NULL, 0, NULL};
    flight->vectors_count = count + 1;
}

void
output_add(struct output *output, struct kv_worker *worker, const void *bytes,
           size_t length_bytes)
{
    while (length_bytes > 0) {
        size_t count =
            length_bytes < OUTPUT_COPY_MAX ? length_bytes : OUTPUT_COPY_MAX;
        char *room = output_room(output, worker, count);

        if (room == NULL)
            return;
        memcpy(room, bytes, count);
        output_wrote(output, count);
        bytes = (const char *)bytes + count;
        length_bytes -= count;
    }
}

void
output_add_view(struct output *output, struct kv_worker *worker,
                struct rgm_view view)
{
    struct flight *flight;
    uint32_t count;

    if (view.length_bytes <= OUTPUT_COPY_MAX) {
        output_add(output, worker, view.data, view.length_bytes);
        rgm_view_drop(&view);
        return;
    }
    flight = flight_with(output, worker, 0);
    if (flight == NULL) {
        rgm_view_drop(&view);
        return;
    }
    count = flight->vectors_count++;
    flight->vectors[count] = (struct rgm_vector){view.data, view.length_bytes};
    flight->views[count] = view;
    output->filling_bytes += view.length_bytes;
}

/* All vectors of a chain behind one another. */
static struct rgm_vector *
gather(struct flight *first, size_t *ret_count)
{
    struct rgm_vector *vectors;
    size_t count = 0;

    for (struct flight *flight = first; flight != NULL; flight = flight->next)
        count += flight->vectors_count;
    vectors = malloc(count * sizeof(*vectors));
    if (vectors == NULL)
        return NULL;
    first->gathered = vectors;
    *ret_count = count;
    for (struct flight *flight = first; flight != NULL; flight = flight->next) {
        memcpy(vectors, flight->vectors,
               flight->vectors_count * sizeof(*vectors));
        vectors += flight->vectors_count;
    }
    return first->gathered;
}

struct rgm_write *
output_start(struct output *output, struct rgm_stream *stream)
{
    struct flight *first = output->filling_first;
    struct rgm_vector *vectors = first->vectors;
    size_t count = first->vectors_count;

    if (first->next != NULL)
        vectors = gather(first, &count);
    if (vectors == NULL) {
        output->failed = true;
        return NULL;
    }
    output->flying = first;
    output->flying_bytes = output->filling_bytes;
    output->filling_first = NULL;
    output->filling_last = NULL;
    output->filling_bytes = 0;
    rgm_stream_write_vectors(&first->write, stream, vectors, count);
    return &first->write;
}

struct rgm_write *
output_operation(const struct output *output)
{
    return &output->flying->write;
}

void
output_finish(struct output *output, struct kv_worker *worker)
{
    chain_give(worker, output->flying);
    output->flying = NULL;
    output->flying_bytes = 0;
}

/* Skip what is written; what is left of a vector is where its end was. */
static size_t
flight_skip(struct flight *flight, size_t written_bytes)
{
    for (uint32_t i = 0; i < flight->vectors_count && written_bytes > 0; i++) {
        struct rgm_vector *vector = &flight->vectors[i];
        size_t skip_bytes = written_bytes < vector->length_bytes
                                ? written_bytes
                                : vector->length_bytes;

        vector->data = (const char *)vector->data + skip_bytes;
        vector->length_bytes -= skip_bytes;
        written_bytes -= skip_bytes;
    }
    return written_bytes;
}

void
output_recall(struct output *output)
{
    struct flight *first = output->flying;
    struct flight *last = first;
    size_t written_bytes = first->write.count;

    output->filling_bytes += output->flying_bytes - written_bytes;
    free(first->gathered);
    first->gathered = NULL;
    written_bytes = flight_skip(last, written_bytes);
    while (last->next != NULL) {
        last = last->next;
        written_bytes = flight_skip(last, written_bytes);
    }
    last->next = output->filling_first;
    if (output->filling_first == NULL)
        output->filling_last = last;
    output->filling_first = first;
    output->flying = NULL;
    output->flying_bytes = 0;
}

void
output_drop(struct output *output, struct kv_worker *worker)
{
    chain_give(worker, output->filling_first);
    output->filling_first = NULL;
    output->filling_last = NULL;
    output->filling_bytes = 0;
}

void
output_close(struct kv_worker *worker)
{
    while (worker->flights != NULL) {
        struct flight *next = worker->flights->next;

        free(worker->flights);
        worker->flights = next;
    }
    worker->flights_count = 0;
}
