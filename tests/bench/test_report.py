#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# report.py and plot.py, fed with what scenarios leave behind: all of it, and
# what is there when one of them fails or a guest dies in the middle of a line.
# What was measured is reported and drawn, what was not is named.
"""Tests of the report of make bench."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
SVG = "{http://www.w3.org/2000/svg}"
CONTROL = {"query_port": (900, 1800, 1900), "create_cq": (200, 4200, 4300),
           "reg_mr 4 KiB": (90, 2200, 2300), "reg_mr 1 MiB": (240, 1900, 5600),
           "dereg_mr 1 MiB": (100, 1700, 1800)}
DATA = {"send_lat 8 B": (70, 1060, 500), "write_bw 4 KiB": (50, 99, 44),
        "read_bw 64 KiB": (120, 120, 109)}
SIDES = ("native", "pv", "pvh")
EXTRA = 6       # figures of the guest alone
ATTACH = {"attach": "attach to ACTIVE",
          "states": "attach, states of the backend",
          "vif": "the same, of a vif"}
MISSED = {("bench", "pv", "create_cq"), ("bench", "pvh", "create_cq"),
          ("bench", "pvh", "reg_mr 1 MiB"), ("bench", "pv", "send_lat 8 B"),
          ("bench", "pvh", "write_bw 4 KiB"),
          ("38-doorbell-ratio-pvh", "pvh", "read_bw 64 KiB")}
RATIOS = ("37-doorbell-ratio-pv", "38-doorbell-ratio-pvh")


def lines(table, side):
    text = ""
    for name, values in table.items():
        unit = "MB/s" if "_bw" in name else "us"
        text += json.dumps({"name": name, "unit": unit, "n": 101,
                            "value": values[SIDES.index(side)]}) + "\n"
    return text


def ratio_rows(kind, rounds):
    """As ratio.sh writes them."""
    good = kind == "pv"
    values = {"write_lat 8 B": ("us", 1.7, 1.7, 1.0, 1.05, True),
              "read_bw 64 KiB": ("MB/s", 11700, 11400, 0.98 if good else 0.94,
                                 0.97, good)}
    return [{"name": name, "unit": unit, "guest_kind": kind, "native": n,
             "guest": g, "ratio": ratio, "more": round(g - n, 3),
             "ratio_of_best": ratio, "more_of_best": 0, "pairs": 60,
             "alike": True, "rounds": rounds, "rounds_wanted": 5,
             "goal": f"{goal} x native", "goal_ratio": goal, "met": met}
            for name, (unit, n, g, ratio, goal, met) in values.items()]


class ReportTest(unittest.TestCase):
    """Each test changes a complete record, and looks at what comes out."""

    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        for side in SIDES:
            self.put(f"bench/raw/{side}.control", lines(CONTROL, side))
            self.put(f"bench/raw/{side}.data", lines(DATA, side))
        for kind in SIDES[1:]:
            self.put(f"bench/raw/{kind}.evtchn", json.dumps(
                {"name": "evtchn_round_trip", "unit": "us", "value": 450}))
            self.put(f"bench/raw/{kind}.stats", json.dumps(
                {"counters": {"map_pages": 1000, "map_ns": 5600000,
                              "unmap_ns": 6100000}}))
            self.put(f"bench/raw/{kind}.attach", "940000\n990000\n1270000\n")
            self.put(f"bench/raw/{kind}.states", "140000\n190000\n260000\n")
            self.put(f"bench/raw/{kind}.vif", "70000\n90000\n80000\n")
        self.put("bench/status", "pass\n")
        for name in RATIOS:
            kind = name.rsplit("-", 1)[1]
            self.put(f"{name}/bench.json", json.dumps(ratio_rows(kind, 6)))
            self.put(f"{name}/status", "pass\n")

    def path(self, name):
        return os.path.join(self.top, name)

    def put(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as f:
            f.write(text)

    def get(self, name):
        with open(self.path(name)) as f:
            return f.read()

    def drop(self, *names):
        for name in names:
            os.remove(self.path(name))

    def fails(self, scenario, why, step):
        self.put(f"{scenario}/status", f"fail {why}\n")
        self.put(f"{scenario}/step", f"{step}\n")

    def run_tool(self, tool, *args):
        return subprocess.run(
            [sys.executable, os.path.join(HERE, tool), *args],
            capture_output=True, text=True, check=False)

    def report(self, status):
        """bench.json and the table, drawn as well."""
        done = self.run_tool("report.py", self.path("bench.json"),
                             self.path("bench"), *map(self.path, RATIOS))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(bool(done.stderr), status != 0, done.stderr)
        self.said, self.told = done.stderr, done.stdout
        found = json.loads(self.get("bench.json"))
        self.assertEqual(set(found), {"rows", "missing", "failed"})
        self.table_tells(found)
        self.drawn(found)
        return found

    def table_tells(self, found):
        for row in found["rows"]:
            self.assertIn(row["name"], self.told)
        self.assertEqual(self.told.count("  MISSED"), self.missed(found))
        for m in found["missing"]:
            self.assertIn(f"MISSING {m['scenario']}, {m['guest_kind']}: ",
                          self.told)
            self.assertIn(f"{', '.join(m['names'])}; {m['reason']}",
                          self.told)
        for f in found["failed"]:
            self.assertIn(f"FAILED {f['scenario']}: {f['reason']}", self.told)
        self.assertEqual("MISSING" in self.told, bool(found["missing"]))
        self.assertEqual("FAILED" in self.told, bool(found["failed"]))

    def drawn(self, found):
        """A bar for each ratio, a word and a colour for each missed goal."""
        svg = self.path("bench.svg")
        done = self.run_tool("plot.py", self.path("bench.json"), svg)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, svg + "\n")
        root = ET.parse(svg).getroot()
        bars = [e for e in root.iter(f"{SVG}rect")
                if e.get("class", "").startswith("bar ")]
        missed = [e for e in bars if e.get("class") == "bar missed"]
        met = [e for e in bars if e.get("class") == "bar met"]
        goals = [e for e in root.iter(f"{SVG}path")
                 if e.get("class") == "goal"]
        self.words = [e.text for e in root.iter(f"{SVG}text")]
        self.assertEqual(len(bars),
                         sum(r["ratio"] is not None for r in found["rows"]))
        self.assertEqual(len(missed), self.missed(found))
        self.assertEqual(self.words.count("MISSED"), len(missed))
        self.assertEqual(self.words.count("met"), len(met))
        self.assertEqual(len(goals), len(met) + len(missed))
        self.assertFalse({e.get("fill") for e in missed} &
                         {e.get("fill") for e in met})
        self.inside(root, bars)
        text = " ".join(" ".join(self.words).split())
        for m in found["missing"]:
            self.assertIn(f"{', '.join(m['names'])}; {m['reason']}", text)
        for f in found["failed"]:
            self.assertIn(f"FAILED {f['scenario']}: {f['reason']}", text)
        self.assertNotIn("href", self.get("bench.svg"))

    def inside(self, root, bars):
        for e in bars:
            left, width = float(e.get("x")), float(e.get("width"))
            self.assertGreater(left, 0)
            self.assertGreaterEqual(width, 2)
            self.assertLess(left + width, float(root.get("width")))

    @staticmethod
    def missed(found):
        return sum(not row.get("met", True) for row in found["rows"])

    @staticmethod
    def of(found, scenario, kind):
        return {r["name"]: r for r in found["rows"]
                if (r["scenario"], r["guest_kind"]) == (scenario, kind)}

    @staticmethod
    def lacking(found, scenario, kind):
        return {name: m["reason"] for m in found["missing"]
                if (m["scenario"], m["guest_kind"]) == (scenario, kind)
                for name in m["names"]}

    def test_complete(self):
        found = self.report(0)
        self.assertEqual(found["missing"], [])
        self.assertEqual(found["failed"], [])
        self.assertEqual(len(found["rows"]), 4 +
                         2 * (len(CONTROL) + len(DATA) + EXTRA))
        self.assertEqual(MISSED, {
            (r["scenario"], r["guest_kind"], r["name"])
            for r in found["rows"] if not r.get("met", True)})
        row = self.of(found, "bench", "pv")["create_cq"]
        self.assertEqual(
            {"scenario": "bench", "guest_kind": "pv", "name": "create_cq",
             "unit": "us", "native": 200, "guest": 4200, "ratio": 21.0,
             "n": 101, "goal": "native + 3 round trips: 1550.0",
             "goal_ratio": 7.75, "met": False}, row)
        attach = self.of(found, "bench", "pvh")["attach to ACTIVE"]
        self.assertEqual((attach["guest"], attach["n"]), (990.0, 3))
        states = self.of(found, "bench", "pvh")
        self.assertEqual(
            [states[name]["guest"] for name in
             ("attach, states of the backend", "the same, of a vif")],
            [190.0, 80.0])
        row = self.of(found, RATIOS[0], "pv")["read_bw 64 KiB"]
        self.assertEqual({"scenario": RATIOS[0], **ratio_rows("pv", 6)[1]},
                         row)

    def test_goals_of_the_plot_are_those_of_the_table(self):
        for row in self.report(0)["rows"]:
            if "met" in row:
                met = (row["ratio"] <= row["goal_ratio"]
                       if row["unit"] == "us" else
                       row["ratio"] >= row["goal_ratio"])
                self.assertEqual(met, row["met"], row)

    def test_second_kind_missing(self):
        whole = self.report(0)
        self.drop(*(f"bench/raw/pvh.{part}" for part in
                    ("control", "data", "evtchn", "stats", "attach",
                     "states", "vif")))
        self.fails("bench", "guest apvh did not come up within 240 s",
                   "pvh: guests")
        found = self.report(1)
        self.assertEqual(found["rows"], [
            r for r in whole["rows"]
            if (r["scenario"], r["guest_kind"]) != ("bench", "pvh")])
        why = "guest apvh did not come up within 240 s (at 'pvh: guests')"
        self.assertEqual(found["missing"], [
            {"scenario": "bench", "guest_kind": "pvh",
             "names": ["all figures"], "reason": f"not measured: {why}"}])
        self.assertEqual(found["failed"],
                         [{"scenario": "bench", "reason": why}])
        self.assertIn("not measured", self.words)

    def test_data_cut_off(self):
        text = self.get("bench/raw/pvh.data")
        cut = text.index("write_bw 4 KiB") + 20
        self.put("bench/raw/pvh.data", text[:cut])
        self.drop(*(f"bench/raw/pvh.{part}" for part in ATTACH))
        self.fails("bench", "time limit of 1500 s reached", "pvh: data")
        found = self.report(1)
        self.assertEqual(set(self.of(found, "bench", "pvh")), {
            *CONTROL, "send_lat 8 B", "event channel round trip",
            "grant mapping, per page", "grant unmapping, per page"})
        lacking = self.lacking(found, "bench", "pvh")
        self.assertEqual(set(lacking), {"write_bw 4 KiB", "read_bw 64 KiB",
                                        *ATTACH.values()})
        for reason in lacking.values():
            self.assertIn("time limit of 1500 s reached", reason)
        self.assertIn("in dom0 only", lacking["write_bw 4 KiB"])
        self.assertEqual(len(self.of(found, "bench", "pv")),
                         len(CONTROL) + len(DATA) + EXTRA)
        self.assertEqual(self.words.count("not measured"), 5)

    def test_no_native(self):
        self.drop("bench/raw/native.control", "bench/raw/native.data")
        self.fails("bench", "xen-vhcad does not start:\n\033no <rxe0> & co",
                   "native")
        found = self.report(1)
        self.assertIn("report: not all was measured", self.said)
        self.assertIn("nothing to compare guests with",
                      self.lacking(found, "bench", "native")["all figures"])
        self.assertIn("no <rxe0> & co", found["failed"][0]["reason"])
        self.assertEqual({r["name"] for r in found["rows"] if
                          r["scenario"] == "bench"}, {
            "event channel round trip", "grant mapping, per page",
            "grant unmapping, per page", *ATTACH.values()})
        self.assertEqual(set(self.lacking(found, "bench", "pv")),
                         {*CONTROL, *DATA})
        self.assertEqual(len(self.of(found, RATIOS[0], "pv")), 2)

    def test_nothing_at_all(self):
        for name in ("bench", *RATIOS):
            shutil.rmtree(self.path(name))
        found = self.report(1)
        self.assertIn("report: nothing could be compared", self.said)
        self.assertEqual(found["rows"], [])
        self.assertEqual([f["reason"] for f in found["failed"]],
                         3 * ["it did not run"])
        self.assertEqual([m["guest_kind"] for m in found["missing"]],
                         ["native", "pv", "pvh", "pv", "pvh"])

    def test_event_channel_missing(self):
        self.drop("bench/raw/pv.evtchn")
        found = self.report(1)
        self.assertEqual(set(self.lacking(found, "bench", "pv")),
                         {"event channel round trip"})
        rows = self.of(found, "bench", "pv")
        self.assertNotIn("met", rows["create_cq"])
        self.assertTrue(rows["write_bw 4 KiB"]["met"])

    def test_no_page_mapped(self):
        for text in ('{"counters": {"map_pages": 0}}', '{"counters": {"m'):
            self.put("bench/raw/pv.stats", text)
            found = self.report(1)
            self.assertEqual(set(self.lacking(found, "bench", "pv")), {
                "grant mapping, per page", "grant unmapping, per page"})
            self.assertNotIn("met", self.of(found, "bench", "pv")
                             ["reg_mr 1 MiB"])

    def test_ratio_after_two_rounds(self):
        self.put(f"{RATIOS[0]}/bench.json", json.dumps(ratio_rows("pv", 2)))
        self.fails(RATIOS[0], "guest a is gone", "round 3")
        found = self.report(1)
        self.assertEqual(len(self.of(found, RATIOS[0], "pv")), 2)
        self.assertEqual(
            self.lacking(found, RATIOS[0], "pv"),
            {"rounds": "2 rounds of 5: guest a is gone (at 'round 3')"})
        self.assertIn("PV guest against its PV dom0, doorbells, 2 rounds of 5",
                      self.told)
        self.assertIn("2 rounds of 5", self.words)

    def test_ratio_missing(self):
        self.drop(f"{RATIOS[1]}/bench.json")
        self.fails(RATIOS[1], "the machine did not boot", "")
        found = self.report(1)
        self.assertEqual(
            self.lacking(found, RATIOS[1], "pvh"),
            {"all figures": "not measured: the machine did not boot"})

    def test_scenario_fails_with_all_figures(self):
        self.fails("bench", "pv: no command on the post/poll path (exit 1)",
                   "pv: counters")
        found = self.report(1)
        self.assertEqual(found["missing"], [])
        self.assertEqual(len(found["failed"]), 1)


if __name__ == "__main__":
    unittest.main()
