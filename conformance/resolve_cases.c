/* SPDX-License-Identifier: MIT */

/* resolve_cases.c - what must name resolution show? */

#include "conformance/resolve_cases.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "conformance/resolver_shim.h"
#include "conformance/shim.h"

STEP(resolve_step, rgm_resolve);

#define HERE rgm_worker_address(0)

static int
resolve(struct stage *stage, struct rgm_resolve *record, const char *host,
        const char *service, const struct rgm_resolve_hints *hints)
{
    rgm_resolve_name(record, HERE, host, service, hints);
    return rgm_call(stage->runtime, record);
}

static unsigned
entries_of(const struct rgm_resolved *resolved)
{
    struct rgm_resolved_entry entry = {0};
    unsigned count = 0;

    while (rgm_resolved_next(resolved, &entry))
        count++;
    return count;
}

void
res_01_numeric_names_become_addresses(struct stage *stage)
{
    const struct rgm_resolve_hints numeric = {.numeric_host = true,
                                              .numeric_service = true};
    static const struct {
        const char *host;
        enum rgm_family family;
    } names[] = {{"127.0.0.1", RGM_IPV4}, {"::1", RGM_IPV6}};
    struct rgm_resolve record;

    stage_open(stage);
    for (int i = 0; i < 2; i++) {
        struct rgm_resolved_entry entry = {0};
        struct rgm_endpoint endpoint;
        struct rgm_endpoint wanted;

        rgi_check(resolve(stage, &record, names[i].host, "80", &numeric) == 0);
        rgi_check(record.code == RGM_RESOLVE_OK);
        rgi_check(rgm_resolved_next(&record.resolved, &entry));
        rgi_check(entry.type == SOCK_STREAM);
        rgi_check(rgm_resolved_endpoint(&entry, &endpoint) == 0);
        rgi_check(rgm_endpoint_parse(names[i].host, 80, &wanted) == 0);
        rgi_check(endpoint.family == names[i].family && endpoint.port == 80);
        rgi_check(memcmp(endpoint.address, wanted.address, 16) == 0);
        rgi_check(!rgm_resolved_next(&record.resolved, &entry));
        rgm_resolved_drop(&record.resolved);
    }
    rgi_check(resolve(stage, &record, NULL, NULL, NULL) == -EINVAL);
    stage_close(stage);
}

void
res_01_nothing_is_looked_up_before_the_ask(struct stage *stage)
{
    struct rgm_resolve record;
    unsigned lookups = shim_resolver_lookups();

    stage_open(stage);
    rgm_resolve_name(&record, HERE, "127.0.0.1", NULL, NULL);
    rgi_check(shim_resolver_lookups() == lookups);
    rgi_check(rgm_call(stage->runtime, &record) == 0);
    rgi_check(shim_resolver_lookups() == lookups + 1);
    rgm_resolved_drop(&record.resolved);
    stage_close(stage);
}

void
res_01_queued_look_up_can_be_cancelled(struct stage *stage)
{
    struct resolve_step first = {0};
    struct resolve_step second = {0};

    stage->options.resolve_threads = 1;
    stage_open(stage);
    shim_resolver_gate_shut();
    rgm_resolve_name(&first.op, HERE, "127.0.0.1", NULL, NULL);
    rgm_resolve_name(&second.op, HERE, "127.0.0.1", NULL, NULL);
    stage_begin(stage, &first);
    shim_resolver_gate_await(1);
    stage_begin(stage, &second);
    stage_cancel(stage, &second);
    rgi_check(stage_end(stage, &second) == -ECANCELED);
    rgi_check(second.op.resolved.block == NULL);
    shim_resolver_gate_open();
    rgi_check(stage_end(stage, &first) == 0);
    rgm_resolved_drop(&first.op.resolved);
    stage_close(stage);
}

/* ------------------------------------------------------------ a stubbed list */

#define ENTRIES 100

struct stub {
    struct addrinfo infos[ENTRIES];
    struct sockaddr_in6 addresses[ENTRIES];
};

/* Link-local addresses with their scopes; each comes twice. */
static void
stub_make(struct stub *stub)
{
    memset(stub, 0, sizeof(*stub));
    for (uint32_t i = 0; i < ENTRIES; i++) {
        struct sockaddr_in6 *address = &stub->addresses[i];

        address->sin6_family = AF_INET6;
        address->sin6_port = htons((uint16_t)(1000 + i / 2));
        rgi_check(inet_pton(AF_INET6, "fe80::1", &address->sin6_addr) == 1);
        address->sin6_scope_id = i / 2 + 1;
        stub->infos[i] = (struct addrinfo){
            .ai_family = AF_INET6,
            .ai_socktype = i % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM,
            .ai_protocol = i % 3 == 0 ? IPPROTO_TCP : IPPROTO_UDP,
            .ai_addr = (struct sockaddr *)address,
            .ai_addrlen = sizeof(*address),
            .ai_next = i + 1 < ENTRIES ? &stub->infos[i + 1] : NULL,
        };
    }
    shim_resolver_says(stub->infos, 0, 0);
}

static void
stub_is_kept(const struct rgm_resolved *resolved)
{
    struct rgm_resolved_entry entry = {0};
    struct rgm_endpoint endpoint;
    uint32_t i;

    for (i = 0; rgm_resolved_next(resolved, &entry); i++) {
        rgi_check(entry.family == AF_INET6);
        rgi_check(entry.type == (i % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM));
        rgi_check(entry.protocol == (i % 3 == 0 ? IPPROTO_TCP : IPPROTO_UDP));
        rgi_check(rgm_resolved_endpoint(&entry, &endpoint) == 0);
        rgi_check(endpoint.scope == i / 2 + 1);
        rgi_check(endpoint.port == 1000 + i / 2);
    }
    rgi_check(i == ENTRIES);
}

void
res_02_order_duplicates_and_scopes_are_kept(struct stage *stage)
{
    static struct stub stub;
    struct rgm_resolve record;

    stage_open(stage);
    stub_make(&stub);
    rgi_check(resolve(stage, &record, "stub", NULL, NULL) == 0);
    stub_is_kept(&record.resolved);
    rgm_resolved_drop(&record.resolved);
    shim_resolver_real();
    stage_close(stage);
}

void
res_03_looking_through_allocates_nothing(struct stage *stage)
{
    static struct stub stub;
    struct rgm_resolve record;
    uint64_t allocations;

    stage_open(stage);
    stub_make(&stub);
    rgi_check(resolve(stage, &record, "stub", NULL, NULL) == 0);
    allocations = shim_allocations();
    stub_is_kept(&record.resolved);
    rgi_check(shim_allocations() == allocations);
    rgm_resolved_drop(&record.resolved);
    shim_resolver_real();
    stage_close(stage);
}

void
res_04_list_is_freed_once_by_the_last(struct stage *stage)
{
    static struct stub stub;
    struct rgm_resolved second;
    struct rgm_resolve record;
    unsigned frees;

    stage_open(stage);
    stub_make(&stub);
    frees = shim_resolver_frees();
    rgi_check(resolve(stage, &record, "stub", NULL, NULL) == 0);
    second = rgm_resolved_clone(&record.resolved);
    rgm_resolved_drop(&record.resolved);
    rgm_resolved_drop(&record.resolved); /* empty: nothing */
    rgi_check(shim_resolver_frees() == frees);
    stub_is_kept(&second);
    rgm_resolved_drop(&second);
    rgi_check(shim_resolver_frees() == frees + 1);
    shim_resolver_says(NULL, EAI_NONAME, 0); /* there is no list then */
    rgi_check(resolve(stage, &record, "stub", NULL, NULL) == 0);
    rgm_resolved_drop(&record.resolved);
    rgi_check(shim_resolver_frees() == frees + 1);
    shim_resolver_real();
    stage_close(stage);
}

void
res_05_errors_say_who_failed(struct stage *stage)
{
    static const struct {
        int native;
        enum rgm_resolve_code code;
    } table[] = {
        {EAI_NONAME, RGM_RESOLVE_NO_NAME},
        {EAI_SERVICE, RGM_RESOLVE_NO_SERVICE},
        {EAI_AGAIN, RGM_RESOLVE_AGAIN},
        {EAI_FAIL, RGM_RESOLVE_FAIL},
        {EAI_BADFLAGS, RGM_RESOLVE_BAD_HINTS},
        {EAI_MEMORY, RGM_RESOLVE_MEMORY},
        {EAI_SYSTEM, RGM_RESOLVE_SYSTEM},
        {-9999, RGM_RESOLVE_OTHER},
    };
    static const char *const no_ports[] = {"65536", "4294967376", "-1",
                                           "99999999999999999999999"};
    const struct rgm_resolve_hints numeric = {.numeric_host = true,
                                              .numeric_service = true};
    struct rgm_resolve record;

    stage_open(stage);
    rgi_check(resolve(stage, &record, "not.numeric", NULL, &numeric) == 0);
    rgi_check(record.code == RGM_RESOLVE_NO_NAME);
    rgi_check(resolve(stage, &record, "127.0.0.1", "nonsense", &numeric) == 0);
    rgi_check(record.code == RGM_RESOLVE_NO_NAME ||
              record.code == RGM_RESOLVE_NO_SERVICE);
    for (size_t i = 0; i < sizeof(no_ports) / sizeof(no_ports[0]); i++) {
        rgi_check(resolve(stage, &record, "127.0.0.1", no_ports[i], NULL) == 0);
        rgi_check(record.code == RGM_RESOLVE_NO_SERVICE);
        rgi_check(record.native_code == EAI_SERVICE);
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        shim_resolver_says(NULL, table[i].native, EMFILE);
        rgi_check(resolve(stage, &record, "stub", NULL, NULL) == 0);
        rgi_check(record.code == table[i].code);
        rgi_check(record.native_code == table[i].native);
        rgi_check(record.system_errno ==
                  (table[i].native == EAI_SYSTEM ? EMFILE : 0));
        rgi_check(record.resolved.block == NULL);
        rgi_check(entries_of(&record.resolved) == 0);
        rgi_check(rgm_resolve_text(record.code)[0] != 0);
    }
    shim_resolver_real();
    stage_close(stage);
}

void
res_06_cancelled_look_up_ends_with_its_call(struct stage *stage)
{
    struct resolve_step cancelled = {0};
    struct resolve_step next = {0};

    stage->options.resolve_threads = 1;
    stage->options.jobs_max = 1;
    stage_open(stage);
    shim_resolver_gate_shut();
    rgm_resolve_name(&cancelled.op, HERE, "127.0.0.1", NULL, NULL);
    rgm_resolve_name(&next.op, HERE, "127.0.0.1", NULL, NULL);
    stage_begin(stage, &cancelled);
    shim_resolver_gate_await(1);
    stage_cancel(stage, &cancelled);
    stage_begin(stage, &next);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &cancelled)); /* it holds its place */
    rgi_check(stage_is_out(stage, &next));
    shim_resolver_gate_open();
    rgi_check(stage_end(stage, &cancelled) == 0);
    rgi_check(stage_end(stage, &next) == 0);
    rgm_resolved_drop(&cancelled.op.resolved);
    rgm_resolved_drop(&next.op.resolved);
    stage_close(stage);
}

static void *
look_through(void *argument)
{
    struct rgm_resolved *resolved = argument;

    for (int i = 0; i < 100; i++)
        stub_is_kept(resolved);
    rgm_resolved_drop(resolved);
    return NULL;
}

void
res_07_lists_are_shared_between_threads(struct stage *stage)
{
    static struct stub stub;
    struct rgm_resolved lists[2];
    struct rgm_resolve record;
    pthread_t threads[2];
    unsigned frees;

    stage_open(stage);
    stub_make(&stub);
    frees = shim_resolver_frees();
    rgi_check(resolve(stage, &record, "stub", NULL, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        lists[i] = rgm_resolved_clone(&record.resolved);
        rgi_check(pthread_create(&threads[i], NULL, look_through, &lists[i]) ==
                  0);
    }
    rgm_resolved_drop(&record.resolved);
    for (int i = 0; i < 2; i++)
        rgi_check(pthread_join(threads[i], NULL) == 0);
    rgi_check(shim_resolver_frees() == frees + 1);
    shim_resolver_real();
    stage_close(stage);
}

void
res_07_arrays_are_lists_too(struct stage *stage)
{
    struct rgm_endpoint array[3] = {0};
    struct rgm_resolved_entry entry = {0};
    struct rgm_resolved resolved;
    struct rgm_endpoint endpoint;
    size_t i;

    (void)stage;
    for (i = 0; i < 3; i++)
        rgi_check(rgm_endpoint_parse(i == 1 ? "::1" : "127.0.0.1",
                                     (uint16_t)(i + 1), &array[i]) == 0);
    resolved = rgm_resolved_of(array, 3);
    for (i = 0; rgm_resolved_next(&resolved, &entry); i++) {
        rgi_check(entry.family == (i == 1 ? AF_INET6 : AF_INET));
        rgi_check(rgm_resolved_endpoint(&entry, &endpoint) == 0);
        rgi_check(endpoint.port == i + 1);
    }
    rgi_check(i == 3);
    resolved = rgm_resolved_of(NULL, 0);
    rgi_check(!rgm_resolved_next(&resolved, &entry));
    rgm_resolved_drop(&resolved);
}

/* ---- a name server that does not answer ---- */

#define LOOK_UPS 100
#define FILE_JOBS 20

STEP(job_step, rgm_job);

static int64_t
write_and_read(struct rgm_job *job)
{
    char path[] = "/tmp/ringmail-b82-XXXXXX";
    char bytes[4] = "";
    int fd = mkstemp(path);

    (void)job;
    rgi_check(fd >= 0 && unlink(path) == 0);
    rgi_check(write(fd, "abc", 4) == 4 && pread(fd, bytes, 4, 0) == 4);
    rgi_check(close(fd) == 0);
    return strcmp(bytes, "abc") == 0;
}

static void
work_with_files(struct stage *stage)
{
    static struct job_step jobs[FILE_JOBS];

    for (uint32_t i = 0; i < FILE_JOBS; i++) {
        step_clear(&jobs[i]);
        rgm_job_run(&jobs[i].op, rgm_worker_address(i % 4), write_and_read);
        stage_begin_on(stage, i % 4, &jobs[i]);
    }
    for (uint32_t i = 0; i < FILE_JOBS; i++) {
        rgi_check(stage_end(stage, &jobs[i]) == 0);
        rgi_check(jobs[i].op.result == 1);
    }
}

void
field_b82_look_ups_delay_nobody_else(struct stage *stage)
{
    static struct resolve_step look_ups[LOOK_UPS];
    unsigned before = shim_resolver_lookups();

    stage->options.workers = 4;
    stage_open(stage);
    shim_resolver_gate_shut();
    for (uint32_t i = 0; i < LOOK_UPS; i++) {
        step_clear(&look_ups[i]);
        rgm_resolve_name(&look_ups[i].op, rgm_worker_address(i % 4),
                         "127.0.0.1", NULL, NULL);
        stage_begin_on(stage, i % 4, &look_ups[i]);
    }
    shim_resolver_gate_await(RGM_RESOLVE_THREADS_DEFAULT);
    work_with_files(stage); /* with all look-ups where they are */
    rgi_check(shim_resolver_lookups() - before == RGM_RESOLVE_THREADS_DEFAULT);
    for (uint32_t i = 0; i < LOOK_UPS; i++)
        rgi_check(stage_is_out(stage, &look_ups[i]));
    shim_resolver_gate_open();
    for (uint32_t i = 0; i < LOOK_UPS; i++) {
        rgi_check(stage_end(stage, &look_ups[i]) == 0);
        rgm_resolved_drop(&look_ups[i].op.resolved);
    }
    stage_close(stage);
}
