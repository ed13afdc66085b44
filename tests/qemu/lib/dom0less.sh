# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios on a Xen without dom0 share. They run in the utility domain, which has
# /share/dom0less.conf, made with the device tree. Sourced after vhca.sh.
# shellcheck source=tests/qemu/lib/arm.sh
. "${BASH_SOURCE%/*}/arm.sh"

DOM0LESS_CONF=/share/dom0less.conf

no_domain() { # no_domain DOMID: Xen knows none of that number
	local rc=0
	domain-exists "$1" || rc=$?
	[ "$rc" = 1 ]
}

own_domid() { awk '$1 == "own-domain" { print $2 }' "$DOM0LESS_CONF"; }
# guest_domid GUEST: instead of lib.sh's, which asks xl.
guest_domid() { awk -v g="$1" '$1 == "guest" && $3 == g { print $2 }' "$DOM0LESS_CONF"; }
guest_name() { awk -v d="$1" '$1 == "guest" && $2 == d { print $3 }' "$DOM0LESS_CONF"; }

# port_list DOMID: instead of vhca.sh's. Xen tells of the ports of another domain to the
# control domain only, so each kernel is asked for the ports of our own programs.
port_list() {
	if [ "$1" = "$(own_domid)" ]; then
		grep vhcad /proc/interrupts || true
	else
		guest_sh "$(guest_name "$1")" 'grep vhca /proc/interrupts || true'
	fi
}

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

helper_empty() { [ "$(cat $DBG_HELPER/grants $DBG_HELPER/zombies | sort -u)" = 0 ]; }

# ledger_open_without GUEST...: the ledger is opened while they have no device, then they
# get those of the file again. Without xenstore they have no names, but numbers.
ledger_open_without() {
	local g
	for g; do
		vhcactl detach "$(guest_domid "$g")" all
	done
	check "no queue page is granted to a guest" wait_until 20 helper_empty
	ledger_open "$@"
	check "the devices are made again" vhcactl dom0less "$DOM0LESS_CONF"
	for g; do
		check "$g is connected again" wait_until 60 connected "$g" 0
		device_works "$g"
	done
}

# guests_connected GUEST...: and their kernels have a verbs device.
guests_connected() {
	local g
	for g; do
		check "$g is connected" wait_until 60 connected "$g" 0
		check "$g has a verbs device" wait_guest 30 "$g" 'ls /dev/infiniband/uverbs0'
	done
}

# device_works GUEST: it comes, and a program can use it.
device_works() {
	check "the device of $1 is there" wait_guest 30 "$1" 'ibv_devinfo | grep PORT_ACTIVE'
	check "and works" guest_sh -t 60 "$1" "vhca-xfer --loop $XFER_GID -t rc-write-4k"
}

# parts_killed GUEST OTHER: worker and supervisor die under traffic, and the guest loads its
# frontend anew; each time the devices go on, or come back.
parts_killed() {
	local old worker

	step "kill the worker of $1 under traffic"
	kill_worker "$1" "$2" rc-write-4k

	step "kill the supervisor under traffic"
	traffic_inside "$2" 8
	old=$(supervisor_pid)
	worker=$(worker_pid "$2" 0)
	kill -9 "$old"
	check "traffic goes on without it" wait "${inside[$2]}"
	check "a new supervisor is there" wait_until 20 other_supervisor "$old"
	check "it adopted the worker" [ "$(worker_pid "$2" 0)" = "$worker" ]

	step "$1 loads its frontend anew"
	check "unload, load" guest_sh "$1" 'modprobe -r xen-vhcafront && modprobe xen-vhcafront'
	device_works "$1"
}

# daemon_restarted GUEST...: as systemctl restart does it, with traffic in each guest.
daemon_restarted() {
	local g old
	step "restart the daemon under traffic"
	for g; do
		traffic_inside "$g" 300
	done
	old=$(supervisor_pid)
	check "the supervisor is told to stop" kill -TERM "$old"
	for g; do
		check "$g's program ends with an error, not by time-out" ends_with_error "$g"
	done
	check "a new supervisor is there" wait_until 30 other_supervisor "$old"
	for g; do
		device_works "$g"
	done
}

# unanswered GUEST: it does not answer any more.
unanswered() { ! guest-shell -t 5 "$(guest_ip "$1")" "$SHELL_PORT" true; }

# guest_crashes GUEST OTHER: under traffic. The domain stays, and nobody can destroy it:
# its worker is not told, until an operator takes the device away. Not for a scenario that
# others follow on the same machine.
guest_crashes() {
	local worker dom
	dom=$(guest_domid "$1")
	step "$1 crashes under traffic: nobody hears of it, and it is in nobody's way"
	check_not "$1: no complaint of its kernel before" \
		guest_sh "$1" "dmesg | grep -E '$BAD_KERNEL'"
	traffic_inside "$1" 300
	worker=$(worker_pid "$1" 0)
	cat $DBG_HELPER/grants >/tmp/grants.crash
	guest_sh -t 5 "$1" 'echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger' || true
	check "it does not answer any more" wait_until 60 unanswered "$1"
	kill "${inside[$1]}" 2>/dev/null || true
	check "its domain is still there" domain-exists "$dom"
	check "its worker waits" kill -0 "$worker"
	check "$2 goes on" guest_sh -t 60 "$2" "vhca-xfer --loop $XFER_GID -t rc-write-4k"
	check "$1: detach by force" vhcactl detach -f "$dom" all
	check "its worker ends" wait_until 20 not kill -0 "$worker"
	check "$2 goes on" guest_sh -t 60 "$2" "vhca-xfer --loop $XFER_GID -t rc-write-4k"
}

# crash_ledger: what is left of guests that crashed is in the helper only: queue pages that
# their processes had mapped, for which Xen still has them.
crash_ledger() { grep -v '^helper_' <"$1"; }
same_but_helper() {
	dom0_ledger >/tmp/ledger.now
	cmp -s <(crash_ledger /tmp/ledger.dom0) <(crash_ledger /tmp/ledger.now)
}
all_given_up() { [ "$(cat $DBG_HELPER/grants)" = "$(cat $DBG_HELPER/zombies)" ]; }
ledger_close_crashed() {
	check "no verbs object, pin or node is left" \
		ledger_settles same_but_helper /tmp/ledger.dom0
	check "no event channel is left" dom0_ports_settle
	check "the helper has given up each page that is granted" \
		wait_until 40 all_given_up
	check "which were granted when it crashed" \
		[ "$(cat $DBG_HELPER/zombies)" -le "$(cat /tmp/grants.crash)" ]
	note "so many pages are left: $(cat $DBG_HELPER/zombies)"
}

# ends_and_crash GUEST OTHER: all ends of devices that a guest or this domain can bring about,
# and the ledger; then OTHER crashes. The last thing on its machine.
ends_and_crash() {
	local g
	ledger_open_without "$@"
	parts_killed "$@"
	daemon_restarted "$@"

	step "nothing is left"
	for g; do
		check "$g: detach" vhcactl detach "$(guest_domid "$g")" all
		check "$g: unload" guest_sh "$g" 'modprobe -r xen-vhcafront'
		guest_sh "$g" 'modprobe xen-vhcafront'
		check_not "$g: no complaint of its kernel" \
			guest_sh "$g" "dmesg | grep -E '$BAD_KERNEL'"
	done
	# The guards of adopted workers, whose end nobody saw, stay until their guests end
	# (backend/supervise/guard.h), and kept_mms counts them.
	ledger_close "$@"

	check "the devices are made again" vhcactl dom0less "$DOM0LESS_CONF"
	for g; do
		device_works "$g"
	done
	guest_crashes "$2" "$1"

	step "what is left of $2"
	check "vhcactl dom0less may run again" vhcactl dom0less "$DOM0LESS_CONF"
	check "$2: detach what that made anew" vhcactl detach -f "$(guest_domid "$2")" all
	check "$1: detach" vhcactl detach "$(guest_domid "$1")" all
	check "$1: unload" guest_sh "$1" 'modprobe -r xen-vhcafront'
	ledger_close_crashed
	kernel_clean "$1"
}

# other_supervisor PID: one is there, and not that one.
other_supervisor() {
	local pid
	pid=$(supervisor_pid) && [ "$pid" != "$1" ]
}
