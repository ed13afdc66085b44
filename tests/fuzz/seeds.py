#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Seed inputs of a fuzz target:  tests/fuzz/seeds.py TARGET FOLDER
"""Writes the first inputs of a corpus."""
import os
import random
import struct
import sys


def soft_requests():
    """Every op alone, good and with one word spoilt, and short sequences."""
    ops = list(range(0x10, 0x4a))
    for op in ops:
        yield bytes([0, op, 0])
        yield bytes([0, op, 1, 8, 16, 0, 0xff, 0xff, 0xff, 0x7f])
        yield bytes([0, op, 2, 9, 16, 0, 3, 0, 0, 0, 8, 4, 0, 1, 0, 0, 0])
    yield bytes([0] + [b for op in ops for b in (op, 0)])
    yield bytes([0] + [b for op in (0x30, 0x1a, 0x33, 0x2c, 0x1a, 0x2e, 0x19)
                       for b in (op, 0)])


def requests():
    """Those on Soft-RoCE, on a ConnectX, and doorbells there."""
    for seed in soft_requests():
        yield b"\0" + seed
        if len(seed) < 20:
            yield b"\1" + seed[:1] + b"\0" + seed[1:]
    bell, program, mood, xrc = 1, 2, 3, 4
    for place in (0, 1):
        one = [bell, 0, place, 0x00]
        other = [bell, 0, place + 2, 0x31]
        end = [program, 0, 0]
        again = [program, 1 + 4 * 7]
        yield bytes([1, 0] + one + other + one + end + again + again)
        for how in (0x08, 0x41, 0x42, 0x1b, 0x0c, 0x80, 0xf8):
            yield bytes([1, 0, mood, how] + one + other + end + [mood, 7] +
                        end + again)
            yield bytes([1, 0] + one + [mood, how] + end + again + one)
    # queues in a domain, then an end of each handle that there is
    queues = [xrc, 0, xrc, 1, xrc, 2]
    ends = [b for n in range(32) for b in (xrc, 8 * n + 3, n // 16)]
    yield bytes([1, 0] + queues * 2 + ends)
    yield bytes([1, 0] + queues + [xrc, 3, 1] + [program, 0, 0] + queues)
    for n in range(0, 256, 16):
        yield bytes([1, 0, bell, 0, 0, n, bell, 0, 1, n])


def pages():
    """Lists of each level, right and wrong."""
    for nr, level in ((1, 0), (8, 0), (100, 1), (1024, 1), (2000, 1),
                      (4096, 2), (9, 0), (0, 0), (5000, 2)):
        refs = [8 + i for i in range(8)]
        used = {0: nr, 1: (nr + 1023) // 1024, 2: 1}[level]
        refs = [r if i < used else 0 for i, r in enumerate(refs)]
        yield struct.pack("<IB3x8IB", nr, level, *refs, 23) + \
            struct.pack("<HI4H4H", min(nr, 1024), 9, *([0] * 8)) * 4


def specs():
    """Specifications of a device."""
    yield b"hca=rxe0"
    yield b"hca=rxe0,port=1,backend=dom1,max-qp=64"
    yield b" hca = rxe0 , spin-us=0,max-evt-rate=10000000,max-pinned-mb=1"
    yield b"hca=,port=0,colour=red,,=,hca"
    yield b"hca=" + b"x" * 200


def nodes():
    """Counted strings, as the fake xenstore reads them."""
    def packed(values):
        return b"".join(bytes([len(v)]) + v for v in values)
    conf = [b"/local/domain/1/device/vhca/0", b"1", b"rxe0"] + [b"64"] * 10 + \
        [b"2048", b"0", b"100000", b"50", b"1"]
    front = [b"1", b"4"] + [b"%d" % i for i in range(8, 26)] + [b"3"] * 3
    yield packed([b"4"]) + b"\1" + packed(conf)
    yield packed([b"4"]) + b"\0" + packed(front)
    yield packed([b"1"]) + b"\0" + packed([b"1", b"5"])
    yield packed([b"9"]) + b"\0" + packed([b"2"])
    yield packed([b"-1"]) + b"\1" + packed([b"", b"99999999999999999999"])


def dom0less():
    """Ranges of doorbell pages, and files of vhcactl dom0less."""
    for text in (b"0x8000140 0x8000140 0x760", b" 0x1\t0x1 0x1 ", b"0x0 0x1 0x1",
                 b"0xffffffffffffffff 0x1 0x1", b"0x8000140 0x8000140", b"1 2 3"):
        yield b"\1" + text
    full = b"own-domain 3\nmemory 704\nguest-reserve 16\n" \
        b"guest 1 g1 hca=mlx5_0,doorbell-static=0x8000140 0x8000140 0x760\nguest 2 g2\n"
    yield b"\0" + full
    yield b"\0" + full.replace(b"guest-reserve 16", b"no-xenstore # none")
    yield b"\0" + full.replace(b"guest 2", b"guest 1")
    yield b"\0own-domain 1\n" + b"".join(b"guest %d g hca=rxe0\n" % n for n in range(2, 70))


def iw():
    """Connections to peers and of peers, each of whose events comes late, twice or never."""
    def says(event, cookie, ident=0):
        return bytes([7, event, 0, ident, cookie])
    run = bytes([18])
    to_peer = [bytes([0, 0, 4]) + run] + [says(e, 1) for e in (0, 2, 5, 10)]
    of_peer = [bytes([1, 0]), says(4, 1, 9), bytes([2, 1, 1, 4]) + run, says(9, 2),
               bytes([5, 1, 1, 0]) + run]
    for steps in (to_peer, of_peer):
        for i in range(len(steps)):
            yield b"\0" + b"".join(steps[:i + 1])
            yield b"\1" + b"".join(steps[:i] + steps[i + 1:])
            yield b"\1" + b"".join(steps[:i] + [steps[i]] * 2 + steps[i + 1:])
            yield b"\0" + b"".join(steps[:i] + [bytes([6, 0, 0]) + run] + steps[i:])


def main():
    """Write one file per seed; random bytes for targets without a list."""
    target, folder = sys.argv[1:3]
    rnd = random.Random(target)
    seeds = {"fuzz_request": requests, "fuzz_pages": pages,
             "fuzz_vhcactl_keys": specs, "fuzz_xenstore": nodes,
             "fuzz_dom0less": dom0less, "fuzz_iw": iw}.get(target)
    if seeds is None:
        def seeds():
            for n in (16, 64, 256, 600, 1024, 2048):
                yield rnd.randbytes(n)
                yield bytes(rnd.choice((0, 1, 2, 8, 255)) for _ in range(n))
    for i, data in enumerate(seeds()):
        with open(os.path.join(folder, f"seed-{i:03}"), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
