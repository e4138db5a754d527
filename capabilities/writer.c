/* SPDX-License-Identifier: MIT */

/* writer.c - how are the requests to a writer prepared? */

#include "capabilities/writer.h"

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

OPERATION_TYPE(submit, rgm_submit);
OPERATION_TYPE(flush, rgm_flush);
OPERATION_TYPE(writer_close, rgm_writer_close);
OPERATION_TYPE(receipt, rgm_receipt);

static void
prepare(struct rgm_operation *operation, enum rgm_operation_kind kind,
        const struct rgm_message_type *type, const struct rgm_writer *writer)
{
    struct rgm_address where = {0};

    if (writer != NULL)
        where = writer->worker;
    rgi_operation_prepare(operation, kind, type, where);
    if (writer == NULL)
        rgi_operation_refuse(operation, -EINVAL);
    else if (where.bits == 0)
        rgi_operation_refuse(operation, -EBADF);
}

void
rgm_writer_submit(struct rgm_submit *submit, struct rgm_writer *writer,
                  struct rgm_view *view)
{
    static const struct rgm_view nothing;

    prepare(&submit->operation, RGM_OP_SUBMIT, &rgi_type_submit, writer);
    submit->writer = writer;
    if (view == NULL) {
        rgi_operation_refuse(&submit->operation, -EINVAL);
        return;
    }
    submit->owned = *view;
    *view = nothing;
}

void
rgm_writer_flush(struct rgm_flush *flush, struct rgm_writer *writer)
{
    prepare(&flush->operation, RGM_OP_FLUSH, &rgi_type_flush, writer);
    flush->writer = writer;
}

void
rgm_writer_close(struct rgm_writer_close *close, struct rgm_writer *writer)
{
    prepare(&close->operation, RGM_OP_WRITER_CLOSE, &rgi_type_writer_close,
            writer);
    close->writer = writer;
}

void
rgi_receipt_prepare(struct rgm_receipt *receipt, struct rgm_operation *of,
                    struct rgm_address where)
{
    rgi_operation_prepare(&receipt->operation, RGM_OP_RECEIPT,
                          &rgi_type_receipt, where);
    receipt->of = of;
}
