#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# NFS over RDMA between the kernels of two PV guests, by Debian's modules: the server's
# files are memory of its guest. What was written is read back. A mount outlives the
# client's device: it goes on when there is a new one.
# limit: 1800
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh
. ./storage.sh

POOL_MB=64
# same BLOCK [FLAG]: 16 MiB, written and read back by the client, and as the server has it.
same() {
	local sum
	sum=$(on b "set -e
		[ -e /tmp/written ] || head -c 16777216 /dev/urandom >/tmp/written
		dd if=/tmp/written of=/mnt/nfs/data bs=$1 conv=fsync ${2:+oflag=$2} 2>/dev/null
		echo 3 >/proc/sys/vm/drop_caches
		dd if=/mnt/nfs/data of=/tmp/read bs=$1 ${2:+iflag=$2} 2>/dev/null
		cmp /tmp/written /tmp/read
		md5sum </tmp/written") &&
		[ "$(on a 'md5sum </srv/data')" = "$sum" ]
}
# copies N: of 16 MiB, each another, written and read back past the caches.
copies() {
	local i
	for ((i = 0; i < $1; i += 8)); do
		on b "set -e
			for ((n = $i; n < $i + 8; n++)); do
				echo \$n | dd of=/tmp/written conv=notrunc 2>/dev/null
				dd if=/tmp/written of=/mnt/nfs/data bs=1M oflag=direct 2>/dev/null
				dd if=/mnt/nfs/data bs=1M iflag=direct 2>/dev/null |
					cmp - /tmp/written
			done" || return 1
	done
}
# many N: files with content of their own, seen by both.
many() {
	on b "set -e
		mkdir /mnt/nfs/many
		for ((i = 0; i < $1; i++)); do head -c \$((i * 97)) /dev/urandom >/mnt/nfs/many/\$i; done
		sync" &&
	[ "$(on a 'cd /srv/many; md5sum * | sort')" = \
		"$(on b 'echo 3 >/proc/sys/vm/drop_caches; cd /mnt/nfs/many; md5sum * | sort')" ]
}

step "two guests on a fabric"
kernel_guests rpcrdma

step "a server and its client"
check "the server listens" nfs_server
check "mounted" nfs_mount
check "by RDMA" on b "grep ' /mnt/nfs nfs4 .*proto=rdma' /proc/mounts"
step "what was written is read"
for block in 4k 20k 128k 1M; do
	check "by $block" same "$block"
done
check "by 1M, past the cache" same 1M direct
check "$(long 128 2048) MiB, 16 by 16" copies "$(long 8 128)"
check "200 files" many 200
check "they go" on b 'rm -r /mnt/nfs/many && [ ! -e /mnt/nfs/many ]'
check "unmounted" on b 'umount /mnt/nfs'
check "mounted again" nfs_mount

step "b is detached under I/O"
guest_sh -t 300 b 'n=0; echo 0 >/tmp/rounds
	while [ ! -e /tmp/stop ]; do
		dd if=/tmp/written of=/mnt/nfs/data bs=64k conv=fsync 2>/dev/null &&
			echo 3 >/proc/sys/vm/drop_caches &&
			cmp /tmp/written /mnt/nfs/data || exit 1
		echo $((++n)) >/tmp/rounds
	done' >/tmp/io 2>&1 &
IO=$!
io_waits_for_a_device

step "the end"
check "unmounted" on b 'umount /mnt/nfs'
check "the server ends" nfs_server_end
kernel_guests_end
