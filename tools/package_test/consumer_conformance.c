/* SPDX-License-Identifier: MIT */
/*
 * consumer_conformance.c - can a program outside the tree run a suite?
 *
 * On a provider of the library's; what an own one looks like is told by
 * samples/provider_template.
 */

#include "conformance/conformance.h"

#define SUITES(X) CLOCK_CASES(X, outside_clock)

CONFORM(rgm_provider_threads, SUITES)
