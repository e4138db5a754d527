/* SPDX-License-Identifier: MIT */
#ifndef RAW_BACKEND_BACKEND_H
#define RAW_BACKEND_BACKEND_H

/*
 * backend.h - a backend that reads and writes what a ring has opened.
 *
 *     open, accept, close, ... ----> the ring, whose handles they are
 *     read, write -----------------> a thread of the backend's, with recvmsg(2),
 *                                    sendmsg(2), preadv(2), pwritev(2) on the
 *                                    descriptor that it has asked for
 *
 * It shows what a provider does with raw access (`descriptor` of
 * rgm_provider_ops), and keeps the duties of ringmail/raw.h: a descriptor is used
 * between the submission and the completion of an operation that holds the handle,
 * is registered nowhere, keeps its flags and is never closed here.
 */

#include <ringmail/provider.h>

extern const struct rgm_provider_class backend_provider;

#endif /* RAW_BACKEND_BACKEND_H */
