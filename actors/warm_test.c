/* SPDX-License-Identifier: MIT */

/*
 * warm_test.c - is nothing allocated per message, ask, timer or operation?
 *
 * Allocation is counted over the whole process, whoever asks: the functions of
 * libc are replaced by ones that count, and the end of the heap is compared. A
 * sanitizer brings its own; there only the library's own requests are counted.
 */

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "actors/rig.h"

static atomic_ullong allocations;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static void *
counted_allocate(size_t alignment, size_t size_bytes)
{
    size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, rounded);

    atomic_fetch_add(&allocations, 1);
    if (memory != NULL)
        memset(memory, 0, rounded);
    return memory;
}

static const struct rgi_allocator counted = {counted_allocate, free};

static void
count_allocations(void)
{
    rgi_memory_use(&counted);
}

#else

/* Visible, so that libc and every other library use them too. */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **ret_memory, size_t alignment, size_t size);

RGM_API void *
malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}

RGM_API void *
calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(count, size);
}

RGM_API void *
realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(memory, size);
}

RGM_API void *
memalign(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}

RGM_API void *
aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

RGM_API int
posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
    *ret_memory = memalign(alignment, size);
    return *ret_memory == NULL ? ENOMEM : 0;
}

RGM_API void *
mmap(void *address, size_t length, int protection, int flags, int fd,
     off_t offset)
{
    atomic_fetch_add(&allocations, 1);
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd,
                           offset);
}

static void
count_allocations(void)
{
}

#endif

#define WARM_UP 1000
#define ROUNDS 4000

struct warm {
    unsigned rounds;
    unsigned long long allocations;
    const void *heap_end;
    const struct rgm_provider_class *provider;
    uint32_t workers;
    struct rgm_address other;
    void (*next)(struct robot *self);
};

#define warm_of(self) ((struct warm *)test_of(self))

/* One more round; after the first thousand nothing may be allocated. */
static void
round_over(struct robot *self)
{
    struct warm *warm = warm_of(self);

    warm->rounds++;
    if (warm->rounds == WARM_UP) {
        warm->allocations = atomic_load(&allocations);
        warm->heap_end = sbrk(0);
    }
    if (warm->rounds == WARM_UP + ROUNDS) {
        rgi_check(atomic_load(&allocations) == warm->allocations);
        rgi_check(sbrk(0) == warm->heap_end);
        rgm_runtime_stop(self->actor.worker->runtime);
        return;
    }
    warm->next(self);
}

static void
run(struct warm *warm, const struct script *root)
{
    struct rgm_runtime_options options = {.workers = warm->workers,
                                          .provider = warm->provider};

    fake_reset();
    count_allocations();
    rig_run_with(&options, root);
    rgi_check(warm->rounds == WARM_UP + ROUNDS);
    rgi_memory_use(NULL);
}

/* ------------------------------------------------------------------ messages */

static void
send_three(struct robot *self)
{
    for (long i = 2; i >= 0; i--) /* the last comes back */
        rgi_check(robot_send(self, warm_of(self)->other, i) == 0);
}

static void
send_back(struct robot *self, struct note *note)
{
    if (note->value == 0)
        rgi_check(robot_send(self, *(struct rgm_address *)test_of(self), 0) ==
                  0);
}

static void
note_over(struct robot *self, struct note *note)
{
    (void)note;
    round_over(self);
}

static struct rgm_address home_of_notes;

static void
begin_notes(struct robot *self)
{
    static const struct script other = {.note = send_back,
                                        .test = &home_of_notes};

    home_of_notes = rgm_self(self);
    warm_of(self)->other =
        robot_spawn_on(self, warm_of(self)->workers - 1, &other);
    send_three(self);
}

static void
run_notes(const struct rgm_provider_class *provider)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct warm warm = {
            .provider = provider, .workers = workers, .next = send_three};
        struct script root = {
            .started = begin_notes, .note = note_over, .test = &warm};

        run(&warm, &root);
    }
}

static void
messages_allocate_nothing(void)
{
    run_notes(&fake_class);
    run_notes(&rgm_provider_threads);
    run_notes(NULL);
}

/* ---------------------------------------------------------------------- asks */

RGM_ANSWER(robot, question, question_over);

static void
question_over(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    round_over(self);
}

static void
ask_one(struct robot *self)
{
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, question_over));
}

static void
keep_and_answer(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
    rgi_check(rgm_answer(self, self->token, 0) == 0);
}

static void
begin_asks(struct robot *self)
{
    static const struct script other = {.question = keep_and_answer};

    question_prepare(&self->question,
                     robot_spawn_on(self, warm_of(self)->workers - 1, &other));
    ask_one(self);
}

static void
run_asks(const struct rgm_provider_class *provider)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct warm warm = {
            .provider = provider, .workers = workers, .next = ask_one};
        struct script root = {.started = begin_asks, .test = &warm};

        run(&warm, &root);
    }
}

static void
asks_allocate_nothing(void)
{
    run_asks(&fake_class);
    run_asks(&rgm_provider_threads);
    run_asks(NULL);
}

/* -------------------------------------------------------------------- timers */

RGM_ANSWER(robot, rgm_sleep, sleep_over);

static void
sleep_over(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == 0 || rgm_status(sleep) == -ECANCELED);
    round_over(self);
}

static void
sleep_or_cancel(struct robot *self)
{
    unsigned rounds = warm_of(self)->rounds;

    rgm_sleep_for(&self->sleep, rgm_here(self),
                  rounds % 2 == 0 ? 1 : 3600 * RGM_NS_PER_S);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, sleep_over));
    if (rounds % 2 != 0)
        rgm_cancel(self, &self->sleep);
}

static void
timers_allocate_nothing(void)
{
    static const struct rgm_provider_class *const providers[] = {
        &fake_class, &rgm_provider_threads, NULL};

    for (unsigned i = 0; i < 3; i++) {
        struct warm warm = {
            .provider = providers[i], .workers = 1, .next = sleep_or_cancel};
        struct script root = {.started = sleep_or_cancel, .test = &warm};

        run(&warm, &root);
    }
}

static struct rgm_timer warm_timer;

static void wait_or_cancel(struct robot *self);
RGM_ANSWER(robot, rgm_timer, warm_timer_over);

static void
warm_timer_over(struct robot *self, struct rgm_timer *timer)
{
    rgi_check(rgm_status(timer) == 0 || rgm_status(timer) == -ECANCELED);
    round_over(self);
}

static void
wait_or_cancel(struct robot *self)
{
    unsigned rounds = warm_of(self)->rounds;

    rgi_check(rgm_timer_wait(&warm_timer, rgm_here(self),
                             rounds % 2 == 0 ? 0 : RGM_NEVER) == 0);
    rgm_ask(self, &warm_timer, RGM_REPLY(robot, rgm_timer, warm_timer_over));
    if (rounds % 2 != 0)
        rgm_cancel(self, &warm_timer);
}

static void
begin_waits(struct robot *self)
{
    rgm_timer_init(&warm_timer, self->actor.worker->runtime);
    wait_or_cancel(self);
}

/* Used again it has its place; so has what is sent later, but for the slab. */
static void
tmr_11_a_local_wait_allocates_nothing(void)
{
    static const struct rgm_provider_class *const providers[] = {
        &fake_class, &rgm_provider_threads, NULL};

    for (unsigned i = 0; i < 3; i++) {
        struct warm warm = {
            .provider = providers[i], .workers = 1, .next = wait_or_cancel};
        struct script root = {.started = begin_waits, .test = &warm};

        run(&warm, &root);
    }
}

static void
send_one_later(struct robot *self)
{
    struct note *note = note_take(&self->actor, 0);

    rgi_check(note != NULL);
    rgi_check(rgm_send_after(self, rgm_self(self), note, 1, NULL) == 0);
}

static void
what_is_sent_later_allocates_nothing(void)
{
    struct warm warm = {.provider = &fake_class, .workers = 1,
                        .next = send_one_later};
    struct script root = {
        .started = send_one_later, .note = note_over, .test = &warm};

    run(&warm, &root);
}

/* ---------------------------------------------------------------- operations */

RGM_ANSWER(robot, rgm_listen, listen_over);

static void
listen_over(struct robot *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) == 0);
    round_over(self);
}

static void
start_one(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, listen_over));
}

static void
complete_one(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    (void)fake_complete_first(fake, 0);
}

static void
opl_22_an_operation_allocates_nothing(void)
{
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = &fake_class};
    struct warm warm = {.next = start_one};
    struct script root = {.started = start_one, .test = &warm};

    fake_reset();
    fake_plan.on_wait = complete_one;
    count_allocations();
    rig_run_with(&options, &root);
    rgi_check(warm.rounds == WARM_UP + ROUNDS);
    rgi_memory_use(NULL);
}

/* --------------------------------------------------------------------- calls */

static void
reply_at_once(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
calls_from_a_plain_thread_allocate_nothing(void)
{
    static const struct script replier = {.question = reply_at_once};
    struct rgm_runtime *runtime;
    struct rgm_address address;
    unsigned long long before = 0;

    fake_reset();
    count_allocations();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 0, &robot_behaviour, &replier,
                                &address) == 0);
    for (unsigned i = 0; i < 1000; i++) {
        struct question question;

        question_prepare(&question, address);
        rgi_check(rgm_call(runtime, &question) == 0);
        if (i == 100)
            before = atomic_load(&allocations);
    }
    rgi_check(atomic_load(&allocations) == before);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
    rgi_memory_use(NULL);
}

#define CASES(X)                                                               \
    X(warm, messages_allocate_nothing)                                         \
    X(warm, asks_allocate_nothing)                                             \
    X(warm, timers_allocate_nothing)                                           \
    X(warm, tmr_11_a_local_wait_allocates_nothing)                             \
    X(warm, what_is_sent_later_allocates_nothing)                              \
    X(warm, opl_22_an_operation_allocates_nothing)                             \
    X(warm, calls_from_a_plain_thread_allocate_nothing)

RGI_CASES(CASES)
