/* SPDX-License-Identifier: MIT */

/*
 * transaction_test.c - does a held shard wait, and does nobody run too early?
 *
 * One worker; the root actor is the script. First it plays the sequencer to a
 * real shard, then it is both shards of a real sequencer, and the manager that
 * wants a pause. It writes down what happens, letter by letter.
 */

#include <errno.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"
#include "samples/kv/command.h"
#include "samples/kv/shard.h"
#include "samples/kv/transaction.h"

static struct roster roster;
static struct cluster cluster;
static struct kv_worker worker;
static char events[64];

static void
event(char what)
{
    size_t length = strlen(events);

    rgi_check(length + 1 < sizeof(events));
    events[length] = what;
    events[length + 1] = '\0';
}

static void
run(const struct rgm_behaviour *root)
{
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = &rgm_provider_threads};
    struct rgm_runtime *runtime;

    memset(events, 0, sizeof(events));
    memset(&cluster, 0, sizeof(cluster));
    memset(&worker, 0, sizeof(worker));
    memset(&roster, 0, sizeof(roster));
    cluster.workers = &worker;
    cluster.roster = &roster;
    worker.cluster = &cluster;
    rgi_check(rgm_runtime_create(&options, &runtime) == 0);
    rgi_check(rgm_runtime_run(runtime, root, NULL) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
}

static struct command *
key_command(struct rgm_actor *self, enum operation operation, const char *value)
{
    struct command *command = command_take(self, COMMAND_BYTES);

    rgi_check(command != NULL);
    command->operation = (uint8_t)operation;
    command->key = BYTES("k");
    command->hash = store_hash(command->key);
    command->value = (struct bytes){value, strlen(value)};
    return command;
}

static struct group *
key_group(struct rgm_actor *self, enum operation operation, uint64_t shards)
{
    struct group *group = group_take(self, sizeof(struct item));

    rgi_check(group != NULL);
    group->operation = (uint8_t)operation;
    group->items_count = 1;
    group->shards = shards;
    group->items[0] = (struct item){.key = BYTES("k"), .value = BYTES("2")};
    group->items[0].hash = store_hash(group->items[0].key);
    return group;
}

/* ------------------------------------------------- the script is the sequencer */

struct holder {
    struct rgm_actor actor;
    struct rgm_address shard;
    struct part first;
    struct part second;
    struct outcome outcomes[2];
    struct group *groups[1];
    struct rgm_reshard reshard;
    int left;
};
RGM_HOOK(holder, holder_started);
RGM_ANSWER(holder, rgm_reshard, holder_dealt);
RGM_ANSWER(holder, part, holder_part);
RGM_ANSWER(holder, command, holder_command);
RGM_ANSWER(holder, group, holder_group);

static const struct rgm_behaviour holder_behaviour = {
    .name = "holder",
    .size_bytes = sizeof(struct holder),
    .started = RGM_DO(holder, holder_started),
};

static void
holder_ask(struct holder *self, struct part *part, enum part_phase phase)
{
    part_prepare(part, self->shard);
    part->phase = phase;
    part->groups = self->groups;
    part->outcomes = self->outcomes;
    part->groups_count = part == &self->first;
    self->left++;
    rgm_ask(self, part, RGM_REPLY(holder, part, holder_part));
}

static void
holder_command_to(struct holder *self, enum operation operation,
                  const char *value)
{
    struct command *command = key_command(&self->actor, operation, value);

    rgm_request_to(&command->request, self->shard);
    self->left++;
    rgm_ask(self, command, RGM_REPLY(holder, command, holder_command));
}

static void
holder_started(struct holder *self)
{
    rgi_check(rgm_spawn(self, &shard_behaviour, &worker, &self->shard) == 0);
    rgm_reshard_by(&self->reshard, self->shard);
    self->reshard.members[0] = self->shard;
    self->reshard.members_count = 1;
    self->reshard.owners_count = 1;
    rgm_ask(self, &self->reshard, RGM_REPLY(holder, rgm_reshard, holder_dealt));
}

/* Would a connection of this worker carry it out without asking? */
static bool
may_run(struct holder *self, enum operation operation, uint8_t flags)
{
    struct command *command = key_command(&self->actor, operation, "");
    bool may;

    command->flags = flags;
    may = shard_may_run(&worker, command);
    command_give(&self->actor, command);
    return may;
}

/* What there is, without asking. */
static char
run_get(struct holder *self)
{
    struct command *command = key_command(&self->actor, OP_GET, "");
    char value;

    rgi_check(shard_run(&worker, command) == 0);
    value = command->value.data[0];
    command_give(&self->actor, command);
    return value;
}

/* All at once: SET 1, hold, GET, MEXISTS, hold again, GET. */
static void
holder_dealt(struct holder *self, struct rgm_reshard *reshard)
{
    struct group *exists;

    rgi_check(rgm_status(reshard) == 0);
    rgi_check(may_run(self, OP_GET, 0) && may_run(self, OP_SET, 0));
    rgi_check(!may_run(self, OP_SET, COMMAND_TTL));
    rgi_check(!may_run(self, OP_EXPIRE, 0));
    self->groups[0] = key_group(&self->actor, OP_MSET, 1);
    holder_command_to(self, OP_SET, "1");
    holder_ask(self, &self->first, PART_HOLD);
    holder_command_to(self, OP_GET, "");
    exists = key_group(&self->actor, OP_MEXISTS, 1);
    rgm_request_to(&exists->request, self->shard);
    self->left++;
    rgm_ask(self, exists, RGM_REPLY(holder, group, holder_group));
    holder_ask(self, &self->second, PART_HOLD);
    holder_command_to(self, OP_GET, "");
}

static void
holder_end(struct holder *self)
{
    if (--self->left > 0)
        return;
    rgi_check(may_run(self, OP_GET, 0) && run_get(self) == '2');
    group_give(&self->actor, self->groups[0]);
    rgm_stop_actor(self, self->shard);
    rgm_stop(self);
}

static void
holder_part(struct holder *self, struct part *part)
{
    rgi_check(rgm_status(part) == 0);
    if (part->phase == PART_HOLD) {
        rgi_check(!may_run(self, OP_GET, 0));
        event(part == &self->first ? 'H' : 'h');
        holder_ask(self, part, part == &self->first ? PART_RUN : PART_SKIP);
    } else {
        event(part == &self->first ? 'R' : 'r');
    }
    holder_end(self);
}

static void
holder_command(struct holder *self, struct command *command)
{
    rgi_check(rgm_status(command) == 0);
    event(command->operation == OP_SET ? 'S' : command->value.data[0]);
    command_give(&self->actor, command);
    holder_end(self);
}

static void
holder_group(struct holder *self, struct group *group)
{
    rgi_check(rgm_status(group) == 0);
    event(group->sums[SUM_DONE] == 1 ? 'E' : 'e');
    group_give(&self->actor, group);
    holder_end(self);
}

/* The first GET and the EXISTS are asked before the run, and answered after
 * it; what was asked behind the second hold waits for that one's end. Nothing is
 * carried out without asking meanwhile. */
static void
a_held_shard_keeps_all_in_order(void)
{
    run(&holder_behaviour);
    rgi_check(strcmp(events, "SHR2Ehr2") == 0);
}

/* ---------------------------------------------------- the script is two shards */

struct fake {
    struct rgm_actor actor;
    struct rgm_token kept;
    char name;
};
RGM_FACTORY(fake, fake, fake_make);
RGM_HOOK(fake, fake_nothing);
RGM_HANDLER(fake, part, fake_part);

static const struct rgm_handler fake_handlers[] = {
    RGM_ON(fake, part, fake_part),
};
static const struct rgm_behaviour fake_behaviour = {
    .name = "fake",
    .size_bytes = sizeof(struct fake),
    RGM_HANDLERS(fake_handlers),
    .factory = RGM_MAKE(fake, fake_make),
    .retiring = RGM_DO(fake, fake_nothing),
};

/* The script says how the second of them holds. */
static int hold_status;

static int
fake_make(struct fake *self, const struct fake *like)
{
    self->name = like->name;
    return 0;
}

static void
fake_nothing(struct fake *self)
{
    (void)self;
}

/* A hold is an upper-case letter, what follows it a lower-case one; a run that
 * is to do nothing is a minus sign. */
static void
fake_part(struct fake *self, struct part *part)
{
    int status = 0;

    if (part->phase == PART_HOLD) {
        event(self->name);
        if (self->name == 'B')
            status = hold_status;
    } else {
        event(part->phase == PART_RUN ? (char)(self->name | 0x20) : '-');
        for (uint32_t i = 0; i < part->groups_count; i++) {
            memset(&part->outcomes[i], 0, sizeof(part->outcomes[i]));
            part->outcomes[i].sums[SUM_DONE] = 1;
        }
    }
    rgm_reply(self, part, status);
}

struct asker {
    struct rgm_actor actor;
    struct rgm_address sequencer;
    struct rgm_address fakes[2];
    struct pause pause;
    int left;
};
RGM_HOOK(asker, asker_started);
RGM_ANSWER(asker, group, asker_group);
RGM_ANSWER(asker, pause, asker_paused);

static const struct rgm_behaviour asker_behaviour = {
    .name = "asker",
    .size_bytes = sizeof(struct asker),
    .started = RGM_DO(asker, asker_started),
};

static bool wants_pause;

static void
asker_ask(struct asker *self)
{
    struct group *group = key_group(&self->actor, OP_COUNT, 3);

    group->items_count = 0; /* of all shards */
    rgm_request_to(&group->request, self->sequencer);
    self->left++;
    rgm_ask(self, group, RGM_REPLY(asker, group, asker_group));
}

static void
asker_started(struct asker *self)
{
    for (int i = 0; i < 2; i++) {
        struct fake like = {.name = (char)('A' + i)};

        rgi_check(rgm_spawn(self, &fake_behaviour, &like, &self->fakes[i]) ==
                  0);
        roster.shards[i] = self->fakes[i];
    }
    roster.members_count = 2;
    rgi_check(
        rgm_spawn(self, &sequencer_behaviour, &cluster, &self->sequencer) == 0);
    asker_ask(self);
    asker_ask(self);
    if (!wants_pause)
        return;
    pause_prepare(&self->pause, self->sequencer);
    self->left++;
    rgm_ask(self, &self->pause, RGM_REPLY(asker, pause, asker_paused));
}

static void asker_end(struct asker *self);

static void
asker_group(struct asker *self, struct group *group)
{
    if (rgm_status(group) == 0)
        rgi_check(group->sums[SUM_DONE] == 2);
    event(rgm_status(group) == 0 ? '.' : '!');
    group_give(&self->actor, group);
    asker_end(self);
}

/* What is asked in the pause has to wait for its end. */
static void
asker_paused(struct asker *self, struct pause *pause)
{
    rgi_check(rgm_status(pause) == 0);
    event(pause->over ? 'q' : 'p');
    if (pause->over) {
        asker_end(self);
        return;
    }
    asker_ask(self);
    pause->over = true;
    rgm_ask(self, pause, RGM_REPLY(asker, pause, asker_paused));
}

static void
asker_end(struct asker *self)
{
    if (--self->left > 0)
        return;
    for (int i = 0; i < 2; i++)
        rgm_stop_actor(self, self->fakes[i]);
    rgm_stop_actor(self, self->sequencer);
    rgm_stop(self);
}

/* Two groups that come together are one batch, and each has its own sums. */
static void
nobody_runs_before_all_hold(void)
{
    hold_status = 0;
    run(&asker_behaviour);
    rgi_check(strcmp(events, "ABab..") == 0);
}

/* It comes before two groups have begun: they, and one that comes in the pause,
 * are begun when it is over. */
static void
nothing_is_begun_in_a_pause(void)
{
    wants_pause = true;
    hold_status = 0;
    run(&asker_behaviour);
    wants_pause = false;
    rgi_check(strcmp(events, "pqABab...") == 0);
}

static void
a_refused_hold_lets_the_others_go(void)
{
    hold_status = -ENOMEM;
    run(&asker_behaviour);
    rgi_check(strcmp(events, "AB-!!") == 0);
}

#define CASES(X)                                                               \
    X(transaction, a_held_shard_keeps_all_in_order)                            \
    X(transaction, nobody_runs_before_all_hold)                                \
    X(transaction, nothing_is_begun_in_a_pause)                                \
    X(transaction, a_refused_hold_lets_the_others_go)

RGI_CASES(CASES)
