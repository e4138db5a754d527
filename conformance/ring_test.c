/* SPDX-License-Identifier: MIT */

/* ring_test.c - does the ring provider keep the contract? */

#include "conformance/acquire_cases.h"
#include "conformance/cancel_cases.h"
#include "conformance/child_cases.h"
#include "conformance/clock_cases.h"
#include "conformance/crowd_cases.h"
#include "conformance/dedicated_cases.h"
#include "conformance/detach_cases.h"
#include "conformance/ending_cases.h"
#include "conformance/file_cases.h"
#include "conformance/job_cases.h"
#include "conformance/lifecycle_cases.h"
#include "conformance/mechanics_cases.h"
#include "conformance/owner_cases.h"
#include "conformance/packet_cases.h"
#include "conformance/pooled_cases.h"
#include "conformance/reentrancy_cases.h"
#include "conformance/ring_cases.h"
#include "conformance/reader_cases.h"
#include "conformance/resolve_cases.h"
#include "conformance/send_file_cases.h"
#include "conformance/retire_cases.h"
#include "conformance/shutdown_cases.h"
#include "conformance/signal_cases.h"
#include "conformance/timer_cases.h"
#include "conformance/socket_cases.h"
#include "conformance/stream_cases.h"
#include "conformance/transfer_cases.h"
#include "conformance/worker_lease_cases.h"
#include "conformance/writer_cases.h"

#define SUITES(X)                                                              \
    ACQUIRE_CASES(X, ring_acquire)                                             \
    CANCEL_CASES(X, ring_cancel)                                               \
    CLOCK_CASES(X, ring_clock)                                                 \
    CROWD_CASES(X, ring_crowd)                                                 \
    DEDICATED_CASES(X, ring_dedicated)                                         \
    REENTRANCY_CASES(X, ring_reentrancy)                                       \
    DETACH_CASES(X, ring_detach)                                               \
    FILE_CASES(X, ring_file)                                                   \
    ENDING_CASES(X, ring_ending)                                               \
    OWNER_CASES(X, ring_owner)                                                 \
    PACKET_CASES(X, ring_packet)                                               \
    CHILD_CASES(X, ring_child)                                                 \
    READER_CASES(X, ring_reader)                                               \
    RESOLVE_CASES(X, ring_resolve)                                             \
    JOB_CASES(X, ring_job)                                                     \
    LIFECYCLE_CASES(X, ring_lifecycle)                                         \
    MECHANICS_CASES(X, ring_mechanics)                                         \
    POOLED_CASES(X, ring_pooled)                                               \
    RING_CASES(X, ring_only)                                                   \
    SEND_FILE_CASES(X, ring_send_file)                                         \
    RETIRE_CASES(X, ring_retire)                                               \
    SHUTDOWN_CASES(X, ring_shutdown)                                           \
    SIGNAL_CASES(X, ring_signal)                                               \
    TIMER_CASES(X, ring_timer)                                                 \
    STREAM_CASES(X, ring_stream)                                               \
    SOCKET_CASES(X, ring_socket)                                               \
    TRANSFER_CASES(X, ring_transfer)                                           \
    TRANSFER_RING_CASES(X, ring_transfer)                                      \
    WORKER_LEASE_CASES(X, ring_worker_lease)                                   \
    WRITER_CASES(X, ring_writer)                                               \
    WRITER_RING_CASES(X, ring_writer)

CONFORM(rgm_provider_ring, SUITES)
