#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Whatever ends the use of a device leaves nothing, in the guest and in dom0: a
# process that exits, one that is killed by -9 amid 64 outstanding commands, a
# detach, unloading the frontend. In a PV guest, in the long form in a PVH guest as well.
# limit: 300
. ./lib.sh
. ./vhca.sh

kill_node() { echo "/local/domain/$(guest_domid "$1")/data/kill"; }

# stall_start GUEST: a process there with 64 threads in verbs, which ends when
# kill_node is written. What kills it is there before, and what waits for its first line,
# which comes when all threads run, starts no process: a new one would wait long
# behind 64 threads. A watch fires once for itself, once for the node.
# shellcheck disable=SC2016
stall_start() {
	xenstore-rm "$(kill_node "$1")"
	guest_sh "$1" 'rm -f /tmp/stall /tmp/watched
		xenstore-watch -n 2 data/kill </dev/null 2>/dev/null | {
			read -r _
			: >/tmp/watched
			read -r _
			read -r pid </tmp/stall.pid
			kill -9 $pid
		} >/dev/null 2>&1 &
		until [ -e /tmp/watched ]; do sleep 0.1; done
		vhca-xfer --stall 64 >/tmp/stall 2>&1 &
		echo $! >/tmp/stall.pid
		exec 9<> <(:)
		until [ -s /tmp/stall ]; do read -r -t 0.1 -u 9; done
		exec 9>&-'
}

read -r -a all <<<"$(long b 'a b' 'a b')"
step "guests: ${all[*]}"
backend_start
[ ${#all[@]} = 1 ] || guest_config a pvh >/dev/null
guest_config b pv >/dev/null
guests_start "${all[@]}"
ledger_open "${all[@]}"
for round in $(seq "$(long 1 2 1)"); do
	step "round $round: attach"
	vhca_attach_all "${all[@]}"
	# The ledger can tell: it differs while devices are there.
	check "dom0's ledger differs while devices are attached" not same_dom0
	# Once in either kind of guest, then in one that has been through it.
	[ "$round" = 1 ] && guests=${all[*]} || guests=b
	for g in $guests; do
		check "$g's ledger differs while its device is attached" \
			not same_guest "$g"
		step "$g: exit without destroying anything"
		check "$g: traffic" guest_sh -t 60 "$g" \
			'vhca-xfer --loop --traffic 2'
		step "$g: kill -9 amid 64 outstanding commands"
		stall_start "$g"
		check "$g: dom0 shows its objects" wait_until 20 not no_objects
		xenstore-write "$(kill_node "$g")" now
		check "$g: the process is gone" wait_guest 20 "$g" '! pgrep vhca-xfer'
		check "$g: the device still works" guest_sh -t 30 "$g" \
			'vhca-xfer --loop -t rc-write-4k'
		check "dom0: its objects are gone" wait_until 15 no_objects
	done
	step "detach"
	for g in "${all[@]}"; do
		check "detach $g" vhcactl detach "$g" all
	done
	ledger_close "${all[@]}"
done

step "unload and load the frontend"
g=${all[0]}
vhca_attach "$g"
check "rmmod" guest_sh "$g" 'rmmod xen-vhcafront'
check "the device is gone" guest_sh "$g" '! ls /dev/infiniband/uverbs* 2>/dev/null'
check "modprobe" guest_sh "$g" 'modprobe xen-vhcafront'
check "it is back" wait_guest 10 "$g" 'ibv_devinfo | grep PORT_ACTIVE'
check "and works" guest_sh -t 30 "$g" 'vhca-xfer --loop -t rc-write-4k'
vhcactl detach "$g" all
ledger_close "${all[@]}"
kernel_clean "${all[@]}"
