#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""headers_test.py - do the public headers keep to themselves how things are done?

An application sees handles, records and functions (OPL-13, OPL-23). Looked
through is the code of include/ringmail, comments left out, but for the pages of
those who write providers or hold one in their hands. Descriptors are left in
two places: of a file or socket that somebody else has opened, which is handed over
by its number, and in raw.h, which lends one (CMP-08) and is there for nothing else.

Writes a line for each test where the others' results are, for contract.py.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = os.path.join(ROOT, "include/ringmail")
OTHERS_PAGES = {"provider.h", "scripted.h", "stepper.h"}
PROTOCOL = ("conformance/hall.h", "conformance/hall.c")

# Whole identifiers, in lower case.
NUMBERS_AND_LAYOUTS = re.compile(
    r"\b(\w*_)?(fds?|sqes?|cqes?|sq|cq|io_uring\w*|uring\w*|epoll\w*|pollfd\w*|"
    r"poll|eventfd|iovec|msghdr|sockaddr\w*|uv_\w+|ev_\w+|event_base|g_main\w*|"
    r"pthread_\w+|descriptors?)\b")
# And an actor has an opaque pointer to what was made of its behaviour.
LET_THROUGH = {("file.h", "descriptor"), ("import.h", "descriptor"),
               ("raw.h", "descriptor"), ("actor.h", "dispatch"), ("actor.h", "rgi_dispatch")}
MECHANISMS = re.compile(
    r"\b(\w*_)?(readiness|registered|registration|registered_buffers?|"
    r"fixed_(file|buffer)s?|multishot|oneshot|sqpoll|completion_(queue|port)|"
    r"reactor|proactor|event_loop|interest|selector|receive_loop|"
    r"dispatch(er)?|retirement)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)
ISO_C = {"errno.h", "stdbool.h", "stddef.h", "stdint.h", "string.h",
         "stdalign.h", "limits.h", "stdlib.h"}


def code_of(text):
    """Without comments and strings, in lower case."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text).lower()


def banned_in(name, text, pattern):
    """[what is found], with the exceptions let through."""
    found = [m.group(0) for m in pattern.finditer(code_of(text))]
    return [f"{name}: {word}" for word in found
            if (name, word) not in LET_THROUGH]


def application_headers():
    for name in sorted(os.listdir(HEADERS)):
        if name.endswith(".h") and name not in OTHERS_PAGES:
            with open(os.path.join(HEADERS, name), encoding="utf-8") as file:
                yield name, file.read()


def opl_13_no_numbers_no_layouts():
    faults = []
    for name, text in application_headers():
        faults += banned_in(name, text, NUMBERS_AND_LAYOUTS)
        faults += [f"{name} includes {other}" for other in INCLUDE.findall(text)
                   if not other.startswith("ringmail/") and other not in ISO_C]
    return faults


def opl_23_no_mechanism_is_chosen():
    faults = []
    for name, text in application_headers():
        faults += banned_in(name, text, MECHANISMS)
    return faults


def opl_23_a_protocol_knows_no_provider():
    """conformance/crowd_cases.c plays it on each of them."""
    faults = []
    for path in PROTOCOL:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        if re.search(r"rgm_provider|->class\b|^\s*#\s*if(?!ndef \w+_H\b)", text,
                     re.M):
            faults.append(f"{path} asks who carries it out")
    return faults


def the_lint_bites():
    wrong = {
        "int rgm_stream_fd(struct rgm_stream *);": NUMBERS_AND_LAYOUTS,
        "struct io_uring_sqe *rgm_next(void);": NUMBERS_AND_LAYOUTS,
        "struct iovec;": NUMBERS_AND_LAYOUTS,
        "int descriptor;": NUMBERS_AND_LAYOUTS,
        "enum { RGM_READ_READINESS };": MECHANISMS,
        "bool multishot;": MECHANISMS,
    }
    faults = [f"not seen: {text}" for text, pattern in wrong.items()
              if not banned_in("stream.h", text, pattern)]
    right = "/* as an fd */ int descriptor; size_t offset_bytes;"
    if banned_in("file.h", right, NUMBERS_AND_LAYOUTS):
        faults.append("a comment, or the import, is taken for code")
    return faults


def main():
    tests = (opl_13_no_numbers_no_layouts, opl_23_no_mechanism_is_chosen,
             opl_23_a_protocol_knows_no_provider, the_lint_bites)
    lines, failed = [], False
    for test in tests:
        faults = test()
        failed = failed or bool(faults)
        lines.append(("not ok" if faults else "ok") +
                     f" - headers::{test.__name__}")
        for fault in faults:
            print(fault, file=sys.stderr)
    print("\n".join(lines))
    results = os.environ.get("RGM_RESULTS")
    if results and os.path.isdir(results):
        with open(os.path.join(results, "tools_headers_test.tap"), "w",
                  encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
