/* SPDX-License-Identifier: MIT */

/* stream_test.c - do streams on the plain provider keep their promises? */

#define STREAM_CLASS (&rgm_provider_threads)
#include "capabilities/provider_test.h"

#define CASES(X) STREAM_CASES(X, threads_stream)

RGI_CASES(CASES)
