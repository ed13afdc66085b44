#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Without a toolstack devices come back all the same: after kill -9 of a worker and of the
# supervisor, and a restart of the daemon, under traffic, and after the guest loaded its
# frontend anew. Nothing is left of them. A guest that crashes stays, without its worker,
# once an operator took its device away. On Arm.
# machine: dom0less two-guests
# limit: 480
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh

step "two guests"
guests_up g1 g2
for g in g1 g2; do
	check "$g is connected" wait_until 60 connected $g 0
done
ledger_open_without g1 g2

parts_killed g1 g2
daemon_restarted g1 g2

step "nothing is left"
for g in g1 g2; do
	check "$g: detach" vhcactl detach $g all
	check "$g: unload" guest_sh $g 'modprobe -r xen-vhcafront'
	guest_sh $g 'modprobe xen-vhcafront'
	check_not "$g: no complaint of its kernel" guest_sh $g "dmesg | grep -E '$BAD_KERNEL'"
done
# The guards of adopted workers, whose end nobody saw, stay until their guests end
# (backend/supervise/guard.h), and kept_mms counts them.
ledger_close g1 g2

# The last one of this machine.
check "the devices are made again" vhcactl dom0less "$DOM0LESS_CONF"
for g in g1 g2; do
	device_works $g
done
guest_crashes g2 g1

step "what is left of g2"
check "vhcactl dom0less may run again" vhcactl dom0less "$DOM0LESS_CONF"
check "g2: detach what that made anew" vhcactl detach -f g2 all
check "g1: detach" vhcactl detach g1 all
ledger_close_crashed
kernel_clean g1
