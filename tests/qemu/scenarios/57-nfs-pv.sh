#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# NFS over RDMA between the kernels of two PV guests, by Debian's modules: the server's
# files are memory of its guest. What was written is read back. A mount outlives the
# client's device: it goes on when there is a new one.
# limit: 900
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh

PORT=20049
POOL_MB=64
# Of exports(5): insecure, async, no_subtree_check, fsid.
EXPORT=$((0x0002 | 0x0010 | 0x0400 | 0x2000))

# nfs_server: of a, without daemons: what mountd would answer its kernel is told it before.
nfs_server() {
	on a "set -e
		mkdir -p /srv
		mount -t tmpfs -o size=100m none /srv
		mount -t nfsd none /proc/fs/nfsd
		echo 'nfsd ${KERNEL_ADDR[b]} 2147483647 b' >/proc/net/rpc/auth.unix.ip/channel
		echo 'b /srv 2147483647 $EXPORT 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
		echo 'b 1 \\x00000000 2147483647 /srv' >/proc/net/rpc/nfsd.fh/channel
		cd /proc/fs/nfsd
		echo '-2 -3 +4 +4.1 +4.2' >versions
		echo 10 >nfsv4leasetime
		echo 10 >nfsv4gracetime
		echo 'rdma $PORT' >portlist
		echo 4 >threads"
}
nfs_server_end() {
	on a 'echo 0 >/proc/fs/nfsd/threads && umount /proc/fs/nfsd && umount /srv'
}
nfs_mount() {
	on b "mkdir -p /mnt/nfs
		timeout 80 mount -i -t nfs4 -o vers=4.2,proto=rdma,port=$PORT,addr=${KERNEL_ADDR[a]},clientaddr=${KERNEL_ADDR[b]} \
			${KERNEL_ADDR[a]}:/ /mnt/nfs"
}
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
# many N: files with content of their own, seen by both.
many() {
	on b "set -e
		mkdir /mnt/nfs/many
		for ((i = 0; i < $1; i++)); do head -c \$((i * 97)) /dev/urandom >/mnt/nfs/many/\$i; done
		sync" &&
	[ "$(on a 'cd /srv/many; md5sum * | sort')" = \
		"$(on b 'echo 3 >/proc/sys/vm/drop_caches; cd /mnt/nfs/many; md5sum * | sort')" ]
}
written() { guest_sh b 'cat /tmp/rounds'; }
more_written() { [ "$(written)" -gt "$1" ]; }

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
io=$!
check "I/O goes" wait_until 60 more_written 1
check "detach" vhcactl detach b 0
n=$(written)
sleep 3 # measured
check "the I/O waits" [ "$(($(written) - n))" -le 1 ]
kernel_attach b
check "it goes on" wait_until 90 more_written $((n + 2))
guest_sh b 'touch /tmp/stop'
check "nothing was lost" wait "$io"

step "the end"
check "unmounted" on b 'umount /mnt/nfs'
check "the server ends" nfs_server_end
kernel_guests_end
