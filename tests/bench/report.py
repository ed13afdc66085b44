#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# usage: report.py OUTPUT.json BENCH-FOLDER [RATIO-FOLDER]...
#
# Joins what scenarios measured, as far as they came: the raw lines that the
# bench scenario left in its folder of artefacts, and the rows of the doorbell
# ratios. Prints tables with the goals and what is missing, and writes
#   {"rows": [{scenario, guest_kind, name, unit, native, guest, ratio, ...}],
#    "missing": [{scenario, guest_kind, names, reason}],
#    "failed": [{scenario, reason}]}
# A goal that is missed is printed as such; it does not fail the run, numbers
# under emulation are no verdict. A figure that is missing does, and so does a
# scenario that failed: exit status 1.

import json
import os
import re
import statistics
import sys

KINDS = ("pv", "pvh")
PARTS = ("control", "data")
ALL = "all figures"
LATENCY_FACTOR = 1.5
BANDWIDTH_FACTOR = 0.9
CONTROL_ROUND_TRIPS = 3
REG_FACTOR = 1.5
VERBS_IN_ROW = {"alloc_pd+dealloc_pd": 2, "modify_qp RESET->RTS": 3}
ATTACH = {"attach": "attach to ACTIVE",
          "states": "attach, states of the backend",
          "vif": "the same, of a vif"}


def content(*path):
    """What a file holds; nothing if there is none."""
    try:
        with open(os.path.join(*path), errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def why_ended(folder):
    """Why the scenario did not pass, or None."""
    status, step = (re.sub(r"[^ -~]+", " ", content(folder, name)).strip()
                    for name in ("status", "step"))
    if status == "pass":
        return None
    why = re.sub("^fail ", "", status) or "it did not run"
    return f"{why} (at '{step}')" if step else why


class Scenario:
    """One scenario: the rows that it has, the figures that it lacks."""

    def __init__(self, folder):
        self.folder = os.path.normpath(folder)
        self.name = os.path.basename(self.folder)
        self.why = why_ended(folder)
        self.rows = []
        self.missing = []

    def has(self, kind, name, unit, **more):
        self.rows.append({"scenario": self.name, "guest_kind": kind,
                          "name": name, "unit": unit, **more})

    def lacks(self, kind, name, how):
        """Figures that lack for one reason stand together."""
        reason = f"{how}: {self.why}" if self.why else how
        for m in self.missing:
            if (m["guest_kind"], m["reason"]) == (kind, reason):
                m["names"].append(name)
                return
        self.missing.append({"scenario": self.name, "guest_kind": kind,
                             "names": [name], "reason": reason})


def figures(*path):
    """Rows by name of a file of JSON lines. The last one may be cut off."""
    found = {}
    for line in content(*path).splitlines():
        try:
            row = json.loads(line) if line.startswith("{") else None
        except ValueError:
            continue
        if row:
            found[row["name"]] = row
    return found


def round_trip(raw, kind):
    """us that an event channel takes, or None."""
    found = figures(raw, f"{kind}.evtchn")
    return list(found.values())[-1]["value"] if found else None


def mapping_cost(raw, kind):
    """us per page for mapping and unmapping grants, in the backend."""
    try:
        counters = json.loads(content(raw, f"{kind}.stats"))
    except ValueError:
        return None, None
    while isinstance(counters, list):
        counters = counters[0] if counters else {}
    counters = counters.get("stats", counters).get("counters", counters)
    pages = counters.get("map_pages", 0)
    if not pages:
        return None, None
    return (counters["map_ns"] / pages / 1000,
            counters["unmap_ns"] / pages / 1000)


def add_attach(bench, kind, raw, part):
    """How long devices took to attach: the median."""
    times = [int(v) / 1000 for v in content(raw, f"{kind}.{part}").split()]
    add_extra(bench, kind, ATTACH[part], "ms",
              statistics.median(times) if times else None, len(times))


def pages_of(name):
    m = re.search(r"(\d+) (KiB|MiB)", name)
    return int(m.group(1)) * (1 if m.group(2) == "KiB" else 1024) // 4


def goal(name, unit, native, costs):
    """(limit, lower is better, text); None: no goal, or no cost for it."""
    if unit != "us":
        return native * BANDWIDTH_FACTOR, False, "0.9 x native"
    rtt = costs["rtt"]
    if rtt is None:
        return None
    if "lat" in name:
        return (native * LATENCY_FACTOR + rtt, True,
                "1.5 x native + 1 round trip")
    if "reg_mr" in name:
        per_page = costs["unmap" if "dereg" in name else "map"]
        if pages_of(name) < 256 or per_page is None:
            return None
        return (native * REG_FACTOR + per_page * pages_of(name) + rtt,
                True, "1.5 x native + mapping")
    trips = CONTROL_ROUND_TRIPS * VERBS_IN_ROW.get(name, 1)
    return native + trips * rtt, True, f"native + {trips} round trips"


def compared(native, guest, wanted):
    """What a row says of a figure that both sides have."""
    n, g = native["value"], guest["value"]
    more = {"native": n, "guest": g, "ratio": round(g / n, 3) if n else None,
            "n": guest["n"]}
    if wanted:
        limit, lower, text = wanted
        more["goal"] = f"{text}: {limit:.1f}"
        more["goal_ratio"] = round(limit / n, 3) if n else None
        more["met"] = g <= limit if lower else g >= limit
    return more


def add_extra(bench, kind, name, unit, value, n=None):
    """A figure that has no native counterpart."""
    if value is None:
        bench.lacks(kind, name, "not measured")
        return
    bench.has(kind, name, unit, native=None, guest=round(value, 3),
              ratio=None, n=n)


def add_part(bench, kind, part, sides, costs):
    """The control or the data figures of one kind of guest."""
    native, guest = sides["native"][part], sides[kind][part]
    names = dict.fromkeys(n for side in sides.values() for n in side[part])
    if not names:
        bench.lacks(kind, f"{part} figures", "not measured")
    for name in names:
        n, g = native.get(name), guest.get(name)
        if n and g:
            wanted = goal(name, n["unit"], n["value"], costs)
            bench.has(kind, name, n["unit"], **compared(n, g, wanted))
        elif n or g:
            bench.lacks(kind, name, "measured in dom0 only" if n else
                        "measured in the guest only")
        else:
            bench.lacks(kind, name, "not measured")


def add_kind(bench, kind, sides):
    raw = os.path.join(bench.folder, "raw")
    if not any(sides[kind].values()):
        bench.lacks(kind, ALL, "not measured")
        return
    rtt = round_trip(raw, kind)
    per_map, per_unmap = mapping_cost(raw, kind)
    costs = {"rtt": rtt, "map": per_map, "unmap": per_unmap}
    for part in PARTS:
        add_part(bench, kind, part, sides, costs)
    add_extra(bench, kind, "event channel round trip", "us", rtt, 1000)
    add_extra(bench, kind, "grant mapping, per page", "us", per_map)
    add_extra(bench, kind, "grant unmapping, per page", "us", per_unmap)
    for part in ATTACH:
        add_attach(bench, kind, raw, part)


def read_bench(folder):
    """The bench scenario: native figures against those of each guest."""
    bench = Scenario(folder)
    sides = {side: {part: figures(folder, "raw", f"{side}.{part}")
                    for part in PARTS}
             for side in ("native",) + KINDS}
    if not any(sides["native"].values()):
        bench.lacks("native", ALL, "nothing to compare guests with")
    for kind in KINDS:
        add_kind(bench, kind, sides)
    return bench


def read_ratio(folder):
    """A doorbell ratio scenario, which wrote rows after each round."""
    ratio = Scenario(folder)
    kind = ratio.name.rsplit("-", 1)[-1]
    try:
        rows = json.loads(content(folder, "bench.json"))
    except ValueError:
        rows = []
    if not rows:
        ratio.lacks(kind, ALL, "not measured")
        return ratio
    ratio.rows = [{"scenario": ratio.name, **row} for row in rows]
    if rounds_of(rows[0]):
        ratio.lacks(kind, "rounds", rounds_of(rows[0]))
    return ratio


def rounds_of(row):
    """"N rounds of M" if there are fewer than wanted."""
    done, wanted = row.get("rounds", 0), row.get("rounds_wanted", 0)
    return f"{done} rounds of {wanted}" if done < wanted else ""


def number(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def line(row):
    """One row of a table."""
    paired = "ratio_of_best" in row
    text = row.get("goal", "")
    if text and not row["met"]:
        text += "  MISSED"
    if not row.get("alike", True):
        text += "  (speeds differ)"
    digits = 2 if paired else 1
    best = f"{number(row['ratio_of_best'], 3):>8}" if paired else ""
    return (f"{row['name']:34}{row['unit']:>6}"
            f"{number(row['native'], digits):>12}"
            f"{number(row['guest'], digits):>12}"
            f"{number(row['ratio'], 2 + paired):>8}{best}  {text}").rstrip()


def heading(row):
    kind = row["guest_kind"].upper()
    if "ratio_of_best" not in row:
        return f"{kind} guest against native in the PV dom0", ""
    rounds = rounds_of(row)
    return (f"{kind} guest against its {kind} dom0, doorbells"
            f"{', ' if rounds else ''}{rounds}", f"{'best':>8}")


def table(rows):
    last = None
    for row in rows:
        title, best = heading(row)
        if title != last:
            print(f"\n{title}\n{'':34}{'unit':>6}{'native':>12}{'guest':>12}"
                  f"{'ratio':>8}{best}  goal")
            last = title
        print(line(row))


def complaints(report):
    """What is missing, and what failed."""
    print()
    for m in report["missing"]:
        print(f"MISSING {m['scenario']}, {m['guest_kind']}: "
              f"{', '.join(m['names'])}; {m['reason']}")
    for f in report["failed"]:
        print(f"FAILED {f['scenario']}: {f['reason']}")


def write(report, output):
    with open(f"{output}.new", "w") as f:
        json.dump(report, f, indent=1)
        f.write("\n")
    os.replace(f"{output}.new", output)


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: report.py OUTPUT.json BENCH-FOLDER [RATIO-FOLDER]...")
    output, bench, *ratios = sys.argv[1:]
    scenarios = [read_bench(bench)] + [read_ratio(f) for f in ratios]
    report = {"rows": [row for s in scenarios for row in s.rows],
              "missing": [m for s in scenarios for m in s.missing],
              "failed": [{"scenario": s.name, "reason": s.why}
                         for s in scenarios if s.why]}
    write(report, output)
    table(report["rows"])
    if report["missing"] or report["failed"]:
        complaints(report)
        sys.stdout.flush()
        sys.exit("report: not all was measured, or a scenario failed" if
                 report["rows"] else "report: nothing could be compared")


main()
