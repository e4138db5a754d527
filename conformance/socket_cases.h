/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SOCKET_CASES_H
#define CONFORMANCE_SOCKET_CASES_H

/* socket_cases.h - what must every provider show of a socket's life? */

#include "conformance/harness.h"

#define SOCKET_CASES(X, suite)                                                 \
    X(suite, soc_01_life_of_sockets_of_each_family)                            \
    X(suite, soc_01_accept_and_connect_can_be_cancelled)                       \
    X(suite, soc_01_shutdown_and_close_cannot)                                 \
    X(suite, soc_02_options_are_typed)                                         \
    X(suite, soc_05_accept_in_a_race_is_never_leaked)                          \
    X(suite, soc_06_close_is_exclusive_and_once)                               \
    X(suite, soc_07_close_that_is_not_asked_closes_nothing_twice)              \
    X(suite, soc_08_close_leaves_operations_running)                           \
    X(suite, soc_10_cleanup_has_its_own_admission)                             \
    X(suite, shared_port_is_dealt_out)                                         \
    X(suite, soc_02_options_of_every_kind_of_socket)                           \
    X(suite, soc_13_defaults_are_on_both_sides)                                \
    X(suite, soc_13_zero_linger_resets)                                        \
    X(suite, soc_13_dialling_has_an_end)                                       \
    X(suite, soc_13_peer_that_takes_nothing_is_given_up)                       \
    X(suite, accepted_streams_have_no_delay)                                   \
    X(suite, field_b67_accept_fails_and_the_listener_lives)

SOCKET_CASES(CONFORM_DECLARE, socket)

#endif /* CONFORMANCE_SOCKET_CASES_H */
