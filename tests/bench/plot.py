#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# usage: plot.py BENCH.json OUTPUT.svg
#
# Draws what report.py wrote: for each figure a bar from 1.0 to guest / native,
# on a log axis, with the goal as a bracket, and the values as text. A panel
# for each kind of guest and of HCA; figures that both kinds of guest have
# share a line. What is missing is named below. The SVG needs no other file.

import json
import math
import sys
import textwrap
import xml.etree.ElementTree as ET

MARGIN = 22
LABEL, UNIT, BARS = 176, 38, 216        # widths
COLUMNS = {"native": 58, "guest": 60, "ratio": 50, "goal": 64}
PANEL = BARS + sum(COLUMNS.values())
GAP = 26                                # between panels
ROW = 18
SMALL = 11
KINDS = ("pv", "pvh")
WIDTH = 2 * MARGIN + LABEL + UNIT + len(KINDS) * (GAP + PANEL)
# Told apart by the colour-blind, and in print by the word beside the bar.
COLOURS = {"met": "#0072b2", "missed": "#d55e00", "no-goal": "#8c8c8c"}
INK, PALE, GRID, STRIPE = "#1a1a1a", "#666666", "#d8d8d8", "#f6f6f6"
FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
SECTIONS = {
    "bench": ("Soft-RoCE, kicked by the backend",
              {"pv": "PV guest / PV dom0", "pvh": "PVH guest / PV dom0"}),
    "doorbells": ("ConnectX (model), doorbells rung by the guest",
                  {"pv": "PV guest / PV dom0", "pvh": "PVH guest / PVH dom0"}),
}
GROUPS = {
    "less": "time: less is better",
    "more": "bandwidth: more is better",
    "alone": "of the guest alone",
}


def section_of(entry):
    return "bench" if entry["scenario"] == "bench" else "doorbells"


def group_of(row):
    if row["ratio"] is None:
        return "alone"
    return "more" if row["unit"].endswith("/s") else "less"


def verdict_of(row):
    if "met" not in row:
        return "no-goal"
    return "met" if row["met"] else "missed"


def short(value):
    """Three figures, or all before the point."""
    if value is None:
        return "-"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def ratio_text(row):
    if row["ratio"] is None:
        return ""
    # Ratios of pairs are good to 1 %.
    return f"{row['ratio']:.3f}" if "pairs" in row else short(row["ratio"])


class Canvas:
    """An SVG that grows downwards; y is where the next line goes."""

    def __init__(self):
        self.y = MARGIN
        self.svg = ET.Element("svg", {
            "xmlns": "http://www.w3.org/2000/svg", "font-family": FONTS,
            "font-size": "12.5", "fill": INK})
        self.paper = self.add("rect", fill="white")

    def add(self, tag, text=None, parent=None, **attributes):
        if parent is None:
            parent = self.svg
        e = ET.SubElement(parent, tag, {
            k.rstrip("_").replace("_", "-"):
            f"{v:.1f}".removesuffix(".0") if isinstance(v, float) else str(v)
            for k, v in attributes.items()})
        e.text = text
        return e

    def text(self, x, text, dy=0, **attributes):
        return self.add("text", text, x=x, y=self.y + dy, **attributes)

    def save(self, name):
        height = self.y + MARGIN
        self.svg.set("viewBox", f"0 0 {WIDTH} {height}")
        for e in (self.svg, self.paper):
            e.set("width", str(WIDTH))
            e.set("height", str(height))
        ET.indent(self.svg, " ")
        ET.ElementTree(self.svg).write(name, encoding="us-ascii",
                                       xml_declaration=True)


class Axis:
    """Ratios on a log axis, the same for all panels beside each other."""

    def __init__(self, rows):
        # Never so short that 1 % looks like much.
        values = [0.6, 1.7]
        for row in rows:
            values += [row["ratio"], row.get("goal_ratio")]
        values = [v for v in values if v]
        self.low = min(values) / 1.1
        self.high = max(values) * 1.15
        self.decade = BARS / math.log10(self.high / self.low)

    def at(self, ratio):
        return math.log10(ratio / self.low) * self.decade

    def ticks(self):
        """(ratio, label): the labels are those that have room."""
        fine = self.decade > 240
        for power in range(math.floor(math.log10(self.low)),
                           math.ceil(math.log10(self.high))):
            for digit in (1, 1.5, 2, 3, 5, 7) if fine else (1, 2, 5):
                ratio = digit * 10.0 ** power
                if self.low < ratio < self.high:
                    roomy = digit == 1 or self.decade > 85
                    yield ratio, f"{ratio:g}" if roomy else None


class Section:
    """The panels of one kind of HCA, side by side."""

    def __init__(self, canvas, name, report):
        self.canvas = canvas
        self.title, self.panels = SECTIONS[name]
        mine = [r for r in report["rows"] if section_of(r) == name]
        self.rows = {kind: {r["name"]: r for r in mine
                            if r["guest_kind"] == kind} for kind in KINDS}
        self.lost = {kind: [lost for m in report["missing"]
                            if section_of(m) == name
                            and m["guest_kind"] == kind
                            for lost in m["names"]] for kind in KINDS}
        self.groups = {group: [] for group in GROUPS}
        for row in mine:
            names = self.groups[group_of(row)]
            if row["name"] not in names:
                names.append(row["name"])
        self.axes = {group: Axis([r for r in mine if group_of(r) == group])
                     for group in GROUPS if group != "alone"}

    def left(self, kind):
        return (MARGIN + LABEL + UNIT + GAP +
                KINDS.index(kind) * (PANEL + GAP))

    def draw(self):
        c = self.canvas
        c.text(MARGIN, self.title, font_size=15, font_weight="bold")
        c.y += 24
        self.headings()
        for group, names in self.groups.items():
            if names:
                self.group(group, names)
        c.y += 42

    def headings(self):
        c = self.canvas
        for kind in KINDS:
            x = self.left(kind)
            c.text(x, self.panels[kind], font_weight="bold")
            if self.caution(kind):
                c.text(x, self.caution(kind), dy=22, font_size=SMALL,
                       fill=COLOURS["missed"])
            x += BARS
            for name, width in COLUMNS.items():
                x += width
                if self.rows[kind]:
                    c.text(x, name, text_anchor="end", font_size=SMALL,
                           fill=PALE)
            if not self.rows[kind]:
                c.text(self.left(kind) + PANEL, "not measured",
                       text_anchor="end", font_style="italic", fill=PALE)
        c.y += 6

    def caution(self, kind):
        """What makes the ratios of doorbells less certain."""
        said = {}
        for row in self.rows[kind].values():
            done, wanted = row.get("rounds", 0), row.get("rounds_wanted", 0)
            if done < wanted:
                said[f"{done} rounds of {wanted}"] = True
            if not row.get("alike", True):
                said["not all pairs are of one speed"] = True
        return ", ".join(said)

    def group(self, group, names):
        c = self.canvas
        c.y += 16
        c.text(MARGIN, GROUPS[group], font_size=SMALL, font_style="italic",
               fill=PALE)
        c.y += 5
        top = c.y
        stripes, grid = c.add("g"), c.add("g")
        for i, name in enumerate(names):
            if i % 2 == 0:
                c.add("rect", x=MARGIN - 4, y=c.y, height=ROW, fill=STRIPE,
                      width=WIDTH - 2 * MARGIN + 8, parent=stripes)
            self.line(name, self.axes.get(group))
            c.y += ROW
        if group in self.axes:
            self.grid(grid, top, self.axes[group])

    def line(self, name, axis):
        c, unit = self.canvas, ""
        for kind in KINDS:
            row = self.rows[kind].get(name)
            if row:
                unit = row["unit"]
                self.cells(self.left(kind), row, axis)
            elif name in self.lost[kind]:
                c.text(self.left(kind) + PANEL, "not measured", dy=13,
                       text_anchor="end", font_size=SMALL, fill=PALE)
        c.text(MARGIN, name, dy=13)
        c.text(MARGIN + LABEL + UNIT, unit, dy=13, text_anchor="end",
               fill=PALE)

    def cells(self, x, row, axis):
        """One figure of one kind of guest: bar, goal, values, verdict."""
        c, verdict = self.canvas, verdict_of(row)
        if row["ratio"]:
            self.bar(x, row, verdict, axis)
        word = {"met": "met", "missed": "MISSED", "no-goal": ""}[verdict]
        texts = (short(row["native"]), short(row["guest"]),
                 ratio_text(row), word)
        x += BARS
        for text, (column, width) in zip(texts, COLUMNS.items()):
            x += width
            style = {}
            if column == "goal":
                style = {"font_size": SMALL, "fill": COLOURS[verdict],
                         "font_weight": "bold" if verdict == "missed" else
                         "normal"}
            if text:
                c.text(x, text, dy=13, text_anchor="end", **style)

    def bar(self, x, row, verdict, axis):
        c, one, end = self.canvas, axis.at(1), axis.at(row["ratio"])
        # Never less than a line: a ratio of 1.0 is a figure, too.
        width = max(abs(end - one), 2.0)
        bar = c.add("rect", x=x + min(one, end), y=c.y + 4, width=width,
                    height=ROW - 8, fill=COLOURS[verdict],
                    class_=f"bar {verdict}")
        c.add("title", f"{row['name']}, {row['guest_kind'].upper()}: "
              f"{short(row['guest'])} {row['unit']} against "
              f"{short(row['native'])}, {row['ratio']:g} times; "
              f"goal: {row.get('goal', 'none')}", parent=bar)
        if row.get("goal_ratio"):
            self.bracket(x + axis.at(row["goal_ratio"]), c.y + 2,
                         group_of(row) == "less")

    def bracket(self, x, y, below):
        """A goal; open to the side where it is met."""
        side = -4 if below else 4
        self.canvas.add("path", d=f"M{x + side:.1f} {y}H{x:.1f}V{y + ROW - 4}"
                        f"H{x + side:.1f}", fill="none", stroke=INK,
                        stroke_width=1.4, class_="goal")

    def grid(self, parent, top, axis):
        """The lines behind the bars; their labels below."""
        c = self.canvas
        c.text(MARGIN + LABEL + UNIT, "guest / native", dy=15, fill=PALE,
               text_anchor="end", font_size=SMALL)
        for kind in KINDS:
            if not self.rows[kind]:
                continue
            for ratio, label in axis.ticks():
                x = self.left(kind) + axis.at(ratio)
                one = ratio == 1
                c.add("line", parent=c.svg if one else parent, x1=x, x2=x,
                      y1=top, y2=c.y + 3, stroke=INK if one else GRID,
                      stroke_width=1.2 if one else 0.8)
                if label:
                    c.text(x, label, dy=15, text_anchor="middle",
                           font_size=SMALL, fill=INK if one else PALE)
        c.y += ROW


def legend(c):
    x = MARGIN
    for verdict, text, width in (("met", "goal met", 92),
                                 ("missed", "goal MISSED", 116),
                                 ("no-goal", "no goal", 84)):
        c.add("rect", x=x, y=c.y - 9, width=16, height=10,
              fill=COLOURS[verdict])
        c.text(x + 22, text, font_size=SMALL)
        x += 22 + width
    for at, side in ((x + 4, -4), (x + 12, 4)):
        c.add("path", d=f"M{at + side} {c.y - 11}H{at}V{c.y + 3}H{at + side}",
              fill="none", stroke=INK, stroke_width=1.4)
    c.text(x + 24, "goal: a bar of time ends left of ], one of bandwidth "
           "right of [", font_size=SMALL)
    c.y += 18


def title(c, rows):
    goals = [row["met"] for row in rows if "met" in row]
    c.y += 8
    c.text(MARGIN, "vhca: what a guest gets of an HCA, against dom0",
           font_size=19, font_weight="bold")
    c.y += 20
    c.text(MARGIN, "Ratio guest / native, medians; log axes; each ratio is of "
           "one boot, under software emulation. "
           f"{sum(goals)} of {len(goals)} goals met.", fill=PALE)
    c.y += 22


def complaints(c, report):
    """What is missing, and what failed."""
    lines = [f"MISSING {m['scenario']}, {m['guest_kind'].upper()}: "
             f"{', '.join(m['names'])}; {m['reason']}"
             for m in report["missing"]]
    lines += [f"FAILED {f['scenario']}: {f['reason']}"
              for f in report["failed"]]
    for text in lines:
        c.y += 4
        for part in textwrap.wrap(text, 165, break_on_hyphens=False,
                                  subsequent_indent="    "):
            c.text(MARGIN, part, font_size=SMALL, fill=COLOURS["missed"])
            c.y += 15


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py BENCH.json OUTPUT.svg")
    with open(sys.argv[1]) as f:
        report = json.load(f)
    canvas = Canvas()
    title(canvas, report["rows"])
    legend(canvas)
    canvas.y += 18
    for name in SECTIONS:
        section = Section(canvas, name, report)
        if any(section.rows.values()):
            section.draw()
    complaints(canvas, report)
    canvas.save(sys.argv[2])
    print(sys.argv[2])


main()
