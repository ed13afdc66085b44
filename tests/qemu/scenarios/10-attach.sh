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

step "the port's network fails, fast and several times"
# told GUEST: the last event of the port that a program there heard of.
told() { grep -oE 'PORT_(ACTIVE|ERR)' "$SCENARIO_DIR/async.$1" | tail -n 1; }
# tells GUEST ACTIVE|ERR STATE: that is the last event, and the port is in that state.
tells() {
	[ "$(told "$1")" = "PORT_$2" ] &&
	guest_sh "$1" "grep -q ': $3\$' /sys/class/infiniband/vhca0/ports/1/state"
}
# flaps LAST: of the network device below the HCA, which ends up or down.
flaps() {
	for _ in 1 2 3 4 5 6 7 8; do
		printf 'link set d0 %s\n' down up
	done >/tmp/flaps
	echo "link set d0 $1" >>/tmp/flaps
	ip -batch /tmp/flaps
	# A refresh comes a second after the one before at most.
	sleep 2	# measured
}
watchers=$(long b 'a b')
for g in $watchers; do
	guest_sh -t 90 "$g" 'ibv_asyncwatch -d vhca0' >"$SCENARIO_DIR/async.$g" 2>&1 &
	check "$g: a program waits for events" wait_guest 10 "$g" \
		'ls -l /proc/$(pgrep -x ibv_asyncwatch)/fd | grep infinibandevent'
done
flaps up
for g in $watchers; do
	check "$g: the last event is PORT_ACTIVE" tells "$g" ACTIVE ACTIVE
done
flaps down
for g in $watchers; do
	check "$g: the last event is PORT_ERR" tells "$g" ERR DOWN
done
ip link set d0 up
for g in $watchers; do
	check "$g: and PORT_ACTIVE" wait_until 10 tells "$g" ACTIVE ACTIVE
	guest_sh "$g" 'pkill -x ibv_asyncwatch'
done
ip route del local 239.77.1.1 table local	# as rxe_setup

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
vhca_attach a
check "it works again" guest_sh a 'ibv_devinfo | grep PORT_ACTIVE'

step "detach all"
check "detach a" vhcactl detach a all
check "detach b" vhcactl detach b all
ledger_close a b
kernel_clean a b
