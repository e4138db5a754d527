/* SPDX-License-Identifier: MIT */

/*
 * transit.c - who has a descriptor that no worker has?
 *
 * 1. enter   a serial that was never given, origin, then the serial's store
 * 2. claim   a compare-and-swap of the serial with nothing: one caller wins
 * 3. sweep   claims and closes what is of one origin
 *
 * The table is of the process, as descriptors are, and is as large as it can
 * get: pages that nobody enters anything in are never there.
 */

#include "capabilities/transit.h"

#include <errno.h>
#include <unistd.h>

#include <ringmail/detach.h>

#include "base/assert.h"

/* Atomic, both: transit-serial, transit-origin. */
struct entry {
    uint64_t serial; /* 0: not in transit */
    uint64_t origin;
};

static struct entry entries[RGI_TRANSIT_MAX];
static uint64_t last_serial;   /* atomic: transit-last */
static uint32_t entered_below; /* atomic: transit-bound */

static void
bound_raise(uint32_t bound)
{
    uint32_t seen = __atomic_load_n(&entered_below, __ATOMIC_RELAXED);

    while (seen < bound &&
           !__atomic_compare_exchange_n(&entered_below, &seen, bound, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

int
rgi_transit_enter(uint64_t origin, int descriptor, uint64_t *ret_serial)
{
    struct entry *entry;
    uint64_t serial;

    rgi_assert(descriptor >= 0);
    if (descriptor >= RGI_TRANSIT_MAX)
        return -EMFILE;
    entry = &entries[descriptor];
    serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
    bound_raise((uint32_t)descriptor + 1);
    __atomic_store_n(&entry->origin, origin, __ATOMIC_RELAXED);
    /* transit-serial: publishes the origin, and that we are done with it. */
    __atomic_store_n(&entry->serial, serial, __ATOMIC_RELEASE);
    *ret_serial = serial;
    return 0;
}

bool
rgi_transit_claim(int descriptor, uint64_t serial)
{
    if (descriptor < 0 || descriptor >= RGI_TRANSIT_MAX || serial == 0)
        return false;
    /* transit-serial: observes what its last owner did. */
    return __atomic_compare_exchange_n(&entries[descriptor].serial, &serial, 0,
                                       false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

uint32_t
rgi_transit_sweep(uint64_t origin)
{
    uint32_t bound = __atomic_load_n(&entered_below, __ATOMIC_RELAXED);
    uint32_t count = 0;

    for (uint32_t i = 0; i < bound; i++) {
        /* transit-serial: the origin read next is of this one, if the claim
         * finds it still there. */
        uint64_t serial = __atomic_load_n(&entries[i].serial, __ATOMIC_ACQUIRE);

        if (serial == 0 ||
            __atomic_load_n(&entries[i].origin, __ATOMIC_RELAXED) != origin ||
            !rgi_transit_claim((int)i, serial))
            continue;
        (void)close((int)i);
        count++;
    }
    return count;
}

int
rgm_detached_close(struct rgm_detached *detached)
{
    static const struct rgm_detached nothing;
    struct rgm_detached was = *detached;

    *detached = nothing;
    rgm_view_drop(&was.unread);
    if (was.serial == 0 || was.serial == RGI_TRANSIT_SCRIPTED)
        return 0;
    if (!rgi_transit_claim(was.resource, was.serial))
        return -EBADF;
    return close(was.resource) < 0 ? -errno : 0;
}
