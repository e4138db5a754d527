/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SCRATCH_H
#define CONFORMANCE_SCRATCH_H

/* scratch.h - where do cases about files keep theirs? In a directory of the
 * case's own; what is in it is written and looked at by plain system calls. */

#include "conformance/harness.h"

#define HERE rgm_worker_address(0)

struct scratch {
    char directory[64];
    char path[96];
    char other[96];
};

/* Opens and closes the stage as well. */
void scratch_open(struct stage *stage, struct scratch *scratch);
void scratch_close(struct stage *stage, struct scratch *scratch);

/* Makes the file hold `text`. */
void scratch_put(const char *path, const char *text);

/* Whether the file holds `text` and no more. */
bool scratch_holds(const char *path, const char *text);

/* The descriptor of the file that is open under this path, found in the table
 * of the process; -1: none. */
int scratch_descriptor(const char *path);

/* These answer with the status. */
int file_open(struct stage *stage, struct rgm_file *file, const char *path,
              uint32_t flags);
int file_close(struct stage *stage, struct rgm_file *file);
int
file_import(struct stage *stage, struct rgm_file *file, int descriptor);

/* Opens scratch->path for reading and writing, and makes it if need be. */
void file_open_both(struct stage *stage, struct scratch *scratch,
                    struct rgm_file *file);

#endif /* CONFORMANCE_SCRATCH_H */
