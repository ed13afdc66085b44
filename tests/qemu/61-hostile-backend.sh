#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A hostile backend (a program in dom0) against the real module in a guest: it
# dies at every stage, answers nonsense, storms, stays silent. The guest's
# kernel has no complaint, its module can be unloaded, a real backend connects.
# limit: 600
. ./lib.sh
. ./vhca.sh

# lie MODE [SECONDS [COMMAND IN THE GUEST]]
lie() {
	local mode=$1 seconds=${2:-2} command=${3:-} pid rc=0
	hostile-backend "$domid" "$mode" "$seconds" >/tmp/lie 2>&1 &
	pid=$!
	if [ -n "$command" ]; then
		guest_sh -t $((seconds + 20)) a "
			for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
				ls /dev/infiniband/uverbs* >/dev/null 2>&1 && break
				sleep 0.2
			done
			$command
			rc=\$?
			[ \$rc -lt 124 ] || exit 99
			exit \$rc" >/tmp/lie.guest 2>&1 || rc=$?
		# A command may fail, and some do with 124 or 255 (hence 99), but
		# not hang or lose the guest.
		case $rc in
		124|255) tail -n 5 /tmp/lie.guest; fail "$mode: the guest hangs" ;;
		esac
	fi
	rc=0
	wait "$pid" || rc=$?
	cat /tmp/lie
	[ "$rc" = 0 ] || return 1
	guest_sh a "! dmesg | grep -E '$BAD_KERNEL'"
}
# broken MODE...: as lie, and the frontend must have said why it gave up.
broken() {
	lie "$@" && grep -q 'broken: .' /tmp/lie
}

step "a guest, and no daemon in dom0"
backend_stop
modprobe xen-gntdev; modprobe xen-evtchn
guest_create a "${HOSTILE_GUEST:-pv}"
domid=$(guest_domid a)
guest_sh a 'modprobe xen-vhcafront cmd_timeout=2
	echo 2 >/sys/module/xen_vhcafront/parameters/cmd_timeout'

step "an honest model, to show that the lies below are the reason"
check "a device appears" lie honest 4 'ibv_devinfo | grep hca_id'
check "it did" grep -q hca_id /tmp/lie.guest

step "it dies at every stage"
for mode in die-begin die-initwait die-initialised die-connected; do
	check "$mode" lie $mode
done
for mode in die-get-info die-query-port; do
	check "$mode" lie $mode 4
done
check "die-alloc-pd" lie die-alloc-pd 8 'timeout 5 ibv_rc_pingpong -g 0'

step "nodes"
check "version" lie version
check "order" lie order
check "order-minus" lie order-minus

step "answers that break the rules of the ring"
for mode in wild-prod prod-back id-range id-idle twice other-op long-out \
	huge-out; do
	check "$mode" broken $mode 6
done
check "a status that is no error" lie status 3 'ibv_devinfo -v'

step "it does not answer"
check "silent-get-info" broken silent-get-info 6
check "silent-alloc" broken silent-alloc 8 'timeout 6 ibv_devinfo'
check "silent-dealloc" broken silent-dealloc 8 'timeout 6 ibv_devinfo'
check "silent-reg-mr" lie silent-reg-mr 9 'timeout 6 ibv_rc_pingpong -g 0'
check "silent-reg-mr, killed" lie silent-reg-mr 9 \
	'timeout -s KILL 1 ibv_rc_pingpong -g 0'

step "absurd descriptions"
for mode in info-ones info-zero info-no-end info-escapes info-driver; do
	check "$mode" broken $mode 6
done
for mode in device-ones device-zero port-ones port-zero gid-ones gid-loop \
	pkey-zero pkey-ones; do
	check "$mode" lie $mode 3 'ibv_devinfo -v'
done

step "absurd objects"
for mode in uc-zero pd-zero mr-ones cq-small cq-ones same-handle mmap-lies; do
	check "$mode" lie $mode 5 'for i in 1 2 3 4 5 6; do
		timeout 3 ibv_rc_pingpong -g 0; done'
done

step "storms"
check "events, to a process that uses the device" \
	lie event-storm 8 'timeout 3 ibv_rc_pingpong -g 0; ibv_devinfo -v'
check "notifications" lie notify-storm 5 'ibv_devinfo -v'
check "an event index out of range" broken wild-events 6 'ibv_devinfo'
check "a fatal event" lie fatal-event 6 'ibv_devinfo'
check "wild kick indices" lie wild-kicks 6 'timeout 3 ibv_rc_pingpong -g 0'
check "random answers" lie random 20 'for i in 1 2 3 4 5 6 7 8 9 10; do
	timeout 2 ibv_rc_pingpong -g 0; timeout 2 ibv_devinfo -v; done'

step "afterwards"
check "the module can be unloaded" guest_sh -t 60 a 'modprobe -r xen-vhcafront'
guest_sh a 'modprobe xen-vhcafront'
backend_start
vhca_attach a
check "a real backend connects" wait_guest 20 a 'ibv_devinfo | grep PORT_ACTIVE'
check "and it works" guest_sh -t 60 a 'vhca-xfer --loop -t rc-write-4k'
check "detach" vhcactl detach a all
kernel_clean a
