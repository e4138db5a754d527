/* SPDX-License-Identifier: MIT */

/* other_faults.c - what can be wrong with packets, children and time? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"
#include "conformance/faults/kit.h"

/* ------------------------------------------------------------------- packets */

ON_COMPLETE(packet_is_cut_silently, RGM_OP_PACKET_READ, rgm_packet_read)
{
    (void)status;
    it->truncated = false;
    it->length_bytes = it->count;
}

ON_COMPLETE(packet_empty_is_an_error, RGM_OP_PACKET_READ, rgm_packet_read)
{
    if (*status == 0 && it->count == 0)
        *status = -ENODATA;
}

ON_COMPLETE(packet_has_no_source, RGM_OP_PACKET_READ, rgm_packet_read)
{
    (void)status;
    it->source_length_bytes = 0;
}

ON_COMPLETE(packet_refusal_is_hidden, RGM_OP_PACKET_READ, rgm_packet_read)
{
    (void)it;
    if (*status == -ECONNREFUSED)
        *status = 0;
}

SET_MEANWHILE(packet_write_takes_one_piece, RGM_OP_PACKET_WRITE,
              rgm_packet_write, vectors_count,
              it->vectors_count > 1 ? 1 : it->vectors_count)

SET_MEANWHILE(packet_read_takes_one_piece, RGM_OP_PACKET_READ, rgm_packet_read,
              vectors_count, it->vectors_count > 1 ? 1 : it->vectors_count)

SET_MEANWHILE(packet_flags_are_forgotten, RGM_OP_PACKET_READ, rgm_packet_read,
              flags, 0)

ON_COMPLETE(packet_too_long_is_hidden, RGM_OP_PACKET_WRITE, rgm_packet_write)
{
    (void)it;
    *status = 0;
}

ON_COMPLETE(packet_open_forgets_its_port, RGM_OP_PACKET_OPEN, rgm_packet_open)
{
    (void)status;
    it->local.port = 0;
}

/* ------------------------------------------------- packets into a pool's slot */

ON_COMPLETE(datagram_is_cut_silently, RGM_OP_PACKET_READ_POOLED,
            rgm_packet_read_pooled)
{
    (void)status;
    it->truncated = false;
    it->length_bytes = it->count;
}

ON_COMPLETE(datagram_lacks_a_byte, RGM_OP_PACKET_READ_POOLED,
            rgm_packet_read_pooled)
{
    if (*status == 0 && it->count > 0)
        it->count--;
}

ON_COMPLETE(datagram_has_no_source, RGM_OP_PACKET_READ_POOLED,
            rgm_packet_read_pooled)
{
    (void)status;
    it->source_length_bytes = 0;
}

/* ------------------------------------------------------------------ children */

ON_COMPLETE(child_status_is_zero, RGM_OP_CHILD_WAIT, rgm_child_wait)
{
    (void)status;
    it->status = 0;
}

ON_COMPLETE(child_always_exits, RGM_OP_CHILD_WAIT, rgm_child_wait)
{
    (void)status;
    it->event = RGM_CHILD_HAS_EXITED;
}

SET_MEANWHILE(child_is_any, RGM_OP_CHILD_WAIT, rgm_child_wait, select,
              RGM_CHILD_ANY)

SET_MEANWHILE(child_flags_are_forgotten, RGM_OP_CHILD_WAIT, rgm_child_wait,
              flags, it->flags & 1)

/* ---------------------------------------------------------------------- time */

/* Some calls are answered with what was a while ago. */
static uint64_t
time_steps_back(uint64_t now_ns)
{
    static uint32_t calls;
    uint32_t call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);

    return call % 3 == 0 ? now_ns - 50 * RGM_NS_PER_MS : now_ns;
}

/* Twice as fast as everybody else's. */
static uint64_t
time_runs_fast(uint64_t now_ns)
{
    static uint64_t first_ns;

    if (__atomic_load_n(&first_ns, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&first_ns, now_ns, __ATOMIC_RELAXED);
    return 2 * now_ns - __atomic_load_n(&first_ns, __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------------- all */

const struct fault other_faults[] = {
    COMPLETES(packet_is_cut_silently, PACKET_READ),
    COMPLETES(packet_empty_is_an_error, PACKET_READ),
    COMPLETES(packet_has_no_source, PACKET_READ),
    COMPLETES(packet_refusal_is_hidden, PACKET_READ),
    WRAPS(packet_write_takes_one_piece, PACKET_WRITE,
          packet_write_takes_one_piece),
    WRAPS(packet_read_takes_one_piece, PACKET_READ,
          packet_read_takes_one_piece),
    WRAPS(packet_flags_are_forgotten, PACKET_READ, packet_flags_are_forgotten),
    CANCEL_WINS(packet_cancel_beats_progress, PACKET_READ),
    CANCEL_IS_LOST(packet_cancel_is_not_heard, PACKET_READ),
    WAKE_IS_LOST(packet_wake_is_lost, PACKET_READ),
    COMPLETES(packet_too_long_is_hidden, PACKET_WRITE),
    COMPLETES(packet_open_forgets_its_port, PACKET_OPEN),
    COMPLETES(child_status_is_zero, CHILD_WAIT),
    COMPLETES(child_always_exits, CHILD_WAIT),
    CANCEL_IS_LOST(child_cancel_is_not_heard, CHILD_WAIT),
    WRAPS(child_is_any, CHILD_WAIT, child_is_any),
    WRAPS(child_flags_are_forgotten, CHILD_WAIT, child_flags_are_forgotten),
    WAKE_IS_LOST(child_wake_is_lost, CHILD_WAIT),
    {.name = "time_runs_fast", .kind = FAULT_OF_ALL, .now = time_runs_fast},
    {.name = "deadline_is_slept_through",
     .kind = FAULT_OF_ALL,
     .sleeps_through = true},
    {.name = "bell_is_not_told",
     .kind = FAULT_OF_ALL,
     .is_coarse = true,
     .is_deaf = true},
    {.name = "time_steps_back", .kind = FAULT_OF_ALL, .now = time_steps_back},
    COMPLETES(datagram_is_cut_silently, PACKET_READ_POOLED),
    COMPLETES(datagram_lacks_a_byte, PACKET_READ_POOLED),
    COMPLETES(datagram_has_no_source, PACKET_READ_POOLED),
    CANCEL_WINS(datagram_cancel_beats_progress, PACKET_READ_POOLED),
    CANCEL_IS_LOST(datagram_cancel_is_not_heard, PACKET_READ_POOLED),
    {.name = NULL},
};
