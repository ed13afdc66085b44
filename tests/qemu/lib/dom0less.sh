# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios on a Xen without dom0 share. They run in the utility domain, which has
# /share/dom0less.conf, made with the device tree. Sourced after vhca.sh.

DOM0LESS_CONF=/share/dom0less.conf

no_domain() { # no_domain DOMID: Xen knows none of that number
	local rc=0
	domain-exists "$1" || rc=$?
	[ "$rc" = 1 ]
}

own_domid() { awk '$1 == "own-domain" { print $2 }' "$DOM0LESS_CONF"; }
# guest_domid GUEST: instead of lib.sh's, which asks xl.
guest_domid() { awk -v g="$1" '$1 == "guest" && $3 == g { print $2 }' "$DOM0LESS_CONF"; }

# guest_known GUEST IP: guest_sh finds it.
guest_known() {
	mkdir -p "$GUEST_RUN"
	echo "$2" >"$GUEST_RUN/$1.ip"
}

# give_vif GUEST: the test network, as xl would: nodes, and the bridge. An earlier scenario
# of this machine may have done so.
give_vif() {
	local own dom mac be fe
	own=$(own_domid) dom=$(guest_domid "$1")
	[ ! -e "/sys/class/net/vif$dom.0" ] || return 0
	be=/local/domain/$own/backend/vif/$dom/0 fe=/local/domain/$dom/device/vif/0
	mac=00:16:3e:77:00:$(printf %02x "$((10 + dom))")
	xenstore-write "$be/frontend" "$fe" "$be/frontend-id" "$dom" "$be/online" 1 \
		"$be/handle" 0 "$be/mac" "$mac" "$be/script" none \
		"$be/hotplug-status" connected
	xenstore-write "$fe/backend" "$be" "$fe/backend-id" "$own" "$fe/handle" 0 \
		"$fe/mac" "$mac"
	xenstore-chmod -r "$be" "n$own" "r$dom"
	xenstore-chmod -r "$fe" "n$dom" "r$own"
	# Drivers look at a device once it has a state.
	xenstore-write "$fe/state" 1 "$be/state" 1
	wait_until 20 test -e "/sys/class/net/vif$dom.0" ||
		fail "$1: no network device vif$dom.0"
	ip link set "vif$dom.0" master xenbr0 up
}

# connected GUEST DEVID: instead of vhca.sh's, whose backend is domain 0.
connected() {
	local dom
	dom=$(guest_domid "$1")
	[ "$(xenstore-read "/local/domain/$(own_domid)/backend/vhca/$dom/$2/state")" = 4 ] &&
		[ "$(xenstore-read "/local/domain/$dom/device/vhca/$2/state")" = 4 ]
}

# guests_up GUEST...: introduced, with network and vhca as the file has it; the daemon runs.
# It looks for the domain's own number, which vhcactl writes.
guests_up() {
	local g
	check "guests are introduced, get their nodes and devices" \
		vhcactl dom0less "$DOM0LESS_CONF"
	for g; do
		give_vif "$g"
		guest_known "$g" "192.168.77.$((10 + $(guest_domid "$g")))"
	done
	backend_start
	for g; do
		wait_ready "$(guest_domid "$g")" 120 || fail "guest $g does not come up"
		wait_guest 20 "$g" true || fail "guest $g: its guest shell does not answer"
		note "guest $g: up"
	done
}

# parts_killed GUEST OTHER: worker and supervisor die under traffic, and the guest loads its
# frontend anew; each time the devices go on, or come back.
parts_killed() {
	local other old worker

	step "kill the worker of $1 under traffic"
	kill_worker "$1" "$2" rc-write-4k

	step "kill the supervisor under traffic"
	guest_sh -t 90 "$2" 'vhca-xfer --loop --traffic 8' >/tmp/traffic.2 2>&1 &
	other=$!
	wait_until 30 grep -q '^t=1 ' /tmp/traffic.2 || fail "no traffic in $2"
	old=$(supervisor_pid)
	worker=$(worker_pid "$2" 0)
	kill -9 "$old"
	check "traffic goes on without it" wait "$other"
	check "a new supervisor is there" wait_until 20 other_supervisor "$old"
	check "it adopted the worker" [ "$(worker_pid "$2" 0)" = "$worker" ]

	step "$1 loads its frontend anew"
	check "unload, load" guest_sh "$1" 'modprobe -r xen-vhcafront && modprobe xen-vhcafront'
	check "the device comes back" wait_guest 30 "$1" 'ibv_devinfo | grep PORT_ACTIVE'
	check "and works" guest_sh -t 60 "$1" 'vhca-xfer --loop -t rc-write-4k'
}

# other_supervisor PID: one is there, and not that one.
other_supervisor() {
	local pid
	pid=$(supervisor_pid) && [ "$pid" != "$1" ]
}
