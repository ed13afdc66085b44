#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Everything, in the short form of 'make check' or the long one of 'make soak'. What
# needs no emulated machine runs beside them, at a low priority, because
# emulated machines leave a part of their processors idle; scenarios that compare
# speeds wait for its end ("# quiet: yes", qemu/README.md). Where nothing is cached,
# the root of bare/check.sh, which may use no cache, makes the images and QEMU
# for the machines as well.
#
# Usage: check.sh BUILD-FOLDER MAKE [soak]    of 'make check' and 'make soak', after
#        'make build'
# Status 0: nothing failed. All of it runs, whatever fails.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1 make=$2
export VHCA_TIER=${3:-check}
logs=$build/check
begin=$SECONDS

# part NAME COMMAND...: one of the checks; what it says is kept, for the count.
part() {
	local name=$1 start=$SECONDS rc
	shift
	"$@" 2>&1 | tee "$logs/$name.log"
	rc=${PIPESTATUS[0]}
	[ "$rc" = 0 ] || echo "$name" >>"$logs/failed"
	echo "==== $name: $((SECONDS - start)) s, $(((SECONDS - begin) / 60)) min since the start"
}

# later NAME COMMAND...: the same at a low priority, shown when it has ended. At a lower
# one all would wait for it in the end, with a processor idle.
later() {
	part "$1" nice -n "${niceness:-3}" "${@:2}" >"$build/beside.$1"
	cat "$build/beside.$1"
}

# counted: the sum of what all parts counted, automake's way or ours.
counted() {
	cat "$logs"/*.log | awk '
		/^(b: )?[0-9]+ passed, [0-9]+ failed/ {
			sub(/^b: /, ""); p += $1; f += $3; s += $5 }
		/^# (PASS|XFAIL): / { p += $3 }
		/^# (FAIL|ERROR|XPASS): / { f += $3 }
		/^# SKIP: / { s += $3 }
		END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
}

# Holds the lock that quiet scenarios wait for.
beside() {
	exec 8>"$VHCA_BESIDE"
	flock 8
	if [ "$VHCA_TIER" = soak ]; then
		later fuzz "$make" fuzz FUZZ_TIME="${FUZZ_TIME:-120}"
		later check-package "$make" check-package
	else
		later check-unit "$make" check-beside
		# It fails again, and is told, where it is needed.
		nice -n 19 tests/qemu/image/build-xl.sh >/dev/null 2>&1
		[ "$cold" = yes ] ||
			later check-bare "$make" check-bare UNLESS_PASSED=yes
	fi
	exec 8>&-
}

# Background jobs of a script do not hear of Ctrl-C.
trap 'trap - INT TERM; kill 0' INT TERM
VHCA_BESIDE=$(realpath "$build")/.beside
export VHCA_BESIDE
rm -rf "$VHCA_BESIDE" "$logs"
mkdir -p "$logs"
cold=no
[ -x "$(tests/hca/build-qemu.sh --path)" ] || cold=yes
[ "$VHCA_TIER" = check ] || cold=no
beside &
beside=$!
[ "$cold" = no ] || part check-bare "$make" check-bare
part check-cable "$make" check-cable
# Its machines and those of check-xen take turns at the processors (qemu/lib/lanes.sh).
if [ "$VHCA_TIER" = check ]; then
	niceness=0 later check-other "$make" check-other &
	other=$!
fi
part check-xen "$make" check-xen
[ "$VHCA_TIER" = soak ] || wait "$other"
[ "$VHCA_TIER" = check ] || part check-next "$make" check-next
wait "$beside"
# A kernel with KASAN needs the machine to itself.
[ "$VHCA_TIER" = check ] || part check-debug "$make" check-debug
# Where only the end of all this is kept, it says what failed.
if [ -e "$logs/failed" ]; then
	grep -hE '^(b: )?(FAIL|unexpected)' "$logs"/*.log | cut -c 1-200 | sort -u | head -n 20
	echo "failed: $(tr '\n' ' ' <"$logs/failed")"
fi
counted
[ ! -e "$logs/failed" ]
