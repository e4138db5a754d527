/* SPDX-License-Identifier: MIT */

/* traffic.c - what is counted of files and sockets? What has happened, by whoever
 * asked for it: once for each operation that has ended, just before its answer. */

#include "actors/runtime.h"

#include <ringmail/send_file.h>

#include "capabilities/datagram.h"
#include "capabilities/file.h"
#include "capabilities/operation.h"
#include "capabilities/packet.h"
#include "capabilities/receiver.h"
#include "capabilities/send_file.h"
#include "capabilities/stream.h"

void
rgi_traffic_read(struct rgm_worker *worker, uint64_t bytes)
{
    rgi_count(worker, network_reads);
    rgi_count_by(worker, network_read_bytes, bytes);
}

void
rgi_traffic_write(struct rgm_worker *worker, uint64_t bytes)
{
    rgi_count(worker, network_writes);
    rgi_count_by(worker, network_write_bytes, bytes);
}

static void
file_read(struct rgm_worker *worker, uint64_t bytes)
{
    rgi_count(worker, storage_reads);
    rgi_count_by(worker, storage_read_bytes, bytes);
}

static void
file_write(struct rgm_worker *worker, uint64_t bytes)
{
    rgi_count(worker, storage_writes);
    rgi_count_by(worker, storage_write_bytes, bytes);
}

static void
datagram(struct rgm_worker *worker, const struct rgm_packet_read_pooled *read)
{
    rgi_traffic_read(worker, read->count);
    if (read->truncated)
        rgi_count(worker, pool_oversized);
}

static void
sent_file(struct rgm_worker *worker, const struct rgm_send_file *send)
{
    file_read(worker, send->count);
    rgi_traffic_write(worker, send->count);
}

/* The count of a transfer that has failed is what it achieved before. */
static uint64_t
achieved(struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_WRITE:
        return rgi_write_of(operation)->count;
    case RGM_OP_SEND_FILE:
        return rgi_send_file_of(operation)->count;
    case RGM_OP_FILE_READ:
    case RGM_OP_FILE_WRITE:
        return ((struct rgm_file_transfer *)(void *)operation)->count;
    default:
        return 0;
    }
}

void
rgi_traffic_count(struct rgm_worker *worker, struct rgm_operation *operation)
{
    uint64_t bytes = achieved(operation);

    if (operation->request.message.status != 0 && bytes == 0)
        return;
    switch (operation->kind) {
    case RGM_OP_READ:
        rgi_traffic_read(worker, rgi_read_of(operation)->count);
        break;
    case RGM_OP_READ_POOLED:
        rgi_traffic_read(worker, rgi_read_pooled_of(operation)->count);
        break;
    case RGM_OP_RECEIVE_NEXT:
        rgi_traffic_read(worker, rgi_received_of(operation)->count);
        break;
    case RGM_OP_WRITE:
        rgi_traffic_write(worker, bytes);
        break;
    case RGM_OP_ACCEPT:
        rgi_count(worker, network_accepts);
        break;
    case RGM_OP_CONNECT:
        if (!rgi_connect_of(operation)->imports)
            rgi_count(worker, network_connects);
        break;
    case RGM_OP_PACKET_READ:
        rgi_traffic_read(worker, rgi_packet_read_of(operation)->count);
        break;
    case RGM_OP_PACKET_READ_POOLED:
        datagram(worker, rgi_datagram_of(operation));
        break;
    case RGM_OP_PACKET_WRITE:
        rgi_traffic_write(worker, rgi_packet_write_of(operation)->count);
        break;
    case RGM_OP_SEND_FILE:
        sent_file(worker, rgi_send_file_of(operation));
        break;
    case RGM_OP_FILE_READ:
        file_read(worker, bytes);
        break;
    case RGM_OP_FILE_WRITE:
        file_write(worker, bytes);
        break;
    case RGM_OP_FILE_SYNC:
        rgi_count(worker, storage_syncs);
        break;
    default:
        break;
    }
}
