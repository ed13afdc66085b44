#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
"""vhca-devicetree: what it makes of a description, and mistakes that it tells."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vhca-devicetree")
MANUAL = TOOL + ".1"
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


HCA = """[hca mlx5_0]
bar = 0x8000000000
size = 16
[hca mlx5_1]
bar = 0x8001000000
size = 16
own = 1024
"""
# Two guests of one HCA, one of another, one of none.
BELLS = GOOD.replace("hca=rxe0,max-qp=7", "hca=mlx5_0,max-qp=7") + HCA + """[guest c]
memory = 256
kernel = Image
vhca = port=1, hca=mlx5_0
[guest d]
memory = 256
kernel = Image
vhca = hca=mlx5_1
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

    def windows(self):
        """(first host page, first guest page, pages) that the file of vhcactl has."""
        return {name: tuple(int(n, 16) for n in numbers.split()) for name, numbers in
                re.findall(r"guest \d (\w) \S.*doorbell-static=(.*)", self.read("out.conf"))}

    def cells(self, name, prop):
        text = re.search(rf"\b{prop} = <([^>]*)>", self.source(name)).group(1)
        n = [int(x, 0) for x in text.split()]
        return [n[i] << 32 | n[i + 1] for i in range(0, len(n), 2)]

    def test_doorbells(self):
        r = self.make(BELLS)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        bar, half = 0x8000000, (4096 - 320 - 2) // 2
        self.assertEqual(self.windows(), {
            "a": (bar + 320, bar + 320, half),
            "c": (bar + 321 + half, bar + 321 + half, half),
            "d": (bar + 4096 + 1024, bar + 4096 + 1024, 3071)})
        self.assertIn("guest 1 a hca=mlx5_0,max-qp=7,doorbell-static=0x8000140 ",
                      self.read("out.conf"))
        self.assertIn(f"guest a: doorbell pages 320..{319 + half} of mlx5_0 at "
                      "0x8000140000, in the guest at 0x8000140000", r.stdout)
        dts = self.source("out.dtb")
        nodes = re.split(r"domU\d", dts)[1:]
        self.assertEqual([n.count("multiboot,device-tree") for n in nodes], [1, 0, 1, 1, 0])
        # Each tree is loaded where the guest's node says, and says what the backend hears.
        loads = dict(reversed(line.split(" ", 1)) for line in
                     self.read("out.load").splitlines())
        for number, name in ((1, "a"), (3, "c"), (4, "d")):
            file = f"out.{number}.dtb"
            at = int(loads[self.at(file)], 16)
            self.assertIn(f"module@{at:x}", nodes[number - 1])
            self.assertIn(f"reg = <0x00 {at:#x} 0x00 {os.path.getsize(self.at(file)):#x}>",
                          nodes[number - 1])
            host, guest, pages = (n * 4096 for n in self.windows()[name])
            self.assertEqual(self.cells(file, "reg"), [guest, pages])
            self.assertEqual(self.cells(file, "xen,reg"), [host, pages, guest])
            self.assertIn('compatible = "xen,vhca-doorbells"', self.source(file))
            self.assertIn("xen,force-assign-without-iommu", self.source(file))
        self.assertFalse(os.path.exists(self.at("out.2.dtb")))

    def test_windows_have_a_gap(self):
        # Xen permits a guest the page behind its own, too.
        self.make(BELLS)
        pages = sorted((host, n) for host, _, n in self.windows().values())
        for (host, n), (other, _) in zip(pages, pages[1:]):
            self.assertGreater(other, host + n)

    def test_doorbells_asked_for(self):
        r = self.make(BELLS.replace("port=1, hca=mlx5_0", "hca=mlx5_0\ndoorbells = 100"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.windows()["c"][2], 100)
        self.assertEqual(self.windows()["a"][2], 4096 - 320 - 2 - 100)

    def test_a_bar_below_the_guest_s_addresses(self):
        r = self.make(BELLS.replace("0x8000000000", "0x10000000")
                      .replace("0x8001000000", "0xfff000000000"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.windows()["a"][:2], (0x10000 + 320, 0x8000000 + 320))
        self.assertEqual(self.cells("out.1.dtb", "xen,reg")[::2],
                         [0x10140000, 0x8000140000])
        self.assertEqual(self.windows()["d"][:2], (0xfff000000 + 1024, 0x8000000 + 1024))

    def test_mistakes_of_doorbells(self):
        for old, new, told in (
                ("own = 1024", "own = 4095", "1 pages are not enough for 1 guests"),
                ("own = 1024", "own = 4032", "d would have 63"),
                ("own = 1024", "own = 9000", "less than it asks for"),
                ("size = 16\nown = 1024", "size = 1", "pages are not enough"),
                ("memory = 512", "memory = 512\ndoorbells = 3776", "less than it asks for"),
                ("memory = 512", "memory = 512\ndoorbells = 63", "a would have 63"),
                ("memory = 512", "memory = 600000", "doorbell pages at 0x8000140000 lie in"),
                ("cpus = 2", "doorbells = 64", "no section [hca NAME]"),
                ("=mlx5_1\n", "=mlx5_2\ndoorbells = 64\n", "no section [hca mlx5_2]"),
                ("max-qp=7", "doorbell-static=0x1 0x1 0x1", "is not to be given"),
                ("[hca mlx5_1]", "[hca]", "[hca NAME] or [utility]"),
                ("0x8001000000", "0x8000000000", "is no BAR of its own"),
                ("0x8001000000", "0x41000000", "is no BAR of its own"),
                ("0x8001000000", "0x8001001000", "no multiple of its size"),
                ("bar = 0x8001000000\n", "", "[hca mlx5_1] bar is missing")):
            self.assertIn(old, BELLS)
            r = self.make(BELLS.replace(old, new, 1))
            self.assertNotEqual(r.returncode, 0, new)
            self.assertIn(told, r.stderr)

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
            facts = dict(re.findall(r'#define XENVHCA_STORE_(\w+) +"?([\w,-]+)', f.read()))
        self.assertIn(f'compatible = "{facts["COMPATIBLE"]}"', page)
        self.assertIn(f'{facts["DOMID"]} = <0x03>', page)
        self.assertIn(f'{facts["REF"]} = <0x0{facts["FIRST_REF"]}>', page)

    def test_no_doorbells_without_xenstore(self):
        text = BELLS.replace("[guest a]", "xenstore = no\n[guest a]")
        for t in (text, text.replace("static-memory = 0x80000000\n", "")):
            r = self.make(t)
            self.assertNotEqual(r.returncode, 0)
            self.assertIn("[hca mlx5_0] needs xenstore: with xenstore = no the utility "
                          "domain has no device", r.stderr)
            self.assertFalse(os.path.exists(self.at("out.conf")))
            self.assertFalse(os.path.exists(self.at("out.1.dtb")))
        r = self.make(GOOD.replace("[guest a]", "xenstore = no\n[guest a]\ndoorbells = 64")
                      .replace("static-memory = 0x80000000\n", ""))
        self.assertIn("[guest a] doorbells: its HCA has no section", r.stderr)

    def test_policy_is_kept(self):
        self.assertEqual(self.make(GOOD.replace("dtuart ", "dtuart xsm=flask ")).returncode, 0)
        r = self.make(GOOD.replace("dtuart ", "dtuart xsm=flask "))
        self.assertIn("Xen: console=dtuart xsm=flask\n", r.stdout)

    def test_the_manual_has_all_keys(self):
        loader = importlib.machinery.SourceFileLoader("tool", TOOL)
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("tool", loader))
        sys.dont_write_bytecode = True
        loader.exec_module(tool)
        with open(MANUAL, encoding="ascii") as f:
            manual = f.read().replace("\\-", "-")
        for section, keys in tool.KEYS.items():
            self.assertIn(f".SS [{section}", manual)
            for key in keys:
                self.assertRegex(manual, rf"(?m)^\.BR?.*[\w\" ,]?\b{key}\b", section)

    def test_mistakes(self):
        for old, new, told in (
                ("memory = 512", "memory = x", "memory = x: a positive number"),
                ("memory = 512", "memory = 0", "memory = 0: a positive number"),
                ("memory = 512", "mem = 512", "mem: unknown; known are args"),
                ("memory = 512\n", "", "[guest a] memory is missing"),
                ("[guest b]", "[guest]", "[guest]: [xen], [guest NAME], [hca NAME] or"),
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
