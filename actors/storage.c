/* SPDX-License-Identifier: MIT */

/*
 * storage.c - where do reads go that name no pool?
 *
 * Into a pool of the worker's, made when the first of them begins. Who reads into
 * memory of his own, or into a pool he shares, never makes one. It is closed with
 * the worker; what is leased of it then stays valid, as with any pool.
 */

#include "actors/runtime.h"
#include "capabilities/operation.h"
#include "capabilities/stream.h"

static int
storage_make(struct rgm_worker *worker)
{
    const struct rgm_runtime_options *options = &worker->runtime->options;
    struct rgm_pool_options pool = {
        .name = "worker",
        .slots_count = options->read_slots,
        .slot_size_bytes = options->read_slot_bytes,
    };

    if (worker->storage != NULL)
        return 0;
    rgi_count(worker, read_pools);
    return rgm_pool_create(&pool, &worker->storage);
}

/* Whether it will get as far as a provider. */
static bool
will_begin(const struct rgm_worker *worker, const struct rgm_read_pooled *read)
{
    return (worker->provider->kinds >> RGM_OP_READ_POOLED & 1) != 0 &&
           read->stream->socket.open == 1;
}

int
rgi_storage_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_read_pooled *read = rgi_read_pooled_of(operation);
    int status = 0;

    if (will_begin(worker, read))
        status = storage_make(worker);
    if (status < 0)
        return status;
    read->pool = worker->storage;
    read->unnamed = true;
    status = rgi_operation_start(operation, worker->provider);
    if (status < 0) {
        read->pool = NULL;
        read->unnamed = false;
    }
    return status;
}

void
rgi_storage_close(struct rgm_worker *worker)
{
    rgm_pool_destroy(worker->storage);
    worker->storage = NULL;
}
