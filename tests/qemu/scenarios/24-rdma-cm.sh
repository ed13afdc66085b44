#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Programs of librdmacm, unmodified, connect between guests and with dom0, over IPv4 and
# IPv6, and end with the verdict and the words with which they end in dom0 alone.
# limit: 900
. ./lib.sh
. ./vhca.sh

A4=10.9.0.1
A6=fd09::1

# at WHERE COMMAND: in dom0 or in a guest.
at() {
	if [ "$1" = dom0 ]; then
		timeout "$(seconds 20)" bash -c "$2"
	else
		guest_sh -t 20 "$1" "$2"
	fi
}
listeners() { rdma resource show cm_id | grep -c LISTEN || true; }
more_listeners() { [ "$(listeners)" -gt "$1" ]; }
listens_or_ended() { more_listeners "$1" || ! kill -0 "$2" 2>/dev/null; }

# cm_pair SERVER CLIENT COMMAND COMMAND: both programs; the status of each is in
# $verdict. perftest gives up where the clock is not steady, as in pair_try(). It also
# connects twice, and its server listens anew in between: a client that is faster finds
# nobody (REJECTED, 8), and Debian's then crashes.
cm_pair() {
	local attempt
	for attempt in 1 2 3 4; do
		cm_once "$@"
		[ "$verdict" != "0 0" ] || return 0
		grep -qsE 'Correlation coefficient|REJECTED; error: 8' \
			/tmp/cm.[sc] || break
		note "$3: no clock or no listener ($attempt)"
	done
	head -n 4 /tmp/cm.s /tmp/cm.c
}

# A server listens in dom0's kernel, wherever its program is.
cm_once() {
	local before server rs=0 rc=0
	before=$(listeners)
	at "$1" "$3" >/tmp/cm.s 2>&1 &
	server=$!
	wait_until 10 listens_or_ended "$before" "$server" ||
		note "nothing listens: $3"
	at "$2" "$4" >/tmp/cm.c 2>&1 || rc=$?
	[ "$rc" = 0 ] || at "$1" "pkill -x ${3%% *}" || true
	wait "$server" || rs=$?
	verdict="$rs $rc"
}

# cm_case CLAIM SERVER-COMMAND CLIENT-COMMAND [PAIR...]: dom0 alone, then each pair.
cm_case() {
	local claim=$1 server=$2 client=$3 pair native
	shift 3
	[ $# != 0 ] || set -- 'a b' 'a dom0' 'dom0 b'
	cm_pair dom0 dom0 "$server" "$client"
	native=$verdict
	check "$claim: dom0 alone" [ "$native" = "0 0" ]
	for pair; do
		# shellcheck disable=SC2086
		cm_pair $pair "$server" "$client"
		check "$claim: server and client in $pair" \
			[ "$verdict" = "$native" ]
	done
}

# cm_error CLAIM COMMAND: one program, which has to fail with the same words.
cm_error() {
	local rc=0 native
	at dom0 "$2" >/tmp/cm.native 2>&1 || native=$?
	at b "$2" >/tmp/cm.c 2>&1 || rc=$?
	check "$1: status ${native:-0}" [ "$rc" = "${native:-0}" ]
	cmp /tmp/cm.native /tmp/cm.c || tail -n 3 /tmp/cm.c
	check "$1: $(tail -n 1 /tmp/cm.native)" cmp -s /tmp/cm.native /tmp/cm.c
}

step "two guests with a vhca each"
guests_with_vhca pv a pv b
ip -6 addr replace $A6/64 dev d0 nodad
modprobe rdma_ucm

step "IPv4"
cm_case rping "rping -s -a $A4 -C 10 -V" "rping -c -a $A4 -C 10 -V"
cm_case "ucmatose, 20 connections" "ucmatose -b $A4 -c 20 -C 5" \
	"ucmatose -s $A4 -c 20 -C 5"
cm_case "ucmatose, ids that move to another channel" \
	"ucmatose -b $A4 -m -c 3 -C 2" "ucmatose -s $A4 -m -c 3 -C 2"
# As a server it looks for the RoCE type of a GID, which a vhca does not show.
cm_case udaddy "udaddy -b $A4 -c 3" "udaddy -s $A4 -c 3" 'dom0 b'
cm_case "rdma_server and rdma_client" "rdma_server -s $A4" "rdma_client -s $A4"
cm_case "ib_write_bw -R" "ib_write_bw -R -F -s 65536 -n 100" \
	"ib_write_bw -R -F -s 65536 -n 100 $A4" 'a b' 'dom0 b'
cm_case "ib_send_lat -R" "ib_send_lat -R -F -s 64 -n 100" \
	"ib_send_lat -R -F -s 64 -n 100 $A4" 'a b' 'dom0 b'
cm_case rstream "rstream -b $A4 -S 4096 -C 20" "rstream -s $A4 -S 4096 -C 20"
cm_case "cmtime, 50 connections" "cmtime -b $A4 -c 50" "cmtime -s $A4 -c 50"

step "IPv6"
cm_case "rping, IPv6" "rping -s -a $A6 -C 3 -V" "rping -c -a $A6 -C 3 -V"
cm_case "ucmatose, IPv6" "ucmatose -f ip6 -b $A6" "ucmatose -f ip6 -s $A6"
cm_case "rdma_server and rdma_client, IPv6" "rdma_server -s $A6" \
	"rdma_client -s $A6"

step "errors"
cm_error "nothing listens" "rping -c -a $A4 -p 7999"
cm_error "an address of nobody" "rping -s -a 198.51.100.1"
cm_error "no route" "rping -c -a 203.0.113.9"
rping -s -a $A4 -p 7300 >/dev/null 2>&1 &
holder=$!
wait_until 10 more_listeners 0
cm_error "a port that is taken" "rping -s -a $A4 -p 7300"
kill "$holder"

step "200 connections at once"
cm_pair a b "ucmatose -b $A4 -c 200 -C 1" "ucmatose -s $A4 -c 200 -C 1"
check "ucmatose, 200 connections" [ "$verdict" = "0 0" ]

step "the data path"
# rw_cmds OPTIONS N: commands that ib_write_bw of N transfers costs the client.
rw_cmds() {
	local before
	before=$(guest_sh b "cat $DBG_FRONT/*/stats" | awk '$1 == "cmds" { print $2 }')
	cm_pair a b "ib_write_bw $1 -F -s 4096 -n $2" \
		"ib_write_bw $1 -F -s 4096 -n $2 $A4"
	[ "$verdict" = "0 0" ] || fail "ib_write_bw $1: $verdict"
	guest_sh b "cat $DBG_FRONT/*/stats" |
		awk -v b="$before" '$1 == "cmds" { print $2 - b }'
}
few=$(rw_cmds -R 200)
many=$(rw_cmds -R 2000)
check "ib_write_bw -R: $few commands for 200 transfers, $many for 2000" \
	[ "$few" = "$many" ]

step "what is left"
check "no id of a worker" sh -c '! rdma resource show cm_id | grep vhcad-'
vhcactl detach a all
vhcactl detach b all
check "the device is gone with the vhca" \
	guest_sh a '[ ! -e /dev/infiniband/rdma_cm ]'
kernel_clean a b
