/* SPDX-License-Identifier: MIT */

/* stream_test.c - do streams on an epoll set keep their promises? */

#define STREAM_CLASS (&rgm_provider_epoll)
#include "capabilities/provider_test.h"

#define CASES(X) STREAM_CASES(X, epoll_stream)

RGI_CASES(CASES)
