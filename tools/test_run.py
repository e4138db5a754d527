#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_run.py - does everything hold, and how long did each part take?

What ./dev test runs, in this order; `./dev test unit asan` runs those parts:

    build-*    the presets dev, asan and tsan, warnings as errors
    house      the rules of the house, every public header compiled alone
    unit       unit tests, conformance, samples, tools on the dev preset
    user       the ring's tests as an ordinary user with 8 MiB of locked memory
    asan       the same tests under AddressSanitizer and UBSan
    tsan       the same case lists as plain programs under ThreadSanitizer
    models     the quick set of models and mutants
    package    outside programs, in C and C++, against an installed ringmail
    contract   what is proven of docs/contract.md, and the README's table

Ends with a time table and one line `N passed, N failed`. Logs: build/logs/.
"""

import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, "build/logs")
JOBS = str(os.cpu_count() or 1)
# Some tests wait more than they work.
TESTS_AT_ONCE = str(int(JOBS) + 1)

# Failure whatever an exit status says.
BAD_TEXT = re.compile(r"ERROR: AddressSanitizer|LeakSanitizer|runtime error:|"
                      r"WARNING: ThreadSanitizer|Tested: 0 ")
SYNTHESIS = re.compile(r"Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+)")
PLAIN_OK = re.compile(r"^ok [\w./-]+", re.M)
# What opens rings; the tests of actors/ stand on providers of their own.
RING_TESTS = re.compile(r"^(rings/|capabilities/ring/|conformance/ring_test|"
                        r"actors/(faults|runtime|warm)_test)")
# What of the long one has to do with locked memory and rights.
RING_SUITES = "ring_@(stream|pooled|file|only)/*"


class Skip(Exception):
    """A part whose folder does not exist yet."""


def run(log, command, **options):
    """Run, append everything to the log, return (status, output)."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)
    with open(os.path.join(LOGS, log + ".log"), "a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(command)}\n{done.stdout}\n")
    return done.returncode, done.stdout


def show(output, lines=60):
    text = output.rstrip().splitlines()
    print("\n".join("    " + line for line in text[-lines:]))


def steps(log, *commands):
    """Each command is one check; its output is shown when it fails."""
    passed = failed = 0
    for command in commands:
        status, output = run(log, command)
        if status == 0:
            passed += 1
        else:
            failed += 1
            print(f"\n  {' '.join(command)} failed:")
            show(output)
    return passed, failed


def build(preset):
    return steps("build-" + preset,
                 ["sh", "-c", f"cmake --preset {preset} && "
                  f"cmake --build build/{preset} -j {JOBS}"])


def part_house():
    target = "all_verify_interface_header_sets"
    return steps("house", [sys.executable, "tools/house.py"],
                 ["cmake", "--build", "build/dev", "-t", target])


def count_cases(output, ok):
    """How many cases one test program ran: (passed, failed)."""
    found = SYNTHESIS.search(output)
    if found:
        _, passed, failed = map(int, found.groups())
        return passed, failed if ok else max(failed, 1)
    passed = len(PLAIN_OK.findall(output))
    return (max(passed, 1), 0) if ok else (passed, 1)


def read_junit(path):
    """(passed, failed, [(name, output)] of the failed ones)."""
    passed = failed = 0
    bad = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        if skipped is not None and "SKIP_RETURN" in skipped.get("message", ""):
            print(f"\n  skipped: {case.get('name')}")
            continue
        ok = case.get("status") == "run" and not BAD_TEXT.search(output)
        more_passed, more_failed = count_cases(output, ok)
        passed += more_passed
        failed += more_failed
        if not ok:
            bad.append((case.get("name"), output))
    return passed, failed, bad


def run_ctest(preset, *arguments):
    directory = os.path.join(ROOT, "build", preset)
    if not os.path.exists(os.path.join(directory, "CTestTestfile.cmake")):
        print(f"\n  the {preset} preset is not built")
        return 0, 1
    for old in glob.glob(os.path.join(directory, "results", "*")):
        os.remove(old)
    junit = os.path.join(directory, "junit.xml")
    shell = []
    # ThreadSanitizer of gcc 12 fails where address randomisation is wide.
    if preset == "tsan" and subprocess.run(
            ["setarch", "-R", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        shell = ["setarch", "-R"]
    status, output = run(preset, shell + [
        "ctest", "--test-dir", directory, "-j", TESTS_AT_ONCE, "--timeout", "900",
        "--output-on-failure", "--no-tests=error", "--output-junit", junit,
        "--test-output-size-passed", "100000000",
        "--test-output-size-failed", "100000000", *arguments])
    if not os.path.exists(junit):
        show(output)
        return 0, 1
    passed, failed, bad = read_junit(junit)
    for name, text in bad:
        print(f"\n  {name} failed:")
        show(text)
    return passed, max(failed, 1 if status and not bad else 0)


def part_user():
    """Copies, because a home directory may be closed to other users."""
    directory = os.path.join(ROOT, "build/dev")
    status, output = run("user", ["ctest", "--test-dir", directory,
                                  "--show-only=json-v1"])
    if status:
        return 0, 1
    tests = [t for t in json.loads(output)["tests"]
             if RING_TESTS.match(t["name"]) and t.get("command") and
             os.path.basename(t["command"][0]).endswith(("_test", "_stress"))]
    if not tests:
        raise Skip("no tests of rings yet")
    limit = ["prlimit", "--memlock=8388608"]
    if os.geteuid() == 0:
        limit = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                 *limit]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as place, \
            concurrent.futures.ThreadPoolExecutor(int(JOBS)) as jobs:
        os.chmod(place, 0o755)
        for library in glob.glob(os.path.join(directory, "libringmail.so*")):
            shutil.copy(library, place)
        environment = {**os.environ, "LD_LIBRARY_PATH": place, "HOME": place}
        started = [
            (test, jobs.submit(run, "user", [
                *limit, shutil.copy(test["command"][0], place), "-j1",
                *(["--filter", RING_SUITES]
                  if test["name"].startswith("conformance/") else [])],
                env=environment)) for test in tests]
        for test, running in started:
            status, output = running.result()
            ok = status == 0 and not BAD_TEXT.search(output)
            more_passed, more_failed = count_cases(output, ok)
            passed += more_passed
            failed += more_failed
            if not ok:
                print(f"\n  {test['name']} failed as an ordinary user:")
                show(output)
    return passed, failed


def part_models():
    status, output = run("models", ["tools/models.sh", "quick"])
    if status == 77:
        raise Skip(output.strip())
    passed = len(re.findall(r"^ok ", output, re.M))
    if status:
        show(output)
        return passed, max(1, len(re.findall(r"^not ok ", output, re.M)))
    return max(passed, 1), 0


def part_package():
    if not os.path.exists(os.path.join(ROOT, "tools/package_test/run.sh")):
        raise Skip("no tools/package_test/run.sh yet")
    status, output = run("package", ["tools/package_test/run.sh"])
    if status:
        show(output)
    return len(PLAIN_OK.findall(output)), 1 if status else 0


def part_contract():
    status, output = run("contract", [sys.executable, "tools/contract.py"])
    print()
    show(output)
    passed, failed = steps("contract", [sys.executable, "tools/contract.py",
                                        "--check"])
    return passed + (status == 0), failed + (status != 0)


PARTS = {
    "build-dev": lambda: build("dev"),
    "house": part_house,
    "unit": lambda: run_ctest("dev"),
    "user": part_user,
    "build-asan": lambda: build("asan"),
    "asan": lambda: run_ctest("asan", "-LE", "house|again"),
    "build-tsan": lambda: build("tsan"),
    "tsan": lambda: run_ctest("tsan", "-LE", "house|again"),
    "models": part_models,
    "package": part_package,
    "contract": part_contract,
}


def main():
    names = sys.argv[1:] or list(PARTS)
    for name in names:
        if name not in PARTS:
            sys.exit(f"no part '{name}'; there are: {' '.join(PARTS)}")
    shutil.rmtree(LOGS, ignore_errors=True)
    os.makedirs(LOGS)
    print(f"RGM_SCALE={os.environ.get('RGM_SCALE', 'quick')}")
    table, all_passed, all_failed = [], 0, 0
    for name in names:
        print(f"{name} ...", end=" ", flush=True)
        start, note = time.monotonic(), ""
        try:
            passed, failed = PARTS[name]()
        except Skip as reason:
            passed, failed, note = 0, 0, f"skipped: {reason}"
        took = time.monotonic() - start
        print(note or ("ok" if not failed else "FAILED"), f"({took:.1f} s)",
              flush=True)
        table.append((name, took, passed, failed, note))
        all_passed += passed
        all_failed += failed
    print(f"\n{'part':12} {'seconds':>8} {'passed':>8} {'failed':>8}")
    for name, took, passed, failed, note in table:
        print(f"{name:12} {took:8.1f} {passed:8} {failed:8}  {note}")
    print(f"{'all':12} {sum(row[1] for row in table):8.1f}")
    print(f"{all_passed} passed, {all_failed} failed")
    return 1 if all_failed or not all_passed else 0


if __name__ == "__main__":
    sys.exit(main())
