#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Guests with the kernel of Debian 11 (Linux 5.10), whose ib_core differs most from those
# that the other scenarios run: Debian's programs, verified transfers between a PV and a
# PVH guest, both suspended under traffic, and nothing is left.
# tier: soak
# limit: 900
# oldkernel: yes
. ./lib.sh
. ./vhca.sh
. ./suspend.sh

step "guests with Linux 5.10"
cat "$GUEST_RUN/initrd" /guest/oldkernel.cpio >"$GUEST_RUN/initrd.old"
VHCA_GUEST_MEM=384
VHCA_GUEST_CFG=("ramdisk = \"$GUEST_RUN/initrd.old\"" 'kernel = "/guest/oldkernel.vmlinuz"')
guests_with_vhca pv a pvh b
check "that kernel runs" guest_sh a 'case $(uname -r) in 5.10.*) ;; *) false ;; esac'

step "Debian's programs"
programs_between a b
check "rdma_cm connects" guest_sh a 'test -c /dev/infiniband/rdma_cm'
check "counters are read" guest_sh a \
	'cat /sys/class/infiniband/vhca0/ports/1/hw_counters/vhca_cmds'

step "verified transfers"
xfer_between "vhca-xfer: every byte of all transfers" b a "-q 20 --max-size 1048576"
xfer_between "vhca-xfer by completion events" b a "-e --max-size 65536"

step "suspend"
for g in a b; do
	ledger_open "$g"
	load_start "$g" -e
	checkpoint "$g"
	note "$g: goes on after a checkpoint"
	resume_with "$g" rxe0
	note "$g: goes on after a restore"
	load_end "$g"
done

step "what is left"
for g in a b; do
	vhcactl detach "$g" all
	check "$g: unload the module" guest_sh "$g" 'rmmod xen-vhcafront'
done
check "no verbs object is left" no_objects
kernel_clean a b
