#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guide_test.py - does what docs/GUIDE.md shows compile, and do its numbers hold?

Each piece of C is compiled by itself, with warnings as errors. A name RGM_X that is
followed by a number must have that value, a header that is named must be there, and
so must a field of the runtime's options that the table of limits names.
"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUIDE = os.path.join(ROOT, "docs/GUIDE.md")
INCLUDE = os.path.join(ROOT, "include")
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE]
BEFORE = "#include <ringmail/ringmail.h>\n#include <errno.h>\n"

PIECE = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
VALUE = re.compile(r"`(RGM_[A-Z_]+)` ([0-9][0-9,]*)")
HEADER = re.compile(r"`([a-z_]+\.h)`")
FIELD = re.compile(r"`([a-z_]+)`")


def compile_text(text):
    """None, or what the compiler says."""
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(BEFORE + text)
        file.flush()
        done = subprocess.run([os.environ.get("CC", "cc"), *FLAGS,
                               "-fsyntax-only", file.name],
                              capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def limits_rows(guide):
    table = guide.split("| What | Default |", 1)[1]
    return [line.split("|") for line in table.splitlines()[2:] if "|" in line]


def faults(guide):
    """What is wrong with a guide, a line each."""
    pieces = PIECE.findall(guide)
    if len(pieces) < 5:
        yield "where are the pieces of C?"
    for number, piece in enumerate(pieces, 1):
        said = compile_text(piece)
        if said is not None:
            yield f"piece {number} does not compile:\n{said}"
    values = "".join(f'_Static_assert({name} == {number.replace(",", "")}, '
                     f'"{name} is not {number}");\n'
                     for name, number in VALUE.findall(guide))
    said = compile_text(values)
    if said is not None:
        yield f"a number is wrong:\n{said}"
    for name in sorted(set(HEADER.findall(guide))):
        if not os.path.exists(os.path.join(INCLUDE, "ringmail", name)):
            yield f"there is no {name}"
    options = read("include/ringmail/runtime.h").split(
        "struct rgm_runtime_options {", 1)[1].split("\n};", 1)[0]
    for row in limits_rows(guide):
        for field in FIELD.findall(row[4]):
            if not re.search(rf"\b{field}\b;", options):
                yield f"there is no option {field}"


def main():
    guide = read("docs/GUIDE.md")
    found = list(faults(guide))
    for fault in found:
        print(fault)
    # Each kind of fault is seen when it is there.
    broken = [("rgm_reply(self, get, 0)", "rgm_reply(self, 0)"),
              ("`RGM_WORKERS_MAX` 64", "`RGM_WORKERS_MAX` 65"),
              ("`deadline.h`", "`deadlines.h`"),
              ("`lane_bytes` |", "`lane_byte` |")]
    for good, bad in broken:
        if good not in guide or not list(faults(guide.replace(good, bad))):
            found.append(bad)
            print(f"nobody notices {bad}")
    print("not ok guide" if found else "ok guide")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
