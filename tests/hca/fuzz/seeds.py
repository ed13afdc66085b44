#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Seed inputs of a fuzz target:  tests/hca/fuzz/seeds.py TARGET FOLDER
"""Writes the first inputs of a corpus."""
import os
import random
import struct
import sys


def commands():
    """Every kind of step alone, unspoilt, and with single words spoilt."""
    for which in range(8):
        for code in range(5):
            for write in (0, 128):
                yield bytes([5, which | write, code]) + bytes(40)
    for step in range(5):
        for how in range(256):
            if how % 7 == 0:
                yield bytes([step, how]) + bytes(40)
        for word in (0, 1, 0xff, 0x80000000, 0xffffffff):
            for off in (0, 4, 8, 16, 24, 48, 56, 60, 63):
                yield bytes([step, 3, 0, 1, 5]) + struct.pack(
                    "<HI", off, word) + bytes(30)


QPS = 7         # hfuzz_qp(); the last one is a kernel's
OPS = 14        # hfuzz_post()
REG, INVAL, RNDV = 11, 12, 13


def reg(how, number, length=100):
    """Memory that is registered, as hfuzz_post() reads it."""
    return struct.pack("<BBHHB", how, number, 0, length, 15)


def request(how, length, key=0, rest=b""):
    """A rendezvous request, as hfuzz_post() reads it."""
    return struct.pack("<BHBH", how, 64, key, length) + rest


def post(sel, how, off=0, length=100, last=None, key=0):
    """A work request as hfuzz_post() reads it; key: of the peer's."""
    ends = {10: b"\xc5\1\0", REG: reg(0, 9), INVAL: b"\0",
            RNDV: request(1, 500)}
    return struct.pack("<BBHHHBHBB", sel, how, off, length, 16, key, 1, 0,
                       key) + (b"" if key & 3 else b"\3") + \
        struct.pack("<HHB", 0, 4096, 15) + (last or ends.get(sel & 15, b""))


def receive(how):
    """A receive as hfuzz_post() reads it."""
    return struct.pack("<BBHHHH", 0x80, how, 0, 0, 0, 32000)


def traffic(first, last, begin=b""):
    """Receives, then every operation on every queue pair."""
    for how in range(QPS):
        for op in range(OPS):
            yield begin + first(receive(how) * 1) + first(post(0x40 + op, how)) + \
                first(post(op, how, 7, 21000)) + last
    yield begin + b"".join(first(receive(how)) for how in range(QPS)) + \
        b"".join(first(post(0x40 + op, how)) for op in range(OPS)
                 for how in range(QPS)) + last


def tags():
    """Lists of tagged buffers, and messages that match them or do not."""
    ops = [post(0x4a, 5, 4096, 100, bytes([how, index, count]))
           for how, index, count in ((0xc5, 1, 0), (0xd5, 2, 0), (0xc2, 0, 0),
                                     (0xc0, 0, 1), (0xc5, 1, 1), (0xe5, 9, 0))]
    for opcode in (0, 1, 3):
        for tag in (1, 2):
            tmh = struct.pack(">B3xIQ", opcode, 7, tag)
            for length in (3, 6, 40, 2000):
                yield bytes([len(tmh)]) + tmh + b"\0\1" + receive(5) + \
                    b"\0\1" + receive(5) + \
                    b"".join(b"\0\1" + o + b"\0\0" + post(0x40, 5, 0, length)
                             for o in ops) + b"\7\xff\0"
    for how, length, key, rest in ((1, 200, 0, b""), (1, 301, 0, b""), (1, 300, 1, b""),
                                   (5, 60, 0, b""), (9, 60, 0, b"\27"), (2, 0, 2, b""),
                                   (0x81, 60, 0, b"\2")):
        for room in (0, 1, 4):
            yield b"\0\1" + receive(5) + (b"\0\0" + receive(5)) * room + \
                b"".join(b"\0\1" + o + b"\0\0" + post(0x4d, 5, last=request(
                    how, length, key, rest)) for o in ops) + b"\7\xff\0"


def registrations():
    """Regions that the peer writes, reads and invalidates, or their owner."""
    for pieces in (0, 1):
        key = 2 | pieces << 2
        for number in (1, 3, 8, 9, 33, 64, 80):
            for how in (0, 2, 4, 12, 16):
                last = reg(how | pieces, number, number * 100)
                if how & 8:
                    last = last[:2] + bytes(4) + last[2:]
                if how & 16:
                    last = last[:-1] + b"\15" + last[-1:]
                registered = b"\0\0" + post(0x4b, 6, last=last)
                used = b"".join(b"\0\3" + post(op, 6, 0, number * 30, key=key)
                                for op in (0x43, 0x45, 0x46))
                dead = b"\0\0" + post(0x4c, 6, last=bytes([pieces]))
                gone = b"\0\0" + receive(6) + b"\0\3" + post(0x42, 6, key=key)
                yield b"\0" + registered + used + dead + used
                yield b"\0" + registered + used + gone + registered + used
    for off in range(0, 192, 4):
        for pieces, number in ((0, 2), (0, 33), (1, 3), (1, 33)):
            yield b"\0\1" + post(0x4b, 6, last=reg(pieces, number)) + bytes(
                [1, off | 1, 255, 255, 0, 0])


def wqes():
    """Good work requests, then each with a word spoilt."""
    yield from tags()
    yield from registrations()
    yield from traffic(lambda p: (b"\0\0" if p[0] < 128 else b"\0\1") + p,
                       b"\7\xff\0")
    yield from (b"\0" + s for s in
                traffic(lambda p: (b"\0\0" if p[0] < 128 else b"\0\1") + p,
                        b"\7\xff\0"))
    for how in range(QPS):
        for op in range(OPS):
            for off in (0, 4, 8, 12, 16, 24, 28, 32, 48, 64):
                yield b"\0\1" + post(0x40 + op, how) + bytes(
                    [1, off | 1, 255, 255, 255, 127])


def cable():
    """Traffic, untouched and with a byte of a header changed, on ports of each kind."""
    for kind in (b"\0", b"\1"):
        yield from traffic(lambda p: (b"\0" if p[0] < 128 else b"\2") + p,
                           b"\3\0\3\0", kind)
        for off in range(0, 148, 3):
            yield kind + b"\2" + receive(0) + b"\0" + post(0x40, 0) + \
                bytes([3, 1, 2, off, 255, 0, 0, 0])
    yield b"\1" + b"".join(
        struct.pack("<BH", 8, n) + bytes(n) + b"\3\0\3\0" for n in (14, 60, 1514))


def frame(data, header=18, flags=0xc0, mss=0):
    """A frame as fuzz_eth.c reads it."""
    return struct.pack("<BHBBH", 0, len(data), header, flags, mss) + data


def ethernet():
    """Frames of every kind that steering knows, commands, RoCE."""
    station = bytes([0, 2, 0xc9, 0, 0, 2, 0, 2, 0xc9, 0, 0, 1])
    udp = bytes([48, 57, 0, 7, 0, 100, 0, 0]) + bytes(92)
    tcp = bytes([48, 57, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x19, 1, 0]) + bytes(104)
    for kind, l4 in ((17, udp), (6, tcp), (1, bytes(20))):
        ipv4 = bytes([0x45, 0, 0, 20 + len(l4), 1, 2, 0x40, 0, 64, kind, 0, 0,
                      10, 0, 0, 1, 10, 0, 0, 2]) + l4
        ipv6 = bytes([0x60, 0, 0, 0, 0, len(l4), kind, 64]) + bytes(32) + l4
        hop = bytes([0x60, 0, 0, 0, 0, len(l4) + 8, 0, 64]) + bytes(32) + \
            bytes([kind, 0]) + bytes(6) + l4
        for tag in (b"", b"\x81\0\x60\5", b"\x88\xa8\0\7"):
            for data in (b"\x08\0" + ipv4, b"\x86\xdd" + ipv6, b"\x86\xdd" + hop):
                whole = station + tag + data
                yield frame(whole)
                yield frame(b"\xff" * 6 + whole[6:])
                yield frame(whole, 62 + len(tag), 0xc0, 16)
                yield frame(whole[:len(whole) // 2])
    for off in range(0, 64, 3):
        yield struct.pack("<BBBI", 1, 1, off, 0xffffffff) + frame(station + bytes(60))
    for step in range(2, 9):
        for how in range(64):
            yield bytes([step, how]) + bytes(60)
            yield bytes([step, how, 1, 0, 5]) + b"\xff" * 40
    for how in range(QPS):
        for op in range(OPS):
            yield b"\6\1" + receive(how) + b"\6\0" + post(0x40 + op, how)


def mads():
    """Every class, method and attribute that there is."""
    for how in range(16):
        for attr in (0x01, 0x02, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17,
                     0x18, 0x1d, 0x20):
            yield bytes([how, attr, 0])
            yield bytes([how | 0x40, attr, 1, 64]) + bytes(range(1, 65))
            yield bytes([how | 0x40, attr, 0, 64, 0, 1]) + bytes([255] * 62)


def kernel():
    """Posts, then completions that are right, doubled and wrong; polls; the connections."""
    broken, gone, suspended, refused, back, reset, drained, renewed = (
        bytes([22, how]) for how in range(8))
    polls = bytes([10, 7, 6, 12, 7, 6])
    for shared in (0, 1):
        for opcode in (0, 1, 2, 3, 4, 13, 14, 0x2d, 0x4e, 0x80):
            for counter in (0, 1, 7, 255):
                posts = bytes([0, 8, 1, 64]) * 3 + bytes([3, 0, 200, 5, 1, 64]) * 3
                forged = b"".join(bytes([6, cq, opcode, 0]) + bytes(16) +
                                  bytes([counter, 64, 5, 0, 0]) for cq in (0, 1, 1))
                yield bytes([shared]) + posts + forged + polls + broken + posts + polls
        shown = bytes([16, 0x82, 0, 1]) + bytes([17, 0x83, 5, 2]) + bytes([18, 0x0a]) + bytes(6)
        sent = b"".join(bytes([0, 8 + op, 1, 64]) for op in range(8))
        others = bytes([20, 0, 3, 20, 1, 200])
        for end in (broken, gone, suspended, broken + gone):
            for then in (b"", drained, refused + drained, reset):
                yield bytes([shared]) + shown + sent + others + end + sent + shown + then + \
                    others * 2 + back + others + shown + drained + renewed + shown + \
                    bytes([21]) + shown + sent + polls + end + others + back + renewed + sent
        yield bytes([shared]) + shown + bytes([14, 4, 0, 0]) + b"\x77" * 16 + \
            bytes([19, 0, 255]) + polls


def generations():
    """Every kind of step alone and between posts, every command without a box and with."""
    posts = b"\0\0\0\x40\0" * 3 + b"\1\0\0\x40\0" * 3
    for step in range(12):
        for how in (0, 1, 2, 4, 8, 16, 63, 255):
            yield posts + bytes([step, how, 1, 0, 0, 0x80, 3, 0xff]) + b"\xff" * 9 + posts
    for first in range(0, 256, 16):
        for mod, param in ((0, 0), (1, 4096)):
            yield b"".join(struct.pack("<BHBIQ", 5, code, mod, mod, param)
                           for code in range(first, first + 16)) + posts


def main():
    """Write one file per seed."""
    target, folder = sys.argv[1:3]
    rnd = random.Random(target)
    seeds = {"fuzz_cmd": commands, "fuzz_eth": ethernet, "fuzz_kernel": kernel,
             "fuzz_link": cable, "fuzz_m4": generations, "fuzz_mad": mads,
             "fuzz_mt": generations, "fuzz_wqe": wqes}[target]
    everything = list(seeds()) + [rnd.randbytes(n) for n in (64, 256, 1024)]
    for i, data in enumerate(everything):
        with open(os.path.join(folder, f"seed-{i:03}"), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
