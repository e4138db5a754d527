/* SPDX-License-Identifier: MIT */

/*
 * view.c - how long does memory live that several readers share?
 *
 * 1. A block begins with one holder. Each view of it is one more.
 * 2. Whoever adds a holder is one already, so the count cannot be zero then.
 * 3. Whoever takes the count to zero was the last and runs the release.
 *
 * Nothing can fail but a bad range. A count that would wrap aborts: it takes
 * four thousand million views of one block, which is a leak.
 */

#include <errno.h>

#include <ringmail/lease.h>

#include "base/assert.h"
#include "base/ck.h"

void
rgm_block_init(struct rgm_block *block, void (*release)(struct rgm_block *))
{
    block->release = release;
    ck_pr_store_32(&block->references, 1);
}

static void
block_hold(struct rgm_block *block)
{
    uint32_t before;

    if (block == NULL)
        return;
    /* block-references: publishes one more holder to whoever drops. No order
     * is needed: the caller is a holder, so no drop can find the last one
     * before this addition is undone. */
    before = ck_pr_faa_32(&block->references, 1);
    rgi_assert(before != 0 && before != UINT32_MAX);
}

void
rgm_block_drop(struct rgm_block *block)
{
    uint32_t before;

    if (block == NULL)
        return;
    /* block-references: publishes all that this holder did with the bytes to
     * the last holder. */
    ck_pr_fence_release();
    before = ck_pr_faa_32(&block->references, UINT32_MAX); /* minus one */
    rgi_assert(before != 0);
    if (before != 1)
        return;
    /* block-references: observes from every other holder that it has done, so
     * the release may reuse the bytes. */
    ck_pr_fence_acquire();
    block->release(block);
}

struct rgm_view
rgm_view_of(struct rgm_block *block, const void *data, size_t length_bytes)
{
    struct rgm_view view = {data, length_bytes, block};

    block_hold(block);
    return view;
}

struct rgm_view
rgm_view_clone(const struct rgm_view *view)
{
    block_hold(view->block);
    return *view;
}

/* Written so that no sum can wrap. */
static bool
range_is_inside(const struct rgm_view *view, size_t offset, size_t length)
{
    return offset <= view->length_bytes && length <= view->length_bytes - offset;
}

/* An offset of zero into no memory at all is not an addition C allows. */
static const void *
data_at(const struct rgm_view *view, size_t offset)
{
    return offset == 0 ? view->data : (const char *)view->data + offset;
}

int
rgm_view_range(const struct rgm_view *view, size_t offset_bytes,
               size_t length_bytes, struct rgm_view *ret_view)
{
    if (ret_view == view || !range_is_inside(view, offset_bytes, length_bytes))
        return -EINVAL;
    *ret_view =
        rgm_view_of(view->block, data_at(view, offset_bytes), length_bytes);
    return 0;
}

int
rgm_view_narrow(struct rgm_view *view, size_t offset_bytes, size_t length_bytes)
{
    if (!range_is_inside(view, offset_bytes, length_bytes))
        return -EINVAL;
    view->data = data_at(view, offset_bytes);
    view->length_bytes = length_bytes;
    return 0;
}

void
rgm_view_drop(struct rgm_view *view)
{
    struct rgm_block *block;

    if (view == NULL)
        return;
    /* Emptied first: the release may free what the view itself is in. */
    block = view->block;
    *view = (struct rgm_view){NULL, 0, NULL};
    rgm_block_drop(block);
}
