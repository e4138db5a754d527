#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py - which case notices which fault of a provider?

faults.txt names, for each deliberately faulty provider, cases that notice it;
unmoved.txt lists the cases that notice none, each with its reason; topics.txt
says which cases are the least that a suite of files or of jobs consists of.

    faults.py PROGRAM [RESULTS]  the first case named for each fault notices it,
                                 or, where it does not, another that is named;
                                 whoever is named nowhere is in unmoved.txt, and
                                 topics.txt has no gap; seconds. Writes a TAP
                                 file into RESULTS. With RGM_SCALE=full all that
                                 are named are asked, the unmoved are put to
                                 every fault, and a case that nobody has tried
                                 yet is an error; some minutes
    faults.py PROGRAM --find     try all cases on all faults and complete
                                 faults.txt; many minutes

A case also counts as moved when a mutant of tools/mutants.txt is killed by it:
what the runtime does itself no faulty provider can get wrong.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ABOVE = os.path.dirname(HERE)
sys.path.insert(0, ABOVE)
import matrix  # noqa: E402

FAULTS = os.path.join(HERE, "faults.txt")
UNMOVED = os.path.join(HERE, "unmoved.txt")
TOPICS = os.path.join(HERE, "topics.txt")
MUTANTS = os.path.join(ABOVE, "../tools/mutants.txt")
HEAD = """# SPDX-License-Identifier: MIT
#
# faults.txt - which cases notice which faulty provider? Written by
# `faults.py PROGRAM --find`: two cases for each fault, and a fault for each case
# that no mutant of tools/mutants.txt is killed by. A case with a star is slow,
# and asked in full runs only.

"""
NAMED = 2
STEADILY = 3  # times in a row, to be named
TRIES = 3     # to be seen again, on a machine that is busy
SLOW_S = 1.5  # a case that takes so long speaks for no fault
SLOW_FAULTS = 20  # it is tried on no more
NO, ASSERTED, YES = 0, "asserted", "yes"
SCRATCH = tempfile.mkdtemp(prefix="faults-")
JOBS = 6 * (os.cpu_count() or 1)  # most of them only wait


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file
                if line.strip() and not line.startswith("#")]


# ------------------------------------------------------------------ questions

def run(program, fault, case):
    """(status, output). The program has limits of its own; whatever children
    the case has left go with it. A case with a star is given its time."""
    words = [program, fault, case.rstrip("*")]
    patient = case.endswith("*")
    child = subprocess.Popen(words + ["patient"] * patient, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             errors="replace", start_new_session=True,
                             env={**os.environ, "TMPDIR": SCRATCH})
    try:
        child.wait(timeout=60 if patient else 20)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL) # its children have its pipes
    except ProcessLookupError:
        pass
    output, said = child.communicate()
    return (ASSERTED if "assertion failed" in said else child.returncode), \
        output


def ask(program, fault, case):
    """NO; ASSERTED: the library noticed it itself; or YES: the case did."""
    status, _ = run(program, fault, case)
    if status == 2:
        sys.exit(f"faults: no fault {fault} or no case {case}; correct "
                 "faults.txt, or run faults.py --find")
    return status if status in (NO, ASSERTED) else YES


def each(jobs):
    """Every job is a function of nothing; their results, in order."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(lambda job: job(), jobs))


def ask_all(program, pairs):
    """{(fault, case): answer}, YES if one of a few is."""
    def some(pair):
        for _ in range(TRIES):
            answer = ask(program, *pair)
            if answer != NO:
                break
        return answer
    return dict(zip(pairs, each([lambda p=p: some(p) for p in pairs])))


def listed(program, what, column):
    done = subprocess.run([program, what], capture_output=True, text=True,
                          check=True)
    return [line.split()[column] for line in done.stdout.splitlines()]


def speaking(program, cases):
    """{case or case*: what it has pass, as bits} of those that pass without a
    fault, and not slowly, unless they are given their time."""
    def passes(case):
        began = time.monotonic()
        status, output = run(program, "none", case)
        if status == 0 and (case.endswith("*") or
                            time.monotonic() - began < SLOW_S):
            return {case: int(output.split()[-1])}
        return {} if case.endswith("*") else passes(case + "*")
    found = {}
    for one in each([lambda c=c: passes(c) for c in cases]):
        found.update(one)
    return found


def touching(program, kinds):
    """A function: does that fault spoil what that case does?"""
    faults = listed(program, "--faults", 0)
    spoils = dict(zip(faults, map(int, listed(program, "--faults", 1))))
    everything = max(spoils.values())
    return lambda fault, case: (spoils[fault] == everything or
                                kinds[case] >> spoils[fault] & 1)


# ---------------------------------------------------------------------- files

def read_faults():
    return {line.split(":")[0]: line.split(":")[1].split()
            for line in lines_of(FAULTS)}


def killers_of_mutants():
    """{mutant: case}, of the programs of conformance."""
    with open(MUTANTS, encoding="utf-8") as file:
        return dict(re.findall(r"^name: ([^\n]+)\n(?:(?!name:)[^\n]+\n)*?"
                               r"kill: conformance_\w+ \w+/(\w+)",
                               file.read(), re.M))


def read_topics():
    """[(suite, topic, cases, witnesses)]; a witness is a fault or a mutant."""
    topics = []
    for line in lines_of(TOPICS):
        what, cases, witnesses = line.split("|")
        suite, _, topic = what.strip().partition(": ")
        topics.append((suite, topic, cases.split(),
                       [w.strip() for w in witnesses.split(";")]))
    return topics


def coarse_ones(program):
    """Faults with which nothing goes on: every case notices them, so they
    speak for none."""
    flags = listed(program, "--faults", 2)
    return {f for f, flag in zip(listed(program, "--faults", 0), flags)
            if flag == "1"}


def moved_by(program, answers):
    """The cases that notice something, by themselves."""
    coarse = coarse_ones(program)
    return set(killers_of_mutants().values()) | {
        c.rstrip("*") for (f, c), answer in answers.items()
        if answer == YES and f not in coarse}


# ----------------------------------------------------------------------- find

def steadily(program, pair):
    """The answer, if it is always the same; else NO."""
    first = ask(program, *pair)
    if first != NO and all(ask(program, *pair) == first
                           for _ in range(STEADILY - 1)):
        return first
    return NO


def first_to_notice(program, pairs, wanted):
    """The first `wanted` of the pairs that notice; asked in their order. What
    only the library notices is better than nothing."""
    found, asserted = [], []
    for pair in pairs:
        if len(found) == wanted:
            break
        answer = steadily(program, pair)
        if answer == YES:
            found.append(pair)
        elif answer == ASSERTED:
            asserted.append(pair)
    return found or asserted[:1]


def find(program):
    faults = listed(program, "--faults", 0)
    cases = listed(program, "--cases", 1)
    kinds = speaking(program, cases)
    touches = touching(program, kinds)
    print(len(kinds), "of", len(cases), "cases pass without a fault",
          flush=True)

    # What is known already; then, a case that submits few kinds says most.
    old = [(f, c) for f, named in read_faults().items() if f in faults
           for c in named if c in kinds]
    answers = dict(zip(old, each([lambda p=p: steadily(program, p)
                                  for p in old])))
    few = sorted((c for c in kinds if not c.endswith("*")),
                 key=lambda c: bin(kinds[c]).count("1"))

    def complete(fault):
        known = [p for p in old if p[0] == fault and answers[p] == YES][:NAMED]
        more = [(fault, c) for c in few
                if touches(fault, c) and (fault, c) not in known]
        return known + first_to_notice(program, more, NAMED - len(known))

    table = dict(zip(faults, each([lambda f=f: complete(f) for f in faults])))
    print("faults that nobody notices:",
          " ".join(f for f in faults if not table[f]) or "none", flush=True)
    answers = {p: steadily(program, p) for named in table.values()
               for p in named}
    moved = moved_by(program, answers)
    coarse = coarse_ones(program)

    def move(case):
        pairs = [(f, case) for f in faults
                 if f not in coarse and touches(f, case)]
        if case.endswith("*"):
            pairs = pairs[:SLOW_FAULTS]
        known = [p for p in old if p in pairs]
        return [p for p in first_to_notice(program, known + pairs, 1)
                if steadily(program, p) == YES]

    rest = [c for c in kinds if c.rstrip("*") not in moved]
    for found in each([lambda c=c: move(c) for c in rest]):
        for fault, case in found:
            table[fault].append((fault, case))
            rest.remove(case)
    with open(FAULTS, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for fault in faults:
            names = dict.fromkeys(c for _, c in table[fault])
            file.write(f"{fault}: {' '.join(names)}\n")
    for case in rest + [c for c in cases
                        if c not in kinds and c + "*" not in kinds]:
        print("notices nothing:", case)
    return 0


# ---------------------------------------------------------------------- check

def asked(table, in_full):
    """The pairs to be asked: all, or the first of each fault, if it is not
    slow."""
    return [(f, c) for f, named in table.items()
            for c in (named if in_full else named[:1])
            if in_full or not c.endswith("*")]


def ask_the_others(program, answers, left):
    """Moves questions from `left` to `answers`: of faults that those asked did
    not notice. On a busy machine what is lost may be found in time."""
    missed = {f for f, _ in answers} - {f for (f, _), answer in answers.items()
                                        if answer != NO}
    others = [p for p in left if p[0] in missed and not p[1].endswith("*")]
    for pair, answer in ask_all(program, others).items():
        del left[pair]
        answers[pair] = answer


def faults_are_noticed(program, answers, left, cases, in_full):
    """What is wrong with faults.txt; `left` was not asked."""
    bad = [f"faults_main.c leaves {case} out"
           for found in matrix.lists_of(ABOVE).values()
           for case in sorted(found) if case not in cases]
    noticed = {f for (f, _), answer in {**left, **answers}.items()
               if answer != NO}
    bad += [f"nobody notices the fault {fault}"
            for fault in listed(program, "--faults", 0)
            if fault not in noticed]
    return bad + [f"{c} does not notice {f}"
                  for (f, c), answer in answers.items()
                  if answer == NO and (in_full or f not in noticed)]


def unmoved_are_explained(moved, cases, suites, in_full):
    """What is wrong with unmoved.txt, and the cases that notice nothing. Those
    that are new are only told of, but for a run in full."""
    reasons = {line.partition(":")[0]: line.partition(":")[2].strip()
               for line in lines_of(UNMOVED)}
    still = {c: reasons.get(c) or reasons.get(suites[c] + "/*")
             for c in cases if c not in moved}
    untried = [c for c, why in still.items() if not why]
    bad = [f"{c} notices no fault and no mutant: run --find, and if that finds "
           "none say in unmoved.txt why" for c in untried if in_full]
    for case in untried:
        print(f"not tried yet: {suites[case]}/{case}")
        del still[case]
    bad += [f"{c} notices something; it is too much in unmoved.txt"
            for c in reasons if c in moved]
    used = set(still) | {suites[c] + "/*" for c in still}
    bad += [f"unmoved.txt names {c}, which does not exist or needs no reason"
            for c in reasons if c not in used and c not in moved]
    return bad, still


def unmoved_notice_nothing(program, still):
    """What is too much in unmoved.txt: every fault is tried. In full only."""
    kinds = speaking(program, list(still))
    touches = touching(program, kinds)
    coarse = coarse_ones(program)
    pairs = [(f, c) for c in kinds for f in listed(program, "--faults", 0)
             if f not in coarse and touches(f, c)]
    answers = each([lambda p=p: steadily(program, p) for p in pairs])
    return [f"{c} notices {f}; name it in faults.txt"
            for (f, c), answer in zip(pairs, answers) if answer == YES]


def topics_have_cases_and_witnesses(table, suites):
    """What is wrong with topics.txt."""
    mutants = killers_of_mutants()
    bad = []
    for suite, topic, named, witnesses in read_topics():
        what = f"topics.txt, {suite}: {topic}"
        bad += [f"{what}: {c} is no case of {suite}" for c in named
                if suites.get(c) != suite]
        for witness in witnesses:
            killers = table.get(witness, [])
            if witness in mutants:
                killers = [mutants[witness]]
            if not set(killers) & set(named):
                bad.append(f"{what}: none of its cases notices {witness}")
        if not named or not witnesses:
            bad.append(f"{what} has no case, or no fault that one notices")
    return bad


def check(program, results):
    in_full = os.environ.get("RGM_SCALE") == "full"
    table, cases = read_faults(), listed(program, "--cases", 1)
    suites = dict(zip(cases, listed(program, "--cases", 0)))
    answers = ask_all(program, asked(table, in_full))
    left = {(f, c): YES for f, named in table.items() for c in named
            if (f, c) not in answers}
    if not in_full:
        ask_the_others(program, answers, left)
    moved = moved_by(program, {**answers, **left})
    unexplained, still = unmoved_are_explained(moved, cases, suites, in_full)
    if in_full:
        unexplained += unmoved_notice_nothing(program, still)
    told = [
        ("cnf_11_each_faulty_provider_is_noticed_by_a_named_case",
         faults_are_noticed(program, answers, left, cases, in_full)),
        ("cnf_11_what_notices_no_fault_is_listed_and_explained", unexplained),
        ("cnf_16_each_topic_has_cases_and_one_fault_they_notice",
         topics_have_cases_and_witnesses(table, suites)),
    ]
    print(f"{len(table)} faults, {len(answers)} questions, and {len(left)} "
          f"that are asked in full only; {len(cases) - len(still)} cases "
          f"notice a fault or a mutant, {len(still)} notice none:")
    for case, why in still.items():
        print(f"  {suites[case]}/{case}: {why}")
    with open(os.path.join(results, "conformance_faults.tap"), "w",
              encoding="utf-8") as file:
        for name, bad in told:
            file.write(f"{'not ok' if bad else 'ok'} - faults::{name}\n")
    for name, bad in told:
        print("not ok" if bad else "ok", f"faults/{name}")
        for line in bad:
            print("  " + line)
    return 1 if any(bad for _, bad in told) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("results", nargs="?", default=SCRATCH)
    parser.add_argument("--find", action="store_true")
    args = parser.parse_args()
    if args.find:
        return find(args.program)
    return check(args.program, args.results)


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
