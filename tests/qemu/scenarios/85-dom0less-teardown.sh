#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Without a toolstack devices come back all the same: after kill -9 of a worker and of the
# supervisor under traffic, and after the guest loaded its frontend anew. On Arm.
# machine: dom0less two-guests
# limit: 300
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh

step "two guests"
guests_up g1 g2
for g in g1 g2; do
	check "$g is connected" wait_until 60 connected $g 0
	wait_guest 20 $g 'ls /dev/infiniband/uverbs0'
done

parts_killed g1 g2

step "nothing is left"
for g in g1 g2; do
	check "$g: detach" vhcactl detach $g all
	check "$g: unload" guest_sh $g 'modprobe -r xen-vhcafront'
	guest_sh $g 'modprobe xen-vhcafront'	# for a later scenario
	check_not "$g: no complaint of its kernel" guest_sh $g "dmesg | grep -E '$BAD_KERNEL'"
done
# The guards of adopted workers, whose end nobody saw, stay until their guests end
# (backend/supervise/guard.h), and kept_mms counts them.
for n in grants zombies; do
	check "the helper has no $n" wait_until 10 \
		bash -c "[ \"\$(cat $DBG_HELPER/$n)\" = 0 ]"
done
for kind in pd cq qp mr; do
	check "no $kind of a worker is left" bash -c "! rdma resource show $kind | grep vhcad-"
done
