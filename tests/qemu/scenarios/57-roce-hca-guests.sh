#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PV guests with doorbells and addresses of their own on the Ethernet port of a model
# HCA: both versions of RoCE, IPv4, IPv6 and a VLAN, between the guests, with dom0 and with
# another host. Address vectors of datagrams are as natively, an absent neighbour delays its
# caller only, and nothing is left. The short form has fewer programs and pairs.
# limit: 400
# soak-limit: 900
# skip-ok: no time is left for it
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./roce.sh

WAITING=$(long 15 40)	# handles of a neighbour that nobody has, a second for each
# in_long COMMAND...: in 'make soak' only.
in_long() { [ "$(long 0 1)" = 0 ] || "$@"; }

# entry PLACE INDEX: what its programs are told of that index.
entry() { grep "^gid $2 " "$SCENARIO_DIR/$1.txt" | cut -d' ' -f4-; }
# own_entries GUEST: it can use GIDs of its addresses, of each version, and has no others.
# Index 0 is one of them, but not for datagrams, which contain it.
own_entries() {
	local a v
	for a in "${V4[$1]}" "${V6[$1]}" "${IN_VLAN[$1]}"; do
		for v in v1 v2; do
			grep -E "^gid [0-9]+ (::ffff:)?$a $v qp ok alt EINVAL ah ok\$" \
				"$SCENARIO_DIR/$1.txt" || return 1
		done
	done
	grep -E '^gid 0 .* qp ok alt EINVAL ah ENODATA$' "$SCENARIO_DIR/$1.txt" &&
		[ "$(grep -c '^gid [0-9]* [^-]' "$SCENARIO_DIR/$1.txt")" = 7 ]
}

# vector PLACE PEER INDEX: of a datagram; in a guest and natively by the same entry.
vector() {
	in_place "$1" "vhca-av -d ${DEVICE[$1]} -g $3 show ::ffff:${V4[$2]}" |
		tee "/tmp/vector.$1"
}
same_vector() { # same_vector PEER INDEX
	vector a "$1" "$2" && vector dom0 "$1" "$2" && cmp /tmp/vector.a /tmp/vector.dom0
}

step "an Ethernet port, and two guests with addresses of their own"
network
agent_start
backend_start
guests_create pv a b
ledger_open a b
hca_ledger_open
for g in a b; do
	vhca_attach $g "hca=mlx5_0,ip=${V4[$g]}/24 ${V6[$g]}/64 ${IN_VLAN[$g]}/24"
done

step "what the guests see"
check "the link is Ethernet" guest_sh a 'ibv_devinfo | grep "link_layer:.*Ethernet"'
for where in a b dom0 peer; do
	table $where
done
check "a has its GIDs" own_entries a
check "b has its GIDs" own_entries b
use v2 V4
check "a GID is of RoCE v2" guest_sh a \
	"ibv_devinfo -v | grep 'GID\\[ *${GID_INDEX[a]}\\].*RoCE v2'"
check "b's is to a as one that is not there is natively" \
	[ "$(entry a "${GID_INDEX[b]}")" = "$(entry dom0 "$(sed -n \
		's/^gid \([0-9]*\) - ENODATA.*/\1/p' "$SCENARIO_DIR/dom0.txt" | head -n 1)")" ]
check "the addresses are on the port's interfaces" bash -c \
	"[ \$(ip -o addr show dev $ETH | grep -c '/32\\|/128') = 4 ] &&
	[ \$(ip -o addr show dev v7 | grep -c '/32') = 2 ]"

step "address vectors of datagrams"
for where in b dom0 peer; do
	check "to $where: as natively" same_vector $where "${GID_INDEX[a]}"
	check "with a port of RoCE v2" grep -q 'port or LID 0x[c-f]...,' /tmp/vector.a
	check "and a MAC" not grep -q 'MAC 00:00:00:00:00:00' /tmp/vector.a
done
check "of RoCE v1: as natively" same_vector peer "$(index a "${V4[a]}" v1)"
check "without a port" grep -q 'port or LID 0,' /tmp/vector.a

step "programs between the guests"
PAIR_GID=% XFER_GID='-g %'
in_long programs_between a b
in_long pair "XRC" a b "ib_send_bw -F -x % -c XRC -n 50"
in_long verified_between b a 1048576
versions=('v2 V4' 'v1 V6' 'v2 IN_VLAN')
[ "$(long 0 1)" = 0 ] || versions=('v1 V4' 'v2 V6' 'v1 V6' 'v2 IN_VLAN' 'v1 IN_VLAN')
for entries in "${versions[@]}"; do
	# shellcheck disable=SC2086
	use $entries
	for p in rc ud; do
		pair "$entries: $p" a b "ibv_${p}_pingpong -g % -n 20"
	done
done

step "with dom0 and another host"
versions=('v2 V4') programs=(rc)
[ "$(long 0 1)" = 0 ] || versions+=('v1 V4' 'v2 IN_VLAN') programs+=(uc ud srq)
for entries in "${versions[@]}"; do
	# shellcheck disable=SC2086
	use $entries
	for where in dom0 peer; do
		for p in "${programs[@]}"; do
			check "$entries: $p with $where" \
				with_host a $where "ibv_${p}_pingpong -g % -n 20"
		done
	done
done
use v2 V4

# other_cm_programs: all of rdmacm-utils, and perftest's way of it.
other_cm_programs() {
	cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" \
		'b a' 'a dom0' 'dom0 b' 'peer b'
	cm_case udaddy "udaddy -b @ -c 3" "udaddy -s @ -c 3" 'a b' 'a peer' 'dom0 b'
	cm_case "ib_write_bw -R" "ib_write_bw -R -F -s 65536 -n 100" \
		"ib_write_bw -R -F -s 65536 -n 100 @" 'a b' 'peer a'
	cm_case ucmatose "ucmatose -b @ -c 3 -C 2" "ucmatose -s @ -c 3 -C 2" 'a b' 'a peer'
	cm_case rstream "rstream -b @ -S 4096 -C 20" "rstream -s @ -S 4096 -C 20" 'a b' 'peer a'
	cm_case riostream "riostream -b @ -S 4096 -C 20" "riostream -s @ -S 4096 -C 20" 'a b'
	cm_case "rdma_server and rdma_client" "rdma_server -s @" "rdma_client -s @" 'a b' 'a peer'
	cm_case "rdma_xserver and rdma_xclient" "rdma_xserver" "rdma_xclient -s @" 'a b'
	cm_case rcopy rcopy "rcopy /etc/passwd @:/tmp/copied" 'a b'
	# With threads, as in rdma-core 56, it does not end natively, once it has disconnected.
	[[ $(cmtime -h 2>&1) == *num_threads* ]] ||
		cm_case cmtime "cmtime -b @" "cmtime -s @ -c 20" 'a b'
	cm_case mckey "mckey -m 239.77.1.1 -b % -C 5" "mckey -m 239.77.1.1 -s -b % -C 5" 'a b'
	cm_case "ib_send_bw -R -c UD" "ib_send_bw -R -F -c UD -s 1024 -n 100" \
		"ib_send_bw -R -F -c UD -s 1024 -n 100 @" 'a b'
}
step "rdma_cm"
cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a b' 'a peer'
in_long other_cm_programs

# sent_again: by either end.
sent_again() { echo $(($(hca_get hca0 retries) + $(hca_get hca1 retries))); }
# lossy_wire: five frames of a hundred are lost.
lossy_wire() {
	step "a wire that is not perfect"
	loss 50
	retries=$(sent_again)
	check "every byte of transfers with another host" xfer_with_host a peer \
		"-g % -t $LOSSY --max-size 1048576"
	check "frames were lost" [ "$(hca_get hca0 frames-lost)" -gt 0 ]
	check "and sent again" [ "$(sent_again)" -gt "$retries" ]
	loss 0
}
in_long lossy_wire

step "neighbours that nobody has"
guest_sh a "vhca-held ah $WAITING ${GID_INDEX[a]} >/tmp/held 2>&1 &"
pair "another process of a is served" a b "ibv_rc_pingpong -g % -n 20"
check "meanwhile the handles wait" guest_sh a '! grep made /tmp/held'
check "they end" wait_guest 120 a 'grep made /tmp/held'
check "all of them are refused" guest_sh a \
	"grep 'made 0 of $WAITING: ETIMEDOUT' /tmp/held"

step "the source of a datagram, which the HCA does not check"
check "a's own" guest_sh a \
	"vhca-av -g ${GID_INDEX[a]} forge ${GID_INDEX[a]} | grep -w ${V4[a]}"
check "b's, by a" guest_sh a \
	"vhca-av -g ${GID_INDEX[a]} forge ${GID_INDEX[b]} | grep -w ${V4[b]}"
# forged_to_host: the other host takes a datagram of a for one of b.
forged_to_host() {
	local hears qpn
	in_place peer "exec vhca-av -d ${DEVICE[peer]} -g ${GID_INDEX[peer]} hear 30" \
		>/tmp/heard 2>&1 &
	hears=$!
	wait_until 10 grep -q '^queue pair' /tmp/heard
	qpn=$(awk '/^queue pair/ { print $3 }' /tmp/heard)
	guest_sh a "vhca-av -g ${GID_INDEX[a]} forge ${GID_INDEX[b]} ::ffff:${V4[peer]} $qpn"
	wait "$hears" || true
	cat /tmp/heard
	grep -w "comes from ${V4[b]}" /tmp/heard
}
check "another host takes a's for b's" forged_to_host

step "the end"
vhcactl detach a all
vhcactl detach b all
ledger_close a b
hca_ledger_close
network_end
kernel_clean a b
