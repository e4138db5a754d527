/* SPDX-License-Identifier: MIT */

/*
 * w3_ours.c - what does an actor cost, in time and in memory?
 *
 *     bench_w3 N
 *
 * One worker spawns N actors, then asks each once; all answer. WINDOW asks are
 * out at a time: a program has no use for a million requests at once, and the
 * memory counted is that of the actors. The limit is `bench_limits actors`.
 */

#include "bench/ours.h"

#define WINDOW 1024

struct poke {
    struct rgm_request request;
    uint64_t value;
};
RGM_REQUEST(poke);

static uint64_t count;

struct leaf {
    struct rgm_actor actor;
    uint64_t sum;
};

RGM_HANDLER(leaf, poke, leaf_poke);

static void
leaf_poke(struct leaf *self, struct poke *poke)
{
    self->sum += poke->value;
    poke->value = self->sum;
    rgm_reply(self, poke, 0);
}

static const struct rgm_handler leaf_handlers[] = {
    RGM_ON(leaf, poke, leaf_poke),
};
static const struct rgm_behaviour leaf_behaviour = {
    .name = "leaf",
    .size_bytes = sizeof(struct leaf),
    RGM_HANDLERS(leaf_handlers),
};

struct tree {
    struct rgm_actor actor;
    struct rgm_address *leaves;
    struct poke pokes[WINDOW];
    uint64_t asked, answered;
    double before_bytes;
    uint64_t begin_ns, made_ns;
};

RGM_HOOK(tree, tree_started);
RGM_ANSWER(tree, poke, tree_answered);

static void
tree_ask(struct tree *self, struct poke *poke)
{
    poke_prepare(poke, self->leaves[self->asked++]);
    poke->value = 1;
    rgm_ask(self, poke, RGM_REPLY(tree, poke, tree_answered));
}

static void
tree_started(struct tree *self)
{
    self->leaves = malloc(count * sizeof(*self->leaves));
    if (self->leaves == NULL)
        bench_fail("addresses", ENOMEM);
    memset(self->leaves, 1, count * sizeof(*self->leaves));
    self->before_bytes = bench_resident_bytes();
    self->begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++)
        ours_check("spawn", rgm_spawn(self, &leaf_behaviour, NULL,
                                      &self->leaves[i]));
    self->made_ns = bench_now_ns();
    for (uint64_t i = 0; i < WINDOW && i < count; i++)
        tree_ask(self, &self->pokes[i]);
}

static void
tree_report(struct tree *self)
{
    uint64_t end_ns = bench_now_ns();
    double bytes = bench_resident_bytes() - self->before_bytes;

    bench_report("actors", "create_ns",
                 (double)(self->made_ns - self->begin_ns) / (double)count,
                 "ns");
    bench_report("actors", "ns",
                 (double)(end_ns - self->begin_ns) / (double)count, "ns");
    bench_report("actors", "bytes", bytes / (double)count, "bytes");
}

static void
tree_answered(struct tree *self, struct poke *poke)
{
    ours_check("poke", rgm_status(poke));
    if (poke->value != 1)
        bench_fail("poke", EPROTO);
    if (self->asked < count)
        tree_ask(self, poke);
    if (++self->answered == count) {
        tree_report(self);
        rgm_runtime_stop(ours_runtime);
    }
}

static const struct rgm_behaviour tree_behaviour = {
    .name = "tree",
    .size_bytes = sizeof(struct tree),
    .started = RGM_DO(tree, tree_started),
};

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: bench_w3 N\n", stderr);
        return 2;
    }
    count = bench_number(argv[1], UINT64_C(1) << 23);
    ours_start(1, 0);
    ours_spawn(0, &tree_behaviour, NULL);
    ours_wait();
    return 0;
}
