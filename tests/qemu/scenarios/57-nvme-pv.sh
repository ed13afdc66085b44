#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# NVMe over RDMA between the kernels of two PV guests, by Debian's modules: the target's
# disk is memory of its guest. The kernels' rdma_cm connects them by the addresses of their
# vhcas. What was written is read back; controllers come and go; a device that is detached
# under I/O ends the controller, as does a target whose guest is destroyed. In between the
# kernel of dom0 is the host, and the target, by the HCA's own driver. The short form has
# guests only, and no target that is destroyed.
# limit: 500
# soak-limit: 1200
# skip-ok: no time is left for it
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh
. ./storage.sh

# same BLOCK: 8 MiB, written and read back past the cache.
same() {
	on "$HOST" "set -e
		head -c 8388608 /dev/urandom >/tmp/written
		dd if=/tmp/written of=/dev/nvme0n1 bs=$1 oflag=direct conv=nocreat 2>/dev/null
		echo 3 >/proc/sys/vm/drop_caches
		dd if=/dev/nvme0n1 bs=$1 iflag=direct of=/tmp/read 2>/dev/null
		cmp -n 8388608 /tmp/written /tmp/read"
}
# target_has: what was written last, by the disk's own driver.
target_has() {
	local sum
	sum=$(at "$HOST" 'md5sum </tmp/written') && at "$TARGET" "echo 3 >/proc/sys/vm/drop_caches
		[ \"\$(head -c 8388608 /dev/ram0 | md5sum)\" = '$sum' ]"
}
# io_begins: reads and writes of b until one fails.
io_begins() {
	local before
	before=$(ios)
	guest_sh -t 120 b 'while dd if=/tmp/written of=/dev/nvme0n1 bs=64k oflag=direct conv=nocreat &&
		dd if=/dev/nvme0n1 of=/dev/null bs=64k count=128 iflag=direct; do :; done' \
		>/tmp/io 2>&1 &
	io=$!
	wait_until 20 more_ios $((before + 64)) && kill -0 "$io" && return
	tail -n 4 /tmp/io
	return 1
}
io_ends() { wait_until 60 not kill -0 "$io" 2>/dev/null; }
has_srq() { rdma resource show srq | tee /dev/stderr | grep 'vhcad-'; }
# native: as above, where one end is dom0's; then both ends are gone.
native() {
	local block
	check "connected" nvme_connect
	check "the disk comes" has_disk
	for block in 4k 128k 1M; do
		check "by $block" same "$block"
	done
	check "the target's memory has it" target_has
	check "disconnected" nvme_disconnect
	check "the target ends" nvme_target_end
}

step "two guests on a fabric"
kernel_guests nvme-rdma

step "a target and its host"
check "the target listens" nvme_target
check "where nobody listens there is no controller" not nvme_connect 4421
check "the discovery controller answers" \
	nvme_connect 4420 nqn.2014-08.org.nvmexpress.discovery
check "and goes" nvme_disconnect
check "connected" nvme_connect
check "b has the disk" has_disk
rdma resource show cm_id | grep vhcad- || true
[ -z "${NVMET_SRQ:-}" ] ||
	check "its queue pairs share a receive queue" has_srq

step "what was written is read"
blocks=(20k 128k)
[ "$(long 0 1)" = 0 ] || blocks+=(4k 1M)
for block in "${blocks[@]}"; do
	check "by $block" same "$block"
done
check "the target's memory has it" target_has
check "disconnected" nvme_disconnect
for ((i = 1; i <= $(long 1 5); i++)); do
	check "connected again, $i" nvme_connect
	check "the disk comes" has_disk
	check "disconnected" nvme_disconnect
done

step "b is detached under I/O"
check "connected" nvme_connect
check "the disk comes" has_disk
check "I/O goes" io_begins
check "detach" vhcactl detach b 0
check "the I/O ends" io_ends
check "the controller is gone" no_controller
kernel_attach b
check "connected" nvme_connect
check "the disk comes" has_disk
check "what was written is read" same 64k
check "disconnected" nvme_disconnect

# with_dom0: its kernel is the host of a guest's target, then has the target of a guest.
with_dom0() {
	step "dom0 is the host of the guest's target"
	modprobe nvme-rdma
	HOST=dom0
	native
	step "dom0 has the target of a guest's host"
	TARGET=dom0 HOST=b
	check "the target listens" nvme_target
	native
	TARGET=a
}
# target_destroyed: its guest is, under I/O.
target_destroyed() {
	step "the target's guest is destroyed under I/O"
	check "the target listens" nvme_target
	check "connected" nvme_connect
	check "the disk comes" has_disk
	check "I/O goes" io_begins
	guest_destroy a
	check "the I/O ends" io_ends
	check "the controller is gone" no_controller
}
if [ "$(long 0 1)" = 0 ]; then
	check "the target ends" nvme_target_end
	ends='a b'
else
	with_dom0
	target_destroyed
	ends=b
fi

step "the end"
# shellcheck disable=SC2086
kernel_guests_end $ends
