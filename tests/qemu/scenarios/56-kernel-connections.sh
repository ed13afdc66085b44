#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Twenty connections at once between the kernels of two PV guests (kernel=1, ip=): a test
# module makes them by rdma_cm at the same time, sends messages on all of them and ends them,
# twice, and five times in the long form; from the second time on both ends end them at the
# same moment. After each round neither the guests nor dom0 have an object, a grant or a
# connection of them.
# limit: 600
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh

KC=/sys/kernel/debug/vhca-kconns
COUNT=20

# kc GUEST COMMAND...: of the module; what its kernel said, if it fails.
kc() { on "$1" "echo ${*:2} >$KC/run"; }
# has GUEST N: so many connections are up, and no other one is there.
has() { guest_sh "$1" "read -r up there _ <$KC/info && [ \$up.\$there = $2.$2 ]"; }
# round_ledger WHERE: what rounds must not change: in dom0 with the grants that it maps.
round_ledger() {
	case "$1" in
	dom0)	dom0_ledger ;;
	*)	guest_ledger "$1"
		guest_sh "$1" 'grep -h "^pool_used" /sys/kernel/debug/xen-vhca/*/stats' ;;
	esac
}
same_round() { round_ledger "$1" | tee /tmp/ledger.now | cmp -s "/tmp/round.$1"; }

close_one() {
	check "b ends them" kc b close
	check "a hears of that" wait_until 20 has a 0
	check "a ends the listener" kc a close
}
close_both() {
	local rc=0 a
	kc a close &
	a=$!
	kc b close || rc=$?
	check "b ends them" [ "$rc" = 0 ]
	rc=0
	wait "$a" || rc=$?
	check "a ends them" [ "$rc" = 0 ]
}
# round ENDS
round() {
	local g
	check "a listens" kc a listen 4420
	check "$COUNT connections" kc b connect "${KERNEL_ADDR[a]}" 4420 "$COUNT"
	check "b has them" has b "$COUNT"
	check "a has them" wait_until 10 has a "$COUNT"
	check "dom0 has them" [ "$(rdma resource show cm_id | grep -c vhcad-)" -ge $((2 * COUNT)) ]
	check "each carries messages" kc b use "$(long 10 100)"
	"$1"
	check "no connection is left in dom0" wait_until 15 no_cm_ids
	for g in a b; do
		check "$g: its kernel has no object" wait_until 15 kernel_has_none "$g"
	done
	for g in a b dom0; do
		check "$g: no grant or page is left" ledger_settles "same_round $g" "/tmp/round.$g"
	done
}

step "two guests on a fabric"
kernel_guests vhca-kconns
for g in a b; do
	guest_sh "$g" "mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
		cat $KC/info"
done
for g in a b dom0; do
	round_ledger "$g" >"/tmp/round.$g"
done

step "one end ends them"
round close_one
for i in 1 $(long '' '2 3 4'); do
	step "both ends end them at the same moment, $i"
	round close_both
done

step "the end"
for g in a b; do
	check "$g: unload the module" guest_sh "$g" 'rmmod vhca-kconns'
done
kernel_guests_end
