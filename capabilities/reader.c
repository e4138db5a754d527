/* SPDX-License-Identifier: MIT */

/* reader.c - how are the requests to a reader prepared? */

#include "capabilities/reader.h"

#include <errno.h>

#include "capabilities/operation.h"

#define OPERATION_TYPE(t, record)                                              \
    const struct rgm_message_type rgi_type_##t = {                             \
        .name = "rgm_" #t,                                                     \
        .size_bytes = sizeof(struct record),                                   \
        .header_offset = offsetof(struct rgm_request, message),                \
        .kind = RGM_KIND_OPERATION,                                            \
        .late = 1, /* a peer may take its time */                              \
    }

OPERATION_TYPE(next, rgm_next);
OPERATION_TYPE(exact, rgm_exact);
OPERATION_TYPE(reader_close, rgm_reader_close);

static void
prepare(struct rgm_operation *operation, enum rgm_operation_kind kind,
        const struct rgm_message_type *type, const struct rgm_reader *reader)
{
    struct rgm_address where = {0};

    if (reader != NULL)
        where = reader->worker;
    rgi_operation_prepare(operation, kind, type, where);
    if (reader == NULL)
        rgi_operation_refuse(operation, -EINVAL);
    else if (where.bits == 0)
        rgi_operation_refuse(operation, -EBADF);
}

void
rgm_reader_next(struct rgm_next *next, struct rgm_reader *reader)
{
    prepare(&next->operation, RGM_OP_NEXT, &rgi_type_next, reader);
    next->reader = reader;
}

void
rgm_reader_exact(struct rgm_exact *exact, struct rgm_reader *reader,
                 void *memory, size_t length_bytes)
{
    prepare(&exact->operation, RGM_OP_EXACT, &rgi_type_exact, reader);
    exact->reader = reader;
    exact->memory = memory;
    exact->length_bytes = length_bytes;
    if (memory == NULL && length_bytes > 0)
        rgi_operation_refuse(&exact->operation, -EINVAL);
}

void
rgm_reader_close(struct rgm_reader_close *close, struct rgm_reader *reader)
{
    prepare(&close->operation, RGM_OP_READER_CLOSE, &rgi_type_reader_close,
            reader);
    close->reader = reader;
}
