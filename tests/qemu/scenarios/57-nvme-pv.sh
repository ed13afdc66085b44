#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# NVMe over RDMA between the kernels of two PV guests, by Debian's modules: the target's
# disk is memory of its guest. The kernels' rdma_cm connects them by the addresses of their
# vhcas. What was written is read back; controllers come and go; a device that is detached
# and a worker that is killed under I/O end the controller, which connects again. Then the
# kernel of dom0 is the host, and the target, by the HCA's own driver.
# limit: 1200
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh

# Of which place the disk is, and where it is /dev/nvme0n1.
TARGET=a HOST=b

# nvme_target: a disk in memory, which does not outlive the guest.
nvme_target() {
	on "$TARGET" "set -e
		modprobe -a configfs brd nvmet nvmet-rdma
		mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
		cd /sys/kernel/config/nvmet
		mkdir subsystems/disk subsystems/disk/namespaces/1 ports/1
		echo 1 >subsystems/disk/attr_allow_any_host
		echo -n /dev/ram0 >subsystems/disk/namespaces/1/device_path
		echo 1 >subsystems/disk/namespaces/1/enable
		cd ports/1
		echo rdma >addr_trtype; echo ipv4 >addr_adrfam
		echo ${KERNEL_ADDR[$TARGET]} >addr_traddr; echo 4420 >addr_trsvcid
		ln -s ../../subsystems/disk subsystems/disk"
}
nvme_target_end() {
	on "$TARGET" 'cd /sys/kernel/config/nvmet && rm ports/1/subsystems/disk &&
		echo 0 >subsystems/disk/namespaces/1/enable &&
		rmdir ports/1 subsystems/disk/namespaces/1 subsystems/disk'
}
# nvme_connect [PORT [NQN]]: with a queue for I/O.
nvme_connect() {
	on "$HOST" "timeout 60 sh -c 'echo transport=rdma,traddr=${KERNEL_ADDR[$TARGET]},trsvcid=${1:-4420},nqn=${2:-disk},nr_io_queues=1,queue_size=32,reconnect_delay=1,ctrl_loss_tmo=5 >/dev/nvme-fabrics'"
}
nvme_disconnect() { on "$HOST" 'for c in /sys/class/nvme/nvme*; do echo 1 >$c/delete_controller; done'; }
has_disk() { wait_until 15 at "$HOST" 'test -b /dev/nvme0n1 && [ "$(cat /sys/block/nvme0n1/size)" != 0 ]'; }
no_controller() { wait_until 60 at "$HOST" '! ls -d /sys/class/nvme/nvme*'; }
# same BLOCK: 8 MiB, written and read back past the cache.
same() {
	on "$HOST" "set -e
		head -c 8388608 /dev/urandom >/tmp/written
		dd if=/tmp/written of=/dev/nvme0n1 bs=$1 oflag=direct conv=nocreat 2>/dev/null
		echo 3 >/proc/sys/vm/drop_caches
		dd if=/dev/nvme0n1 bs=$1 iflag=direct of=/tmp/read 2>/dev/null
		cmp -n 8388608 /tmp/written /tmp/read"
}
# Linux 6.1 counts those of a path (nvme0c0n1) only.
ios() { guest_sh b "awk '{ n += \$1 + \$5 } END { print n }' /sys/block/nvme*n1/stat"; }
# target_has: what was written last, by the disk's own driver.
target_has() {
	local sum
	sum=$(at "$HOST" 'md5sum </tmp/written') && at "$TARGET" "echo 3 >/proc/sys/vm/drop_caches
		[ \"\$(head -c 8388608 /dev/ram0 | md5sum)\" = '$sum' ]"
}
more_ios() { [ "$(ios)" -gt "$1" ]; }
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

step "what was written is read"
for block in 4k 20k 128k 1M; do
	check "by $block" same "$block"
done
check "the target's memory has it" target_has
check "disconnected" nvme_disconnect
for i in 1 2 3 4 5; do
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

step "the worker of a is killed under I/O"
check "I/O goes" io_begins
kill -9 "$(worker_pid a 0)"
check "the I/O ends" io_ends
check "the controller is gone" no_controller
check "the device of a comes back" wait_guest 30 a "$HAS_GID"
check "the target goes with its device" nvme_target_end
check "and listens again" nvme_target
check "connected" nvme_connect
check "the disk comes" has_disk
check "what was written is read" same 64k
check "disconnected" nvme_disconnect

step "dom0 is the host of the guest's target"
modprobe nvme-rdma
HOST=dom0
native

step "dom0 has the target of a guest's host"
TARGET=dom0 HOST=b
check "the target listens" nvme_target
native

step "the end"
kernel_guests_end
