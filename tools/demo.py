#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""demo.py - does ringmail-kv serve the ordinary Redis tools, and add up?

Starts the server on a free port with all cores, drives it with redis-benchmark,
compares the counters with the number of INCRs and the length of every value,
ends it with SIGTERM, and prints a table. --requests and --program change the
usual million and the program (redis-server fits too).
"""

import argparse
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

KEYS = 100000
RESULT = re.compile(r"^(\w+)[^:]*: ([\d.]+) requests per second, p50=([\d.]+)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program):
        self.port = free_port()
        self.process = subprocess.Popen(
            [*shlex.split(program), "--port", str(self.port),
             "--bind", "127.0.0.1"])

    def cli(self, *words):
        """What redis-cli answers, as lines."""
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), "--raw", *words],
            capture_output=True, text=True)
        return done.stdout.split("\n")[:-1]

    def wait_ready(self):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                sys.exit(f"demo: the server ended with status "
                         f"{self.process.returncode} before it was ready")
            try:
                # Connecting is the event; a refused one is tried again.
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                time.sleep(0.02)
        if self.cli("PING") != ["PONG"]:
            sys.exit("demo: no PONG")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def show(text, shown):
    """Print what follows the first `shown` bytes; returns how many are shown.

    On a terminal a line is written over until it is right; elsewhere only what
    stands in the end is printed.
    """
    end = len(text)
    if sys.stdout.isatty():
        sys.stdout.buffer.write(text[shown:])
    else:
        end = text.rfind(b"\n") + 1
        for line in text[shown:end].splitlines(keepends=True):
            if not line.endswith(b"\r"):
                sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    return max(end, shown)


def benchmark(server, depth, requests):
    """redis-benchmark with its progress on the screen; {test: (rps, p50)}."""
    command = ["redis-benchmark", "-p", str(server.port), "-q", "-c", "50",
               "-t", "set,get,incr,mset", "-n", str(requests), "-r", str(KEYS),
               "-P", str(depth)]
    print("\n$", " ".join(command), flush=True)
    text, shown = b"", 0
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as run:
        while True:
            piece = run.stdout.read1(4096)
            if not piece:
                break
            text += piece
            shown = show(text, shown)
    lines = text.decode(errors="replace").replace("\r", "\n").split("\n")
    wrong = [line for line in lines if re.search(r"\b(ERR|[Ee]rror)\b", line)]
    if run.returncode or wrong:
        sys.exit(f"demo: redis-benchmark failed: {wrong[:3]}")
    return {m.group(1): (float(m.group(2)), float(m.group(3)))
            for m in map(RESULT.match, lines) if m}


def values(server, prefix):
    """The values of all keys redis-benchmark can have made."""
    for first in range(0, KEYS, 1000):
        keys = [f"{prefix}:{i:012}" for i in range(first, first + 1000)]
        yield from server.cli("MGET", *keys)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/ringmail-kv")
    parser.add_argument("--requests", type=int, default=1000000)
    args = parser.parse_args()
    # Whole pipelines, so that the number of INCRs is exact.
    deep = args.requests // 16 * 16
    shallow = args.requests // 5

    server = Server(args.program)
    try:
        server.wait_ready()
        server.cli("FLUSHALL")
        results = {16: benchmark(server, 16, deep),
                   1: benchmark(server, 1, shallow)}
        total = sum(int(v) for v in values(server, "counter") if v)
        lengths = {len(v) for v in values(server, "key")}
    except BaseException:
        server.process.kill()
        raise
    status = server.stop()

    print(f"\n{'':8}{'-P 16':>14}{'p50 ms':>9}{'-P 1':>14}{'p50 ms':>9}")
    for test in results[16]:
        print(f"{test:8}" + "".join(
            f"{results[p][test][0]:14,.0f}{results[p][test][1]:9.3f}"
            for p in (16, 1)))
    checks = [
        (f"sum of all counters {total:,} of {deep + shallow:,} INCRs",
         total == deep + shallow),
        ("every value has the written length", lengths <= {0, 3}),
        (f"SIGTERM: exit status {status}", status == 0),
    ]
    for text, ok in checks:
        print(("ok      " if ok else "FAILED  ") + text)
    return 0 if all(ok for _, ok in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
