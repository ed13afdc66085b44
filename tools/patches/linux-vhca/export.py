#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Exports the frontend as a driver of Linux' tree: drivers/infiniband/hw/xen-vhca, its
# Kconfig, documentation and entries, as a series of patches (git am).
#
# The driver is this tree's, file by file, as the newest kernel has it: what compat.h has
# for older kernels goes, and each of its names is replaced by what it stands for. What the
# driver does until ib_core has the first patch of the series goes by in-tree.patch.
#
# Usage: export.py KERNEL-TREE OUTPUT-FOLDER
#   KERNEL-TREE: sources of the kernel, without changes; it stays as it is
#   OUTPUT-FOLDER: gets 0000-cover-letter.patch, 0001-....patch; must be empty
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
DRIVER = "drivers/infiniband/hw/xen-vhca"
INTERFACE = "include/xen/interface/io/vhcaif.h"

# Files of the kernel that get a line, and those that the patches of ib_core change.
CHANGED = ["MAINTAINERS", "Documentation/infiniband/index.rst", "drivers/infiniband/Kconfig",
           "drivers/infiniband/hw/Makefile", "drivers/infiniband/core/core_priv.h",
           "drivers/infiniband/core/uverbs_std_types_device.c", "include/rdma/ib_verbs.h"]

# compat.h's, which <rdma/ib_verbs.h> has after 0001.
IN_CORE = r"/\*\n(?: \*[^\n]*\n)+ \*/\nstruct ib_client_nl_info \{.*?\n\};\n"


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def fail(*what):
    sys.exit("export: " + " ".join(what))


def version_of(tree):
    """The kernel's version, as KERNEL_VERSION() makes it."""
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$",
                            read(f"{tree}/Makefile"), re.M))
    return tuple(int(found[k]) for k in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def choose(text, true):
    """Without the conditions for which true() knows an answer (True, False; None: it
    does not), and without the branches that are not taken."""
    out, stack = [], []
    for line in text.splitlines(keepends=True):
        word = re.match(r"#\s*(if|ifdef|ifndef|else|elif|endif)\b\s*(.*)", line)
        if not word:
            if all(taken is not False for taken in stack):
                out.append(line)
            continue
        if word[1] in ("if", "ifdef", "ifndef"):
            stack.append(true(word[1], word[2].strip()))
        if stack[-1] is None:
            if all(taken is not False for taken in stack):
                out.append(line)
        elif word[1] == "elif":
            fail("no answer to", line)
        elif word[1] == "else":
            stack[-1] = not stack[-1]
        if word[1] == "endif":
            stack.pop()
    return "".join(out)


def newest(version):
    def true(word, condition):
        if condition.startswith("VHCA_HAVE_"):
            return word == "ifdef"      # frontend/probes.in asks for the newest forms
        if condition == "CONFIG_DMA_OPS":
            return False
        test = re.match(r"LINUX_VERSION_CODE (<|>=) KERNEL_VERSION\((\d+), (\d+), (\d+)\)$",
                        condition)
        if test:
            older = version < tuple(int(n) for n in test.groups()[1:])
            return older == (test[1] == "<")
        if word == "ifndef" and condition != "VHCA_COMPAT_H":
            return False        # an accessor that older kernels lack
        return None
    return true


def in_kernel(word, condition):
    return word == "ifdef" if condition == "__KERNEL__" else None


def stand_for(version):
    """compat.h's names for the newest kernel: (name, parameter or None, text)."""
    text = choose(read(f"{TOP}/frontend/compat.h"), newest(version))
    text, found = re.subn(IN_CORE, "", text, flags=re.S)
    if found != 1:
        fail("compat.h has no struct ib_client_nl_info")
    names = [(m[1], m[2], m[3].strip()) for m in
             re.finditer(r"^#define (\w+)(?:\((\w+)\))?[ \t]*(.*)$", text, re.M)
             if m[1] != "VHCA_COMPAT_H"]
    rest = re.sub(r"/\*.*?\*/|^#.*$", "", text, flags=re.M | re.S).strip()
    if rest:
        fail("no way to export this of compat.h:\n" + rest)
    return names


def expanded(text, name, parameter, value):
    """A macro with a parameter. Where these are used, neither an argument nor what the
    macro stands for needs parentheses."""
    argument = rf"\b{name}\(((?:[^()\n]|\([^()\n]*\))*)\)"
    if not value:
        return re.sub(rf"^\t{argument};\n", "", text, flags=re.M)
    plain = re.sub(r"^\((.*)\)$", r"\1", value)
    plain = re.sub(rf"(?<!\w)\({parameter}\)|\b{parameter}\b", r"\\1", plain)
    return re.sub(argument, plain, text)


def without_compat(text, names):
    text = re.sub(r'^#include "compat\.h"\n', "", text, flags=re.M)
    for name, parameter, value in names:
        if parameter:
            text = expanded(text, name, parameter, value)
        elif value.endswith("*"):
            text = realigned(text, lambda line: re.sub(rf"\b{name} ", value, line))
        elif value == "true":
            text = re.sub(rf"\b{name} && ", "", text)
        elif not value:
            text = re.sub(rf"^\t(?:return )?{name};?\n", "", text, flags=re.M)
            text = re.sub(rf"\b{name} ", "", text)
        else:
            text = realigned(text, lambda line: re.sub(rf"\b{name}\b", value, line))
        if re.search(rf"\b{name}\b", text):
            fail(f"{name} is not replaced")
    return text


def open_at(line):
    """The column behind the last parenthesis that the line leaves open, or None."""
    left = []
    for i, c in enumerate(line.expandtabs()):
        if c == "(":
            left.append(i + 1)
        elif c == ")" and left:
            left.pop()
    return left[-1] if left else None


def realigned(text, change):
    """Lines by change(); what was aligned to a parenthesis is aligned to it again."""
    out, before, now = [], None, None
    for old in text.split("\n"):
        line = change(old)
        indent = len(old.expandtabs()) - len(old.expandtabs().lstrip())
        if before is not None and indent == before:
            line = "\t" * (now // 8) + " " * (now % 8) + line.lstrip()
            if open_at(old) is not None:
                before, now = open_at(old), open_at(line)
        else:
            before, now = open_at(old), open_at(line)
        out.append(line)
    return "\n".join(out)


def kernel_forms(text):
    """Of what daemon and tests compile, too, and of what older kernels lack."""
    text = realigned(text, lambda line: re.sub(r"\buint(8|16|32|64)_t\b", r"u\1", line))
    text = re.sub(r"kzalloc\(sizeof\((\*?\w+)\), (\w+)\)", r"kzalloc_obj(\1, \2)", text)
    text = re.sub(r"(kzalloc_obj\(\*?\w+), GFP_KERNEL\)", r"\1)", text)
    text = re.sub(r"ERR_PTR\(PTR_ERR\((\w+)\)\)", r"ERR_CAST(\1)", text)
    text = text.replace("ERR_PTR(0)", "NULL")
    text, found = re.subn(r"sizeof\((\w+)\) / sizeof\(\1\[0\]\)", r"ARRAY_SIZE(\1)", text)
    if found:
        text = text.replace("#include <linux/", "#include <linux/array_size.h>\n#include <linux/",
                            1)
    return text


def source(path, names):
    text = kernel_forms(choose(without_compat(read(path), names), in_kernel))
    text = re.sub(r'"(?:\.\./)+common/kernel/', '"', text)
    return text.replace("<xen/io/vhcaif.h>", "<xen/interface/io/vhcaif.h>")


def driver(to, names):
    for folder, _, files in os.walk(f"{TOP}/frontend"):
        for name in files:
            if name.endswith((".c", ".h")) and name not in FOR_OLDER:
                path = os.path.join(folder, name)
                write(f"{to}/{os.path.relpath(path, f'{TOP}/frontend')}", source(path, names))
    for folder, place in (("common/provider", "provider/"), ("common/kernel", ""),
                          ("include", "")):
        for name in sorted(os.listdir(f"{TOP}/{folder}")):
            if name.endswith((".c", ".h")) and name not in NOT_FRONTEND:
                write(f"{to}/{place}{name}", source(f"{TOP}/{folder}/{name}", names))
    write(f"{to}/Makefile", makefile())
    shutil.copy(f"{HERE}/Kconfig", f"{to}/Kconfig")


# Of frontend/: for older kernels (probes.h: left by a build there).
FOR_OLDER = {"compat.h", "probes.h", "older.c"}

# Of include/: the toolstack's and the agent's.
NOT_FRONTEND = {"vhca-agent.h", "vhca-keys.h"}


def makefile():
    text = read(f"{TOP}/frontend/Kbuild").split("\n# What this kernel has")[0]
    text = text.replace(" older.o", "")
    lists = read(f"{TOP}/common/provider/list.mk")
    objects = " ".join(f"{name}.o" for name in re.findall(r"common/provider/(\w+)\.c", lists))
    text, found = re.subn(r"^include .*\n.*provider_sources.*\n",
                          f"xen-vhcafront-y += $(addprefix provider/, {objects})\n",
                          text, flags=re.M)
    if found != 1:
        fail("frontend/Kbuild names no provider_sources")
    text = text.replace("#\n# make -C KERNEL M=$PWD/frontend; no configure needed.\n", "")
    text = text.replace(" -I$(src)/../include", "")
    return text.replace("obj-m :=", "obj-$(CONFIG_INFINIBAND_XEN_VHCA) +=")


def read_utf8(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def insert(path, before, text):
    """In front of the line that begins so; None: at the end."""
    old = read_utf8(path)
    at = before and re.search(rf"^{re.escape(before)}", old, re.M)
    if before and not at:
        fail(f"{path} has no line {before!r}")
    at = at.start() if at else len(old)
    write(path, old[:at] + text + old[at:])


class Series:
    """A repository of the files that change; a commit for each patch."""

    def __init__(self, tree, version):
        self.dir = tempfile.mkdtemp(prefix="vhca-export.")
        self.git("init", "-q")
        for path in CHANGED:
            os.makedirs(os.path.dirname(f"{self.dir}/{path}"), exist_ok=True)
            shutil.copy(f"{tree}/{path}", f"{self.dir}/{path}")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "Linux " + ".".join(map(str, version)))
        self.git("tag", "base")

    def git(self, *words):
        who = "The vhca authors", "vhca@lists.invalid"
        env = dict(os.environ, GIT_AUTHOR_NAME=who[0], GIT_AUTHOR_EMAIL=who[1],
                   GIT_COMMITTER_NAME=who[0], GIT_COMMITTER_EMAIL=who[1],
                   GIT_AUTHOR_DATE="2026-11-30T12:00:00Z", GIT_CONFIG_GLOBAL="/dev/null",
                   GIT_CONFIG_SYSTEM="/dev/null")
        subprocess.run(["git", "-C", self.dir, *words], env=env, check=True)

    def commit(self, message, paths):
        self.git("add", "--", *paths)
        self.git("commit", "-q", "-m", message)

    def export(self, to):
        self.git("format-patch", "-q", "--zero-commit", "--signature=vhca", "--cover-letter",
                 "-o", os.path.abspath(to), "base")
        cover = f"{to}/0000-cover-letter.patch"
        subject, body = read(f"{HERE}/cover-letter.txt").split("\n", 1)
        text = read_utf8(cover).replace("*** SUBJECT HERE ***", subject)
        write(cover, text.replace("*** BLURB HERE ***", body.strip()))
        shutil.rmtree(self.dir)


def messages():
    """series.txt: (paths, message) of each patch that has files of the driver."""
    parts = re.split(r"^== (.*)\n", read(f"{HERE}/series.txt"), flags=re.M)[1:]
    return [(p.split(), wrapped(m.strip())) for p, m in zip(parts[::2], parts[1::2])]


def wrapped(message):
    """Lines as commit messages have them."""
    subject, *paragraphs = message.split("\n\n")
    return "\n\n".join([subject] + [textwrap.fill(p, 72) for p in paragraphs])


def main(tree, to):
    if os.path.isdir(to) and os.listdir(to):
        fail(to, "is not empty")
    os.makedirs(to, exist_ok=True)
    version = version_of(tree)
    names = stand_for(version)
    series = Series(tree, version)
    work = series.dir
    for patch in sorted(os.listdir(f"{HERE}/core")):
        series.git("am", "-q", f"{HERE}/core/{patch}")

    shutil.copytree(f"{HERE}/Documentation", f"{work}/Documentation", dirs_exist_ok=True)
    os.makedirs(os.path.dirname(f"{work}/{INTERFACE}"))
    shutil.copy(f"{TOP}/include/xen/io/vhcaif.h", f"{work}/{INTERFACE}")
    driver(f"{work}/{DRIVER}", names)
    series.git("apply", f"--directory={DRIVER}", f"{HERE}/in-tree.patch")
    insert(f"{work}/MAINTAINERS", "XEN SOUND FRONTEND DRIVER", read(f"{HERE}/MAINTAINERS"))
    insert(f"{work}/Documentation/infiniband/index.rst", None, "   xen_vhca\n")
    insert(f"{work}/drivers/infiniband/Kconfig", 'source "drivers/infiniband/sw/rdmavt/',
           f'source "{DRIVER}/Kconfig"\n')
    insert(f"{work}/drivers/infiniband/hw/Makefile", None,
           "obj-$(CONFIG_INFINIBAND_XEN_VHCA)\t+= xen-vhca/\n")
    for paths, message in messages():
        series.commit(message, paths)
    left = subprocess.run(["git", "-C", work, "status", "--porcelain"], check=True,
                          capture_output=True, text=True).stdout
    if left:
        fail("in no patch of series.txt:\n" + left)
    series.export(to)


if len(sys.argv) != 3:
    sys.exit("usage: export.py KERNEL-TREE OUTPUT-FOLDER")
main(os.path.abspath(sys.argv[1]), sys.argv[2])
