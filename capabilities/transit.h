/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_TRANSIT_H
#define CAPABILITIES_TRANSIT_H

/*
 * transit.h - who has a descriptor that no worker has?
 *
 *     a worker --enter--> in transit --claim--> another worker, or close
 *                              '---- sweep ---> closed with its runtime
 *
 * One entry per descriptor number of the process. It holds the serial of what
 * is in transit, which no two ever share, so that of all copies of a value one
 * claims it, and a number that was closed and opened again is not taken for
 * what it was.
 */

#include <ringmail/base.h>

/* Descriptors are small numbers: open(2), RLIMIT_NOFILE of getrlimit(2). */
#define RGI_TRANSIT_MAX (1 << 20)

/* The serial of what a script detached: no descriptor is behind it. */
#define RGI_TRANSIT_SCRIPTED UINT64_MAX

/*
 * Thread:  any that has the descriptor.
 * Owns:    on 0 whoever claims *ret_serial gets the descriptor.
 * Returns: 0; -EMFILE when the number is RGI_TRANSIT_MAX or more; -ENOMEM when it
 *          is the process's first and there is no address space for a table.
 */
RGM_MUST_USE int rgi_transit_enter(uint64_t origin, int descriptor,
                                   uint64_t *ret_serial);

/* Thread: any. Returns: whether the descriptor is the caller's now. */
RGM_MUST_USE bool rgi_transit_claim(int descriptor, uint64_t serial);

/*
 * Closes all that came from there. Thread: any, when nothing comes from there
 * any more. Returns: how many.
 */
uint32_t rgi_transit_sweep(uint64_t origin);

#endif /* CAPABILITIES_TRANSIT_H */
