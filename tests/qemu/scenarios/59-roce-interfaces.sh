#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Guests on the Ethernet port of a model HCA whose addresses are of an interface above the
# port's: a macvlan and a bond, with another host. And a GID that goes while a queue pair uses
# it, and comes back, under traffic that is verified: as natively.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./roce.sh

# uppermost NAME ADDRESS: a and the other host talk by that interface, with a's address .71 and
# the other host's .5.
uppermost() {
	local net=${2%.*} p
	local -A own=([a]=$net.71 [peer]=$net.5)
	ip link set "$1" up
	ip addr add "$2/24" dev "$1"
	ip -n peer addr add "$net.5/24" dev "$OTHER"
	vhca_attach a "hca=mlx5_0,ip=$net.71/24"
	check "a's address is on $1" ip -o addr show dev "$1" to "$net.71"
	table a
	table peer
	use v2 own
	CM_ADDR=([dom0]=$2 [a]=$net.71 [peer]=$net.5)
	cm_case "$1: rping natively" "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'peer dom0'
	for p in rc ud; do
		check "$1: $p with another host" with_host a peer "ibv_${p}_pingpong -g % -n 20"
	done
	cm_case "$1: rping" "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a peer' 'peer a'
	vhcactl detach a all
	ip -n peer addr del "$net.5/24" dev "$OTHER"
}

step "an Ethernet port, and two guests"
network
OTHER=$(ip -n peer -o link | awk -F ': ' '!/lo:|v7/ { print $2; exit }')
agent_start
backend_start
guests_create pv a b
ledger_open a b
hca_ledger_open

step "a macvlan"
# Else the interface below answers for its addresses, too, by its own MAC.
sysctl -q net.ipv4.conf.all.arp_ignore=1
ip link add link "$ETH" name mv0 type macvlan mode bridge
uppermost mv0 10.8.9.1
ip link del mv0
sysctl -q net.ipv4.conf.all.arp_ignore=0

step "addresses that come and go"
ip addr add 10.8.0.70/24 dev "$ETH"
for g in a b; do
	vhca_attach $g "hca=mlx5_0,ip=${V4[$g]}/24"
done
for where in a b dom0 peer; do
	table $where
done
use v2 V4
traffic_native() { # as traffic_start, within dom0
	timeout "$(seconds 100)" vhca-xfer -d mlx5_0 --loop -g "$1" --traffic 40 \
		>/tmp/traffic.native 2>&1 &
	native=$!
	wait_until 30 grep -q '^t=1 ' /tmp/traffic.native || fail "no traffic in dom0"
}
traffic_native "$(index dom0 10.8.0.70 v2)"
XFER_GID='-g %'
traffic_start a b 40
for _ in 1 2 3 4 5 6 7 8 9 10; do
	ip addr add 10.8.0.90/32 dev "$ETH"
	ip addr del 10.8.0.90/32 dev "$ETH"
done
check "both run until then" kill -0 "$native" "$traffic_client"
ip addr del 10.8.0.70/24 dev "$ETH"
ip addr del "${V4[a]}/32" dev "$ETH"
has_address() { guest_sh a "ibv_devinfo -v | grep -F '::ffff:${V4[a]}'" ; }
check "a does not have the GID any more" wait_until 20 not has_address
rc=0
wait "$native" || rc=$?
note "natively the traffic of a queue pair whose GID goes ends with $rc"
ends=0
wait "$traffic_client" || ends=$?
wait "$traffic_server" || ends=$?
tail -qn 2 /tmp/traffic.native /tmp/traffic.client /tmp/traffic.server
check "between guests: as natively" [ "$ends" = "$rc" ]
ip addr add "${V4[a]}/32" dev "$ETH"
check "a has the GID again" wait_until 20 has_address
table a
use v2 V4
pair "and it serves" a b "ibv_rc_pingpong -g % -n 20"
vhcactl detach a all
vhcactl detach b all
# It has no mark of the supervisor's.
ip addr del "${V4[a]}/32" dev "$ETH"
hca_ledger_close

step "a bond"
modprobe bonding max_bonds=0
ip link add bond0 type bond mode active-backup miimon 100
ip link set "$ETH" down
ip link set "$ETH" master bond0
ip link set bond0 up
check "the port is active" wait_until 20 port_is mlx5_0 ACTIVE
hca_ledger_open	# its interface has other memory since it was down
uppermost bond0 10.8.6.1
hca_ledger_close
ip link set "$ETH" nomaster
ip link del bond0

step "the end"
ledger_close a b
network_end
kernel_clean a b
