/* SPDX-License-Identifier: MIT */

/*
 * channels.c - which descriptor does a handle mean?
 *
 * Records come in chunks, stay where they are and are used again. A handle
 * names one by index and generation, so that a handle kept too long finds
 * nothing instead of somebody else's connection.
 */

#include "capabilities/ring/parts.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"

void
rgi_channels_init(struct rgi_channels *channels)
{
    memset(channels, 0, sizeof(*channels));
    channels->first_free = RGI_CHANNEL_NONE;
}

static struct rgi_channel *
at(const struct rgi_channels *channels, uint32_t index)
{
    return &channels->chunks[index / RGI_CHANNELS_PER_CHUNK]
                            [index % RGI_CHANNELS_PER_CHUNK];
}

void
rgi_channels_close(struct rgi_channels *channels)
{
    for (uint32_t i = 0; i < channels->made; i++)
        if (at(channels, i)->open && at(channels, i)->fd >= 0)
            close(at(channels, i)->fd);
    for (uint32_t i = 0; i < RGI_CHANNEL_CHUNKS; i++)
        rgi_free(channels->chunks[i]);
}

static struct rgi_channel *
make(struct rgi_channels *channels)
{
    uint32_t index = channels->made;
    uint32_t chunk = index / RGI_CHANNELS_PER_CHUNK;

    if (chunk == RGI_CHANNEL_CHUNKS)
        return NULL;
    if (channels->chunks[chunk] == NULL)
        channels->chunks[chunk] =
            rgi_alloc(RGI_CHANNELS_PER_CHUNK * sizeof(struct rgi_channel));
    if (channels->chunks[chunk] == NULL)
        return NULL;
    channels->made++;
    at(channels, index)->index = index;
    return at(channels, index);
}

struct rgi_channel *
rgi_channel_take(struct rgi_channels *channels)
{
    struct rgi_channel *channel;

    if (channels->first_free == RGI_CHANNEL_NONE) {
        channel = make(channels);
        if (channel == NULL)
            return NULL;
    } else {
        channel = at(channels, channels->first_free);
        channels->first_free = channel->next_free;
    }
    channel->fd = -1;
    channel->open = true;
    channel->more = false;
    channel->shut = false;
    channel->imported = false;
    channel->transfers = 0;
    channel->place = 0;
    return channel;
}

void
rgi_channel_give(struct rgi_channels *channels, struct rgi_channel *channel)
{
    channel->open = false;
    channel->generation++;
    channel->next_free = channels->first_free;
    channels->first_free = channel->index;
}

uint64_t
rgi_channel_resource(const struct rgi_channel *channel)
{
    return (uint64_t)channel->generation << 32 | channel->index;
}

struct rgi_channel *
rgi_channel_find(const struct rgi_channels *channels, uint64_t resource)
{
    uint32_t index = (uint32_t)resource;
    struct rgi_channel *channel;

    if (index >= channels->made)
        return NULL;
    channel = at(channels, index);
    if (!channel->open || channel->generation != (uint32_t)(resource >> 32))
        return NULL;
    return channel;
}
