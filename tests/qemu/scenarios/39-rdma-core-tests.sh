#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The tests that rdma-core brings with its Python bindings have the same verdicts on a
# model HCA in dom0 as in a guest that has it as vhca; differences must be those that
# are documented.
# limit: 900
# tier: soak
# hca: yes
# pyverbs: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

verdicts="python3 /tmp/verdicts.py --tests /usr/share/pyverbs/tests"
verdicts+=" --timeout $((30 * ${TIME_SCALE:-2} / 2)) --dev"
native=$SCENARIO_DIR/native.txt
guest=$SCENARIO_DIR/guest.txt

step "guests with Python"
cat "$GUEST_RUN/initrd" /guest/pyverbs.cpio >"$GUEST_RUN/initrd.pyverbs"
(cd / && cpio --quiet -id </guest/pyverbs.cpio)
cp /tests/verbs/verdicts.py /tmp/
# shellcheck disable=SC2034 # of vhca.sh
VHCA_GUEST_MEM=768 VHCA_GUEST_CFG=("ramdisk = \"$GUEST_RUN/initrd.pyverbs\"")
hca_guests pv a pv b
guest_put a /tmp/verdicts.py /tmp/verdicts.py

step "native"
# A PV dom0 that gave memory away has frames in disorder: with the cap.
# shellcheck disable=SC2086
vhca-helper-test --capped mlx5_0 $verdicts mlx5_0 >"$native" || true
cut -f2 "$native" | sort | uniq -c

step "guest"
guest_sh -t 600 a "$verdicts vhca0" >"$guest" || true
cut -f2 "$guest" | sort | uniq -c
check "the same verdicts as in dom0, but documented ones" \
	env COMPARE_LEAST=200 /tests/verbs/compare.sh "$native" "$guest" \
	/tests/verbs/expected-verdicts-mlx5.txt
vhcactl detach a all
kernel_clean a b
