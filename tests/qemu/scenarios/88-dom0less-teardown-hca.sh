#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 85-dom0less-teardown, with processes that ring doorbell pages of an HCA (the model),
# which each guest has as long as it lives. The HCA reaches no memory in the end. A guest
# that crashes keeps its pages, and the other one gets none of them. On Arm.
# machine: dom0less two-guests-hca
# tier: soak
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
# limit: 600
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh
. ./dom0less.sh
# shellcheck disable=SC2034
XFER_GID='-g 0'

nothing_kept() { [ "$(cat $DBG_HELPER/kept_mms)" = 0 ]; }
# own_pages GUEST: its processes can map pages of its range, and nothing else.
own_pages() {
	check "$1: its own pages can be mapped, nothing else" guest_sh -t 60 "$1" \
		'for i in 1 2 3; do MLX5_TOTAL_UUARS=$((16 + 16 * i)) vhca-uar mmap || exit 1; done'
}

step "two guests of one HCA"
hca_setup
guests_up a b
guests_connected a b
ledger_open_without a b
vhcactl detach a all
vhcactl detach b all
hca_ledger_open
check "the devices are made again" vhcactl dom0less "$DOM0LESS_CONF"
for g in a b; do
	device_works $g
done

parts_killed a b
daemon_restarted a b
own_pages a
own_pages b

step "nothing is left"
for g in a b; do
	check "$g: detach" vhcactl detach $g all
done
ledger_close a b
hca_ledger_close

check "the devices are made again" vhcactl dom0less "$DOM0LESS_CONF"
for g in a b; do
	device_works $g
done
refused=$(refused hca0)
guest_crashes b a

step "what is left of b"
check "a: detach" vhcactl detach a all
check "no queue, region or connection is left" wait_until 15 no_objects
hca_ledger_close
check "no memory of dead workers is kept" wait_until 20 nothing_kept
check "a gets a device again" vhcactl dom0less "$DOM0LESS_CONF"
check "b: detach what that made anew" vhcactl detach -f b all
device_works a
own_pages a
check "the HCA refused no doorbell" test "$(refused hca0)" = "$refused"
vhcactl detach a all
kernel_clean a
