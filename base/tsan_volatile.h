/* SPDX-License-Identifier: MIT */
#ifndef BASE_TSAN_VOLATILE_H
#define BASE_TSAN_VOLATILE_H

/*
 * tsan_volatile.h - what does ThreadSanitizer make of a volatile access?
 *
 * Nothing. The preset tsan includes this before every file and has the compiler
 * tell volatile accesses from others (tsan-distinguish-volatile, gcc(1)), which
 * calls these. Concurrency Kit's loads and stores are volatile when it is built
 * on compiler builtins; taken for plain ones they were reported as races with
 * its atomic writes. A suppression by name (tools/tsan.supp) is no help once the
 * stack of such a load is forgotten. All other data is watched as before.
 */

#define RGI_TSAN_VOLATILE(name)                                                \
    void __tsan_volatile_##name(void *address);                                \
    __attribute__((weak, no_sanitize("thread"))) void __tsan_volatile_##name(  \
        void *address)                                                         \
    {                                                                          \
        (void)address;                                                         \
    }

RGI_TSAN_VOLATILE(read1)
RGI_TSAN_VOLATILE(read2)
RGI_TSAN_VOLATILE(read4)
RGI_TSAN_VOLATILE(read8)
RGI_TSAN_VOLATILE(read16)
RGI_TSAN_VOLATILE(write1)
RGI_TSAN_VOLATILE(write2)
RGI_TSAN_VOLATILE(write4)
RGI_TSAN_VOLATILE(write8)
RGI_TSAN_VOLATILE(write16)

#endif /* BASE_TSAN_VOLATILE_H */
