/* SPDX-License-Identifier: MIT */
#ifndef KV_RESP_PIECES_H
#define KV_RESP_PIECES_H

/*
 * resp_pieces.h - what did the parser find, when its input was cut like this?
 *
 * For the parser's tests. Every piece is memory of its own, of exactly its
 * size, so that AddressSanitizer sees a look beyond its end. What was found is
 * written down as one text: "[3]GET[1]k;" for a command, "!text" for the error.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/cases.h"
#include "samples/kv/resp.h"

struct piece {
    struct rgm_block block;
    char *bytes;
};

/* What was found, in words. */
struct findings {
    char *text;
    size_t length;
    size_t capacity;
};

static size_t pieces_live;

static void
piece_release(struct rgm_block *block)
{
    struct piece *piece = (struct piece *)(void *)block;

    free(piece->bytes);
    free(piece);
    pieces_live--;
}

static struct rgm_view
piece_of(const void *bytes, size_t length)
{
    struct piece *piece = malloc(sizeof(*piece));
    struct rgm_view view;

    rgi_check(piece != NULL);
    piece->bytes = malloc(length > 0 ? length : 1);
    rgi_check(piece->bytes != NULL);
    memcpy(piece->bytes, bytes, length);
    rgm_block_init(&piece->block, piece_release);
    pieces_live++;
    view = rgm_view_of(&piece->block, piece->bytes, length);
    rgm_block_drop(&piece->block);
    return view;
}

static void
findings_add(struct findings *findings, const void *bytes, size_t length)
{
    if (findings->length + length > findings->capacity) {
        findings->capacity = (findings->length + length) * 2;
        findings->text = realloc(findings->text, findings->capacity);
        rgi_check(findings->text != NULL);
    }
    if (length > 0)
        memcpy(findings->text + findings->length, bytes, length);
    findings->length += length;
}

static void
findings_add_command(struct findings *findings, struct resp *resp)
{
    for (uint32_t i = 0; i < resp->arguments_count; i++) {
        struct bytes argument = resp_argument(resp, i);
        char head[32];
        int length =
            snprintf(head, sizeof(head), "[%zu]", argument.length_bytes);

        findings_add(findings, head, (size_t)length);
        findings_add(findings, argument.data, argument.length_bytes);
    }
    findings_add(findings, ";", 1);
}

/* Reads all that is there. Returns false after an error. */
static bool
findings_read(struct findings *findings, struct resp *resp)
{
    enum resp_result result;
    char text[128];

    while ((result = resp_next(resp)) == RESP_COMMAND) {
        findings_add_command(findings, resp);
        resp_consume(resp);
    }
    rgi_check(resp_hungry(resp));
    if (result == RESP_MORE)
        return true;
    findings_add(findings, "!", 1);
    findings_add(findings, text, resp_error(resp, text, sizeof(text)));
    rgi_check(resp_next(resp) == RESP_ERROR);
    return false;
}

/* All pieces end where `cuts` says, the last one at `length`. */
__attribute__((unused)) static struct findings
findings_of(const char *bytes, size_t length, const size_t *cuts,
            size_t cuts_count, uint32_t bulk_max)
{
    struct findings findings = {0};
    struct resp resp;
    size_t at = 0;

    resp_init(&resp, bulk_max);
    for (size_t i = 0; i <= cuts_count; i++) {
        size_t end = i < cuts_count ? cuts[i] : length;

        resp_feed(&resp, piece_of(bytes + at, end - at));
        at = end;
        if (!findings_read(&findings, &resp))
            break;
    }
    if (resp_is_cut(&resp))
        findings_add(&findings, "...", 3);
    resp_close(&resp);
    rgi_check(pieces_live == 0);
    return findings;
}

#endif /* KV_RESP_PIECES_H */
