/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_CONFORMANCE_H
#define CONFORMANCE_CONFORMANCE_H

/*
 * conformance.h - which suites can a provider claim?
 *
 * One per capability, each a list of cases. A provider names those it has, and
 * gets one test per case:
 *
 *     #include "conformance/conformance.h"
 *
 *     #define SUITES(X)                                                \
 *         CLOCK_CASES(X, mine_clock)                                   \
 *         STREAM_CASES(X, mine_stream)
 *
 *     CONFORM(my_provider_class, SUITES)
 *
 * The tests are Criterion's, or with -DRGI_PLAIN_MAIN=1 one plain program that
 * takes a filter. What is not named is absent: a green total says nothing of it.
 */

#include "conformance/abroad_cases.h"
#include "conformance/acquire_cases.h"
#include "conformance/cancel_cases.h"
#include "conformance/child_cases.h"
#include "conformance/clock_cases.h"
#include "conformance/crowd_cases.h"
#include "conformance/datagram_cases.h"
#include "conformance/dedicated_cases.h"
#include "conformance/detach_cases.h"
#include "conformance/ending_cases.h"
#include "conformance/endurance_cases.h"
#include "conformance/file_base_cases.h"
#include "conformance/file_cases.h"
#include "conformance/file_lane_cases.h"
#include "conformance/import_cases.h"
#include "conformance/job_cases.h"
#include "conformance/later_cases.h"
#include "conformance/lifecycle_cases.h"
#include "conformance/locality_cases.h"
#include "conformance/mechanics_cases.h"
#include "conformance/owner_cases.h"
#include "conformance/packet_cases.h"
#include "conformance/pooled_cases.h"
#include "conformance/race_cases.h"
#include "conformance/reader_cases.h"
#include "conformance/receiver_cases.h"
#include "conformance/reentrancy_cases.h"
#include "conformance/resolve_cases.h"
#include "conformance/retire_cases.h"
#include "conformance/send_file_cases.h"
#include "conformance/shutdown_cases.h"
#include "conformance/signal_cases.h"
#include "conformance/socket_cases.h"
#include "conformance/storage_cases.h"
#include "conformance/stream_cases.h"
#include "conformance/timer_cases.h"
#include "conformance/traffic_cases.h"
#include "conformance/transfer_cases.h"
#include "conformance/vector_cases.h"
#include "conformance/worker_lease_cases.h"
#include "conformance/writer_cases.h"

/* All suites, for a provider of everything; their names begin with its own. */
#define CONFORM_ALL_CASES(X, provider)                                         \
    ABROAD_CASES(X, provider##_abroad)                                         \
    ACQUIRE_CASES(X, provider##_acquire)                                       \
    CANCEL_CASES(X, provider##_cancel)                                         \
    CHILD_CASES(X, provider##_child)                                           \
    CLOCK_CASES(X, provider##_clock)                                           \
    CROWD_CASES(X, provider##_crowd)                                           \
    DATAGRAM_CASES(X, provider##_datagram)                                     \
    DEDICATED_CASES(X, provider##_dedicated)                                   \
    DETACH_CASES(X, provider##_detach)                                         \
    ENDING_CASES(X, provider##_ending)                                         \
    ENDURANCE_CASES(X, provider##_endurance)                                   \
    FILE_BASE_CASES(X, provider##_file_base)                                   \
    FILE_CASES(X, provider##_file)                                             \
    FILE_LANE_CASES(X, provider##_file_lane)                                   \
    VECTOR_CASES(X, provider##_vector)                                         \
    IMPORT_CASES(X, provider##_import)                                         \
    JOB_CASES(X, provider##_job)                                               \
    LATER_CASES(X, provider##_later)                                           \
    LIFECYCLE_CASES(X, provider##_lifecycle)                                   \
    LOCALITY_CASES(X, provider##_locality)                                     \
    MECHANICS_CASES(X, provider##_mechanics)                                   \
    OWNER_CASES(X, provider##_owner)                                           \
    PACKET_CASES(X, provider##_packet)                                         \
    POOLED_CASES(X, provider##_pooled)                                         \
    RACE_CASES(X, provider##_race)                                             \
    READER_CASES(X, provider##_reader)                                         \
    RECEIVER_CASES(X, provider##_receiver)                                     \
    REENTRANCY_CASES(X, provider##_reentrancy)                                 \
    RESOLVE_CASES(X, provider##_resolve)                                       \
    RETIRE_CASES(X, provider##_retire)                                         \
    SEND_FILE_CASES(X, provider##_send_file)                                   \
    SHUTDOWN_CASES(X, provider##_shutdown)                                     \
    SIGNAL_CASES(X, provider##_signal)                                         \
    SOCKET_CASES(X, provider##_socket)                                         \
    STORAGE_CASES(X, provider##_storage)                                       \
    STREAM_CASES(X, provider##_stream)                                         \
    TIMER_CASES(X, provider##_timer)                                           \
    TRAFFIC_CASES(X, provider##_traffic)                                       \
    TRANSFER_CASES(X, provider##_transfer)                                     \
    WORKER_LEASE_CASES(X, provider##_worker_lease)                             \
    WRITER_CASES(X, provider##_writer)

#endif /* CONFORMANCE_CONFORMANCE_H */
