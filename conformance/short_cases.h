/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SHORT_CASES_H
#define CONFORMANCE_SHORT_CASES_H

/* short_cases.h - the suites of streams and files, where every transfer is one
 * byte, and whether that is so. */

#include "conformance/file_base_cases.h"
#include "conformance/file_cases.h"
#include "conformance/stream_cases.h"

/* Of a fixture. */
void short_set_up(struct stage *stage);
void short_clean_up(struct stage *stage);

#define SHORT_CASES(X, provider)                                               \
    X(provider##_only, cnf_07_every_transfer_is_one_byte)                      \
    FILE_BASE_CASES(X, provider##_file_base)                                   \
    FILE_CASES(X, provider##_file)                                             \
    STREAM_CASES(X, provider##_stream)

void cnf_07_every_transfer_is_one_byte(struct stage *stage);

#endif /* CONFORMANCE_SHORT_CASES_H */
