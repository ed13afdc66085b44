#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A guest has one address for RDMA and everything else (vif=) by a utility domain, whose
# HCA and network it uses: dom0 and the utility domain reach the guest at it by TCP, another
# guest by rdma_cm. Dom0 does not reach a listener of the utility domain at that address. All
# this holds for a new utility domain, too.
# limit: 500
# tier: soak
# processors: 2
. ./lib.sh
. ./vhca.sh
. ./utility.sh

A=10.9.0.73 B=10.9.0.74	# of a and b; hcadom has 10.9.0.1, dom0 10.9.0.2
SPEC=backend=hcadom,hca=rxe0,max-pinned-mb=64

# nft_there: nft, its libraries and the modules that the rules need, in hcadom.
nft_there() {
	local f
	hcadom_modules nf_tables nft_fwd_netdev nft_fib_netdev nft_limit veth
	for f in /usr/sbin/nft $(LD_TRACE_LOADED_OBJECTS=1 nft | grep -oE '/[^ ]+'); do
		guest_sh hcadom "[ -e $f ]" || guest_put hcadom "$f" "$f"
	done
	guest_sh hcadom 'chmod 755 /usr/sbin/nft'
}
hcadom_up() {
	hcadom_network
	hcadom_sh modprobe rdma_ucm
	nft_there
	hcadom_daemon
}
# listens_at GUEST ADDRESS PORT WORD: who connects is told that word.
listens_at() {
	guest_sh "$1" "setsid socat TCP4-LISTEN:$3,bind=$2,reuseaddr,fork SYSTEM:'echo $4' \
		</dev/null >/dev/null 2>&1 &
		for ((i = 0; i < 100; i++)); do
			! ss -ltnH | grep -q ':$3 ' || exit 0
			sleep 0.1
		done
		exit 1"
}
heard_at() {
	timeout "$(seconds 10)" socat -u "TCP4:$1:$2,connect-timeout=$(seconds 5)" - 2>&1 || true
}
says() { [ "$(heard_at "$1" "$2")" = "$3" ]; }

one_address() {
	joins Domain-0 2
	joins a 3
	guest_sh a "$NETFRONT; ip addr replace $A/24 dev \$(netfront ${MAC}3)"
	listens_at hcadom 0.0.0.0 7002 hcadom
	check "dom0 reaches hcadom's listener at hcadom's address" \
		wait_until 30 says 10.9.0.1 7002 hcadom
	check "dom0 reaches a at its address" wait_until 30 says $A 7001 a
	check "so does hcadom" guest_sh hcadom \
		"[ \"\$(socat -u TCP4:$A:7001,connect-timeout=$(seconds 5) -)\" = a ]"
	check "dom0 does not reach hcadom's listener at a's address" \
		grep -i refused <(heard_at $A 7002)
	check "which still listens" says 10.9.0.1 7002 hcadom
	check "hcadom has the rules" guest_sh hcadom \
		'nft list ruleset | grep -q vhca && ip rule | grep -q "lookup 118"'
	check "rping connects b to a" rping_between
}
rping_between() {
	local server rc=0
	guest_sh -t 60 a "rping -s -a $A -C 3 -V" >/tmp/rping.s 2>&1 &
	server=$!
	wait_until 20 guest_sh hcadom 'rdma resource show cm_id | grep -q LISTEN'
	guest_sh -t 60 b "rping -c -a $A -C 3 -V" >/tmp/rping.c 2>&1 || rc=$?
	wait $server || rc=$?
	[ "$rc" = 0 ] || tail -n 5 /tmp/rping.[sc]
	return "$rc"
}

step "hcadom and two guests"
network_guests
hcadom_up
check "a gets a device" vhcactl attach a "$SPEC,ip=$A/24,vif=1"
check "b gets one" vhcactl attach b "$SPEC,ip=$B/24"
listens_at a 0.0.0.0 7001 a
one_address

step "a new hcadom"
hcadom_anew
hcadom_up
check "the devices come back" vhcactl reattach
one_address

step "detach"
for g in a b; do
	check "$g" vhcactl detach $g all
done
check "hcadom has no rule left" wait_until 20 guest_sh hcadom \
	'r=$(nft list ruleset) && p=$(ip rule) && [[ $r != *vhca* && $p != *"lookup 118"* ]]'
check "dom0's interface" xl network-detach 0 ${MAC}2
kernel_clean a b hcadom
