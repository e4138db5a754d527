/* SPDX-License-Identifier: MIT */

/* child.c - how does a wait for a child become waitid(2), and its answer? */

#include "capabilities/child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_child_wait = {
    .name = "rgm_child_wait",
    .size_bytes = sizeof(struct rgm_child_wait),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

_Static_assert(sizeof(siginfo_t) <= sizeof(((struct rgm_child_wait *)0)->info),
               "a wait has room for what the kernel says");

static bool
is_valid(const struct rgm_child_wait *wait)
{
    const uint32_t flags = RGM_CHILD_STOPPED | RGM_CHILD_CONTINUED;

    if ((wait->flags & ~flags) != 0)
        return false;
    switch (wait->select) {
    case RGM_CHILD_ANY:
        return true;
    case RGM_CHILD_PROCESS:
        return wait->id > 0;
    case RGM_CHILD_GROUP:
        return wait->id >= 0;
    default:
        return false;
    }
}

void
rgm_child_wait(struct rgm_child_wait *wait, struct rgm_address where,
               enum rgm_child_select select, int32_t id, uint32_t flags)
{
    rgi_operation_prepare(&wait->operation, RGM_OP_CHILD_WAIT,
                          &rgi_type_child_wait, where);
    wait->select = (uint8_t)select;
    wait->id = select == RGM_CHILD_ANY ? 0 : id;
    wait->flags = flags;
    if (!is_valid(wait))
        rgi_operation_refuse(&wait->operation, -EINVAL);
}

idtype_t
rgi_child_idtype(const struct rgm_child_wait *wait)
{
    if (wait->select == RGM_CHILD_PROCESS)
        return P_PID;
    return wait->select == RGM_CHILD_GROUP ? P_PGID : P_ALL;
}

int
rgi_child_options(const struct rgm_child_wait *wait)
{
    return WEXITED | (wait->flags & RGM_CHILD_STOPPED ? WSTOPPED : 0) |
           (wait->flags & RGM_CHILD_CONTINUED ? WCONTINUED : 0);
}

static uint8_t
event_of(int code)
{
    switch (code) {
    case CLD_EXITED:
        return RGM_CHILD_HAS_EXITED;
    case CLD_KILLED:
        return RGM_CHILD_WAS_KILLED;
    case CLD_DUMPED:
        return RGM_CHILD_DUMPED_CORE;
    case CLD_STOPPED:
        return RGM_CHILD_HAS_STOPPED;
    case CLD_CONTINUED:
        return RGM_CHILD_HAS_CONTINUED;
    default:
        return 0;
    }
}

bool
rgi_child_fill(struct rgm_child_wait *wait)
{
    siginfo_t info;

    memcpy(&info, wait->info, sizeof(info));
    if (info.si_pid == 0)
        return false;
    wait->process = info.si_pid;
    wait->event = event_of(info.si_code);
    wait->status = info.si_status;
    wait->user = info.si_uid;
    return true;
}

int
rgi_child_look(struct rgm_child_wait *wait)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    if (waitid(rgi_child_idtype(wait), (id_t)wait->id, &info,
               rgi_child_options(wait) | WNOHANG) < 0)
        return -errno;
    memcpy(wait->info, &info, sizeof(info));
    return rgi_child_fill(wait) ? 0 : -EAGAIN;
}
