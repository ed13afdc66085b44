#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Programs of librdmacm, unmodified, connect between guests with addresses of their own
# and with dom0, or do not, and end with the verdict with which they end in dom0
# alone.
# limit: 900
# soak-limit: 1800
. ./lib.sh
. ./vhca.sh
. ./rdmacm.sh

declare -A V4=([dom0]=10.9.0.1 [a]=10.9.0.71 [b]=10.9.0.72)
declare -A V6=([dom0]=2001:db8::1 [a]=2001:db8::71 [b]=2001:db8::72)
GROUP=239.77.1.1
WITH_DOM0=('a b' 'a dom0' 'dom0 b')
SOME=('a b')
# Not with its server in a guest and its client in dom0: see cm_pair().
PERFTEST=('a b')
[ "$(long 0 1)" = 0 ] || SOME=("${WITH_DOM0[@]}") PERFTEST=('a b' 'dom0 b')
# more COMMAND...: in the long form.
more() { [ "$(long 0 1)" = 0 ] || "$@"; }

family() { # family 4|6
	local where
	local -n from=V$1
	for where in dom0 a b; do
		CM_ADDR[$where]=${from[$where]}
	done
}
# Nobody has this address: minutes until the connection manager gives up.
nobody() { echo "ucmatose -s 10.9.0.200 -c 1"; }
is_stopped() { # is_stopped WHERE
	at "$1" "ps -o stat= -C rping | grep -q ^T"
}
# cm_ids END ADDRESS: how many ids have it at that end, but the listener.
cm_ids() { rdma resource show cm_id | grep -v LISTEN | grep -c " $1 $2:7471" || true; }
many_ids() { [ "$(cm_ids "$1" "$2")" -ge "$3" ]; }
# backlog SERVER CLIENT: eight requests at a server that takes none; $full: how many
# wait there, and how their program ends when the server is killed. Linux drops the
# others, and they are sent again.
backlog() {
	local server client addr=${CM_ADDR[$1]} rc=0
	cm_serve "$1" "rping -s -p 7471 -a $addr"
	at "$1" 'pkill -STOP -x rping'
	wait_until 10 is_stopped "$1"
	at "$2" "ucmatose -s $addr -c 8" >/tmp/cm.c 2>&1 &
	client=$!
	wait_until 10 many_ids dst-addr "$addr" 8 || note "not all are sent"
	wait_until 10 many_ids src-addr "$addr" 3 || true
	full=$(cm_ids src-addr "$addr")
	at "$1" 'pkill -KILL -x rping'
	wait "$client" || rc=$?
	wait "$server" || true
	full="$full $rc $(cm_words /tmp/cm.c)"
}

step "two guests with addresses of their own"
backend_start
ip addr add "${V6[dom0]}/64" dev d0 nodad
modprobe rdma_ucm
guests_create pv a b
vhca_attach a "ip=${V4[a]}/24 ${V6[a]}/64"
vhca_attach b "ip=${V4[b]}/24 ${V6[b]}/64"
family 4
timeout "$(seconds 200)" bash -c "$(nobody)" >/tmp/nobody.0 2>&1 &
nobody_dom0=$!
guest_sh -t 200 b "$(nobody)" >/tmp/nobody.1 2>&1 &
nobody_b=$!

step "IPv4"
cm_case rping "rping -s -a @ -C 10 -V" "rping -c -a @ -C 10 -V" "${WITH_DOM0[@]}"
cm_case "ucmatose, ids that move to another channel" \
	"ucmatose -b @ -m -c 3 -C 2" "ucmatose -s @ -m -c 3 -C 2" "${SOME[@]}"
cm_case udaddy "udaddy -b @ -c 3" "udaddy -s @ -c 3" "${SOME[@]}"
more cm_case "rdma_server and rdma_client" "rdma_server -s @" "rdma_client -s @" \
	"${SOME[@]}"
more cm_case "rdma_xserver and rdma_xclient" "rdma_xserver" "rdma_xclient -s @" \
	"${SOME[@]}"
more cm_case "mckey" "mckey -m $GROUP -b % -C 5" "mckey -m $GROUP -s -b % -C 5" \
	"${SOME[@]}"
cm_case "ib_write_bw -R" "ib_write_bw -R -F -s 65536 -n 100" \
	"ib_write_bw -R -F -s 65536 -n 100 @" "${PERFTEST[@]}"
more cm_case "ib_send_lat -R" "ib_send_lat -R -F -s 64 -n 100" \
	"ib_send_lat -R -F -s 64 -n 100 @" "${PERFTEST[@]}"
more cm_case rstream "rstream -b @ -S 4096 -C 20" "rstream -s @ -S 4096 -C 20" \
	"${SOME[@]}"
more cm_case riostream "riostream -b @ -S 4096 -C 20" "riostream -s @ -S 4096 -C 20" \
	"${SOME[@]}"
more cm_case rcopy "rcopy" "rcopy /etc/passwd @:/tmp/copied" "${SOME[@]}"
more check "the copy is right" bash -c "$(declare -f guest_sh seconds guest_ip)
	GUEST_RUN=$GUEST_RUN SHELL_PORT=$SHELL_PORT
	cmp <(guest_sh b 'cat /etc/passwd') <(guest_sh a 'cat /tmp/copied')"
more cm_fails "rdma_xclient over XRC" "rdma_xserver -c x" "rdma_xclient -c x -s @" 'a b'
more cm_fails udpong true "udpong -s @ -S 1024 -C 5" 'a b'

step "IPv6"
family 6
cm_case "rping, IPv6" "rping -s -a @ -C 10 -V" "rping -c -a @ -C 10 -V" \
	"${SOME[@]}"
more cm_case "ucmatose, IPv6" "ucmatose -b @ -c 3 -C 2" "ucmatose -s @ -c 3 -C 2" \
	"${SOME[@]}"
more cm_case "udaddy, IPv6" "udaddy -b @ -c 3" "udaddy -s @ -c 3" "${SOME[@]}"
more cm_case "rstream, IPv6" "rstream -b @ -S 4096 -C 20" "rstream -s @ -S 4096 -C 20" \
	"${SOME[@]}"
more cm_case "rdma_server, IPv6" "rdma_server -s @" "rdma_client -s @" "${SOME[@]}"
more cm_case "riostream, IPv6" "riostream -b @ -S 4096 -C 20" \
	"riostream -s @ -S 4096 -C 20" "${SOME[@]}"
more cm_case "cmtime, IPv6" "cmtime -b @" "cmtime -s @ -c 20" "${SOME[@]}"
more cm_fails "ib_write_bw -R, IPv6" "ib_write_bw -R -F -n 5" \
	"ib_write_bw -R -F -n 5 @" 'a b'
more cm_fails "rdma_xclient, IPv6" "rdma_xserver" "rdma_xclient -s @" 'dom0 b'
more cm_fails "mckey, IPv6" "mckey -m ff0e::7 -b % -C 5" \
	"mckey -m ff0e::7 -s -b % -C 5" 'a b'
family 4

n=$(long 8 200)
step "$n connections at once"
cm_case "ucmatose, $n connections" "ucmatose -b @ -c $n -C 1" \
	"ucmatose -s @ -c $n -C 1" "${SOME[@]}"
more cm_case "cmtime, $n connections" "cmtime -b @" "cmtime -s @ -c $n" "${SOME[@]}"

step "connections that do not come, or end"
cm_alone "nobody listens" "ucmatose -s @ -c 2" 'a b' 'a dom0' 'dom0 b'
# The client is killed after its first answers, as one that is killed before it connects
# leaves a server that waits. The server is told, or its next request finds the client's
# region gone. Its end is not waited for: a receive that rping posts again after its
# queue pair is in the error state is never flushed by rxe of Linux 6.1, and rping waits
# for that, natively once in 55 times.
told='exec 3< <(exec rping -s -a @ 2>&1); grep -m 1 "DISCONNECT\|completion failed" <&3
	rc=$?; kill -KILL $!; exit $rc'
cm_case "a client that is killed" "$told" \
	'exec 3< <(exec rping -v -c -a @ -C 1000000) && read -r _ <&3 && kill -KILL $!' 'a b'
backlog dom0 dom0
native=$full
note "$native"
check "a full backlog: dom0 alone" [ "${native%% *}" = 3 ]
backlog a b
note "$full"
check "a full backlog: the same in guests" [ "$full" = "$native" ]
rc0=0 rc1=0
wait "$nobody_dom0" || rc0=$?
wait "$nobody_b" || rc1=$?
cm_words /tmp/nobody.0
check "nobody answers: dom0 alone" grep UNREACHABLE /tmp/nobody.0
check "nobody answers: the same in b" [ "$rc0 $(cm_words /tmp/nobody.0)" = \
	"$rc1 $(cm_words /tmp/nobody.1)" ]

step "a process of another network namespace"
guest_sh a 'rdma system set netns exclusive && ip netns add other'
check "exclusive mode: the file cannot be opened there" guest_sh a \
	'! ip netns exec other sh -c ": <>/dev/infiniband/rdma_cm"'
check "and can in the device's own" guest_sh a ': <>/dev/infiniband/rdma_cm'
guest_sh a 'ip netns del other && rdma system set netns shared'

step "what is left"
check "no id of a worker" no_cm_ids
vhcactl detach a all
vhcactl detach b all
ip addr del "${V6[dom0]}/64" dev d0
check "the device is gone with the vhca" \
	guest_sh a '[ ! -e /dev/infiniband/rdma_cm ]'
kernel_clean a b
