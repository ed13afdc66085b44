#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Everything, in the short form of 'make check' or the long one of 'make soak'. Its parts run
# one after the other: an emulated machine beside compilers takes 38 % more processor time
# than alone. Where nothing is cached, the root of bare/check.sh, which may use no cache,
# makes the images and QEMU for the machines as well; the unit tests run beside it.
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

# later NAME COMMAND...: the same, shown when it has ended.
later() {
	part "$@" >"$logs/$1.later"
	cat "$logs/$1.later"
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

# Background jobs of a script do not hear of Ctrl-C.
trap 'trap - INT TERM; kill 0' INT TERM
rm -rf "$logs"
mkdir -p "$logs"
if [ "$VHCA_TIER" = check ]; then
	cold=no
	[ -x "$(tests/hca/build-qemu.sh --path)" ] || cold=yes
	[ "$cold" = no ] || later check-bare "$make" check-bare &
	part check-unit "$make" check-built
	wait
	[ "$cold" = yes ] || part check-bare "$make" check-bare UNLESS_PASSED=yes
	part check-udata "$make" check-other-udata
	part check-cable "$make" check-cable
	# Machines take turns at the processors (qemu/lib/lanes.sh).
	later check-other "$make" check-other-xen &
	part check-xen "$make" check-xen
	wait
else
	# Scenarios first: the next run goes on where this one ends (qemu/lib/proven.sh).
	part check-xen "$make" check-xen
	part check-next "$make" check-next
	part check-debug "$make" check-debug
	part check-cable "$make" check-cable
	part check-package "$make" check-package
	part check-upstream "$make" check-upstream
	part fuzz "$make" fuzz FUZZ_TIME="${FUZZ_TIME:-120}"
fi
# Where only the end of all this is kept, it says what failed.
if [ -e "$logs/failed" ]; then
	grep -hE '^(b: )?(FAIL|unexpected)' "$logs"/*.log | cut -c 1-200 | sort -u | head -n 20
	echo "failed: $(tr '\n' ' ' <"$logs/failed")"
fi
counted
[ ! -e "$logs/failed" ]
