/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_RING_PARTS_H
#define CAPABILITIES_RING_PARTS_H

/*
 * parts.h - what is the ring provider made of? For this folder only.
 *
 *     begin --> attempt --> end --> answer          one kind: stream.c, pooled.c
 *                 ^          |
 *                 '-- wait --'   for input, output, a while, a slot: ring.c
 *
 * An operation holds one place among those in the kernel from its first attempt
 * to its answer. Between two attempts, and before the first when there is no
 * room, it waits in a list from which a cancel takes it.
 */

#include <sys/stat.h>

#include <ringmail/provider.h>

#include "base/list.h"
#include "capabilities/operation.h"
#include "capabilities/stream.h"
#include "rings/buffers.h"
#include "rings/ring.h"

/* What follows for an operation: an answer (0 or a negative errno), or ... */
enum rgi_step {
    RGI_STEP_ATTEMPT = 1, /* its own entry */
    RGI_STEP_INPUT,       /* wait until its descriptor can be read, then that */
    RGI_STEP_OUTPUT,      /* likewise, written */
    RGI_STEP_PAUSE,       /* likewise, a millisecond */
    RGI_STEP_SLOT,        /* wait for a slot of its pool */
    RGI_STEP_RECEIPT,     /* wait until another's entry is taken */
    RGI_STEP_NONE         /* nothing: it goes on by itself, or its kind sees to it */
};

/* ------------------------------------------------------------------ sockets */

/* A socket. Its index and generation are the `resource` of its handle. */
struct rgi_channel {
    int fd;
    uint32_t generation;
    uint32_t index;
    bool open;
    bool more; /* the last receive said that it left something */
    bool shut; /* output has been ended */
    bool copies; /* it cannot send without */
    bool receives; /* a receiver of it is out */
    bool imported; /* a listener: what is in its backlog inherits nothing */
    uint8_t transfers; /* while it has no place, as far as they count */
    uint32_t place;    /* in the table of files, from 1; fixed.c */
    uint32_t next_free;
};

#define RGI_CHANNELS_PER_CHUNK 256u
#define RGI_CHANNEL_CHUNKS 4096u
#define RGI_CHANNEL_NONE UINT32_MAX

struct rgi_channels {
    struct rgi_channel *chunks[RGI_CHANNEL_CHUNKS];
    uint32_t made;
    uint32_t first_free;
};

void rgi_channels_init(struct rgi_channels *channels);

/* Closes what is still open and frees the records. */
void rgi_channels_close(struct rgi_channels *channels);

/* A record without a descriptor yet. Allocates nothing once warm. */
struct rgi_channel *rgi_channel_take(struct rgi_channels *channels);

/* Its handles name nothing from now on. The descriptor is the caller's. */
void
rgi_channel_give(struct rgi_channels *channels, struct rgi_channel *channel);

/* Returns: NULL when the handle is of another life of the record. */
struct rgi_channel *
rgi_channel_find(const struct rgi_channels *channels, uint64_t resource);
uint64_t rgi_channel_resource(const struct rgi_channel *channel);

/* ------------------------------------------------------------------- tasks */

struct rgi_ring_pool;
struct rgi_notice;

/* Memory for an address or for what is known of a file, while the kernel may
 * look at it or write to it. */
struct rgi_room {
    struct rgi_room *next;
    socklen_t length;
    union {
        struct sockaddr_storage address;
        struct statx about;
    };
};

/* The provider's part of an operation; lies in its `scratch`. */
struct rgi_task {
    struct rgi_channel *channel; /* used, or to be filled */
    int fd;                      /* of its attempts */
    uint32_t entry;              /* where the queue was behind its last one */
    uint8_t step;      /* of its next or present entry; 0: not begun */
    bool queued : 1;   /* in `waiting` or a pool's `starved` */
    bool started : 1;  /* has a place among those in the kernel */
    bool chooses : 1;  /* read_pooled: the kernel picks the slot */
    bool has_slot : 1; /* into a pool: it brings its own */
    bool copies : 1;   /* write: whatever was wished for */
    bool no_copy : 1;  /* write: its last attempt was without one */
    bool noticed : 1;  /* write: in the kernel under its notice's identity */
    bool begun : 1;    /* connect: it goes on in the kernel */
    bool fixed : 1;    /* `fd` is a place in the table of files */
    bool probes : 1;   /* into a pool: it has not waited yet */
    union {
        struct {                      /* write, files' transfers */
            struct rgi_write_place place;
            struct rgi_notice *notice;
        };
        struct rgi_room *room;        /* accept, connect, stat */
        struct {                      /* into a pool */
            struct rgi_ring_pool *pool;
            uint32_t slot;
        };
        struct {                      /* send_file */
            int pipe[2]; /* while it is filled; the first -1: none */
            int source;  /* descriptor of the file */
            int status;  /* why there is no pipe; 0: there is */
        } send;
        int kept; /* close: why the ring still has the file; 0: it has not */
    };
};

_Static_assert(sizeof(struct rgi_task) <=
                   sizeof(((struct rgm_operation *)0)->scratch),
               "a task must fit the provider's part of an operation");

static inline struct rgi_task *
rgi_task_of(struct rgm_operation *operation)
{
    return (struct rgi_task *)(void *)operation->scratch;
}

/* `link` is in one list at most: `waiting`, a pool's `starved`, or while it is
 * in the kernel `stopping` or `stopped`. */
static inline struct rgm_operation *
rgi_ring_linked(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_operation, link);
}

/* ------------------------------------------------------------------- pools */

/* What the ring knows of a pool that is read into. */
struct rgi_ring_pool {
    struct rgi_buffers buffers;
    struct rgi_ring_provider *provider;
    struct rgi_ring_pool *next;
    uint64_t identity;       /* of the pool: another may be where it was */
    struct rgm_link starved; /* reads that have data and no slot for it */
    struct rgi_taker taker;  /* in line for the first of them */
    struct rgi_taker lender; /* has slots lent to the kernel */
    uint32_t choosing;       /* reads in the kernel that would pick a slot */
    uint32_t unlent_reads;   /* since all was recalled */
    bool in_line;            /* `taker` waits, or `handed` is on its way */
    bool lends;              /* `lender` is one, or `recalled` is on its way */
    bool collects;           /* recalled, and completions still to be seen */
    uint64_t handed;         /* atomic: pool-handed: 1 + a slot; 0: nothing */
    uint64_t recalled;       /* atomic: pool-recalled: somebody waits */
};

/* --------------------------------------------------------- table of files */

#define RGI_FIXED_DEFAULT 256u       /* files in the table at once */
#define RGI_FIXED_MOST 1024u
#define RGI_FIXED_NONE UINT32_MAX    /* as a limit, and as a file's place */
#define RGI_FIXED_AFTER 32u          /* transfers that make a file worth it */

struct rgi_fixed {
    uint32_t max; /* 0: there is no table, and there will be none */
    bool made;
    uint64_t empty[RGI_FIXED_MOST / 64]; /* places, a bit each */
};

/* files_max: of the provider's options. */
void rgi_fixed_init(struct rgi_fixed *fixed, uint32_t files_max);

/* --------------------------------------------------------------- zero copy */

/* A send's wish to be told whether its bytes were copied, and the bit that says
 * so; io_uring.h has them since Linux 6.2. */
#define RGI_SEND_TELLS_USAGE UINT16_C(8)
#define RGI_SEND_WAS_COPIED (UINT32_C(1) << 31)

/* What the kernel has not let go of, though its sends were answered. */
struct rgi_notices {
    uint32_t max;
    uint32_t out;          /* spare ones apart */
    bool silent;           /* the kernel does not say what it has copied */
    struct rgm_link over;  /* to be dropped when nothing is reaped */
    struct rgm_link spare;
};

/* max 0: the default; UINT32_MAX: none, everything is copied. */
void rgi_notices_init(struct rgi_notices *notices, uint32_t max);

/* Nothing is out any more. */
void rgi_notices_close(struct rgi_notices *notices);

/* ---------------------------------------------------------------- provider */

/* So many pipes between two uses; more are closed. */
#define RGI_PIPES_KEPT 8u

struct rgi_ring_provider {
    _Alignas(64) struct rgm_provider head;
    struct rgi_ring ring;
    struct rgm_turn done;     /* completed and not handed over yet */
    struct rgm_link waiting;  /* for room in the kernel, first in first out */
    struct rgm_link receipts; /* that wait for the kernel to take an entry */
    struct rgm_link stopping; /* in the kernel; their cancel is to be sent */
    struct rgm_link stopped;  /* in the kernel; it was sent */
    uint32_t started;         /* operations that have a place in the kernel */
    uint32_t started_max;
    int bell;
    uint32_t ringers; /* atomic: ring-ringers: others, about to ring it */
    bool bell_armed;
    bool cancel_again; /* a cancel came too early or too late to tell */
    bool pausing;      /* before they are repeated */
    bool rang;
    bool woken; /* by its own thread; used up where it would sleep */
    int failed;      /* what ended the ring; 0: nothing */
    uint32_t worker; /* its number, and our place among takers of pools */
    uint32_t lent_max;
    struct rgi_ring_pool *pools;
    uint16_t pools_count;
    bool receive_look; /* a source may have got a slot, or lost one */
    uint32_t groups_given; /* to sources, so far */
    struct rgm_link sources; /* receivers that are out */
    struct rgm_link hungry;  /* those whose slots are not all lent */
    struct rgi_room *rooms; /* unused ones */
    int pipes[RGI_PIPES_KEPT][2]; /* empty ones, for files that are sent */
    uint32_t pipes_count;
    struct rgi_channels channels;
    struct rgm_stream_defaults streams; /* what those that are opened get */
    struct rgi_notices notices;
    struct rgi_fixed fixed;
    struct rgi_ring_provider *left_before; /* in the list of what was left */
};

/* One kind of operation, as the ring carries it out. */
struct rgi_ring_kind {
    /* Makes it ready. Returns a step or the answer. */
    int (*begin)(struct rgi_ring_provider *p, struct rgm_operation *operation);
    /* Fills in the entry of an attempt. */
    void (*prepare)(struct rgi_ring_provider *p,
                    struct rgm_operation *operation,
                    struct io_uring_sqe *entry);
    /* Judges what came back. Returns a step or the answer. */
    int (*end)(struct rgi_ring_provider *p, struct rgm_operation *operation,
               int result, uint32_t flags);
    /* NULL, or takes back what begin and the attempts took, when it fails. */
    void (*undo)(struct rgi_ring_provider *p, struct rgm_operation *operation);
};

/* rgm_provider_ring.open on another kernel, for tests; calls NULL: the real. */
RGM_MUST_USE int
rgi_ring_provider_open(const struct rgm_provider_options *options,
                       const struct rgi_ring_calls *calls,
                       struct rgm_provider **ret_provider, char *why,
                       size_t why_size);

/* stream.c and pooled.c have their kinds in the first, file.c and packet.c one
 * each. */
extern const struct rgi_ring_kind rgi_ring_kinds[RGM_OP_KINDS_COUNT];
#define RGI_FILE_KINDS (RGM_OP_PATH - RGM_OP_FILE_OPEN + 1)
extern const struct rgi_ring_kind rgi_ring_file_kinds[RGI_FILE_KINDS];

#define RGI_PACKET_KINDS (RGM_OP_PACKET_WRITE - RGM_OP_PACKET_OPEN + 1)
extern const struct rgi_ring_kind rgi_ring_packet_kinds[RGI_PACKET_KINDS];

extern const struct rgi_ring_kind rgi_ring_packet_pooled; /* datagram.c */
extern const struct rgi_ring_kind rgi_ring_child_wait;
extern const struct rgi_ring_kind rgi_ring_send_file;
extern const struct rgi_ring_kind rgi_ring_receive; /* receive.c */
extern const struct rgi_ring_kind rgi_ring_receive_next;

/* receipt.c: a receipt that is not answered at once. */
extern const struct rgi_ring_kind rgi_ring_receipt;

/* Answers those whose entries the kernel has taken. To be called after every
 * enter, before anything is reaped. */
void rgi_receipts_look(struct rgi_ring_provider *p);

/* Whether one waits for an entry that is in the queue. */
bool rgi_receipts_press(const struct rgi_ring_provider *p);

/* A transfer at once, by a call of our own. */
int64_t rgi_ring_transfer(struct rgi_ring_provider *p,
                          const struct rgm_transfer *transfer);

static inline const struct rgi_ring_kind *
rgi_ring_kind_at(unsigned kind)
{
    unsigned file_kind = kind - RGM_OP_FILE_OPEN;
    unsigned packet_kind = kind - RGM_OP_PACKET_OPEN;

    if (kind == RGM_OP_PACKET_READ_POOLED)
        return &rgi_ring_packet_pooled;
    if (kind == RGM_OP_CHILD_WAIT)
        return &rgi_ring_child_wait;
    if (kind == RGM_OP_RECEIPT)
        return &rgi_ring_receipt;
    if (kind == RGM_OP_SEND_FILE)
        return &rgi_ring_send_file;
    if (kind == RGM_OP_RECEIVE)
        return &rgi_ring_receive;
    if (kind == RGM_OP_RECEIVE_NEXT)
        return &rgi_ring_receive_next;
    if (file_kind < RGI_FILE_KINDS)
        return &rgi_ring_file_kinds[file_kind];
    if (packet_kind < RGI_PACKET_KINDS)
        return &rgi_ring_packet_kinds[packet_kind];
    return &rgi_ring_kinds[kind];
}

static inline const struct rgi_ring_kind *
rgi_ring_kind_of(const struct rgm_operation *operation)
{
    return rgi_ring_kind_at(operation->kind);
}

/* stream.c: a room, or NULL: no memory; and back (a task without one: fine). */
struct rgi_room *rgi_ring_room_take(struct rgi_ring_provider *p);
void rgi_ring_room_give(struct rgi_ring_provider *p, struct rgi_task *task);

/* fixed.c: gives a file a place in the table, or notes that it has none. */
void rgi_fixed_put(struct rgi_ring_provider *p, struct rgi_channel *channel);

/* Empties the table, at the ring's end: nothing is out. */
void rgi_fixed_close(struct rgi_ring_provider *p);

/* Takes it out again. Returns: 0, or why the ring still has the file. */
RGM_MUST_USE int
rgi_fixed_take_out(struct rgi_ring_provider *p, struct rgi_channel *channel);

/* One more transfer of a file begins: by which name does it go? */
static inline void
rgi_fixed_choose(struct rgi_ring_provider *p, struct rgi_task *task)
{
    struct rgi_channel *channel = task->channel;

    if (channel->place == 0 && ++channel->transfers == RGI_FIXED_AFTER)
        rgi_fixed_put(p, channel);
    if (channel->place == 0 || channel->place == RGI_FIXED_NONE)
        return;
    task->fixed = true;
    task->fd = (int)(channel->place - 1);
}

/* The same of a socket: if a place holds it no longer than its own operations
 * are out. On other kernels an idle connection would hold all that came after
 * it, and their peers would not be told of a close. */
static inline void
rgi_fixed_choose_socket(struct rgi_ring_provider *p, struct rgi_task *task)
{
    if (p->ring.lets_go)
        rgi_fixed_choose(p, task);
}

/* zero_copy.c: whether this attempt of a write is one without a copy; then its
 * task has a notice, under whose identity its entry goes. */
bool rgi_notice_begin(struct rgi_ring_provider *p,
                      struct rgm_operation *operation);
uint64_t rgi_notice_identity(const struct rgi_notice *notice, uint32_t serial);

/* A completion of such an entry. Returns: the operation whose result it is, or
 * NULL: it says that the bytes are free. */
struct rgm_operation *
rgi_notice_result(struct rgi_ring_provider *p,
                  const struct rgi_completion *completion);

/* The flags of such an entry: what the kernel is to tell in the end. */
uint16_t rgi_notice_asks(const struct rgi_ring_provider *p);

/* Whether that is an answer to doing without a copy, and not to the write. */
bool rgi_notice_copies(struct rgi_ring_provider *p, struct rgi_task *task,
                       int result);

/* Drops what the kernel has let go of. Release functions run. */
void rgi_notices_drop(struct rgi_ring_provider *p);

/* send_file.c: closes the pipes that are kept. */
void rgi_ring_pipes_close(struct rgi_ring_provider *p);

/* stream.c: finds the channel of the socket an operation uses.
 * Returns: 0 or -EBADF. */
int rgi_ring_use(struct rgi_ring_provider *p, struct rgm_operation *operation);

/* ring.c: puts it at the end of a list where a cancel finds it, and back. */
void rgi_ring_enqueue(struct rgi_ring_provider *p, struct rgm_link *list,
                      struct rgm_operation *operation);
void rgi_ring_unqueue(struct rgi_ring_provider *p,
                      struct rgm_operation *operation);
struct rgm_operation *
rgi_ring_dequeue(struct rgi_ring_provider *p, struct rgm_link *list);

/* ring.c: takes the step or gives the answer. */
void rgi_ring_go_on(struct rgi_ring_provider *p,
                    struct rgm_operation *operation, int step);

/* ring.c: one that is in the kernel, and in no list, is to end there. */
void rgi_ring_stop(struct rgi_ring_provider *p,
                   struct rgm_operation *operation);

/* receive.c: whether it sees to the cancel of this operation itself. */
RGM_MUST_USE bool rgi_receive_cancel(struct rgi_ring_provider *p,
                                     struct rgm_operation *operation);

/* Gives the kernel the slots that have come home, and wakes receivers
 * that rest for want of them. */
void rgi_receive_feed(struct rgi_ring_provider *p);

/* Ends those who wait for a piece, and receivers that are not in the kernel. */
void rgi_receive_fail(struct rgi_ring_provider *p, int status);

/* The ring is left as it is: no slot that comes home rings its bell. */
void rgi_receive_leave(struct rgi_ring_provider *p);

/* pooled.c */
int rgi_pooled_begin(struct rgi_ring_provider *p,
                     struct rgm_operation *operation, struct rgm_pool *pool);
void rgi_pooled_drop_slot(struct rgi_task *task);

/* Whether it has a slot for an attempt of its own. One that has not waited yet
 * takes what is free. */
RGM_MUST_USE bool rgi_pooled_may_try(struct rgi_task *task);

/* There is data. Returns: the step that gets it a slot: who stands in line comes
 * first. */
RGM_MUST_USE int rgi_pooled_fetch(struct rgi_task *task);

/* Its slot becomes the asker's lease of `length_bytes`. */
void rgi_pooled_hand_over(struct rgi_task *task,
                          const struct rgm_operation *operation,
                          size_t length_bytes, struct rgm_lease *ret_lease);
void
rgi_pooled_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                   struct io_uring_sqe *entry);
int rgi_pooled_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
                   int result, uint32_t flags);
void
rgi_pooled_undo(struct rgi_ring_provider *p, struct rgm_operation *operation);

/* Puts it in line for a slot. */
void
rgi_pooled_starve(struct rgi_ring_provider *p, struct rgm_operation *operation);

/* Hand something over: store it, and ring, from another thread than the ring's. The
 * provider, and its worker's bell, are there until that is done. Thread: any. */
void rgi_ring_hand(struct rgi_ring_provider *p, uint64_t *word, uint64_t what);
/* Nothing is handed over any more: until all have rung. */
void rgi_ring_await_ringers(struct rgi_ring_provider *p);

/* Whether some pool has handed us a slot, or wants its own back.
 * pool-handed, pool-recalled: observe hints; rgi_pooled_feed orders what
 * follows. */
static inline bool
rgi_pooled_is_fed(const struct rgi_ring_provider *p)
{
    for (const struct rgi_ring_pool *pool = p->pools; pool != NULL;
         pool = pool->next)
        if (__atomic_load_n(&pool->handed, __ATOMIC_RELAXED) != 0 ||
            __atomic_load_n(&pool->recalled, __ATOMIC_RELAXED) != 0 ||
            pool->collects)
            return true;
    return false;
}

/* Takes what pools have handed us, and brings home what they want back. */
void rgi_pooled_feed(struct rgi_ring_provider *p);

/* Ends every read that waits for a slot. */
void rgi_pooled_fail(struct rgi_ring_provider *p, int status);

/* The ring is left as it is: its marks in the pools are taken back. */
void rgi_pooled_leave(struct rgi_ring_provider *p);

/* All slots go home, and no wake comes any more. */
void rgi_pooled_close(struct rgi_ring_provider *p);

#endif /* CAPABILITIES_RING_PARTS_H */
