#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A 1 GiB memory region registers when the guest's grant limit and max-pinned-mb
# are raised; with the defaults it is refused with ENOMEM and a log line that names
# the setting. Soft-RoCE from Linux 6.3 on is not asked for one that is larger than it
# takes without a warning of its kernel.
# tier: soak
# limit: 300
. ./lib.sh
. ./vhca.sh

VHCA_GUEST_MEM=1600
VHCA_GUEST_CFG=('max_grant_frames = 1024')
VHCA_KEYS=max-pinned-mb=1536
step "guest with max_grant_frames = 1024"
guests_with_vhca pv big
check "max_mr_size is at least 1 GiB" guest_sh big \
	'v=$(ibv_devinfo -v | awk "/max_mr_size/ { print \$2 }"); echo $v; [ $((v)) -ge 1073741824 ]'
big='vhca-xfer --loop -t big-mr'	# some octets more than 1 GiB
case $(uname -r) in
6.1.*)	check "1 GiB registers and is used" guest_sh -t 120 big \
		"$big --timeout $(seconds 50000)" ;;
*)	check "more than 1 GiB gets ENOMEM" guest_sh -t 120 big \
		"$big 2>&1 | grep 'Cannot allocate memory'"
	check "as 1 GiB is the most that is offered" guest_sh big 'dmesg |
		grep "exceeds max_mr_size 1073741824"' ;;
esac
vhcactl detach big all
guest_destroy big

step "guest with the default of 64 grant frames"
VHCA_GUEST_CFG=('max_grant_frames = 64')
VHCA_KEYS=''
guests_with_vhca pv small
check "max_mr_size is below 128 MiB" guest_sh small \
	'v=$(ibv_devinfo -v | awk "/max_mr_size/ { print \$2 }"); echo $v; [ $((v)) -le 134217728 ]'
check "1 GiB gets ENOMEM" guest_sh -t 120 small \
	'vhca-xfer --loop -t big-mr 2>&1 | grep "Cannot allocate memory"'
check "the log names the setting" guest_sh small 'dmesg | grep max_grant_frames'
check "a small region still registers" guest_sh small \
	'vhca-xfer --loop -t rc-write-4k'
vhcactl detach small all
kernel_clean small
