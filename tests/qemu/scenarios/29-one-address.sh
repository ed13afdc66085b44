#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A guest's RDMA address is an address of the guest: with vif= two PV guests have one
# address each for RDMA and everything else, towards each other, dom0 and another host.
# dom0's own sockets are not reached at it, nobody else may use it, and nothing is left
# in dom0's network.
# limit: 400
. ./lib.sh
. ./vhca.sh
. ./rdmacm.sh
. ./suspend.sh
. ./oneaddr.sh
. ./fabric.sh

DOM0_SERVICE=7002
NEW_MAC=00:16:3e:77:01:0a
PAIRS=('dom0 a' 'a dom0' 'peer a' 'a peer' 'b a')
PAIRS6=('peer a' 'a b')
[ "$(long 0 1)" = 0 ] || PAIRS+=('a b') PAIRS6+=('a peer' 'dom0 a' 'a dom0' 'b a')
# netdev GUEST: the interface that its device names.
netdev() {
	guest_sh "$1" 'rdma link' | sed -n 's|^link vhca0/1 .* netdev \([^ ]*\).*|\1|p'
}
names() { [ "$(netdev "$1")" = "$2" ]; }
# refuses WHERE ADDRESS: dom0's listener is not behind it.
refuses() { connect "$1" "$2" $DOM0_SERVICE | grep -i refused; }
gone() { ! ip route show table 118 | grep -qF "${V4[a]}"; }
no_vif() { [ -z "$(ip neigh show proto 118 to "${V4[a]}")" ]; }
tables() { nft list table netdev vhca && nft list table inet vhca; }

step "two guests with one address each"
backend_start
modprobe rdma_ucm
guests_create pv a b
network_setup
network_state >/tmp/network
share b &
other=$!
share_only a
all_well "b has no vhca" "$other"
check "vhcactl show tells the vif" bash -c \
	"vhcactl show a 0 | tee '$SCENARIO_DIR/show' | grep -E '\\bvif +0\\b'"
check "no interface has the address: a's device names none" names a ''
own_addresses a
check "eth0 has it: the device names eth0" names a eth0
check "in sysfs as well" wait_guest 10 a \
	'grep -qsx eth0 /sys/class/infiniband/vhca0/ports/1/gid_attrs/ndevs/*'

step "TCP at the address of RDMA"
serve_all a b
talks 4 "${PAIRS[@]}"
talks 6 "${PAIRS6[@]}"
check "a answers a ping of the other host" at peer "ping -q -c 1 -W $(seconds 2) ${V4[a]}"
check "and the other host one of a" at a "ping -q -c 1 -W $(seconds 2) ${V4[peer]}"

step "RDMA at the same address"
cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a b' 'a dom0' 'dom0 b'

step "dom0's own sockets"
setsid socat TCP4-LISTEN:$DOM0_SERVICE,reuseaddr,fork /dev/null </dev/null >/dev/null 2>&1 &
wait_until 10 bash -c "ss -ltnH | grep ':$DOM0_SERVICE '"
check "the other host reaches dom0's listener" \
	grep connected <(connect peer "${V4[dom0]}" $DOM0_SERVICE)
for where in peer dom0 b; do
	check "$where does not, at a's address" refuses "$where" "${V4[a]}"
done

step "b takes a's address, too"
for where in dom0 peer; do
	hears "$where" 7003
	tell b hello "${V4[b]}" "${V4[$where]}" 7003
done
hears peer 4791
guest_sh b "ip addr add ${V4[a]}/32 dev eth0"
for where in dom0 peer; do
	tell b forged "${V4[a]}" "${V4[$where]}" 7003
done
tell b forged "${V4[b]}" "${V4[peer]}" 4791
guest_sh b "ip addr del ${V4[a]}/32 dev eth0"
for where in dom0 peer; do
	tell b true "${V4[b]}" "${V4[$where]}" 7003
	check "$where hears b" wait_until 10 heard "$where" 7003 true
	check_not "and not b with a's address" heard "$where" 7003 forged
done
check_not "nor RoCE of b's own making" heard peer 4791 forged
if [ "$(long 0 1)" = 1 ]; then
	# A guest of the bridge that shares no address, or one without a vhca.
	ip netns add z
	ip link add z0 type veth peer name eth0 netns z
	ip link set z0 master xenbr0 up
	ip -n z addr add $BRIDGE_NET.250/24 dev eth0
	ip -n z addr add "${V4[a]}/32" dev eth0
	ip -n z link set eth0 up
	ip -n z route add "${V4[dom0]}" via $BRIDGE_NET.1
	wait_until 10 ip netns exec z ping -q -c 1 -W 1 $BRIDGE_NET.1
	for word in "forged ${V4[a]}" "right $BRIDGE_NET.250"; do
		ip netns exec z bash -c "echo ${word% *} |
			socat -u - UDP4-SENDTO:${V4[dom0]}:7003,bind=${word#* }"
	done
	check "dom0 hears one of the bridge" wait_until 10 heard dom0 7003 right
	check_not "and not with a's address" heard dom0 7003 forged
	ip link delete z0
	ip netns delete z
fi

without_vif() {
	step "the vif is detached"
	# Without it nobody can tell a anything: what it does about the next one it knows now.
	guest_sh a "setsid bash -c 'until [ ! -e /sys/class/net/eth0 ]; do sleep 0.2; done
		until ip link set eth0 up; do sleep 0.2; done
		ip addr add $(guest_ip a)/24 dev eth0
		ip addr add ${V4[a]}/24 dev eth0
		ip addr add ${V6[a]}/64 dev eth0 nodad' </dev/null >/dev/null 2>&1 &"
	check "detach" xl network-detach a 0
	check "dom0 has no neighbour of a" wait_until 20 no_vif
	check_not "dom0's listener does not answer in its place" \
		grep connected <(connect peer "${V4[a]}" $DOM0_SERVICE)
	check "b goes on" talk 4 peer b
	check "attach" xl network-attach a type=vif mac=$NEW_MAC bridge=xenbr0 script=vif
	ip neigh flush dev xenbr0
	check "a is back" wait_until 40 guest_sh -t 5 a true
	check "with its address" wait_until 20 talk 4 peer a
	talks 4 'a b'
	check "vhcactl show tells the new vif's MAC" bash -c \
		"vhcactl show a 0 | grep 'vif_mac *$NEW_MAC'"
	check "its device names the new eth0" wait_until 10 names a eth0
}
killed() {
	local old
	step "the daemon is killed"
	old=$(supervisor_pid)
	nft delete table netdev vhca
	kill -KILL "$old"
	check "there is another supervisor" wait_until 10 bash -c \
		"[ \"\$(pgrep -o -x xen-vhcad)\" != $old ]"
	check "it puts the tables in order" wait_until 20 tables
	check "TCP goes on" wait_until 10 talk 4 peer a
}
suspended() {
	step "a checkpoint, a save and a restore"
	xl save -c a /dev/null >/tmp/xl.save 2>&1 || fail "xl save -c: $(cat /tmp/xl.save)"
	wait_until 40 guest_sh -t 5 a true || fail "a does not come back"
	check "TCP goes on after a checkpoint" wait_until 20 talk 4 peer a
	check "a's device names eth0" wait_until 10 names a eth0
	save a
	check "a saved guest shares no address" wait_until 20 gone
	check "dom0 has no neighbour of a" wait_until 20 no_vif
	check "b goes on" talk 4 peer b
	restore a
	wait_until 40 guest_sh -t 5 a true || fail "a does not come back"
	share_only a
	check "a restored guest has its address" wait_until 20 talk 4 peer a
	talks 4 'a b'
	check "a's device names eth0" wait_until 10 names a eth0
	cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a b'
}
[ "$(long 0 1)" = 0 ] || { without_vif; killed; suspended; }

step "a program by TCP and RDMA"
fabric verbs msg a b "${V4[a]}"
check "fi_pingpong connects b to a by TCP and RDMA" [ "$ends" = 0 ]

step "the end"
check "detach the vhca" vhcactl detach a all
check "a's address is no longer shared" wait_until 20 gone
check "b's is" talk 4 peer b
spoilt b
xl destroy b
end_services a
check "nothing is left in dom0's network" nothing_left
own_no_addresses a
network_remove
kernel_clean a
