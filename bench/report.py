#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py - what do the samples of a run say, and is it good enough?

    bench/report.py RESULT.json        tables again, from a recorded run
    bench/report.py RESULT.json --svg OUT.svg
    bench/report.py RESULT.json ... --write README.md    what was asked, as a table
                                       of the page, between its marks of speed;
                                       of what several measured the last counts
    bench/report.py --check README.md  is that the table of the runs it names?

A ratio is computed within each round; its median comes with a 95 % interval by
bootstrap over the rounds. A goal is `met` only if the whole interval lies on the
right side of it, `missed` if the whole of it lies on the wrong side, and `open`
otherwise: more rounds may decide.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import workloads

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESAMPLES = 4000
SEED = 20260101


def quantile(ordered, q):
    """Of a sorted list, linear between neighbours."""
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def interval(values):
    """95 % interval of the median. The same values give the same interval."""
    chance = random.Random(SEED)
    medians = sorted(statistics.median(chance.choices(values, k=len(values)))
                     for _ in range(RESAMPLES))
    return quantile(medians, 0.025), quantile(medians, 0.975)


def load_of(part):
    """"W4 c50/ours" belongs to the load "W4 c50", "W2 one-way" to none."""
    return part.split("/")[0] if "/" in part else None


def sample(run, part, series, number):
    """The value of one round, or None."""
    values = run["samples"].get(part, {}).get(series, [])
    return values[number] if number < len(values) else None


def within_rounds(run, ratio):
    """The ratio in every round that has all it needs and was not dropped."""
    dropped = set(run["dropped"].get(load_of(ratio.over[0][0]), []))
    values = []
    for number in range(run["options"]["rounds"]):
        over = [sample(run, *pair, number) for pair in ratio.over]
        under = [sample(run, *pair, number) for pair in ratio.under]
        if number in dropped or None in over or None in under:
            continue
        values.append(sum(over) / len(over) /
                      (sum(under) / len(under) if under else 1))
    return values, len(dropped)


def verdict(better, bound, low, high):
    if bound is None:
        return "-"
    if better == "<=":
        return "met" if high <= bound else "missed" if low > bound else "open"
    return "met" if low >= bound else "missed" if high < bound else "open"


def judge(run):
    judged = []
    for ratio in workloads.RATIOS:
        values, dropped = within_rounds(run, ratio)
        if not values:
            continue
        low, high = interval(values)
        judged.append({
            "id": ratio.id, "workload": ratio.workload, "text": ratio.text,
            "median": statistics.median(values), "low": low, "high": high,
            "rounds": len(values), "dropped": dropped, "unit": ratio.unit,
            "better": ratio.better, "floor": ratio.floor, "full": ratio.full,
            "floor_verdict": verdict(ratio.better, ratio.floor, low, high),
            "full_verdict": verdict(ratio.better, ratio.full, low, high)})
    return judged


def number(value):
    if abs(value) >= 100000:
        return f"{value / 1000:.0f}k"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def print_samples(run, out):
    print(f"{'median [5 % - 95 %] of the rounds kept':44}", file=out)
    for part, all_series in run["samples"].items():
        dropped = run["dropped"].get(load_of(part), [])
        cells = []
        for series, values in all_series.items():
            kept = sorted(v for i, v in enumerate(values)
                          if v is not None and i not in dropped)
            if kept:
                cells.append(f"{series} {number(statistics.median(kept))} "
                             f"[{number(quantile(kept, 0.05))} - "
                             f"{number(quantile(kept, 0.95))}]")
        print(f"  {part:18} {'  '.join(cells) or 'every round dropped'}",
              file=out)


def bound(judged, which):
    value = judged[which]
    if value is None:
        return "-"
    return f"{judged['better']} {value:g} {judged[which + '_verdict']}"


def print_ratios(judged, out):
    print(f"\n{'within-round ratio':40} {'median':>7} {'95 % interval':>16}"
          f" {'rounds':>6} {'now':>15} {'in the end':>15}", file=out)
    for one in judged:
        span = f"[{number(one['low'])} - {number(one['high'])}]"
        print(f"{one['workload']:3} {one['text']:36} "
              f"{number(one['median']):>7} {span:>16} {one['rounds']:>6}"
              f" {bound(one, 'floor'):>15} {bound(one, 'full'):>15}", file=out)


def print_notes(run, out):
    for load, rounds in run["dropped"].items():
        if rounds:
            print(f"{load}: {len(rounds)} of {run['options']['rounds']} rounds "
                  f"dropped, a server was under {workloads.BUSY_MIN:.0f} % busy",
                  file=out)
    for failure in run["failures"]:
        print(f"failed: {failure}", file=out)
    machine = run["machine"]
    print(f"\ncommit {run['commit']}{' and local changes' * run['dirty']}, "
          f"{run['date']}; {machine['cpus']} x {machine['cpu']}, Linux "
          f"{machine['kernel']}, {machine['compiler']}", file=out)
    print(f"meanwhile other programs used {machine['others_percent']:.1f} % of "
          f"the CPUs, the host took {machine['steal_percent']:.1f} %", file=out)


def print_all(run, out=sys.stdout):
    print_samples(run, out)
    print_ratios(run["ratios"], out)
    print_notes(run, out)


# -- plot ---------------------------------------------------------------------

def plot_rows(judged):
    """Distance to the bound: below 1 is good, whatever the ratio's sense."""
    for one in judged:
        goal = one["floor"] if one["floor"] is not None else one["full"]
        if not goal:  # none, or nothing to be a share of
            continue
        values = (one["median"], one["low"], one["high"])
        if one["better"] == ">=":
            rel = [goal / v for v in (values[0], values[2], values[1])]
        else:
            rel = [v / goal for v in values]
        asked = "" if one["floor"] is not None else " (later)"
        yield (f"{one['workload']} {one['text']} {one['better']} "
               f"{goal:g}{asked}", rel)


def plot_script(run, path):
    rows = list(plot_rows(run["ratios"]))
    data = "\n".join(f"{len(rows) - i} {m:.4f} {l:.4f} {h:.4f}"
                     for i, (_, (m, l, h)) in enumerate(rows))
    tics = ", ".join(f'"{text}" {len(rows) - i}'
                     for i, (text, _) in enumerate(rows))
    return f"""
set terminal svg size 900,{110 + 26 * len(rows)} font "sans,12" background "white"
set output "{path}"
set title "{run['commit']}, {run['options']['rounds']} rounds: ratio to goal, 95 %"
set xlabel "1 is the goal; left of it is better"
set logscale x 2
set xrange [0.125:8]
set yrange [0:{len(rows) + 1}]
set ytics ({tics})
set grid x
set arrow from 1, graph 0 to 1, graph 1 nohead lw 2 lc rgb "#888888"
unset key
$ratios << EOD
{data}
EOD
plot $ratios using 2:1:3:4 with xerrorbars pt 7 ps 0.7 lw 2 lc rgb "#1f5fa8"
"""


def plot(run, path):
    """An SVG file by gnuplot. Returns whether there is one."""
    if shutil.which("gnuplot") is None or not any(plot_rows(run["ratios"])):
        return False
    done = subprocess.run(["gnuplot"], input=plot_script(run, path), text=True,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        print(f"gnuplot: {done.stderr.strip()}", file=sys.stderr)
    return done.returncode == 0


# -- a page -------------------------------------------------------------------

PLACE = re.compile(r"(<!-- speed:begin -->\n).*?(<!-- speed:end -->)", re.S)
NAMED = re.compile(r"`(bench/results/[\w.-]+\.json)`")


def page_rows(judged):
    yield "| | Measured: over / beside | Median [95 %] | Goal now | In the end |"
    yield "| --- | --- | --- | --- | --- |"
    for one in judged:
        if one["floor"] is not None or one["full"] is not None:
            yield (f"| {one['workload']} | {one['text']} | "
                   f"{number(one['median'])} [{number(one['low'])} - "
                   f"{number(one['high'])}] | {bound(one, 'floor')} | "
                   f"{bound(one, 'full')} |")


def page_table(runs):
    """runs: {name: run}, the later ones over the earlier."""
    last = {one["id"]: one for run in runs.values() for one in run["ratios"]}
    for name, run in runs.items():
        machine = run["machine"]
        only = f", {', '.join(run['options']['only'])} alone" * (
            len(runs) > 1 and bool(run["options"]["only"]))
        yield (f"From `{name}`: {run['options']['rounds']} rounds on "
               f"{machine['cpus']} x {machine['cpu']}, Linux "
               f"{machine['kernel']}{only}.")
        yield ""
    yield from page_rows(last.values())


def page_with(page, runs):
    text = "\n".join(page_table(runs))
    return PLACE.sub(lambda m: m[1] + text + "\n" + m[2], page, count=1)


def read_run(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    run["ratios"] = judge(run)
    return run


def read_runs(names):
    return {name: read_run(os.path.join(ROOT, name)) for name in names}


def read_page(path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    if not PLACE.search(page):
        sys.exit(f"{path} has no marks of speed")
    return page


def write_page(path, results):
    names = [os.path.relpath(os.path.abspath(result), ROOT)
             for result in results]
    page = page_with(read_page(path), read_runs(names))
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def check_page(path):
    page = read_page(path)
    names = NAMED.findall(PLACE.search(page)[0])
    if not names:
        sys.exit(f"{path} names no recorded run")
    if page_with(page, read_runs(names)) != page:
        sys.exit(f"{path} does not say what its runs say: "
                 f"bench/report.py {' '.join(names)} --write {path}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="*")
    parser.add_argument("--svg", help="write the plot here")
    parser.add_argument("--write", help="write the table of a page")
    parser.add_argument("--check", help="check the table of a page")
    args = parser.parse_args()
    if args.check:
        return check_page(args.check)
    if not args.result:
        parser.error("which run?")
    for result in args.result:
        run = read_run(result)
        print_all(run)
    if args.svg and not plot(run, args.svg):
        return 1
    if args.write:
        write_page(args.write, args.result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
