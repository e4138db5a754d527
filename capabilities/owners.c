/* SPDX-License-Identifier: MIT */

/*
 * owners.c - is the memory an operation holds still where it was?
 *
 * All that the asker has pointed to, and how long it is, in one number. It is
 * not where the bytes are that is in it, but what was said of them.
 */

#include "capabilities/owners.h"

#include <ringmail/acquire.h>
#include <ringmail/datagram.h>
#include <ringmail/receiver.h>

#include "capabilities/file.h"
#include "capabilities/packet.h"

static uint64_t
mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

static uint64_t
mix_pointer(uint64_t sum, const void *pointer)
{
    return mix(sum, (uint64_t)(uintptr_t)pointer);
}

static uint64_t
mix_memory(uint64_t sum, const void *memory, size_t length_bytes)
{
    return mix(mix_pointer(sum, memory), length_bytes);
}

/* Without an array it is the one piece of the record. */
static uint64_t
mix_vectors(uint64_t sum, const struct rgm_vector *vectors, size_t count,
            const struct rgm_vector *single)
{
    if (vectors == NULL)
        vectors = single;
    sum = mix_memory(sum, vectors, count);
    for (size_t i = 0; i < count; i++)
        sum = mix_memory(sum, vectors[i].data, vectors[i].length_bytes);
    return sum;
}

static uint64_t
of_write(uint64_t sum, const struct rgm_write *write)
{
    sum = mix_vectors(sum, write->vectors, write->vectors_count,
                      &write->single);
    sum = mix_memory(sum, write->owned.data, write->owned.length_bytes);
    return mix_pointer(sum, write->owned.block);
}

static uint64_t
of_transfer(uint64_t sum, const struct rgm_file_transfer *transfer)
{
    sum = mix_vectors(sum, transfer->vectors, transfer->vectors_count,
                      &transfer->single);
    sum = mix_memory(sum, transfer->lease.data, transfer->lease.length_bytes);
    return mix_pointer(sum, transfer->lease.block);
}

static uint64_t
sum_of(const struct rgm_operation *operation)
{
    const struct rgm_file_transfer *transfer = (const void *)operation;
    const struct rgm_read_pooled *pooled = (const void *)operation;
    const struct rgm_receiver *receiver = (const void *)operation;
    const struct rgm_received *received = (const void *)operation;
    const struct rgm_acquire *acquire = (const void *)operation;
    const struct rgm_file_open *open = (const void *)operation;
    const struct rgm_path *path = (const void *)operation;
    const struct rgm_write *write = (const void *)operation;
    const struct rgm_packet_write *packet_write = (const void *)operation;
    const struct rgm_packet_read *packet_read = (const void *)operation;
    const struct rgm_packet_read_pooled *datagram = (const void *)operation;
    const struct rgm_directory_read *entries = (const void *)operation;
    const struct rgm_read *read = (const void *)operation;
    uint64_t sum = mix(0, operation->kind);

    switch (operation->kind) {
    case RGM_OP_READ:
        return mix_memory(sum, read->memory, read->capacity_bytes);
    case RGM_OP_READ_POOLED:
        return mix_pointer(sum, pooled->pool);
    case RGM_OP_RECEIVE:
        return mix_pointer(sum, receiver->pool);
    case RGM_OP_RECEIVE_NEXT:
        return mix_pointer(sum, received->receiver);
    case RGM_OP_WRITE:
        return of_write(sum, write);
    case RGM_OP_FILE_READ:
    case RGM_OP_FILE_WRITE:
        return of_transfer(sum, transfer);
    case RGM_OP_FILE_OPEN:
        return mix_pointer(sum, open->path);
    case RGM_OP_DIRECTORY_READ:
        return mix_memory(sum, entries->memory, entries->capacity_bytes);
    case RGM_OP_PATH:
        return mix_pointer(mix_pointer(sum, path->from), path->to);
    case RGM_OP_PACKET_READ:
        return mix_vectors(sum, packet_read->vectors,
                           packet_read->vectors_count, &packet_read->single);
    case RGM_OP_PACKET_READ_POOLED:
        return mix_pointer(sum, datagram->pool);
    case RGM_OP_PACKET_WRITE:
        return mix_vectors(sum, packet_write->vectors,
                           packet_write->vectors_count, &packet_write->single);
    case RGM_OP_ACQUIRE:
        return mix_pointer(sum, acquire->pool);
    default:
        return sum;
    }
}

/* Sixteen bits, which is what a request has room for. */
static uint16_t
folded(const struct rgm_operation *operation)
{
    uint64_t sum = sum_of(operation);

    return (uint16_t)(sum ^ sum >> 16 ^ sum >> 32 ^ sum >> 48);
}

void
rgi_owners_note(struct rgm_operation *operation)
{
    operation->request.owners = folded(operation);
}

bool
rgi_owners_hold(const struct rgm_operation *operation)
{
    return operation->request.owners == folded(operation);
}
