#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# counts.py: a row that was counted as promised, one that grew or shrank, one that
# nobody counted.
"""Tests of the table of counts."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MANUAL = """# Some manual
| figure | a | b | c |
|---|---|---|---|
| no count | 1 | 2 | 3 |

| count | before | now | goal |
|---|---|---|---|
| calls: alloc_pd | 6 | 5 | 4 |
| calls: reg_mr 4 KiB | | 7 | <= 8 |
"""


class CountsTest(unittest.TestCase):
    """Each test has what was counted, and looks at what comes out."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def file(self, name, text):
        path = os.path.join(self.dir.name, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def run_it(self, counted):
        self.bench = self.file("bench.json", '{"rows": [1]}')
        return subprocess.run(
            [sys.executable, os.path.join(HERE, "counts.py"),
             self.file("manual", MANUAL), self.file("counted", counted),
             self.bench], capture_output=True, text=True)

    def test_as_promised(self):
        r = self.run_it("calls: alloc_pd: 5\ncalls: reg_mr 4 KiB: 7\n")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual([row.split()[-1] for row in r.stdout.split("\n")
                          if row.startswith("calls")], ["MISSED", "8"])
        self.assertNotIn("no count", r.stdout)
        with open(self.bench) as f:
            report = json.load(f)
        self.assertEqual(report["rows"], [1])
        self.assertEqual(report["counts"][1],
                         {"name": "calls: reg_mr 4 KiB", "before": None,
                          "now": 7, "goal": 8, "counted": 7})

    def test_grown(self):
        r = self.run_it("calls: alloc_pd: 6\ncalls: reg_mr 4 KiB: 7\n")
        self.assertEqual(r.returncode, 1)
        self.assertIn("not as promised: calls: alloc_pd", r.stderr)
        self.assertNotIn("reg_mr", r.stderr)

    def test_less(self):
        r = self.run_it("calls: alloc_pd: 4\ncalls: reg_mr 4 KiB: 7\n")
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_not_counted(self):
        r = self.run_it("calls: alloc_pd: 5\n")
        self.assertEqual(r.returncode, 1)
        self.assertIn("reg_mr", r.stderr)


if __name__ == "__main__":
    unittest.main()
