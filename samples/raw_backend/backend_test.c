/* SPDX-License-Identifier: MIT */

/* backend_test.c - does a backend with raw access to a ring's descriptors keep
 * what a provider of streams and files keeps? */

#include "conformance/conformance.h"
#include "samples/raw_backend/backend.h"

#define SUITES(X)                                                              \
    FILE_BASE_CASES(X, raw_file_base)                                   \
    STREAM_BASE_CASES(X, raw_stream)

CONFORM(backend_provider, SUITES)
