# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios on Debian's own Xen share, where there is no xenstore: devices are files,
# and the test network is xen-tap. Sourced after dom0less.sh, some of whose functions it
# replaces.

DEVICES=/run/xen-vhca-devices
# shellcheck disable=SC2034
BACKEND_ARGS="--devices $DEVICES"

no_xenstore() {
	! pgrep -x xenstored && ! pgrep -x oxenstored && [ ! -e /run/xenstored/socket ] &&
		! timeout 20 xenstore-exists / 2>/dev/null
}

# What vhca.sh asks xenstore for.
ledger_nodes() { echo "nodes $(find "$DEVICES" -type f | wc -l)"; }
# shellcheck disable=SC2034
GUEST_NODES=true

device_state() { cat "$DEVICES/$(guest_domid "$1")/0/$2"; }

connected() {
	[ "$(device_state "$1" state)" = 4 ] && [ "$(device_state "$1" frontend-state)" = 4 ]
}

# memory_given_up: what this domain maps of others takes the place of it.
memory_given_up() {
	local dir=/sys/devices/system/xen_memory/xen_memory0
	[ "$(cat $dir/info/current_kb)" -le "$(cat $dir/target_kb)" ]
}

# give_tap GUEST: the other end of its eth0, in the bridge.
give_tap() {
	local dom
	dom=$(guest_domid "$1")
	setsid xen-tap host "$dom" "tap$dom" </dev/null >"/run/tap$dom.log" 2>&1 &
	wait_until 20 test -e "/sys/class/net/tap$dom" ||
		fail "$1: no network device tap$dom: $(tail -n 3 "/run/tap$dom.log")"
	ip link set "tap$dom" master xenbr0 up
}

guests_up() {
	local g
	check "devices are made" vhcactl dom0less "$DOM0LESS_CONF"
	check "memory is given up" wait_until 20 memory_given_up
	for g; do
		give_tap "$g"
		guest_known "$g" "192.168.77.$((10 + $(guest_domid "$g")))"
	done
	backend_start
	for g; do
		wait_guest 120 "$g" true || fail "guest $g: its guest shell does not answer"
		note "guest $g: up"
	done
}
