/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_READER_H
#define CAPABILITIES_READER_H

/* reader.h - how are the requests to a reader prepared? */

#include <ringmail/reader.h>

#define rgi_next_of(operation) ((struct rgm_next *)(void *)(operation))
#define rgi_exact_of(operation) ((struct rgm_exact *)(void *)(operation))

#endif /* CAPABILITIES_READER_H */
