#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py - how fast is ringmail, measured beside what the machine allows?

    ./dev bench                        40 rounds of everything
    ./dev bench --quick                5 rounds: a look, no verdict to rely on
    ./dev bench --only W1,W4           some workloads, as in workloads.py
    ./dev bench --out bench/results    where the JSON and the SVG go

A round runs everything once: programs of ours between runs of their limits, or
with the limit inside; then every server, all of them alive but stopped, each
woken for a third of a second in shuffled order, one load after the other. So
what is compared is measured within seconds. Needs two cores: servers and worker
0 use the first, the load and worker 1 the second.
"""

import argparse
import datetime
import json
import os
import platform
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import report
import workloads

STEP_TIMEOUT_S = 120
START_TIMEOUT_S = 10
RESULT = re.compile(r"^RESULT (\S+)\.(\w+) (\S+) (\S+)$", re.M)


class Progress:
    """A bar on the terminal; without one, a line per round."""

    WIDTH = 30

    def __init__(self, rounds, names):
        self.rounds = rounds
        self.names = names
        self.spent = {name: [] for name in names}
        self.done = 0
        self.begin = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def eta(self):
        """Each step left as long as it took so far."""
        known = [sum(t) / len(t) for t in self.spent.values() if t]
        usual = sum(known) / len(known) if known else 0
        left = 0
        for name, times in self.spent.items():
            mean = sum(times) / len(times) if times else usual
            left += mean * (self.rounds - len(times))
        return left

    @staticmethod
    def clock(seconds):
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"

    def show(self, round_number, name):
        share = self.done / (self.rounds * len(self.names))
        left = self.clock(self.eta()) if self.done else "-:--"
        if self.terminal:
            bar = "#" * int(share * self.WIDTH)
            sys.stderr.write(
                f"\r\033[K[{bar:{self.WIDTH}}] {share * 100:3.0f} %  round "
                f"{round_number + 1}/{self.rounds}  {left} left  {name[:40]}")
            sys.stderr.flush()
        elif name == self.names[0]:
            print(f"round {round_number + 1}/{self.rounds}, {share * 100:.0f} %,"
                  f" {left} left", file=sys.stderr, flush=True)

    def finished(self, name, seconds):
        self.spent[name].append(seconds)
        self.done += 1

    def end(self):
        if self.terminal:
            sys.stderr.write("\r\033[K")
        print(f"{self.rounds} rounds in "
              f"{self.clock(time.monotonic() - self.begin)}", file=sys.stderr)


class Run:
    def __init__(self, args):
        self.rounds = args.rounds
        self.bin = args.bin
        self.only = args.only
        self.samples = {}
        self.dropped = {}
        self.failures = {}
        self.skipped = set()
        self.steps = [s for s in workloads.STEPS if self.wanted(s.workload) and
                      self.present(s.words[0], f"{s.workload} {s.name}")]
        self.loads = [l for l in workloads.LOADS if self.wanted(l.workload)]
        names = {l.name for l in self.loads}
        self.servers = [s for s in workloads.SERVERS if names & set(s.loads) and
                        self.present(s.words[0], f"server {s.name}")]
        if not self.present("@bench_load", "servers"):
            self.loads, self.servers = [], []

    def wanted(self, workload):
        return not self.only or workload in self.only

    def command(self, word):
        return os.path.join(self.bin, word[1:]) if word.startswith("@") else word

    def present(self, word, what):
        if shutil.which(self.command(word)):
            return True
        self.skipped.add(f"{what}: no {word.lstrip('@')}")
        return False

    def fail(self, what, why):
        self.failures[f"{what}: {why}"] = \
            self.failures.get(f"{what}: {why}", 0) + 1

    def keep(self, part, series, round_number, value):
        values = self.samples.setdefault(part, {}).setdefault(
            series, [None] * self.rounds)
        values[round_number] = value

    # -- programs -------------------------------------------------------------

    def output(self, what, words):
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=STEP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.fail(what, f"still running after {STEP_TIMEOUT_S} s")
            return ""
        if done.returncode != 0:
            text = done.stderr.strip().splitlines() or ["no message"]
            self.fail(what, f"status {done.returncode}, {text[-1]}")
        return done.stdout

    def collect(self, workload, file, round_number, text):
        for part, series, value, _ in RESULT.findall(text):
            self.keep(f"{workload} {file or part}", series, round_number,
                      float(value))

    def run_step(self, step, round_number):
        words = [self.command(word) for word in step.words]
        text = self.output(f"{step.workload} {step.name}", words)
        self.collect(step.workload, step.file, round_number, text)

    # -- servers --------------------------------------------------------------

    @staticmethod
    def free_port():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    @staticmethod
    def answers(port):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    def start(self, server):
        port = self.free_port()
        words = [self.command(server.words[0])] + \
            [self.command(w.format(port=port)) for w in server.words[1:]]
        errors = tempfile.TemporaryFile()
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=errors, preexec_fn=lambda: os.sched_setaffinity(0, {0}))
        process.errors = errors
        until = time.monotonic() + START_TIMEOUT_S
        while process.poll() is None and time.monotonic() < until:
            if self.answers(port):
                process.send_signal(signal.SIGSTOP)
                return process, port
            time.sleep(0.01)
        self.stop(server, process)
        self.fail(self.title(server), "did not start")
        return None, port

    @staticmethod
    def title(server):
        return f"server {server.name} ({server.words[0].lstrip('@')})"

    def stop(self, server, process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        else:
            process.errors.seek(0)
            text = process.errors.read().decode(errors="replace").split("\n")
            self.fail(self.title(server), f"ended by itself, status "
                      f"{process.returncode}, {(text[:-1] or ['-'])[-1]}")
        process.errors.close()
        try:
            process.wait(START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def start_all(self):
        running = []
        try:
            for server in self.servers:
                process, port = self.start(server)
                if process is not None:
                    running.append((server, process, port))
        except BaseException:
            self.stop_all(running)
            raise
        return running

    def stop_all(self, running):
        for server, process, _ in running:
            self.stop(server, process)

    def load_server(self, load, server, process, port, round_number):
        words = [self.command("@bench_load"), *load.words, "-p", str(port),
                 "-S", str(process.pid), "-t", str(workloads.LOAD_MS),
                 "-n", server.name]
        if load.kept or server.name == "limit":
            words.append("-x")
        process.send_signal(signal.SIGCONT)
        text = self.output(f"{load.workload} {load.name}/{server.name}", words)
        process.send_signal(signal.SIGSTOP)
        self.collect(load.workload, f"{load.name}/{server.name}", round_number,
                     text)

    def run_load(self, load, running, round_number):
        taking = [r for r in running if load.name in r[0].loads]
        random.shuffle(taking)
        for server, process, port in taking:
            self.load_server(load, server, process, port, round_number)
        key = f"{load.workload} {load.name}"
        self.dropped.setdefault(key, [])
        busy = [report.sample(self.record(), f"{key}/{s.name}", "busy",
                              round_number) for s, _, _ in taking]
        if any(b is not None and b < workloads.BUSY_MIN for b in busy):
            self.dropped[key].append(round_number)

    # -- rounds ---------------------------------------------------------------

    def record(self):
        return {"samples": self.samples}

    def names(self):
        names = [f"{s.workload} {s.name}" for s in self.steps]
        if self.servers:
            names += ["servers start"] + \
                [f"{l.workload} {l.name}" for l in self.loads]
        return names

    def timed(self, progress, round_number, name, work, *args):
        progress.show(round_number, name)
        begin = time.monotonic()
        result = work(*args)
        progress.finished(name, time.monotonic() - begin)
        return result

    def run_round(self, progress, number):
        for step in self.steps:
            self.timed(progress, number, f"{step.workload} {step.name}",
                       self.run_step, step, number)
        if not self.servers:
            return
        running = self.timed(progress, number, "servers start", self.start_all)
        try:
            for load in self.loads:
                self.timed(progress, number, f"{load.workload} {load.name}",
                           self.run_load, load, running, number)
        finally:
            self.stop_all(running)

    def run(self):
        progress = Progress(self.rounds, self.names())
        for number in range(self.rounds):
            self.run_round(progress, number)
        progress.end()


# -- where it ran ---------------------------------------------------------------

def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def said(*words):
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, cwd=ROOT,
                              stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def cpu_ticks():
    """All, idle and stolen, since boot."""
    fields = [int(x) for x in read("/proc/stat").splitlines()[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4], fields[7]


def own_ticks():
    hz = os.sysconf("SC_CLK_TCK")
    return sum((u.ru_utime + u.ru_stime) * hz for u in
               (resource.getrusage(resource.RUSAGE_CHILDREN),
                resource.getrusage(resource.RUSAGE_SELF)))


class Watch:
    """How much of the CPUs went elsewhere while we measured."""

    def __init__(self):
        self.ticks, self.own = cpu_ticks(), own_ticks()

    def percents(self):
        total, idle, steal = (b - a for a, b in zip(self.ticks, cpu_ticks()))
        others = total - idle - steal - (own_ticks() - self.own)
        return (max(0.0, 100 * others / max(total, 1)),
                100 * steal / max(total, 1))


def machine(watch):
    model = re.search(r"model name\s*: (.*)", read("/proc/cpuinfo"))
    others, steal = watch.percents()
    return {
        "cpu": model.group(1) if model else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "compiler": said("cc", "--version").split("\n")[0],
        "liburing": said("pkg-config", "--modversion", "liburing"),
        "libuv": said("pkg-config", "--modversion", "libuv"),
        "redis": said("redis-server", "--version"),
        "congestion": read("/proc/sys/net/ipv4/tcp_congestion_control").strip(),
        "others_percent": others,
        "steal_percent": steal,
    }


def result_of(run, args, watch, began):
    result = {
        "format": 1,
        "date": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": said("git", "rev-parse", "--short=10", "HEAD") or "unknown",
        "dirty": bool(said("git", "status", "--porcelain",
                           "--untracked-files=no")),
        "machine": machine(watch),
        "options": {"rounds": args.rounds, "only": args.only,
                    "load_ms": workloads.LOAD_MS},
        "samples": run.samples,
        "dropped": run.dropped,
        "failures": [f"{what} ({times} x)"
                     for what, times in run.failures.items()],
    }
    result["ratios"] = report.judge(result)
    return result


def write(result, folder):
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, f"{result['date'][:10]}-{result['commit']}")
    with open(base + ".json", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(f"\nwritten: {os.path.relpath(base + '.json', ROOT)}")
    if report.plot(result, base + ".svg"):
        print(f"written: {os.path.relpath(base + '.svg', ROOT)}")


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench",
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true", help="5 rounds")
    parser.add_argument("--only", default=[],
                        type=lambda text: text.upper().split(","),
                        help="workloads, as W1,W4")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench"))
    parser.add_argument("--bin", help="where the programs are",
                        default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--check", action="store_true",
                        help="exit 1 unless every goal asked now is met")
    args = parser.parse_args()
    args.rounds = args.rounds or (5 if args.quick else 40)
    return args


def main():
    args = arguments()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("bench: needs two cores, one of them for the load")
    run = Run(args)
    for what in sorted(run.skipped):
        print(f"skipped: {what}", file=sys.stderr)
    if not run.names():
        sys.exit(f"bench: nothing to run in {args.bin}; try ./dev build")
    watch, began = Watch(), datetime.datetime.now(datetime.timezone.utc)
    run.run()
    result = result_of(run, args, watch, began)
    report.print_all(result)
    write(result, args.out)
    asked = [r for r in result["ratios"] if r["floor"] is not None]
    if args.check and any(r["floor_verdict"] != "met" for r in asked):
        return 1
    return 1 if run.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
