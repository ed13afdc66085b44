#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Runs the tests that rdma-core brings with its Python bindings and prints a line for
# each: NAME<TAB>ok, skipped, failed, error or hung<TAB>why, in a form that compare.sh
# holds against another run. It judges nothing. Each test has a process of its own, so
# that one that hangs or dies is a line, and the same random numbers in each run.
#
#   verdicts.py --tests FOLDER --dev NAME [--gid N] [--timeout SECONDS] [PATTERN...]
"""Verdicts of rdma-core's tests, one line each."""
import argparse
import fnmatch
import importlib
import os
import random
import re
import select
import signal
import sys
import unittest

PREFIX = "tests."


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--tests", required=True, help="folder of rdma-core's tests")
    p.add_argument("--dev", required=True, help="RDMA device")
    p.add_argument("--gid", help="index of the GID")
    p.add_argument("--timeout", type=int, default=60, help="seconds for one test")
    p.add_argument("pattern", nargs="*", help="names of tests, default all")
    return p.parse_args()


def load(folder, dev, gid):
    """All tests, in the order of their names; the modules read sys.argv."""
    folder = os.path.abspath(folder)
    sys.path[:0] = [os.path.dirname(folder), folder]
    sys.argv[1:] = ["--dev", dev] + (["--gid", gid] if gid else [])
    importlib.import_module("args_parser").parser.parse_args()
    found = []

    def flatten(suite):
        for t in suite:
            if isinstance(t, unittest.TestSuite):
                flatten(t)
            else:
                found.append(t)

    for name in sorted(os.listdir(folder)):
        if name.startswith("test_") and name.endswith(".py"):
            module = importlib.import_module(PREFIX + name[:-3])
            flatten(unittest.defaultTestLoader.loadTestsFromModule(module))
    return sorted(found, key=lambda t: t.id())


def reason(text):
    """One line without what differs from run to run: addresses, names, places."""
    line = text.strip().split("\n")[-1]
    line = re.sub(r"0x[0-9a-fA-F]+|\b(vhca|mlx5_|rxe|uverbs)\d+\b", "*", line)
    return re.sub(r"[\t\r]", " ", line)[:160]


class Verdict(unittest.TestResult):
    """The first thing that happens to a test is its verdict."""

    def __init__(self):
        super().__init__()
        self.word, self.why = "", ""

    def say(self, word, why=""):
        if not self.word:
            self.word, self.why = word, reason(why)

    def addSuccess(self, test):
        self.say("ok")

    def addSkip(self, test, reason):
        self.say("skipped", reason)

    def addError(self, test, err):
        self.say("error", f"{err[0].__name__}: {err[1]}".split("\n")[0])

    def addFailure(self, test, err):
        self.say("failed", f"{err[0].__name__}: {err[1]}".split("\n")[0])

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addError(test, err)


def child(test, out):
    """In a process of its own: what tests print is nobody's."""
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    random.seed(test.id())
    v = Verdict()
    test.run(v)
    os.write(out, f"{v.word or 'ok'}\t{v.why}".encode())
    os._exit(0)


def run(test, timeout):
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(r)
        try:
            child(test, w)
        finally:
            os._exit(1)
    os.close(w)
    ready = select.select([r], [], [], timeout)[0]
    answer = os.read(r, 4096).decode("ascii", "replace") if ready else "hung\t"
    os.close(r)
    if ready and not answer:
        answer = "died\t"
    try:        # and what it left behind
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)
    return answer


def main():
    opt = options()
    for test in load(opt.tests, opt.dev, opt.gid):
        name = test.id()[len(PREFIX):]
        if opt.pattern and not any(fnmatch.fnmatch(name, p) for p in opt.pattern):
            continue
        print(f"{name}\t{run(test, opt.timeout)}", flush=True)


main()
