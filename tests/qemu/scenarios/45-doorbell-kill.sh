#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# With processes that ring doorbells: kill -9 of worker, supervisor and agent
# under traffic, detach and xl destroy under traffic. The other guest goes on,
# the device comes back at once, and no HCA reaches memory that it should not.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

works() { guest_sh -t 60 "$1" 'vhca-xfer --loop -g 0 -t rc-write-1m'; }
new_pid() { [ -n "$(pgrep -o -x "$1")" ] && [ "$(pgrep -o -x "$1")" != "$2" ]; }
nothing_kept() { [ "$(cat $DBG_HELPER/kept_mms)" = 0 ]; }

step "a PV and a PVH guest, both on the same HCA"
pool_end
hca_guests pv a pvh b
vhcactl detach b all
vhcactl detach a all
ledger_open a b
hca_ledger_open
vhcactl attach a "hca=${HCAS%% *}"
vhcactl attach b "hca=${HCAS%% *}"
for g in a b; do
	check "$g works" wait_guest 30 $g 'ibv_devinfo | grep PORT_ACTIVE'
done
traffic_inside a 3
check "the ledger differs while a program runs" not same_hca
check "traffic" wait "${inside[a]}"

for g in a b; do
	[ $g = a ] && other=b || other=a
	step "kill the worker of $g under traffic"
	kill_worker $g "$other" rc-write-1m
done

step "kill the agent under traffic"
traffic_inside a 15
traffic_inside b 15
old=$(pgrep -o -x xen-vhca-doorbe)
kill -9 "$old"
check "another one is there" wait_until 10 new_pid xen-vhca-doorbe "$old"
check "it knows what is mapped" grep -q 'took over [1-9]' /run/doorbelld.log
check "a: a new program" works a
check "b: a new program" works b
check "a's traffic went on" wait "${inside[a]}"
check "b's traffic went on" wait "${inside[b]}"

step "kill agent and worker at once"
traffic_inside b 300
old=$(pgrep -o -x xen-vhca-doorbe)
kill -9 "$old" "$(worker_pid b 0)"
check "b's program ends with an error" ends_with_error b
check "the device of b comes back" \
	wait_guest 30 b 'ibv_devinfo | grep PORT_ACTIVE'
check "b works" works b

step "no agent at all"
rm /run/doorbelld.loop
kill "$(pgrep -o -x xen-vhca-doorbe)"
check_not "a program in b cannot start" \
	guest_sh -t 50 b 'vhca-xfer --loop -g 0 -t rc-write-4k'
check "the daemon says what to do" \
	grep -q 'start xen-vhca-doorbelld in the control domain' /run/vhcad.log
agent_start
check "b works again" wait_guest 40 b 'vhca-xfer --loop -g 0 -t rc-write-4k'

step "kill the supervisor under traffic"
traffic_inside a 8
old=$(supervisor_pid)
worker=$(worker_pid a 0)
kill -9 "$old"
check "traffic goes on without it" wait "${inside[a]}"
check "a new supervisor is there" wait_until 10 new_pid xen-vhcad "$old"
check "it adopted the worker" [ "$(worker_pid a 0)" = "$worker" ]
traffic_inside a 300
kill -9 "$worker"
check "a's program ends with an error" ends_with_error a
check "the device of a comes back" \
	wait_guest 30 a 'ibv_devinfo | grep PORT_ACTIVE'
check "a works" works a

step "detach under traffic"
for g in a b; do
	traffic_inside $g 300
	check "detach $g" vhcactl detach $g all
	check "$g's program ends with an error" ends_with_error $g
done
ledger_close a b
hca_ledger_close
for g in a b; do
	vhcactl attach $g "hca=${HCAS%% *}"
	check "$g works again" wait_guest 30 $g 'vhca-xfer --loop -g 0 -t rc-write-4k'
done
kernel_clean a b

step "destroy under traffic"
for g in a b; do
	[ $g = a ] && other=b || other=a
	traffic_inside $g 300
	dom=$(guest_domid $g)
	guest_destroy $g
	kill "${inside[$g]}"	# it would wait for its time limit
	wait "${inside[$g]}" || true
	check "the backend's nodes of $g are gone" \
		wait_until 20 not backend_has "$dom"
	check "$g is no zombie in Xen" \
		wait_until 20 bash -c '! xl list | grep -q null'
	[ $g = b ] || check "$other works" works "$other"
done
hca_ledger_close
check "no verbs object is left" wait_until 15 no_objects
check "no memory of dead workers is kept" \
	wait_until 20 nothing_kept
kernel_clean
