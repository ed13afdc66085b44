#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
"""vhca-devicetree: what it makes of a description, and mistakes that it tells."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vhca-devicetree")
HEADER = os.path.join(os.path.dirname(TOOL), "../../include/xen/io/vhcaif.h")
BOARD = """/dts-v1/;
/ { #address-cells = <2>; #size-cells = <2>; model = "board";
 memory@40000000 { device_type = "memory"; reg = <0 0x40000000 0 0x80000000>; };
 chosen { stdout-path = "/uart"; };
};
"""
GOOD = """[xen]
args = console=dtuart   # of Xen
modules = 0x50000000
[guest a]
memory = 512
kernel = Image
initrd = guest.cpio
args = console=ttyAMA0
vhca = hca=rxe0,max-qp=7
[guest b]
memory = 256
cpus = 2
kernel = Image
[utility]
memory = 768
kernel = Image
initrd = utility.cpio
static-memory = 0x80000000
maptrack-frames = 4096
"""


class DeviceTree(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        for name, size in (("Image", 5 << 20), ("guest.cpio", 100), ("utility.cpio", 1)):
            with open(self.at(name), "wb") as f:
                f.truncate(size)
        subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", self.at("board.dtb"),
                        "-"], input=BOARD, text=True, check=True)

    def at(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.at(name), encoding="ascii") as f:
            return f.read()

    def source(self, name):
        return subprocess.run(["dtc", "-q", "-I", "dtb", "-O", "dts", self.at(name)],
                              capture_output=True, text=True, check=True).stdout

    def make(self, text):
        with open(self.at("d.ini"), "w", encoding="ascii") as f:
            f.write(text)
        return subprocess.run([sys.executable, TOOL, self.at("d.ini"),
                               self.at("board.dtb"), self.at("out")],
                              capture_output=True, text=True)

    def test_good(self):
        r = self.make(GOOD)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertIn("domain 1: guest a: vhca hca=rxe0,max-qp=7, 512 MiB", r.stdout)
        self.assertIn("domain 3: utility domain", r.stdout)
        self.assertEqual(self.read("out.conf"), "own-domain 3\nmemory 704\n"
                         "guest-reserve 16\nguest 1 a hca=rxe0,max-qp=7\nguest 2 b\n")
        # Each file once, none in another.
        self.assertEqual([line.split()[0] for line in self.read("out.load").splitlines()],
                         ["0x50000000", "0x50600000", "0x50800000"])
        dts = self.source("out.dtb")
        self.assertIn('model = "board"', dts)
        self.assertIn('xen,xen-bootargs = "console=dtuart xsm=dummy"', dts)
        self.assertEqual(re.findall(r"domU\d", dts), ["domU1", "domU2", "domU3"])
        guest, utility = dts[dts.index("domU1"):].split("domU3")
        self.assertEqual(guest.count('xen,enhanced = "enabled"'), 2)
        self.assertNotIn("capabilities", guest)
        self.assertIn("capabilities = <0x06>", utility)
        self.assertIn("direct-map;", utility)
        self.assertIn("max_maptrack_frames = <0x1000>", utility)
        self.assertIn("reg = <0x00 0x50000000 0x00 0x500000>", guest)

    def test_without_xenstore(self):
        text = GOOD.replace("[guest a]", "xenstore = no\n[guest a]")
        r = self.make(text)
        self.assertIn("[utility] static-memory is needed with xenstore", r.stderr)
        r = self.make(text.replace("static-memory = 0x80000000\n", ""))
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertIn("guest a: vhca hca=rxe0,max-qp=7, page at grant reference 2", r.stdout)
        self.assertIn("domain 3: utility domain: no xenstore, no devices", r.stdout)
        self.assertEqual(self.read("out.conf"), "own-domain 3\nmemory 704\nno-xenstore\n"
                         "guest 1 a hca=rxe0,max-qp=7\nguest 2 b\n")
        # The tree of a guest's device is a file that the boot loader loads.
        self.assertIn(self.at("out.vhca.dtb"), self.read("out.load"))
        dts = self.source("out.dtb")
        self.assertEqual(dts.count('xen,enhanced = "no-xenstore"'), 3)
        for word in ("capabilities", "direct-map", "static-mem"):
            self.assertNotIn(word, dts)
        one, rest = dts[dts.index("domU1"):].split("domU2")
        self.assertIn("multiboot,device-tree", one)
        self.assertNotIn("multiboot,device-tree", rest)
        page = self.source("out.vhca.dtb")
        with open(HEADER, encoding="ascii") as f:
            facts = dict(re.findall(r'#define XENVHCA_LINK_(\w+) +"?([\w,-]+)', f.read()))
        self.assertIn(f'compatible = "{facts["COMPATIBLE"]}"', page)
        self.assertIn(f'{facts["DOMID"]} = <0x03>', page)
        self.assertIn(f'{facts["REF"]} = <0x0{facts["FIRST_REF"]}>', page)

    def test_policy_is_kept(self):
        self.assertEqual(self.make(GOOD.replace("dtuart ", "dtuart xsm=flask ")).returncode, 0)
        r = self.make(GOOD.replace("dtuart ", "dtuart xsm=flask "))
        self.assertIn("Xen: console=dtuart xsm=flask\n", r.stdout)

    def test_mistakes(self):
        for old, new, told in (
                ("memory = 512", "memory = x", "memory = x: a positive number"),
                ("memory = 512", "memory = 0", "memory = 0: a positive number"),
                ("memory = 512", "mem = 512", "mem: unknown; known are args"),
                ("memory = 512\n", "", "[guest a] memory is missing"),
                ("[guest b]", "[guest]", "[guest]: [xen], [guest NAME] or"),
                ("[guest b]", "[guest a]", "already exists"),
                ("[utility]", "[guest u]", "[guest u] static-memory: unknown"),
                ("Image\ninitrd = g", "Nothing\ninitrd = g", "No such file"),
                ("0x50000000", "0xbfe00000", "outside of the board's memory"),
                ("0x50000000", "0x7fe00000", "lies in"),
                ("= console=ttyAMA0", '= "x"', 'one line without "'),
                ("memory = 768", "memory = 64", "reserve: it is all")):
            self.assertIn(old, GOOD)
            r = self.make(GOOD.replace(old, new, 1))
            self.assertNotEqual(r.returncode, 0, new)
            self.assertIn(told, r.stderr)
            self.assertNotIn("Traceback", r.stderr)
            self.assertFalse(os.path.exists(self.at("out.conf")), new)


if __name__ == "__main__":
    if not shutil.which("dtc"):
        print("skip dtc is not installed")
        sys.exit(77)
    unittest.main()
