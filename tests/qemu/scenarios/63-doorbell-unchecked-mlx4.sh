#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On a ConnectX-3 that does not compare the page of a doorbell with that of the queue, a guest
# rings for the queue pair of another guest, and the test of isolation fails: it would show
# such a card. What the other guest's process reads and writes is right all the same.
# tier: soak
# limit: 420
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1,uar-check=off -device connectx3,id=hca1,lid=2,uar-check=off
HCAS="mlx4_0 mlx4_1"
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh

step "two PV guests on one HCA"
hca_guests pv a pv b
hca_move b mlx4_0

step "b rings for a"
hold_start a
read -r qpn cqn < <(held a)
quiet=$(refused hca0)
check "b rings for QP $qpn and CQ $cqn of a" guest_sh -t 60 b \
	"vhca-uar ring $qpn $cqn $DOORBELLS"
check "the HCA refused no doorbell" [ "$(refused hca0)" = "$quiet" ]
check_not "a did not notice" hold_end a
check "its request was started by another's doorbell" \
	grep -q "somebody else's doorbell started our work request" /tmp/hold.a

step "b rings for nobody, and for a while a transfers"
guest_sh -t 60 b 'vhca-uar ring 0xfffff0 0xfff0 1000'
check "the HCA refuses numbers that nobody has" [ "$(refused hca0)" -gt "$quiet" ]
check "every byte of a's transfers is right" guest_sh -t 60 a \
	'vhca-xfer --loop -g 0 -t rc-write-4k'
kernel_clean a b
