/* SPDX-License-Identifier: MIT */
#ifndef SAMPLES_SERVE_H
#define SAMPLES_SERVE_H

/*
 * serve.h - what every small server's main does: options, pool, runtime,
 * SIGTERM and SIGINT, and an orderly end.
 */

#include <ringmail/ringmail.h>

/* 512 slots of 16 KiB; ends the program when there is no memory. */
struct rgm_pool *serve_pool(void);

/* PORT [WORKERS [ring|threads]]: an actor per connection, until SIGTERM or
 * SIGINT. Returns the exit status. */
int serve(int argc, char **argv, const struct rgm_behaviour *connection);

#endif /* SAMPLES_SERVE_H */
