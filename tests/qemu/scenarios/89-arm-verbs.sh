#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On Arm with dom0 a guest's verbs on Soft-RoCE are those of the bare HCA, with the
# differences that are documented for x86 and no other, and cost as many commands; perftest
# runs between two guests.
# machine: arm64
# tier: soak
# limit: 600
. ./lib.sh
. ./vhca.sh
. ./arm.sh

step "two guests, trusted as dom0 is elsewhere: only then they have memory windows"
VHCA_KEYS=trusted=1
guests_with_vhca pvh a pvh b
room_for_many a b

step "the list of verbs"
same_verbs a expected-differences.txt -d rxe0
commands_as_promised a Soft-RoCE

perftests_between a b -x 1

step "nothing is left"
for g in a b; do
	check "$g: detach" vhcactl detach $g all
done
check "no verbs object is left" wait_until 15 no_objects
kernel_clean a b
spoilt a b
