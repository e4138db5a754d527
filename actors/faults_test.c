/* SPDX-License-Identifier: MIT */

/*
 * faults_test.c - the nth allocation fails, the nth ring entry cannot be had,
 * the nth system call is interrupted or refused: for every n there is.
 *
 * A tour starts a runtime and goes through everything: spawning here and there,
 * asking, keeping, messages, sleeping, listening, connecting, accepting,
 * writing, reading into memory and into a pool, a job, a file, resizing up and
 * down, stopping. It is made again and again, each time with the next call
 * failing, until no call is left to fail. Each tour ends; what it met is a
 * documented error; and nothing is left of it.
 *
 * What is only "not now" (EINTR, EAGAIN, EBUSY) must not be noticed at all.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ringmail/ringmail.h>

#include "actors/runtime.h"
#include "base/cases.h"
#include "base/memory.h"

/* ------------------------------------------------------------ the nth call fails
 *
 * What follows stands in front of the C library and of liburing for everything
 * that is linked into this program; other libraries do not see it. A plan names
 * the calls that count, which of them fails, and with what. One plan at a time;
 * calls are counted over all threads.
 */

enum fault_call {
    FAULT_RING_SETUP,
    FAULT_RING_ENTER,
    FAULT_RING_REGISTER,
    FAULT_MMAP,
    FAULT_EVENTFD,
    FAULT_THREAD,
    FAULT_SOCKET,
    FAULT_BIND,
    FAULT_LISTEN,
    FAULT_ACCEPT,
    FAULT_CONNECT,
    FAULT_RECEIVE,
    FAULT_SEND,
    FAULT_POLL,
    FAULT_READ_AT,
    FAULT_WRITE_AT,
    FAULT_SYNC,
    FAULT_ENTRY, /* of an operation in a ring: it ends so, and does nothing */
    FAULT_CALLS_COUNT
};

static const char *const fault_names[FAULT_CALLS_COUNT] = {
    "io_uring_setup", "io_uring_enter", "io_uring_register", "mmap",
    "eventfd",        "pthread_create", "socket",            "bind",
    "listen",         "accept4",        "connect",           "recv",
    "sendmsg",        "ppoll",          "preadv",            "pwritev",
    "fdatasync",      "an entry"};

static struct {
    atomic_uint calls;  /* bits: which calls count */
    atomic_long left;   /* up to the one that fails; 0: it has */
    atomic_int error;   /* a positive errno */
    atomic_bool late;   /* it does what it should, and then fails */
} fault;

#define FAULT_BIT(call) (1u << (call))

static void
fault_plan(unsigned calls, long nth, int error, bool late)
{
    atomic_store(&fault.left, nth);
    atomic_store(&fault.error, error);
    atomic_store(&fault.late, late);
    atomic_store(&fault.calls, calls);
}

/* Returns: whether the call that was to fail has been made. */
static bool
fault_end(void)
{
    atomic_store(&fault.calls, 0);
    return atomic_load(&fault.left) <= 0;
}

/* The error of this call, or 0. */
static int
fault_hits(enum fault_call call)
{
    if ((atomic_load(&fault.calls) & FAULT_BIT(call)) == 0)
        return 0;
    return atomic_fetch_sub(&fault.left, 1) == 1 ? atomic_load(&fault.error)
                                                 : 0;
}

/* ------------------------------------------------------------------ the ring */

int io_uring_setup(unsigned entries, struct io_uring_params *params);
int io_uring_enter2(unsigned fd, unsigned to_submit, unsigned min_complete,
                    unsigned flags, sigset_t *argument, size_t argument_bytes);
int io_uring_register(unsigned fd, unsigned opcode, const void *argument,
                      unsigned count);

/* The ring of this thread, as the kernel has laid it out. */
static __thread struct {
    struct io_sqring_offsets sq;
    struct io_cqring_offsets cq;
    char *base; /* of both queues */
    struct io_uring_sqe *entries;
    unsigned seen; /* the first entry that was not looked at */
    uint64_t spoilt; /* identity of one that ends with an error */
    int error;
} ring;

static unsigned *
ring_word(unsigned offset)
{
    return (unsigned *)(void *)(ring.base + offset);
}

static bool
is_of_an_operation(const struct io_uring_sqe *entry)
{
    switch (entry->opcode) {
    case IORING_OP_NOP:
    case IORING_OP_POLL_ADD:
    case IORING_OP_TIMEOUT:
    case IORING_OP_ASYNC_CANCEL:
    case IORING_OP_CLOSE: /* what is half done cannot be undone */
        return false;
    default:
        return true;
    }
}

/* An entry that is to fail becomes one that does nothing. */
static void
spoil_entries(void)
{
    unsigned tail, mask;

    if (ring.base == NULL || ring.entries == NULL)
        return;
    tail = __atomic_load_n(ring_word(ring.sq.tail), __ATOMIC_ACQUIRE);
    mask = *ring_word(ring.sq.ring_mask);
    for (; ring.seen != tail; ring.seen++) {
        struct io_uring_sqe *entry =
            &ring.entries[ring_word(ring.sq.array)[ring.seen & mask]];
        uint64_t identity = entry->user_data;
        int error = is_of_an_operation(entry) ? fault_hits(FAULT_ENTRY) : 0;

        if (error == 0)
            continue;
        memset(entry, 0, sizeof(*entry));
        entry->opcode = IORING_OP_NOP;
        entry->user_data = identity;
        ring.spoilt = identity;
        ring.error = error;
    }
}

static void
spoil_completions(void)
{
    struct io_uring_cqe *cqes;
    unsigned head, tail, mask;

    if (ring.base == NULL || ring.error == 0)
        return;
    cqes = (struct io_uring_cqe *)(void *)(ring.base + ring.cq.cqes);
    head = *ring_word(ring.cq.head);
    tail = __atomic_load_n(ring_word(ring.cq.tail), __ATOMIC_ACQUIRE);
    mask = *ring_word(ring.cq.ring_mask);
    for (; head != tail; head++) {
        if (cqes[head & mask].user_data != ring.spoilt)
            continue;
        cqes[head & mask].res = -ring.error;
        ring.error = 0;
        return;
    }
}

__attribute__((unused)) static void
ring_mapped(void *where, off_t offset)
{
    if (offset == (off_t)IORING_OFF_SQ_RING)
        ring.base = where;
    else if (offset == (off_t)IORING_OFF_SQES)
        ring.entries = where;
}

int
io_uring_setup(unsigned entries, struct io_uring_params *params)
{
    int error = fault_hits(FAULT_RING_SETUP);
    long fd = error != 0 ? -1 : syscall(SYS_io_uring_setup, entries, params);

    if (error != 0 || fd < 0)
        return error != 0 ? -error : -errno;
    memset(&ring, 0, sizeof(ring));
    ring.sq = params->sq_off;
    ring.cq = params->cq_off;
    return (int)fd;
}

/* Late, it has submitted and waited, and says that it was interrupted. */
int
io_uring_enter2(unsigned fd, unsigned to_submit, unsigned min_complete,
                unsigned flags, sigset_t *argument, size_t argument_bytes)
{
    int error = fault_hits(FAULT_RING_ENTER);
    long result;

    if (error != 0 && !atomic_load(&fault.late))
        return -error;
    spoil_entries();
    result = syscall(SYS_io_uring_enter, fd, to_submit, min_complete, flags,
                     argument, argument_bytes);
    spoil_completions();
    if (error != 0)
        return -error;
    return result < 0 ? -errno : (int)result;
}

int
io_uring_register(unsigned fd, unsigned opcode, const void *argument,
                  unsigned count)
{
    int error = fault_hits(FAULT_RING_REGISTER);
    long result = error != 0 ? -1
                             : syscall(SYS_io_uring_register, fd, opcode,
                                       argument, count);

    return error != 0 ? -error : result < 0 ? -errno : (int)result;
}

/* -------------------------------------------------------------- the C library */

#define FAULT_OR(call, failed, otherwise)                                      \
    do {                                                                       \
        int fault_error_ = fault_hits(call);                                   \
        if (fault_error_ == 0)                                                 \
            return (otherwise);                                                \
        errno = fault_error_;                                                  \
        return (failed);                                                       \
    } while (0)

#if !defined(__SANITIZE_THREAD__) /* it must see every mapping */
void *
mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset)
{
    int error = fault_hits(FAULT_MMAP);
    void *memory;

    if (error != 0) {
        errno = error;
        return MAP_FAILED;
    }
    memory = (void *)syscall(SYS_mmap, where, size, protection, flags, fd,
                             offset);
    if (fd >= 0 && memory != MAP_FAILED)
        ring_mapped(memory, offset);
    return memory;
}
#endif

int
eventfd(unsigned count, int flags)
{
    FAULT_OR(FAULT_EVENTFD, -1, (int)syscall(SYS_eventfd2, count, flags));
}

int
socket(int domain, int type, int protocol)
{
    FAULT_OR(FAULT_SOCKET, -1,
             (int)syscall(SYS_socket, domain, type, protocol));
}

int
bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
    FAULT_OR(FAULT_BIND, -1,
             (int)syscall(SYS_bind, fd, address.__sockaddr__, length));
}

int
listen(int fd, int backlog)
{
    FAULT_OR(FAULT_LISTEN, -1, (int)syscall(SYS_listen, fd, backlog));
}

int
accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags)
{
    FAULT_OR(FAULT_ACCEPT, -1,
             (int)syscall(SYS_accept4, fd, address.__sockaddr__, length,
                          flags));
}

int
connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
    FAULT_OR(
        FAULT_CONNECT, -1,
        (int)syscall(SYS_connect, fd, address.__sockaddr__, length));
}

ssize_t
recv(int fd, void *memory, size_t size, int flags)
{
    FAULT_OR(FAULT_RECEIVE, -1,
             syscall(SYS_recvfrom, fd, memory, size, flags, NULL, NULL));
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    FAULT_OR(FAULT_SEND, -1, syscall(SYS_sendmsg, fd, message, flags));
}

int
ppoll(struct pollfd *list, nfds_t count, const struct timespec *timeout,
      const sigset_t *mask)
{
    struct timespec copy;

    if (timeout != NULL)
        copy = *timeout;
    FAULT_OR(FAULT_POLL, -1,
             (int)syscall(SYS_ppoll, list, count,
                          timeout != NULL ? &copy : NULL, mask, _NSIG / 8));
}

ssize_t
preadv(int fd, const struct iovec *pieces, int count, off_t offset)
{
    FAULT_OR(FAULT_READ_AT, -1,
             syscall(SYS_preadv, fd, pieces, count, offset, 0L));
}

ssize_t
pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
    FAULT_OR(FAULT_WRITE_AT, -1,
             syscall(SYS_pwritev, fd, pieces, count, offset, 0L));
}

int
fdatasync(int fd)
{
    FAULT_OR(FAULT_SYNC, -1, (int)syscall(SYS_fdatasync, fd));
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*run)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                       void *);
    int error = fault_hits(FAULT_THREAD);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    create *real;

    if (error != 0)
        return error;
    memcpy(&real, &symbol, sizeof(real));
    return real(thread, attributes, run, argument);
}

/* ------------------------------------------------------------------- the tour */

#define TOUR_BYTES 600

enum stop_over {
    SPAWN,
    ASK_HERE,
    ASK_THERE,
    SEND,
    SLEEP,
    LISTEN,
    MEET, /* connect and accept */
    WRITE,
    READ,
    WRITE_BACK,
    READ_POOLED,
    HANG_UP,
    ACQUIRE,
    WORK,
    OPEN,
    STORE,
    SYNC,
    LOAD,
    CLOSE,
    GROW,
    SHRINK,
    END
};

struct errand {
    struct rgm_request request;
    uint64_t number;
};
RGM_REQUEST(errand);

struct card {
    struct rgm_message message;
};
RGM_MESSAGE(card);

/* What a tour came to; one at a time. */
static struct {
    struct rgm_pool *pool;
    struct rgm_runtime *runtime;
    char path[64]; /* of its file */
    atomic_bool complete;  /* every stop was made */
    atomic_int first_error;
    atomic_int first_at;
} tour;

struct tourist {
    struct rgm_actor actor;
    enum stop_over at;
    struct rgm_address here, there;
    struct errand errand;
    struct rgm_sleep sleep;
    struct rgm_listener listener;
    struct rgm_stream near, far;
    struct rgm_listen listen;
    struct rgm_connect connect;
    struct rgm_accept accept;
    uint32_t meeting; /* connect and accept that are out */
    bool met;         /* neither has failed */
    struct rgm_write write;
    struct rgm_read read;
    struct rgm_read_pooled pooled;
    struct rgm_close close;
    struct rgm_acquire acquire;
    struct rgm_job job;
    struct rgm_file file;
    struct rgm_file_open open;
    struct rgm_file_write store;
    struct rgm_file_sync sync;
    struct rgm_file_read load;
    struct rgm_resize resize;
    char out[TOUR_BYTES], in[TOUR_BYTES];
    size_t in_count;
};

/* ------------------------------------------------------------- a tour's host */

/* Answers: at once, or after having kept it. */
struct helper {
    struct rgm_actor actor;
};

RGM_HANDLER(helper, errand, helper_errand);
RGM_HANDLER(helper, card, helper_card);

static const struct rgm_handler helper_handlers[] = {
    RGM_ON(helper, errand, helper_errand),
    RGM_ON(helper, card, helper_card),
};

static const struct rgm_behaviour helper_behaviour = {
    .name = "helper",
    .size_bytes = sizeof(struct helper),
    RGM_HANDLERS(helper_handlers),
};

static void
helper_errand(struct helper *self, struct errand *errand)
{
    struct rgm_token token;
    int status;

    errand->number++;
    status = rgm_keep(self, errand, &token);
    if (status == 0)
        rgi_check(rgm_answer(self, token, 0) == 0);
    else
        rgm_reply(self, errand, status);
}

static void
helper_card(struct helper *self, struct card *card)
{
    (void)self;
    (void)card;
}

/* ------------------------------------------------------------------ the stops */

RGM_HOOK(tourist, go_on);
RGM_HOOK(tourist, pack_up);
RGM_ANSWER(tourist, errand, on_errand);
RGM_ANSWER(tourist, rgm_sleep, on_sleep);
RGM_ANSWER(tourist, rgm_listen, on_listen);
RGM_ANSWER(tourist, rgm_connect, on_connect);
RGM_ANSWER(tourist, rgm_accept, on_accept);
RGM_ANSWER(tourist, rgm_write, on_write);
RGM_ANSWER(tourist, rgm_read, on_read);
RGM_ANSWER(tourist, rgm_read_pooled, on_pooled);
RGM_ANSWER(tourist, rgm_close, on_close);
RGM_ANSWER(tourist, rgm_acquire, on_acquire);
RGM_ANSWER(tourist, rgm_job, on_job);
RGM_ANSWER(tourist, rgm_file_open, on_open);
RGM_ANSWER(tourist, rgm_file_write, on_store);
RGM_ANSWER(tourist, rgm_file_sync, on_sync);
RGM_ANSWER(tourist, rgm_file_read, on_load);
RGM_ANSWER(tourist, rgm_resize, on_resize);

static const struct rgm_behaviour tourist_behaviour = {
    .name = "tourist",
    .size_bytes = sizeof(struct tourist),
    .started = RGM_DO(tourist, go_on),
    .stopped = RGM_DO(tourist, pack_up),
};

/* What the headers say can come of anything on the way. */
static bool
is_documented(int status)
{
    switch (status) {
    case -ENOMEM:
    case -EAGAIN: /* no number at hand, no thread to be had */
    case -EMFILE:
    case -ENOBUFS:
    case -EPIPE:      /* the runtime stops */
    case -ECANCELED:  /* likewise */
    case -ESRCH:      /* the helper has gone meanwhile */
    case -ECONNREFUSED:
    case -ECONNRESET:
    case -ECONNABORTED:
        return true;
    default:
        return false;
    }
}

static void
note(int status, int at)
{
    int none = 0;

    if (!is_documented(status)) {
        fprintf(stderr, "at stop %d: %s\n", at, strerror(-status));
        rgi_check(is_documented(status));
    }
    if (atomic_compare_exchange_strong(&tour.first_error, &none, status))
        atomic_store(&tour.first_at, at);
}

/* The tour is over before its end; what was opened is closed by pack_up. */
static void
give_up(struct tourist *self, int status)
{
    note(status, self->at);
    rgm_runtime_stop(tour.runtime);
    rgm_stop(self);
}

static void
next(struct tourist *self, int status)
{
    if (status != 0) {
        give_up(self, status);
        return;
    }
    self->at++;
    go_on(self);
}

static void
spawn_helpers(struct tourist *self)
{
    int status = rgm_spawn(self, &helper_behaviour, NULL, &self->here);

    if (status == 0)
        status =
            rgm_spawn_on(self, 1, &helper_behaviour, NULL, &self->there);
    next(self, status);
}

static void
ask_helper(struct tourist *self, struct rgm_address helper)
{
    errand_prepare(&self->errand, helper);
    self->errand.number = 6;
    rgm_ask(self, &self->errand, RGM_REPLY(tourist, errand, on_errand));
}

static void
on_errand(struct tourist *self, struct errand *errand)
{
    rgi_check(rgm_status(errand) != 0 || errand->number == 7);
    next(self, rgm_status(errand));
}

static void
send_card(struct tourist *self)
{
    struct card *card = card_take(&self->actor, 0);

    if (card == NULL) {
        next(self, -ENOMEM);
        return;
    }
    rgi_check(rgm_send(self, self->there, card) == 0);
    next(self, 0);
}

static void
sleep_a_little(struct tourist *self)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), 100 * RGM_NS_PER_US);
    rgm_ask(self, &self->sleep, RGM_REPLY(tourist, rgm_sleep, on_sleep));
}

static void
on_sleep(struct tourist *self, struct rgm_sleep *sleep)
{
    next(self, rgm_status(sleep));
}

static void
begin_to_listen(struct tourist *self)
{
    struct rgm_endpoint endpoint;

    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &endpoint) == 0);
    rgm_stream_listen(&self->listen, rgm_here(self), &self->listener,
                      &endpoint, false);
    rgm_ask(self, &self->listen, RGM_REPLY(tourist, rgm_listen, on_listen));
}

static void
on_listen(struct tourist *self, struct rgm_listen *listen)
{
    next(self, rgm_status(listen));
}

static void
meet(struct tourist *self)
{
    self->meeting = 2;
    self->met = true;
    rgm_stream_accept(&self->accept, &self->listener, &self->far);
    rgm_ask(self, &self->accept, RGM_REPLY(tourist, rgm_accept, on_accept));
    rgm_stream_connect(&self->connect, rgm_here(self), &self->near,
                       &self->listen.endpoint);
    rgm_ask(self, &self->connect,
            RGM_REPLY(tourist, rgm_connect, on_connect));
}

/* One side may fail while the other goes on waiting. */
static void
has_met(struct tourist *self, int status, struct rgm_request *other)
{
    if (status != 0) {
        if (self->met)
            note(status, self->at);
        self->met = false;
    }
    if (--self->meeting > 0) {
        if (status != 0)
            rgm_cancel_request(&self->actor, other);
        return;
    }
    if (self->met) {
        next(self, 0);
    } else {
        rgm_runtime_stop(tour.runtime);
        rgm_stop(self);
    }
}

static void
on_connect(struct tourist *self, struct rgm_connect *connect)
{
    has_met(self, rgm_status(connect), &self->accept.request);
}

static void
on_accept(struct tourist *self, struct rgm_accept *accept)
{
    has_met(self, rgm_status(accept), &self->connect.request);
}

static void
write_all(struct tourist *self, struct rgm_stream *stream)
{
    memset(self->out, 'o', sizeof(self->out));
    rgm_stream_write(&self->write, stream, self->out, sizeof(self->out));
    rgm_ask(self, &self->write, RGM_REPLY(tourist, rgm_write, on_write));
}

static void
on_write(struct tourist *self, struct rgm_write *write)
{
    self->in_count = 0;
    next(self, rgm_status(write));
}

static void
read_some(struct tourist *self)
{
    rgm_stream_read(&self->read, &self->far, self->in + self->in_count,
                    sizeof(self->in) - self->in_count);
    rgm_ask(self, &self->read, RGM_REPLY(tourist, rgm_read, on_read));
}

static void
on_read(struct tourist *self, struct rgm_read *read)
{
    if (rgm_status(read) == 0) {
        rgi_check(!read->end && read->count > 0);
        self->in_count += read->count;
        if (self->in_count < TOUR_BYTES) {
            read_some(self);
            return;
        }
        rgi_check(memcmp(self->in, self->out, TOUR_BYTES) == 0);
    }
    next(self, rgm_status(read));
}

static void
read_pooled(struct tourist *self)
{
    rgm_stream_read_pooled(&self->pooled, &self->near, tour.pool);
    rgm_ask(self, &self->pooled,
            RGM_REPLY(tourist, rgm_read_pooled, on_pooled));
}

static void
on_pooled(struct tourist *self, struct rgm_read_pooled *pooled)
{
    if (rgm_status(pooled) == 0) {
        rgi_check(!pooled->end && pooled->count > 0);
        rgi_check(*(const char *)pooled->lease.data == 'o');
        self->in_count += pooled->count;
        rgi_check(rgm_lease_drop(&pooled->lease) == 0);
        if (self->in_count < TOUR_BYTES) {
            read_pooled(self);
            return;
        }
    }
    next(self, rgm_status(pooled));
}

static void
hang_up(struct tourist *self)
{
    rgm_stream_close(&self->close, &self->near);
    rgm_ask(self, &self->close, RGM_REPLY(tourist, rgm_close, on_close));
}

static void
on_close(struct tourist *self, struct rgm_close *close)
{
    next(self, rgm_status(close));
}

static void
acquire(struct tourist *self)
{
    rgm_pool_acquire(&self->acquire, rgm_here(self), tour.pool);
    rgm_ask(self, &self->acquire, RGM_REPLY(tourist, rgm_acquire,
                                            on_acquire));
}

static void
on_acquire(struct tourist *self, struct rgm_acquire *slot)
{
    if (rgm_status(slot) == 0)
        rgi_check(rgm_lease_drop(&slot->lease) == 0);
    next(self, rgm_status(slot));
}

static int64_t
work(struct rgm_job *job)
{
    (void)job;
    return 5;
}

static void
have_work_done(struct tourist *self)
{
    rgm_job_run(&self->job, rgm_here(self), work);
    rgm_ask(self, &self->job, RGM_REPLY(tourist, rgm_job, on_job));
}

static void
on_job(struct tourist *self, struct rgm_job *job)
{
    rgi_check(rgm_status(job) != 0 || job->result == 5);
    next(self, rgm_status(job));
}

static void
open_file(struct tourist *self)
{
    rgm_file_open(&self->open, rgm_here(self), &self->file, tour.path,
                  RGM_FILE_READ | RGM_FILE_WRITE | RGM_FILE_CREATE, 0600);
    rgm_ask(self, &self->open, RGM_REPLY(tourist, rgm_file_open, on_open));
}

static void
on_open(struct tourist *self, struct rgm_file_open *open)
{
    next(self, rgm_status(open));
}

static void
store(struct tourist *self)
{
    rgm_file_write_all_at(&self->store, &self->file, self->out, TOUR_BYTES,
                          0);
    rgm_ask(self, &self->store, RGM_REPLY(tourist, rgm_file_write, on_store));
}

static void
on_store(struct tourist *self, struct rgm_file_write *write)
{
    rgi_check(rgm_status(write) != 0 || write->count == TOUR_BYTES);
    next(self, rgm_status(write));
}

static void
sync_file(struct tourist *self)
{
    rgm_file_datasync(&self->sync, &self->file);
    rgm_ask(self, &self->sync, RGM_REPLY(tourist, rgm_file_sync, on_sync));
}

static void
on_sync(struct tourist *self, struct rgm_file_sync *sync)
{
    next(self, rgm_status(sync));
}

static void
load(struct tourist *self)
{
    memset(self->in, 0, sizeof(self->in));
    rgm_file_read_all_at(&self->load, &self->file, self->in, TOUR_BYTES, 0);
    rgm_ask(self, &self->load, RGM_REPLY(tourist, rgm_file_read, on_load));
}

static void
on_load(struct tourist *self, struct rgm_file_read *read)
{
    if (rgm_status(read) == 0)
        rgi_check(memcmp(self->in, self->out, TOUR_BYTES) == 0);
    next(self, rgm_status(read));
}

static void
close_file(struct tourist *self)
{
    rgm_file_close(&self->close, &self->file);
    rgm_ask(self, &self->close, RGM_REPLY(tourist, rgm_close, on_close));
}

static void
resize_to(struct tourist *self, uint32_t workers)
{
    rgm_resize_to(&self->resize, workers);
    rgm_ask(self, &self->resize, RGM_REPLY(tourist, rgm_resize, on_resize));
}

static void
on_resize(struct tourist *self, struct rgm_resize *resize)
{
    next(self, rgm_status(resize));
}

static void
go_on(struct tourist *self)
{
    switch (self->at) {
    case SPAWN: spawn_helpers(self); break;
    case ASK_HERE: ask_helper(self, self->here); break;
    case ASK_THERE: ask_helper(self, self->there); break;
    case SEND: send_card(self); break;
    case SLEEP: sleep_a_little(self); break;
    case LISTEN: begin_to_listen(self); break;
    case MEET: meet(self); break;
    case WRITE: write_all(self, &self->near); break;
    case READ: read_some(self); break;
    case WRITE_BACK: write_all(self, &self->far); break;
    case READ_POOLED: read_pooled(self); break;
    case HANG_UP: hang_up(self); break;
    case ACQUIRE: acquire(self); break;
    case WORK: have_work_done(self); break;
    case OPEN: open_file(self); break;
    case STORE: store(self); break;
    case SYNC: sync_file(self); break;
    case LOAD: load(self); break;
    case CLOSE: close_file(self); break;
    case GROW: resize_to(self, 3); break;
    case SHRINK: resize_to(self, 2); break;
    case END:
        atomic_store(&tour.complete, true);
        rgm_runtime_stop(tour.runtime);
        rgm_stop(self);
    }
}

static void
drop(struct tourist *self, struct rgm_socket *socket)
{
    int status = rgm_socket_drop(&self->actor, socket);

    if (status == -ENOMEM) /* said to be, and what to do then */
        status = rgm_socket_drop(&self->actor, socket);
    rgi_check(status == 0);
}

static void
pack_up(struct tourist *self)
{
    drop(self, &self->near.socket);
    drop(self, &self->far.socket);
    drop(self, &self->listener.socket);
    drop(self, &self->file.handle);
}

/* ---------------------------------------------------------------- from outside */

#define DESCRIPTORS_MAX 1024

static unsigned
descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void
make_pool(void)
{
    struct rgm_pool_options options = {
        .name = "tour", .slots_count = 4, .slot_size_bytes = 256};

    rgi_check(rgm_pool_create(&options, &tour.pool) == 0);
}

struct fault_plan {
    const struct rgm_provider_class *provider;
    uint32_t ring_entries;
    unsigned calls; /* 0: allocations */
    int error;
    bool late;
    bool unnoticed; /* the tour must be complete all the same */
    bool may_end_it; /* a provider may fail for good */
};

static void
arm(const struct fault_plan *plan, unsigned long nth)
{
    if (plan->calls == 0)
        rgi_memory_fail_nth(nth);
    else
        fault_plan(plan->calls, (long)nth, plan->error, plan->late);
}

static bool
disarm(const struct fault_plan *plan)
{
    return plan->calls == 0 ? rgi_memory_fail_off() : fault_end();
}

/* Returns: 0, or why it could not begin, or the error of a provider. */
static int
travel(const struct fault_plan *plan)
{
    struct rgm_runtime_options options = {.workers = 2,
                                          .workers_max = 3,
                                          .provider = plan->provider,
                                          .ring_entries = plan->ring_entries};
    struct rgm_address address;
    int status = rgm_runtime_create(&options, &tour.runtime);

    if (status != 0) {
        note(status, -3);
        return status;
    }
    status = rgm_runtime_start(tour.runtime);
    if (status == 0) {
        status = rgm_runtime_spawn(tour.runtime, 0, &tourist_behaviour, NULL,
                                   &address);
        if (status != 0) {
            note(status, -1);
            rgm_runtime_stop(tour.runtime);
        }
        status = rgm_runtime_wait(tour.runtime);
    } else {
        note(status, -2);
        rgi_check(rgm_runtime_error(tour.runtime)[0] != '\0' ||
                  status == -EAGAIN || status == -ENOMEM);
    }
    rgi_check(rgm_runtime_destroy(tour.runtime) == 0);
    return status;
}

/* Returns: whether the fault was met. */
static bool
travel_with_fault(const struct fault_plan *plan, unsigned long nth)
{
    size_t blocks = rgi_memory_live();
    unsigned open = descriptors();
    bool met, ended_it;
    int status;

    atomic_store(&tour.complete, false);
    atomic_store(&tour.first_error, 0);
    make_pool();
    snprintf(tour.path, sizeof(tour.path), "/tmp/ringmail-tour-%ld",
             (long)getpid());
    arm(plan, nth);
    status = travel(plan);
    met = disarm(plan);
    (void)unlink(tour.path);
    ended_it = status != 0 && plan->may_end_it;
    if (!met)
        rgi_check(tour.complete);
    if (plan->unnoticed)
        rgi_check(tour.complete && status == 0);
    rgi_check(tour.complete || tour.first_error != 0 || ended_it);
    if (!ended_it) /* a lost provider keeps what the kernel may write to */
        rgi_check(rgm_pool_free_count(tour.pool) == 4);
    rgm_pool_destroy(tour.pool);
    if (!ended_it) {
        rgi_check(rgi_memory_live() == blocks);
        rgi_check(descriptors() == open);
    }
    return met;
}

/* How long a tour can be at most; more means that it does not end. */
#define CALLS_MAX 5000ul

static void
travel_all(const struct fault_plan *plan)
{
    unsigned long nth = 1;

    while (travel_with_fault(plan, nth)) {
        rgi_check(nth < CALLS_MAX);
        nth++;
    }
    fprintf(stderr, "# %lu tours of %s\n", nth, plan->provider->name);
}

/* ---------------------------------------------------------------- allocations */

static void
the_nth_allocation_fails_on_ring(void)
{
    static const struct fault_plan plan = {.provider = &rgm_provider_ring};

    travel_all(&plan);
}

static void
the_nth_allocation_fails_on_epoll(void)
{
    static const struct fault_plan plan = {.provider = &rgm_provider_epoll};

    travel_all(&plan);
}

static void
the_nth_allocation_fails_on_threads(void)
{
    static const struct fault_plan plan = {.provider = &rgm_provider_threads};

    travel_all(&plan);
}

/* --------------------------------------------------------------- ring entries */

/* With a queue of one, every entry needs the kernel to have taken the last. */
static void
the_nth_ring_entry_cannot_be_had(void)
{
    static const int errors[] = {EBUSY, EAGAIN};

    for (int i = 0; i < 2; i++) {
        struct fault_plan plan = {.provider = &rgm_provider_ring,
                                  .ring_entries = 1,
                                  .calls = FAULT_BIT(FAULT_RING_ENTER),
                                  .error = errors[i],
                                  .unnoticed = true};

        travel_all(&plan);
    }
}

/* --------------------------------------------------------------- system calls */

static void
field_b61_the_nth_enter_is_interrupted_or_refused(void)
{
    static const int errors[] = {EINTR, EAGAIN, EBUSY};

    for (int i = 0; i < 3; i++) {
        struct fault_plan plan = {.provider = &rgm_provider_ring,
                                  .calls = FAULT_BIT(FAULT_RING_ENTER),
                                  .error = errors[i],
                                  .unnoticed = true};

        travel_all(&plan);
    }
}

static void
field_b61_the_nth_enter_is_interrupted_when_it_has_done_all(void)
{
    static const struct fault_plan plan = {
        .provider = &rgm_provider_ring,
        .calls = FAULT_BIT(FAULT_RING_ENTER),
        .error = EINTR,
        .late = true,
        .unnoticed = true};

    travel_all(&plan);
}

static void
shd_08_the_nth_enter_ends_the_ring(void)
{
    static const struct fault_plan plan = {
        .provider = &rgm_provider_ring,
        .calls = FAULT_BIT(FAULT_RING_ENTER),
        .error = ENOMEM,
        .may_end_it = true};

    travel_all(&plan);
}

static void
the_nth_call_that_sets_up_fails(void)
{
    static const enum fault_call calls[] = {
        FAULT_RING_SETUP, FAULT_RING_REGISTER, FAULT_MMAP, FAULT_EVENTFD,
        FAULT_THREAD};
    static const struct rgm_provider_class *const providers[] = {
        &rgm_provider_ring, &rgm_provider_epoll, &rgm_provider_threads};

    for (unsigned p = 0; p < 3; p++)
        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
            struct fault_plan plan = {
                .provider = providers[p],
                .calls = FAULT_BIT(calls[i]),
                .error = calls[i] == FAULT_THREAD ? EAGAIN : ENOMEM};

            fprintf(stderr, "# %s\n", fault_names[calls[i]]);
            travel_all(&plan);
        }
}

/* With single mappings of our own only: not where a sanitizer has to see them. */
static void
field_b61_the_nth_operation_in_a_ring_ends_with_an_error(void)
{
    static const struct {
        int error;
        bool unnoticed;
    } faults[] = {{EINTR, true}, {EAGAIN, true}, {ENOMEM, false},
                  {ENOBUFS, false}};

    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct fault_plan plan = {.provider = &rgm_provider_ring,
                                  .calls = FAULT_BIT(FAULT_ENTRY),
                                  .error = faults[i].error,
                                  .unnoticed = faults[i].unnoticed};

        fprintf(stderr, "# %s\n", strerror(faults[i].error));
        travel_all(&plan);
    }
}

/* What only says "not now". */
static void
the_nth_call_of_an_operation_is_interrupted_or_too_early(void)
{
    static const struct {
        enum fault_call call;
        int error;
    } faults[] = {{FAULT_RECEIVE, EINTR}, {FAULT_RECEIVE, EAGAIN},
                  {FAULT_SEND, EINTR},    {FAULT_SEND, EAGAIN},
                  {FAULT_ACCEPT, EINTR},  {FAULT_ACCEPT, EAGAIN},
                  {FAULT_POLL, EINTR},    {FAULT_READ_AT, EINTR},
                  {FAULT_WRITE_AT, EINTR}, {FAULT_SYNC, EINTR}};

    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct fault_plan plan = {.provider = &rgm_provider_threads,
                                  .calls = FAULT_BIT(faults[i].call),
                                  .error = faults[i].error,
                                  .unnoticed = true};

        fprintf(stderr, "# %s\n", fault_names[faults[i].call]);
        travel_all(&plan);
    }
}

static void
the_nth_call_of_an_operation_finds_no_memory(void)
{
    static const enum fault_call calls[] = {
        FAULT_SOCKET, FAULT_BIND,    FAULT_LISTEN, FAULT_ACCEPT,
        FAULT_CONNECT, FAULT_RECEIVE, FAULT_SEND, FAULT_READ_AT,
        FAULT_WRITE_AT, FAULT_SYNC};
    static const struct rgm_provider_class *const providers[] = {
        &rgm_provider_ring, &rgm_provider_epoll, &rgm_provider_threads};

    for (unsigned p = 0; p < 3; p++)
        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
            struct fault_plan plan = {.provider = providers[p],
                                      .calls = FAULT_BIT(calls[i]),
                                      .error = ENOMEM};

            fprintf(stderr, "# %s\n", fault_names[calls[i]]);
            travel_all(&plan);
        }
}

/* A driver of the class below, counted. */
static const struct rgm_provider_class *counted_class;
static atomic_int counted_open;

static int
counted_open_one(const struct rgm_provider_options *options,
                 struct rgm_provider **ret_provider, char *why,
                 size_t why_size)
{
    int status = counted_class->open(options, ret_provider, why, why_size);

    atomic_fetch_add(&counted_open, status == 0);
    return status;
}

static void
counted_close_one(struct rgm_provider *provider)
{
    atomic_fetch_sub(&counted_open, 1);
    counted_class->close(provider);
}

/* Returns: whether a thread was missing. */
static bool
start_without_the_nth_thread(long nth)
{
    struct rgm_provider_class class = {.name = "counted",
                                       .open = counted_open_one,
                                       .close = counted_close_one,
                                       .kinds = counted_class->kinds};
    struct rgm_runtime_options options = {.workers = 4, .provider = &class};
    struct rgm_runtime *runtime;
    unsigned open = descriptors();
    bool missing;
    int status;

    rgi_check(rgm_runtime_create(&options, &runtime) == 0);
    fault_plan(FAULT_BIT(FAULT_THREAD), nth, EAGAIN, false);
    status = rgm_runtime_start(runtime);
    missing = fault_end();
    rgi_check(status == (missing ? -EAGAIN : 0));
    rgi_check((rgm_runtime_error(runtime)[0] != '\0') == missing);
    if (missing) /* closed by now, and not only in the end */
        rgi_check(atomic_load(&counted_open) == 0);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(atomic_load(&counted_open) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(descriptors() == open);
    return missing;
}

static void
cmp_03_a_thread_that_cannot_be_made_closes_all_drivers(void)
{
    static const struct rgm_provider_class *const providers[] = {
        &rgm_provider_ring, &rgm_provider_epoll, &rgm_provider_threads};

    for (unsigned p = 0; p < 3; p++) {
        long nth = 1;

        counted_class = providers[p];
        while (start_without_the_nth_thread(nth))
            nth++;
        rgi_check(nth > 4);
    }
}

/* A thread of its own: for signals, and to see to the end of what is given up. On an
 * error nothing has changed: it goes the next time. */
static void
shd_10_without_a_thread_nothing_is_subscribed_nor_given_up(void)
{
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = &rgm_provider_threads};
    struct rgm_signal_guard guard = {NULL};
    struct rgm_runtime *runtime;
    size_t blocks = rgi_memory_live();
    struct rgm_sleep sleep;

    rgi_check(rgm_runtime_create(&options, &runtime) == 0);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_memory_fail_nth(1);
    rgi_check(rgm_signal_stop(runtime, SIGUSR1, &guard) == -ENOMEM);
    rgi_check(rgi_memory_fail_off());
    fault_plan(FAULT_BIT(FAULT_THREAD), 1, EAGAIN, false);
    rgi_check(rgm_signal_stop(runtime, SIGUSR1, &guard) == -EAGAIN);
    rgi_check(fault_end());
    rgi_check(guard.subscription == NULL);
    fault_plan(FAULT_BIT(FAULT_THREAD), 1, EAGAIN, false);
    rgi_check(rgm_runtime_drop(runtime) == -EAGAIN);
    rgi_check(fault_end());
    rgm_sleep_for(&sleep, rgm_worker_address(0), 0);
    rgi_check(rgm_call(runtime, &sleep) == 0); /* it was not even stopped */
    rgi_check(rgm_signal_stop(runtime, SIGUSR1, &guard) == 0);
    rgi_check(rgm_runtime_drop(runtime) == 0);
    rgm_signal_drop(&guard);
    while (rgi_memory_live() != blocks)
        sched_yield();
}

/* Last: a ring that fails for good leaves memory behind. */
#define CASES(X)                                                               \
    X(faults, the_nth_allocation_fails_on_ring)                                \
    X(faults, the_nth_allocation_fails_on_epoll)                               \
    X(faults, the_nth_allocation_fails_on_threads)                             \
    X(faults, the_nth_ring_entry_cannot_be_had)                                \
    X(faults, field_b61_the_nth_enter_is_interrupted_or_refused)               \
    X(faults, field_b61_the_nth_enter_is_interrupted_when_it_has_done_all)     \
    X(faults, field_b61_the_nth_operation_in_a_ring_ends_with_an_error)        \
    X(faults, the_nth_call_that_sets_up_fails)                                 \
    X(faults, cmp_03_a_thread_that_cannot_be_made_closes_all_drivers)          \
    X(faults, shd_10_without_a_thread_nothing_is_subscribed_nor_given_up)      \
    X(faults, the_nth_call_of_an_operation_is_interrupted_or_too_early)        \
    X(faults, the_nth_call_of_an_operation_finds_no_memory)                    \
    X(faults, shd_08_the_nth_enter_ends_the_ring)

RGI_CASES(CASES)
