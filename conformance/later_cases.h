/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_LATER_CASES_H
#define CONFORMANCE_LATER_CASES_H

/* later_cases.h - what must be shown of messages that are sent later? */

#include "conformance/harness.h"

#define LATER_CASES(X, suite)                                                  \
    X(suite, later_messages_are_sent_in_time_and_come_home)                    \
    X(suite, later_messages_can_be_cancelled)                                  \
    X(suite, later_messages_end_with_their_actor)                              \
    X(suite, later_messages_are_charged_and_take_places)

LATER_CASES(CONFORM_DECLARE, later)

#endif /* CONFORMANCE_LATER_CASES_H */
