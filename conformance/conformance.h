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

#include "conformance/acquire_cases.h"
#include "conformance/cancel_cases.h"
#include "conformance/child_cases.h"
#include "conformance/clock_cases.h"
#include "conformance/crowd_cases.h"
#include "conformance/ending_cases.h"
#include "conformance/file_cases.h"
#include "conformance/job_cases.h"
#include "conformance/lifecycle_cases.h"
#include "conformance/mechanics_cases.h"
#include "conformance/packet_cases.h"
#include "conformance/pooled_cases.h"
#include "conformance/reader_cases.h"
#include "conformance/resolve_cases.h"
#include "conformance/shutdown_cases.h"
#include "conformance/socket_cases.h"
#include "conformance/stream_cases.h"
#include "conformance/transfer_cases.h"
#include "conformance/worker_lease_cases.h"
#include "conformance/writer_cases.h"

#endif /* CONFORMANCE_CONFORMANCE_H */
