#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Runs the patched xl without Xen: xenstore is store.py, the hypervisor is
# fake_xc.c, sysfs is a made-up tree, and the backend is a thread that follows
# the states. Checks specifications, the nodes of a device (also against
# vhcactl's), list, detach, and messages about mistakes. Domains are created in
# the test bed only.
#
#   check.py XL-FOLDER [--vhcactl PROGRAM]
#
# tests/qemu/image/build-xl.sh prints XL-FOLDER. Needs a C compiler, libxen-dev
# and unshare: all runs in a mount namespace of its own.
"""Checks of xl's vhca devices that need no Xen."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import store  # noqa: E402 pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
KEYS = subprocess.run(
    ["awk", "-f", os.path.join(TOP, "tools/vhcactl/keys.awk"),
     os.path.join(TOP, "include/xen/io/vhcaif.h"), "-"],
    input="port @KEY_WORDS@", check=True, text=True,
    stdout=subprocess.PIPE).stdout.split()
BDF = "0000:00:05.0"
JSON = "/var/lib/xen/userdata-d.5." + "-".join(
    "15" * n for n in (4, 2, 2, 2, 6)) + ".libxl-json"
CONFIG = 'name = "g"\ntype = "pvh"\nkernel = "/x"\nmemory = 64\n'


class Backend(threading.Thread):
    """What xen-vhcad writes: InitWait, Closed, or why it gave up."""

    def __init__(self, server, path):
        super().__init__(daemon=True)
        self.server, self.path = server, path
        self.stop, self.why = False, None
        self.start()

    def run(self):
        while not self.stop:
            state = self.server.get(self.path + "/state")
            if state == "1" and self.why:
                self.server.put(self.path + "/broken", self.why)
                self.server.put(self.path + "/state", "6")
            elif state == "1":
                self.server.put(self.path + "/state", "2")
            elif state == "5":
                self.server.put(self.path + "/state", "6")
            time.sleep(0.05)


class Check:
    """The test's surroundings, and its counters."""

    def __init__(self, xl_folder, vhcactl, work):
        self.bad = self.done = 0
        self.vhcactl, self.work = vhcactl, work
        place = os.path.join(xl_folder, "usr/lib/xen-vhca")
        self.xl_program = os.path.join(place, "bin/xl")
        shim = os.path.join(work, "fake_xc.so")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2",
                        "-Wall", "-Wextra", "-Werror", "-o", shim,
                        os.path.join(HERE, "fake_xc.c")], check=True)
        self.env = dict(
            os.environ, LD_PRELOAD=shim, LC_ALL="C",
            XENSTORED_PATH=os.path.join(work, "socket"),
            LD_LIBRARY_PATH=os.path.join(place, "lib"))
        self.mounts()
        self.server = store.Server(self.env["XENSTORED_PATH"])
        threading.Thread(target=self.server.run, daemon=True).start()
        for path, value in (("domid", "0"), ("name", "Domain-0"),
                            ("../5/name", "guest"), ("../7/name", "hcadom")):
            path = os.path.normpath("/local/domain/0/" + path)
            self.server.put(path, value)
        # Other facts for xl list -l.
        for path, value in (("domain/5/memory/target", "65536"),
                            ("domain/5/memory/static-max", "65536"),
                            ("pool/0/name", "Pool-0")):
            self.server.put("/local/" + path, value)

    @staticmethod
    def mounts():
        for path in ("/var/lib", "/run", "/etc", "/sys"):
            subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
        for path in ("/var/lib/xen", "/run/lock", "/run/xen", "/etc/xen",
                     "/sys/bus/pci/devices", "/sys/class/infiniband/rxe0",
                     "/sys/devices/pci/" + BDF, "/sys/devices/ib/mlx5_0"):
            os.makedirs(path)
        with open("/etc/xen/xl.conf", "w", encoding="ascii") as f:
            f.write('autoballoon = "off"\n')
        for link, target in (
                ("/sys/class/infiniband/mlx5_0", "/sys/devices/ib/mlx5_0"),
                ("/sys/devices/ib/mlx5_0/device", "/sys/devices/pci/" + BDF),
                ("/sys/devices/pci/" + BDF + "/subsystem", "/sys/bus/pci"),
                ("/sys/bus/pci/devices/" + BDF, "/sys/devices/pci/" + BDF),
                ("/sys/bus/pci/devices/0000:00:06.0", "/sys/devices")):
            os.symlink(target, link)

    def forget(self):
        """The guest has no device, in xenstore and in libxl's JSON."""
        with self.server.lock:
            for path in list(self.server.store):
                if "/vhca" in path:
                    del self.server.store[path]
        with open(JSON, "w", encoding="ascii") as f:
            f.write('{"c_info":{"type":"pvh","name":"guest"},'
                    '"b_info":{"type.pvh":{}}}\0')

    def run(self, *args):
        r = subprocess.run(args, env=self.env, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=90, check=False)
        return r.returncode, r.stdout.decode("ascii", "replace")

    def xl(self, *args):
        return self.run(self.xl_program, *args)

    def true(self, ok, what, detail=""):
        self.done += 1
        if not ok:
            self.bad += 1
            print(f"FAILED: {what}\n{detail}", flush=True)

    def says(self, result, *words):
        """A command fails and names the key and what it accepts."""
        status, text = result
        self.true(status == 1 and all(w in text for w in words),
                  "exit status 1 and a message with " + ", ".join(words),
                  f"exit status {status}\n{text}")


def check_specs(c):
    """What is accepted, and what is said of what is not."""
    cfg = os.path.join(c.work, "g.cfg")

    def create(line):
        with open(cfg, "w", encoding="ascii") as f:
            f.write(CONFIG + line)
        return c.xl("create", "-n", cfg)

    status, text = create('vhca = [ "hca=rxe0, max-qp = 64", "backend=hcadom,'
                          'hca=mlx5_0,port=2,pci=00:05.0,max-cmd-rate=0" ]')
    found = json.loads(text[text.index("{"):])["vhcas"] if not status else text
    c.true(found == [{"devid": 0, "hca": "rxe0", "max_qp": 64},
                     {"devid": 1, "hca": "mlx5_0", "backend_domname": "hcadom",
                      "pci": "00:05.0", "port": 2, "max_cmd_rate": 0}],
           "two devices of a configuration", found)
    c.says(create('vhca = "hca=rxe0"'), "a list is needed")
    c.says(create('vhca = [ "hca=rxe0", "port=1" ]'), "hca=NAME", "device 1")
    c.says(create('vhca = [ "" ]'), "KEY=VALUE", "device 0")
    for spec, words in {
            "hca=rxe0,foo=1": ["foo", "hca, backend, pci, ip, pkeys, umad", *KEYS],
            "hca": ["hca", "KEY=VALUE"], "hca=": ["hca=", "1..63"],
            "hca=../x": ["hca=../x", "[A-Za-z0-9_.-]"],
            "hca=" + "x" * 64: ["1..63"], "hca=a,hca=b": ["hca", "twice"],
            "hca=a,port=1,port=1": ["port", "twice"],
            "hca=a,pci=5": ["pci=5", "0000:00:05.0"],
            "hca=a,pci=00:05.8": ["pci=00:05.8", "DDDD:BB:SS.F"],
            "hca=a,backend=a b": ["backend=a b"],
            "port=1": ["hca=NAME is missing"],
            "hca=a,port=256": ["port=256", "1..255"],
            "hca=a,max-pinned-mb=1048577": ["max-pinned-mb", "1..1048576"],
            "hca=a,max-evt-rate=10000001": ["max-evt-rate", "0..10000000"],
            "hca=a,spin-us=1001": ["spin-us=1001", "0..1000"],
            "hca=a,trusted=2": ["trusted=2", "0..1"],
            "hca=a,ip=": ["ip=", "192.0.2.7/24 2001:db8::7/64"],
            "hca=a,ip=eth0;id": ["ip=eth0;id", "addresses are needed"],
            "hca=a,ip=1.2.3.4,ip=1.2.3.5": ["ip", "twice"],
            "hca=a,ip=1.2.3.4,vif=x": ["vif=x", "0..65535"],
            "hca=a,vif=0": ["vif=0", "needs ip="],
            "hca=a,pkeys=ffff-1": ["pkeys=ffff-1", "0xffff 0x8001"],
            "hca=a,umad=1": ["umad=1", "query or all"],
            **{f"hca=a,max-qp={v}": [f"max-qp={v}", "1..65535"] for v in (
                "0", "65536", "-1", "1e3", "0x10", "", "4294967297", "1 2")},
    }.items():
        c.says(c.xl("-N", "vhca-attach", "5", spec), *words)
    for key in KEYS:
        c.true(c.xl("-N", "vhca-attach", "5", f"hca=a,{key}=1")[0] == 0,
               f"key {key} is accepted")


def check_nodes(c, spec, backend, pci):
    """The nodes of a device, and that vhcactl writes the same ones."""
    be = f"/local/domain/{backend}/backend/vhca/5/0"
    c.forget()
    b = Backend(c.server, be)
    status, text = c.xl("vhca-attach", "5", *spec)
    c.true(status == 0, f"attach {spec}", text)
    status, text = c.xl("vhca-list", "guest")
    c.true(status == 0 and be in text, f"list {spec}", text)
    tops = (be, "/local/domain/5/device/vhca/0", "/libxl/5/device/vhca/0")
    made = [c.server.tree(top) for top in tops]
    own = {k: v for k, (v, _) in made[2].items()
           if made[0].get(k, ("", ""))[0] != v and k not in ("", "/state")}
    want = {"/frontend": tops[1], "/backend": tops[0]}
    if pci:
        want["/pci"] = pci
    own["/frontend"] = made[2]["/frontend"][0]
    c.true(own == want, f"{spec}: what only libxl's directory has", own)
    c.true("/pci" not in made[0] and "/pci" not in made[1],
           f"{spec}: the address stays with libxl")
    c.true(made[0]["/state"] == ("2", f"n{backend},r5") and
           made[1]["/state"] == ("1", f"n5,r{backend}"),
           f"{spec}: states and permissions", made)
    status, text = c.xl("list", "-l", "guest")
    found = re.search(r"^\[\s*\{", text, re.M)
    if status == 0 and found:
        found = json.loads(text[found.start():])[0]["config"].get("vhcas")
    c.true(isinstance(found, list) and len(found) == 1 and
           ("pci" in found[0]) == ("pci=" in ",".join(spec)),
           f"{spec}: in the domain's JSON, without what was found out",
           found or text)
    start = time.monotonic()
    status, text = c.xl("vhca-detach", "5", "0")
    c.true(status == 0 and not any(c.server.tree(t) for t in tops),
           f"detach {spec}", text)
    c.true(time.monotonic() - start < 5,
           f"{spec}: nobody waits for \"xl devd\" of the backend's domain")
    if c.vhcactl:
        status, text = c.run(c.vhcactl, "attach", "-w", "0", "5",
                             ",".join(spec))
        time.sleep(0.3)
        other = [c.server.tree(top) for top in tops]
        # For vhcactl reattach; libxl has it in the domain's configuration.
        c.true(other[2].pop("/backend-name", ("", ""))[0] ==
               ("hcadom" if backend else "Domain-0"),
               f"{spec}: the backend's name is recorded", other[2])
        c.true(status == 0 and other == made, f"{spec}: vhcactl's nodes",
               f"{text}\n{other}\n{made}")
    b.stop = True
    b.join()


def check_refusals(c):
    """Refused before anything is written."""
    c.forget()
    c.says(c.xl("vhca-attach", "5", "hca=a,backend=nosuch"),
           "backend=nosuch", "no such domain")
    c.says(c.xl("vhca-attach", "5", "hca=a,backend=9"), "backend=9")
    c.says(c.xl("vhca-attach", "5", "hca=rxe0,pci=00:05.0"),
           "rxe0 is no PCI device")
    c.says(c.xl("vhca-attach", "5", "hca=mlx5_0,pci=00:06.0"),
           "mlx5_0 is the device " + BDF)
    c.says(c.xl("vhca-attach", "5", "hca=x,backend=7,pci=00:07.0"),
           "there is no such PCI device")
    c.says(c.xl("vhca-detach", "5", "0"), "Device 0 not connected")
    c.says(c.xl("vhca-detach", "5", "x"), "x is not a device number")
    c.says(c.xl("vhca-list", "nosuch"), "nosuch")
    c.true(not [p for p in c.server.store if "/vhca" in p],
           "nothing was written")


def check_backend_fails(c):
    """A backend that gives up: its reason is shown, without what is no text."""
    be = "/local/domain/0/backend/vhca/5/0"
    c.forget()
    b = Backend(c.server, be)
    b.why = "no HCA of that name\x1b[2J"
    c.says(c.xl("vhca-attach", "5", "hca=gone"), "no HCA of that name?[2J",
           "stays configured", "vhca-detach 5 0")
    status, text = c.xl("vhca-detach", "5", "0")
    c.true(status == 0 and not c.server.tree(be), "it can be detached", text)
    b.stop = True
    b.join()
    c.says(c.xl("vhca-attach", "5", "hca=a"), "is xen-vhcad running there?")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("xl_folder")
    parser.add_argument("--vhcactl")
    args = parser.parse_args()
    if "VHCA_CHECK_INSIDE" not in os.environ:
        os.environ["VHCA_CHECK_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--map-root-user", "--mount",
                              sys.executable, *sys.argv])
    work = tempfile.mkdtemp()
    try:
        c = Check(os.path.abspath(args.xl_folder), args.vhcactl, work)
        check_specs(c)
        check_nodes(c, ["hca=rxe0", "max-qp=64,spin-us=0"], 0, None)
        check_nodes(c, ["hca=rxe0", "ip=192.0.2.7/24 2001:db8::7/64,"
                        "pkeys=0xffff 0x8001", "umad=query,vif=0"], 0, None)
        check_nodes(c, ["hca=mlx5_0", "port=2"], 0, BDF)
        check_nodes(c, ["hca=mlx5_0", "pci=00:05.0"], 0, BDF)
        check_nodes(c, ["hca=gone"], 0, None)
        check_nodes(c, ["hca=rxe0,backend=hcadom"], 7, None)
        check_nodes(c, ["backend=hcadom", "hca=mlx5_0,pci=" + BDF], 7, BDF)
        check_refusals(c)
        check_backend_fails(c)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{c.done} checks, {c.bad} failed")
    return 1 if c.bad else 0


if __name__ == "__main__":
    sys.exit(main())
