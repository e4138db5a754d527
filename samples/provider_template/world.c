/* SPDX-License-Identifier: MIT */

/* world.c - what is there, and who is told when it changes? */

#include <stdlib.h>
#include <unistd.h>

#include "samples/provider_template/parts.h"

struct memory_world *
memory_world_create(void)
{
    struct memory_world *world = calloc(1, sizeof(*world));
    pthread_condattr_t monotonic;

    if (world == NULL)
        return NULL;
    pthread_mutex_init(&world->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&world->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    world->last_port = 1023;
    return world;
}

void
memory_world_destroy(struct memory_world *world)
{
    struct memory_file *file;

    if (world == NULL)
        return;
    while (world->handles != NULL)
        memory_handle_free(world, world->handles, false);
    while ((file = world->files) != NULL) {
        world->files = file->next;
        free(file->bytes);
        free(file);
    }
    pthread_cond_destroy(&world->changed);
    pthread_mutex_destroy(&world->lock);
    free(world);
}

void
memory_changed(struct memory_world *world)
{
    const uint64_t one = 1;

    for (struct memory_waker *waker = world->wakers; waker != NULL;
         waker = waker->next)
        (void)!write(waker->news, &one, sizeof(one));
    pthread_cond_broadcast(&world->changed);
}

struct memory_handle *
memory_handle_new(struct memory_world *world, enum memory_what what)
{
    struct memory_handle *handle = calloc(1, sizeof(*handle));

    if (handle == NULL)
        return NULL;
    handle->what = what;
    handle->next = world->handles;
    world->handles = handle;
    return handle;
}

void
memory_handle_free(struct memory_world *world, struct memory_handle *handle,
                   bool reset)
{
    struct memory_handle **link = &world->handles;

    while (*link != handle)
        link = &(*link)->next;
    *link = handle->next;
    if (handle->what == MEMORY_STREAM)
        memory_stream_close(world, handle, reset);
    else if (handle->what == MEMORY_LISTENER)
        memory_listener_close(world, handle->listener);
    else
        memory_file_close(world, handle->file);
    memory_changed(world);
    free(handle);
}
