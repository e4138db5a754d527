#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_test.py - do the programs of bench/ still run and print what is read?

    bench_test.py DIRECTORY

DIRECTORY is where the programs are. Nothing is measured: the programs of the list
run once, for as little as it takes, and must print their series. What passed is
noted where the contract's items are counted (RGM_RESULTS). Exits 0, or 1 on a
failure.
"""

import os
import re
import subprocess
import sys

GUARD_S = 100  # against hanging; nothing is measured by it
BIN = sys.argv[1]

HOLDS = ["copy_serial.ns_per_kib", "copy_joined.ns_per_kib",
         "copy_submitted.ns_per_kib", "copy_vectors.ns_per_kib",
         "stream_borrowed.ns", "stream_memory.ns", "stream_pooled.ns",
         "stream_view.ns", "datagram_memory.ns", "datagram_pooled.ns",
         "datagram_view.ns"]
WRITES = [f"{mode}.{what}" for mode in
          ("ready_request", "ready_writer", "ready_borrowed",
           "stalled_request", "stalled_writer", "pipelined_writer")
          for what in ("ns", "syscalls", "allocations", "wakes")]
ZERO_COPY = [f"{how}_{size}.{part}"
             for how, parts in (("plain", ("ns", "cpu_ns")),
                                ("zero_copy", ("ns", "cpu_ns", "copied")))
             for size in ("4k", "64k") for part in parts]


# Suite, test, program, and the series it must print. A suite that begins with a
# provider's name says where the test ran.
CASES = [
    ("bench", "ben_01_fresh_sleeps_reusable_timers_and_their_wrapper",
     ["bench_w7", "200"], ["sleep.ns", "timer.ns", "later.ns"]),
    ("ring_bench", "ben_02_reused_and_fresh_handles",
     ["bench_w8", "handles", "1", "64"],
     ["fresh_handles.ns", "fresh_handles.limit_ns", "fresh_handles.ratio"]),
    ("epoll_bench", "ben_02_reused_and_fresh_handles",
     ["bench_w8", "handles-epoll", "1", "64"],
     ["fresh_handles_epoll.ns", "fresh_handles_epoll.limit_ns",
      "fresh_handles_epoll.ratio"]),
    ("threads_bench", "ben_02_reused_and_fresh_handles",
     ["bench_w8", "handles-threads", "1", "64"],
     ["fresh_handles_threads.ns", "fresh_handles_threads.limit_ns",
      "fresh_handles_threads.ratio"]),
    ("ring_bench", "ben_03_copies_and_receives_by_how_bytes_are_held",
     ["bench_buffers", "2", "ring"], ["ring_" + one for one in HOLDS]),
    ("epoll_bench", "ben_03_copies_and_receives_by_how_bytes_are_held",
     ["bench_buffers", "2", "epoll"], ["epoll_" + one for one in HOLDS]),
    ("threads_bench", "ben_03_copies_and_receives_by_how_bytes_are_held",
     ["bench_buffers", "2", "threads"], ["threads_" + one for one in HOLDS]),
    ("ring_bench", "ben_04_ready_stalled_and_pipelined_writes",
     ["bench_writes", "20", "ring"], ["ring_" + one for one in WRITES]),
    ("epoll_bench", "ben_04_ready_stalled_and_pipelined_writes",
     ["bench_writes", "20", "epoll"], ["epoll_" + one for one in WRITES]),
    ("threads_bench", "ben_04_ready_stalled_and_pipelined_writes",
     ["bench_writes", "20", "threads"], ["threads_" + one for one in WRITES]),
    ("ring_bench", "zcp_05_copies_made_after_all_are_told_beside_time_and_cpu",
     ["bench_zero_copy", "40"], ZERO_COPY),
    ("ring_bench", "receivers_and_reads_into_a_pool",
     ["bench_receive", "40"],
     [f"{how}_{size}.{part}" for size in ("512", "16k")
      for how in ("pooled", "receiver")
      for part in ("ns", "cpu_ns", "entries")]),
    ("bench", "ben_06_operation_cost_and_queueing_delay",
     ["bench_loop", "10", "50"],
     ["cost.p50_ns", "cost.p99_ns", "cost.max_ns", "delay.p50_ns",
      "delay.p99_ns", "delay.max_ns"]),
    ("bench", "reads_of_files", ["bench_w8", "cache", "1", "64"],
     ["cache.ns", "cache.ratio"]),
    ("bench", "jobs_there_and_back", ["bench_w8", "job", "1", "16"],
     ["job.ratio"]),
    ("bench", "costs_of_operations", ["bench_costs", "16"],
     ["threads.file_read", "threads.most"]),
]


def note(suite, name):
    results = os.environ.get("RGM_RESULTS")
    if results:
        with open(os.path.join(results, "bench_test.tap"), "a",
                  encoding="utf-8") as file:
            file.write(f"ok - {suite}::{name}\n")


def main():
    results = os.environ.get("RGM_RESULTS")
    if results and os.path.exists(os.path.join(results, "bench_test.tap")):
        os.remove(os.path.join(results, "bench_test.tap"))
    for suite, name, words, series in CASES:
        path = os.path.join(BIN, words[0])
        if not os.path.exists(path):
            print("skipped:", suite, name, "no", words[0])
            continue
        done = subprocess.run([path, *words[1:]], capture_output=True,
                              text=True, timeout=GUARD_S)
        if done.returncode and "io_uring" in done.stderr:
            print("skipped:", suite, name, done.stderr.strip())
            continue
        seen = re.findall(r"^RESULT (\S+) \S+ \S+$", done.stdout, re.M)
        missing = [one for one in series if one not in seen]
        if done.returncode or missing:
            print("not ok:", suite, name, missing, done)
            return 1
        print("ok", suite, name, flush=True)
        note(suite, name)
    return 0


sys.exit(main())
