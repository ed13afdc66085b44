#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Who calls whom, file by file, read from the text: a function belongs to the file
# that has its body, and a name of it with a parenthesis behind it is a call. What is
# called through a pointer is none: that is how a lower room calls a higher one.
#
#   tests/style/calls.py [--top DIR]                circles above the limits
#   tests/style/calls.py --print FOLDER [FILE]      circles of files; FILE: its calls
"""Circles of calls between files, and between folders."""
import argparse
import os
import re
import sys

from check import Tree, strip_c

# Of each part: how many files may call each other in a circle, how many folders.
# A limit goes down, never up.
LIMITS = {"frontend": (1, 1), "backend": (1, 1)}
BODY = re.compile(r"^(?!static\b|typedef\b)[A-Za-z_][\w \t*]*?\b(\w+)\(([^;{}]*)\)\s*\n\{",
                  re.M)
INLINE = re.compile(r"^static inline\b[^;{}()]*?\b(\w+)\([^;{}]*\)\s*\n\{(.*?)^\}",
                    re.M | re.S)
CALL = re.compile(r"\b([a-z_]\w*)\s*\(")


def module_of(name):
    """The part that a file is linked into: two modules share no function."""
    return "backend/helper" if name.startswith("backend/helper/") else name.split("/")[0]


class Calls:
    """edges[FILE][OTHER]: the functions of OTHER that FILE calls."""

    def __init__(self, t, part):
        texts = {n: strip_c(t.text(n)) for n in t.under(part + "/")
                 if module_of(n) == part}
        home = {m.group(1): n for n, text in texts.items() if n.endswith(".c")
                for m in BODY.finditer(text)}
        inline = {m.group(1): set(CALL.findall(m.group(2)))
                  for n, text in texts.items() if n.endswith(".h")
                  for m in INLINE.finditer(text)}
        self.edges = {}
        for name, text in texts.items():
            if not name.endswith(".c"):
                continue
            out = self.edges.setdefault(name, {})
            for called in self.expand(set(CALL.findall(text)), inline):
                if home.get(called, name) != name:
                    out.setdefault(home[called], set()).add(called)

    @staticmethod
    def expand(called, inline):
        """The calls, and what inline functions among them call."""
        todo = list(called)
        while todo:
            for other in inline.get(todo.pop(), ()):
                if other not in called:
                    called.add(other)
                    todo.append(other)
        return called

    def folders(self):
        """The same between folders."""
        edges = {}
        for name, out in self.edges.items():
            for other, called in out.items():
                here, there = os.path.dirname(name), os.path.dirname(other)
                edges.setdefault(here, {}).setdefault(there, set()).update(called)
                edges.setdefault(there, {})
        return edges


def circles(edges):
    """Strongly connected components of more than one node, the largest first (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            cut = stack.index(node)
            found.append(sorted(stack[cut:]))
            del stack[cut:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted((c for c in found if len(c) > 1), key=len, reverse=True)


def describe(edges, circle):
    """The calls that make a circle."""
    return "\n".join(f"    {a} -> {b}: {', '.join(sorted(edges[a][b]))}"
                     for a in circle for b in circle if a != b and b in edges[a])


def complain(t):
    """Print the circles above the limits; how many there are."""
    bad = 0
    for part, (files, folders) in LIMITS.items():
        calls = Calls(t, part)
        for edges, limit, kind in ((calls.edges, files, "files"),
                                   (calls.folders(), folders, "folders")):
            for circle in circles(edges):
                if len(circle) > limit:
                    print(f"{circle[0]}:1: {len(circle)} {kind} call each other in a "
                          f"circle, not more than {limit} may")
                    print(describe(edges, circle))
                    bad += 1
    return bad


def main():
    """Complain, or print what was asked for."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--top", default=os.path.join(os.path.dirname(
        os.path.abspath(__file__)), "..", ".."))
    p.add_argument("--print", metavar="FOLDER")
    p.add_argument("file", nargs="?")
    args = p.parse_args()
    t = Tree(os.path.abspath(args.top))
    if not args.print:
        return 1 if complain(t) else 0
    calls = Calls(t, args.print)
    if args.file:
        for other, called in sorted(calls.edges[args.file].items()):
            print(f"{other}: {', '.join(sorted(called))}")
        return 0
    for edges in (calls.edges, calls.folders()):
        for circle in circles(edges):
            print(f"{len(circle)}:\n{describe(edges, circle)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
