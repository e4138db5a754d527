/* SPDX-License-Identifier: MIT */

/* writer.c - how are the requests to a writer prepared? */

#include "capabilities/writer.h"

#include <errno.h>

#include "capabilities/operation.h"

RGI_OPERATION_TYPE(submit, rgm_submit, 1);
RGI_OPERATION_TYPE(flush, rgm_flush, 1);
RGI_OPERATION_TYPE(writer_close, rgm_writer_close, 1);
RGI_OPERATION_TYPE(receipt, rgm_receipt, 1);

static void
prepare(struct rgm_operation *operation, enum rgm_operation_kind kind,
        const struct rgm_message_type *type, const struct rgm_writer *writer)
{
    rgi_operation_prepare_on(operation, kind, type,
                             writer != NULL ? &writer->worker : NULL,
                             type->size_bytes);
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
