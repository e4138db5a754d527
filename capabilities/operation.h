/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_OPERATION_H
#define CAPABILITIES_OPERATION_H

/*
 * operation.h - what does a worker do with an operation from ask to answer?
 *
 *     prepare      begin (the worker's own: sleep, acquire)
 *        |      ,--------------------------------------.
 *     HOME --start--> SUBMITTED --stop, cancel--> CANCELLING
 *      ^                  '-----------.-----------'
 *      |                          complete            rgm_operation_complete
 *      '------------ home ------ COMPLETED
 *
 * The state is changed in operation.c only. A refusal (at preparation, for a
 * kind the provider has not, for a socket that is not open or is busy) leaves
 * the operation HOME and everything it points to as it was.
 *
 * Thread of all of them: the owner of the worker that carries the operation
 * out; of rgi_operation_prepare: the owner of the record.
 */

#include <ringmail/clock.h>
#include <ringmail/file.h>
#include <ringmail/provider.h>
#include <ringmail/stream.h>
#include <ringmail/timer.h>
#include <ringmail/transfer.h>

/* What each capability's request is to the runtime. */
extern const struct rgm_message_type rgi_type_sleep;
extern const struct rgm_message_type rgi_type_timer;
extern const struct rgm_message_type rgi_type_acquire;
extern const struct rgm_message_type rgi_type_listen;
extern const struct rgm_message_type rgi_type_accept;
extern const struct rgm_message_type rgi_type_connect;
extern const struct rgm_message_type rgi_type_read;
extern const struct rgm_message_type rgi_type_read_pooled;
extern const struct rgm_message_type rgi_type_receiver;
extern const struct rgm_message_type rgi_type_received;
extern const struct rgm_message_type rgi_type_write;
extern const struct rgm_message_type rgi_type_send_file;
extern const struct rgm_message_type rgi_type_shutdown;
extern const struct rgm_message_type rgi_type_close;
extern const struct rgm_message_type rgi_type_set_option;
extern const struct rgm_message_type rgi_type_get_option;
extern const struct rgm_message_type rgi_type_names;
extern const struct rgm_message_type rgi_type_detach;
extern const struct rgm_message_type rgi_type_attach;
extern const struct rgm_message_type rgi_type_resize;
extern const struct rgm_message_type rgi_type_dedicate;
extern const struct rgm_message_type rgi_type_drain;
extern const struct rgm_message_type rgi_type_lease_holders;
extern const struct rgm_message_type rgi_type_timeout;
extern const struct rgm_message_type rgi_type_scope_close;
extern const struct rgm_message_type rgi_type_collect;
extern const struct rgm_message_type rgi_type_lane_close;
extern const struct rgm_message_type rgi_type_cancellation;
extern const struct rgm_message_type rgi_type_retiming;
extern const struct rgm_message_type rgi_type_file_open;
extern const struct rgm_message_type rgi_type_file_read;
extern const struct rgm_message_type rgi_type_file_write;
extern const struct rgm_message_type rgi_type_file_sync;
extern const struct rgm_message_type rgi_type_file_stat;
extern const struct rgm_message_type rgi_type_file_seek;
extern const struct rgm_message_type rgi_type_file_truncate;
extern const struct rgm_message_type rgi_type_file_allocate;
extern const struct rgm_message_type rgi_type_file_advise;
extern const struct rgm_message_type rgi_type_path;
extern const struct rgm_message_type rgi_type_directory_read;
extern const struct rgm_message_type rgi_type_job;
extern const struct rgm_message_type rgi_type_file_job;
extern const struct rgm_message_type rgi_type_child_wait;
extern const struct rgm_message_type rgi_type_await;
extern const struct rgm_message_type rgi_type_receipt;
extern const struct rgm_message_type rgi_type_next;
extern const struct rgm_message_type rgi_type_exact;
extern const struct rgm_message_type rgi_type_reader_close;
extern const struct rgm_message_type rgi_type_submit;
extern const struct rgm_message_type rgi_type_flush;
extern const struct rgm_message_type rgi_type_writer_close;
extern const struct rgm_message_type rgi_type_packet_open;
extern const struct rgm_message_type rgi_type_packet_read;
extern const struct rgm_message_type rgi_type_packet_read_pooled;
extern const struct rgm_message_type rgi_type_packet_write;

/* What a capability's request is to the runtime. Late: a peer may take its time
 * over the answer. */
#define RGI_OPERATION_TYPE(t, record, is_late)                                \
    const struct rgm_message_type rgi_type_##t = {                            \
        .name = "rgm_" #t,                                                    \
        .size_bytes = sizeof(struct record),                                  \
        .header_offset = offsetof(struct rgm_request, message),               \
        .kind = RGM_KIND_OPERATION,                                           \
        .late = (is_late),                                                    \
    }

/* Makes any memory of type->size_bytes into an operation at home. */
void rgi_operation_prepare(struct rgm_operation *operation,
                           enum rgm_operation_kind kind,
                           const struct rgm_message_type *type,
                           struct rgm_address where);

/* The same, of a record whose part behind the front is the provider's, which
 * writes there before it reads: it is left as it is. */
void rgi_operation_prepare_front(struct rgm_operation *operation,
                                 enum rgm_operation_kind kind,
                                 const struct rgm_message_type *type,
                                 struct rgm_address where, size_t front_bytes);

/* The same, of an operation on a handle, which says where it goes: `where` is
 * its worker. NULL is no handle, and nobody's address one that is not open: that
 * is remembered. */
void rgi_operation_prepare_on(struct rgm_operation *operation,
                              enum rgm_operation_kind kind,
                              const struct rgm_message_type *type,
                              const struct rgm_address *where,
                              size_t front_bytes);

/* Remembers that the arguments were bad; the first reason stays. */
void rgi_operation_refuse(struct rgm_operation *operation, int error);

/* Why it will be refused whoever is asked, as a negative errno; 0: it will not.
 * Such an operation may have no address (`to` is nobody). */
static inline int
rgi_operation_refused(const struct rgm_operation *operation)
{
    return -(int)operation->refused;
}

/*
 * Checks, then hands over to the provider.
 * Returns: 0: it comes back in a list of `wait`. A negative errno: it is still
 * HOME, message.status is set to the same, and the caller delivers the answer.
 */
RGM_MUST_USE int rgi_operation_start(struct rgm_operation *operation,
                                     struct rgm_provider *provider);

/* The same for a kind that the worker carries out itself. It ends by
 * rgm_operation_complete like every other. */
RGM_MUST_USE int rgi_operation_begin(struct rgm_operation *operation,
                                     struct rgm_provider *provider);

/* Marks it as asked to stop. Returns: whether that is news: it was SUBMITTED. */
bool rgi_operation_stop(struct rgm_operation *operation);

/* rgi_operation_stop, and if that was news, tells the provider. */
void rgi_operation_cancel(struct rgm_operation *operation,
                          struct rgm_provider *provider);

/* Flag of a message: it has a deadline, for whoever asks on its behalf. */
#define RGI_MESSAGE_DEADLINE 0x20

/* Whether one that was tried has a deadline that has come: then it is not tried
 * again, whether or not its asker has got to cancelling it. The provider's time;
 * that of the deadline is settled before the provider gets to see anything. */
static inline bool
rgi_operation_is_late(const struct rgm_operation *operation,
                      struct rgm_provider *provider)
{
    return operation->request.message.flags & RGI_MESSAGE_DEADLINE &&
           operation->request.deadline_ns <= provider->ops->now(provider);
}

#define RGI_OWN_FILE_KIND_BITS                                                \
    (UINT64_C(1) << RGM_OP_FILE_JOB | UINT64_C(1) << RGM_OP_COLLECT |         \
     UINT64_C(1) << RGM_OP_LANE_CLOSE)

#define RGI_OWN_KIND_BITS                                                     \
    (UINT64_C(1) << RGM_OP_TIMER |                                            \
     RGI_OWN_FILE_KIND_BITS |                                                 \
     UINT64_C(1) << RGM_OP_SLEEP | UINT64_C(1) << RGM_OP_ACQUIRE |            \
     UINT64_C(1) << RGM_OP_RESIZE | UINT64_C(1) << RGM_OP_JOB |               \
     UINT64_C(1) << RGM_OP_LEASE_HOLDERS | UINT64_C(1) << RGM_OP_CANCEL |     \
     UINT64_C(1) << RGM_OP_RETIME | UINT64_C(1) << RGM_OP_TIMEOUT |           \
     UINT64_C(1) << RGM_OP_SCOPE_CLOSE | UINT64_C(1) << RGM_OP_SUBMIT |       \
     UINT64_C(1) << RGM_OP_FLUSH | UINT64_C(1) << RGM_OP_WRITER_CLOSE |       \
     UINT64_C(1) << RGM_OP_NEXT | UINT64_C(1) << RGM_OP_EXACT |               \
     UINT64_C(1) << RGM_OP_READER_CLOSE | UINT64_C(1) << RGM_OP_DEDICATE | UINT64_C(1) << RGM_OP_DRAIN)

/* A directory's entries that a thread of the runtime's reads, because the
 * provider cannot. */
static inline bool
rgi_operation_is_lent(const struct rgm_operation *operation)
{
    return operation->kind == RGM_OP_DIRECTORY_READ &&
           ((const struct rgm_job *)(const void *)operation)->run != NULL;
}

/* Whether the worker carries it out itself, and no provider ever sees it. */
static inline bool
rgi_operation_is_own(const struct rgm_operation *operation)
{
    return (RGI_OWN_KIND_BITS >> operation->kind & 1) != 0 ||
           rgi_operation_is_lent(operation);
}

static inline bool
rgi_operation_is_job(const struct rgm_operation *operation)
{
    return operation->kind == RGM_OP_JOB ||
           operation->kind == RGM_OP_FILE_JOB ||
           rgi_operation_is_lent(operation);
}

/* The completion was taken from the list and is about to be delivered. */
void rgi_operation_home(struct rgm_operation *operation);

static inline bool
rgi_operation_is_stopping(const struct rgm_operation *operation)
{
    return operation->state == RGM_OPERATION_CANCELLING;
}

/*
 * When a sleep that is asked now ends.
 * Returns: 0, or -EINVAL when that is after the end of the clock.
 */
RGM_MUST_USE int rgi_sleep_deadline(const struct rgm_sleep *sleep,
                                    uint64_t now_ns,
                                    uint64_t *ret_deadline_ns);

#endif /* CAPABILITIES_OPERATION_H */
