/* SPDX-License-Identifier: MIT */

/*
 * reply.c - how is an answer said in RESP2, or RESP3?
 *
 * They differ in what is not there, and in INFO. A connection that changes from one
 * to the other does so with the answer that says so.
 */

#include <errno.h>

#include "samples/kv/info.h"
#include "samples/kv/reply.h"

#define HEAD_MAX (BYTES_NUMBER_MAX + 3) /* type, number, line end */

/* "$5\r\n": at most HEAD_MAX bytes. Returns how many. */
static size_t
write_head(char *room, char type, int64_t number)
{
    size_t length;

    room[0] = type;
    length = 1 + bytes_from_number(number, room + 1);
    room[length] = '\r';
    room[length + 1] = '\n';
    return length + 2;
}

static void
add_head(struct output *output, struct kv_worker *worker, char type,
         int64_t number)
{
    char *room = output_room(output, worker, HEAD_MAX);

    if (room != NULL)
        output_wrote(output, write_head(room, type, number));
}

/* In place, so that the length of a constant is one. */
static inline void
add_literal(struct output *output, struct kv_worker *worker, const char *text)
{
    size_t length = strlen(text);
    char *room = output_room(output, worker, length);

    if (room == NULL)
        return;
    memcpy(room, text, length);
    output_wrote(output, length);
}

static void
add_ok(struct output *output, struct kv_worker *worker)
{
    add_literal(output, worker, "+OK\r\n");
}

/* A status or an error. */
static void
add_line(struct output *output, struct kv_worker *worker, char type,
         const char *text)
{
    size_t length = strlen(text);
    char *room = output_room(output, worker, length + 3);

    if (room == NULL)
        return;
    room[0] = type;
    memcpy(room + 1, text, length);
    memcpy(room + 1 + length, "\r\n", 2);
    output_wrote(output, length + 3);
}

static void
add_nil(struct output *output, struct kv_worker *worker)
{
    if (output->resp3)
        add_literal(output, worker, "_\r\n");
    else
        add_literal(output, worker, "$-1\r\n");
}

void
reply_bulk(struct output *output, struct kv_worker *worker, struct bytes bytes)
{
    char *room;
    size_t at;

    if (bytes.length_bytes + HEAD_MAX + 2 > OUTPUT_COPY_MAX) {
        add_head(output, worker, '$', (int64_t)bytes.length_bytes);
        output_add(output, worker, bytes.data, bytes.length_bytes);
        add_literal(output, worker, "\r\n");
        return;
    }
    room = output_room(output, worker, bytes.length_bytes + HEAD_MAX + 2);
    if (room == NULL)
        return;
    at = write_head(room, '$', (int64_t)bytes.length_bytes);
    if (bytes.length_bytes > 0)
        memcpy(room + at, bytes.data, bytes.length_bytes);
    at += bytes.length_bytes;
    memcpy(room + at, "\r\n", 2);
    output_wrote(output, at + 2);
}

/* Owns: the view is the output's. */
static void
add_bulk_view(struct output *output, struct kv_worker *worker,
              struct rgm_view view)
{
    add_head(output, worker, '$', (int64_t)view.length_bytes);
    output_add_view(output, worker, view);
    add_literal(output, worker, "\r\n");
}

static void
add_failure(struct output *output, struct kv_worker *worker, int status)
{
    if (status == -ENOMEM)
        add_line(output, worker, '-', "OOM out of memory");
    else if (status == -EBUSY)
        add_line(output, worker, '-', "ERR workers are being changed");
    else if (status != -EPIPE && status != -ESRCH && status != -ECANCELED)
        add_line(output, worker, '-', "ERR workers cannot be changed");
    else
        add_line(output, worker, '-', "ERR the server is stopping");
}

void
reply_command(struct output *output, struct kv_worker *worker,
              struct command *command, int status)
{
    if (status != 0) {
        add_failure(output, worker, status);
        return;
    }
    switch ((enum reply_kind)command->reply) {
    case REPLY_NIL:
        add_nil(output, worker);
        break;
    case REPLY_OK:
        add_ok(output, worker);
        break;
    case REPLY_TEXT:
        add_line(output, worker, '+', command->text);
        break;
    case REPLY_ERROR:
        add_line(output, worker, '-', command->text);
        break;
    case REPLY_NUMBER:
        add_head(output, worker, ':', command->number);
        break;
    case REPLY_BYTES:
        reply_bulk(output, worker, command->value);
        break;
    case REPLY_VIEW:
        add_bulk_view(output, worker, command->view);
        command->view = (struct rgm_view){NULL, 0, NULL};
        break;
    case REPLY_RAW:
        output->resp3 = command->number != 0;
        output_add(output, worker, command->value.data,
                   command->value.length_bytes);
        break;
    }
}

/* A view that an item has may be of what later items found, too. */
static void
reply_item(struct output *output, struct kv_worker *worker, struct item *item)
{
    bool own = item->view.data == item->value.data &&
               item->view.length_bytes == item->value.length_bytes;

    if (!item->found) {
        add_nil(output, worker);
    } else if (own && item->view.block != NULL) {
        add_bulk_view(output, worker, rgm_view_clone(&item->view));
    } else {
        reply_bulk(output, worker, item->value);
    }
}

static void
reply_info(struct output *output, struct kv_worker *worker, struct group *group,
           uint64_t now_ns)
{
    char text[INFO_BYTES_MAX];
    struct bytes bytes = {text, 0};

    bytes.length_bytes = info_write(worker, now_ns, group->sums, group->flags,
                                    text, sizeof(text));
    if (!output->resp3) {
        reply_bulk(output, worker, bytes);
        return;
    }
    add_head(output, worker, '=', (int64_t)bytes.length_bytes + 4);
    add_literal(output, worker, "txt:");
    output_add(output, worker, bytes.data, bytes.length_bytes);
    add_literal(output, worker, "\r\n");
}

void
reply_group(struct output *output, struct kv_worker *worker,
            struct group *group, uint64_t now_ns)
{
    if (rgm_status(group) != 0) {
        add_failure(output, worker, rgm_status(group));
        return;
    }
    switch ((enum operation)group->operation) {
    case OP_MGET:
        add_head(output, worker, '*', group->items_count);
        for (uint32_t i = 0; i < group->items_count; i++)
            reply_item(output, worker, &group->items[i]);
        break;
    case OP_MSET:
    case OP_FLUSH:
    case OP_WORKERS:
        add_ok(output, worker);
        break;
    case OP_INFO:
        reply_info(output, worker, group, now_ns);
        break;
    default:
        add_head(output, worker, ':', (int64_t)group->sums[SUM_DONE]);
        break;
    }
}
