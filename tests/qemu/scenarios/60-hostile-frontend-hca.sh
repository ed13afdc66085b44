#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The same as 60-hostile-frontend on an HCA with doorbell pages, whose driver takes udata;
# one of the two hostile guests is PVH.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./hostile_front.sh

# one_by_one GUEST MODE...
one_by_one() {
	local mode
	for mode in "${@:2}"; do
		step "$1: $mode"
		check "$1: $mode" hostile "$1" "$mode"
	done
}

step "a hostile PV and PVH guest, and a PVH guest beside them"
hca_guests pv a pvh b pvh c
hostile_fronts_begin

one_by_one a nodes pages udata vanish &
first=$!
one_by_one c garbage pages udata producer states vanish &
all_well "what a or c does is not endured" "$first" $!

hostile_fronts_end
check "no verbs object is left" wait_until 30 no_objects
kernel_clean a b c
spoilt a c
