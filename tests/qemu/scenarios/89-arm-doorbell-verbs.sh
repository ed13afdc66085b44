#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 89-arm-verbs, on a model HCA whose doorbell pages the guests have: its verbs, their
# commands and perftest, without a refused doorbell.
# machine: arm64
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh
. ./arm.sh

step "two guests of one HCA"
hca_guests pvh a pvh b
hca_move b "${HCAS%% *}"
room_for_many a b

step "the list of verbs"
same_verbs a expected-differences-mlx5.txt -g 0 -d mlx5_0
commands_as_promised a mlx5
quiet=$(refused hca0)

perftests_between a b
check "the HCA refused no doorbell" test "$(refused hca0)" = "$quiet"

step "nothing is left"
for g in a b; do
	check "$g: detach" vhcactl detach $g all
done
check "no queue, region or connection is left" wait_until 15 no_objects
kernel_clean a b
spoilt a b
