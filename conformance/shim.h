/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SHIM_H
#define CONFORMANCE_SHIM_H

/*
 * shim.h - what does the process ask of the C library?
 *
 * shim.c defines a few functions of the C library in front of it. They count,
 * they can hold one descriptor's calls at a gate, and they can put an error in.
 * What a ring asks of the kernel does not pass here.
 *
 * Thread of all of them: any.
 */

#include <stdbool.h>
#include <stdint.h>

/* recv of this descriptor waits inside until the gate opens. */
void shim_gate_shut(int fd);
void shim_gate_open(void);
/* Until so many calls are inside. */
void shim_gate_await(unsigned inside);

/* The next recv of this descriptor gives the error instead. */
void shim_receive_fail(int fd, int error);
bool shim_receive_failed(void); /* it did */

/* close of this descriptor closes it and then gives the error. */
void shim_close_fail(int fd, int error);
/* How often close was called for it since. */
unsigned shim_closes(void);

/* The array of the last preadv, pwritev or sendmsg. */
const void *shim_last_vectors(void);

/* The next fsync or fdatasync of this descriptor gives the error instead. */
void shim_sync_fail(int fd, int error);

/* Calls of fsync and fdatasync. */
unsigned shim_syncs(void);

/* Calls of recvmsg. */
unsigned shim_message_receives(void);

/* The thread of the last recvmsg or sendmsg, as gettid(2). */
int shim_message_thread(void);

/* sendmsg calls that would have raised SIGPIPE. */
unsigned shim_sends_with_signal(void);

/* The wall clock, as the process reads it, is this many seconds off. */
void shim_wall_clock_step(int64_t seconds);

/* Calls of malloc and its like by all threads; 0 for ever under a sanitizer. */
uint64_t shim_allocations(void);
/* The bytes they asked for, whatever has been freed since. */
uint64_t shim_allocated_bytes(void);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHIM_COUNTS_ALLOCATIONS 0
#else
#define SHIM_COUNTS_ALLOCATIONS 1
#endif

#endif /* CONFORMANCE_SHIM_H */
