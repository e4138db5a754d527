# SPDX-License-Identifier: MIT
"""workloads.py - what is measured, against what, and which ratio is good enough?

Data only: run.py carries it out, report.py judges it. A program prints lines
`RESULT part.series value unit`; a sample is filed under "<workload> <part>" and
the series' name, one value per round.
"""

from collections import namedtuple

# A command of one round: words beginning with @ are programs of ours in bin/.
# `file` replaces the part's name, so that two runs of one program stay apart.
Step = namedtuple("Step", "workload name words file", defaults=(None,))

# A server and the loads it takes part in. {port} is filled in.
Server = namedtuple("Server", "name words loads")

# Arguments for bench_load. `kept`: keys were set by an earlier load.
Load = namedtuple("Load", "workload name words kept", defaults=(False,))

# A figure to be judged: `over` divided by the mean of `under`, each a pair of
# part and series, within one round. `better` is "<=" or ">=". `floor` is what
# is asked now, `full` what is asked in the end; None: not asked.
Ratio = namedtuple("Ratio", "id workload text over under better floor full unit",
                   defaults=("x",))

W1_SLICES = "100"

STEPS = [
    Step("W1", "same worker", ["@bench_w1", "local", "1", W1_SLICES, "10000"]),
    Step("W1", "two busy workers", ["@bench_w1", "busy", "1", W1_SLICES, "2000"]),
    Step("W1", "parked", ["@bench_w1", "parked", "1", "10", "200"]),
    Step("ASK", "same worker, 16 out",
         ["@bench_w1", "local", "16", W1_SLICES, "10000"]),
    Step("ASK", "same worker, 256 out",
         ["@bench_w1", "local", "256", W1_SLICES, "10000"]),
    Step("ASK", "two workers, 16 out",
         ["@bench_w1", "busy", "16", W1_SLICES, "4000"]),
    Step("ASK", "two workers, 256 out",
         ["@bench_w1", "busy", "256", W1_SLICES, "10000"]),
    Step("SCOPE", "same worker",
         ["@bench_scoped", "local", "1", W1_SLICES, "10000"]),
    Step("SCOPE", "two workers, 16 out",
         ["@bench_scoped", "busy", "16", W1_SLICES, "4000"]),
    Step("W2", "one way", ["@bench_w2", "one-way", "200", "30000"]),
    Step("W2", "both ways", ["@bench_w2", "both-ways", "200", "30000"]),
    Step("W3", "limit before", ["@bench_limits", "actors", "1000000"], "before"),
    Step("W3", "a million actors", ["@bench_w3", "1000000"], "ours"),
    Step("W3", "limit after", ["@bench_limits", "actors", "1000000"], "after"),
    Step("W7", "the timer queue", ["@bench_timers", "5", "1000000"]),
    Step("W7", "limit before", ["@bench_limits", "wheel", "200000"], "before"),
    Step("W7", "sleeps, asked and cancelled", ["@bench_w7", "200000"]),
    Step("W7", "limit after", ["@bench_limits", "wheel", "200000"], "after"),
    Step("W8", "4 KiB reads, page cache", ["@bench_w8", "cache", "20", "10000"]),
    Step("W8", "4 KiB reads, O_DIRECT", ["@bench_w8", "direct", "5", "1000"]),
    Step("W8", "a handle for each read", ["@bench_w8", "handles", "10", "2000"]),
    Step("W8", "a handle for each read, threads",
         ["@bench_w8", "handles-threads", "4", "500"]),
    Step("W8", "a job there and back", ["@bench_w8", "job", "10", "1000"]),
    Step("LOOP", "an ask among runnable actors", ["@bench_loop", "50", "2000"]),
    Step("COSTS", "allocations of each operation", ["@bench_costs", "1000"]),
    Step("W9", "datagrams", ["@bench_w9", "datagrams", "60", "100"]),
    Step("W9", "bulk", ["@bench_w9", "stream", "60", "20"]),
    Step("HOLD", "copies and receives", ["@bench_buffers", "200"]),
    Step("OUT", "output, its calls and wakes", ["@bench_writes", "2000"]),
    Step("ZERO", "sends without a copy, loopback", ["@bench_zero_copy", "4000"]),
    Step("RECV", "receivers and pooled reads", ["@bench_receive", "20000"]),
    Step("LEASE", "buffers, here and across", ["@bench_leases", "200000"]),
    Step("MOVE", "kv, keys that move to other workers",
         ["@bench_reshard", "20000", "@ringmail-kv", "--port", "0",
          "--workers", "4"]),
]

LOADS = [
    Load("W4", "c50", ["-m", "echo", "-c", "50", "-s", "64"]),
    Load("W4", "c50d16", ["-m", "echo", "-c", "50", "-s", "64", "-d", "16"]),
    Load("W5", "set", ["-m", "set", "-c", "50", "-s", "3"]),
    Load("W5", "set16", ["-m", "set", "-c", "50", "-s", "3", "-d", "16"]),
    Load("W5", "get", ["-m", "get", "-c", "50", "-s", "3"]),
    Load("W5", "get16", ["-m", "get", "-c", "50", "-s", "3", "-d", "16"], True),
    Load("W6", "http", ["-m", "http", "-c", "64"]),
    Load("W6", "http16", ["-m", "http", "-c", "64", "-d", "16"]),
]
LOAD_MS = 300

ECHO = ("c50", "c50d16")
HTTP = ("http", "http16")
KV = ("set", "set16", "get", "get16")

# What nginx says to the request of bench_load, which has 35 bytes.
HELLO = (r"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n"
         r"Date: Sun, 29 Nov 2026 14:24:16 GMT\r\nContent-Type: text/plain\r\n"
         r"Content-Length: 6\r\nConnection: keep-alive\r\n\r\nhello\n")

SERVERS = [
    Server("limit", ["@bench_server_limit", "{port}"], ECHO),
    Server("libuv", ["@bench_server_libuv", "{port}"], ECHO),
    Server("ours", ["@echo_server", "{port}", "1"], ECHO),
    # The requests of bench_load with 3-byte values have 45 and 36 bytes.
    Server("limit", ["@bench_server_limit", "{port}", "45", r"+OK\r\n"],
           ("set", "set16")),
    Server("limit", ["@bench_server_limit", "{port}", "36", r"$3\r\nxxx\r\n"],
           ("get", "get16")),
    Server("redis", ["redis-server", "--port", "{port}", "--bind", "127.0.0.1",
                     "--save", "", "--appendonly", "no"], KV),
    Server("ours", ["@ringmail-kv", "--port", "{port}", "--bind", "127.0.0.1",
                    "--workers", "1"], KV),
    Server("limit", ["@bench_server_limit", "{port}", "35", HELLO], HTTP),
    Server("nginx", ["@bench_server_nginx", "{port}"], HTTP),
    Server("ours", ["@static_http", "--port", "{port}", "--workers", "1",
                    "@bench_www"], HTTP),
]

# A round of a load with 50 connections in which some server was less busy than
# this was disturbed from outside (it and the load shared a processor): the
# round is dropped for that load, for all servers, and counted.
BUSY_MIN = 60.0


def within(part):
    """The ratio of a program that plays the limit itself, in slices."""
    return [(part, "ratio")], []


def served(load, series, other):
    workload = next(l.workload for l in LOADS if l.name == load)
    part = f"{workload} {load}/"
    return [(part + "ours", series)], [(part + other, series)]


def around(workload, series):
    """Ours between two runs of the limit."""
    return ([(f"{workload} ours", series)],
            [(f"{workload} before", series), (f"{workload} after", series)])


RATIOS = [
    Ratio("w1-local", "W1", "same worker / bare run queue",
          *within("W1 local_1"), "<=", 4, 3),
    Ratio("w1-busy", "W1", "two busy workers / cache line",
          *within("W1 busy_1"), "<=", 2.5, 2),
    Ratio("w1-parked", "W1", "parked workers / futex",
          *within("W1 parked_1"), "<=", None, 1.1),
    Ratio("ask-local-16", "ASK", "same worker, 16 out / bare run queue",
          *within("ASK local_16"), "<=", None, None),
    Ratio("ask-local-256", "ASK", "same worker, 256 out / bare run queue",
          *within("ASK local_256"), "<=", None, None),
    Ratio("ask-busy-16", "ASK", "two workers, 16 out / cache line",
          *within("ASK busy_16"), "<=", None, None),
    Ratio("ask-busy-256", "ASK", "two workers, 256 out / cache line",
          *within("ASK busy_256"), "<=", None, None),
    Ratio("scope-local", "SCOPE",
          "in a scope, with a deadline, same worker / plain + 1.7 wheels",
          *within("SCOPE local_1"), "<=", 1, 1),
    Ratio("scope-busy", "SCOPE",
          "in a scope, with a deadline, two workers, 16 out / plain",
          *within("SCOPE busy_16"), "<=", 1.3, 1.3),
    Ratio("w2-one-way", "W2", "one way, speed / batched ring",
          *within("W2 one-way"), ">=", 0.25, 0.33),
    Ratio("w2-both-ways", "W2", "both ways, speed / batched ring",
          *within("W2 both-ways"), ">=", None, 0.25),
    Ratio("w3-time", "W3", "a million actors, time / bare",
          *around("W3", "ns"), "<=", 3.5, 3.5),
    Ratio("w3-bytes", "W3", "a million actors, bytes each",
          [("W3 ours", "bytes")], [], "<=", 200, 200, "B"),
    Ratio("w7-cancel", "W7", "timer insert + cancel / bare wheel",
          *within("W7 insert_cancel"), "<=", 2, 2),
    Ratio("w7-fire", "W7", "timer fire / bare wheel",
          *within("W7 fire"), "<=", None, 2),
    Ratio("w7-sleep", "W7", "sleep asked + cancelled / bare wheel",
          [("W7 sleep", "ns")],
          [("W7 before", "insert_cancel_ns"), ("W7 after", "insert_cancel_ns")],
          "<=", None, None),
    Ratio("w7-timer", "W7", "reusable timer asked + cancelled / fresh sleep",
          [("W7 timer", "ns")], [("W7 sleep", "ns")], "<=", None, None),
    Ratio("w7-later", "W7", "send later + cancelled / fresh sleep",
          [("W7 later", "ns")], [("W7 sleep", "ns")], "<=", None, None),
    Ratio("w8-cache", "W8", "page-cache reads, speed / bare ring",
          *within("W8 cache"), ">=", None, 0.9),
    Ratio("w8-direct", "W8", "O_DIRECT reads, speed / bare ring",
          *within("W8 direct"), ">=", None, 0.9),
    Ratio("w8-handles", "W8", "a handle for each read / one handle",
          *within("W8 fresh_handles"), "<=", None, None),
    Ratio("w8-handles-threads", "W8", "the same on threads",
          *within("W8 fresh_handles_threads"), "<=", None, None),
    Ratio("w8-job", "W8", "a job there and back / bare thread",
          *within("W8 job"), "<=", None, None),
    Ratio("loop-delay", "LOOP", "99th delay among 50 runnable / a round of all",
          [("LOOP delay", "p99_ns")], [("LOOP delay", "round_ns")],
          "<=", None, None),
    Ratio("costs-ring", "COSTS", "allocations of the costliest, ring",
          [("COSTS ring", "most")], [], "<=", 0, 0, ""),
    Ratio("costs-threads", "COSTS", "allocations of the costliest, threads",
          [("COSTS threads", "most")], [], "<=", 0, 0, ""),
    Ratio("hold-joined", "HOLD", "copy joined / one by one",
          [("HOLD ring_copy_joined", "ns_per_kib")],
          [("HOLD ring_copy_serial", "ns_per_kib")], "<=", None, None),
    Ratio("hold-submitted", "HOLD", "copy submitted, collected later / joined",
          [("HOLD ring_copy_submitted", "ns_per_kib")],
          [("HOLD ring_copy_joined", "ns_per_kib")], "<=", None, None),
    Ratio("hold-pooled", "HOLD", "pooled receive / into own memory",
          [("HOLD ring_stream_pooled", "ns")],
          [("HOLD ring_stream_memory", "ns")], "<=", None, None),
    Ratio("hold-borrowed", "HOLD", "borrowed receive / into own memory",
          [("HOLD ring_stream_borrowed", "ns")],
          [("HOLD ring_stream_memory", "ns")], "<=", None, None),
    Ratio("out-ready", "OUT", "system calls of a write that is ready",
          [("OUT ring_ready_request", "syscalls")], [], "<=", None, None, ""),
    Ratio("out-stalled", "OUT", "system calls of a write that waits",
          [("OUT ring_stalled_request", "syscalls")], [], "<=", None, None, ""),
    Ratio("out-pipelined", "OUT", "wakes of a piece, 16 handed over",
          [("OUT ring_pipelined_writer", "wakes")], [], "<=", None, None, ""),
    Ratio("lease-ask", "LEASE", "a buffer asked for / taken at once",
          [("LEASE lease", "ask_ns")], [("LEASE lease", "try_ns")],
          "<=", None, None),
    Ratio("w4-cpu", "W4", "echo, CPU per request / limit",
          *served("c50", "cpu", "limit"), "<=", 1.15, 1.10),
    Ratio("w4-libuv", "W4", "echo, CPU per request / libuv",
          *served("c50", "cpu", "libuv"), "<=", 1.0, 1.0),
    Ratio("w4-deep-cpu", "W4", "echo, 16 in flight, CPU / limit",
          *served("c50d16", "cpu", "limit"), "<=", None, None),
    Ratio("w5-set16", "W5", "SET -P 16, requests/s / redis",
          *served("set16", "rps", "redis"), ">=", 1.3, 2),
    Ratio("w5-get16", "W5", "GET -P 16, requests/s / redis",
          *served("get16", "rps", "redis"), ">=", 1.3, 2),
    Ratio("w5-set16-limit", "W5", "SET -P 16, CPU / limit",
          *served("set16", "cpu", "limit"), "<=", None, 2),
    Ratio("w5-get16-limit", "W5", "GET -P 16, CPU / limit",
          *served("get16", "cpu", "limit"), "<=", None, 2),
    Ratio("w5-set-limit", "W5", "SET -P 1, CPU / limit",
          *served("set", "cpu", "limit"), "<=", None, 1.2),
    Ratio("w5-get-limit", "W5", "GET -P 1, CPU / limit",
          *served("get", "cpu", "limit"), "<=", None, 1.2),
    Ratio("w5-set-redis", "W5", "SET -P 1, CPU / redis",
          *served("set", "cpu", "redis"), "<=", None, 0.9),
    Ratio("w5-get-redis", "W5", "GET -P 1, CPU / redis",
          *served("get", "cpu", "redis"), "<=", None, 0.9),
    Ratio("w6-limit", "W6", "HTTP, CPU per request / limit",
          *served("http", "cpu", "limit"), "<=", 1.15, 1.15),
    Ratio("w6-nginx", "W6", "HTTP, CPU per request / nginx",
          *served("http", "cpu", "nginx"), "<=", 0.92, 0.92),
    Ratio("w6-deep-limit", "W6", "HTTP, 16 pipelined, CPU / limit",
          *served("http16", "cpu", "limit"), "<=", None, 1.5),
    Ratio("w6-deep-nginx", "W6", "HTTP, 16 pipelined, requests/s / nginx",
          *served("http16", "rps", "nginx"), ">=", 8, 8),
    Ratio("w9-mmsg", "W9", "datagrams, speed / sendmmsg + recvmmsg",
          *within("W9 datagrams_mmsg"), ">=", None, None),
    Ratio("w9-ring", "W9", "datagrams, speed / bare ring",
          *within("W9 datagrams_ring"), ">=", None, None),
    Ratio("w9-bulk", "W9", "TCP, 256 KiB at a time, speed / bare ring",
          *within("W9 stream_ring"), ">=", None, 0.9),
    Ratio("move-reply", "MOVE", "longest reply while keys move / before",
          [("MOVE reshard", "reply_moving")],
          [("MOVE reshard", "reply_before")], "<=", None, None),
    Ratio("move-hold", "MOVE", "longest hold of requests for a key",
          [("MOVE reshard", "hold")], [], "<=", None, None, "ms"),
]
