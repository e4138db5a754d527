#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""figures.py - does each figure of performance say which run it comes from?

    figures.py [ROOT]    prints `file:line: ...` for each that does not; exits 1

Looked at is every page (*.md) but the contract, which promises and does not
measure. A figure is a number with a unit of speed, or a comparison by a number. Its
section, from one heading to the next, must name a file of bench/results that
exists. A page of docs/decisions may be the record itself: then the page says on
which day it was measured, and on what machine.
"""

import os
import re
import subprocess
import sys

UNITS = r"(?:ns|us|µs|M/s|[GMk]i?B/s|k/s|req/s|requests/s|messages/s|cycles)"
FIGURE = re.compile(
    rf"(?<![\w.^-])\d[\d.,]*(?: to \d[\d.,]*)? ?{UNITS}(?![\w/])"
    r"|(?<![\w.^-])\d[\d.,]* times (?:the|as|faster|slower|bare|cheaper)\b"
    r"|(?<![\w.^-])\d[\d.,]* ?% (?:faster|slower|cheaper|of the (?:limit|speed|CPU))")
CITED = re.compile(r"bench/results/([\w.-]+\.(?:json|txt|svg))")
DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b\d{1,2} [A-Z][a-z]+ 20\d\d\b")
MACHINE = re.compile(r"\b(?:CPUs?|EPYC|Xeon|cores?)\b")
NOT_LOOKED_AT = ("docs/contract.md",)

# (page, piece of a line): what it is instead.
NO_PERFORMANCE = {
    ("timers/README.md", "a slot is one tick, 65.5 us"): "a tick's length",
    ("bench/README.md", "plus 1.7 times a timer"): "part of a limit",
}


def sections(text):
    """[(first line's number, [lines])], a heading begins one."""
    found = [(1, [])]
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            found.append((number, []))
        found[-1][1].append(line)
    return found


def is_cited(root, text):
    names = CITED.findall(text)
    return bool(names) and all(
        os.path.exists(os.path.join(root, "bench/results", name))
        for name in names)


def is_record(path, text):
    return (path.startswith("docs/decisions/") and DAY.search(text) and
            MACHINE.search(text))


def findings(root, path, text):
    if path in NOT_LOOKED_AT or is_record(path, text):
        return
    for first, lines in sections(text):
        if is_cited(root, "\n".join(lines)):
            continue
        for number, line in enumerate(lines, first):
            known = any(path == page and piece in line
                        for page, piece in NO_PERFORMANCE)
            figure = FIGURE.search(line)
            if figure and not known:
                yield (f"{path}:{number}: '{figure.group()}' names no run; cite "
                       "its file in bench/results, or leave the figure out")


def pages(root):
    done = subprocess.run(["git", "ls-files", "*.md"], cwd=root, text=True,
                          capture_output=True)
    if done.returncode == 0:
        return done.stdout.split()
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", ".git")]
        found += [os.path.relpath(os.path.join(folder, f), root)
                  for f in files if f.endswith(".md")]
    return sorted(found)


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), ".."))
    bad = 0
    for path in pages(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for finding in findings(root, path, file.read()):
                print(finding)
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
