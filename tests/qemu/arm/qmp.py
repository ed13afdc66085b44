#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
"""
Lets a machine ask its own monitor (QMP) over the share: each file FOLDER/request is sent
to the monitor, and what it answers is put into FOLDER/answer. Ends with the machine.

usage: qmp.py SOCKET FOLDER
"""
import json
import os
import select
import socket
import sys
import time

POLL = 0.02
BEGIN = 60      # seconds until the machine has a monitor


def connect(path):
    """The monitor's socket, which may not be there yet."""
    end = time.monotonic() + BEGIN
    while True:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            return s
        except OSError:
            s.close()
            if time.monotonic() > end:
                raise
        time.sleep(POLL)


def ask(monitor, text):
    """The answer, without the events before it; "" if there is nobody any more."""
    monitor.write(text + "\n")
    monitor.flush()
    for line in monitor:
        if not {"return", "error"}.isdisjoint(json.loads(line)):
            return line
    return ""


def main():
    path, folder = sys.argv[1:]
    request, answer = os.path.join(folder, "request"), os.path.join(folder, "answer")
    s = connect(path)
    monitor = s.makefile("rw", encoding="utf-8")
    monitor.readline()      # its greeting
    ask(monitor, '{"execute":"qmp_capabilities"}')
    while True:
        try:
            with open(request, encoding="utf-8") as f:
                text = f.read().strip()
            os.remove(request)
        except FileNotFoundError:
            if select.select([s], [], [], POLL)[0] and not monitor.readline():
                return
            continue
        line = ask(monitor, text)
        if not line:
            return
        with open(answer + ".new", "w", encoding="utf-8") as f:
            f.write(line)
        os.rename(answer + ".new", answer)


try:
    main()
except (BrokenPipeError, ConnectionError):
    pass
