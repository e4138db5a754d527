#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_run.py - does everything hold, and how long did each part take?

What ./dev test runs; `./dev test unit asan` runs those parts:

    build-*    the presets dev, asan and tsan, warnings as errors
    house      the rules of the house, every public header compiled alone
    unit       unit tests, conformance, samples, tools on the dev preset
    user       the ring's tests as an ordinary user with 8 MiB of locked memory
    asan       the same tests under AddressSanitizer and UBSan
    tsan       the same case lists as plain programs under ThreadSanitizer
    models     the quick set of models and mutants
    package    outside programs, in C and C++, against an installed ringmail
    contract   what is proven of docs/contract.md, and the README's table

Many tests wait more than they work. Beside them, with what they leave of the
processors, the other presets are built and then the models searched, one after the
other; the rest runs in the order above, and a sanitizer's tests when it is built.

Ends with a time table and one line `N passed, N failed`. Logs: build/logs/. The
seconds of a part beside the others are those from its start to its end; the last
column is what a part and all it started had of the processors.
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
import threading
import time
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, "build/logs")
JOBS = str(os.cpu_count() or 1)
# Some tests wait more than they work.
TESTS_AT_ONCE = str(int(JOBS) + 1)

# On each of its providers: a minute in all, most of it beside other tests.
SOAK_SECONDS = "30"

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


used_s = {}  # per log: seconds of a processor
used_lock = threading.Lock()


def run(log, command, beside=False, **options):
    """Run, append everything to the log, return (status, output)."""
    with subprocess.Popen(["nice"] * beside + command, cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          errors="replace", **options) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    with used_lock:
        used_s[log] = used_s.get(log, 0) + usage.ru_utime + usage.ru_stime
    with open(os.path.join(LOGS, log + ".log"), "a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(command)}\n{output}\n")
    return process.returncode, output


def show(output, lines=60):
    text = output.rstrip().splitlines()
    print("\n".join("    " + line for line in text[-lines:]))


def steps(log, *commands, beside=False):
    """Each command is one check; its output is shown when it fails."""
    passed = failed = 0
    for command in commands:
        status, output = run(log, command, beside)
        if status == 0:
            passed += 1
        else:
            failed += 1
            print(f"\n  {' '.join(command)} failed:")
            show(output)
    return passed, failed


def build(preset, beside=False):
    return steps("build-" + preset,
                 ["sh", "-c", f"cmake --preset {preset} && "
                  f"cmake --build build/{preset} -j {JOBS}"], beside=beside)


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
    environment = {"RGM_SOAK_SECONDS": SOAK_SECONDS} if preset == "dev" else {}
    status, output = run(preset, shell + [
        "ctest", "--test-dir", directory, "-j", TESTS_AT_ONCE, "--timeout", "900",
        "--output-on-failure", "--no-tests=error", "--output-junit", junit,
        "--test-output-size-passed", "100000000",
        "--test-output-size-failed", "100000000", *arguments],
        env={**environment, **os.environ})
    if not os.path.exists(junit):
        show(output)
        return 0, 1
    passed, failed, bad = read_junit(junit)
    for name, text in bad:
        print(f"\n  {name} failed:")
        show(text)
    return passed, max(failed, 1 if status and not bad else 0)


def own_shared_memory():
    """What starts a program with a /dev/shm that holds nothing.

    Criterion names files there by process, makes each anew and first removes one
    that is left of an earlier process of that number. What a process of root's
    left behind, another user cannot remove: "Could not spawn test instance".
    """
    command = ["unshare", "--mount", "sh", "-c",
               'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]
    done = subprocess.run([*command, "true"], stderr=subprocess.DEVNULL)
    return command if done.returncode == 0 else []


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
        limit = [*own_shared_memory(), "setpriv", "--reuid=65534",
                 "--regid=65534", "--clear-groups", *limit]
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
    # One that gets little of the processors is not to be ended for it.
    status, output = run("models", ["tools/models.sh", "quick"], beside=True,
                         env={**os.environ, "RGM_MODEL_LIMIT": "1500"})
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
    "build-asan": lambda: build("asan", beside=True),
    "asan": lambda: run_ctest("asan", "-LE", "house|again"),
    "build-tsan": lambda: build("tsan", beside=True),
    "tsan": lambda: run_ctest("tsan", "-LE", "house|again"),
    "models": part_models,
    "package": part_package,
    "contract": part_contract,
}


# In this order, one at a time, with what the others leave.
BESIDE = ("build-asan", "build-tsan", "models")
LOG_OF = {"unit": "dev"}  # where it is not the part's name


def run_part(name, rows):
    start, note = time.monotonic(), ""
    try:
        passed, failed = PARTS[name]()
    except Skip as reason:
        passed, failed, note = 0, 0, f"skipped: {reason}"
    except Exception as error:  # what a thread raises is seen by nobody
        passed, failed, note = 0, 1, f"{type(error).__name__}: {error}"
    took = time.monotonic() - start
    rows[name] = (took, passed, failed, note)
    print(f"{name} ... {note or ('FAILED' if failed else 'ok')} ({took:.1f} s)",
          flush=True)


def run_all(names):
    """(seconds, passed, failed, note) of each part, by name."""
    rows = {}
    run_part(names[0], rows)  # a build: it leaves nothing to others
    with concurrent.futures.ThreadPoolExecutor(1) as aside:
        beside = {name: aside.submit(run_part, name, rows) for name in BESIDE
                  if name in names[1:]}
        for name in names[1:]:
            if name in beside:
                continue
            if "build-" + name in beside:
                beside["build-" + name].result()
            run_part(name, rows)
    return rows


def main():
    names = sys.argv[1:] or list(PARTS)
    for name in names:
        if name not in PARTS:
            sys.exit(f"no part '{name}'; there are: {' '.join(PARTS)}")
    shutil.rmtree(LOGS, ignore_errors=True)
    os.makedirs(LOGS)
    print(f"RGM_SCALE={os.environ.get('RGM_SCALE', 'quick')}")
    start = time.monotonic()
    rows = run_all(names)
    took = time.monotonic() - start
    print(f"\n{'part':12} {'seconds':>8} {'passed':>8} {'failed':>8} {'core s':>8}")
    for name in names:
        seconds, passed, failed, note = rows[name]
        used = used_s.get(LOG_OF.get(name, name), 0)
        print(f"{name:12} {seconds:8.1f} {passed:8} {failed:8} {used:8.1f}  {note}")
    passed = sum(row[1] for row in rows.values())
    failed = sum(row[2] for row in rows.values())
    print(f"{'all':12} {took:8.1f} {'':17} {sum(used_s.values()):8.1f}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
