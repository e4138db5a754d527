/* SPDX-License-Identifier: MIT */

/*
 * transit.c - who has a descriptor that no worker has?
 *
 * 1. enter   a serial that was never given, origin, then the serial's store
 * 2. claim   a compare-and-swap of the serial with nothing: one caller wins
 * 3. sweep   claims and closes what is of one origin
 *
 * The table is of the process, as descriptors are, and is as large as it can
 * get: pages that nobody enters anything in are never there. It is mapped by
 * whoever first enters something, so that a process that detaches nothing has no
 * address space for it, nor a leak checker sixteen MiB to look through.
 */

#include "capabilities/transit.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ringmail/detach.h>

#include "base/assert.h"

/* Atomic, both: transit-serial, transit-origin. */
struct entry {
    uint64_t serial; /* 0: not in transit */
    uint64_t origin;
};

static struct entry *table;    /* atomic: transit-table; NULL: none yet */
static uint64_t last_serial;   /* atomic: transit-last */
static uint32_t entered_below; /* atomic: transit-bound */

#define TABLE_BYTES (RGI_TRANSIT_MAX * sizeof(struct entry))

static inline struct entry *
table_there(void)
{
    /* transit-table: observes that it is all zero. */
    return __atomic_load_n(&table, __ATOMIC_ACQUIRE);
}

/* NULL: no memory. Two that find none make one each, and one of them goes. */
static struct entry *
table_made(void)
{
    struct entry *there = table_there();
    void *made;

    if (there != NULL)
        return there;
    made = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    /* transit-table: publishes zeroes, to whoever looks an entry up. */
    if (__atomic_compare_exchange_n(&table, &there, made, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    (void)munmap(made, TABLE_BYTES);
    return there;
}

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
    entry = table_made();
    if (entry == NULL)
        return -ENOMEM;
    entry += descriptor;
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
    struct entry *entries = table_there();

    if (entries == NULL || descriptor < 0 || descriptor >= RGI_TRANSIT_MAX ||
        serial == 0)
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
    struct entry *entries = table_there();
    uint32_t count = 0;

    for (uint32_t i = 0; entries != NULL && i < bound; i++) {
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
