#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Programs of librdmacm, unmodified, connect between guests and with dom0, and end with
# the verdict with which they end in dom0 alone.
# limit: 900
. ./lib.sh
. ./vhca.sh

A4=10.9.0.1

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

step "two guests with a vhca each"
guests_with_vhca pv a pv b
modprobe rdma_ucm

step "IPv4"
cm_case rping "rping -s -a $A4 -C 10 -V" "rping -c -a $A4 -C 10 -V"
cm_case "ucmatose, 20 connections" "ucmatose -b $A4 -c 20 -C 5" \
	"ucmatose -s $A4 -c 20 -C 5"
cm_case "ucmatose, ids that move to another channel" \
	"ucmatose -b $A4 -m -c 3 -C 2" "ucmatose -s $A4 -m -c 3 -C 2"
cm_case udaddy "udaddy -b $A4 -c 3" "udaddy -s $A4 -c 3"
cm_case "rdma_server and rdma_client" "rdma_server -s $A4" "rdma_client -s $A4"
cm_case "ib_write_bw -R" "ib_write_bw -R -F -s 65536 -n 100" \
	"ib_write_bw -R -F -s 65536 -n 100 $A4" 'a b' 'dom0 b'
cm_case "ib_send_lat -R" "ib_send_lat -R -F -s 64 -n 100" \
	"ib_send_lat -R -F -s 64 -n 100 $A4" 'a b' 'dom0 b'
cm_case rstream "rstream -b $A4 -S 4096 -C 20" "rstream -s $A4 -S 4096 -C 20"

step "what is left"
check "no id of a worker" sh -c '! rdma resource show cm_id | grep vhcad-'
vhcactl detach a all
vhcactl detach b all
check "the device is gone with the vhca" \
	guest_sh a '[ ! -e /dev/infiniband/rdma_cm ]'
kernel_clean a b
