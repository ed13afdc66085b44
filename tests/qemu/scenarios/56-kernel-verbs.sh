#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Consumers of RDMA in the kernels of two PV guests (key kernel=1): a test module sends
# messages, registers memory that its peer reads and writes, and is refused with a dead
# key, in three ways of polling; verbs run under a spin lock with interrupts off, with a CQ
# whose handler is the module's; its worker is killed and its device is detached under
# traffic, and works again. No process sees the devices, and nothing is left of them.
# limit: 900
# tier: soak
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh

KV=/sys/kernel/debug/vhca-kverbs
: "${KIND_A:=pv}" "${KIND_B:=pv}"

# tell GUEST: what its kernel and the module last said.
tell() {
	guest_sh "$1" "echo \"$1: \$(cat $KV/info)\"; dmesg | grep -i vhca | tail -n 8
		tr '\n' ' ' <\$(echo /sys/kernel/debug/xen-vhca/*/stats)" || true
}
# kv GUEST COMMAND...: of the module; its result is said if it fails.
kv() {
	local rc=0
	guest_sh -t 100 "$1" "echo ${*:2} >$KV/run" 2>/dev/null || rc=$?
	[ "$rc" = 0 ] || tell "$1"
	return "$rc"
}
# both COMMAND-OF-A COMMAND-OF-B: at once, of which a's is the one that waits.
both() {
	local rc=0 a
	kv a "$1" >"$SCENARIO_DIR/a.txt" 2>&1 &
	a=$!
	sleep 0.5
	kv b "$2" || rc=$?
	wait "$a" || {
		rc=$?
		cat "$SCENARIO_DIR/a.txt"
	}
	return "$rc"
}
# info GUEST: LID and number of its queue pair.
info() { guest_sh "$1" "cut -d ' ' -f 2,3 $KV/info"; }
# meet POLL: a queue pair in each guest, connected.
meet() {
	local a b
	kv a "open $1" && kv b "open $1" && a=$(info a) && b=$(info b) || return 1
	note "LID and queue pair: $a, $b"
	kv a "connect $b" && kv b "connect $a"
}
part() { kv a close && kv b close; }
# has_device GUEST, has_none GUEST: of the module.
has_device() { guest_sh "$1" "grep '^vhca' $KV/info"; }
has_none() { guest_sh "$1" "grep '^- ' $KV/info"; }
kernel_attach() { # kernel_attach GUEST HCA
	vhcactl attach -w "$(seconds 30)" "$1" "hca=$2,kernel=1,kernel-pool-mb=4" || {
		tell "$1"
		vhcactl show "$1" 0
		fail "vhcactl attach $1"
	}
	check "$1: the module has the device" wait_guest 10 "$1" "grep '^vhca' $KV/info"
}
# traffic_begins: messages without end between the guests, until one fails.
traffic_begins() {
	guest_sh -t 100 a "echo serve 100000000 1024 >$KV/run" >/dev/null 2>&1 &
	serve=$!
	guest_sh -t 100 b "echo send 100000000 1024 >$KV/run" >/dev/null 2>&1 &
	send=$!
	wait_until 15 guest_sh b "[ \$(cat $KV/messages) -gt 10 ]" && kill -0 "$serve" "$send"
}
# traffic_ends: with errors of the module, which waits half a minute for an answer.
traffic_ends() {
	local p rc
	for p in "$serve" "$send"; do
		rc=0
		wait "$p" || rc=$?
		case "$rc" in
		0|124|255) echo "status $rc"; tell a; tell b; return 1 ;;
		esac
	done
}

step "two guests on a fabric"
fabric_start
agent_start
backend_start
guest_config a "$KIND_A" mem=448 >/dev/null
guest_config b "$KIND_B" mem=448 >/dev/null
guests_start a b
for g in a b; do
	guest_sh "$g" "mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
		modprobe xen-vhcafront; modprobe vhca-kverbs; cat $KV/info"
done
ledger_open a b

step "a device for processes is not for their kernels"
vhca_attach a hca=mlx5_0
check "the module does not have it" has_none a
check "detach" vhcactl detach a all

step "devices for their kernels"
kernel_attach a mlx5_0
kernel_attach b mlx5_1
for g in a b; do
	tell "$g"
	check "$g: no process can open it" \
		guest_sh "$g" 'test -e /sys/class/infiniband/vhca0 && ! ls /dev/infiniband/uverbs*'
done

for poll in direct workqueue softirq; do
	step "polled by $poll"
	check "connected" meet "$poll"
	check "1000 messages" both "serve 1000 1024" "send 1000 1024"
	check "50 registrations of 32 pages are read and written" both "target 50" "register 50"
	check "a dead key is refused" kv a stale
	check "closed" part
done
tell a
tell b

step "verbs that may not sleep, and a completion handler of the module's own"
check "connected" meet own
check "address handles and 300 messages, of which a CQ tells" \
	both "serve 300 1024" "atomic 300 1024"
check "50 registrations are read and written" both "target 50" "register 50"
check "closed" part

step "the worker of a is killed under traffic"
check "connected" meet workqueue
check "messages go" traffic_begins
kill -9 "$(worker_pid a 0)"
check "both ends hear of it" traffic_ends
check "the device of a goes on by the next one" \
	wait_guest 30 a 'dmesg | grep "vhca0 is back, by domain 0"'
check "closed" part
check "connected again" meet softirq
check "messages go" both "serve 100 1024" "send 100 1024"
check "registrations go" both "target 4" "register 4"
check "closed" part

step "a is detached under traffic"
check "connected" meet softirq
check "messages go" traffic_begins
check "detach" vhcactl detach a 0
check "both ends hear of it" traffic_ends
check "a has no device" wait_until 10 has_none a
check "b closes" kv b close
kernel_attach a mlx5_0
check "connected again" meet direct
check "messages go" both "serve 100 4000" "send 100 4000"
check "closed" part

step "an HCA without doorbells is refused"
rxe_setup
check_not "Soft-RoCE is not for the kernel" \
	command vhcactl attach -w 20 a hca=rxe0,kernel=1
vhcactl show a 1 || true
check "with a reason" guest_sh a 'dmesg | grep "kernel=1 needs an HCA of mlx5"'
vhcactl detach -f a 1 || true

step "the end"
for g in a b; do
	check "$g: unload the module" guest_sh "$g" 'rmmod vhca-kverbs'
	check "detach $g" vhcactl detach "$g" all
done
ledger_close a b
kernel_clean a b
