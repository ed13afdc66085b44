#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What sysfs and "rdma statistic" say of an HCA in dom0 they say in a guest that was
# attached with port-counters=1, on a model HCA and on Soft-RoCE: the same counters with
# the same values once the port is quiet, type and revision of the card. Without the
# key a guest has counters of its own device only. A node_desc that a guest writes is
# its own.
# tier: soak
# limit: 420
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

# readings DEVICE: prints a script that shows all counters but the vhca's own.
readings() {
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'cd /sys/class/infiniband/%s/ports/1 || exit 1
	for f in counters/* hw_counters/*; do
		case $f in
		*/vhca_*|*/lifespan|*"*") ;;
		*) echo "$f $(cat $f 2>&1)" ;;
		esac
	done | sort' "$1"
}
# same_readings GUEST DEVICE HCA
same_readings() {
	bash -c "$(readings "$3")" >"$SCENARIO_DIR/$3.native"
	guest_sh "$1" "$(readings "$2")" >"$SCENARIO_DIR/$3.guest"
	cmp -s "$SCENARIO_DIR/$3.native" "$SCENARIO_DIR/$3.guest"
}
# equal_to GUEST DEVICE HCA: at most so many tries as the port needs to be quiet.
equal_to() {
	wait_until 20 same_readings "$@" && return
	diff "$SCENARIO_DIR/$3.native" "$SCENARIO_DIR/$3.guest"
}
# value FILE NAME
value() { awk -v n="$2" '$1 == n { print $2 }' "$1"; }
# of_card DEVICE: a script that shows what the driver says of it.
of_card() {
	echo "cd /sys/class/infiniband/$1 || exit 1
	for f in hca_type hw_rev board_id device/vendor device/device; do
		[ ! -e \$f ] || cat \$f
	done"
}

step "guests with the key, on model HCAs"
# shellcheck disable=SC2034 # of vhca.sh
VHCA_KEYS=port-counters=1
hca_guests pv a pv b
pair "RC ping-pong" a b 'ibv_rc_pingpong -n 50'
check "a: the counters of mlx5_0, as in dom0" equal_to a vhca0 mlx5_0
check "they have counted" [ "$(value "$SCENARIO_DIR/mlx5_0.guest" \
	counters/port_xmit_packets)" -gt 0 ]
check "and there are as many as of a port" [ "$(grep -c ^counters/ \
	"$SCENARIO_DIR/mlx5_0.guest")" = 21 ]
bash -c "$(of_card mlx5_0)" >/tmp/card.native
guest_sh a "$(of_card vhca0)" >/tmp/card.guest
cat /tmp/card.guest
check "a: type, revision and board of the card" cmp /tmp/card.native /tmp/card.guest
check "which are three" [ "$(wc -l </tmp/card.guest)" = 3 ]
# The one of Debian 13 has a line for each.
check "a: rdma statistic has the HCA's and its own" \
	guest_sh a 'rdma statistic show link vhca0/1 | tr "\n" " " |
		tee /dev/stderr | grep -q "out_of_buffer.* vhca_cmds"'

# perfquery_agrees: what dom0's perfquery reads of the port by a MAD is what the guest's
# file says, which may count meanwhile.
perfquery_agrees() {
	local file=/sys/class/infiniband/vhca0/ports/1/counters/port_xmit_packets
	local before said after
	before=$(guest_sh a "cat $file")
	said=$(perfquery -x -C mlx5_0 -P 1 | sed -n 's/^PortXmitPkts:\.*//p')
	after=$(guest_sh a "cat $file")
	note "port_xmit_packets: $before, perfquery $said, $after"
	[ "$before" -gt 0 ] && [ "$said" -ge "$before" ] && [ "$said" -le "$after" ]
}
check "a: it is what perfquery says in dom0" perfquery_agrees

step "what it costs"
# shellcheck disable=SC2016 # for the guest's shell
check "a: a counter of its own costs no command" guest_sh a \
	'cd /sys/class/infiniband/vhca0/ports/1/hw_counters
	n=$(cat vhca_cmds)
	for i in 1 2 3 4 5 6 7 8 9; do cat vhca_events >/dev/null; done
	[ "$(cat vhca_cmds)" = "$n" ]'
# shellcheck disable=SC2016
check "a: the folder of the port costs a command for each file at most" guest_sh a \
	'cd /sys/class/infiniband/vhca0/ports/1
	n=$(cat hw_counters/vhca_cmds)
	cat counters/* >/dev/null
	n=$(($(cat hw_counters/vhca_cmds) - n))
	echo "$n commands"
	[ $n -ge 1 ] && [ $n -le 21 ]'

step "a node_desc of its own"
cat /sys/class/infiniband/mlx5_0/node_desc >/tmp/desc
check "a: node_desc is written" guest_sh a \
	'cd /sys/class/infiniband/vhca0 && echo "guest a" >node_desc &&
	grep -x "guest a" node_desc'
check "dom0's is as it was" cmp /tmp/desc /sys/class/infiniband/mlx5_0/node_desc

step "Soft-RoCE, with and without the key"
vhca_attach b port-counters=1
vhca_attach b
wait_guest 20 b '[ -e /sys/class/infiniband/vhca2/ports/1/hw_counters ]'
guest_sh b 'vhca-xfer -d vhca1 --loop -t rc-write-4k'
check "b: the counters of rxe0, as in dom0" equal_to b vhca1 rxe0
check "they have counted" [ "$(value "$SCENARIO_DIR/rxe0.guest" \
	hw_counters/sent_pkts)" -gt 0 ]
check "b: rdma statistic has rxe's and its own" \
	guest_sh b 'rdma statistic show link vhca1/1 | tr "\n" " " |
		tee /dev/stderr | grep -q "sent_pkts.* vhca_cmds"'
check "b: no folder of the port's counters, as in dom0" guest_sh b \
	'! [ -e /sys/class/infiniband/vhca1/ports/1/counters ]'
check "b: nothing about a card, as in dom0" guest_sh b \
	'cd /sys/class/infiniband/vhca1 && ! ls . device | grep -E "hca_type|hw_rev|board_id|vendor"'
check "b: without the key, its own counters only" guest_sh b \
	'cd /sys/class/infiniband/vhca2/ports/1
	ls hw_counters
	! [ -e counters ] && [ -e hw_counters/vhca_cmds ] &&
	! ls hw_counters | grep -vE "^(vhca_[a-z_]*|lifespan)$"'
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
