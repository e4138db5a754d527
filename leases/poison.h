/* SPDX-License-Identifier: MIT */
#ifndef LEASES_POISON_H
#define LEASES_POISON_H

/*
 * poison.h - how does AddressSanitizer learn that a slot is free?
 *
 * A slot's memory is allocated all the time, so a late write to a slot that has
 * gone home looks fine to the sanitizer unless it is told. Without the sanitizer
 * both calls are nothing.
 */

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define RGI_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RGI_POISONS 1
#endif
#endif

#ifdef RGI_POISONS

#include <sanitizer/asan_interface.h>

/* Any access from now on is reported. */
static inline void
rgi_poison(const void *memory, size_t size_bytes)
{
    __asan_poison_memory_region(memory, size_bytes);
}

/* Accesses are right again. */
static inline void
rgi_unpoison(const void *memory, size_t size_bytes)
{
    __asan_unpoison_memory_region(memory, size_bytes);
}

#else

static inline void
rgi_poison(const void *memory, size_t size_bytes)
{
    (void)memory;
    (void)size_bytes;
}

static inline void
rgi_unpoison(const void *memory, size_t size_bytes)
{
    (void)memory;
    (void)size_bytes;
}

#endif

#endif /* LEASES_POISON_H */
