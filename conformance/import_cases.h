/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_IMPORT_CASES_H
#define CONFORMANCE_IMPORT_CASES_H

/* import_cases.h - what must a provider with descriptors show of those that
 * somebody else has opened, and of its own when somebody else uses them? */

#include "conformance/harness.h"

#define IMPORT_CASES(X, suite)                                                 \
    X(suite, soc_03_imported_connections_go_on)                                \
    X(suite, soc_03_imported_listeners_keep_their_backlog)                     \
    X(suite, soc_03_imported_packet_sockets_keep_their_ends)                   \
    X(suite, soc_03_what_is_refused_stays_as_it_was)                           \
    X(suite, pkt_07_imports_refuse_the_other_kind)                             \
    X(suite, soc_04_connects_are_not_rolled_back)                              \
    X(suite, soc_04_hang_up_of_the_unconnected_is_forgotten)                   \
    X(suite, field_b73_imported_in_either_mode)                                \
    X(suite, cmp_08_a_lent_descriptor_is_used_beside_us)                       \
    X(suite, cmp_08_what_is_not_here_is_not_lent)

IMPORT_CASES(CONFORM_DECLARE, import)

#endif /* CONFORMANCE_IMPORT_CASES_H */
