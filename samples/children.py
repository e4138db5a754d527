# SPDX-License-Identifier: MIT
"""children.py - what do the programs that a test has started say when it fails?

Each is ended with the test, whatever happens.
"""

import atexit
import subprocess
import sys
import traceback

STARTED = []


class Failure(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w)[:3000] for w in what) or "check failed")


def start(words, **options):
    """It is running; what it says is read by whoever wants it."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **options)
    atexit.register(process.kill)
    STARTED.append(process)
    return process


def tell(process):
    """What has become of it, and what it said, if nobody has read that; it ends."""
    if process.stdout.closed:
        return
    status = process.poll()
    print("  started:", *process.args)
    print("    exit status:", "none, it ran" if status is None else status)
    process.kill()
    try:
        said = process.communicate(timeout=5)
    except subprocess.TimeoutExpired as late:  # a child of its has the pipes
        said = late.stdout, late.stderr
    for name, text in zip(("said", "errors"), said):
        if text:
            print(f"    {name}: {text[-4000:]}")


def run(test, *arguments):
    """Runs a test; one that fails ends the program, and is named."""
    name = " ".join([test.__name__, *(a for a in arguments[:1] if isinstance(a, str))])
    try:
        test(*arguments)
    except Exception as failure:
        print(f"not ok {name}: {type(failure).__name__}: {failure}")
        traceback.print_exc(limit=-3, file=sys.stdout)
        for process in STARTED:
            tell(process)
        sys.exit(1)
    print("ok", name, flush=True)
