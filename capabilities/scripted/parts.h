/* SPDX-License-Identifier: MIT */
#ifndef RGI_SCRIPTED_PARTS_H
#define RGI_SCRIPTED_PARTS_H

/*
 * parts.h - what do a script and its providers share?
 *
 *     worker --submit--> [ waiting ] --the test decides--> [ decided ] --wait--> worker
 *
 * `waiting` is one list for all providers, in the order of submission; each
 * provider has a `decided` of its own. One mutex protects all of it.
 */

#include <pthread.h>

#include <ringmail/scripted.h>

#include "base/list.h"

struct rgm_script {
    pthread_mutex_t lock;
    /* Under the lock. */
    uint64_t now_ns; /* script-now: read without it, too */
    uint64_t kinds;
    struct rgm_link waiting;   /* operations */
    struct rgm_link providers; /* that are open */
    bool hold_cancels;
    uint64_t refuse_in; /* submissions until one is refused; 0: never */
    int refuse_status;
    uint32_t refuse_open_from;
    int refuse_open_error;
    /* Constant while workers run. */
    bool follows_clock;
    rgm_script_function *on_submit;
    void *on_submit_argument;
};

struct rgi_scripted {
    struct rgm_provider head;
    struct rgm_script *script;
    uint32_t worker;
    int bell; /* the worker's */
    int news; /* ours: something was decided */
    /* Under the script's lock. */
    struct rgm_link link;    /* in the script's providers */
    struct rgm_link decided; /* operations */
    uint64_t deadline_ns;    /* of the wait in progress; RGM_NEVER: none */
    bool interrupted;
    int failure;
};

/* What is known of an operation; lies in its scratch memory. */
struct rgi_scripted_note {
    struct rgi_scripted *provider;
    uint64_t resource; /* of the handle it opens; 0: ours to choose */
    int32_t status;
    bool cancelled;
};

_Static_assert(sizeof(struct rgi_scripted_note) <=
                   sizeof(((struct rgm_operation *)0)->scratch),
               "a note fits into what a provider has");

static inline struct rgi_scripted_note *
rgi_scripted_note_of(struct rgm_operation *operation)
{
    return (struct rgi_scripted_note *)(void *)operation->scratch;
}

/* Put a waiting operation where its worker finds it. Under the lock. */
void rgi_scripted_decide(struct rgm_operation *operation, int status);

/* Whether a wait has something to return for. Thread: owner. */
bool rgi_scripted_has_news(struct rgi_scripted *scripted);

#endif /* RGI_SCRIPTED_PARTS_H */
