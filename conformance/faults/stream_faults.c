/* SPDX-License-Identifier: MIT */

/* stream_faults.c - what can be wrong with a write, or with a connection? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"
#include "conformance/faults/kit.h"

/* -------------------------------------------------------------------- writes */

SET_MEANWHILE(write_forgets_to_retry, RGM_OP_WRITE, rgm_write, some, true)

SET_MEANWHILE(write_some_goes_on, RGM_OP_WRITE, rgm_write, some, false)

SET_MEANWHILE(write_takes_one_vector_less, RGM_OP_WRITE, rgm_write,
              vectors_count,
              it->vectors_count > 1 ? it->vectors_count - 1 : it->vectors_count)

ON_COMPLETE(write_changes_the_vectors, RGM_OP_WRITE, rgm_write)
{
    (void)status;
    if (it->vectors_count > 1)
        ((struct rgm_vector *)(uintptr_t)it->vectors)->length_bytes = 0;
}

ON_COMPLETE(write_count_is_what_was_wanted, RGM_OP_WRITE, rgm_write)
{
    (void)status;
    it->count = 0;
    for (size_t i = 0; i < it->vectors_count; i++)
        it->count += it->vectors[i].length_bytes;
}

/* The last one first. */
static bool
write_reorders_submit(struct rgm_operation *operation)
{
    struct rgm_write *it = AS(RGM_OP_WRITE, rgm_write, operation);
    struct rgm_vector *turned;

    if (it == NULL || it->vectors_count < 2)
        return false;
    turned = calloc(it->vectors_count, sizeof(*turned));
    rgi_check(turned != NULL);
    for (size_t i = 0; i < it->vectors_count; i++)
        turned[i] = it->vectors[it->vectors_count - 1 - i];
    fault_mark(operation, (uintptr_t)it->vectors);
    it->vectors = turned;
    return false;
}

static void
write_reorders_restore(struct rgm_operation *operation)
{
    struct rgm_write *it = AS(RGM_OP_WRITE, rgm_write, operation);
    uintptr_t vectors = it != NULL ? fault_unmark(operation) : 0;

    if (vectors == 0)
        return;
    free((void *)(uintptr_t)it->vectors);
    it->vectors = (const struct rgm_vector *)vectors;
}

ON_COMPLETE(write_hides_its_error, RGM_OP_WRITE, rgm_write)
{
    (void)it;
    if (*status != -ECANCELED)
        *status = 0;
}

ON_COMPLETE(write_cancelled_forgets_its_count, RGM_OP_WRITE, rgm_write)
{
    if (*status == -ECANCELED)
        it->count = 0;
}

/* --------------------------------------------------------------- connections */

ON_COMPLETE(close_hides_its_error, RGM_OP_CLOSE, rgm_close)
{
    (void)it;
    *status = 0;
}

ON_COMPLETE(accept_error_closes_the_listener, RGM_OP_ACCEPT, rgm_accept)
{
    if (*status < 0)
        it->listener->socket.open = 0;
}

ON_COMPLETE(accept_forgets_the_peer, RGM_OP_ACCEPT, rgm_accept)
{
    (void)status;
    it->peer = (struct rgm_endpoint){0};
}

ON_COMPLETE(connect_error_is_another, RGM_OP_CONNECT, rgm_connect)
{
    (void)it;
    if (*status < 0)
        *status = -EIO;
}

ON_COMPLETE(connect_touches_the_handle, RGM_OP_CONNECT, rgm_connect)
{
    if (*status < 0)
        it->stream->socket.resource = ~UINT64_C(0);
}

ON_COMPLETE(listen_forgets_its_name, RGM_OP_LISTEN, rgm_listen)
{
    if (*status == 0 && it->endpoint.family == RGM_UNIX)
        it->endpoint.path[0] = 0;
}

SET_MEANWHILE(listen_does_not_share, RGM_OP_LISTEN, rgm_listen, shared_port,
              false)

ON_COMPLETE(option_is_always_zero, RGM_OP_GET_OPTION, rgm_socket_option)
{
    (void)status;
    it->value = 0;
}

ON_COMPLETE(names_are_exchanged, RGM_OP_NAMES, rgm_names)
{
    (void)status;
    struct rgm_endpoint local = it->local;

    it->local = it->peer;
    it->peer = local;
}

/* -------------------------------------------------------------- sent files */

SET_MEANWHILE(sent_file_starts_at_zero, RGM_OP_SEND_FILE, rgm_send_file,
              offset_bytes, 0)

SET_MEANWHILE(sent_file_lacks_a_byte, RGM_OP_SEND_FILE, rgm_send_file,
              length_bytes, it->length_bytes > 0 ? it->length_bytes - 1 : 0)

ON_COMPLETE(sent_file_hides_its_error, RGM_OP_SEND_FILE, rgm_send_file)
{
    (void)it;
    *status = 0;
}

/* --------------------------------------------------------------- the moment */

ON_COMPLETE(await_hides_its_error, RGM_OP_AWAIT, rgm_await)
{
    (void)it;
    *status = 0;
}

/* ------------------------------------------------------------------- moving */

/* Nobody has it, though it is told that somebody has. */
ON_COMPLETE(detached_is_lost, RGM_OP_DETACH, rgm_detach)
{
    (void)status;
    it->detached = (struct rgm_detached){0};
}

ON_COMPLETE(refused_attach_loses_it, RGM_OP_ATTACH, rgm_attach)
{
    if (*status < 0)
        it->detached = (struct rgm_detached){0};
}

/* ------------------------------------------------------- transfers at once */

static int64_t
transfer_grows(const struct rgm_transfer *transfer)
{
    int64_t result = fault_transfer(transfer);

    return result > 0 ? result + 1 : result;
}

static int64_t
transfer_end_is_not_yet(const struct rgm_transfer *transfer)
{
    int64_t result = fault_transfer(transfer);

    return result == 0 ? -EAGAIN : result;
}

static int64_t
transfer_not_yet_is_the_end(const struct rgm_transfer *transfer)
{
    int64_t result = fault_transfer(transfer);

    return result == -EAGAIN ? 0 : result;
}

static int64_t
transfer_forgets_its_flags(const struct rgm_transfer *transfer)
{
    struct rgm_transfer other = *transfer;

    other.flags = 0;
    return fault_transfer(&other);
}

static int64_t
transfer_takes_one_piece(const struct rgm_transfer *transfer)
{
    struct rgm_transfer other = *transfer;

    if (other.vectors_count > 1)
        other.vectors_count = 1;
    return fault_transfer(&other);
}

static int64_t
transfer_has_one_error(const struct rgm_transfer *transfer)
{
    int64_t result = fault_transfer(transfer);

    return result < 0 && result != -EAGAIN ? -EIO : result;
}

static int64_t
transfer_loses_what_it_writes(const struct rgm_transfer *transfer)
{
    int64_t all = 0;

    if (!transfer->writes)
        return fault_transfer(transfer);
    for (uint32_t i = 0; i < transfer->vectors_count; i++)
        all += (int64_t)transfer->vectors[i].length_bytes;
    return all;
}

/* ----------------------------------------------------------------------- all */

const struct fault stream_faults[] = {
    WRAPS(write_forgets_to_retry, WRITE, write_forgets_to_retry),
    WRAPS(write_some_goes_on, WRITE, write_some_goes_on),
    WRAPS(write_takes_one_vector_less, WRITE, write_takes_one_vector_less),
    COMPLETES(write_changes_the_vectors, WRITE),
    COMPLETES(write_count_is_what_was_wanted, WRITE),
    WRAPS(write_reorders, WRITE, write_reorders),
    COMPLETES(write_hides_its_error, WRITE),
    CANCEL_IS_LOST(write_cancel_is_not_heard, WRITE),
    COMPLETES(write_cancelled_forgets_its_count, WRITE),
    DOES_NOTHING(shutdown_does_nothing, SHUTDOWN),
    DOES_NOTHING(close_does_nothing, CLOSE),
    COMPLETES(close_hides_its_error, CLOSE),
    CANCEL_WINS(accept_loses_what_raced_a_cancel, ACCEPT),
    CANCEL_IS_LOST(accept_cancel_is_not_heard, ACCEPT),
    WAKE_IS_LOST(accept_wake_is_lost, ACCEPT),
    COMPLETES(accept_error_closes_the_listener, ACCEPT),
    COMPLETES(accept_forgets_the_peer, ACCEPT),
    COMPLETES(connect_error_is_another, CONNECT),
    COMPLETES(connect_touches_the_handle, CONNECT),
    CANCEL_IS_LOST(connect_cancel_is_not_heard, CONNECT),
    COMPLETES(listen_forgets_its_name, LISTEN),
    WRAPS(listen_does_not_share, LISTEN, listen_does_not_share),
    DOES_NOTHING(option_is_not_set, SET_OPTION),
    COMPLETES(option_is_always_zero, GET_OPTION),
    COMPLETES(names_are_exchanged, NAMES),
    WRAPS(sent_file_starts_at_zero, SEND_FILE, sent_file_starts_at_zero),
    WRAPS(sent_file_lacks_a_byte, SEND_FILE, sent_file_lacks_a_byte),
    COMPLETES(sent_file_hides_its_error, SEND_FILE),
    CANCEL_IS_LOST(sent_file_cancel_is_not_heard, SEND_FILE),
    DOES_NOTHING(await_does_not_wait, AWAIT),
    COMPLETES(await_hides_its_error, AWAIT),
    CANCEL_IS_LOST(await_cancel_is_not_heard, AWAIT),
    WAKE_IS_LOST(await_wake_is_lost, AWAIT),
    COMPLETES(detached_is_lost, DETACH),
    COMPLETES(refused_attach_loses_it, ATTACH),
    AT_ONCE(transfer_grows),
    AT_ONCE(transfer_end_is_not_yet),
    AT_ONCE(transfer_not_yet_is_the_end),
    AT_ONCE(transfer_forgets_its_flags),
    AT_ONCE(transfer_takes_one_piece),
    AT_ONCE(transfer_has_one_error),
    AT_ONCE(transfer_loses_what_it_writes),
    {.name = NULL},
};
