#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# tests/qemu/lib/proven.sh without Xen: a pass is kept as long as what decided it is the
# same, and a run leaves out what has passed.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/lib/claim.sh
. "$top/tests/lib/claim.sh"
export XDG_CACHE_HOME=$work/cache
# shellcheck disable=SC2034
here=$work/qemu scratch=$work/scratch images=$work/0123 GUEST_IMAGES=''
# shellcheck disable=SC2034
program=$work/qemu-4567/bin/qemu-system-x86_64 tier=soak SUITE=bookworm GUEST_SUITE=bookworm
# shellcheck disable=SC2034
declare -a extra=()
unset VHCA_KERNEL DOM0_MEM PYVERBS_SUITE QEMU QEMU_EXTRA XEN_EXTRA DOM0_EXTRA VHCA_SMP VHCA_RAM
header() { sed -n "s/^# $2: *//p" "$1" | head -n 1; }
say() { echo "$*"; }
is_arm() { [[ $1 = */82-* ]]; }
# shellcheck source=tests/qemu/lib/proven.sh
. "$top/tests/qemu/lib/proven.sh"

scenarios=$here/scenarios
mkdir -p "$scenarios" "$scratch"
echo "0123 dom0/usr/bin/vhca-xfer" >"$scratch/contents"
names="10-attach 20-verbs 20-verbs-roce 72-packages 82-dom0less"
for n in $names; do echo "check $n" >"$scenarios/$n.sh"; done
echo '. ../scenarios/20-verbs.sh' >"$scenarios/20-verbs-roce.sh"
echo '# packages: yes' >"$scenarios/72-packages.sh"

planned() {
	local n
	rm -f "$scratch"/key.*
	for n in $names; do
		printf 'config\t%s\t%s\n' "$n" "$scenarios/$n.sh"
	done >"$scratch/plan"
	keyed
}
# A run begins: what is left of its plan.
begin() {
	planned
	go_on
}
left() { begin >/dev/null; [ "$(cut -f2 "$scratch/plan" | tr '\n' ' ')" = "${1:+$1 }" ]; }
pass() {
	begin >/dev/null
	remember "$1" pass 12
}

claim "at first all is to be done" left "$names"
for n in $names; do pass "$n"; done
claim "what passed is left out, but what is made later or has no dom0" \
	left "72-packages 82-dom0less"
begin >"$work/said"
claim "it is told, with the day" grep -qx "kept 10-attach: passed on $(date -u +%F)" "$work/said"
claim "the plan keeps its columns" grep -q "$(printf '\t72-packages\t/')" "$scratch/plan"
echo "check again" >>"$scenarios/20-verbs.sh"
claim "a scenario that changed runs again, and so does one that sources it" \
	left "20-verbs 20-verbs-roce 72-packages 82-dom0less"
echo "4567 dom0/usr/bin/vhca-xfer" >"$scratch/contents"
claim "another program: all runs again" left "$names"
echo "0123 dom0/usr/bin/vhca-xfer" >"$scratch/contents"
begin >/dev/null
remember 10-attach "fail it did not attach" 3
claim "a failure takes an earlier pass away" \
	left "10-attach 20-verbs 20-verbs-roce 72-packages 82-dom0less"
pass 10-attach
for setting in SUITE=trixie images="$work/89ab" tier=check VHCA_SMP=4 DOM0_MEM=512 \
	QEMU_EXTRA=-s program=/q/qemu-89ab/bin/q; do
	claim "with $setting nothing is kept of another run" bash -c "
		$(declare -p here scratch images program tier SUITE GUEST_SUITE GUEST_IMAGES \
			scenarios names extra proofs before)
		$(declare -f)
		export $setting
		left '$names'"
done
tier=soak
claim "its own record is still there" \
	left "20-verbs 20-verbs-roce 72-packages 82-dom0less"
planned
print_proven >"$work/said"
claim "what is proven is counted" grep -qx "bookworm: 1 of 5 are proven; open:" "$work/said"
verdict
