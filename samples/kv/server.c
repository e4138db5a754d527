/* SPDX-License-Identifier: MIT */

/*
 * server.c - who stops what everybody else needs?
 *
 * A shard may not stop while a connection anywhere may still ask it. So shards
 * and sequencer do nothing when they hear that the server stops; they are
 * stopped here, when the last acceptor has said that its connections are gone.
 * One whose worker has gone, and its connections elsewhere, is not waited for.
 */

#include "samples/kv/server.h"

struct server {
    struct rgm_actor actor;
    const struct cluster *cluster;
    uint32_t retired_count;
};

RGM_FACTORY(server, cluster, server_make);
RGM_HOOK(server, server_retiring);
RGM_HANDLER(server, retired, server_retired);

static const struct rgm_handler server_handlers[] = {
    RGM_ON(server, retired, server_retired),
};

const struct rgm_behaviour server_behaviour = {
    .name = "server",
    .size_bytes = sizeof(struct server),
    RGM_HANDLERS(server_handlers),
    .factory = RGM_MAKE(server, server_make),
    .retiring = RGM_DO(server, server_retiring),
};

static int
server_make(struct server *self, const struct cluster *cluster)
{
    self->cluster = cluster;
    return 0;
}

static void
server_retiring(struct server *self)
{
    (void)self; /* the acceptors tell when it is time */
}

static void
server_retired(struct server *self, struct retired *retired)
{
    const struct cluster *cluster = self->cluster;

    if (retired->left)
        cluster->roster->acceptors_count--;
    else
        self->retired_count++;
    rgm_reply(self, retired, 0);
    if (self->retired_count < cluster->roster->acceptors_count)
        return;
    rgm_stop_actor(self, cluster->manager);
    for (uint32_t i = 0; i < cluster->roster->members_count; i++)
        rgm_stop_actor(self, cluster->roster->shards[i]);
    rgm_stop_actor(self, cluster->sequencer);
    rgm_stop(self);
}
