#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# usage: counts.py MANUAL COUNTED BENCH.json
#
# Prints the table of counts of docs/results/performance.md with what was counted this
# time (lines "ROW: NUMBER" of the tests that count), and adds it to BENCH.json
# as "counts": [{name, before, now, goal, counted}]. Exit status 1 if a row was
# not counted or is more than the table says.

import json
import re
import sys


def number(text):
    m = re.fullmatch(r"\s*(?:<= *)?(\d+)\s*", text)
    return int(m.group(1)) if m else None


def promised(manual):
    """The rows of the tables whose head is "count"."""
    rows, inside = [], False
    for line in manual.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        inside = line.startswith("|") and (inside or cells[0] == "count")
        if inside and len(cells) == 4 and number(cells[2]) is not None:
            rows.append({"name": cells[0],
                         **{key: number(cell) for key, cell in
                            zip(("before", "now", "goal"), cells[1:])}})
    return rows


def counted(text):
    return {name: int(value) for name, value in
            re.findall(r"^(.+): (\d+)$", text, re.M)}


def line(row):
    def show(value):
        return "" if value is None else value
    missed = row["goal"] is not None and row["now"] > row["goal"]
    return (f"{row['name']:58}{show(row['before']):>8}{show(row['now']):>8}"
            f"{show(row['counted']):>8}{show(row['goal']):>8}"
            f"{'  MISSED' if missed else ''}").rstrip()


def add_to(bench, rows):
    try:
        with open(bench) as f:
            report = json.load(f)
    except (OSError, ValueError):
        report = {}
    report["counts"] = rows
    with open(bench, "w") as f:
        json.dump(report, f, indent=1)
        f.write("\n")


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: counts.py MANUAL COUNTED BENCH.json")
    with open(sys.argv[1]) as f:
        rows = promised(f.read())
    with open(sys.argv[2]) as f:
        found = counted(f.read())
    for row in rows:
        row["counted"] = found.get(row["name"])
    print(f"\n{'counts':58}{'before':>8}{'now':>8}{'counted':>8}{'goal':>8}")
    for row in rows:
        print(line(row))
    add_to(sys.argv[3], rows)
    wrong = [r["name"] for r in rows if r["counted"] is None or r["counted"] > r["now"]]
    if wrong or not rows:
        sys.exit("counts: not as promised: " + (", ".join(wrong) or "no rows"))


main()
