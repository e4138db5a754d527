#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""product_test.py - is conformance what an outsider needs?

    product_test.py BUILD RESULTS

Looks at the library, at the programs and at what the providers' programs of this
build have said, which have run before (ctest sees to it). Writes a TAP file of
its own into RESULTS.
"""

import os
import re
import subprocess
import sys
import tempfile

import matrix

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD, RESULTS = sys.argv[1:3]
SKIP = 77


def output_of(*words):
    """Of a command; what the test framework itself leaks is not asked."""
    return subprocess.run(words, capture_output=True, text=True, check=True,
                          env={**os.environ,
                               "ASAN_OPTIONS": "detect_leaks=0"}).stdout


def symbols(path, *flags):
    """{name: kinds}"""
    found = {}
    for line in output_of("nm", *flags, path).splitlines():
        parts = line.split()
        if len(parts) >= 2 and len(parts[-2]) == 1:
            found.setdefault(parts[-1], set()).add(parts[-2])
    return found


def listed(program):
    """{"ring_stream": [case, ...]} by the program's own --list."""
    suites, suite = {}, None
    for line in output_of(os.path.join(BUILD, "conformance", program),
                          "--list").splitlines():
        name = re.search(r"(\w+):?", line)
        if re.match(r"\w", line):
            suite = name.group(1)
        elif name and suite:
            suites.setdefault(suite, []).append(name.group(1))
    return suites


def the_library_knows_the_interface_only():
    archive = symbols(os.path.join(BUILD, "libringmail-conformance.a"))
    for name, kinds in archive.items():
        if kinds == {"U"} and name.startswith("rgi_"):
            return f"it needs {name}"
    shared = os.path.join(BUILD, "libringmail.so")
    if os.path.exists(shared):
        for name in symbols(shared):
            if name.startswith(("stage_", "conform_", "peer_", "spy_")):
                return f"the runtime has {name}"
    return None


def the_matrix_says_run_skipped_and_absent():
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "a.tap"), "w",
                  encoding="utf-8") as file:
            file.write("ok - ring_clock::one\n"
                       "ok - ring_clock::two # SKIP none here\n"
                       "not ok - threads_clock::one\n")
        lists = {"clock": {"one", "two"}, "file": {"three"}}
        results = matrix.results_of([place])
        table = matrix.table_of(lists, results)
        if table[1] != ["clock", "1 +1s", "-", "1 FAILED", "-", "-"]:
            return str(table[1])
        if table[2] != ["file", "-", "-", "-", "-", "-"]:
            return str(table[2])
        told = matrix.summary_of(lists, results)
        if told != "3 run, 1 passed, 1 failed, 1 skipped, 8 suites absent":
            return told
        done = subprocess.run([sys.executable,
                               os.path.join(HERE, "matrix.py"), place],
                              capture_output=True, text=True)
        return None if done.returncode == 1 else "a failure is no failure"


def one_header_has_all_lists():
    with open(os.path.join(HERE, "conformance.h"), encoding="utf-8") as file:
        text = file.read()
    for suite in matrix.lists_of(HERE):
        if not any(f"{stem}_cases.h" in text
                   for stem in (suite, suite.rpartition("_")[0])):
            return f"conformance.h leaves {suite}_cases.h out"
    return None


def every_list_is_in_every_program():
    for provider in ("ring", "epoll", "threads"):
        have = {case for cases in listed(
            f"conformance_{provider}_test").values() for case in cases}
        for suite, cases in matrix.lists_of(HERE).items():
            if cases - have:
                return f"{provider} has not all of {suite}"
    program = os.path.join(BUILD, "conformance/conformance_scripted_test")
    told = output_of(program, "--filter", "scripted_clock/clk_13*", "--tap")
    ran = re.findall(r"^ok .*::(\w+)(?!.*# SKIP)", told, re.M)
    return None if ran == ["clk_13_wall_clock_may_jump"] else str(ran)


def claims(provider):
    def all_passed():
        results = matrix.results_of([RESULTS])
        have = listed(f"conformance_{provider}_test")
        for suite, cases in have.items():
            told = results.get((provider, suite.partition("_")[2]), {})
            for case in cases:
                if told.get(case) not in ("ok", "skipped"):
                    return f"{suite}::{case} {told.get(case, 'has not run')}"
        return None
    return all_passed


def no_gap_of_the_reference():
    told = {}
    for (provider, _), found in matrix.results_of([RESULTS]).items():
        if provider == "threads":
            told.update(found)
    for suite, cases in matrix.lists_of(HERE).items():
        for case in cases:
            if told.get(case) != "ok":
                return f"{suite}: {case} {told.get(case, 'is absent')}"
    return None


def each_has_tests_of_its_own():
    results = matrix.results_of([RESULTS])
    for provider in ("ring", "epoll", "threads"):
        told = results.get((provider, "only"), {})
        if not told or "failed" in told.values():
            return f"{provider} has none, or they fail"
    return None


TESTS = [
    ("product", "cnf_01_the_library_knows_the_interface_only",
     the_library_knows_the_interface_only),
    ("product", "cnf_02_one_header_has_all_lists", one_header_has_all_lists),
    ("product", "cnf_03_the_matrix_says_run_skipped_and_absent",
     the_matrix_says_run_skipped_and_absent),
    ("product", "cnf_04_every_list_is_in_every_program",
     every_list_is_in_every_program),
    ("ring_product", "cnf_14_all_it_claims_passes", claims("ring")),
    ("epoll_product", "cnf_14_all_it_claims_passes", claims("epoll")),
    ("threads_product", "cnf_14_all_it_claims_passes", claims("threads")),
    ("threads_product", "dir_01_the_matrix_has_no_gap",
     no_gap_of_the_reference),
    ("product", "cnf_15_each_provider_has_tests_of_its_own",
     each_has_tests_of_its_own),
]


def main():
    for provider in ("ring", "epoll", "threads"):
        name = f"conformance_{provider}_test"
        path = os.path.join(RESULTS, name + ".tap")
        if not os.path.exists(path) or os.path.getmtime(path) < \
                os.path.getmtime(os.path.join(BUILD, "conformance", name)):
            print(f"this {name} has not run yet")
            return SKIP
    failed = 0
    tap = os.path.join(RESULTS, "conformance_product_test.tap")
    with open(tap, "w", encoding="utf-8") as file:
        for suite, name, test in TESTS:
            why = test()
            failed += why is not None
            file.write(f"{'ok' if why is None else 'not ok'} - "
                       f"{suite}::{name}\n")
            print("ok" if why is None else "not ok", f"{suite}/{name}",
                  why or "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
