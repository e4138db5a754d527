/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_PROVIDER_H
#define RINGMAIL_PROVIDER_H

/*
 * provider.h - what carries the capabilities out: five entries, two that may be
 * missing, and a bitmap.
 *
 * For authors of providers; a program that only uses ringmail names a provider
 * in its runtime's options and needs nothing else of this page.
 *
 *     worker --- submit, cancel ---> provider ---> the kernel, a pool, a test
 *     worker <-- completed list ---- wait
 *     anybody -- wake -------------> wait returns
 *
 * Everything except `wake` is called by the worker that owns the provider, on
 * its thread. A provider calls nothing of the user's and nothing of the
 * worker's: it hands completed operations over in the list of `wait`.
 *
 * An operation that was submitted is completed exactly once, by
 * rgm_operation_complete, whatever happens: success, error, cancel. Until then
 * its record and everything it points to stay valid and may be touched.
 */

#include <ringmail/message.h>
#include <ringmail/stream_defaults.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_provider;

/* What can be asked of a worker. The numbers are bits of `kinds`. */
enum rgm_operation_kind {
    RGM_OP_SLEEP,   /* the worker's own; never reaches a provider */
    RGM_OP_ACQUIRE, /* likewise */
    RGM_OP_LISTEN,
    RGM_OP_ACCEPT,
    RGM_OP_CONNECT,
    RGM_OP_READ,
    RGM_OP_READ_POOLED,
    RGM_OP_WRITE,
    RGM_OP_SEND_FILE,
    RGM_OP_SHUTDOWN,
    RGM_OP_CLOSE,
    RGM_OP_SET_OPTION,
    RGM_OP_GET_OPTION,
    RGM_OP_NAMES,
    RGM_OP_DETACH,
    RGM_OP_ATTACH,
    RGM_OP_RESIZE, /* the worker's own, too */
    RGM_OP_DEDICATE, /* likewise */
    RGM_OP_DRAIN,    /* likewise */
    RGM_OP_LEASE_HOLDERS, /* likewise */
    RGM_OP_CANCEL, /* likewise: commands for an operation */
    RGM_OP_RETIME,
    RGM_OP_TIMEOUT, /* the worker's own, too */
    RGM_OP_SCOPE_CLOSE,
    RGM_OP_COLLECT, /* likewise: of lanes of files */
    RGM_OP_LANE_CLOSE,
    RGM_OP_FILE_OPEN,
    RGM_OP_FILE_READ,
    RGM_OP_FILE_WRITE,
    RGM_OP_FILE_SYNC,
    RGM_OP_FILE_STAT,
    RGM_OP_FILE_SEEK,
    RGM_OP_FILE_TRUNCATE,
    RGM_OP_FILE_ALLOCATE,
    RGM_OP_FILE_ADVISE,
    RGM_OP_PATH,
    RGM_OP_DIRECTORY_READ, /* the runtime's pool, if the provider has it not */
    RGM_OP_PACKET_OPEN,
    RGM_OP_PACKET_READ,
    RGM_OP_PACKET_WRITE,
    RGM_OP_PACKET_READ_POOLED, /* datagram.h */
    RGM_OP_CHILD_WAIT,
    RGM_OP_AWAIT,
    RGM_OP_RECEIPT, /* struct rgm_receipt */
    RGM_OP_SUBMIT,  /* the worker's own, too: writers */
    RGM_OP_FLUSH,
    RGM_OP_WRITER_CLOSE,
    RGM_OP_NEXT, /* likewise: readers */
    RGM_OP_EXACT,
    RGM_OP_READER_CLOSE,
    RGM_OP_JOB, /* the runtime's own: its pool of threads */
    RGM_OP_TIMER, /* the worker's own, too */
    RGM_OP_FILE_JOB, /* the pool's, too */
    RGM_OP_RECEIVE, /* receiver.h */
    RGM_OP_RECEIVE_NEXT,
    RGM_OP_KINDS_COUNT
};

/* The life of an operation; changed in capabilities/operation.c only. */
enum rgm_operation_state {
    RGM_OPERATION_HOME,
    RGM_OPERATION_SUBMITTED,
    RGM_OPERATION_CANCELLING, /* submitted, and asked to stop */
    RGM_OPERATION_COMPLETED   /* in a list of completions */
};

/* Begins the record of every capability. */
struct rgm_operation {
    struct rgm_request request;
    uint8_t kind;  /* enum rgm_operation_kind */
    uint8_t state; /* enum rgm_operation_state */
    uint16_t refused;    /* at preparation: a positive errno; 0: it was not */
    uint32_t serial;     /* of this submission, on this worker */
    uint64_t scratch[6]; /* the provider's, between submit and completion */
    struct rgm_link link; /* likewise; zero otherwise */
    uint64_t number;      /* of this ask, if it has an identity; else 0 */
    struct rgm_link named; /* the worker's: by number */
    struct rgm_link remote; /* the worker\'s: asked from elsewhere */
};

/* A capability's struct begins with one of these; both names are the same
 * memory, so that every request has a member `request`. */
#define RGM_OPERATION_HEAD                                                    \
    union {                                                                   \
        struct rgm_request request;                                           \
        struct rgm_operation operation;                                       \
    }

/*
 * To be completed with 0 as soon as the kernel has taken the first entry of
 * `of`, an operation of the same provider that was submitted before; or that is
 * over, or will never have an entry. A provider that hands entries to the kernel
 * later than in submit does not sleep while it has such an entry and a receipt
 * for it.
 */
struct rgm_receipt {
    RGM_OPERATION_HEAD;
    struct rgm_operation *of;
};

/* What one call of `wait` brought. */
struct rgm_turn {
    struct rgm_message *first; /* completed operations, oldest first */
    struct rgm_message *last;
    uint32_t count;
    bool rang; /* the bell was seen */
};

struct rgm_vector;

/* One transfer of a stream that is made at once, or not at all. */
struct rgm_transfer {
    uint64_t resource; /* of the open handle */
    const struct rgm_vector *vectors; /* none of it is kept, or changed */
    uint32_t vectors_count;           /* at most 1,024 */
    uint32_t flags;                   /* enum rgm_transfer_flag, checked */
    bool writes;
};

struct rgm_provider_ops {
    uint32_t version; /* RGM_PROVIDER_VERSION */

    /* Now, in ns; never goes back. */
    uint64_t (*now)(struct rgm_provider *provider);

    /* Start an operation whose kind is in the bitmap. It may complete at once:
     * then it is in the list of the next wait. Never fails otherwise. */
    void (*submit)(struct rgm_provider *provider,
                   struct rgm_operation *operation);

    /* Ask a submitted operation to stop. Its completion comes as always. */
    void (*cancel)(struct rgm_provider *provider,
                   struct rgm_operation *operation);

    /* Append completed operations to *turn. With deadline_ns 0 it does not
     * block, and makes no system call unless entries are pending or the kernel
     * has said that it has something. Otherwise it returns when there is at
     * least one completion, the deadline has passed (RGM_NEVER: no deadline)
     * or the bell rang. Returns 0, or the error that ended the provider. */
    int (*wait)(struct rgm_provider *provider, uint64_t deadline_ns,
                struct rgm_turn *turn);

    /* Thread: any. End the wait in progress, or the next one; from the provider's
     * own thread: the next one that would sleep, once. */
    void (*wake)(struct rgm_provider *provider);

    /* NULL, or one transfer in the call, which does not wait and touches the
     * memory it is given in the call alone. Returns bytes (0: the end, if it
     * reads), or a negative errno; -EAGAIN: not now. */
    int64_t (*transfer)(struct rgm_provider *provider,
                        const struct rgm_transfer *transfer);

    /* NULL, or the system's descriptor behind a resource of an open handle, for
     * raw.h; -EBADF when there is none. It stays the provider's. */
    int (*descriptor)(struct rgm_provider *provider, uint64_t resource);
};

#define RGM_PROVIDER_VERSION 3

/*
 * Words of shared memory from which a busy worker sees, without a call, that
 * `wait` would have something: *tail differs from *head, or a bit of the mask
 * is set in *flags. A hint in both directions: wait is called now and then in
 * any case.
 */
struct rgm_peek {
    const uint32_t *tail; /* NULL: no such words; wait is always called */
    const uint32_t *head;
    const uint32_t *flags; /* with tail */
    uint32_t flags_mask;
};

/* The head of every provider's own struct. */
struct rgm_provider {
    const struct rgm_provider_ops *ops;
    uint64_t kinds; /* bit k: operations of kind k can be submitted */
    struct rgm_peek peek;
    /* Counted by the provider, on its thread; copied by the worker. */
    uint64_t kernel_entries;
    uint64_t entries_submitted;
    uint64_t completions;
    uint64_t overflows; /* completions that went through an overflow list */
    uint64_t pool_waits;
    uint64_t pool_recalls; /* lent slots taken back because others waited */
    uint64_t zero_copies; /* sends without a copy that the kernel let go of */
    uint64_t zero_copies_copied; /* of those, copied by it after all */
    uint64_t bell_rearms;
    uint32_t in_flight; /* submitted and not completed */
    uint32_t waiting;   /* of those, not yet started for want of room */
    uint32_t serial;    /* of the last operation; the worker counts */
    const char *mode;   /* what it settled on, for people */
    bool carries_on; /* a transfer nobody wants any more is carried out */
    bool abandoned; /* set by the worker before close: it was forced to end */
};

struct rgm_provider_options {
    int bell;              /* eventfd of the worker's slot; not the provider's */
    uint32_t worker;       /* its number, 0 .. 63 */
    uint32_t entries;      /* submission entries, power of two; 0: default
                            * (256), up to 32,768 */
    uint32_t in_flight_max; /* operations in the kernel at once; 0: default */
    uint32_t pool_slots_max; /* pool slots lent to the ring at once; 0: default */
    uint32_t fixed_files_max; /* files and sockets in a ring's table; 0: default
                               * (256), up to 1,024; UINT32_MAX: none */
    uint32_t zero_copy_max; /* sends without a copy that the kernel has not let
                             * go of; 0: default (64), UINT32_MAX: none */
    uint32_t threads;      /* of a pool of blocking calls; 0: default */
    bool strict;           /* refuse to fall back to weaker set-ups */
    /* What opened streams get; a field that is zero says as much as "unset". */
    struct rgm_stream_defaults streams;
    void *argument;        /* the program's, for a provider that wants one */
};

/* A kind of provider: how one is made and unmade, and its name. */
struct rgm_provider_class {
    const char *name;
    /* Called on the thread that will own it. Returns 0, or a negative errno
     * with a sentence for people in `why` (why_size bytes). */
    int (*open)(const struct rgm_provider_options *options,
                struct rgm_provider **ret_provider, char *why,
                size_t why_size);
    /* Nothing is in flight, unless `wait` has failed or the worker was forced to
     * end (`abandoned`): then what the kernel may still write to is left alone,
     * and so is whatever it needs. */
    void (*close)(struct rgm_provider *provider);
    /* The bitmap, readable before anything is opened. */
    uint64_t kinds;
};

/* The providers of this library. */
RGM_API extern const struct rgm_provider_class rgm_provider_ring;
RGM_API extern const struct rgm_provider_class rgm_provider_epoll;
RGM_API extern const struct rgm_provider_class rgm_provider_threads;

/*
 * Complete an operation: set its result and append it to the list.
 *
 * status: 0 or a negative errno. An operation that was asked to stop and
 * reports no progress ends with -ECANCELED; progress wins.
 *
 * Thread: owner of the provider.
 */
RGM_API void rgm_operation_complete(struct rgm_operation *operation,
                                    int status, struct rgm_turn *turn);

/*
 * Open the handle that a listen, an accept, a connect or an open of a file or
 * packet socket fills in; right before the operation is completed with 0.
 *
 * resource: what the provider knows it by. It is in the `resource` of the
 * handle of every operation that uses it later, until a close of it is
 * submitted; what is open when the provider is closed is the provider's to free.
 *
 * Thread: owner of the provider.
 */
RGM_API void rgm_operation_open(struct rgm_operation *operation,
                                uint64_t resource);

static inline void
rgm_turn_append(struct rgm_turn *turn, struct rgm_message *message)
{
    message->next = NULL;
    if (turn->last != NULL)
        turn->last->next = message;
    else
        turn->first = message;
    turn->last = message;
    turn->count++;
}

/* The operation whose request's header this is. */
static inline struct rgm_operation *
rgm_operation_of(struct rgm_message *message)
{
    return (struct rgm_operation *)(void *)((char *)message -
                                            offsetof(struct rgm_request,
                                                     message));
}

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_PROVIDER_H */
