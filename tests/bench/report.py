#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# usage: report.py RAW-FOLDER OUTPUT.json [ROWS.json]...
#
# Joins the raw lines of the bench scenario, and rows that others measured: a list of {name, unit, native,
# guest, ratio, n, guest_kind}, and prints it as a table with the goals. A goal
# that is missed is printed as such; it does not fail the run, numbers under
# emulation are no verdict. Missing figures do.

import json
import os
import re
import statistics
import sys

LATENCY_FACTOR = 1.5
BANDWIDTH_FACTOR = 0.9
CONTROL_ROUND_TRIPS = 3
REG_FACTOR = 1.5
VERBS_IN_ROW = {"alloc_pd+dealloc_pd": 2, "modify_qp RESET->RTS": 3}


def figures(folder, side):
    found = {}
    for kind in ("control", "data"):
        with open(os.path.join(folder, f"{side}.{kind}")) as f:
            for line in f:
                if line.startswith("{"):
                    row = json.loads(line)
                    found[row["name"]] = row
    return found


def one(folder, name):
    with open(os.path.join(folder, name)) as f:
        return json.loads(f.read().strip().split("\n")[-1])


def mapping_cost(folder, kind):
    """us per page that the backend spent on mapping and unmapping grants."""
    with open(os.path.join(folder, f"{kind}.stats")) as f:
        counters = json.load(f)
    while isinstance(counters, list):
        counters = counters[0]
    counters = counters.get("stats", counters).get("counters", counters)
    pages = counters.get("map_pages", 0)
    if not pages:
        sys.exit(f"{kind}: the backend counted no mapped pages")
    return (counters["map_ns"] / pages / 1000,
            counters["unmap_ns"] / pages / 1000)


def pages_of(name):
    m = re.search(r"(\d+) (KiB|MiB)", name)
    return int(m.group(1)) * (1 if m.group(2) == "KiB" else 1024) // 4


def goal(name, unit, native, costs):
    """(limit, lower is better, text) or None."""
    if unit != "us":
        return native * BANDWIDTH_FACTOR, False, "0.9 x native"
    if "lat" in name:
        return (native * LATENCY_FACTOR + costs["rtt"], True,
                "1.5 x native + 1 round trip")
    if "reg_mr" in name:
        if pages_of(name) < 256:
            return None
        per_page = costs["unmap" if "dereg" in name else "map"]
        return (native * REG_FACTOR + per_page * pages_of(name) + costs["rtt"],
                True, "1.5 x native + mapping")
    trips = CONTROL_ROUND_TRIPS * VERBS_IN_ROW.get(name, 1)
    return (native + trips * costs["rtt"], True,
            f"native + {trips} round trips")


def rows_of(folder, kind, native):
    guest = figures(folder, kind)
    missing = set(native) ^ set(guest)
    if missing:
        sys.exit(f"{kind}: figures on one side only: {sorted(missing)}")
    rtt = one(folder, f"{kind}.evtchn")["value"]
    per_map, per_unmap = mapping_cost(folder, kind)
    costs = {"rtt": rtt, "map": per_map, "unmap": per_unmap}
    rows = []
    for name, n in native.items():
        g = guest[name]
        row = {"name": name, "unit": n["unit"], "guest_kind": kind,
               "native": n["value"], "guest": g["value"],
               "ratio": round(g["value"] / n["value"], 3), "n": g["n"]}
        wanted = goal(name, n["unit"], n["value"], costs)
        if wanted:
            limit, lower, text = wanted
            row["goal"] = f"{text}: {limit:.1f}"
            row["met"] = (g["value"] <= limit if lower else g["value"] >= limit)
        rows.append(row)
    with open(os.path.join(folder, f"{kind}.attach")) as f:
        attach = [int(v) / 1000 for v in f.read().split()]
    extra = [("event channel round trip", "us", rtt, 1000),
             ("grant mapping, per page", "us", per_map, None),
             ("grant unmapping, per page", "us", per_unmap, None),
             ("attach to ACTIVE", "ms", statistics.median(attach),
              len(attach))]
    for name, unit, value, n in extra:
        rows.append({"name": name, "unit": unit, "guest_kind": kind,
                     "native": None, "guest": round(value, 3), "ratio": None,
                     "n": n})
    return rows


def table(rows):
    head = f"{'':34}{'unit':>6}{'native':>12}{'guest':>12}{'ratio':>8}  goal"
    for kind in dict.fromkeys(r["guest_kind"] for r in rows):
        print(f"\n{kind.upper()} guest against native in the PV dom0\n{head}")
        for r in rows:
            if r["guest_kind"] != kind:
                continue
            native = "" if r["native"] is None else f"{r['native']:.1f}"
            ratio = "" if r["ratio"] is None else f"{r['ratio']:.2f}"
            text = r.get("goal", "")
            if text:
                text += "" if r["met"] else "  MISSED"
            print(f"{r['name']:34}{r['unit']:>6}{native:>12}"
                  f"{r['guest']:>12.1f}{ratio:>8}  {text}")


def main():
    folder, output = sys.argv[1:3]
    native = figures(folder, "native")
    rows = []
    for kind in ("pv", "pvh"):
        if os.path.exists(os.path.join(folder, f"{kind}.data")):
            rows += rows_of(folder, kind, native)
    if not rows:
        sys.exit("no guest was measured")
    table(rows)
    for name in sys.argv[3:]:
        with open(name) as f:
            rows += json.load(f)
    with open(output, "w") as f:
        json.dump(rows, f, indent=1)
        f.write("\n")


main()
