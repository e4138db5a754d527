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

# Test, program, and the series it must print.
CASES = [
    ("reused_and_fresh_handles", ["bench_w8", "handles", "1", "64"],
     ["fresh_handles.ns", "fresh_handles.limit_ns", "fresh_handles.ratio"]),
    ("ben_06_operation_cost_and_queueing_delay", ["bench_loop", "10", "50"],
     ["cost.p50_ns", "cost.p99_ns", "cost.max_ns", "delay.p50_ns",
      "delay.p99_ns", "delay.max_ns"]),
    ("reads_of_files", ["bench_w8", "cache", "1", "64"],
     ["cache.ns", "cache.ratio"]),
    ("jobs_there_and_back", ["bench_w8", "job", "1", "16"], ["job.ratio"]),
    ("costs_of_operations", ["bench_costs", "16"],
     ["threads.file_read", "threads.most"]),
]


def note(name):
    results = os.environ.get("RGM_RESULTS")
    if results:
        with open(os.path.join(results, "bench_test.tap"), "a",
                  encoding="utf-8") as file:
            file.write(f"ok - bench::{name}\n")


def main():
    results = os.environ.get("RGM_RESULTS")
    if results and os.path.exists(os.path.join(results, "bench_test.tap")):
        os.remove(os.path.join(results, "bench_test.tap"))
    for name, words, series in CASES:
        path = os.path.join(BIN, words[0])
        if not os.path.exists(path):
            print("skipped:", name, "no", words[0])
            continue
        done = subprocess.run([path, *words[1:]], capture_output=True,
                              text=True, timeout=GUARD_S)
        if done.returncode and "io_uring" in done.stderr:
            print("skipped:", name, done.stderr.strip())
            continue
        seen = re.findall(r"^RESULT (\S+) \S+ \S+$", done.stdout, re.M)
        missing = [one for one in series if one not in seen]
        if done.returncode or missing:
            print("not ok:", name, missing, done)
            return 1
        print("ok", name, flush=True)
        note(name)
    return 0


sys.exit(main())
