#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""figures_test.py - does figures.py see what it should, and is the tree clean?

What passed is noted where the contract's items are counted (RGM_RESULTS).
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import figures

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Page, text, how many findings.
PAGES = [
    ("README.md", "A message takes 15 ns.", 1),
    ("README.md", "10.5 to 12 us, says bench/results/there.json", 0),
    ("README.md", "# One\nbench/results/there.json\n# Two\n30 M/s", 1),
    ("README.md", "15 ns: bench/results/gone.json", 1),
    ("README.md", "It is 3 times as fast.\nAnd 8 % faster.", 2),
    ("README.md", "Ends after 5 s, in 16 KiB, 3 times.", 0),
    ("docs/contract.md", "wakes within 50 us", 0),
    ("docs/decisions/0001-a.md", "15 ns on two CPUs, 2026-11-29", 0),
    ("docs/decisions/0001-a.md", "15 ns, and nobody knows where", 1),
    ("timers/README.md", "a slot is one tick, 65.5 us", 0),
]


def ben_07_each_figure_cites_its_result_file():
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "bench/results"))
        open(os.path.join(root, "bench/results/there.json"), "w").close()
        for path, text, expected in PAGES:
            found = list(figures.findings(root, path, text))
            assert len(found) == expected, (path, text, found)
    for path in figures.pages(ROOT):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            found = list(figures.findings(ROOT, path, file.read()))
        assert not found, "\n".join(found)


def main():
    results = os.environ.get("RGM_RESULTS")
    path = results and os.path.join(results, "figures_test.tap")
    if path and os.path.exists(path):
        os.remove(path)
    ben_07_each_figure_cites_its_result_file()
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write("ok - tools::ben_07_each_figure_cites_its_result_file\n")
    return 0


sys.exit(main())
