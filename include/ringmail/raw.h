/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_RAW_H
#define RINGMAIL_RAW_H

/*
 * raw.h - the descriptor behind a handle, lent to another backend.
 *
 *     handle --borrow--> struct rgm_raw --> whatever takes a descriptor
 *       ^                    |
 *       '----- give back ----'
 *
 * A way out, for what ringmail does not do: a library with a loop of its own, a
 * system call that nothing here makes, a provider that reads in its own way. The
 * handle stays open and usable; as long as it is lent it is neither closed nor
 * detached (-EBUSY), so the number stays that of this file or socket.
 *
 * Whoever borrows takes on that
 *
 *   retention     it is given back, once, before the runtime ends, and nobody uses
 *                 it after that: neither a thread, nor a ring or a call that is
 *                 still out. Memory it is used with is the borrower's to keep. An
 *                 actor that moves, or a worker that retires, does not take a lent
 *                 handle along: where that can be, hold a worker lease
 *                 (worker_lease.h) beside it.
 *   flags         the descriptor's flags stay as they are: close-on-exec, and the
 *                 mode of the open file, non-blocking or not (fcntl(2)). Calls that
 *                 must not wait say so themselves (MSG_DONTWAIT, RWF_NOWAIT).
 *   registrations whatever it is registered with (an epoll set, a table of files,
 *                 another ring, a lock) is undone before it is given back: such a
 *                 reference outlives the close, and the number's next owner would
 *                 meet it. Likewise every duplicate is closed.
 *   closing       close(2) and shutdown(2) are the handle's. The borrower asks the
 *                 handle's worker for them.
 *   order         bytes, the cursor and pending errors are shared: what one side
 *                 reads the other does not get, and two writes mix as they come.
 *
 * Thread: owner, on the handle's worker; what was lent may be used on any thread.
 */

#include <ringmail/file.h>
#include <ringmail/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loan. Zero: none. */
struct rgm_raw {
    struct rgm_socket *handle;
    int descriptor;
};

/*
 * Borrow the descriptor of an open handle. `handle` is the struct rgm_socket in
 * it: &stream.socket, &listener.socket, &packet.socket, &file.handle. It may be
 * lent several times at once.
 *
 * Owns:    the handle may not move in memory, and is neither closed nor detached,
 *          before rgm_raw_give_back.
 * Returns: 0, and *ret_raw is the loan
 *          -EBADF    the handle is not open, or being closed
 *          -EXDEV    it is of another worker
 *          -EINVAL   it is of another runtime; or the caller is a guest
 *          -ENOTSUP  the provider has no descriptors
 *          *ret_raw is untouched on failure.
 * Cost:    no system call, no allocation.
 */
#define rgm_raw_borrow(self, handle, ret_raw)                                 \
    rgm_raw_borrow_from(&(self)->actor, (handle), (ret_raw))
RGM_API RGM_MUST_USE int rgm_raw_borrow_from(struct rgm_actor *self,
                                             struct rgm_socket *handle,
                                             struct rgm_raw *ret_raw);

/* Give a loan back; *raw is emptied, and an empty one is none. */
#define rgm_raw_give_back(self, raw)                                          \
    rgm_raw_give_back_to(&(self)->actor, (raw))
RGM_API void rgm_raw_give_back_to(struct rgm_actor *self, struct rgm_raw *raw);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_RAW_H */
