/* SPDX-License-Identifier: MIT */

/* threads_test.c - does the threads provider keep the contract? */

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
#include "conformance/reader_cases.h"
#include "conformance/resolve_cases.h"
#include "conformance/send_file_cases.h"
#include "conformance/retire_cases.h"
#include "conformance/shutdown_cases.h"
#include "conformance/signal_cases.h"
#include "conformance/timer_cases.h"
#include "conformance/socket_cases.h"
#include "conformance/stream_cases.h"
#include "conformance/reentrancy_cases.h"
#include "conformance/threads_cases.h"
#include "conformance/transfer_cases.h"
#include "conformance/worker_lease_cases.h"
#include "conformance/writer_cases.h"

#define SUITES(X)                                                              \
    ACQUIRE_CASES(X, threads_acquire)                                          \
    CANCEL_CASES(X, threads_cancel)                                            \
    CLOCK_CASES(X, threads_clock)                                              \
    CROWD_CASES(X, threads_crowd)                                              \
    DEDICATED_CASES(X, threads_dedicated)                                      \
    REENTRANCY_CASES(X, threads_reentrancy)                                    \
    DETACH_CASES(X, threads_detach)                                            \
    FILE_CASES(X, threads_file)                                                \
    ENDING_CASES(X, threads_ending)                                            \
    OWNER_CASES(X, threads_owner)                                              \
    PACKET_CASES(X, threads_packet)                                            \
    CHILD_CASES(X, threads_child)                                              \
    READER_CASES(X, threads_reader)                                            \
    RESOLVE_CASES(X, threads_resolve)                                          \
    JOB_CASES(X, threads_job)                                                  \
    LIFECYCLE_CASES(X, threads_lifecycle)                                      \
    MECHANICS_CASES(X, threads_mechanics)                                      \
    POOLED_CASES(X, threads_pooled)                                            \
    SEND_FILE_CASES(X, threads_send_file)                                      \
    RETIRE_CASES(X, threads_retire)                                            \
    SHUTDOWN_CASES(X, threads_shutdown)                                        \
    SIGNAL_CASES(X, threads_signal)                                            \
    TIMER_CASES(X, threads_timer)                                              \
    THREADS_CASES(X, threads_only)                                             \
    STREAM_CASES(X, threads_stream)                                            \
    SOCKET_CASES(X, threads_socket)                                            \
    TRANSFER_CASES(X, threads_transfer)                                        \
    WORKER_LEASE_CASES(X, threads_worker_lease)                                \
    WRITER_CASES(X, threads_writer)

CONFORM(rgm_provider_threads, SUITES)
