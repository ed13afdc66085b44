#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PV guests on one HCA, each with addresses of its own: each sees and uses its
# own GIDs and no other, Debian's programs connect with them, and the addresses
# are on the HCA's network as long as the device is there.
# limit: 500
. ./lib.sh
. ./vhca.sh
. ./suspend.sh
. ./create.sh
. ./fabric.sh

A4=10.9.0.71 A1=10.9.1.71 A6=2001:db8::71 B4=10.9.0.72 B6=2001:db8::72
# dom0_has ADDRESS...: each once, on the HCA's network device.
dom0_has() {
	local a
	for a; do
		[ "$(ip -o addr show to "$a" | grep -c ' d0 ')" = 1 ] || return 1
	done
}
dom0_lacks() { [ -z "$(ip -o addr show to "$1")" ]; }
# table GUEST: what vhca-indices says there, also in $SCENARIO_DIR.
table() { guest_sh "$1" vhca-indices | tee "$SCENARIO_DIR/$1.txt"; }
# only GUEST ADDRESS...: it has GIDs of these, of their type, one of them at index 0 as well,
# and no others.
only() {
	local a
	table "$1" >/dev/null
	for a in "${@:2}"; do
		grep -E "^gid [0-9]+ (::ffff:)?$a v2 qp ok alt EINVAL ah ok\$" \
			"$SCENARIO_DIR/$1.txt" || return 1
	done
	grep -E '^gid 0 .* v2 qp ok alt EINVAL ah ok$' "$SCENARIO_DIR/$1.txt" &&
		[ "$(grep -c '^gid [0-9]* [^-]' "$SCENARIO_DIR/$1.txt")" = $# ]
}
# index GUEST ADDRESS: of its GID, as table() saw it last.
index() {
	awk -v g="$2" '$2 && ($3 == g || $3 == "::ffff:" g) { print $2 }' \
		"$SCENARIO_DIR/$1.txt"
}
# at GUEST INDEX: what its programs are told of that index.
at() { grep "^gid $2 " "$SCENARIO_DIR/$1.txt" | cut -d' ' -f4-; }
# pingpong PROGRAM ADDRESS-OF-A ADDRESS-OF-B: a serves, each by its own index.
pingpong() {
	local server rc=0
	guest_sh -t 60 a "$1 -n 100 -g $(index a "$2")" >/tmp/pp.a 2>&1 &
	server=$!
	listens a
	guest_sh -t 50 b "$1 -n 100 -g $(index b "$3") $(guest_ip a)" \
		>/tmp/pp.b 2>&1 || rc=$?
	wait "$server" || rc=$?
	[ "$rc" = 0 ] || tail -n 5 /tmp/pp.[ab]
	return "$rc"
}
# foreign: b's program with the index of a's GID.
foreign() {
	guest_sh -t 20 b \
		"ibv_rc_pingpong -n 100 -g $(index a $A4) $(guest_ip a)" \
		>/tmp/foreign 2>&1
}
# refused WORDS SPEC: for a, with these words.
refused() {
	! vhcactl attach -w 20 a "$2" >/tmp/said 2>&1 && grep "$1" /tmp/said
}
all_as_before() {
	check "$1: the addresses are there, once" \
		wait_until 20 dom0_has $A4 $A6 $B4 $B6
	check "$1: so are the guests' GIDs" \
		wait_until 20 only a $A4 $A6
	check "$1: and the other's" wait_until 20 only b $B4 $B6
}

step "two guests with addresses"
backend_start
vhca-indices -d rxe0 >"$SCENARIO_DIR/native.txt" ||
	fail "vhca-indices does not run natively"
empty=$(sed -n 's/^gid [0-9]* - [^ ]* //p' "$SCENARIO_DIR/native.txt" |
	sort -u)
guest_create a pv &
guest_create b pv
wait $!
vhca_attach a "ip=$A4/24 $A6/64"
vhca_attach b "ip=$B4/24 $B6/64"
check "the addresses are on the HCA's network device" \
	dom0_has $A4 $A6 $B4 $B6
check "vhcactl show tells them" bash -c \
	"vhcactl show a 0 | grep 'addresses.ip *$A4/24 $A6/64' &&
	vhcactl show a 0 | grep 'addresses.pkeys *default partition'"

step "each has its own GIDs"
check "a" only a $A4 $A6
check "b" only b $B4 $B6
check "dom0 has all" bash -c "[ \$(vhca-indices -d rxe0 |
	grep -cE ' (::ffff:)?($A4|$A6|$B4|$B6|10.9.0.1) v2 qp ok') = 5 ]"
for a in $B4 $B6; do
	check "b's $a is to a as an index that is not there is natively" \
		[ "$(at a "$(index b "$a")")" = "ENODATA $empty" ]
done
check "to dom0's own too" [ "$(at b 1)" = "ENODATA $empty" ]
check "there is one P_Key, and what is not there is EINVAL" guest_sh a \
	'vhca-indices | grep -A1 "^pkey 0 0xffff qp ok" | grep "^pkey 1 EINVAL qp EINVAL"'

step "what the guest sees of the port"
check "the link is Ethernet" guest_sh a 'ibv_devinfo | grep "link_layer:.*Ethernet"'
check "a GID is of RoCE v2" guest_sh a \
	"ibv_devinfo -v | grep 'GID\\[ *$(index a $A4)\\].*RoCE v2'"
check "in sysfs as well" guest_sh a \
	"grep 'RoCE v2' /sys/class/infiniband/vhca0/ports/1/gid_attrs/types/$(index a $A4)"
check "rdma link has no LID" guest_sh a \
	'rdma link | grep "vhca0/1 state ACTIVE" && ! rdma link | grep -i lid'

step "programs between them"
check "ibv_rc_pingpong, IPv4" pingpong ibv_rc_pingpong $A4 $B4
[ "$(long 0 1)" = 0 ] || check "ibv_rc_pingpong, IPv6" pingpong ibv_rc_pingpong $A6 $B6
check "ibv_ud_pingpong, IPv6" pingpong ibv_ud_pingpong $A6 $B6
for p in rc ud; do
	pair "ibv_${p}_pingpong, index 0" a b "ibv_${p}_pingpong -n 100 -g 0"
done
guest_sh -t 30 a "ibv_rc_pingpong -n 100 -g $(index a $A4)" >/dev/null 2>&1 &
server=$!
listens a
check "with a's index b gets no connection" not foreign
check "which is to b as one that is not there" \
	[ "$(at b "$(index a $A4)")" = "ENODATA $empty" ]
wait "$server" || true

step "rdma_cm between them"
modprobe rdma_ucm
# rping_between SERVER CLIENT ADDRESS ADDRESS: what each names.
cm_listens() { rdma resource show cm_id | grep -q LISTEN; }
rping_between() {
	local server
	guest_sh -t 60 "$1" "rping -s -a $3 -C 3 -V" >/tmp/rping.s 2>&1 &
	server=$!
	wait_until 20 cm_listens || true
	guest_sh -t 60 "$2" "rping -c -a $4 -C 3 -V" >/tmp/rping.c 2>&1 &&
		wait "$server" || { cat /tmp/rping.[sc]; return 1; }
}
check "a serves at its address" rping_between a b $A4 $A4
check "b serves at its wildcard" rping_between b a 0.0.0.0 $B4
check "over IPv6 too" rping_between a b $A6 $A6
check "over loopback, it finds itself" rping_between b b 127.0.0.1 127.0.0.1
check "what listens at its address, too" rping_between b b $B4 127.0.0.1
check "over IPv6 as well" rping_between b b ::1 ::1
check "a finds what listens at loopback there, as natively" \
	rping_between b a 127.0.0.1 $B4
for a in $A4 10.9.0.1; do
	check "b does not listen at $a" guest_sh -t 20 b \
		"timeout 5 rping -s -a $a 2>&1 | grep 'Cannot assign requested'"
done
# refusal DOMAIN COMMAND: what a program says that got no address.
refusal() {
	local run=(guest_sh -t 20 "$1")
	[ "$1" != dom0 ] || run=(bash -c)
	{ "${run[@]}" "timeout 5 $2" 2>&1 || true; } | grep -i 'assign requested'
}
# as_absent COMMAND: with @ a's address in b, it is refused as one that nobody has
# is in dom0.
as_absent() {
	local native
	native=$(refusal dom0 "${1//@/10.9.0.200}") &&
		[ "$(refusal b "${1//@/$A4}")" = "$native" ]
}
check "b binds to a's address as dom0 to one that is not there" \
	as_absent "ucmatose -b @ -c 1"
check "so it resolves from there" as_absent "ucmatose -b @ -s 10.9.0.1 -c 1"
check "so do datagrams" as_absent "udaddy -b @ -s 10.9.0.1 -c 1"
# rping_dom0 ADDRESS: from a.
rping_dom0() {
	local server
	timeout "$(seconds 60)" rping -s -a "$1" -C 3 -V >/tmp/rping.s 2>&1 &
	server=$!
	wait_until 20 cm_listens || true
	guest_sh -t 40 a "rping -c -a $1 -C 3 -V" >/tmp/rping.c 2>&1 &&
		wait "$server" || { cat /tmp/rping.[sc]; kill "$server"; return 1; }
}
listeners() { [ "$(rdma resource show cm_id | grep -c "LISTEN.*:7471")" = "$1" ]; }
guest_sh -t 60 a "rping -s -p 7471" >/tmp/rping.s 2>&1 &
server=$!
guest_sh -t 60 b "rping -s -p 7471" >/tmp/rping.c 2>&1 &
watch=$!
check "both listen at one port" wait_until 20 listeners 2
guest_sh a 'pkill -x rping' || true
guest_sh b 'pkill -x rping' || true
check "and no more" wait_until 20 listeners 0
wait "$server" "$watch" || true

step "two HCAs in one guest"
rxe1_setup
vhca_attach a "hca=rxe1,ip=$A1/24"
# named GUEST: each device has the name of its number, whichever came first.
named() {
	local n
	for n in 0 1; do
		[ "$(guest_sh "$1" "cat /sys/class/infiniband/vhca$n/node_guid")" = \
			"$(cat /sys/class/infiniband/rxe$n/node_guid)" ] || return 1
	done
}
reloaded() {
	guest_sh a 'modprobe -r xen-vhcafront && modprobe xen-vhcafront'
	guest_has 2 && named a
}
check "vhca0 is of the first" named a
for n in $(seq "$(long 1 3)"); do
	check "and again ($n)" reloaded
done
check "the first one alone connects again" comes_back a 0
check "and has its name" wait_until 20 named a
# serves ADDRESS CLIENT...: rping in a, to which a client in dom0 comes for each address.
serves() {
	local server client
	guest_sh -t 60 a "rping -s -P -a $1" >/tmp/rping.s 2>&1 &
	server=$!
	wait_until 20 cm_listens || true
	for client in "${@:2}"; do
		timeout "$(seconds 20)" rping -c -a "$client" -C 3 -V >/tmp/rping.c 2>&1 ||
			{ cat /tmp/rping.[sc]; guest_sh a 'pkill -x rping'; return 1; }
	done
	guest_sh a 'pkill -x rping'
	wait "$server" || true
	wait_until 20 not cm_listens
}
check "a serves at the first one's address" serves $A4 $A4
check "at the second one's" serves $A1 $A1
check "at its wildcard it is reached by both" serves 0.0.0.0 $A4 $A1
check "it connects by the first" rping_dom0 10.9.0.1
check "and by the second" rping_dom0 10.9.1.1
check "detach" vhcactl detach a 1
rxe1_remove

if [ "$(long 0 1)" = 1 ]; then
	step "libfabric"
	# Its control connection is one of TCP, which takes the guest's own network: the address
	# is on that, too. dom0 answers for it on the HCA's network only.
	sysctl -qw net.ipv4.conf.all.arp_ignore=1
	guest_sh a "ip link set lo up && ip addr add $A4/24 dev eth0"
	guest_sh b "ip link set lo up && ip addr add $B4/24 dev eth0"
	GID_IDX=([dom0]=1 [a]=$(index a $A4) [b]=$(index b $B4))
	for e in 'verbs msg' 'verbs;ofi_rxm rdm' 'verbs dgram'; do
		for a in 127.0.0.1 10.9.0.1; do
			fabric "${e% *}" "${e#* }" dom0 dom0 "$a"
			[ "$a" != 127.0.0.1 ] || loop=$ends
		done
		native=$ends
		note "$e natively: $native; over loopback: $loop"
		fabric "${e% *}" "${e#* }" a a 127.0.0.1
		check "$e over loopback ends as natively" ends_as "$loop"
		fabric "${e% *}" "${e#* }" a b $A4
		check "$e between two guests too" ends_as "$native"
	done
	check "fi_info finds endpoints of messages" guest_sh a \
		'fi_info -p verbs -t FI_EP_MSG | grep "domain: vhca0"'
	# As it was, for what follows and for scenarios that use these guests again.
	guest_sh a "ip addr del $A4/24 dev eth0 && ip link set lo down"
	guest_sh b "ip addr del $B4/24 dev eth0 && ip link set lo down"
	sysctl -qw net.ipv4.conf.all.arp_ignore=0
fi

step "an address changes"
guest_sh -t 60 a 'vhca-indices --event 30' >/tmp/event 2>&1 &
watch=$!
wait_until 20 grep -q waits /tmp/event
ip addr add 10.9.0.99/24 dev d0
ip addr del 10.9.0.99/24 dev d0
sleep 2	# measured
check "that of somebody else is no event" not grep -q GID /tmp/event
mark=$(ip -o addr show to $A4 | grep -o 'metric [0-9]*')
ip addr del $A4/32 dev d0
check "the guest's own is" wait "$watch"
check "and its GID is gone" wait_until 10 only a $A6
# shellcheck disable=SC2086 # words
ip addr add $A4/32 dev d0 $mark
check "until it is back" wait_until 10 only a $A4 $A6

step "mistakes"
check "dom0's own address is refused" refused \
	'10.9.0.1 is an address of this domain' hca=rxe0,ip=10.9.0.1/24
vhcactl detach -f a 1
check "and still dom0's" dom0_has 10.9.0.1
check "b's address is not a's" refused 'has an address of these' \
	hca=rxe0,ip=$B4
vhcactl detach -f a 1
vhca_attach a max-qp=8
check "without a key the tables are shared" bash -c \
	'vhcactl show a 1 | grep "addresses.ip *shared"'
check "vhca1 sees what dom0 sees" guest_sh a \
	"vhca-indices -d vhca1 | grep '::ffff:$B4 v2 qp ok'"
check "detach" vhcactl detach a 1
all_as_before "after the mistakes"

step "the daemon is restarted"
old=$(supervisor_pid)
kill -KILL "$old"
check "there is another supervisor" wait_until 10 bash -c \
	"[ \"\$(pgrep -o -x xen-vhcad)\" != $old ]"
all_as_before "a killed supervisor"
backend_stop
check "the addresses outlive the daemon" dom0_has $A4 $A6 $B4 $B6
backend_start
all_as_before "a new daemon"

step "a checkpoint"
xl save -c a /dev/null >/tmp/xl.save 2>&1 || fail "xl save -c: $(cat /tmp/xl.save)"
wait_until 40 guest_sh -t 2 a true || fail "a does not come back"
all_as_before "a checkpoint"
check "ibv_rc_pingpong" pingpong ibv_rc_pingpong $A4 $B4

if [ "$(long 0 1)" = 1 ]; then
	step "saved and restored"
	save a
	check "a saved guest has no address here" wait_until 20 dom0_lacks $A4
	restore a
	wait_until 40 guest_sh -t 2 a true || fail "a does not come back"
	vhca_attach a "ip=$A4/24 $A6/64"
	all_as_before "a restore"
	check "ibv_rc_pingpong" pingpong ibv_rc_pingpong $A4 $B4
fi

step "the end"
check "detach" vhcactl detach a all
check "takes a's addresses off" wait_until 10 dom0_lacks $A4
check "both" wait_until 10 dom0_lacks $A6
check "and leaves b's" only b $B4 $B6
spoilt b
id=$(guest_domid b)
xl destroy b
check "so does the end of the guest" wait_until 20 dom0_lacks $B4
check "nothing is left of it" wait_until 10 not backend_has "$id"
check "no device has an address here" test -z "$(/etc/xen/scripts/vhca-address list)"
check "dom0 has its own address" dom0_has 10.9.0.1
kernel_clean a
