#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Whatever ends, a process, a worker, a device or a guest, and when: nothing of it
# listens or is left afterwards, and the next one connects.
# tier: soak
# limit: 900
# soak-limit: 2400
. ./lib.sh
. ./vhca.sh

A4=10.9.0.1

cm_ids() { rdma resource show cm_id | grep vhcad- || true; }
no_ids() { [ -z "$(cm_ids)" ]; }
listening() { cm_ids | grep -q LISTEN; }
connects() { # connects SERVER CLIENT
	guest_sh -t 20 "$1" "rping -s -a $A4 -C 3" >/tmp/s 2>&1 &
	local server=$!
	wait_until 10 listening
	guest_sh -t 20 "$2" "rping -c -a $A4 -C 3" && wait "$server"
}
listen_in() { # listen_in GUEST: rping listens; its status will be that of $server
	guest_sh -t 60 "$1" "rping -s -a $A4 -P" >/tmp/s 2>&1 &
	server=$!
	wait_until 10 listening
}
ended() { ! kill -0 "$server" 2>/dev/null; }

step "two guests"
backend_start
modprobe rdma_ucm
guests_create pv a b
ledger_open b
vhca_attach_all a b

step "processes, killed at any time"
for ((i = 0; i < $(long 5 100); i++)); do
	guest_sh -t 60 a "rping -s -a $A4 -P & p=\$!; sleep 1.$((RANDOM % 900 + 100)) # measured
		kill -9 \$p" >/tmp/s 2>&1 &
	server=$!
	guest_sh -t 60 b "sleep 0.5; rping -c -a $A4 -C 1000 & p=\$!
		sleep 0.$((RANDOM % 900 + 100)); kill -9 \$p" >/tmp/c 2>&1 || true
	wait "$server" || true
done
check "nothing listens, no id is left" wait_until 20 no_ids
check "the next ones connect" connects a b

step "the worker, killed while one listens or connects"
for ((i = 0; i < $(long 1 10); i++)); do
	listen_in a
	check "it listens in dom0's kernel" listening
	guest_sh -t 60 b "rping -c -a $A4 -C 100000" >/tmp/c 2>&1 &
	client=$!
	sleep 0.$((RANDOM % 900 + 100))	# measured
	kill -9 "$(worker_pid a 0)"
	check "nothing listens" wait_until 20 not listening
	check "the program ends" wait_until 30 ended
	guest_sh b 'pkill -9 -x rping' || true
	wait "$client" || true
	check "no id is left" wait_until 20 no_ids
	check "the device comes back" wait_guest 20 a 'ls /dev/infiniband/rdma_cm'
done
check "and connects" connects a b

step "detached while one listens"
listen_in a
vhcactl detach a all
check "nothing listens" wait_until 20 no_ids
check "the program ends" wait_until 30 ended
check "rdma_cm is gone" guest_sh a '[ ! -e /dev/infiniband/rdma_cm ]'

step "the kernel's own module has the name"
guest_sh a 'modprobe -r xen-vhcafront; modprobe rdma_ucm'
guest_sh a 'modprobe xen-vhcafront'
vhca_attach a
check "the guest's log says what to do" \
	guest_sh a 'dmesg | grep "rdma_ucm has that name; blacklist it"'
check "verbs work" guest_sh -t 60 a 'vhca-xfer --loop -t rc-write-1m'
guest_sh a 'modprobe -r rdma_ucm'
vhcactl detach a all
vhca_attach a
check "without it the name is ours" connects a b
kernel_clean a b

step "a guest, destroyed while one listens"
listen_in a
guest_destroy a
check "nothing listens" wait_until 20 no_ids
vhcactl detach b all
ledger_close b
kernel_clean b
