#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# systemd understands the unit, and it keeps away what a worker that a guest
# took over could do most harm with. Runs in the build folder, starts nothing.
set -eu

unit=tools/systemd/xen-vhcad.service
command -v systemd-analyze >/dev/null || {
	echo "skip systemd-analyze is not installed"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

claim() { # claim TEXT COMMAND...
	text=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
		echo "ok   $text"
	else
		failed=$((failed + 1))
		echo "FAIL $text"
		sed 's/^/     /' "$work/out"
	fi
}

# Program and manual need not be installed.
sed -e 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' -e '/^Documentation=/d' \
	"$unit" >"$work/xen-vhcad.service"
verify() {
	systemd-analyze verify "$work/xen-vhcad.service" &&
		[ ! -s "$work/out" ]
}
allowed() {
	[ "$(sed -n 's/^DevicePolicy=//p' "$unit")" = closed ] &&
		! grep '^DeviceAllow=.*\(privcmd\|mem\|misc\|block\)' "$unit"
}
program() {
	grep -q '^ExecStart=/[^@ ]*/xen-vhcad --foreground$' "$unit"
}

claim "systemd has no complaint of the unit" verify
claim "no device makes hypercalls or is a disk" allowed
claim "the path of the program was filled in" program
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
