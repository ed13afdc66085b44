# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Read by run.sh: what the daemon's targets are built of. What runs without
# Xen, as in libvhcabe.a, and what the targets add to it; backend/core/sys.c and chardev.c
# are the fake kernel's.
flags="$flags -D__XEN_TOOLS__ -I$top/include -I$top/common/lib -I$top/common -I$top/backend"
sources="backend/carrier/ring_shm.c $(cd "$top" &&
		find backend/context backend/core backend/uverbs backend/verbs backend/worker -name '*.c' \
			! -name sys.c ! -name run.c ! -name worker.c ! -name stats.c)
	frontend/ring/check.c $(cd "$top" &&
		find common -name '*.c' ! -name chardev.c)
	xenstore/node.c xenstore/state.c xenstore/scan.c
	tools/vhcactl/dom0less.c tools/vhcactl/keys.c tools/vhcactl/out.c tools/vhcactl/pci.c
	tests/fake/fake_cm.c tests/fake/fake_cmd.c tests/fake/fake_dmabuf.c tests/fake/fake_frame.c tests/fake/fake_gid.c
	tests/fake/fake_mlx5.c
	tests/fake/fake_obj.c tests/fake/fake_uar.c tests/fake/fake_umad.c
	tests/fake/fake_uverbs.c
	tests/fake/loop_front.c tests/fake/ring_loop.c
	tests/wire/good.c tests/wire/good_mlx5.c
	tests/fuzz/fuzz.c tests/fuzz/input.c"
libs="-lxenstore -ljson-c -lpthread"
# Of the frontend, as its unit tests have it.
"$top/tests/unit/kernel/copy.sh" "$build/copy" "$top"/frontend/*.[ch] \
	"$top"/frontend/*/*.[ch] "$top"/common/kernel/*.h
flags="$flags -I$build -I$top/tests/unit/kernel"
