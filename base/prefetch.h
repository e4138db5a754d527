/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_PREFETCH_H
#define RGI_BASE_PREFETCH_H

/*
 * prefetch.h - how is memory fetched that will be written soon?
 *
 * A line that another core has written and we shall write is fetched for
 * writing at once: fetched for reading it would cost a second way. For x86-64
 * compilers emit the fetch for reading unless they are told of a newer machine;
 * the other has been on all 64-bit processors, if only as a no-op.
 */

/* Wherever it points, it is an address and no object. */
static inline void
rgi_prefetch_write(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif /* RGI_BASE_PREFETCH_H */
