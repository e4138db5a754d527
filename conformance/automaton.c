/* SPDX-License-Identifier: MIT */

/*
 * automaton.c - how does a script carry streams out by itself?
 *
 * Cancels are held, so that nobody but this thread decides anything: what it
 * looks at stays out until it says otherwise. Between two looks that have
 * brought nothing it pauses; while nothing waits it sleeps.
 */

#include "conformance/automaton.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/harness.h"

#define BIT(kind) (UINT64_C(1) << (kind))
#define KINDS                                                                  \
    (BIT(RGM_OP_LISTEN) | BIT(RGM_OP_ACCEPT) | BIT(RGM_OP_CONNECT) |           \
     BIT(RGM_OP_READ) | BIT(RGM_OP_READ_POOLED) | BIT(RGM_OP_WRITE) |          \
     BIT(RGM_OP_SHUTDOWN) | BIT(RGM_OP_CLOSE) | BIT(RGM_OP_SET_OPTION) |       \
     BIT(RGM_OP_GET_OPTION))

enum { NOT_YET = 1 }; /* not a status: it goes on waiting */
enum { PIECES_MAX = 64, BOUNCE_BYTES = 1 << 18 };

/* What is known of one that could not be done at once. */
struct work {
    struct rgm_operation *operation;
    struct work *next;
    size_t written;
    int fd; /* of a connect; -1: none */
    bool connecting;
};

struct automaton {
    struct rgm_script *script;
    struct work *works;
    struct work *spare;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool submitted; /* under the lock, since the last look */
    bool over;
    /* Open descriptors: a handle's resource is a place in it, and one. */
    int fds[4096];
    char bounce[BOUNCE_BYTES];
};

static void
decide(struct automaton *automaton, struct rgm_operation *operation, int status)
{
    rgm_script_complete(automaton->script, operation, status);
}

/* ------------------------------------------------------------------- places */

static uint64_t
place_of(struct automaton *automaton, int fd)
{
    size_t i = 0;

    while (automaton->fds[i] >= 0)
        i++;
    rgi_check(i + 1 < sizeof(automaton->fds) / sizeof(automaton->fds[0]));
    automaton->fds[i] = fd;
    return i + 1;
}

static int
fd_of(const struct automaton *automaton, const struct rgm_socket *socket)
{
    return automaton->fds[socket->resource - 1];
}

static void
no_delay(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* ------------------------------------------------------------------ opening */

static int
family_of(const struct rgm_endpoint *endpoint)
{
    if (endpoint->family == RGM_IPV4)
        return AF_INET;
    return endpoint->family == RGM_IPV6 ? AF_INET6 : AF_UNIX;
}

static int
listen_at(struct rgm_listen *record, int fd)
{
    struct sockaddr_storage address;
    socklen_t length = peer_to_kernel(&record->endpoint, &address);
    int on = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, length) < 0 ||
        listen(fd, record->backlog != 0 ? (int)record->backlog : 4096) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return -errno;
    if (record->endpoint.family == RGM_IPV4)
        record->endpoint.port =
            ntohs(((struct sockaddr_in *)(void *)&address)->sin_port);
    return 0;
}

static int
do_listen(struct automaton *automaton, struct rgm_listen *record)
{
    int status;
    int fd;

    if (record->imports)
        return -ENOTSUP;
    fd = socket(family_of(&record->endpoint),
                SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    status = listen_at(record, fd);
    if (status < 0)
        close(fd);
    else
        rgm_script_complete_open(automaton->script, &record->operation,
                                 place_of(automaton, fd));
    return status < 0 ? status : 0;
}

static int
do_accept(struct automaton *automaton, struct rgm_accept *record)
{
    int fd = accept4(fd_of(automaton, &record->listener->socket), NULL, NULL,
                     SOCK_CLOEXEC);

    if (fd < 0)
        return errno == EAGAIN || errno == ECONNABORTED ? NOT_YET : -errno;
    no_delay(fd);
    rgm_script_complete_open(automaton->script, &record->operation,
                             place_of(automaton, fd));
    return 0;
}

static int
connect_begin(struct rgm_connect *record, struct work *work)
{
    struct sockaddr_storage address;
    socklen_t length = peer_to_kernel(&record->endpoint, &address);

    if (work->fd < 0)
        work->fd = socket(family_of(&record->endpoint),
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (work->fd < 0)
        return -errno;
    if (connect(work->fd, (struct sockaddr *)&address, length) == 0)
        return 0;
    work->connecting = errno == EINPROGRESS;
    return errno == EINPROGRESS || errno == EAGAIN ? NOT_YET : -errno;
}

static int
connect_look(const struct work *work)
{
    struct pollfd entry = {work->fd, POLLOUT, 0};
    socklen_t length = sizeof(int);
    int error = 0;

    if (poll(&entry, 1, 0) <= 0)
        return NOT_YET;
    (void)getsockopt(work->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    return -error;
}

static int
do_connect(struct automaton *automaton, struct rgm_connect *record,
           struct work *work)
{
    int status;

    if (record->imports)
        return -ENOTSUP;
    if (record->over != NULL)
        return -EISCONN; /* none is open and not connected */
    status = work->connecting ? connect_look(work)
                              : connect_begin(record, work);
    if (status != 0)
        return status;
    (void)fcntl(work->fd, F_SETFL, 0); /* blocking, as the others are */
    no_delay(work->fd);
    rgm_script_complete_open(automaton->script, &record->operation,
                             place_of(automaton, work->fd));
    work->fd = -1;
    return 0;
}

/* ---------------------------------------------------------------- transfers */

static ssize_t
look_at(struct automaton *automaton, int fd, size_t bytes, int flags)
{
    ssize_t count = recv(fd, automaton->bounce,
                         bytes < BOUNCE_BYTES ? bytes : BOUNCE_BYTES,
                         MSG_DONTWAIT | flags);

    if (count >= 0)
        return count;
    return errno == EAGAIN || errno == EINTR ? -EAGAIN : -errno;
}

static int
do_read(struct automaton *automaton, struct rgm_read *record)
{
    int fd = fd_of(automaton, &record->stream->socket);
    ssize_t count = look_at(automaton, fd, record->capacity_bytes, 0);
    bool empty = record->capacity_bytes == 0;

    if (count < 0 && !(empty && count == -EAGAIN))
        return count == -EAGAIN ? NOT_YET : (int)count;
    rgi_check(rgm_script_complete_read(automaton->script, &record->operation,
                                       automaton->bounce,
                                       empty ? 0 : (size_t)count,
                                       count == 0 && !empty) == 0);
    return 0;
}

/* The bytes are taken when there was a slot for them, not before. */
static int
do_read_pooled(struct automaton *automaton, struct rgm_read_pooled *record)
{
    int fd = fd_of(automaton, &record->stream->socket);
    size_t size_bytes = rgm_pool_slot_size(record->pool);
    ssize_t count = look_at(automaton, fd, size_bytes, MSG_PEEK);
    int status;

    if (count < 0)
        return count == -EAGAIN ? NOT_YET : (int)count;
    status = rgm_script_complete_read(automaton->script, &record->operation,
                                      automaton->bounce, (size_t)count,
                                      count == 0);
    if (status < 0)
        return status == -EAGAIN ? NOT_YET : status;
    rgi_check(look_at(automaton, fd, (size_t)count, 0) == count);
    return 0;
}

/* What is left of the pieces. Returns: how many, at most PIECES_MAX. */
static size_t
left_of(const struct rgm_write *record, size_t written, struct iovec *pieces)
{
    size_t count = 0;

    for (size_t i = 0; i < record->vectors_count && count < PIECES_MAX; i++) {
        const struct rgm_vector *vector = &record->vectors[i];
        size_t skip = written < vector->length_bytes ? written
                                                     : vector->length_bytes;

        written -= skip;
        if (vector->length_bytes == skip)
            continue;
        pieces[count].iov_base = (char *)(uintptr_t)vector->data + skip;
        pieces[count++].iov_len = vector->length_bytes - skip;
    }
    return count;
}

static void
wrote(struct automaton *automaton, struct rgm_write *record, struct work *work,
      int status)
{
    rgm_script_complete_write(automaton->script, &record->operation,
                              work->written, status);
}

static int
do_write(struct automaton *automaton, struct rgm_write *record,
         struct work *work)
{
    int fd = fd_of(automaton, &record->stream->socket);
    struct iovec pieces[PIECES_MAX];
    struct msghdr header = {.msg_iov = pieces};
    ssize_t count = 0;

    while ((header.msg_iovlen = left_of(record, work->written, pieces)) > 0) {
        count = sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return NOT_YET;
        if (count < 0 || record->some)
            break;
        work->written += (size_t)count;
    }
    work->written += count > 0 && record->some ? (size_t)count : 0;
    wrote(automaton, record, work, count < 0 ? -errno : 0);
    return 0;
}

/* ------------------------------------------------------------------ options */

static int
do_option(struct automaton *automaton, struct rgm_socket_option *record)
{
    static const int names[] = {
        [RGM_OPTION_KEEP_ALIVE] = SO_KEEPALIVE,
        [RGM_OPTION_RECEIVE_BUFFER] = SO_RCVBUF,
        [RGM_OPTION_SEND_BUFFER] = SO_SNDBUF,
    };
    bool delay = record->option == RGM_OPTION_NO_DELAY;
    int level = delay ? IPPROTO_TCP : SOL_SOCKET;
    int name = delay ? TCP_NODELAY : 0;
    int fd = fd_of(automaton, record->socket);
    socklen_t length = sizeof(record->value);
    int status;

    if (record->option < sizeof(names) / sizeof(names[0]) && !delay)
        name = names[record->option];
    if (name == 0)
        return -ENOTSUP; /* linger */
    status = record->operation.kind == RGM_OP_SET_OPTION
                 ? setsockopt(fd, level, name, &record->value, length)
                 : getsockopt(fd, level, name, &record->value, &length);
    decide(automaton, &record->operation, status < 0 ? -errno : 0);
    return 0;
}

/* ------------------------------------------------------------------- ending */

static int
do_shutdown(struct automaton *automaton, struct rgm_shutdown *record)
{
    int fd = fd_of(automaton, &record->stream->socket);
    int status = shutdown(fd, SHUT_WR) < 0 ? -errno : 0;

    decide(automaton, &record->operation, status);
    return 0;
}

static int
do_close(struct automaton *automaton, struct rgm_close *record)
{
    int *fd = &automaton->fds[record->socket->resource - 1];
    int status = close(*fd) < 0 ? -errno : 0;

    *fd = -1;
    decide(automaton, &record->operation, status);
    return 0;
}

/* Returns: 0 when it is decided, NOT_YET, or the error it ends with. */
static int
attempt(struct automaton *automaton, struct work *work)
{
    void *record = work->operation;

    switch (work->operation->kind) {
    case RGM_OP_LISTEN:
        return do_listen(automaton, record);
    case RGM_OP_ACCEPT:
        return do_accept(automaton, record);
    case RGM_OP_CONNECT:
        return do_connect(automaton, record, work);
    case RGM_OP_READ:
        return do_read(automaton, record);
    case RGM_OP_READ_POOLED:
        return do_read_pooled(automaton, record);
    case RGM_OP_WRITE:
        return do_write(automaton, record, work);
    case RGM_OP_SET_OPTION:
    case RGM_OP_GET_OPTION:
        return do_option(automaton, record);
    case RGM_OP_SHUTDOWN:
        return do_shutdown(automaton, record);
    default:
        return do_close(automaton, record);
    }
}

/* ----------------------------------------------------------------- the look */

static struct work *
work_of(struct automaton *automaton, struct rgm_operation *operation)
{
    struct work *work = automaton->works;

    while (work != NULL && work->operation != operation)
        work = work->next;
    if (work != NULL)
        return work;
    work = automaton->spare != NULL ? automaton->spare
                                    : calloc(1, sizeof(*work));
    rgi_check(work != NULL);
    if (work == automaton->spare)
        automaton->spare = work->next;
    *work = (struct work){
        .operation = operation, .next = automaton->works, .fd = -1};
    automaton->works = work;
    return work;
}

static void
work_ends(struct automaton *automaton, struct work *work)
{
    struct work **place = &automaton->works;

    while (*place != work)
        place = &(*place)->next;
    *place = work->next;
    if (work->fd >= 0)
        close(work->fd);
    work->next = automaton->spare;
    automaton->spare = work;
}

/* Returns: whether it is decided. */
static bool
look_at_one(struct automaton *automaton, struct rgm_operation *operation)
{
    bool writes = operation->kind == RGM_OP_WRITE;
    struct work *work = work_of(automaton, operation);
    int status = attempt(automaton, work);

    if (status == NOT_YET &&
        rgm_script_is_cancelled(automaton->script, operation))
        status = -ECANCELED;
    if (status == NOT_YET)
        return false;
    if (status < 0 && writes)
        wrote(automaton, (void *)operation, work, status);
    else if (status < 0)
        decide(automaton, operation, status);
    work_ends(automaton, work);
    return true;
}

/* Returns: whether anything was decided. */
static bool
look(struct automaton *automaton)
{
    struct rgm_operation *operation;
    bool decided = false;
    size_t skip = 0;

    while ((operation = rgm_script_find(automaton->script, RGM_SCRIPT_ANY,
                                        skip)) != NULL)
        if (look_at_one(automaton, operation))
            decided = true;
        else
            skip++;
    return decided;
}

/* Until something is submitted; not for long while something waits. */
static void
pause_a_while(struct automaton *automaton)
{
    bool waits = rgm_script_count(automaton->script, RGM_SCRIPT_ANY) > 0;
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 500000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (waits && !automaton->submitted)
        (void)pthread_cond_timedwait(&automaton->changed, &automaton->lock,
                                     &until);
    while (!waits && !automaton->submitted && !automaton->over)
        (void)pthread_cond_wait(&automaton->changed, &automaton->lock);
}

static void *
automaton_main(void *argument)
{
    struct automaton *automaton = argument;

    pthread_mutex_lock(&automaton->lock);
    while (!automaton->over) {
        bool decided;

        automaton->submitted = false;
        pthread_mutex_unlock(&automaton->lock);
        decided = look(automaton);
        pthread_mutex_lock(&automaton->lock);
        if (!decided)
            pause_a_while(automaton);
    }
    pthread_mutex_unlock(&automaton->lock);
    return NULL;
}

static void
submitted(struct rgm_script *script, struct rgm_operation *operation,
          void *argument)
{
    struct automaton *automaton = argument;

    (void)script;
    (void)operation; /* it may be over already */
    pthread_mutex_lock(&automaton->lock);
    automaton->submitted = true;
    pthread_cond_signal(&automaton->changed);
    pthread_mutex_unlock(&automaton->lock);
}

struct automaton *
automaton_start(struct rgm_script *script)
{
    struct automaton *automaton = calloc(1, sizeof(*automaton));
    pthread_condattr_t monotonic;

    rgi_check(automaton != NULL);
    automaton->script = script;
    memset(automaton->fds, 0xff, sizeof(automaton->fds)); /* -1 each */
    pthread_mutex_init(&automaton->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&automaton->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    rgm_script_kinds(script, KINDS);
    rgm_script_hold_cancels(script, true);
    rgm_script_on_submit(script, submitted, automaton);
    rgi_check(pthread_create(&automaton->thread, NULL, automaton_main,
                             automaton) == 0);
    return automaton;
}

void
automaton_close_all(struct automaton *automaton)
{
    if (automaton == NULL)
        return;
    for (size_t i = 0;
         i < sizeof(automaton->fds) / sizeof(automaton->fds[0]); i++)
        if (automaton->fds[i] >= 0) {
            close(automaton->fds[i]);
            automaton->fds[i] = -1;
        }
}

void
automaton_stop(struct automaton *automaton)
{
    if (automaton == NULL)
        return;
    pthread_mutex_lock(&automaton->lock);
    automaton->over = true;
    pthread_cond_signal(&automaton->changed);
    pthread_mutex_unlock(&automaton->lock);
    pthread_join(automaton->thread, NULL);
    automaton_close_all(automaton);
    while (automaton->works != NULL)
        work_ends(automaton, automaton->works);
    while (automaton->spare != NULL) {
        struct work *work = automaton->spare;

        automaton->spare = work->next;
        free(work);
    }
    pthread_cond_destroy(&automaton->changed);
    pthread_mutex_destroy(&automaton->lock);
    free(automaton);
}
