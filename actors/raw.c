/* SPDX-License-Identifier: MIT */

/* raw.c - how is a handle's descriptor lent? The loan is counted like an operation
 * that is out, which is what keeps a close away; the provider is asked which
 * descriptor it is. */

#include <ringmail/raw.h>

#include <errno.h>

#include "actors/worker.h"

static int
check(const struct rgm_worker *worker, const struct rgm_socket *handle)
{
    if (worker->is_guest || handle == NULL)
        return -EINVAL;
    if (handle->open != 1)
        return -EBADF;
    if (rgm_address_worker(handle->worker) != worker->number)
        return -EXDEV;
    if (!rgi_handle_is_here(worker, handle->worker))
        return -EINVAL;
    return worker->provider->ops->descriptor == NULL ? -ENOTSUP : 0;
}

int
rgm_raw_borrow_from(struct rgm_actor *self, struct rgm_socket *handle,
                    struct rgm_raw *ret_raw)
{
    struct rgm_worker *worker = self->worker;
    int status, descriptor;

    rgi_assert(rgi_is_owner(worker));
    status = check(worker, handle);
    if (status < 0)
        return status;
    descriptor =
        worker->provider->ops->descriptor(worker->provider, handle->resource);
    if (descriptor < 0)
        return descriptor;
    handle->busy++;
    *ret_raw = (struct rgm_raw){.handle = handle, .descriptor = descriptor};
    return 0;
}

void
rgm_raw_give_back_to(struct rgm_actor *self, struct rgm_raw *raw)
{
    rgi_assert(rgi_is_owner(self->worker));
    if (raw->handle == NULL)
        return;
    rgi_assert(raw->handle->busy > 0);
    raw->handle->busy--;
    *raw = (struct rgm_raw){.handle = NULL};
}
