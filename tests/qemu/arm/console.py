#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
"""
Takes files out of the console of a machine in which no domain has a device but its UART
(../root/utility-init sends them), until one of them is the verdict.

usage: console.py CONSOLE SHARE     files appear below SHARE, each as a whole

A file is "@@vhca-file PATH SHA256", its text in base64 behind "@@", and "@@vhca-end"; Xen
puts the domain's name before each line. What does not have its checksum is dropped: it is
sent twice.
"""
import base64
import binascii
import hashlib
import os
import re
import sys
import time

PAUSE = 0.3
BEGIN = re.compile(r"@@vhca-file ([\w./-]+) ([0-9a-f]{64})")


def lines(path):
    """Lines of a growing file, until it is gone."""
    rest = ""
    with open(path, encoding="ascii", errors="replace") as f:
        while os.path.exists(path):
            rest += f.read()
            *whole, rest = rest.split("\n")
            yield from whole
            time.sleep(PAUSE)


def files(console):
    """(path, data) of each file that came as it was sent."""
    name, digest, text = None, "", []
    for line in lines(console):
        found = BEGIN.search(line)
        if found:
            name, digest, text = found[1], found[2], []
        elif "@@vhca-end" in line and name:
            try:
                data = base64.b64decode("".join(text), validate=True)
            except binascii.Error:
                data = b""
            if hashlib.sha256(data).hexdigest() == digest and ".." not in name:
                yield name, data
            name = None
        elif "@@" in line and name:
            text.append(line.split("@@", 1)[1].strip())


def main():
    console, share = sys.argv[1:]
    while not os.path.exists(console):
        time.sleep(PAUSE)
    for name, data in files(console):
        path = os.path.join(share, name)
        if os.path.exists(path):
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as f:
            f.write(data)
        os.rename(path + ".new", path)
        if os.path.basename(name) == "status":
            return


main()
