#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Checks of the source tree without a compiler: every opcode is carried through all
# layers, node names are in headers of include/ only, nothing that a peer can reach ends the process
# or the kernel, tables of manuals have short cells. Circles of calls: calls.py. Prints
# "FILE:LINE: complaint"; exit status 1 if there is one.
#
#   tests/style/check.py [--top DIR]
"""Style and completeness of the source tree."""
import argparse
import os
import re
import subprocess
import sys

SAME_LINES = 6
CELL = 100
FOLDERS = ("backend", "common", "docs", "frontend", "include", "m4", "tests",
           "tools", "xenstore")
CODE = (".c", ".h")
TEXT = CODE + (".sh", ".py", ".md", ".am", ".ac", ".inc", ".m4", ".awk", ".in", ".rules",
               ".service", ".8", ".1")
# A part's headers are its own; what all may include are those of SHARED.
PARTS = ("backend/helper/", "backend/", "common/host/", "common/lib/",
         "common/provider/", "frontend/", "tools/doorbelld/", "tools/vhcactl/",
         "xenstore/")
SHARED = ("include/", "common/", "xenstore/")
# The daemon's rooms, and of which others each may include headers: what serves a
# guest knows nothing of the supervisor, what speaks to the kernel nothing of
# guests, and nothing but the daemon's start knows of all.
ROOMS = {"backend/core": (), "backend/carrier": ("backend/core",),
         "backend/supervise": ("backend/core",), "backend/uverbs": ("backend/core",),
         "backend/verbs": ("backend/core", "backend/uverbs"),
         "backend/context": ("backend/core", "backend/uverbs", "backend/verbs"),
         "backend/worker": ("backend/core", "backend/uverbs", "backend/verbs",
                            "backend/context")}
# What knows a device by its seam (link.h, devices.h) alone names no xenstore.
SEALED = ("backend/context/", "backend/core/", "backend/supervise/", "backend/uverbs/",
          "backend/verbs/", "backend/worker/")
STORE = re.compile(r"xenstore|\bx[ns]_\w+|\bXN_\w+", re.I)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# Words that end a process; allowed in option parsing and between fork and exec.
ENDS = re.compile(r"\b(exit|_exit|abort|assert|quick_exit|err|errx)\s*\(")
MAY_END = {"backend/main.c", "backend/supervise/process.c", "tools/doorbelld/main.c"}
UNPRINTABLE = re.compile(rb"[^\t -~]")
MODULES = ("frontend/", "backend/helper/", "common/provider/")
KERNEL_ENDS = re.compile(
    r"\b(BUG|BUG_ON|WARN|WARN_ON|WARN_ONCE|WARN_ON_ONCE|panic)\s*\(")


class Tree:
    """The tracked and the new files of the source tree."""

    def __init__(self, top):
        self.top = top
        self.bad = 0
        self.checks = 0
        self.files = self.list_files()

    def list_files(self):
        git = subprocess.run(
            ["git", "-C", self.top, "ls-files", "-co", "--exclude-standard"],
            capture_output=True, text=True, check=False)
        if git.returncode == 0:
            names = git.stdout.splitlines()
        else:           # a release archive, perhaps built in a folder of it
            names = ["configure.ac", "Makefile.am", "Makefile", "autogen.sh"]
            names += [os.path.relpath(os.path.join(d, f), self.top)
                      for folder in FOLDERS for d, _, fs in
                      os.walk(os.path.join(self.top, folder)) for f in fs]
        return sorted(n for n in set(names)
                      if os.path.isfile(os.path.join(self.top, n)))

    def read(self, name):
        with open(os.path.join(self.top, name), "rb") as f:
            return f.read()

    def text(self, name):
        return self.read(name).decode("ascii", "replace")

    def say(self, name, line, what):
        print(f"{name}:{line}: {what}")
        self.bad += 1

    def under(self, *prefixes, ext=CODE):
        return [n for n in self.files
                if n.startswith(prefixes) and n.endswith(ext)]


def strip_c(text):
    """Blank out comments and literals, keep the lines."""
    def blank(m):
        s = m.group(0)
        if s[0] in "\"'":
            return s[0] * 2
        return "\n" * s.count("\n") or " "
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                  blank, text, flags=re.S)


def strip_comments(text):
    """Blank out comments, keep the lines and the literals."""
    return re.sub(r'/\*.*?\*/|//[^\n]*',
                  lambda m: "\n" * m.group(0).count("\n") or " ", text,
                  flags=re.S)


def check_files(t):
    """SPDX, ASCII; blanks at the end of lines."""
    for name in t.files:
        if name.endswith(".patch") or not (
                name.endswith(TEXT) or name.startswith("tests/qemu/")):
            continue
        data = t.read(name)
        if b"\0" in data:
            continue
        t.checks += 1
        lines = data.split(b"\n")
        if not name.endswith((".md", ".service")):
            head = b"\n".join(lines[:3])
            if b"SPDX-License-Identifier:" not in head:
                t.say(name, 1, "no SPDX-License-Identifier at the top")
        for i, line in enumerate(lines, 1):
            if UNPRINTABLE.search(line):
                t.say(name, i, "a character that is not printable ASCII")
            if line.endswith((b" ", b"\t")):
                t.say(name, i, "blanks at the end of the line")


def check_ends(t):
    """Nothing that a peer sends may end a process or a kernel."""
    for name in t.under("backend/", "common/", "xenstore/",
                        "tools/doorbelld/"):
        if name.startswith("backend/helper/") or name in MAY_END:
            continue
        t.checks += 1
        for i, line in enumerate(strip_c(t.text(name)).split("\n"), 1):
            m = ENDS.search(line)
            if m and not re.match(r"#\s*define", line):
                t.say(name, i, f"{m.group(1)}() in the daemon: a guest "
                               "must not be able to end it; use be_fault()")
    for name in t.under(*MODULES):
        t.checks += 1
        for i, line in enumerate(strip_c(t.text(name)).split("\n"), 1):
            m = KERNEL_ENDS.search(line)
            if m:
                t.say(name, i, f"{m.group(1)}() in a module: a peer must not "
                               "be able to stop the kernel or fill its log")


def defined(text, name):
    """Is there such a function, or a reason why there is none?"""
    return name in NO_LINK or \
        re.search(rf"^[a-z].*\b{name}\((?!.*;$)", text, re.M)


# Links of a verb's path that there are not: what the daemon does without a system call
# of the verbs kernel; and files, of which either side has one path for all kinds
# (frontend/files/file.h, backend/verbs/file.h).
NO_LINK = {"uv_get_info", "uv_query_pkey_table", "uv_query_counter_names",
           "uv_query_counters", "uv_dealloc_ucontext"} | {
    f"{layer}_{verb}_{kind}" for layer in ("vhca_cmd", "uv")
    for verb in ("alloc", "dealloc") for kind in ("cm", "umad")}


def check_ops(t):
    """An opcode is one stem through all six layers."""
    header = t.text("include/xen/io/vhcaif.h")
    ops = re.findall(r"#define XENVHCA_OP_(\w+)\s+0x", header)
    dispatch = t.text("backend/worker/dispatch.c")
    headers = "".join(t.text(n) for n in t.under("frontend/", ext=(".h",)))
    backend = "".join(t.text(n) for n in t.under("backend/", ext=(".c",)))
    frontend = "".join(t.text(n) for n in t.under("frontend/", ext=(".c",)))
    rows = "\n".join(line for line in
                     t.text("docs/design/data-path.md").split("\n")
                     if line.startswith("|"))
    tests = "".join(t.text(n) for n in t.under("tests/wire/", "tests/unit/")
                    if os.path.basename(n).startswith("test_"))
    good = t.text("tests/wire/good.c")
    for op in ops:
        if op == "MAX":
            continue
        t.checks += 1
        stem = op.lower()
        # be_destroy() and vhca_cmd_destroy() end kinds that need nothing of their own.
        ends = f"ROW_END({op}, {stem}," in dispatch
        need = [
            (ends or f"ROW({op}, {stem}," in dispatch,
             "a row in backend/worker/dispatch.c"),
            (ends or re.search(rf"^int be_{stem}\(", backend, re.M),
             f"be_{stem}() in backend/"),
            (f"vhca_cmd_{stem}" in NO_LINK or f"vhca_cmd_{stem}(" in headers or
             re.search(rf"\bvhca_cmd_(destroy|\w+_ownerless)\([^;]*XENVHCA_OP_{op}\b",
                       frontend),
             f"vhca_cmd_{stem}() in a header of frontend/"),
            (f"XENVHCA_OP_{op}" in frontend, "its use in frontend/"),
            (defined(backend, f"uv_{stem}"),
             f"uv_{stem}() in backend/uverbs/"),
            (re.search(rf"\b{op}\b", rows), "a row in docs/design/data-path.md"),
            (f"XENVHCA_OP_{op}" in tests,
             "a test that sends it in tests/wire/ or tests/unit/"),
            (f"NAME({op})" in good,
             "a row in tests/wire/good.c, of what hostile tests send"),
        ]
        for ok, what in need:
            if not ok:
                t.say("include/xen/io/vhcaif.h", 1,
                      f"XENVHCA_OP_{op} lacks {what}")


def check_names(t):
    """A part's prefix means that a name crosses files: statics have none."""
    ops = re.findall(r"#define XENVHCA_OP_(\w+)\s+0x",
                     t.text("include/xen/io/vhcaif.h"))
    stems = {"vhca_" + op.lower() for op in ops}
    for part, prefix in (("frontend/", "vhca_"), ("backend/", "be_"),
                         ("xenstore/", "xn_")):
        static = re.compile(rf"^static\s[^;={{}}()]*?\b({prefix}\w+)\s*[(\[=;]",
                            re.M)
        for name in t.under(part, ext=(".c",)):
            t.checks += 1
            text = t.text(name)
            for m in static.finditer(text):
                if m.group(1) not in stems:
                    t.say(name, text.count("\n", 0, m.start()) + 1,
                          f"{m.group(1)} is static: no prefix {prefix}")


def check_nodes(t):
    """Names of nodes are written once, in headers of include/."""
    header = "".join(t.text(n) for n in ("include/xen/io/vhcaif.h",
                                         "include/vhca-agent.h", "include/vhca-keys.h"))
    names = set(re.findall(r'#define XENVHCA_NODE_\w+\s+"([^"]+)"', header))
    names |= {"max-" + word for word in
              re.findall(r"^    X\([A-Z]+, (\w+), \d+\)", header, re.M)}
    # Also ordinary words of messages and keys: meaningless to search for.
    names -= {"port", "hca", "kernel", "umad", "version", "versions", "broken"}
    for name in t.under("frontend/", "backend/", "common/", "xenstore/",
                        "tools/"):
        t.checks += 1
        for i, line in enumerate(t.text(name).split("\n"), 1):
            for lit in re.findall(r'"((?:\\.|[^"\\])*)"', line):
                if lit in names:
                    t.say(name, i, f'node name "{lit}" as a literal; '
                                   "use XENVHCA_NODE_*")


def number_keys(t):
    """Keys of a device that are numbers, as the manual has them."""
    awk = subprocess.run(
        ["awk", "-f", "tools/vhcactl/keys.awk", "include/xen/io/vhcaif.h",
         "include/vhca-keys.h", "-"],
        cwd=t.top, input="@KEY_ROWS@\n", capture_output=True, text=True,
        check=True)
    for row in awk.stdout.splitlines():
        name, values, _, _ = row.replace("\\-", "-").split("\t")
        yield name, values.split("..")[1]


def check_keys(t):
    """libxl's patches have every key; Xen's tree cannot read our header."""
    patches = [n for n in t.files
               if re.match(r"tools/patches/xen-libxl/0002-.*\.patch$", n)]
    for name, most in number_keys(t):
        t.checks += 1
        for other in patches:
            if not re.search(rf'NUMBER\("{name}",\s*\w+,\s*\d, {most}\)',
                             t.text(other)):
                t.say(other, 1, f"no NUMBER() for {name}, to {most}")


def check_shared(t):
    """Shared memory of a guest is touched in one file per side."""
    ring = re.compile(r"\bRING_(COPY|GET)_(REQUEST|RESPONSE)\b|\bsring->|"
                      r"\bxenvhca_(evt|kick)_page\b")
    allowed = {"backend/carrier/ring_shm.c", "backend/carrier/ring_xen.c",
               "frontend/ring/ring.c", "frontend/ring/ring_cmd.c",
               "frontend/ring/ring_event.c", "frontend/ring/ring_kick.c"}
    guest = re.compile(r"\bops->map\b")
    for name in t.under("frontend/", "backend/", ext=(".c",)):
        t.checks += 1
        for i, line in enumerate(strip_c(t.text(name)).split("\n"), 1):
            if ring.search(line) and name not in allowed:
                t.say(name, i, "touches a ring; only ring files do")
            if guest.search(line) and name != "backend/verbs/gmap.c":
                t.say(name, i, "maps guest memory; only gmap.c does")


def part_of(name):
    """The part that a file belongs to."""
    return next((p for p in PARTS if name.startswith(p)), "")


def find_header(t, name, header):
    """Where the compiler finds a header that a file includes, or None."""
    for folder in (os.path.dirname(name), "include", "common/lib", "common",
                   part_of(name), ""):
        path = os.path.normpath(os.path.join(folder, header))
        if path in t.files:
            return path
    return None


def may_enter(name, header):
    """May a file of one of the daemon's rooms include that header?"""
    here, there = os.path.dirname(name), os.path.dirname(header)
    return here == there or here not in ROOMS or there not in ROOMS or \
        there in ROOMS[here]


# Made by Kbuild.
GENERATED = {"probes.h"}


def check_includes(t):
    """No part includes what is private to another one."""
    for name in t.under(*PARTS):
        t.checks += 1
        for m in INCLUDE.finditer(t.text(name)):
            line = t.text(name).count("\n", 0, m.start(1)) + 1
            path = find_header(t, name, m.group(1))
            if not path and m.group(1) in GENERATED:
                continue
            if not path:
                t.say(name, line, f"{m.group(1)} is not a header of ours")
            elif part_of(path) != part_of(name) and \
                    not path.startswith(SHARED):
                t.say(name, line, f"{path} is private to another part")
            elif not may_enter(name, path):
                t.say(name, line, f"{path} is none of this room's business")


def check_seam(t):
    """Rooms behind the seam for configuration name none of its implementations."""
    for name in t.under(*SEALED):
        t.checks += 1
        for i, line in enumerate(strip_comments(t.text(name)).split("\n"), 1):
            m = STORE.search(line)
            if m:
                t.say(name, i, f"{m.group(0)}: only backend/main.c chooses where "
                               "devices are configured")


def check_sleeps(t):
    """A scenario waits for states; an interval that it measures says so."""
    for name in t.under("tests/qemu/scenarios/", ext=(".sh",)):
        t.checks += 1
        for i, line in enumerate(t.text(name).split("\n"), 1):
            if re.search(r"(^|[;&(]\s*|\bdo )\s*sleep [1-9](?!.*# measured$)", line):
                t.say(name, i, "waits for a time: wait for a state")


def check_proofs(t):
    """What docs/design/threat-model.md says shows a rule is there: a test, or a scenario."""
    name = "docs/design/threat-model.md"
    tests = {os.path.basename(n)[:-2] for n in t.under("tests/", ext=(".c",))}
    scenarios = {}
    for n in t.under("tests/qemu/scenarios/", ext=(".sh",)):
        scenarios.setdefault(os.path.basename(n).split("-")[0], []).append(
            "\n# tier: soak\n" in t.text(n))
    for i, line in enumerate(t.text(name).split("\n"), 1):
        if not re.match(r"\| [BF]\d+ \|", line):
            continue
        t.checks += 1
        shown = line.rstrip(" |").rsplit("|", 1)[-1]
        for test in re.findall(r"`(\w+)`", shown):
            if test not in tests:
                t.say(name, i, f"there is no test {test}")
        for number, soak in re.findall(r"\b(\d\d)\b( \(soak\))?", shown):
            if number not in scenarios:
                t.say(name, i, f"there is no scenario {number}")
            elif all(scenarios[number]) != bool(soak):
                t.say(name, i, f"{number} is wrong about the tier: (soak) or not")


def check_states(t):
    """The states and transitions of a verbs file in the page are those of the code."""
    name = "docs/design/teardown.md"
    rows = set(re.findall(r"^\|.*`(BE_(?:VFILE|UNTIL)_\w+)`", t.text(name), re.M))
    for header, enum in (("backend/core/vfile.h", "be_vfile_state"),
                         ("backend/supervise/guard.h", "be_until")):
        t.checks += 1
        for body in re.findall(rf"enum {enum} {{(.*?)}};", t.text(header), re.S):
            for state in re.findall(r"\bBE_(?:VFILE|UNTIL)_\w+", strip_c(body)):
                if state not in rows:
                    t.say(header, 1, f"{name} has no row of {state}")
                rows.discard(state)
    for state in rows:
        t.say(name, 1, f"{state} is no state of a verbs file or a guard")
    code = "backend/context/vfile.c"
    table = {(a.lower(), b.lower())
             for a, ends in re.findall(r"\[BE_VFILE_(\w+)\] = (TO[^,]*),", t.text(code))
             for b in re.findall(r"TO\((\w+)\)", ends)}
    drawn = {(a, m.group(2)) for m in
             re.finditer(r"^    ([a-z, ]+?) +-- .*-> (\w+)$", t.text(name), re.M)
             for a in m.group(1).split(", ")}
    for a, b in sorted(table ^ drawn):
        t.say(name, 1, f"{a} -> {b} is in the " + (f"table of {code} only" if (a, b) in table
                                                  else "drawing only"))


def check_tables(t):
    """A table is read at a glance: text longer than CELL stands below it."""
    for name in t.under("", ext=(".md",)):
        t.checks += 1
        for i, line in enumerate(t.text(name).split("\n"), 1):
            if not line.lstrip(" ").startswith("|"):
                continue
            for cell in re.split(r"(?<!\\)\|", line):
                if len(cell.strip()) > CELL:
                    t.say(name, i, f"a cell of {len(cell.strip())} characters; "
                                   f"at most {CELL}")
                    break


def check_circles(t):
    """Headers of a part do not include each other in a circle."""
    graph = {}
    for name in t.under("frontend/", "backend/", "common/", "xenstore/",
                        "tools/", "include/", ext=(".h",)):
        t.checks += 1
        found = (find_header(t, name, m.group(1))
                 for m in INCLUDE.finditer(t.text(name)))
        graph[name] = [h for h in found if h]
    done = set()

    def walk(name, path):
        if name in path:
            t.say(name, 1, "includes itself: " + " ".join(path))
        elif name not in done:
            for other in graph.get(name, ()):
                walk(other, path + [name])
            done.add(name)

    for name in graph:
        walk(name, [])


def check_duplicates(t):
    """What is written twice, SAME_LINES lines of code and more, is one thing."""
    seen = {}
    for name in t.under("frontend/", "backend/", "common/", "include/",
                        "xenstore/", "tools/"):
        t.checks += 1
        lines = [(i, line.strip()) for i, line in
                 enumerate(strip_comments(t.text(name)).split("\n"), 1)]
        lines = [(i, line) for i, line in lines
                 if re.search(r"\w", line) and not line.startswith("#include")]
        last = None
        for n in range(len(lines) - SAME_LINES + 1):
            run = tuple(line for _, line in lines[n:n + SAME_LINES])
            other = seen.setdefault(run, (name, lines[n][0]))
            if other != (name, lines[n][0]) and (last is None or n > last):
                t.say(name, lines[n][0], f"as {other[0]}:{other[1]}: write "
                      "it once")
                last = n + SAME_LINES


def main():
    """Run every check over the tree."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--top", default=os.path.join(os.path.dirname(
        os.path.abspath(__file__)), "..", ".."))
    t = Tree(os.path.abspath(p.parse_args().top))
    for check in (check_files, check_ends, check_ops,
                  check_names, check_nodes, check_keys, check_shared,
                  check_includes, check_seam, check_sleeps, check_proofs,
                  check_states, check_tables, check_circles, check_duplicates):
        check(t)
    print(f"{t.checks} checks, {t.bad} complaints")
    return 1 if t.bad else 0


if __name__ == "__main__":
    sys.exit(main())
