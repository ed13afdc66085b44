#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The same as 49-faults on an HCA with doorbell pages: allocations fail while queues of
# the process's own memory and pages of the HCA are mapped, too.
# by-hand: needs a kernel that can be told to fail (make check-debug)
# limit: 1200
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./faults.sh

# mapped GUEST: pages of the HCA, by ten processes from which the kernel takes what they
# ask for. How they end is not the point, that they end is.
mapped() {
	guest_sh "$1" "$(faults 3 -1 Y)"
	# shellcheck disable=SC2016 # there
	guest_sh -t 200 "$1" 'for n in 0 1 2 3 4 5 6 7 8 9; do
		bash -c "echo 1 >/proc/self/make-it-fail
			timeout '"$(seconds 15)"' vhca-uar mmap" >/tmp/mapped.$n 2>&1
		[ $? != 124 ] || exit 1
	done'
}

step "a PV and a PVH guest"
hca_setup
agent_start
XFER_GID='-g 0'
backend_start
# A queue that a probe asks for takes 512 MiB of the process.
guest_create a pv mem=1280
guest_create b pvh mem=1280
ledger_open a b
hca_ledger_open
vhca_attach a hca=mlx5_0
vhca_attach b hca=mlx5_1

step "in a process's verbs"
faults_in_verbs a b

step "while pages of the HCA are mapped"
for g in a b; do
	check "$g: programs end" mapped $g
	guest_sh $g "$NONE"
	check "$g: they map them when nothing is lost" guest_sh -t 60 $g 'vhca-uar mmap'
done

step "while a device is met and left"
faults_in_meeting a mlx5_0
faults_in_meeting b mlx5_1

step "in the worker's system calls"
faults_in_worker a
check "a works" works a
check "b did not notice" works b

guests_end_clean a b
hca_ledger_close
