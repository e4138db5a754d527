/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_STREAM_DEFAULTS_H
#define RINGMAIL_STREAM_DEFAULTS_H

/* stream_defaults.h - what does a runtime give its streams, without being asked?
 * The `streams` of its options (runtime.h). */

#include <ringmail/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of an option that a program may leave to the library or to the system. */
enum rgm_setting {
    RGM_SETTING_USUAL = 0, /* what the declaration says */
    RGM_SETTING_ON,
    RGM_SETTING_OFF,
    RGM_SETTING_UNSET /* untouched: as the system makes it */
};

#define RGM_DIAL_TIMEOUT_NS (10 * RGM_NS_PER_S)
#define RGM_TRANSFER_TIMEOUT_NS (60 * RGM_NS_PER_S)

/*
 * For TCP streams, accepted and connected ones alike; the first and the last for
 * Unix streams, too. Zero in a field means its default, and each can be set off. A
 * connection that is imported stays as it is.
 */
struct rgm_stream_defaults {
    uint8_t zero_linger; /* enum rgm_setting; usual: unset. On: a close resets,
                            and drops what has not gone out. SO_LINGER, socket(7) */
    uint8_t no_delay;    /* usual: on. TCP_NODELAY, tcp(7) */
    /* How long a peer may take in nothing of what is written to it before the
     * system gives the connection up: then what is out for it is answered
     * -ETIMEDOUT; a write of which a part went out may be told -EPIPE, when a ring
     * has used the system's first word up with that part. A slow peer that
     * goes on is no such peer, and neither is one
     * that has nothing to say: reads have deadlines for that (deadline.h). To the
     * next ms, up to 2^31 - 1 of them. Default 60 s; RGM_NEVER: unset.
     * TCP_USER_TIMEOUT, tcp(7) */
    uint64_t transfer_timeout_ns;
    /* A connect that has no deadline of its own gets this one, and is answered
     * -ETIMEDOUT then. Default 10 s; RGM_NEVER: none. */
    uint64_t dial_timeout_ns;
};

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_STREAM_DEFAULTS_H */
