/* SPDX-License-Identifier: MIT */

/*
 * shapes_test.c - what would the queue cost in another shape?
 *
 * Three shapes do the same work in turns, so that a disturbance hits them
 * alike, and a table of the medians is printed, in nanoseconds per timer:
 *
 *     queue   timers.h
 *     heap    a 4-ary heap ordered by deadline and number of arming
 *     wheel   a bare hierarchical wheel of millisecond ticks, with no order
 *             within a tick and no next deadline: the least there is
 *
 * The work is that of a server: `arm` and `cancel` with expiry 60 to 120 s
 * ahead, cancelled in the order of arming; `churn`, cancel and arm of one timer
 * at random out of all; `fire`, expiry spread over one second, all of it due,
 * in whole milliseconds (`same`) or in nanoseconds (`exact`).
 *
 * What is checked is that queue and heap, which have nothing in common, fire
 * the same timers in the same order. The times are for
 * docs/decisions/0003-timer-structure.md; RGM_SCALE=full takes a million timers.
 */

#include "timers/timers.h"

#include "base/cases.h"
#include "base/list.h"
#include "base/memory.h"

#define ROUNDS 5
#define QUOTA 256
#define MS RGM_NS_PER_MS

struct wheel_timer {
    struct wheel_timer *next, **link;
    uint64_t due;
    uint32_t level, slot;
};

union node {
    struct rgi_timer queue;
    struct wheel_timer wheel;
    uint32_t heap; /* place in the heap */
};

static union node *nodes;
static uint64_t node_count;
static uint64_t fired;
static uint64_t fired_digest; /* of which fired, and in which order */

static void
note_fired(const union node *node)
{
    fired++;
    fired_digest =
        (fired_digest ^ (uint64_t)(node - nodes)) * UINT64_C(0x100000001b3);
}

/* ---- queue -------------------------------------------------------------- */

static struct rgi_timers queue;

static void
queue_init(uint64_t now_ns)
{
    rgi_timers_init(&queue, now_ns);
}

static void
queue_arm(union node *node, uint64_t deadline_ns)
{
    rgi_timers_arm(&queue, &node->queue, deadline_ns);
}

static void
queue_cancel(union node *node)
{
    rgi_timers_cancel(&queue, &node->queue);
}

static void
queue_fire(uint64_t now_ns)
{
    struct rgi_timer *timer;
    struct rgm_link due;

    rgi_list_init(&due);
    while (rgi_timers_next(&queue) <= now_ns) {
        rgi_timers_collect(&queue, now_ns, QUOTA, &due);
        while ((timer = rgi_timers_pop(&due)) != NULL)
            note_fired(rgi_container_of(timer, union node, queue));
    }
}

/* ---- heap --------------------------------------------------------------- */

struct heap_entry {
    uint64_t deadline_ns;
    uint64_t number;
    union node *node;
};

static struct heap_entry *heap;
static uint32_t heap_count;
static uint64_t heap_number;

static bool
heap_before(const struct heap_entry *a, const struct heap_entry *b)
{
    return a->deadline_ns < b->deadline_ns ||
           (a->deadline_ns == b->deadline_ns && a->number < b->number);
}

static void
heap_set(uint32_t place, struct heap_entry entry)
{
    heap[place] = entry;
    entry.node->heap = place;
}

static void
heap_up(uint32_t place, struct heap_entry entry)
{
    while (place > 0 && heap_before(&entry, &heap[(place - 1) / 4])) {
        heap_set(place, heap[(place - 1) / 4]);
        place = (place - 1) / 4;
    }
    heap_set(place, entry);
}

static void
heap_down(uint32_t place, struct heap_entry entry)
{
    for (;;) {
        uint32_t first = place * 4 + 1, best = first;

        for (uint32_t i = first + 1; i < first + 4 && i < heap_count; i++)
            if (heap_before(&heap[i], &heap[best]))
                best = i;
        if (first >= heap_count || !heap_before(&heap[best], &entry))
            break;
        heap_set(place, heap[best]);
        place = best;
    }
    heap_set(place, entry);
}

static void
heap_init(uint64_t now_ns)
{
    (void)now_ns;
    heap_count = 0;
}

static void
heap_arm(union node *node, uint64_t deadline_ns)
{
    struct heap_entry entry = {deadline_ns, heap_number++, node};

    heap_up(heap_count++, entry);
}

static void
heap_cancel(union node *node)
{
    uint32_t place = node->heap;
    struct heap_entry last = heap[--heap_count];

    if (place == heap_count)
        return;
    if (place > 0 && heap_before(&last, &heap[(place - 1) / 4]))
        heap_up(place, last);
    else
        heap_down(place, last);
}

static void
heap_fire(uint64_t now_ns)
{
    while (heap_count > 0 && heap[0].deadline_ns <= now_ns) {
        note_fired(heap[0].node);
        heap_cancel(heap[0].node);
    }
}

/* ---- wheel -------------------------------------------------------------- */

enum { WHEEL_LEVELS = 5, WHEEL_BITS = 6, WHEEL_SLOTS = 64 };

static struct wheel_timer *wheel[WHEEL_LEVELS][WHEEL_SLOTS];
static uint64_t wheel_now;

static void
wheel_init(uint64_t now_ns)
{
    memset(wheel, 0, sizeof(wheel));
    wheel_now = now_ns / MS;
}

static void
wheel_insert(struct wheel_timer *timer)
{
    uint64_t differs = timer->due ^ wheel_now;
    uint32_t level = 0;
    struct wheel_timer **head;

    if (differs >= WHEEL_SLOTS)
        level = (63 - (uint32_t)__builtin_clzll(differs)) / WHEEL_BITS;
    timer->level = level;
    timer->slot = (uint32_t)(timer->due >> level * WHEEL_BITS) % WHEEL_SLOTS;
    head = &wheel[level][timer->slot];
    timer->next = *head;
    if (timer->next != NULL)
        timer->next->link = &timer->next;
    timer->link = head;
    *head = timer;
}

static void
wheel_arm(union node *node, uint64_t deadline_ns)
{
    node->wheel.due = deadline_ns / MS;
    wheel_insert(&node->wheel);
}

static void
wheel_cancel(union node *node)
{
    *node->wheel.link = node->wheel.next;
    if (node->wheel.next != NULL)
        node->wheel.next->link = node->wheel.link;
}

static void
wheel_cascade(void)
{
    for (uint32_t level = 1; level < WHEEL_LEVELS; level++) {
        uint32_t slot =
            (uint32_t)(wheel_now >> level * WHEEL_BITS) % WHEEL_SLOTS;
        struct wheel_timer *timer = wheel[level][slot], *next;

        wheel[level][slot] = NULL;
        for (; timer != NULL; timer = next) {
            next = timer->next;
            wheel_insert(timer);
        }
        if (slot != 0)
            break;
    }
}

static void
wheel_fire(uint64_t now_ns)
{
    for (; wheel_now <= now_ns / MS; wheel_now++) {
        struct wheel_timer **head = &wheel[0][wheel_now % WHEEL_SLOTS];

        if (wheel_now % WHEEL_SLOTS == 0)
            wheel_cascade();
        while (*head != NULL) {
            note_fired(rgi_container_of(*head, union node, wheel));
            wheel_cancel(rgi_container_of(*head, union node, wheel));
        }
    }
}

/* ---- measuring ---------------------------------------------------------- */

enum { ARM, CANCEL, CHURN, FIRE_SAME, FIRE_EXACT, PARTS };

static const char *const part_names[PARTS] = {"arm", "cancel", "churn",
                                              "fire same", "fire exact"};

struct shape {
    const char *name;
    void (*init)(uint64_t now_ns);
    void (*arm)(union node *node, uint64_t deadline_ns);
    void (*cancel)(union node *node);
    void (*fire)(uint64_t now_ns);
    double ns[PARTS][ROUNDS];
};

static struct shape shapes[] = {
    {"queue", queue_init, queue_arm, queue_cancel, queue_fire, {{0}}},
    {"heap", heap_init, heap_arm, heap_cancel, heap_fire, {{0}}},
    {"wheel", wheel_init, wheel_arm, wheel_cancel, wheel_fire, {{0}}},
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Ends the part that began at `*start_ns`, and begins the next one. */
static void
lap(struct shape *shape, int part, int round, uint64_t *start_ns)
{
    uint64_t end_ns = now_ns();

    shape->ns[part][round] = (double)(end_ns - *start_ns) / (double)node_count;
    *start_ns = now_ns();
}

static void
measure_arming(struct shape *shape, int round)
{
    uint64_t base_ns = 3600 * RGM_NS_PER_S, random = 1, start_ns;

    memset(nodes, 0, node_count * sizeof(*nodes));
    shape->init(base_ns);
    start_ns = now_ns();
    for (uint64_t i = 0; i < node_count; i++)
        shape->arm(&nodes[i], base_ns + 60000 * MS + i * 7919 % 60000 * MS);
    lap(shape, ARM, round, &start_ns);
    for (uint64_t i = 0; i < node_count; i++) {
        union node *node = &nodes[(random >> 33) % node_count];

        random = random * UINT64_C(6364136223846793005) + 1;
        shape->cancel(node);
        shape->arm(node, base_ns + 60000 * MS + i % 60000 * MS);
    }
    lap(shape, CHURN, round, &start_ns);
    for (uint64_t i = 0; i < node_count; i++)
        shape->cancel(&nodes[i]);
    lap(shape, CANCEL, round, &start_ns);
}

/* Returns the digest of what fired. */
static uint64_t
measure_firing(struct shape *shape, int part, int round, uint64_t step_ns)
{
    uint64_t base_ns = 3600 * RGM_NS_PER_S, start_ns;

    memset(nodes, 0, node_count * sizeof(*nodes));
    shape->init(base_ns);
    for (uint64_t i = 0; i < node_count; i++)
        shape->arm(&nodes[i], base_ns + i * step_ns % RGM_NS_PER_S);
    fired = 0;
    fired_digest = 0;
    start_ns = now_ns();
    shape->fire(base_ns + RGM_NS_PER_S);
    lap(shape, part, round, &start_ns);
    rgi_check(fired == node_count);
    return fired_digest;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
print_table(void)
{
    printf("%-8s", "ns");
    for (int part = 0; part < PARTS; part++)
        printf("%20s", part_names[part]);
    printf("\n");
    for (size_t i = 0; i < SHAPES; i++) {
        printf("%-8s", shapes[i].name);
        for (int part = 0; part < PARTS; part++) {
            double *ns = shapes[i].ns[part];

            qsort(ns, ROUNDS, sizeof(*ns), compare);
            printf("%6.1f [%5.1f-%5.1f]", ns[ROUNDS / 2], ns[0],
                   ns[ROUNDS - 1]);
        }
        printf("\n");
    }
}

static void
measure_round(int round)
{
    uint64_t same[SHAPES], exact[SHAPES];

    for (size_t i = 0; i < SHAPES; i++) {
        measure_arming(&shapes[i], round);
        same[i] = measure_firing(&shapes[i], FIRE_SAME, round, 7919 * MS);
        exact[i] = measure_firing(&shapes[i], FIRE_EXACT, round,
                                  7919 * MS + UINT64_C(611953));
    }
    rgi_check(same[0] == same[1]);
    rgi_check(exact[0] == exact[1]);
}

static void
shapes_agree(void)
{
    node_count = rgi_scale(1000000);
    nodes = rgi_alloc(node_count * sizeof(*nodes));
    heap = rgi_alloc(node_count * sizeof(*heap));
    rgi_check(nodes != NULL && heap != NULL);
    for (int round = 0; round < ROUNDS; round++)
        measure_round(round);
    printf("%" PRIu64 " timers, median [least-most] of %d\n", node_count,
           ROUNDS);
    print_table();
    rgi_free(heap);
    rgi_free(nodes);
}

#define CASES(X) X(shapes, shapes_agree)

RGI_CASES(CASES)
