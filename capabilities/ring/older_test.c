/* SPDX-License-Identifier: MIT */

/* older_test.c - what does a ring do where the kernel lacks an opcode that is
 * not required? The bits of what it has are taken away after opening. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ringmail/child.h>
#include <ringmail/file.h>

#include "capabilities/ring/world.h"

#define OPCODE_WAITID 50
#define OPCODE_FTRUNCATE 55

static void
older_open(struct world *world, unsigned opcode)
{
    world_open(world);
    world->parts->ring.opcodes &= ~(UINT64_C(1) << opcode);
}

static pid_t
child_start(int code)
{
    pid_t child = fork();

    rgi_check(child >= 0);
    if (child != 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a case that fails leaves none */
    while (code < 0)
        pause();
    _exit(code);
}

static unsigned
descriptors_open(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static int
wait_for(struct world *world, struct rgm_child_wait *wait,
         enum rgm_child_select select, int32_t id, uint32_t flags)
{
    rgm_child_wait(wait, world_here, select, id, flags);
    return world_do(world, &wait->operation);
}

static void
prw_03_without_the_opcode_a_child_is_watched_or_looked_at(void)
{
    struct world world = {0};
    struct rgm_child_wait wait;
    pid_t child;

    older_open(&world, OPCODE_WAITID);
    child = child_start(9);
    rgi_check(wait_for(&world, &wait, RGM_CHILD_PROCESS, child, 0) == 0);
    rgi_check(wait.process == child && wait.status == 9);
    child = child_start(8);
    rgi_check(wait_for(&world, &wait, RGM_CHILD_ANY, 0, 0) == 0);
    rgi_check(wait.process == child && wait.status == 8);
    child = child_start(-1);
    rgi_check(kill(child, SIGSTOP) == 0);
    rgi_check(wait_for(&world, &wait, RGM_CHILD_PROCESS, child,
                       RGM_CHILD_STOPPED) == 0);
    rgi_check(wait.event == RGM_CHILD_HAS_STOPPED);
    rgi_check(kill(child, SIGKILL) == 0);
    rgi_check(wait_for(&world, &wait, RGM_CHILD_PROCESS, child, 0) == 0);
    rgi_check(wait.event == RGM_CHILD_WAS_KILLED);
    rgi_check(wait_for(&world, &wait, RGM_CHILD_PROCESS, child, 0) == -ECHILD);
    world_close(&world);
}

/* The pidfd of a wait that is cancelled is closed, and the child is not reaped. */
static void
prw_03_a_watched_child_can_be_let_go(void)
{
    struct world world = {0};
    struct rgm_child_wait wait;
    pid_t child = child_start(-1);
    unsigned before;

    older_open(&world, OPCODE_WAITID);
    before = descriptors_open();
    rgm_child_wait(&wait, world_here, RGM_CHILD_PROCESS, child, 0);
    world_start(&world, &wait.operation);
    world_settle(&world);
    world_cancel(&world, &wait.operation);
    rgi_check(world_finish(&world, &wait.operation) == -ECANCELED);
    rgi_check(descriptors_open() == before);
    rgi_check(kill(child, SIGKILL) == 0);
    rgi_check(waitpid(child, NULL, 0) == child);
    world_close(&world);
}

/* With the opcode: what the kernel writes to lies in the record, and stays until
 * the wait's own completion, whenever the cancel's comes. */
static void
prw_03_storage_stays_until_the_waits_own_completion(void)
{
    struct world world = {0};
    struct rgm_child_wait wait;

    world_open(&world);
    for (int i = 0; i < 200; i++) {
        pid_t child = child_start(-1);
        int status;

        rgm_child_wait(&wait, world_here, RGM_CHILD_PROCESS, child, 0);
        world_start(&world, &wait.operation);
        rgi_check(world_turn(&world, 0) == 0);
        rgi_check(kill(child, SIGKILL) == 0);
        world_cancel(&world, &wait.operation);
        status = world_finish(&world, &wait.operation);
        rgi_check(status == 0 || status == -ECANCELED);
        if (status == 0)
            rgi_check(wait.process == child);
        else
            rgi_check(waitpid(child, NULL, 0) == child);
    }
    world_close(&world);
}

/* ---- waitid(2), with what it says of a child held back for a while ---- */

static unsigned held_back; /* looks that find nothing yet */

RGM_API int
waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    if (held_back > 0) {
        held_back--;
        memset(info, 0, sizeof(*info));
        return 0;
    }
    return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}

/* Its descriptor says that it has ended, and waitid finds nothing: that is asked
 * again and again, without blocking, and the descriptor no more. */
static void
prw_04_notice_is_advice_and_the_reap_never_blocks(void)
{
    struct world world = {0};
    struct rgm_child_wait wait;
    unsigned before;
    pid_t child;

    older_open(&world, OPCODE_WAITID);
    child = child_start(-1);
    before = descriptors_open();
    rgm_child_wait(&wait, world_here, RGM_CHILD_PROCESS, child, 0);
    world_start(&world, &wait.operation);
    world_settle(&world);
    rgi_check(descriptors_open() == before + 1); /* it is watched */
    held_back = 3;
    rgi_check(kill(child, SIGKILL) == 0);
    while (held_back == 3)
        rgi_check(world_turn(&world, 0) == 0);
    rgi_check(descriptors_open() == before); /* it has nothing new to say */
    rgi_check(world_finish(&world, &wait.operation) == 0);
    rgi_check(wait.process == child && wait.event == RGM_CHILD_WAS_KILLED);
    rgi_check(held_back == 0 && descriptors_open() == before);
    world_close(&world);
}

/* The road by kind of selection, seen by the descriptors that are open. */
static void
prw_04_only_a_single_childs_end_is_watched(void)
{
    static const struct {
        enum rgm_child_select select;
        uint32_t flags;
        unsigned descriptors;
    } roads[] = {{RGM_CHILD_PROCESS, 0, 1},
                 {RGM_CHILD_PROCESS, RGM_CHILD_STOPPED, 0},
                 {RGM_CHILD_PROCESS, RGM_CHILD_CONTINUED, 0},
                 {RGM_CHILD_GROUP, 0, 0},
                 {RGM_CHILD_ANY, 0, 0}};
    struct world world = {0};
    pid_t child = child_start(-1);

    rgi_check(setpgid(child, child) == 0);
    older_open(&world, OPCODE_WAITID);
    for (size_t i = 0; i < sizeof(roads) / sizeof(roads[0]); i++) {
        struct rgm_child_wait wait;
        unsigned before = descriptors_open();

        rgm_child_wait(&wait, world_here, roads[i].select, child,
                       roads[i].flags);
        world_start(&world, &wait.operation);
        world_settle(&world);
        rgi_check(descriptors_open() == before + roads[i].descriptors);
        world_cancel(&world, &wait.operation);
        rgi_check(world_finish(&world, &wait.operation) == -ECANCELED);
        rgi_check(descriptors_open() == before);
    }
    rgi_check(kill(child, SIGKILL) == 0);
    rgi_check(waitpid(child, NULL, 0) == child);
    world_close(&world);
}

static void
truncating_is_a_plain_call_where_there_is_no_entry(void)
{
    char path[] = "/tmp/ringmail-older-XXXXXX";
    struct world world = {0};
    struct rgm_file file = {0};
    struct rgm_file_truncate truncate;
    struct rgm_file_open open;
    struct rgm_close close_it;
    int fd = mkstemp(path);

    rgi_check(fd >= 0 && unlink(path) == 0);
    older_open(&world, OPCODE_FTRUNCATE);
    rgm_file_import(&open, world_here, &file, fd);
    rgi_check(world_do(&world, &open.operation) == 0);
    rgm_file_truncate(&truncate, &file, 1000);
    rgi_check(world_do(&world, &truncate.operation) == 0);
    rgi_check(lseek(fd, 0, SEEK_END) == 1000);
    rgm_file_close(&close_it, &file);
    rgi_check(world_do(&world, &close_it.operation) == 0);
    world_close(&world);
}

#define CASES(X)                                                              \
    X(older, prw_03_without_the_opcode_a_child_is_watched_or_looked_at)       \
    X(older, prw_03_a_watched_child_can_be_let_go)                            \
    X(older, prw_04_notice_is_advice_and_the_reap_never_blocks)               \
    X(older, prw_04_only_a_single_childs_end_is_watched)                      \
    X(older, prw_03_storage_stays_until_the_waits_own_completion)             \
    X(older, truncating_is_a_plain_call_where_there_is_no_entry)

RGI_CASES(CASES)
