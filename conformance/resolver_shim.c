/* SPDX-License-Identifier: MIT */

/* resolver_shim.c - what does the process ask of the resolver? */

#include "conformance/resolver_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool scripted;
    bool shut;
    unsigned inside;
    unsigned lookups;
    unsigned frees;
    struct addrinfo *list;
    int code;
    int system_errno;
} shim = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

void
shim_resolver_says(struct addrinfo *list, int code, int system_errno)
{
    pthread_mutex_lock(&shim.lock);
    shim.scripted = true;
    shim.list = list;
    shim.code = code;
    shim.system_errno = system_errno;
    pthread_mutex_unlock(&shim.lock);
}

void
shim_resolver_real(void)
{
    pthread_mutex_lock(&shim.lock);
    shim.scripted = false;
    pthread_mutex_unlock(&shim.lock);
}

static void
gate_set(bool shut)
{
    pthread_mutex_lock(&shim.lock);
    shim.shut = shut;
    pthread_cond_broadcast(&shim.changed);
    pthread_mutex_unlock(&shim.lock);
}

void
shim_resolver_gate_shut(void)
{
    gate_set(true);
}

void
shim_resolver_gate_open(void)
{
    gate_set(false);
}

void
shim_resolver_gate_await(unsigned inside)
{
    pthread_mutex_lock(&shim.lock);
    while (shim.inside != inside)
        pthread_cond_wait(&shim.changed, &shim.lock);
    pthread_mutex_unlock(&shim.lock);
}

static unsigned
look(const unsigned *counter)
{
    unsigned value;

    pthread_mutex_lock(&shim.lock);
    value = *counter;
    pthread_mutex_unlock(&shim.lock);
    return value;
}

unsigned
shim_resolver_lookups(void)
{
    return look(&shim.lookups);
}

unsigned
shim_resolver_frees(void)
{
    return look(&shim.frees);
}

/* Returns: whether the script answers. */
static bool
pass(int *ret_code, int *ret_errno, struct addrinfo **ret_list)
{
    bool scripted;

    pthread_mutex_lock(&shim.lock);
    shim.lookups++;
    shim.inside++;
    pthread_cond_broadcast(&shim.changed);
    while (shim.shut)
        pthread_cond_wait(&shim.changed, &shim.lock);
    shim.inside--;
    scripted = shim.scripted;
    *ret_code = shim.code;
    *ret_errno = shim.system_errno;
    if (scripted && shim.list != NULL)
        *ret_list = shim.list;
    pthread_mutex_unlock(&shim.lock);
    return scripted;
}

typedef int lookup_function(const char *, const char *,
                            const struct addrinfo *, struct addrinfo **);
typedef void free_function(struct addrinfo *);

#pragma GCC visibility push(default)

int
getaddrinfo(const char *host, const char *service,
            const struct addrinfo *hints, struct addrinfo **ret_list)
{
    lookup_function *real;
    void *symbol;
    int error = 0;
    int code;

    if (pass(&code, &error, ret_list)) {
        errno = error;
        return code;
    }
    symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &symbol, sizeof(real));
    return real(host, service, hints, ret_list);
}

void
freeaddrinfo(struct addrinfo *list)
{
    free_function *real;
    void *symbol;
    bool ours;

    pthread_mutex_lock(&shim.lock);
    shim.frees++;
    ours = list == shim.list;
    pthread_mutex_unlock(&shim.lock);
    if (ours)
        return;
    symbol = dlsym(RTLD_NEXT, "freeaddrinfo");
    memcpy(&real, &symbol, sizeof(real));
    real(list);
}

#pragma GCC visibility pop
