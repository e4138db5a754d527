/* SPDX-License-Identifier: MIT */

/* metrics.c - what a runtime counts, as text: one family after the other, in each
 * a sample per worker or context. Lengths are counted also where nothing is
 * written any more. */

#include <ringmail/metrics.h>

#include "actors/names.h"
#include "actors/runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "leases/pool.h"

/* ---- names ---- */

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name(const char *name, bool colons)
{
    if (name == NULL || *name == '\0' || (*name >= '0' && *name <= '9'))
        return false;
    while (is_letter(*name) || (*name >= '0' && *name <= '9') ||
           (colons && *name == ':'))
        name++;
    return *name == '\0';
}

bool
rgm_metric_name_valid(const char *name)
{
    return is_name(name, true);
}

bool
rgm_label_name_valid(const char *name)
{
    return is_name(name, false) && strncmp(name, "__", 2) != 0;
}

static bool
labels_valid(const struct rgm_metrics_options *options)
{
    if (options->labels_count > RGM_METRICS_LABELS_MAX)
        return false;
    for (size_t i = 0; i < options->labels_count; i++) {
        const struct rgm_label *label = &options->labels[i];

        if (!rgm_label_name_valid(label->name) || label->value == NULL ||
            strcmp(label->name, "worker") == 0 ||
            strcmp(label->name, "context") == 0)
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(label->name, options->labels[k].name) == 0)
                return false;
    }
    return true;
}

/* ---- text ---- */

struct page {
    char *text;
    size_t size;
    size_t length; /* of all, also of what did not fit */
    const struct rgm_metrics_options *options;
};

static void
put(struct page *page, char c)
{
    if (page->length + 1 < page->size)
        page->text[page->length] = c;
    page->length++;
}

static void
put_text(struct page *page, const char *text)
{
    while (*text != '\0')
        put(page, *text++);
}

static void
put_escaped(struct page *page, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"')
            put(page, '\\');
        if (*text == '\n')
            put_text(page, "\\n");
        else
            put(page, *text);
    }
}

static void
put_label(struct page *page, const char *name, const char *value)
{
    put_text(page, name);
    put_text(page, "=\"");
    put_escaped(page, value);
    put(page, '"');
}

/* A gauge has no suffix. */
struct family {
    const char *name;
    bool gauge;
};

static void
put_name(struct page *page, const struct family *family)
{
    put_text(page, page->options->prefix);
    put(page, '_');
    put_text(page, family->name);
    put_text(page, family->gauge ? "" : "_total");
}

static void
put_head(struct page *page, const struct family *family, const char *help)
{
    put_text(page, "# HELP ");
    put_name(page, family);
    put(page, ' ');
    put_text(page, help);
    put_text(page, "\n# TYPE ");
    put_name(page, family);
    put_text(page, family->gauge ? " gauge\n" : " counter\n");
}

static void
put_sample(struct page *page, const struct family *family,
           const char *label, /* NULL: it has none of its own */
           const char *value, uint64_t number)
{
    const struct rgm_metrics_options *options = page->options;
    char digits[24];

    put_name(page, family);
    put(page, '{');
    for (size_t i = 0; i < options->labels_count; i++) {
        put_label(page, options->labels[i].name, options->labels[i].value);
        put_text(page, label != NULL || i + 1 < options->labels_count ? ","
                                                                      : "");
    }
    if (label != NULL)
        put_label(page, label, value);
    snprintf(digits, sizeof(digits), "} %llu\n", (unsigned long long)number);
    put_text(page, digits);
}

/* ---- what is counted ---- */

struct counter {
    const char *name;
    const char *help;
    size_t offset;
};

#define COUNTER(name, text) {#name, text, offsetof(struct rgm_counters, name)},
static const struct counter counters[] = {RGM_COUNTERS(COUNTER)};
#define COUNTERS_COUNT (sizeof(counters) / sizeof(counters[0]))

/* counters.h marks them. */
static bool
is_gauge(const struct counter *counter)
{
    size_t length = strlen(counter->help);

    return (length >= 4 && strcmp(counter->help + length - 4, " now") == 0) ||
           counter->offset == offsetof(struct rgm_counters,
                                       longest_handler_ns);
}

static void
put_counter(struct page *page, const struct counter *counter,
            const struct rgm_counters *workers, uint32_t count)
{
    struct family family = {counter->name, is_gauge(counter)};

    put_head(page, &family, counter->help);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number;
        char worker[12];

        snprintf(worker, sizeof(worker), "%u", (unsigned)i);
        memcpy(&number, (const char *)&workers[i] + counter->offset,
               sizeof(number));
        put_sample(page, &family, "worker", worker, number);
    }
}

static void
put_contexts(struct page *page, struct rgm_runtime *runtime)
{
    static const struct family running = {"context_running", true};
    static const struct family spawned = {"context_spawned", false};
    const struct rgi_name *first = rgi_names_first(runtime);
    const struct rgi_name *name;

    if (first == NULL)
        return;
    put_head(page, &running, "actors in a context now");
    for (name = first; name != NULL; name = name->next)
        put_sample(page, &running, "context", name->text,
                   __atomic_load_n(&name->running, __ATOMIC_RELAXED));
    put_head(page, &spawned, "actors spawned in a context");
    for (name = first; name != NULL; name = name->next)
        put_sample(page, &spawned, "context", name->text,
                   __atomic_load_n(&name->spawned, __ATOMIC_RELAXED));
}

/* ---- the process ---- */

/* In pages, the first two numbers of the page: proc(5). */
static void
look_at_memory(struct rgm_process_counters *ret_counters)
{
    unsigned long long sizes[2] = {0, 0};
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

    if (fd >= 0)
        (void)close(fd);
    if (length <= 0)
        return;
    text[length] = '\0';
    if (sscanf(text, "%llu %llu", &sizes[0], &sizes[1]) != 2)
        return;
    ret_counters->virtual_bytes = sizes[0] * page_bytes;
    ret_counters->resident_bytes = sizes[1] * page_bytes;
}

void
rgm_process_look(struct rgm_process_counters *ret_counters)
{
    *ret_counters = (struct rgm_process_counters){
        .pools_created = rgi_pools_created(),
        .pool_exhausted = rgi_pools_exhausted(),
    };
    look_at_memory(ret_counters);
}

static void
put_process(struct page *page)
{
    static const struct family created = {"pools_created", false};
    static const struct family exhausted = {"pool_exhausted", false};
    static const struct family resident = {"process_resident_bytes", true};
    static const struct family mapped = {"process_virtual_bytes", true};
    struct rgm_process_counters process;

    rgm_process_look(&process);
    put_head(page, &created, "pools made in this process");
    put_sample(page, &created, NULL, NULL, process.pools_created);
    put_head(page, &exhausted, "times a slot was wanted and none was free");
    put_sample(page, &exhausted, NULL, NULL, process.pool_exhausted);
    put_head(page, &resident, "memory of the process that is present now");
    put_sample(page, &resident, NULL, NULL, process.resident_bytes);
    put_head(page, &mapped, "memory of the process that is mapped now");
    put_sample(page, &mapped, NULL, NULL, process.virtual_bytes);
}

long
rgm_runtime_metrics(struct rgm_runtime *runtime,
                    const struct rgm_metrics_options *options, char *text,
                    size_t size_bytes)
{
    struct rgm_counters workers[RGM_WORKERS_MAX];
    struct rgm_metrics_options all = {.prefix = NULL};
    struct page page = {text, size_bytes, 0, &all};
    uint32_t count = rgi_numbers_known(runtime);

    if (options != NULL)
        all = *options;
    if (all.prefix == NULL)
        all.prefix = "ringmail";
    if (!rgm_metric_name_valid(all.prefix) || !labels_valid(&all))
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        (void)rgm_runtime_counters(runtime, i, &workers[i]);
    for (size_t i = 0; i < COUNTERS_COUNT; i++)
        put_counter(&page, &counters[i], workers, count);
    put_contexts(&page, runtime);
    put_process(&page);
    if (size_bytes > 0)
        text[page.length < size_bytes ? page.length : size_bytes - 1] = '\0';
    return (long)page.length;
}
