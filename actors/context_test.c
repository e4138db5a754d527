/* SPDX-License-Identifier: MIT */

/*
 * context_test.c - do actors live under the names they were given, does a
 * program's result reach its caller, and can what is told be read back?
 */

#include <ringmail/context.h>
#include <ringmail/metrics.h>

#include "actors/names.h"
#include "actors/rig.h"

/* An output: a number. */
struct result {
    struct rgm_parcel parcel;
    long value;
};

static void
result_free(struct rgm_parcel *parcel)
{
    rgi_free(parcel);
}

static struct result *
result_make(long value)
{
    struct result *result = rgi_alloc(sizeof(*result));

    rgi_check(result != NULL);
    rgm_parcel_init(&result->parcel, result_free);
    result->value = value;
    return result;
}

/* Takes a parcel's value, and drops it. */
static long
result_take(struct rgm_parcel *parcel)
{
    long value;

    rgi_check(parcel != NULL);
    value = ((struct result *)(void *)parcel)->value;
    rgm_parcel_drop(parcel);
    return value;
}

/* A program: the root spawns a "level", which spawns a "level", and so on; the
 * last one's value comes back through all of them, each adds one. */
struct plan {
    uint32_t levels;
    const char *names[3];
    char seen[4][RGM_CONTEXT_NAME_MAX + 1];
    char text[65536]; /* the metrics, while all are there */
    unsigned ended;
    uint64_t kinds;
};

struct level {
    struct rgm_actor actor;
    struct plan *plan;
    uint32_t number;
    struct rgm_context context;
};

struct level_start {
    struct plan *plan;
    uint32_t number;
};

RGM_HOOK(level, level_started);
RGM_ANSWER(level, rgm_context, level_below_ended);
RGM_FACTORY(level, level_start, level_make);

static const struct rgm_behaviour level_behaviour = {
    .name = "level",
    .size_bytes = sizeof(struct level),
    .factory = RGM_MAKE(level, level_make),
    .started = RGM_DO(level, level_started),
};

static int
level_make(struct level *self, const struct level_start *start)
{
    self->plan = start->plan;
    self->number = start->number;
    return 0;
}

static void
level_started(struct level *self)
{
    struct plan *plan = self->plan;
    struct level_start below = {plan, self->number + 1};
    struct rgm_address address;

    snprintf(plan->seen[self->number], sizeof(plan->seen[0]), "%s",
             rgm_own_name(self));
    plan->kinds = rgm_own_kinds(self);
    if (self->number == plan->levels) {
        rgi_check(rgm_runtime_metrics(self->actor.worker->runtime, NULL,
                                      plan->text, sizeof(plan->text)) > 0);
        rgi_check(rgm_finish(self, &result_make(40)->parcel) == 0);
        return;
    }
    rgi_check(rgm_context_derive(self, &self->context,
                                 plan->names[self->number]) == 0);
    rgi_check(rgm_spawn_in(self, &self->context, RGM_ANY_WORKER,
                           &level_behaviour, &below,
                           RGM_REPLY(level, rgm_context, level_below_ended),
                           &address) == 0);
}

static void
level_below_ended(struct level *self, struct rgm_context *context)
{
    long value;

    rgi_check(rgm_status(context) == 0);
    rgi_check(context->down.end.kind == RGM_END_DONE);
    value = result_take(context->down.end.parcel);
    self->plan->ended++;
    rgi_check(rgm_finish(self, &result_make(value + 1)->parcel) == 0);
}

static void
tsk_20_a_named_childs_value_reaches_the_caller_of_start(void)
{
    struct plan plan = {.levels = 2, .names = {"ingest", "parser_2"}};
    struct level_start start = {&plan, 0};
    struct rgm_end end = {.kind = RGM_END_LOST};

    rgi_check(rgm_run(&level_behaviour, &start, &end) == 0);
    rgi_check(end.kind == RGM_END_DONE && end.status == 0);
    rgi_check(result_take(end.parcel) == 42);
    rgi_check(plan.ended == 2);
    rgi_check(strcmp(plan.seen[0], "") == 0);
    rgi_check(strcmp(plan.seen[1], "ingest") == 0);
    rgi_check(strcmp(plan.seen[2], "ingest.parser_2") == 0);
    rgi_check((plan.kinds >> RGM_OP_READ & 1) != 0);
    rgi_check((plan.kinds >> RGM_OP_SLEEP & 1) != 0);
    rgi_check(strstr(plan.text, "ringmail_context_running{context=\"ingest\"}"
                                " 1\n") != NULL);
    rgi_check(strstr(plan.text,
                     "ringmail_context_running{context=\"ingest.parser_2\"}"
                     " 1\n") != NULL);
    rgi_check(rgi_memory_live() == 0);
}

static int
refuse(struct level *self, const struct level_start *start)
{
    (void)self;
    (void)start;
    return -ENOTSUP;
}
RGM_FACTORY(level, level_start, refuse);

static void
a_root_that_does_not_begin_is_the_callers_to_know(void)
{
    const struct rgm_behaviour refusing = {
        .size_bytes = sizeof(struct level), .factory = RGM_MAKE(level, refuse)};
    struct rgm_end end = {.kind = RGM_END_LOST};

    rgi_check(rgm_run(&refusing, NULL, &end) == -ENOTSUP);
    rgi_check(end.kind == RGM_END_LOST && end.parcel == NULL);
    rgi_check(rgi_memory_live() == 0);
}

/* -------------------------------------------------------------------- names */

struct naming {
    struct rgm_context contexts[4];
    unsigned ended;
};

static void
child_waits(struct robot *self)
{
    (void)self;
}

RGM_ANSWER(robot, rgm_context, on_ended);

static void
on_ended(struct robot *self, struct rgm_context *context)
{
    struct naming *naming = test_of(self);

    rgi_check(context->down.end.kind == RGM_END_STOPPED);
    if (++naming->ended < 2)
        return;
    rgi_check(context->named->running == 0 && context->named->spawned == 2);
    rgm_stop(self);
}

static void
derive_well_and_badly(struct robot *self)
{
    static const struct script child = {.started = child_waits};
    struct naming *naming = test_of(self);
    char longest[RGM_CONTEXT_NAME_MAX + 2];
    struct rgm_address address;
    static const char *const bad[] = {"",    "1a",  "a b",  "a.b",
                                      "a-b", "\"a", "\xc3\xa4"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        rgi_check(rgm_context_derive(self, &naming->contexts[0], bad[i]) ==
                  -EINVAL);
    rgi_check(rgm_context_derive(self, &naming->contexts[0], NULL) == -EINVAL);
    rgi_check(rgm_spawn_in(self, &naming->contexts[0], 0, &robot_behaviour,
                           &child, RGM_REPLY(robot, rgm_context, on_ended),
                           &address) == -EINVAL);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    rgi_check(rgm_context_derive(self, &naming->contexts[0], longest) ==
              -ENAMETOOLONG);
    longest[RGM_CONTEXT_NAME_MAX] = '\0';
    rgi_check(rgm_context_derive(self, &naming->contexts[0], longest) == 0);
    for (unsigned i = 0; i < 2; i++) { /* two under one name */
        rgi_check(rgm_context_derive(self, &naming->contexts[i], "_a1") == 0);
        rgi_check(strcmp(rgm_context_name(&naming->contexts[i]), "_a1") == 0);
        rgi_check(rgm_spawn_in(self, &naming->contexts[i], 0, &robot_behaviour,
                               &child, RGM_REPLY(robot, rgm_context, on_ended),
                               &address) == 0);
    }
    rgi_check(naming->contexts[0].named == naming->contexts[1].named);
    rgi_check(naming->contexts[0].named->running == 2);
    for (unsigned i = 0; i < 2; i++)
        rgm_cancel_request(&self->actor, &naming->contexts[i].request);
}

static void
names_are_checked_and_counted(void)
{
    struct naming naming = {.ended = 0};
    struct script root = {.started = derive_well_and_badly, .test = &naming};

    rig_run(1, &root);
    rgi_check(naming.ended == 2);
}

static void
derive_too_many(struct robot *self)
{
    struct rgm_context context;
    char name[16];

    rgi_memory_fail_nth(1);
    rgi_check(rgm_context_derive(self, &context, "a") == -ENOMEM);
    (void)rgi_memory_fail_off();
    for (unsigned i = 0; i < RGM_CONTEXTS_MAX; i++) {
        snprintf(name, sizeof(name), "c%u", i);
        rgi_check(rgm_context_derive(self, &context, name) == 0);
    }
    rgi_check(rgm_context_derive(self, &context, "one_more") == -ENOSPC);
    rgi_check(rgm_context_derive(self, &context, "c0") == 0); /* is there */
    rgm_stop(self);
}

static void
there_is_room_for_so_many_names(void)
{
    struct script root = {.started = derive_too_many};

    rig_run(1, &root);
}

/* ------------------------------------------------------------------ metrics */

/* A sample as a scraper reads it. */
struct sample {
    char name[128];
    char labels[4][2][128];
    unsigned labels_count;
    unsigned long long value;
};

static const char *
read_word(const char *at, char *word)
{
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
           (*at >= '0' && *at <= '9') || *at == '_' || *at == ':')
        *word++ = *at++;
    *word = '\0';
    return at;
}

static const char *
read_value(const char *at, char *value)
{
    rgi_check(*at++ == '"');
    for (; *at != '"'; at++) {
        rgi_check(*at != '\0' && *at != '\n');
        if (*at != '\\') {
            *value++ = *at;
            continue;
        }
        at++;
        rgi_check(*at == '\\' || *at == '"' || *at == 'n');
        *value++ = *at == 'n' ? '\n' : *at;
    }
    *value = '\0';
    return at + 1;
}

/* Returns: the beginning of the next line. */
static const char *
read_sample(const char *at, struct sample *sample)
{
    char *end;

    memset(sample, 0, sizeof(*sample));
    at = read_word(at, sample->name);
    rgi_check(rgm_metric_name_valid(sample->name));
    rgi_check(*at == '{');
    do {
        char(*label)[128] = sample->labels[sample->labels_count++];

        at = read_word(at + 1, label[0]);
        rgi_check(rgm_label_name_valid(label[0]) && *at == '=');
        at = read_value(at + 1, label[1]);
    } while (*at == ',');
    rgi_check(at[0] == '}' && at[1] == ' ');
    sample->value = strtoull(at + 2, &end, 10);
    rgi_check(*end == '\n');
    return end + 1;
}

static const char *
line_end(const char *at)
{
    at = strchr(at, '\n');
    rgi_check(at != NULL);
    return at + 1;
}

static bool
is_of(const char *family, const char *counter, const char *prefix)
{
    char plain[128], total[128];

    snprintf(plain, sizeof(plain), "%s_%s", prefix, counter);
    snprintf(total, sizeof(total), "%s_%s_total", prefix, counter);
    return strcmp(family, plain) == 0 || strcmp(family, total) == 0;
}

#define COUNTER(name, text) {#name, offsetof(struct rgm_counters, name)},
static const struct {
    const char *name;
    size_t offset;
} all_counters[] = {RGM_COUNTERS(COUNTER)};
#define ALL_COUNT (sizeof(all_counters) / sizeof(all_counters[0]))

static void
compare(struct rgm_runtime *runtime, const struct sample *sample,
        const char *prefix, unsigned *seen)
{
    unsigned last = sample->labels_count - 1;
    char *end;
    uint32_t worker = (uint32_t)strtoul(sample->labels[last][1], &end, 10);

    rgi_check(*end == '\0' && end != sample->labels[last][1]);
    rgi_check(strcmp(sample->labels[last][0], "worker") == 0);
    for (size_t i = 0; i < ALL_COUNT; i++) {
        struct rgm_counters counters;
        uint64_t number;

        if (!is_of(sample->name, all_counters[i].name, prefix))
            continue;
        rgi_check(rgm_runtime_counters(runtime, worker, &counters) == 0);
        memcpy(&number, (char *)&counters + all_counters[i].offset, 8);
        rgi_check(number == sample->value);
        (*seen)++;
        return;
    }
    rgi_check(!"a sample of nothing that is counted");
}

/* Every line is read, and says what the counters say. */
static void
met_06_what_is_written_can_be_read_back(void)
{
    static const char odd[] = "a\"b\\c\nd {},=";
    struct rgm_label labels[] = {{"instance", odd}, {"_zone9", ""}};
    struct rgm_metrics_options options = {
        .prefix = "my:app", .labels = labels, .labels_count = 2};
    static char text[65536];
    static const struct script idle = {.started = NULL};
    struct rgm_runtime *runtime;
    struct rgm_address address;
    unsigned seen = 0, heads = 0, of_process = 0;
    const char *at = text;
    long length;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_start(runtime) == 0);
    for (unsigned i = 0; i < 10; i++)
        rgi_check(rgm_runtime_spawn(runtime, i % 2, &robot_behaviour, &idle,
                                    &address) == 0);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0); /* nothing changes any more */
    length = rgm_runtime_metrics(runtime, &options, text, sizeof(text));
    rgi_check(length > 0 && (size_t)length == strlen(text));
    while (*at != '\0') {
        struct sample sample;

        if (*at == '#') {
            rgi_check(strncmp(at, "# HELP my:app_", 14) == 0 ||
                      strncmp(at, "# TYPE my:app_", 14) == 0);
            heads++;
            at = line_end(at);
            continue;
        }
        at = read_sample(at, &sample);
        rgi_check(sample.labels_count == 2 || sample.labels_count == 3);
        rgi_check(strcmp(sample.labels[0][1], odd) == 0);
        rgi_check(strcmp(sample.labels[1][0], "_zone9") == 0);
        if (sample.labels_count == 2)
            of_process++;
        else
            compare(runtime, &sample, "my:app", &seen);
    }
    rgi_check(seen == 2 * ALL_COUNT && of_process == 4);
    rgi_check(heads == 2 * (ALL_COUNT + 4));
    rgi_check(strstr(text, "# TYPE my:app_spawned_total counter\n") != NULL);
    rgi_check(strstr(text, "# TYPE my:app_actors gauge\n") != NULL);
    rig_destroy(runtime);
}

static void
met_06_what_is_no_name_is_refused(void)
{
    static const char *const bad[] = {"", "9a", "a b", "a-b", "__a", "a:b",
                                      "\xc3\xa4", "worker", "context"};
    struct rgm_label labels[RGM_METRICS_LABELS_MAX + 1];
    struct rgm_metrics_options options = {.labels = labels};
    struct rgm_runtime *runtime = rig_make(1);
    char text[64];
    long whole;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        labels[0] = (struct rgm_label){bad[i], "x"};
        options.labels_count = 1;
        rgi_check(rgm_runtime_metrics(runtime, &options, text, 64) == -EINVAL);
    }
    options.labels_count = RGM_METRICS_LABELS_MAX + 1;
    rgi_check(rgm_runtime_metrics(runtime, &options, text, 64) == -EINVAL);
    labels[0] = labels[1] = (struct rgm_label){"twice", "x"};
    options.labels_count = 2;
    rgi_check(rgm_runtime_metrics(runtime, &options, text, 64) == -EINVAL);
    labels[1].name = NULL;
    rgi_check(rgm_runtime_metrics(runtime, &options, text, 64) == -EINVAL);
    options = (struct rgm_metrics_options){.prefix = "no-name"};
    rgi_check(rgm_runtime_metrics(runtime, &options, text, 64) == -EINVAL);
    whole = rgm_runtime_metrics(runtime, NULL, NULL, 0); /* how long is it? */
    rgi_check(whole > 64);
    rgi_check(rgm_runtime_metrics(runtime, NULL, text, 64) == whole);
    rgi_check(strlen(text) == 63); /* cut, and said so */
    rig_destroy(runtime);
}

#define CASES(X)                                                               \
    X(context, tsk_20_a_named_childs_value_reaches_the_caller_of_start)        \
    X(context, a_root_that_does_not_begin_is_the_callers_to_know)              \
    X(context, names_are_checked_and_counted)                                  \
    X(context, there_is_room_for_so_many_names)                                \
    X(metrics, met_06_what_is_written_can_be_read_back)                        \
    X(metrics, met_06_what_is_no_name_is_refused)

RGI_CASES(CASES)
