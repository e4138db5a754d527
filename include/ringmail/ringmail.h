/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_H
#define RINGMAIL_H

/* ringmail.h - everything: include this, or only what you use. */

#include <ringmail/abandon.h>
#include <ringmail/acquire.h>
#include <ringmail/actor.h>
#include <ringmail/base.h>
#include <ringmail/child.h>
#include <ringmail/clock.h>
#include <ringmail/context.h>
#include <ringmail/counters.h>
#include <ringmail/datagram.h>
#include <ringmail/deadline.h>
#include <ringmail/dedicated.h>
#include <ringmail/drain.h>
#include <ringmail/detach.h>
#include <ringmail/end.h>
#include <ringmail/file.h>
#include <ringmail/file_lane.h>
#include <ringmail/identity.h>
#include <ringmail/import.h>
#include <ringmail/job.h>
#include <ringmail/lease.h>
#include <ringmail/message.h>
#include <ringmail/metrics.h>
#include <ringmail/package.h>
#include <ringmail/packet.h>
#include <ringmail/provider.h>
#include <ringmail/raw.h>
#include <ringmail/reader.h>
#include <ringmail/receiver.h>
#include <ringmail/resize.h>
#include <ringmail/resolve.h>
#include <ringmail/runtime.h>
#include <ringmail/scope.h>
#include <ringmail/send_file.h>
#include <ringmail/shards.h>
#include <ringmail/scripted.h>
#include <ringmail/signal.h>
#include <ringmail/stepper.h>
#include <ringmail/stop.h>
#include <ringmail/stream.h>
#include <ringmail/stream_defaults.h>
#include <ringmail/worker_lease.h>
#include <ringmail/writer.h>
#include <ringmail/supervisor.h>
#include <ringmail/task.h>
#include <ringmail/transfer.h>
#include <ringmail/timer.h>
#include <ringmail/watch.h>

#endif /* RINGMAIL_H */
