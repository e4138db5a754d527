#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""matrix.py - which provider has run which suite?

Reads the lists in the headers and the TAP files of the last run, and prints a
row per suite and a column per provider:

    24        all cases of the suite ran and passed
    18 of 24  so many are claimed, and passed
    18 +2s    two more were skipped: this machine cannot
    1 FAILED  of those that ran
    -         absent: the provider claims none of it, and nothing is said of it

    matrix.py RESULTS...     exits 1 when a claimed case failed
"""

import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TAP_LINE = re.compile(r"^(ok|not ok)\b[ \d]*-? *([a-z]+)_(\w+)::(\w+)(.*)$")
PROVIDERS = ("ring", "epoll", "threads", "scripted", "memory")


def lists_of(folder):
    """{"stream": {case, ...}}: every X-macro list of the headers; a list may
    name others."""
    cases, parts = {}, {}
    for path in sorted(glob.glob(os.path.join(folder, "*_cases.h"))):
        with open(path, encoding="utf-8") as file:
            text = file.read().replace("\\\n", " ")
        for name, body in re.findall(
                r"#define (\w+)_CASES\(X, suite\)(.*)", text):
            cases[name.lower()] = set(re.findall(r"X\(suite, (\w+)\)", body))
            parts[name.lower()] = [p.lower() for p in re.findall(
                r"(\w+)_CASES\(X, suite\)", body)]
    for name, others in parts.items():
        for other in others:
            cases[name] |= cases[other]
    inner = {other for others in parts.values() for other in others}
    return {name: found for name, found in cases.items()
            if name not in inner and not is_of_one(name)}


def is_of_one(name):
    """A list of one provider's own cases."""
    return not {"ring", "epoll", "threads"}.isdisjoint(name.split("_"))


def results_of(folders):
    """{("ring", "stream"): {case: "ok", "skipped" or "failed"}}"""
    results = {}
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*.tap"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    read_line(line, results)
    return results


def read_line(line, results):
    found = TAP_LINE.match(line)
    if not found or found.group(2) not in PROVIDERS:
        return
    verdict, provider, suite, case, rest = found.groups()
    word = "failed" if verdict == "not ok" else \
        "skipped" if "# SKIP" in rest else "ok"
    results.setdefault((provider, suite), {})[case] = word


def cell(claimed, total):
    """What is told of one suite on one provider."""
    if not claimed:
        return "-"
    words = list(claimed.values())
    if "failed" in words:
        return f"{words.count('failed')} FAILED"
    text = str(words.count("ok"))
    if "skipped" in words:
        text += f" +{words.count('skipped')}s"
    return text if total <= len(words) else f"{text} of {total}"


def table_of(lists, results):
    """Rows of text: the suites of the lists, then what is one provider's."""
    suites = sorted(lists) + sorted({s for _, s in results} - set(lists))
    rows = [["suite", *PROVIDERS]]
    for suite in suites:
        total = len(lists.get(suite, ()))
        rows.append([suite] + [cell(results.get((p, suite)), total)
                               for p in PROVIDERS])
    return rows


def summary_of(lists, results):
    words = [w for found in results.values() for w in found.values()]
    absent = sum((p, s) not in results for p in PROVIDERS for s in lists)
    return (f"{len(words)} run, {words.count('ok')} passed, "
            f"{words.count('failed')} failed, {words.count('skipped')} "
            f"skipped, {absent} suites absent")


def main():
    lists, results = lists_of(HERE), results_of(sys.argv[1:])
    if not results:
        sys.exit("matrix: no results; run the tests first")
    for row in table_of(lists, results):
        print(f"{row[0]:16}" + "".join(f"{text:>12}" for text in row[1:]))
    print(summary_of(lists, results))
    return 1 if any("failed" in found.values()
                    for found in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
