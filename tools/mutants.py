#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py - does a test notice when one line of the library is wrong?

Every entry of tools/mutants.txt breaks one line on purpose and names the test
that must fail because of it. The tree is copied, the line replaced, the test
built and run; a mutant whose test passes has survived, and the run fails. So
does one whose test fails without it.

    tools/mutants.py [NAME ...]   all, or those whose name or file contains a NAME
    tools/mutants.py --list       the list as a table
    tools/mutants.py --who NAME   which cases of the named program notice?
    tools/mutants.py --check      builds nothing: does every entry still fit the
                                  sources, and is every named test there?

An entry, separated from the next by an empty line:

    name: a push that ends a sleep does not ring
    file: mailbox/inbox.h
    from: bell(argument);
    to:   (void)bell;
    kill: mailbox_inbox_test mailbox/wkr_09_a_burst_rings_once

`from` is a piece of one line that stands exactly once in the file; `to` may be
empty. Where it stands more often, `after` is a piece that stands once, and the
first `from` behind it is meant. `kill` is a test program and one of its cases.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "tools", "mutants.txt")
LANES = int(os.environ.get("RGM_MUTANT_LANES", "2"))
FIELDS = ("name", "file", "from", "to", "kill")
NOT_COPIED = ("build", ".git", ".cache", "__pycache__")

# A case that takes ten times as long as without the mutant hangs.
HANG_FACTOR = 10
HANG_MIN_S, HANG_MAX_S = 6, 60
GOOD_LIMIT_S = 120


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
            if key not in FIELDS + ("after",):
                sys.exit(f"{path}:{number}: what is '{key}'?")
            if key in entry:
                sys.exit(f"{path}:{number}: a second '{key}' in one entry")
            entry[key] = value.strip()
    if entry:
        entries.append(entry)
    for each in entries:
        missing = [f for f in FIELDS if f not in each]
        if missing:
            sys.exit(f"{path}: {each.get('name')}: no {missing[0]}")
        each["target"], each["case"] = each["kill"].split(None, 1)
    return entries


# ---- the sources ----


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def place_of(text, entry):
    """(where `from` begins in text, None), or (None, why it is not there)."""
    start = 0
    if "after" in entry:
        if text.count(entry["after"]) != 1:
            return None, f"`after` stands {text.count(entry['after'])} times"
        start = text.index(entry["after"]) + len(entry["after"])
    elif text.count(entry["from"]) != 1:
        return None, f"`from` stands {text.count(entry['from'])} times"
    place = text.find(entry["from"], start)
    return (place, None) if place >= 0 else (None, "no `from` behind `after`")


def spoil(text, entry):
    """The text with its one fault, or None."""
    place, _ = place_of(text, entry)
    if place is None:
        return None
    return text[:place] + entry["to"] + text[place + len(entry["from"]):]


def test_sources():
    """{"mailbox_inbox_test": "mailbox/inbox_test.c", ...}"""
    sources = {}
    for path in glob.glob("**/*.c", root_dir=ROOT, recursive=True):
        if not path.startswith("build"):
            sources[path[:-2].replace("/", "_")] = path
    return sources


def text_with_lists(path):
    """A test's source and the headers that may have its list of cases, also
    those that a list of lists of lists includes; its suites by their full
    names."""
    text, looked = read(path), set()
    for _ in range(3):
        for header in re.findall(r'#include "([^"]+)"', text):
            if header not in looked and \
                    os.path.exists(os.path.join(ROOT, header)):
                looked.add(header)
                text += read(header)
    providers = set(re.findall(r"_ALL_CASES\(X,\s*(\w+)\)", text)) - \
        {"provider"}
    return text + "".join(text.replace("provider##", provider)
                          for provider in providers)


def case_is_listed(text, case):
    suite, _, name = case.partition("/")
    own = rf"\bX\w*\({suite},[\s\\]*{name}\)"
    shared = rf"\bX\w*\(suite,[\s\\]*{name}\)"
    expanded = rf"_CASES\(X,\s*{suite}\)"
    return bool(re.search(own, text) or
                re.search(shared, text) and re.search(expanded, text))


def fault_of_entry(entry, sources):
    """What is wrong with the entry itself, or None."""
    if not os.path.exists(os.path.join(ROOT, entry["file"])):
        return "no such file"
    place, why = place_of(read(entry["file"]), entry)
    if place is None:
        return why
    if entry["from"] == entry["to"]:
        return "changes nothing"
    if entry["target"] not in sources:
        return f"no source of {entry['target']}"
    if not case_is_listed(text_with_lists(sources[entry["target"]]),
                          entry["case"]):
        return f"{entry['case']} is not listed in {entry['target']}"
    return None


def check(entries):
    sources = test_sources()
    bad = 0
    for entry in entries:
        fault = fault_of_entry(entry, sources)
        if fault is not None:
            print(f"{entry['file']}: {entry['name']}: {fault}")
            bad += 1
    names = [entry["name"] for entry in entries]
    for name in sorted({n for n in names if names.count(n) > 1}):
        print(f"{name}: listed twice")
        bad += 1
    print(f"{len(entries)} mutants listed, {bad} of them out of date")
    return 1 if bad else 0


# ---- building and running ----


def quiet(command):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)


def run_limited(command, limit_s):
    """(exit status, output); the whole session ends when time is up."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True,
                             errors="replace", start_new_session=True,
                             env={**os.environ, "RGM_SEED": "1"})
    try:
        output, _ = child.communicate(timeout=limit_s)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        return None, output


class Lane:
    """A copy of the tree with a build of its own, and the files it spoils."""

    def __init__(self, top, number, only_who):
        self.source = os.path.join(top, f"source-{number}")
        self.build = os.path.join(top, f"build-{number}")
        self.only_who = only_who
        self.entries = []
        self.good = {}  # kill: (verdict, limit of a run in seconds)

    def prepare(self):
        shutil.copytree(ROOT, self.source,
                        ignore=shutil.ignore_patterns(*NOT_COPIED))
        done = quiet(["cmake", "-S", self.source, "-B", self.build, "-G",
                      "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                      "-DCMAKE_C_FLAGS_DEBUG=-O0",
                      "-DRINGMAIL_SLOW_ASSERTS=ON"])
        if done.returncode != 0:
            raise RuntimeError(done.stdout[-3000:])

    def make(self, *targets):
        return quiet(["ninja", "-C", self.build, "-j1", *targets])

    def program(self, target):
        for folder, _, files in os.walk(self.build):
            if target in files:
                return os.path.join(folder, target)
        raise RuntimeError(f"{target} is nowhere in the build")

    def run(self, entry, limit_s):
        """'passed', 'failed', 'hung' or 'no such test'."""
        status, output = run_limited(
            [self.program(entry["target"]), "-j1", "--timeout", str(limit_s),
             "--filter", entry["case"]], limit_s + 10)
        if status is None or "Timed out" in output:
            return "hung"
        tested = re.search(r"Tested: (\d+)", output)
        if tested is None or tested[1] == "0":
            return "no such test"
        return "passed" if status == 0 else "failed"

    def run_good(self):
        """Build and run the named tests without any fault."""
        done = self.make(*sorted({e["target"] for e in self.entries}))
        if done.returncode != 0:
            raise RuntimeError(done.stdout[-3000:])
        for entry in self.entries:
            if entry["kill"] in self.good or self.only_who:
                continue
            begin = time.monotonic()
            verdict = self.run(entry, GOOD_LIMIT_S)
            took_s = time.monotonic() - begin
            limit_s = min(max(HANG_FACTOR * took_s, HANG_MIN_S), HANG_MAX_S)
            self.good[entry["kill"]] = (verdict, int(limit_s))

    def who(self, entry):
        """The cases of the program that fail, for whoever looks for one."""
        _, output = run_limited([self.program(entry["target"]), "-j1",
                                 "--timeout", str(HANG_MIN_S)], GOOD_LIMIT_S)
        output = re.sub(r"\x1b\[[0-9;]*m", "", output)
        failed = re.findall(r"\[(?:FAIL|----)\] (\w+)::(\w+)", output)
        return "noticed by " + " ".join(
            sorted({"/".join(case) for case in failed}))

    def run_bad(self, entry):
        built = self.make(entry["target"])
        if built.returncode != 0:
            return "does not build: " + built.stdout[-600:]
        if self.only_who:
            return self.who(entry)
        verdict = self.run(entry, self.good[entry["kill"]][1])
        return {"failed": "killed", "hung": "killed (hung)",
                "passed": "SURVIVED"}.get(verdict, verdict)

    def attempt(self, entry):
        """What became of one mutant: 'killed', or why not."""
        verdict, _ = self.good.get(entry["kill"], ("passed", 0))
        if verdict != "passed":
            return f"{verdict} without the mutant"
        path = os.path.join(self.source, entry["file"])
        with open(path, encoding="utf-8") as file:
            good = file.read()
        bad = spoil(good, entry)
        if bad is None:
            return place_of(good, entry)[1]
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(bad)
            return self.run_bad(entry)
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(good)

    def work(self):
        results = []
        self.prepare()
        self.run_good()
        for entry in self.entries:
            begin = time.monotonic()
            results.append(self.attempt(entry))
            show(entry, results[-1], time.monotonic() - begin)
        return results


def share_out(entries, lanes):
    """A program's mutants to one lane, which then builds it alone."""
    targets = {}
    for entry in entries:
        targets.setdefault(entry["target"], []).append(entry)
    for group in sorted(targets.values(), key=len, reverse=True):
        lane = min(lanes, key=lambda each: len(each.entries))
        lane.entries += sorted(group, key=lambda entry: entry["file"])


def show(entry, verdict, took_s):
    print(f"{entry['file']:30} {entry['name']:51} {entry['case']:69} "
          f"{verdict} {took_s:.1f} s", flush=True)


def run_all(entries, only_who):
    with tempfile.TemporaryDirectory() as top:
        lanes = [Lane(top, i, only_who)
                 for i in range(min(LANES, len(entries)))]
        share_out(entries, lanes)
        lanes = [lane for lane in lanes if lane.entries]
        print(f"{'file':30} {'mutant':51} {'killed by':69}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
            futures = [pool.submit(lane.work) for lane in lanes]
            results = [r for future in futures for r in future.result()]
    killed = sum(1 for result in results if result.startswith("killed"))
    print(f"{killed} of {len(entries)} mutants killed by the test named")
    return 0 if killed == len(entries) else 1


def main():
    if "--help" in sys.argv:
        print(__doc__)
        return 0
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    entries = [e for e in read_list(LIST) if not names or
               any(n in e["name"] or n in e["file"] for n in names)]
    if not entries:
        sys.exit("no such mutant")
    if "--check" in sys.argv:
        return check(entries)
    if "--list" in sys.argv:
        for entry in entries:
            print(f"{entry['file']:30} {entry['name']:51} {entry['kill']}")
        return 0
    try:
        return run_all(entries, "--who" in sys.argv)
    except RuntimeError as reason:
        sys.exit(f"something fails without any mutant:\n{reason}")


if __name__ == "__main__":
    sys.exit(main())
