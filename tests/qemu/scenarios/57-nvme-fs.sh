#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# File systems on a disk of another guest's kernel, by NVMe over RDMA with two queues for I/O
# of depth 32: fio writes blocks of many sizes into ext4 and into xfs and verifies them, while
# the worker of either guest is killed. The file systems are whole afterwards.
# limit: 1500
# tier: soak
# hca: yes
# storage: yes
# programs: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh
. ./storage.sh

KERNEL_PROGRAMS=yes POOL_MB=64 GUEST_MB=768 GUEST_VCPUS=2 WRITE_QUEUES=1 LOSS=600

declare -A MAKE=([ext4]='mke2fs -q -F -t ext4' [xfs]='mkfs.xfs -q -f')
declare -A CHECK=([ext4]='e2fsck -f -n' [xfs]='xfs_repair -n')

# fio_begins SECONDS: in b, with what it says in /tmp/fio.log and how it ends in /tmp/fio.end.
fio_begins() {
	guest_sh b "rm -f /tmp/fio.end
		setsid bash -c 'fio --name=job --directory=/mnt/fs --size=24m --numjobs=2 \
		--ioengine=libaio --direct=1 --iodepth=32 --rw=randwrite --bsrange=4k-1m \
		--verify=crc32c --verify_fatal=1 --time_based --runtime=$1 \
		>/tmp/fio.log 2>&1; echo \$? >/tmp/fio.end' </dev/null >/dev/null 2>&1 &"
}
fio_ends() {
	wait_guest 300 b 'test -e /tmp/fio.end' && guest_sh b '[ "$(cat /tmp/fio.end)" = 0 ]' &&
		return
	guest_sh b 'tail -n 8 /tmp/fio.log'
	tell a
	tell b
	return 1
}
# fio_goes SECONDS: until then by 200 requests more than now.
fio_goes() {
	wait_until "$1" more_ios $(($(ios) + 200)) && return
	guest_sh b 'tail -n 8 /tmp/fio.log; cat /tmp/fio.end'
	return 1
}
# on_file_system TYPE
on_file_system() {
	check "$1 is made" on b "${MAKE[$1]} /dev/nvme0n1"
	check "and mounted" on b "mkdir -p /mnt/fs && mount -t $1 /dev/nvme0n1 /mnt/fs"
	for g in b a; do
		fio_begins "$(long 40 60)"
		check "I/O goes" fio_goes 60
		kill -9 "$(worker_pid $g 0)"
		check "the worker of $g died: I/O goes on" fio_goes 120
		check "all that was written was read" fio_ends
	done
	check "unmounted" on b 'umount /mnt/fs'
	check "$1 is whole" on b "${CHECK[$1]} /dev/nvme0n1"
}

step "two guests on a fabric"
kernel_guests nvme-rdma ext4 xfs
# brd's disks are 16 MiB unless it is told.
on a 'modprobe brd rd_nr=1 rd_size=393216'
check "the target listens" nvme_target
[ -z "${MODERATION:-}" ] ||
	check "b's CQs are moderated" on b "rdma dev set vhca0 adaptive-moderation $MODERATION"
check "connected" nvme_connect
check "b has the disk" has_disk
check "with a queue for reads and one for writes" guest_sh b '[ "$(ls -d /sys/block/nvme*n1/mq/* | wc -l)" = 2 ]'

for fs in ext4 xfs; do
	step "$fs"
	on_file_system $fs
done

step "the end"
check "disconnected" nvme_disconnect
check "the target ends" nvme_target_end
kernel_guests_end
