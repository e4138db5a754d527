/* SPDX-License-Identifier: MIT */

/*
 * waits.c - do actors wait for each other for ever?
 *
 * 1. Keeping a request adds a row to a table of the runtime's, letting go of it
 *    takes the row out. What an actor that keeps something has out is written
 *    into one of its rows whenever it has run; the newest such word counts.
 * 2. A worker that has just fallen asleep looks: from all who keep something
 *    it strikes out whoever has something else out than
 *    what those left keep, until nobody more is struck out. Those left wait for
 *    each other, if their workers sleep as well: an inbox whose owner sleeps is
 *    empty, and so are the lines of its actors. The last of them to fall asleep
 *    sees all the others asleep.
 * 3. One circle among them is told, once.
 *
 * The table is small and under a lock of its own, which is held for some loops
 * and never across user code. A row that finds no room is not looked at: then its
 * asker has something out that is kept by nobody, and is not stuck.
 */

#include "actors/runtime.h"
#include "actors/waits.h"

#if defined(RGI_SLOW_ASSERTS) && RGI_SLOW_ASSERTS

#include <stdio.h>
#include <string.h>

/* waits-lock: observes all rows; publishes them. */
static void
lock(struct rgi_waits *waits)
{
    while (__atomic_exchange_n(&waits->lock, 1, __ATOMIC_ACQUIRE) != 0)
        rgi_relax();
}

static void
unlock(struct rgi_waits *waits)
{
    __atomic_store_n(&waits->lock, 0, __ATOMIC_RELEASE);
}

/* ---- rows ---- */

static bool
counts(const struct rgm_message *message)
{
    return rgm_address_worker(message->from) < RGM_WORKERS_MAX &&
           message->type->kind == RGM_KIND_REQUEST && !message->type->late &&
           !(message->flags & RGI_MESSAGE_DEADLINE);
}

static uint32_t
row_take(struct rgi_waits *waits)
{
    uint32_t row = waits->free;

    if (row != 0)
        waits->free = waits->rows[row].next_free;
    else if (waits->used < RGI_WAITS_MAX)
        row = ++waits->used;
    return row;
}

void
rgi_waits_keep(struct rgm_worker *worker, struct rgi_kept *kept)
{
    const struct rgm_message *message = &kept->request->message;
    struct rgi_waits *waits = &worker->runtime->waits;

    kept->row = 0;
    if (!counts(message))
        return;
    lock(waits);
    kept->row = row_take(waits);
    waits->count += kept->row != 0;
    if (kept->row != 0)
        waits->rows[kept->row] = (struct rgi_wait){
            .asker = message->from,
            .keeper = kept->keeper->address,
            .type = message->type->name,
            .keeper_name = kept->keeper->dispatch->behaviour->name};
    unlock(waits);
}

void
rgi_waits_release(struct rgm_worker *worker, struct rgi_kept *kept)
{
    struct rgi_waits *waits = &worker->runtime->waits;

    if (kept->row == 0)
        return;
    lock(waits);
    waits->rows[kept->row].type = NULL;
    waits->rows[kept->row].next_free = waits->free;
    waits->free = kept->row;
    waits->count--;
    unlock(waits);
    kept->row = 0;
}

void
rgi_waits_ran(struct rgm_worker *worker, const struct rgm_actor *actor)
{
    struct rgi_waits *waits = &worker->runtime->waits;
    uint32_t index = actor->kept_first;

    while (index != 0 && worker->kept[index].row == 0)
        index = worker->kept[index].next;
    if (index == 0)
        return;
    lock(waits);
    waits->rows[worker->kept[index].row].keeper_out = actor->out_count;
    waits->rows[worker->kept[index].row].stamp = ++waits->stamp;
    unlock(waits);
}

/* ---- who is stuck ---- */

struct suspects {
    uint32_t count;
    uint32_t rows[RGI_WAITS_MAX]; /* of each actor the one with its last word */
};

static int
suspect_of(const struct rgi_waits *waits, const struct suspects *suspects,
           struct rgm_address who)
{
    for (uint32_t i = 0; i < suspects->count; i++)
        if (rgm_address_same(waits->rows[suspects->rows[i]].keeper, who))
            return (int)i;
    return -1;
}

static void
suspects_gather(const struct rgi_waits *waits, struct suspects *suspects)
{
    suspects->count = 0;
    for (uint32_t row = 1; row <= waits->used; row++) {
        const struct rgi_wait *wait = &waits->rows[row];
        int i;

        if (wait->type == NULL || wait->stamp == 0)
            continue;
        i = suspect_of(waits, suspects, wait->keeper);
        if (i < 0)
            suspects->rows[suspects->count++] = row;
        else if (wait->stamp > waits->rows[suspects->rows[i]].stamp)
            suspects->rows[i] = row;
    }
}

static bool
is_asleep(struct rgm_runtime *runtime, struct rgm_address who)
{
    struct rgi_inbox *inbox =
        &runtime->places[rgm_address_worker(who)].inbox;

    return rgi_inbox_word(inbox) == RGI_INBOX_ASLEEP;
}

/* Waits for nothing but what the others keep. */
static bool
is_stuck(struct rgm_runtime *runtime, const struct suspects *suspects,
         uint32_t suspect)
{
    const struct rgi_waits *waits = &runtime->waits;
    const struct rgi_wait *own = &waits->rows[suspects->rows[suspect]];
    uint32_t out = own->keeper_out;

    if (out == 0 || !is_asleep(runtime, own->keeper))
        return false;
    for (uint32_t row = 1; row <= waits->used; row++) {
        const struct rgi_wait *wait = &waits->rows[row];

        if (wait->type != NULL && rgm_address_same(wait->asker, own->keeper) &&
            suspect_of(waits, suspects, wait->keeper) >= 0)
            out--;
    }
    return out == 0;
}

static void
strike_out(struct rgm_runtime *runtime, struct suspects *suspects)
{
    uint32_t i = 0;

    while (i < suspects->count) {
        if (is_stuck(runtime, suspects, i)) {
            i++;
            continue;
        }
        suspects->rows[i] = suspects->rows[--suspects->count];
        i = 0;
    }
}

/* ---- telling ---- */

/* The row by which an actor waits for one of those that are left. */
static uint32_t
row_of_asker(const struct rgi_waits *waits, const struct suspects *suspects,
             struct rgm_address who)
{
    uint32_t row = 1;

    while (waits->rows[row].type == NULL ||
           !rgm_address_same(waits->rows[row].asker, who) ||
           suspect_of(waits, suspects, waits->rows[row].keeper) < 0)
        row++;
    return row;
}

static const char *
name_of(const struct rgi_waits *waits, const struct suspects *suspects,
        struct rgm_address who)
{
    int i = suspect_of(waits, suspects, who);
    const char *name = waits->rows[suspects->rows[i]].keeper_name;

    return name != NULL ? name : "?";
}

#define TEXT_MAX 1024u

static size_t
say_one(char *text, size_t at, const struct rgi_waits *waits,
        const struct suspects *suspects, uint32_t row)
{
    const struct rgi_wait *wait = &waits->rows[row];
    int length = snprintf(
        text + at, TEXT_MAX - at,
        "%s%s (%u:%u) waits for %s (%u:%u), which keeps its %s",
        at != 0 ? "; " : "", name_of(waits, suspects, wait->asker),
        (unsigned)rgm_address_worker(wait->asker),
        (unsigned)rgi_address_slot(wait->asker),
        name_of(waits, suspects, wait->keeper),
        (unsigned)rgm_address_worker(wait->keeper),
        (unsigned)rgi_address_slot(wait->keeper), wait->type);

    at += (size_t)length;
    return at < TEXT_MAX ? at : TEXT_MAX - 1;
}

/* From anybody who is stuck the road leads into a circle. Returns: whether
 * there is something to tell that has not been told. */
static bool
describe(struct rgi_waits *waits, const struct suspects *suspects, char *text)
{
    struct rgm_address at = waits->rows[suspects->rows[0]].keeper;
    uint32_t first, row;
    size_t length = 0;
    bool news = false;

    for (uint32_t i = 0; i < suspects->count; i++)
        at = waits->rows[row_of_asker(waits, suspects, at)].keeper;
    first = row_of_asker(waits, suspects, at);
    row = first;
    do {
        news = news || !waits->rows[row].told;
        waits->rows[row].told = true;
        length = say_one(text, length, waits, suspects, row);
        row = row_of_asker(waits, suspects, waits->rows[row].keeper);
    } while (row != first);
    return news;
}

void
rgi_waits_look(struct rgm_worker *worker)
{
    struct rgm_runtime *runtime = worker->runtime;
    struct rgi_waits *waits = &runtime->waits;
    struct suspects suspects;
    char text[TEXT_MAX];
    bool news = false;

    if (runtime->options.on_circle == NULL)
        return;
    lock(waits);
    if (waits->count > 0) {
        suspects_gather(waits, &suspects);
        strike_out(runtime, &suspects);
        if (suspects.count > 0)
            news = describe(waits, &suspects, text);
    }
    unlock(waits);
    if (news)
        runtime->options.on_circle(text);
}

#endif
