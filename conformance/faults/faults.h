/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_FAULTS_FAULTS_H
#define CONFORMANCE_FAULTS_FAULTS_H

/*
 * faults.h - a right provider, and one thing wrong with it.
 *
 *     worker --- submit, cancel, transfer ---> fault ---> a right provider
 *            <-- completed list -------------- fault <---
 *
 * Each fault stands between the worker and a provider that is right, and spoils
 * one thing on its way. Which case notices which is in faults.txt. A case that
 * notices none proves nothing about providers, or tells of the runtime alone.
 */

#include <stddef.h>

#include <ringmail/provider.h>

/* What a fault spoils, beside the kinds of operations. */
#define FAULT_OF_TRANSFERS RGM_OP_KINDS_COUNT /* at once */
#define FAULT_OF_ALL (RGM_OP_KINDS_COUNT + 1)

struct fault {
    const char *name;
    uint8_t kind; /* of operations it spoils, or one of the two */
    /* Each may be NULL. All on the worker's thread. */
    bool (*submit)(struct rgm_operation *operation);   /* true: it answered */
    bool (*cancel)(struct rgm_operation *operation);   /* true: it kept quiet */
    void (*restore)(struct rgm_operation *operation);  /* it is about to end */
    void (*complete)(struct rgm_operation *operation); /* on its way back */
    uint64_t (*now)(uint64_t now_ns);
    /* Of a transfer at once: makes it, or something like it. */
    int64_t (*transfer)(const struct rgm_transfer *transfer);
    /* Of operations of its kind. */
    bool does_nothing;      /* answered with 0, and that is all */
    bool loses_cancels;     /* the right one hears of none */
    bool holds_completions; /* until something else happens */
    bool cancel_wins; /* what has been achieved is an error after a cancel */
    /* Of everything. */
    bool frees_at_cancel; /* a read is over when its cancel is */
    bool sleeps_through;  /* a wait has no deadline */
    bool is_deaf;         /* it says nothing of the bell */
    /* Little goes on with it, or by luck: that a case notices it speaks for no
     * case. */
    bool is_coarse;
};

/* All there are, in groups that end with a row without a name. */
extern const struct fault read_faults[];
extern const struct fault stream_faults[];
extern const struct fault file_faults[];
extern const struct fault other_faults[];

/* The class in front of `right`. One at a time in a process. Thread: any, while
 * no runtime is there. */
const struct rgm_provider_class *
fault_class(const struct fault *fault, const struct rgm_provider_class *right);

/* What passed: bit k is kind k, or FAULT_OF_TRANSFERS. Thread: any, after the
 * runtime. */
uint64_t fault_kinds_seen(void);

/* ------------------------------------------------------- for those who spoil */

/* Answer it without asking the right one. */
void fault_answer(struct rgm_operation *operation, int status);

/* A note about an operation that is out; 0: none. */
void fault_mark(const struct rgm_operation *operation, uintptr_t note);
uintptr_t fault_unmark(const struct rgm_operation *operation);

/* What the right one makes of a transfer at once. */
int64_t fault_transfer(const struct rgm_transfer *transfer);

#endif /* CONFORMANCE_FAULTS_FAULTS_H */
