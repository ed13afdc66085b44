#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Tag matching of a model of a ConnectX-5 works in a guest as natively: expected and
# unexpected messages, cancel, wildcard, order, phase, rendezvous whose data the HCA reads,
# and rdma-core's own tests of it. An HCA without it has none in a guest.
# limit: 900
# tier: soak
# hca: yes
# pyverbs: yes
# qemu: -device connectx4,id=hca0,lid=1,tag-matching=on -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./verdicts.sh

native=$SCENARIO_DIR/native.txt guest=$SCENARIO_DIR/guest.txt
verdicts="pyverbs-python /tmp/verdicts.py --tests /usr/share/pyverbs/tests"
verdicts+=" --timeout $((30 * ${TIME_SCALE:-2} / 2))"
# holds FILE: a line of vhca-tags for each rule, that it holds.
holds() {
	local rule
	for rule in expected unexpected no_tag cancel wildcard order phase long \
		rndv_{expected,unexpected,too_long,order,cancel,error}; do
		grep -qx "$rule ok [1-9][0-9]*" "$1" || return 1
	done
}
# status STATUS COMMAND...: it ends so.
status() {
	local want=$1 is=0
	shift
	"$@" || is=$?
	[ "$is" = "$want" ]
}

step "native"
verdicts_setup
hca_setup
modprobe xen-vhca-helper
vhca-helper-test --capped mlx5_0 vhca-tags mlx5_0 >"$native" || true
cat "$native"
check "every rule holds" holds "$native"
check "the other HCA has no tags" status 77 vhca-tags mlx5_1
# shellcheck disable=SC2086
vhca-helper-test --capped mlx5_0 $verdicts --dev mlx5_0 'test_tag_matching.*' \
	>"$native.python" || true

step "guests"
hca_guests pv a pv b
guest_sh -t 120 a "vhca-tags vhca0" >"$guest" || true
cat "$guest"
check "every rule holds in a guest" holds "$guest"
check "with the same counts as natively" diff "$native" "$guest"
# shellcheck disable=SC2016 # of the guest's shell
check "the other guest has no tags" \
	guest_sh b 'vhca-tags vhca0; [ $? = 77 ]'
check "once more, with nothing left of the first time" \
	guest_sh -t 120 a "vhca-tags vhca0"

step "rdma-core's tests"
guest_put a /tmp/verdicts.py /tmp/verdicts.py
guest_sh -t 300 a "$verdicts --dev vhca0 'test_tag_matching.*'" >"$guest.python" || true
cat "$guest.python"
check "the same verdicts as natively" diff "$native.python" "$guest.python"
check "all four are good" [ "$(cut -f2 "$guest.python" | grep -cx ok)" = 4 ]
vhcactl detach a all
kernel_clean a b
