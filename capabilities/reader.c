/* SPDX-License-Identifier: MIT */

/* reader.c - how are the requests to a reader prepared? */

#include "capabilities/reader.h"

#include <errno.h>

#include "capabilities/operation.h"

RGI_OPERATION_TYPE(next, rgm_next, 1);
RGI_OPERATION_TYPE(exact, rgm_exact, 1);
RGI_OPERATION_TYPE(reader_close, rgm_reader_close, 1);

static void
prepare(struct rgm_operation *operation, enum rgm_operation_kind kind,
        const struct rgm_message_type *type, const struct rgm_reader *reader)
{
    rgi_operation_prepare_on(operation, kind, type,
                             reader != NULL ? &reader->worker : NULL,
                             type->size_bytes);
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
