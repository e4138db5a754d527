/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_HALL_H
#define CONFORMANCE_HALL_H

/*
 * hall.h - a crowd of connections, each an actor that echoes what it reads.
 *
 * Each actor accepts its own connection and spawns the next one, which waits
 * for the next connection. When its peer ends or resets it closes and stops;
 * when the runtime stops, likewise.
 */

#include "conformance/harness.h"

#define HALL_BUFFER_BYTES 2048

/* Counts are written by worker 0 and read by anyone. */
struct hall {
    struct stage *stage;
    uint32_t accepted; /* atomic, all of these */
    uint32_t ended;    /* by their peers' end of stream */
    uint32_t broken;   /* by an error */
    uint32_t closed;   /* descriptors given back */
};

/* Listens on the stage's listener and lets the first one in. */
void hall_open(struct hall *hall, struct stage *stage);

/* Waits until so many connections have been accepted, or closed. */
void hall_await_accepted(struct hall *hall, uint32_t count);
void hall_await_closed(struct hall *hall, uint32_t count);

/* Stops the runtime; all of the hall's actors end. */
void hall_close(struct hall *hall);

/* Enough descriptors for so many connections with both ends here.
 * Returns: how many that is, if the machine allows less. */
uint32_t hall_descriptors(uint32_t connections);

#endif /* CONFORMANCE_HALL_H */
