#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py - does a test notice when one line of the library is wrong?

Every entry of tools/mutants.txt breaks one line on purpose and names the test
that must fail because of it. The tree is copied, the line replaced, the test
built and run; a mutant whose test passes has survived, and the run fails.

    tools/mutants.py [NAME ...]      all, or those whose name contains a NAME
    tools/mutants.py --list

An entry, separated from the next by an empty line:

    name: bell omitted
    file: mailbox/inbox.h
    from:     bell(argument);
    to:       (void)bell;
    kill: mailbox_inbox_test mailbox/field_b07*

`from` is a piece of text that stands exactly once in the file; `to` may be
empty. `kill` is a test program's target and a Criterion filter of one case.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "tools", "mutants.txt")
LANES = int(os.environ.get("RGM_MUTANT_LANES", "2"))
RUN_LIMIT_S = 60
FIELDS = ("name", "file", "from", "to", "kill")


def read_list(path):
    entries, entry = [], {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if line.startswith("#"):
                continue
            if not line.strip():
                if entry:
                    entries.append(entry)
                entry = {}
                continue
            key, _, value = line.partition(":")
            if key not in FIELDS:
                sys.exit(f"{path}:{number}: what is '{key}'?")
            entry[key] = value.strip()
    if entry:
        entries.append(entry)
    for each in entries:
        missing = [f for f in FIELDS if f not in each]
        if missing:
            sys.exit(f"{path}: {each.get('name')}: no {missing[0]}")
    return entries


class Lane:
    """A copy of the tree with a build of its own."""

    def __init__(self, top, number):
        self.source = os.path.join(top, f"source-{number}")
        self.build = os.path.join(top, f"build-{number}")
        shutil.copytree(ROOT, self.source, ignore=shutil.ignore_patterns(
            "build", ".git", "__pycache__"))

    def configure(self):
        run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=Debug", "-DRINGMAIL_SLOW_ASSERTS=ON",
             "-DRINGMAIL_BUILD_PROGRAMS=OFF"])

    def make(self, target):
        return subprocess.run(
            ["ninja", "-C", self.build, "-j1", target],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)

    def program(self, target):
        for folder, _, files in os.walk(self.build):
            if target in files:
                return os.path.join(folder, target)
        return None


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout[-3000:])


def run_case(program, case):
    """(verdict, text): 'passed', 'failed' or 'none' when nothing ran."""
    try:
        done = subprocess.run(
            [program, "-j1", "--timeout", str(RUN_LIMIT_S - 10),
             "--filter", case],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=RUN_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return "failed", "hung"
    tested = re.search(r"Tested: (\d+)", done.stdout)
    if tested is None or tested[1] == "0":
        return "none", done.stdout
    return ("passed" if done.returncode == 0 else "failed"), done.stdout


def attempt(lane, entry):
    """What became of one mutant: 'killed', or why not."""
    path = os.path.join(lane.source, entry["file"])
    target, case = entry["kill"].split(None, 1)
    with open(path, encoding="utf-8") as file:
        good = file.read()
    if good.count(entry["from"]) != 1:
        return f"the text stands {good.count(entry['from'])} times"
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(good.replace(entry["from"], entry["to"]))
        built = lane.make(target)
        if built.returncode != 0:
            return "does not build: " + built.stdout[-300:]
        verdict, _ = run_case(lane.program(target), case)
        return {"failed": "killed", "passed": "SURVIVED",
                "none": "no such test"}[verdict]
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)


def check_good(lane, entries):
    """The named tests pass on the tree as it is."""
    bad = []
    for kill in sorted({e["kill"] for e in entries}):
        target, case = kill.split(None, 1)
        built = lane.make(target)
        if built.returncode != 0:
            sys.exit(built.stdout[-3000:])
        verdict, _ = run_case(lane.program(target), case)
        if verdict != "passed":
            bad.append(f"{kill}: {verdict} without any mutant")
    return bad


def work(lane, entries, results):
    for entry in entries:
        begin = time.monotonic()
        what = attempt(lane, entry)
        results[entry["name"]] = what
        print(f"{entry['name']:44} {entry['kill'].split(None, 1)[1]:50} "
              f"{what} {time.monotonic() - begin:5.1f} s", flush=True)


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    entries = [e for e in read_list(LIST)
               if not names or any(n in e["name"] for n in names)]
    if "--list" in sys.argv:
        for entry in entries:
            print(f"{entry['name']:44} {entry['file']:28} {entry['kill']}")
        return 0
    if not entries:
        sys.exit("no such mutant")
    results = {}
    with tempfile.TemporaryDirectory() as top:
        lanes = [Lane(top, i) for i in range(min(LANES, len(entries)))]
        for lane in lanes:
            lane.configure()
        bad = check_good(lanes[0], entries)
        if bad:
            print("\n".join(bad))
            return 1
        with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
            futures = [pool.submit(work, lane, entries[i::len(lanes)], results)
                       for i, lane in enumerate(lanes)]
            for future in futures:
                future.result()
    killed = sum(1 for what in results.values() if what == "killed")
    print(f"{killed} of {len(entries)} mutants killed by the test named")
    return 0 if killed == len(entries) else 1


if __name__ == "__main__":
    sys.exit(main())
