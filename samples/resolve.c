/* SPDX-License-Identifier: MIT */

/*
 * resolve.c - how does a plain thread look a name up?
 *
 *     resolve NAME [SERVICE]
 *
 * The look-up blocks a thread of the runtime's pool; rgm_call blocks this one.
 */

#include <stdio.h>
#include <string.h>

#include <ringmail/ringmail.h>

static void
print(const struct rgm_resolved *resolved)
{
    struct rgm_resolved_entry entry = {0};
    struct rgm_endpoint endpoint;
    char text[128];

    while (rgm_resolved_next(resolved, &entry))
        if (rgm_resolved_endpoint(&entry, &endpoint) == 0 &&
            rgm_endpoint_format(&endpoint, text, sizeof(text)) > 0)
            printf("%s\n", text);
}

static int
look_up(struct rgm_runtime *runtime, const char *name, const char *service)
{
    struct rgm_resolve resolve;
    int status;

    rgm_resolve_name(&resolve, rgm_worker_address(0), name, service, NULL);
    status = rgm_call(runtime, &resolve);
    if (status != 0) {
        fprintf(stderr, "%s: %s\n", name, strerror(-status));
        return 1;
    }
    if (resolve.code != RGM_RESOLVE_OK)
        fprintf(stderr, "%s: %s\n", name, rgm_resolve_text(resolve.code));
    print(&resolve.resolved);
    rgm_resolved_drop(&resolve.resolved);
    return resolve.code == RGM_RESOLVE_OK ? 0 : 1;
}

int
main(int argc, char **argv)
{
    const struct rgm_runtime_options options = {.workers = 1};
    struct rgm_runtime *runtime;
    int result = 1;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s NAME [SERVICE]\n", argv[0]);
        return 2;
    }
    if (rgm_runtime_create(&options, &runtime) != 0)
        return 1;
    if (rgm_runtime_start(runtime) == 0)
        result = look_up(runtime, argv[1], argc > 2 ? argv[2] : NULL);
    else
        fprintf(stderr, "%s\n", rgm_runtime_error(runtime));
    rgm_runtime_stop(runtime);
    (void)rgm_runtime_wait(runtime);
    (void)rgm_runtime_destroy(runtime);
    return result;
}
