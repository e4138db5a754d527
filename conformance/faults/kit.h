/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_FAULTS_KIT_H
#define CONFORMANCE_FAULTS_KIT_H

/*
 * kit.h - how is a fault written down?
 *
 * A body says what it spoils, a row of its group names it:
 *
 *     ON_COMPLETE(read_grows, RGM_OP_READ, rgm_read) { ... }
 *
 *     const struct fault read_faults[] = {
 *         COMPLETES(read_grows, READ),
 *         {.name = NULL},
 *     };
 */

#include "conformance/faults/faults.h"

/* The record of an operation, if it is of that kind; else NULL. */
#define AS(kind_, record, operation)                                           \
    ((operation)->kind == (kind_) ? (struct record *)(void *)(operation)       \
                                  : (struct record *)NULL)

/* On its way back; its body has the record `it` and its `status`. */
#define ON_COMPLETE(name, kind, record)                                        \
    static void name##_of(struct record *it, int *status);                     \
    static void name(struct rgm_operation *operation)                          \
    {                                                                          \
        struct record *it = AS(kind, record, operation);                       \
                                                                               \
        if (it != NULL)                                                        \
            name##_of(it, &operation->request.message.status);                 \
    }                                                                          \
    static void name##_of(struct record *it, int *status)

/* Changed before the right one sees it, and put back before it is complete; the
 * note is what it was, plus 1. */
#define SET_MEANWHILE(name, kind, record, field, value)                        \
    static bool name##_submit(struct rgm_operation *operation)                 \
    {                                                                          \
        struct record *it = AS(kind, record, operation);                       \
                                                                               \
        if (it != NULL) {                                                      \
            fault_mark(operation, (uintptr_t)it->field + 1);                   \
            it->field = (value);                                               \
        }                                                                      \
        return false;                                                          \
    }                                                                          \
    static void name##_restore(struct rgm_operation *operation)                \
    {                                                                          \
        struct record *it = AS(kind, record, operation);                       \
        uintptr_t note = it != NULL ? fault_unmark(operation) : 0;             \
                                                                               \
        if (note != 0)                                                         \
            it->field = (__typeof__(it->field))(note - 1);                     \
    }

/* --------------------------------------------------------------------- rows */

#define OF(name_, kind_) .name = #name_, .kind = RGM_OP_##kind_

#define COMPLETES(name, kind)                                                  \
    {                                                                          \
        OF(name, kind), .complete = name                                       \
    }
/* With name_submit and name_restore. */
#define WRAPS(name, kind, with)                                                \
    {                                                                          \
        OF(name, kind), .submit = with##_submit, .restore = with##_restore     \
    }
/* Answered with 0 though nothing was done. */
#define DOES_NOTHING(name, kind)                                               \
    {                                                                          \
        OF(name, kind), .does_nothing = true                                   \
    }
/* A cancel is not passed on. */
#define CANCEL_IS_LOST(name, kind)                                             \
    {                                                                          \
        OF(name, kind), .loses_cancels = true                                  \
    }
/* Handed over only when something else happens. */
#define WAKE_IS_LOST(name, kind)                                               \
    {                                                                          \
        OF(name, kind), .is_coarse = true, .holds_completions = true           \
    }
/* A transfer at once. */
#define AT_ONCE(name_)                                                         \
    {                                                                          \
        .name = #name_, .kind = FAULT_OF_TRANSFERS, .transfer = name_          \
    }
#define CANCEL_WINS(name, kind)                                                \
    {                                                                          \
        OF(name, kind), .cancel_wins = true                                    \
    }

#endif /* CONFORMANCE_FAULTS_KIT_H */
