#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# In dom0: runs the scenario named in /share/next, and the next one that is named
# there, until one fails. A scenario's verdict is the file "status" in its folder on the
# share, renamed into place last, after everything else has been collected.
set -u
export DOM0=/share
exec {nothing}<> <(:)	# reading it is a pause that starts no process

collect() {
	local dir=$1 log
	dmesg >"$dir/dom0.dmesg"
	[ "$MACHINE" != dom0less ] || [ "$2" = pass ] ||
		timeout 20 xenstore-ls -fp >"$dir/xenstore" 2>&1
	if [ "$MACHINE" = xen ]; then
		xl dmesg -c >"$dir/xl.dmesg" 2>&1
		cp /run/vhcad.log "$dir/" 2>/dev/null
		[ "$2" = pass ] || {
			timeout 20 xl list >"$dir/xl.list" 2>&1
			timeout 20 xenstore-ls -fp >"$dir/xenstore" 2>&1
			cp /var/log/xen/*.log "$dir/" 2>/dev/null
		}
		guests_end "$2" >"$dir/guests" 2>&1
		find /share/console -name 'guest-*.log' | while read -r log; do
			cp "$log" "$dir/"
			# A guest that was kept goes on writing to it.
			: >"$log"
		done
	fi
}

# guests_end STATUS: keeps those that are as they started (pool.sh).
# shellcheck disable=SC2030,SC2031
guests_end() (
	cd /tests/qemu/lib || exit
	export SCENARIO_DIR=$dir
	# shellcheck source=tests/qemu/lib/lib.sh
	. ./lib.sh
	trap - EXIT ERR
	set +e
	for name in $(xl list | awk 'NR > 2 { print $1 }'); do
		case "$name" in
		pool*)	continue ;;
		esac
		[ "$1" = pass ] && pool_keep "$name" && continue
		timeout 20 xl destroy "$name"
	done
)

# versions: of Xen, and of Linux and rdma-core here, as ran.sh reads them.
versions() {
	local xen=none lib
	[ "$MACHINE" != xen ] || xen=$(xl info xen_version)
	[[ "$MACHINE" != dom0less* ]] ||
		xen=$(cat /sys/hypervisor/version/major).$(cat /sys/hypervisor/version/minor)
	lib=$(echo /usr/lib/*-linux-gnu/libibverbs.so.1.*.*.*)
	lib=${lib##*.so.1.}
	printf '%s\tLinux %s, rdma-core %s\n' "$xen" "$(uname -r)" "${lib#*.}"
}

verdict() {
	case "$1" in
	0)	echo pass ;;
	77)	echo "skip $(cat "$2/why" 2>/dev/null)" ;;
	124|137) echo "fail time limit of $3 s reached" ;;
	*)	echo "fail $(cat "$2/why" 2>/dev/null || echo "exit $1")" ;;
	esac
}

run_one() {
	local name=$1 script=$2 limit=$3 dir=/share/$1 rc status start
	mkdir -p "$dir"
	echo "$name" >/share/now
	dmesg -C
	[ "$MACHINE" != xen ] || xl dmesg -c >/dev/null
	start=$(cut -d' ' -f1 /proc/uptime)
	(
		cd /tests/qemu/lib || exit 99
		# shellcheck disable=SC2031
		export SCENARIO=$name SCENARIO_DIR=$dir
		exec {nothing}<&-
		exec timeout -k 5 "$limit" bash "$script"
	) >"$dir/log" 2>&1 </dev/null
	rc=$?
	status=$(verdict "$rc" "$dir" "$limit")
	collect "$dir" "$status"
	echo "$start $(cut -d' ' -f1 /proc/uptime)" >"$dir/timing"
	versions >"$dir/versions"
	echo "$status" >"$dir/status.new"
	mv "$dir/status.new" "$dir/status"
	[ "${status%% *}" != fail ]
}

VHCA_TIER=$(cat /share/tier)
TIME_SCALE=$(cat /share/scale)
export VHCA_TIER TIME_SCALE
while :; do
	if [ ! -e /share/next ]; then
		read -r -t 0.2 <&"$nothing"
		continue
	fi
	read -r name script limit </share/next
	rm /share/next
	run_one "$name" "$script" "$limit" || break
done
touch /share/done
