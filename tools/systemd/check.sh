#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# systemd understands the units, and the daemon's keeps away what a worker that
# a guest took over could do most harm with. On a Xen without dom0 they run in the right
# order. Runs in the build folder, starts nothing.
set -eu

unit=tools/systemd/xen-vhcad.service
agent=tools/systemd/xen-vhca-doorbelld.service
guests=tools/systemd/xen-vhca-dom0less.service
store=tools/systemd/xen-vhca-xenstored.service
command -v systemd-analyze >/dev/null || {
	echo "skip systemd-analyze is not installed"
	exit 77
}
# shellcheck source=tests/lib/claim.sh
. "$(dirname "$0")/../../tests/lib/claim.sh"

# Program and manual need not be installed.
for u in "$unit" "$agent" "$guests" "$store"; do
	sed -e 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' \
		-e '/^Documentation=/d' "$u" >"$work/${u##*/}"
done
verify() { # verify UNIT
	systemd-analyze verify "$work/${1##*/}" && [ ! -s "$work/out" ]
}
allowed() {
	[ "$(sed -n 's/^DevicePolicy=//p' "$unit")" = closed ] &&
		! grep '^DeviceAllow=.*\(privcmd\|mem\|misc\|block\)' "$unit"
}
program() { # program UNIT NAME
	grep -q "^ExecStart=/[^@ ]*/$2 --foreground\( \$XEN_VHCAD_OPTIONS\)\?\$" "$1"
}
agent_devices() {
	[ "$(sed -n 's/^DevicePolicy=//p' "$agent")" = closed ] &&
		! grep '^DeviceAllow=.*\(mem\|misc\|block\|gnt\|evtchn\)' "$agent"
}
keeps_state() { # keeps_state UNIT
	grep -qx 'RuntimeDirectoryPreserve=yes' "$1"
}
# What guests' devices outlive: the supervisor's death, one worker's OOM kill.
workers_live() {
	grep -qx 'KillMode=process' "$unit" &&
		grep -qx 'OOMPolicy=continue' "$unit"
}
# Packets of a Soft-RoCE queue pair count as the worker's: no filter on them.
soft_roce() {
	! grep -E '^(IPAddressDeny|PrivateNetwork)=' "$unit"
}
hidden() { # hidden PATH...: in no process of the daemon
	for p; do
		grep '^InaccessiblePaths=' "$unit" | grep -q -- "-$p\( \|\$\)" ||
			return 1
	done
}
# backend/worker/confine.c, confine_path.c, common/lib/caps.c
gives_up() {
	for call in capset seccomp setpriority landlock_create_ruleset \
		landlock_add_rule landlock_restrict_self; do
		grep -q "^SystemCallFilter=[a-z_ ]*\<$call\>" "$unit" || return 1
	done
}
# "active" is a daemon that serves, not a process that was started.
tells() { # tells UNIT
	grep -qx 'Type=notify' "$1"
}
bounded() { # bounded UNIT
	grep -q '^MemoryMax=' "$1"
}
# backend/supervise/cgroup.c; who starts in the cgroup needs it without controllers.
divides() {
	grep -qx 'Delegate=cpu memory' "$unit" &&
		grep -qx 'ReadWritePaths=-/sys/fs/cgroup/system.slice/xen-vhcad.service' "$unit" &&
		grep -q '^ExecStopPost=-.*"-cpu -memory".*cgroup.subtree_control' "$unit"
}
# in_order UNIT...: each one is before the next, as one of both says.
in_order() {
	while [ $# -gt 1 ]; do
		grep -q "^Before=.*${2##*/}" "$1" || grep -q "^After=.*${1##*/}" "$2" ||
			return 1
		shift
	done
}
# Only where a file says that there is no toolstack.
without_dom0() {
	for u in "$guests" "$store"; do
		grep -qx 'ConditionPathExists=/etc/xen-vhca/dom0less.conf' "$u" || return 1
	done
}
# A second one beside the distribution's would know no guest; nor would the next one.
one_store() {
	grep -qx 'ConditionPathExists=!/run/xenstored/socket' "$store" &&
		grep -qx 'RefuseManualStop=yes' "$store" && ! grep '^Restart=' "$store"
}
# Its condition, with this file: no-xenstore is for other hosts.
store_wanted() {
	cond=$(sed -n "s,^ExecCondition=/bin/sh -c '\(.*\)'\$,\1,p" "$store" |
		sed "s,/etc/xen-vhca/dom0less.conf,$1,")
	[ -n "$cond" ] && sh -c "$cond"
}
file_devices() {
	dir=$(sed -n 's/.*HOST_RUN_DEVICES[^"]*"\([^"]*\)".*/\1/p' \
		"$(dirname "$0")/../../common/host/paths.h")
	[ -n "$dir" ] && grep -qx "ReadWritePaths=-$dir" "$unit"
}
exposure() { # exposure UNIT TENTHS: systemd's own score, 0 the best
	systemd-analyze security --offline=true --threshold="$2" --no-pager \
		"$work/${1##*/}"
}

claim "systemd has no complaint of the unit" verify "$unit"
claim "systemd has no complaint of the agent's unit" verify "$agent"
for u in "$guests" "$store"; do
	claim "systemd has no complaint of ${u##*/}" verify "$u"
done
claim "without dom0: xenstored, then its guests, then the daemon" \
	in_order "$store" "$guests" "$unit"
claim "neither is started elsewhere" without_dom0
claim "xenstored is started once" one_store
printf 'own-domain 3\nguest 1 g1 hca=rxe0\n' >"$work/with"
printf 'own-domain 3\n  no-xenstore\n' >"$work/without"
claim "xenstored is started where the file does not say no-xenstore" \
	store_wanted "$work/with"
claim "and not where it does" eval '! store_wanted "$work/without"'
claim "guests that were not served are served later" \
	grep -qx 'Restart=on-failure' "$guests"
claim "the daemon may write to devices that are files" file_devices
claim "no device makes hypercalls or is a disk" allowed
claim "nor is there another way to hypercalls, D-Bus, passwords and images" \
	hidden /proc/xen/privcmd /run/dbus /run/xen /etc/shadow /var/lib
claim "a worker may give up capabilities and system calls" gives_up
claim "memory is bounded" bounded "$unit"
claim "so is the agent's" bounded "$agent"
claim "workers have cgroups, and their supervisor's successor may start" divides
claim "the agent gets no devices but Xen's calls and xenstore" agent_devices
claim "the daemon's lock files outlive it" keeps_state "$unit"
claim "the agent's state file outlives it" keeps_state "$agent"
claim "workers outlive the supervisor and each other" workers_live
claim "Soft-RoCE may send" soft_roce
claim "systemd scores the daemon's sandbox 2.5 or better" exposure "$unit" 25
claim "systemd scores the agent's sandbox 2.5 or better" exposure "$agent" 25
claim "the daemon is up when it says so" tells "$unit"
claim "so is the agent" tells "$agent"
claim "the path of the program was filled in" program "$unit" xen-vhcad
claim "so was the agent's" program "$agent" xen-vhca-doorbelld
verdict
