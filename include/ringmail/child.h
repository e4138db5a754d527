/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_CHILD_H
#define RINGMAIL_CHILD_H

/*
 * child.h - wait for child processes, as a request to a worker. Starting one is
 * the program's own business (posix_spawn(3)), and so is ending it: nothing
 * here ever sends a signal.
 *
 * Who waits for a child reaps it, waitid(2): exactly one wait gets each change,
 * and its process id means nothing any more once an exit was told. Two waits
 * for the same child at once are two that compete. A wait that has been
 * cancelled and is home has reaped nothing; before that another may not rely on
 * it. A child that nobody waits for when the runtime ends stays the program's.
 */

#include <ringmail/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rgm_child_select {
    RGM_CHILD_ANY,
    RGM_CHILD_PROCESS, /* id: a process */
    RGM_CHILD_GROUP    /* id: a process group; 0: our own */
};

/* What is waited for; the end is always. */
enum rgm_child_flag {
    RGM_CHILD_STOPPED = 0x1,
    RGM_CHILD_CONTINUED = 0x2
};

enum rgm_child_event {
    RGM_CHILD_HAS_EXITED = 1, /* status: its exit code */
    RGM_CHILD_WAS_KILLED,     /* status: the signal */
    RGM_CHILD_DUMPED_CORE,    /* likewise */
    RGM_CHILD_HAS_STOPPED,    /* likewise */
    RGM_CHILD_HAS_CONTINUED   /* status: SIGCONT */
};

struct rgm_child_wait {
    RGM_OPERATION_HEAD;
    uint8_t select; /* enum rgm_child_select */
    uint8_t event;  /* when home with 0: enum rgm_child_event */
    bool watched; /* the provider's */
    uint8_t reserved;
    uint32_t flags; /* enum rgm_child_flag */
    int32_t id;
    int32_t process; /* when home with 0: which child */
    int32_t status;  /* when home with 0 */
    uint32_t user;   /* when home with 0: its real user */
    uint64_t info[16]; /* the provider's */
};

/*
 * Prepare a wait for a change of a child, on the worker `where`.
 *
 * Thread: owner; the record is at home.
 * Answer: 0 with process, event and status; -ECHILD when there is no such
 *         child; -ECANCELED: nothing was reaped; -EINVAL for an id or flag
 *         that means nothing.
 * Source: waitid(2).
 * Cost:   on a ring one entry (Linux 6.7), else a descriptor of the process
 *         that is polled; of groups and any child, and on the threads
 *         provider, a look about every 2 ms.
 */
RGM_API void rgm_child_wait(struct rgm_child_wait *wait,
                            struct rgm_address where,
                            enum rgm_child_select select, int32_t id,
                            uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_CHILD_H */
