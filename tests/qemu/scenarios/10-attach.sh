#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A vhca is attached to a running PVH and a running PV guest with vhcactl, is
# seen by unmodified programs, is detached and comes back.
# limit: 180
. ./lib.sh
. ./vhca.sh

step "start two guests and the backend"
backend_start
guest_config a pvh >/dev/null
guest_config b pv >/dev/null
guests_start a b
ledger_open a b

step "attach"
vhca_attach_all a b

step "look at it"
for g in a b; do
	check "$g: both sides are Connected" wait_until 10 connected "$g" 0
	check "$g: ibv_devices lists vhca0" guest_sh "$g" 'ibv_devices | grep vhca0'
	check "$g: the port is active" \
		guest_sh "$g" 'ibv_devinfo | grep PORT_ACTIVE'
	check "$g: the GID of the HCA is there" guest_sh "$g" \
		'ibv_devinfo -v | grep -E "::ffff:10.9.0.1|ffff:0a09:0001"'
	check "$g: any user may open it" guest_sh "$g" \
		'setpriv --reuid 1000 --regid 1000 --clear-groups ibv_devinfo | grep vhca0'
	check "$g: a second start of a program works" \
		guest_sh "$g" 'ibv_devinfo -d vhca0 >/dev/null'
done
check "vhcactl list shows both" bash -c '[ "$(vhcactl list | grep -c rxe0)" = 2 ]'
check "vhcactl show knows the state" bash -c 'vhcactl show a 0 | grep -i connected'
check "vhcactl list --json is JSON" bash -c 'vhcactl list --json | grep "\"hca\""'
check "vhcactl stats counts commands" bash -c 'vhcactl stats a 0 | grep -i cmds'

step "wrong arguments are refused with the reason"
check "unknown key" bash -c 'vhcactl attach a hca=rxe0,colour=red 2>&1 | grep colour'
check "value out of range" bash -c 'vhcactl attach a hca=rxe0,max-qp=0 2>&1 | grep max-qp'
check "unknown guest" bash -c 'vhcactl attach nobody hca=rxe0 2>&1 | grep nobody'
check "unknown HCA" bash -c \
	"vhcactl attach -w $(seconds 3) a hca=mlx9_9 2>&1 | grep -i mlx9_9"
check "the device of the unknown HCA goes away" vhcactl detach -f a 1

step "detach and attach again"
check "detach" vhcactl detach a 0
check "the guest has no device" wait_guest 5 a '! ls /dev/infiniband/uverbs* 2>/dev/null'
check "a worker is ready for it" wait_until 30 pgrep -x vhcad-ahead
vhca_attach a
check "which serves it" bash -c "tr '\0' ' ' </proc/$(worker_pid a 0)/cmdline | grep -- '--worker 3 \$'"
check "it works again" guest_sh a 'ibv_devinfo | grep PORT_ACTIVE'

step "detach all"
check "detach a" vhcactl detach a all
check "detach b" vhcactl detach b all
ledger_close a b
kernel_clean a b
