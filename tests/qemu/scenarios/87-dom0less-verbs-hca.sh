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
for g in a b; do
	check "$g is connected" wait_until 60 connected $g 0
	check "$g has a verbs device" wait_guest 30 $g 'ls /dev/infiniband/uverbs0'
done

room_for_many a b
step "the list of verbs"
same_verbs a expected-differences-mlx5.txt -g 0 -d mlx5_0
commands_as_promised a mlx5
refused=$(refused hca0)

step "perftest"
for t in 'send_lat -s 8' 'send_lat -s 8 -e' 'write_lat -s 8' 'read_lat -s 8' 'atomic_lat' \
	'write_bw -s 65536' 'read_bw -s 65536' 'send_bw -c UD -s 1024' 'write_bw -q 8 -s 4096'; do
	pair "ib_$t" a b "ib_$t -F -n 200"
done

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
