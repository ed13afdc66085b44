#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 84-dom0less-verbs, on an HCA (the model) whose doorbell pages the guests have: its
# verbs, their commands, perftest and verified transfers, without a kick, and no doorbell
# is refused. What is never done on the data path is 87-dom0less-doorbells. On Arm.
# machine: dom0less two-guests-hca
# tier: soak
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
# limit: 900
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh
. ./zero.sh
. ./dom0less.sh
# shellcheck disable=SC2034
XFER_GID='-g 0'

step "two guests of one HCA"
check "this is an Arm machine" test "$(uname -m)" = aarch64
hca_setup
guests_up a b
guests_connected a b

room_for_many a b
step "the list of verbs"
same_verbs a expected-differences-mlx5.txt -g 0 -d mlx5_0
commands_as_promised a mlx5
refused=$(refused hca0)

perftests_between a b

step "verified transfers"
xfer_between "vhca-xfer: every byte of transfers to 1 MiB" b a '-q 16 --max-size 1048576'
for g in a b; do
	check "$g: no kick" test "$(kicks $g)" = 0
done
check "the HCA refused no doorbell" test "$(refused hca0)" = "$refused"

step "what is left"
for g in a b; do
	check "$g: detach" vhcactl detach $g all
done
check "no queue, region or connection is left" wait_until 15 no_objects
kernel_clean a b
