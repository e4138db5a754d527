/* SPDX-License-Identifier: MIT */

/*
 * probe.c - does this kernel have what a ring of ours cannot do without?
 *
 * The two lists below are the whole answer. Everything newer than Linux 6.1 is
 * optional and is asked for where it is used.
 */

#include "rings/ring.h"

struct need {
    unsigned value;
    const char *name;
};

static const struct need features_needed[] = {
    {IORING_FEAT_SINGLE_MMAP, "queues in one mapping (SINGLE_MMAP)"},
    {IORING_FEAT_NODROP, "completions that are never dropped (NODROP)"},
    {IORING_FEAT_SUBMIT_STABLE, "arguments read at submission (SUBMIT_STABLE)"},
    {IORING_FEAT_FAST_POLL, "waiting without threads (FAST_POLL)"},
    {IORING_FEAT_EXT_ARG, "extended wait arguments (EXT_ARG)"},
};

static const struct need opcodes_needed[] = {
    {IORING_OP_READ, "read"},
    {IORING_OP_WRITE, "write"},
    {IORING_OP_RECV, "receive"},
    {IORING_OP_SEND, "send"},
    {IORING_OP_RECVMSG, "message receive"},
    {IORING_OP_SENDMSG, "message send"},
    {IORING_OP_ACCEPT, "accept"},
    {IORING_OP_CONNECT, "connect"},
    {IORING_OP_CLOSE, "close"},
    {IORING_OP_POLL_ADD, "poll"},
    {IORING_OP_TIMEOUT, "timeout"},
    {IORING_OP_ASYNC_CANCEL, "cancel"},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool
has_opcode(const struct io_uring_probe *probe, unsigned opcode)
{
    return opcode < probe->ops_len &&
           (probe->ops[opcode].flags & IO_URING_OP_SUPPORTED) != 0;
}

const char *
rgi_probe_missing(unsigned features, const struct io_uring_probe *probe)
{
    for (size_t i = 0; i < COUNT_OF(features_needed); i++)
        if ((features & features_needed[i].value) == 0)
            return features_needed[i].name;
    for (size_t i = 0; i < COUNT_OF(opcodes_needed); i++)
        if (!has_opcode(probe, opcodes_needed[i].value))
            return opcodes_needed[i].name;
    return NULL;
}

uint64_t
rgi_probe_opcodes(const struct io_uring_probe *probe)
{
    uint64_t opcodes = 0;

    for (unsigned i = 0; i < 64; i++)
        if (has_opcode(probe, i))
            opcodes |= UINT64_C(1) << i;
    return opcodes;
}
