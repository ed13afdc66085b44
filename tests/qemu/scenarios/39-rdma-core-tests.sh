#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The tests that rdma-core brings with its Python bindings have the same verdicts on a
# model HCA and on Soft-RoCE in dom0 as in a guest that has it as vhca; differences must
# be those that are documented.
# limit: 900
# hca: yes
# pyverbs: yes
# by-hand: the lists of expected differences have yet to be made from a run
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

export COMPARE_LEAST=200
tests=/usr/share/pyverbs/tests
verdicts="python3 /tmp/verdicts.py --tests $tests --timeout $((30 * ${TIME_SCALE:-2} / 2))"

step "guests with Python"
cat "$GUEST_RUN/initrd" /guest/pyverbs.cpio >"$GUEST_RUN/initrd.pyverbs"
# shellcheck disable=SC2034 # of vhca.sh
VHCA_GUEST_MEM=768 VHCA_GUEST_CFG=("ramdisk = \"$GUEST_RUN/initrd.pyverbs\"")
(cd / && cpio --quiet -id </guest/pyverbs.cpio)
cp /tests/verbs/verdicts.py /tmp/
# shellcheck disable=SC2034
VHCA_KEYS=trusted=1
hca_guests pv a pv b
vhca_attach b trusted=1
wait_guest 20 b '[ -e /sys/class/infiniband/vhca1 ]'
for g in a b; do
	guest_put "$g" /tests/verbs/verdicts.py /tmp/verdicts.py
done

# both HCA GUEST DEVICE GID-OPTION: the guest while dom0 is not at it.
both() {
	local capped=()
	# a PV dom0 that gave memory away has frames in disorder
	[ "$1" = rxe0 ] || capped=(vhca-helper-test --capped "$1")
	# shellcheck disable=SC2086
	"${capped[@]}" $verdicts --dev "$1" $4 >"$SCENARIO_DIR/$1.native" || true
	guest_sh -t 600 "$2" "$verdicts --dev $3 $4" >"$SCENARIO_DIR/$1.guest" || true
	cut -f2 "$SCENARIO_DIR/$1.guest" | sort | uniq -c
}
for row in 'mlx5_0 a vhca0' 'rxe0 b vhca1 --gid 1'; do
	read -r hca guest device gid <<<"$row"
	step "$hca"
	both "$hca" "$guest" "$device" "$gid"
	check "$hca: the same verdicts as in dom0, but documented ones" \
		/tests/verbs/compare.sh "$SCENARIO_DIR/$hca.native" \
		"$SCENARIO_DIR/$hca.guest" "/tests/verbs/expected-verdicts-${hca%%[_0]*}.txt"
done
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
