/* SPDX-License-Identifier: MIT */
#ifndef SAMPLES_PROVIDER_NAME_H
#define SAMPLES_PROVIDER_NAME_H

/*
 * provider_name.h - which provider does a person mean?
 */

#include <string.h>

#include <ringmail/ringmail.h>

/* Returns: NULL for any other name. */
static inline const struct rgm_provider_class *
provider_named(const char *name)
{
    if (strcmp(name, "ring") == 0)
        return &rgm_provider_ring;
    if (strcmp(name, "epoll") == 0)
        return &rgm_provider_epoll;
    return strcmp(name, "threads") == 0 ? &rgm_provider_threads : NULL;
}

#endif /* SAMPLES_PROVIDER_NAME_H */
