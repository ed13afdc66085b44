#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# In dom0: runs the scenarios listed in /share/list, one after the other, until
# one fails. A scenario's verdict is the file "status" in its folder on the
# share, renamed into place last, after everything else has been collected.
set -u
export DOM0=/share

collect() {
	local dir=$1 dom
	dmesg >"$dir/dom0.dmesg"
	if [ "$MACHINE" = xen ]; then
		xl dmesg -c >"$dir/xl.dmesg" 2>&1
		cp /run/vhcad.log "$dir/" 2>/dev/null
		[ "$2" = pass ] || {
			timeout 20 xl list >"$dir/xl.list" 2>&1
			timeout 20 xenstore-ls -fp >"$dir/xenstore" 2>&1
			cp /var/log/xen/*.log "$dir/" 2>/dev/null
		}
		for dom in $(xl list 2>/dev/null | awk 'NR > 2 { print $2 }'); do
			timeout 20 xl destroy "$dom" >/dev/null 2>&1
		done
		sleep 0.1
		find /share/console -name 'guest-*.log' \
			-exec mv {} "$dir/" \;
	fi
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
		cd /tests/qemu || exit 99
		export SCENARIO=$name SCENARIO_DIR=$dir
		exec timeout -k 5 "$limit" bash "$script"
	) >"$dir/log" 2>&1 </dev/null
	rc=$?
	status=$(verdict "$rc" "$dir" "$limit")
	collect "$dir" "$status"
	echo "$start $(cut -d' ' -f1 /proc/uptime)" >"$dir/timing"
	echo "$status" >"$dir/status.new"
	mv "$dir/status.new" "$dir/status"
	[ "${status%% *}" != fail ]
}

while read -r name script limit; do
	run_one "$name" "$script" "$limit" || break
done </share/list
touch /share/done
