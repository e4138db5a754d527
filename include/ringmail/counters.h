/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_COUNTERS_H
#define RINGMAIL_COUNTERS_H

/* counters.h - what each worker counts. All grow from zero, unless marked
 * "now", which are gauges. */

#include <ringmail/base.h>

/* name, what it counts */
#define RGM_COUNTERS(X)                                                       \
    X(turns, "turns of the loop")                                             \
    X(batches, "ready batches run")                                           \
    X(deliveries, "handler and answer calls")                                 \
    X(sent_local, "messages sent to the own worker")                          \
    X(sent_remote, "messages sent to other workers")                          \
    X(forwarded, "messages forwarded")                                        \
    X(home, "own messages that came home")                                    \
    X(dead_letters, "messages nobody could handle")                           \
    X(refused, "sends refused: allowance, closed, stale")                     \
    X(lane_waits, "asks that waited for allowance")                           \
    X(flushes, "chains pushed into other inboxes")                            \
    X(bells, "bells rung for sleeping workers")                               \
    X(parks, "times the worker slept")                                        \
    X(park_bell, "parks ended by the bell")                                   \
    X(park_io, "parks ended by a completion")                                 \
    X(park_deadline, "parks ended by a deadline")                             \
    X(bells_stale, "bells seen awake, or late")                               \
    X(spins_hit, "spins that found work")                                     \
    X(spins_missed, "spins that ended in a park")                             \
    X(kernel_entries, "system calls of the provider's turn")                  \
    X(entries_submitted, "entries given to the kernel")                       \
    X(completions, "operations completed")                                    \
    X(overflows, "completions that took the overflow road")                   \
    X(operations, "operations started")                                       \
    X(commands_replayed, "commands by identity that came first")              \
    X(timers_fired, "sleeps whose time came")                                 \
    X(timers_late, "of those, more than 1 ms late")                           \
    X(deadlines_expired, "requests cancelled by their deadline")              \
    X(spawned, "actors spawned on this worker")                               \
    X(stopped, "actors stopped")                                              \
    X(moved, "actors that moved to another worker")                           \
    X(drained, "times it ran empty, since a wait for that was first asked")     \
    X(pool_waits, "reads that waited for a pool slot")                        \
    X(read_pools, "pools made for reads that name none")                      \
    X(acquire_waits, "acquires that waited for a pool slot")                  \
    X(pool_recalls, "times lent slots were taken back for others")            \
    X(zero_copies, "sends from where the bytes were that the kernel let go of") \
    X(zero_copies_copied, "of those, copied by the kernel after all")         \
    X(storage_reads, "reads of files that brought something or their end")    \
    X(storage_read_bytes, "bytes read from files")                            \
    X(storage_writes, "writes to files")                                      \
    X(storage_write_bytes, "bytes written to files")                          \
    X(storage_syncs, "syncs of files")                                        \
    X(network_accepts, "connections accepted")                                \
    X(network_connects, "connections made")                                   \
    X(network_reads, "reads of sockets that brought something or the end")    \
    X(network_read_bytes, "bytes read from sockets")                          \
    X(network_writes, "writes to sockets")                                    \
    X(network_write_bytes, "bytes written to sockets")                        \
    X(pool_oversized, "datagrams longer than their slot")                     \
    X(longest_handler_ns, "longest single delivery, when measured")           \
    X(actors, "actors now")                                                   \
    X(messages_out, "own messages that are out now")                          \
    X(kept, "requests kept now")                                              \
    X(in_flight, "operations out now")                                        \
    X(ready, "actors ready now")                                              \
    X(leases, "worker leases held now")                                       \
    X(timers, "sleeps out and timers registered now")

#define RGM_COUNTER_FIELD_(name, text) uint64_t name;
struct rgm_counters {
    RGM_COUNTERS(RGM_COUNTER_FIELD_)
};
#undef RGM_COUNTER_FIELD_

#endif /* RINGMAIL_COUNTERS_H */
