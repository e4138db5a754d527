/* SPDX-License-Identifier: MIT */

/* short_epoll_test.c - do streams and files pass on an epoll set where every transfer
 * of a call is one byte? */

#include "conformance/short_cases.h"

static const struct stage_fixture shortened = {.class = &rgm_provider_epoll,
                                               .set_up = short_set_up,
                                               .clean_up = short_clean_up};

#define SUITES(X) SHORT_CASES(X, short_epoll)

CONFORM_FIXTURE(shortened, SUITES)
