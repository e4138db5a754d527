#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contract_test.py - does contract.py count what is proven, and only that?"""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import contract  # noqa: E402

CONTRACT = """
| Prefix | Area | core | full | exp | all |
| MBX | Mailbox | 2 | 0 | 0 | 2 |
| CLK | Clock | 2 | 0 | 0 | 2 |
- **MBX-01** [004 · core · R] Order. *Test:* run.
- **MBX-02** [004+ · full · N] More. *Test:* run.
- **CLK-01** [004 · core · A] Now. *Test:* run.
- **CLK-02** [004 · exp · UH] Later. *Test:* run.
- **CLK-03** [004 · core · S] Simulated. *Test:* run.
"""


class Contract(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = self.directory.name
        self.write("docs/contract.md", CONTRACT)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, *arguments):
        return subprocess.run(
            [sys.executable, os.path.join(HERE, "contract.py"), "--root",
             self.root, *arguments], capture_output=True, text=True)

    def verdicts(self, tap, file="actors_a_test.tap"):
        self.write("build/dev/results/" + file, tap)
        items, _ = contract.parse_items(self.root + "/docs/contract.md")
        tests = contract.read_results(self.root + "/build/dev/results")
        return contract.judge(items, tests)

    def test_independent_item_needs_one_passing_test(self):
        verdicts, _ = self.verdicts("ok - mailbox::mbx_01_order  (0.0s)\n")
        self.assertEqual(verdicts["MBX-01"], [])
        self.assertEqual(verdicts["MBX-02"], [""])

    def test_item_for_all_needs_each_existing_provider(self):
        verdicts, _ = self.verdicts("ok - ring_clock::clk_01_now\n")
        self.assertEqual(verdicts["CLK-01"], ["D", "E"])
        verdicts, _ = self.verdicts("ok - ring_clock::clk_01_now\n"
                                    "ok - epoll_clock::clk_01_now\n"
                                    "ok - threads_clock::clk_01_now\n")
        self.assertEqual(verdicts["CLK-01"], [])

    def test_suite_without_provider_proves_nothing_for_all(self):
        verdicts, _ = self.verdicts("ok - clock::clk_01_now\n")
        self.assertEqual(verdicts["CLK-01"], ["D", "E", "U"])

    def test_provider_not_built_yet_is_not_asked_for(self):
        verdicts, _ = self.verdicts("ok - ring_clock::clk_02_later\n")
        self.assertEqual(verdicts["CLK-02"], [])
        self.assertIsNone(verdicts["CLK-03"])

    def test_folder_tells_the_provider(self):
        verdicts, _ = self.verdicts("ok - urg::clk_02_later\n",
                                    "rings_ring_test.tap")
        self.assertEqual(verdicts["CLK-02"], [])

    def test_scripted_is_told_beside_and_never_asked_for(self):
        tap = ("ok - ring_clock::clk_01_now\nok - threads_clock::clk_01_now\n"
               "ok - epoll_clock::clk_01_now\n"
               "ok - scripted_clock::clk_01_now\n"
               "ok - scripted_clock::clk_03_alone\n")
        verdicts, _ = self.verdicts(tap)
        self.assertEqual(verdicts["CLK-01"], [])
        self.assertIsNone(verdicts["CLK-03"])
        items, _ = contract.parse_items(self.root + "/docs/contract.md")
        tests = contract.read_results(self.root + "/build/dev/results")
        self.assertEqual(contract.stand_in(items, tests), (["CLK-01"], []))
        self.assertIn("1 /   1  of those", self.run_tool().stdout)

    def test_scripted_alone_proves_nothing_for_all(self):
        verdicts, _ = self.verdicts("ok - scripted_clock::clk_01_now\n")
        self.assertEqual(verdicts["CLK-01"], ["D", "E", "U"])
        self.write("build/dev/results/b.tap", "not ok - ring_a::clk_01_now\n"
                   "ok - m::mbx_01_order\n")
        items, _ = contract.parse_items(self.root + "/docs/contract.md")
        tests = contract.read_results(self.root + "/build/dev/results")
        self.assertEqual(contract.stand_in(items, tests), ([], ["CLK-01"]))
        self.assertEqual(self.run_tool("--scripted").stdout, "CLK-01\n")

    def test_failing_part_takes_the_item_away(self):
        verdicts, _ = self.verdicts("ok - m::mbx_01a_order\n"
                                    "not ok - m::mbx_01b_more  crash\n")
        self.assertEqual(verdicts["MBX-01"], [""])

    def test_skipped_test_proves_nothing(self):
        verdicts, _ = self.verdicts("ok - m::mbx_01_order # SKIP no ring\n")
        self.assertEqual(verdicts["MBX-01"], [""])

    def test_unknown_id_is_an_error(self):
        self.write("build/dev/results/a.tap", "ok - m::mbx_77_what\n")
        done = self.run_tool("--json")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("MBX-77", done.stderr)

    def test_json_counts(self):
        self.write("build/dev/results/a.tap", "ok - m::mbx_01_order\n")
        done = self.run_tool("--json")
        self.assertEqual(
            done.stdout.strip(), '{"covered": {"MBX": 1, "CLK": 0}, '
            '"total": {"MBX": 2, "CLK": 3}}')

    def test_without_results_sources_are_listed_and_labelled(self):
        self.write("mailbox/a_test.c", "X(mailbox, mbx_01_order) \\\n")
        done = self.run_tool("--json")
        self.assertIn('"MBX": 1', done.stdout)
        self.assertIn("listed, not run", done.stderr)

    def test_readme_check(self):
        self.write("build/dev/results/a.tap", "ok - m::mbx_01_order\n")
        self.write("README.md", f"# x\n{contract.BEGIN}\nold\n{contract.END}\n")
        self.assertNotEqual(self.run_tool("--check").returncode, 0)
        self.assertEqual(self.run_tool("--write").returncode, 0)
        self.assertEqual(self.run_tool("--check").returncode, 0)

    def test_item_listed_twice_or_misshaped_is_an_error(self):
        self.write("docs/contract.md", CONTRACT + "- **MBX-01** [0 · core · N]")
        self.assertNotEqual(self.run_tool().returncode, 0)
        self.write("docs/contract.md", CONTRACT + "- **MBX-9** [0 · core · N]")
        self.assertNotEqual(self.run_tool().returncode, 0)

    def test_our_own_contract_can_be_read(self):
        path = os.path.join(contract.ROOT, "docs/contract.md")
        items, areas = contract.parse_items(path)
        self.assertEqual(len(items), 546)
        self.assertEqual({item[:3] for item in items}, set(areas))


if __name__ == "__main__":
    unittest.main()
