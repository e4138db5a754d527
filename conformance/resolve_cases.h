/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_RESOLVE_CASES_H
#define CONFORMANCE_RESOLVE_CASES_H

/* resolve_cases.h - what must name resolution show? No name server is asked. */

#include "conformance/harness.h"

#define RESOLVE_CASES(X, suite)                                                \
    X(suite, res_01_numeric_names_become_addresses)                            \
    X(suite, res_01_queued_look_up_can_be_cancelled)                           \
    X(suite, res_01_nothing_is_looked_up_before_the_ask)                       \
    X(suite, res_02_order_duplicates_and_scopes_are_kept)                      \
    X(suite, res_03_looking_through_allocates_nothing)                         \
    X(suite, res_04_list_is_freed_once_by_the_last)                            \
    X(suite, res_05_errors_say_who_failed)                                     \
    X(suite, res_06_cancelled_look_up_ends_with_its_call)                      \
    X(suite, res_07_lists_are_shared_between_threads)                          \
    X(suite, res_07_arrays_are_lists_too)                                      \
    X(suite, field_b82_look_ups_delay_nobody_else)

RESOLVE_CASES(CONFORM_DECLARE, resolve)

#endif /* CONFORMANCE_RESOLVE_CASES_H */
