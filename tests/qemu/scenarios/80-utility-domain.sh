#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A utility domain, a PV guest without any right of a toolstack, can be the backend
# in dom0's place: it serves two guests and dom0, survives what their processes write
# into their queues, leaves nothing of a guest that dies, and when it is destroyed
# under traffic a new one serves the same guests again, and has their addresses.
# tier: soak
# limit: 450
# soak-limit: 5000
# processors: 2
. ./lib.sh
. ./vhca.sh
. ./utility.sh

WQES=$(long 10000 1000000)

# In a guest: the device that shares hcadom's addresses.
# shellcheck disable=SC2016
SHARED='-d $(grep -l 0a09:0001 /sys/class/infiniband/*/ports/1/gids/1 | cut -d/ -f5)'
# An address of b's second device, in the network of whatever hcadom there is.
b_has_its_address() {
	hcadom_sh "ip -o addr show to 10.9.0.72 | grep ' d0 '" &&
		guest_sh b 'grep 0a09:0048 /sys/class/infiniband/*/ports/1/gids/*'
}
programs() {
	pair "guest to guest: ibv_rc_pingpong" a b \
		"ibv_rc_pingpong $SHARED -g 1 -n 300"
	pair "guest to guest: ib_send_lat" a b \
		"ib_send_lat $SHARED -F -x 1 -s 8 -n 200"
	with_dom0 "dom0 to guest: ib_write_lat" a "ib_write_lat -F -x 1 -s 8 -n 200"
}

# forks_start GUEST... and forks_end GUEST...: processes that come and go. Each takes
# pages for page tables, which Xen refuses where somebody can still write to them.
forks_start() {
	local g
	for g; do
		guest_sh "$g" 'touch /run/forks
			setsid bash -c "while [ -e /run/forks ]; do (:); done" \
				</dev/null >/dev/null 2>&1 &'
	done
}
forks_end() {
	local g
	for g; do
		guest_sh "$g" 'rm /run/forks'
	done
}

step "hcadom and two guests"
guest_config hcadom pv mem=512 >/dev/null
guest_config a pv >/dev/null
guest_config b pv >/dev/null
guests_start hcadom a b
hcadom_sh rxe_setup
ends_open a b

step "devices for the guests and for dom0"
hcadom_daemon
check_not "hcadom writes no other domain's nodes" guest_sh hcadom \
	"xenstore-write /local/domain/$(guest_domid a)/device/x 1"
check_not "nor reads the toolstack's" guest_sh hcadom 'xenstore-ls /libxl'
hcadom_attach hca=rxe0,max-qp=99,max-pinned-mb=64 a b Domain-0
hcadom_attach hca=rxe0,max-pinned-mb=64,ip=10.9.0.72/24 b
check "b's address is there" wait_until 10 b_has_its_address
check "an address shared with a vif needs nft there, and says so" \
	grep 'the key vif needs nft' <(vhcactl attach b \
	backend=hcadom,hca=rxe0,ip=10.9.0.73/24,vif=0 2>&1)
check_not "vhcactl check there says it as well" hcadom_check
check "with what to do" hcadom_says 'FAIL addresses: .*; apt-get install nftables'
check "that device goes" vhcactl detach b 2
vhcactl list
check "vhcactl check in hcadom finds it fit" hcadom_check
check "it tells what it serves, and what is the control domain's" \
	hcadom_says 'ok   utility-domain: it is the backend of 4 devices and has no rights'
check "what they pin, against what xen-vhcad was told" \
	hcadom_says 'ok   max_maptrack_frames: 1024: .* max-pinned-mb of all is 256 '
check "how much of xenstored's quota is theirs" \
	hcadom_says 'ok   xenstore-quota: 4 devices take 16 watches and at most 60 nodes'
programs
with_dom0 "dom0 to guest: ibv_rc_pingpong" a "ibv_rc_pingpong -g 1 -n 300"
xfer_between "vhca-xfer: every byte" a b '-t rc-write-1m,rc-send-4k,rc-read-4k'

step "wild work requests"
check "a: $WQES of them" guest_sh -t "$(long 200 4000)" a "vhca-wqe -n $WQES"
check_not "hcadom's kernel had nothing to say" guest_sh hcadom \
	'dmesg | grep -E "BUG|Oops|WARNING|soft lockup|general protection"'
xfer_between "vhca-xfer: every byte" b a '-t rc-write-4k,rc-send-4k,srq'

step "hcadom is destroyed under traffic"
traffic_start a b 60
forks_start a b
xl destroy hcadom
rc=0
# shellcheck disable=SC2154
wait "$traffic_server" || rc=$?
ended_with_error "the program in a" $rc
rc=0
# shellcheck disable=SC2154
wait "$traffic_client" || rc=$?
ended_with_error "the program in b" $rc
forks_end a b
check "vhcactl still lists the four devices" \
	[ "$(vhcactl list --json | jq 'map(select(.hca == "rxe0")) | length')" = 4 ]
check "dom0's device is gone" wait_until 10 bash -c '! ls /sys/class/infiniband/vhca*'
check_not "none can come back yet" vhcactl reattach a

step "a new hcadom"
guest_start hcadom
hcadom_sh rxe_setup
hcadom_daemon
check "the devices come back" vhcactl reattach
vhcactl list
check "with what they were attached with" \
	[ "$(xenstore-ls -f "$(hcadom_nodes)" | grep -c 'max-qp = "99"')" = 3 ]
check "and b with its address" wait_until 10 b_has_its_address
programs
check "no device is left that can be reattached" [ -z "$(vhcactl reattach)" ]

step "a guest dies"
b=$(guest_domid b)
check "hcadom has b's nodes" xenstore-exists "$(hcadom_nodes)/$b"
guest_destroy b
check "hcadom drops them" wait_until 20 not xenstore-exists "$(hcadom_nodes)/$b"
check "its address is gone" wait_until 20 not \
	hcadom_sh "ip -o addr show to 10.9.0.72 | grep ."
check "b is no zombie in Xen" wait_until 20 bash -c '! xl list | grep -q null'
check "hcadom holds no verbs object of b" wait_guest 10 hcadom \
	"! { rdma res show qp; rdma res show mr; } | grep -q 'comm vhcad-$b-'"

step "detach"
check "a" vhcactl detach a all
check "dom0" vhcactl detach Domain-0 all
ends_close a
kernel_clean a hcadom
