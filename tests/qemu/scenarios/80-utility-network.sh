#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A utility domain that serves vhcas serves Ethernet, too: dom0 and a guest have a netfront
# in its network, which is the one of its Soft-RoCE, and a vhca beside it. Both come back
# with a new utility domain.
# limit: 400
# tier: soak
# processors: 2
. ./lib.sh
. ./vhca.sh
. ./utility.sh

MAC=00:16:3e:09:00:0

# network: the bridge of hcadom, netback for it, and what "xl devd" does there: a new
# interface is put into the bridge, and its frontend may connect; the nodes of one that
# was taken away go.
# shellcheck disable=SC2016 # there
network() {
	hcadom_modules xen-netback bridge
	hcadom_sh 'ip link add d0 type bridge forward_delay 0
		rxe_setup
		setsid bash -c "while sleep 0.2; do
			for v in /sys/class/net/vif*; do
				[ -e \$v/device/nodename -a ! -e \$v/master ] || continue
				ip link set \${v##*/} master d0 up
				xenstore-write \$(<\$v/device/nodename)/hotplug-status connected
			done
			xenstore-ls -f backend/vif 2>/dev/null |
				sed -n s,/state.=..6.\$,,p | while read -r v; do
				[ x\$(xenstore-read \$v/online) != x0 ] || xenstore-rm \$v
			done
		done" </dev/null >/dev/null 2>&1 &'
}

# netfront NAME: the interface with that domain's address in hcadom's network.
# shellcheck disable=SC2016 # there
NETFRONT='netfront() {
	local i
	for i in /sys/class/net/*; do
		[ "$(<$i/address)" != "$1" ] || echo ${i##*/}
	done
}'
eval "$NETFRONT"
has_netfront() { [ -n "$(netfront "$1")" ]; }

# joins DOMAIN N: a netfront of it, 10.9.0.N.
joins() {
	local up="ip addr replace 10.9.0.$2/24 dev \$(netfront $MAC$2)
		ip link set \$(netfront $MAC$2) up"
	check "$1: xl network-attach" xl network-attach "$1" mac=$MAC"$2" backend=hcadom
	if [ "$1" = Domain-0 ]; then
		check "$1: it has a netfront" wait_until 20 has_netfront "$MAC$2"
		eval "$up"
	else
		wait_guest 20 "$1" "$NETFRONT; [ -n \"\$(netfront $MAC$2)\" ]"
		guest_sh "$1" "$NETFRONT; $up"
	fi
}

both_work() {
	check "dom0 reaches hcadom" wait_until 20 ping -c 1 -W 1 10.9.0.1
	check "and the guest, by hcadom's bridge" wait_until 20 ping -c 5 -W 1 10.9.0.3
	pair "guest to guest: ibv_rc_pingpong" a b "ibv_rc_pingpong -g 1 -n 300"
	with_dom0 "dom0 to guest: ib_write_lat" a "ib_write_lat -F -x 1 -s 8 -n 200"
}

step "hcadom and two guests"
guest_config hcadom pv mem=512 'driver_domain = 1' >/dev/null
guest_config a pv >/dev/null
guest_config b pv >/dev/null
guests_start hcadom a b
modprobe xen-netfront
network
hcadom_daemon
hcadom_attach hca=rxe0,max-pinned-mb=64 a b Domain-0
joins Domain-0 2
joins a 3
both_work

step "a new hcadom"
xl destroy hcadom
check "dom0's interface goes" xl network-detach 0 ${MAC}2
check "and the guest's" xl network-detach a ${MAC}3
guest_start hcadom
network
hcadom_daemon
check "the devices come back" vhcactl reattach
joins Domain-0 2
joins a 3
both_work

step "detach"
for g in a b Domain-0; do
	check "$g" vhcactl detach $g all
done
check "dom0's interface" xl network-detach 0 ${MAC}2
kernel_clean a b hcadom
