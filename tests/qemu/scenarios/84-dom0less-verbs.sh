#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On Arm, without dom0, a guest's verbs on Soft-RoCE are those of the bare HCA, with the
# differences that are documented for x86 and no other, and cost as many commands; perftest
# runs between two guests, and every byte of all transfers is compared.
# machine: dom0less two-guests
# tier: soak
# limit: 900
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh

step "two guests, trusted as dom0 is elsewhere: only then they have memory windows"
check "this is an Arm machine" test "$(uname -m)" = aarch64
sed 's/hca=rxe0/&,trusted=1/' "$DOM0LESS_CONF" >/tmp/trusted.conf
DOM0LESS_CONF=/tmp/trusted.conf guests_up g1 g2
guests_connected g1 g2

room_for_many g1 g2
step "the list of verbs"
same_verbs g1 expected-differences.txt -d rxe0
commands_as_promised g1 Soft-RoCE

perftests_between g1 g2 -x 1

step "verified transfers"
xfer_between "vhca-xfer: every byte of transfers to 1 MiB" g2 g1 '-q 16 --max-size 1048576'
xfer_between "vhca-xfer by completion events" g2 g1 '-e --max-size 65536'

step "nothing is left"
for g in g1 g2; do
	check "$g: detach" vhcactl detach $g all
done
check "no verbs object is left" wait_until 15 no_objects
kernel_clean g1 g2
