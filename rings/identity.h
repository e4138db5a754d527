/* SPDX-License-Identifier: MIT */
#ifndef RINGS_IDENTITY_H
#define RINGS_IDENTITY_H

/*
 * identity.h - whose completion is this?
 *
 * The 64 bits the kernel hands back with every completion:
 *
 *     63       a cancel request's own completion; the rest is its target
 *     62 .. 48 serial of the submission, its low 15 bits
 *     47 ..  0 the operation's address, which is even
 *          0   set: not an operation but something the ring watches for itself
 *
 * With the serial in it, a cancel that is late by one life of the record names
 * nobody, instead of the operation that lives there now.
 */

#include <stddef.h>
#include <stdint.h>

#define RGI_IDENTITY_CANCEL (UINT64_C(1) << 63)
#define RGI_IDENTITY_MONITOR UINT64_C(1)
#define RGI_IDENTITY_ADDRESS_BITS 48
#define RGI_IDENTITY_SERIAL_MASK UINT32_C(0x7fff)

/* The bell's poll, and the pause before cancels are repeated; any odd numbers
 * would do. */
#define RGI_IDENTITY_BELL (RGI_IDENTITY_MONITOR | UINT64_C(2))
#define RGI_IDENTITY_PAUSE (RGI_IDENTITY_MONITOR | UINT64_C(4))

/* Whether a pointer leaves the other bits alone. User space has 47 bits on
 * x86-64 and 48 on AArch64, unless it asks for more. */
static inline int
rgi_identity_fits(const void *record)
{
    return ((uint64_t)(uintptr_t)record >> RGI_IDENTITY_ADDRESS_BITS) == 0 &&
           ((uintptr_t)record & RGI_IDENTITY_MONITOR) == 0;
}

static inline uint64_t
rgi_identity_of(const void *record, uint32_t serial)
{
    uint64_t high = serial & RGI_IDENTITY_SERIAL_MASK;

    return (uint64_t)(uintptr_t)record | high << RGI_IDENTITY_ADDRESS_BITS;
}

static inline void *
rgi_identity_record(uint64_t identity)
{
    uint64_t mask = (UINT64_C(1) << RGI_IDENTITY_ADDRESS_BITS) - 1;

    return (void *)(uintptr_t)(identity & mask);
}

#endif /* RINGS_IDENTITY_H */
