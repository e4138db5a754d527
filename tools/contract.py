#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contract.py - which items of docs/contract.md does a passing test prove?

A test proves the item its name begins with: mbx_01_... proves MBX-01. Names and
verdicts come from the TAP files of the last test run (build/dev/results/*.tap).
Without a run the test sources are scanned instead, and the output says "listed,
not run".

An item names the providers it holds for. It is covered when, on each of those
providers that exists today, a test of that name passes and none fails; an item
about provider-independent code needs one passing test. Which provider a test ran
on is told by its suite (ring_..., threads_...) or by the folder it lies in.

    contract.py             table: covered / total per area
    contract.py --json      {"covered": {"MBX": 10, ...}, "total": {...}}
    contract.py --markdown  the README's table; --write puts it there,
                            --check fails when the README's is out of date
    contract.py --missing   the items without proof, and on which provider
    contract.py --scripted  those that hold for all drivers and have no proof on
                            the scripted provider

S is the simulated driver, which is still to come. The scripted provider, which
it will grow from, stands in for it as far as it goes: streams, time, pools and
ends, with a script that decides. What is proven on it is told beside the rest and
is asked for by no item; an item that is for S alone is not proven by it.
"""

import argparse
import glob
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- contract:begin -->", "<!-- contract:end -->"

ITEM = re.compile(r"^- \*\*([A-Z]{3})-(\d{2}[a-z]?)\*\* "
                  r"\[([^·\]]+) · (core|full|exp) · ([A-Z]+)\]")
AREA = re.compile(r"^\| ([A-Z]{3}) \| ([^|]+) \|")
NAME = re.compile(r"^([a-z]{3})_(\d{2})([a-z]?)_")
LISTED = re.compile(r"\bX\w*\(\s*(?:(\w+)\s*,\s*)?([a-z]{3}_\d{2}[a-z]?_\w+)")
TAP_LINE = re.compile(r"^(ok|not ok)\b[ \d]*-? *(\w+)::(\w+)(.*)$")

# The letters of docs/contract.md for the providers that exist today.
PROVIDERS = {"U": "ring", "E": "epoll", "D": "threads"}
INDEPENDENT = "NR"
# Stands in for S, see above: told, and never asked for.
BESIDE = {"S": "scripted"}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def parse_items(path):
    """{"MBX-01": (priority, letters)} and {"MBX": "Mailbox and commands"}."""
    items, areas = {}, {}
    for number, line in enumerate(read(path).splitlines(), 1):
        found = ITEM.match(line)
        if found:
            area, digits, _, priority, letters = found.groups()
            if area + "-" + digits in items:
                sys.exit(f"{path}:{number}: {area}-{digits} is listed twice")
            items[area + "-" + digits] = (priority, letters)
        elif re.match(r"- \*\*[A-Z]{3}-", line):
            sys.exit(f"{path}:{number}: not of the form "
                     "- **ABC-01** [source · priority · drivers] text")
        elif AREA.match(line):
            areas[AREA.match(line).group(1)] = AREA.match(line).group(2).strip()
    return items, areas


def provider_of(suite, file):
    """The letter of the provider a test ran on, or "" for none."""
    for letter, provider in {**PROVIDERS, **BESIDE}.items():
        if suite.startswith(provider):
            return letter
    if file.startswith(("rings_", "capabilities_ring_")):
        return "U"
    if file.startswith("capabilities_epoll_"):
        return "E"
    if file.startswith("capabilities_threads_"):
        return "D"
    if file.startswith("capabilities_scripted_"):
        return "S"
    return ""


def read_results(directory):
    """[(name, letter, passed)] of every TAP file of the last run."""
    tests = []
    for path in sorted(glob.glob(os.path.join(directory, "*.tap"))):
        file = os.path.basename(path)
        for line in read(path).splitlines():
            found = TAP_LINE.match(line)
            if not found or "# SKIP" in found.group(4):
                continue
            verdict, suite, name, _ = found.groups()
            tests.append((name, provider_of(suite, file), verdict == "ok"))
    return tests


def scan_sources(root):
    """The same shape from the lists in the sources: named, but not run."""
    tests = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", ".git")]
        place = os.path.relpath(folder, root)
        for file in files:
            if not file.endswith((".c", ".h")):
                continue
            text = read(os.path.join(folder, file))
            for suite, name in LISTED.findall(text):
                if place.startswith("conformance") and not suite:
                    tests += [(name, letter, True) for letter in PROVIDERS]
                else:
                    stem = place.replace("/", "_") + "_" + file
                    tests.append((name, provider_of(suite, stem), True))
    return tests


def wanted_letters(letters):
    """The providers an item needs; [""] when any one suite will do, [] when
    nothing that exists today can prove it."""
    if "A" in letters:
        return sorted(PROVIDERS)
    if any(letter in INDEPENDENT for letter in letters):
        return [""]
    return [letter for letter in letters if letter in PROVIDERS]


def sort_out(items, tests):
    """What passed, {"MBX-01": {letters}}, and which items have a failing test."""
    passed, failed = {}, set()
    for name, letter, ok in tests:
        found = NAME.match(name)
        if not found:
            continue
        item = found.group(1).upper() + "-" + found.group(2)
        if item not in items and item + found.group(3) in items:
            item += found.group(3)
        if ok:
            passed.setdefault(item, set()).add(letter)
        else:
            failed.add(item)
    return passed, failed


def stand_in(items, tests):
    """Of the items that hold for S and others: which have a passing test on
    the scripted provider, and which have not."""
    passed, failed = sort_out(items, tests)
    asked = [item for item, (_, letters) in items.items()
             if "A" in letters or ("S" in letters and letters != "S")]
    have = [item for item in asked
            if "S" in passed.get(item, set()) and item not in failed]
    return have, [item for item in asked if item not in have]


def judge(items, tests):
    """{"MBX-01": [letters still without proof]}; empty list = covered. Items
    nothing today can prove map to None."""
    passed, failed = sort_out(items, tests)
    verdicts = {}
    for item, (_, letters) in items.items():
        wanted = wanted_letters(letters)
        have = passed.get(item, set())
        if not wanted:
            verdicts[item] = None
        elif item in failed:
            verdicts[item] = wanted
        elif wanted == [""]:
            verdicts[item] = [] if have else [""]
        else:
            verdicts[item] = [letter for letter in wanted if letter not in have]
    unknown = sorted((set(passed) | failed) - set(items))
    areas = {item[:3] for item in items}
    return verdicts, [u for u in unknown if u[:3] in areas]


def count(items, verdicts):
    covered, total = {}, {}
    for item in items:
        area = item[:3]
        total[area] = total.get(area, 0) + 1
        covered[area] = covered.get(area, 0) + (verdicts[item] == [])
    return covered, total


def as_markdown(areas, covered, total):
    lines = ["| | Area | Proven | Items |", "| --- | --- | ---: | ---: |"]
    rest = [area for area in total if not covered[area]]
    for area in total:
        if covered[area]:
            lines.append(f"| {area} | {areas.get(area, '')} | {covered[area]} "
                         f"| {total[area]} |")
    if rest:
        lines.append(f"| | {len(rest)} areas still to come | 0 | "
                     f"{sum(total[area] for area in rest)} |")
    lines.append(f"| | **all** | **{sum(covered.values())}** | "
                 f"**{sum(total.values())}** |")
    return "\n".join(lines)


def readme_with(text, table):
    """The README with `table` between its two markers, or None."""
    if BEGIN not in text or END not in text:
        return None
    head, rest = text.split(BEGIN, 1)
    return head + BEGIN + "\n" + table + "\n" + END + rest.split(END, 1)[1]


def report(areas, covered, total, beside, out=sys.stdout):
    for area in total:
        bar = "#" * (covered[area] * 20 // total[area])
        print(f"{area}  {covered[area]:3} / {total[area]:3}  {bar:20}  "
              f"{areas.get(area, '')}", file=out)
    print(f"all {sum(covered.values()):4} / {sum(total.values()):3}", file=out)
    have, without = beside
    print(f"    {len(have):4} / {len(have) + len(without):3}  of those that hold "
          "for S, too, also on the scripted provider", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--results", help="directory of *.tap files")
    for flag in ("json", "markdown", "write", "check", "missing", "scripted"):
        parser.add_argument("--" + flag, action="store_true")
    args = parser.parse_args()

    items, areas = parse_items(os.path.join(args.root, "docs/contract.md"))
    results = args.results or os.path.join(args.root, "build/dev/results")
    tests = read_results(results)
    if not tests:
        print("contract: no test results; listed, not run", file=sys.stderr)
        tests = scan_sources(args.root)
    verdicts, unknown = judge(items, tests)
    covered, total = count(items, verdicts)
    for item in unknown:
        print(f"contract: a test names {item}, which docs/contract.md does not"
              " have; fix the test's name", file=sys.stderr)

    if args.json:
        print(json.dumps({"covered": covered, "total": total}))
    elif args.markdown:
        print(as_markdown(areas, covered, total))
    elif args.write or args.check:
        path = os.path.join(args.root, "README.md")
        text = read(path)
        new = readme_with(text, as_markdown(areas, covered, total))
        if new is None:
            sys.exit(f"README.md: put {BEGIN} and {END} where the table goes")
        if args.check and new != text:
            sys.exit("README.md: the contract table is out of date; "
                     "run tools/contract.py --write")
        if args.write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    elif args.missing:
        for item, letters in verdicts.items():
            if letters:
                names = [PROVIDERS.get(x, "any suite") for x in letters]
                print(f"{item}  {', '.join(names)}")
    elif args.scripted:
        for item in stand_in(items, tests)[1]:
            print(item)
    else:
        report(areas, covered, total, stand_in(items, tests))
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
