# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Storage between the kernels of two guests, a and b: NVMe, NFS, iSCSI over RDMA. Sourced after
# kernel.sh.

# Of which place the disk is, and where it is /dev/nvme0n1.
TARGET=a HOST=b

# nvme_target: a disk in memory, which does not outlive the guest. Its queue pairs have receive
# queues, or share one of NVMET_SRQ requests.
nvme_target() {
	on "$TARGET" "set -e
		modprobe -a configfs brd nvmet
		modprobe nvmet-rdma ${NVMET_SRQ:+use_srq=1 srq_size=$NVMET_SRQ}
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
# nvme_connect [PORT [NQN]]: with one queue, or one for reads and WRITE_QUEUES for writes: not
# more of a kind than completion vectors. Without the target for LOSS seconds
# it goes.
nvme_connect() {
	on "$HOST" "timeout 60 sh -c 'echo transport=rdma,traddr=${KERNEL_ADDR[$TARGET]},trsvcid=${1:-4420},nqn=${2:-disk},nr_io_queues=1${WRITE_QUEUES:+,nr_write_queues=$WRITE_QUEUES},queue_size=32,reconnect_delay=1,ctrl_loss_tmo=${LOSS:-5} >/dev/nvme-fabrics'"
}
nvme_disconnect() { on "$HOST" 'for c in /sys/class/nvme/nvme*; do echo 1 >$c/delete_controller; done'; }
has_disk() { wait_until 15 at "$HOST" 'test -b /dev/nvme0n1 && [ "$(cat /sys/block/nvme0n1/size)" != 0 ]'; }
no_controller() { wait_until 60 at "$HOST" '! ls -d /sys/class/nvme/nvme*'; }
# Linux 6.1 counts those of a path (nvme0c0n1) only.
ios() { guest_sh b "awk '{ n += \$1 + \$5 } END { print n }' /sys/block/nvme*n1/stat"; }
more_ios() { [ "$(ios)" -gt "$1" ]; }

# rounds_begin FILE: in b, without a shell of ours: rounds of 2 MiB, written and read back past
# the caches, until one is wrong or it is to stop.
rounds_begin() {
	guest_sh -i b 'rm -f /tmp/stop /tmp/end; echo 0 >/tmp/rounds; cat >/tmp/io.sh
		setsid bash /tmp/io.sh </dev/null >/tmp/io.log 2>&1 &' <<-EOT
	n=0
	while [ ! -e /tmp/stop ]; do
		head -c 2097152 /dev/urandom >/tmp/written
		dd if=/tmp/written of=$1 bs=64k oflag=direct conv=nocreat 2>/dev/null &&
			dd if=$1 of=/tmp/read bs=64k count=32 iflag=direct 2>/dev/null &&
			cmp /tmp/written /tmp/read || { echo wrong >/tmp/end; exit 1; }
		echo \$((++n)) >/tmp/rounds.new
		mv /tmp/rounds.new /tmp/rounds
	done
	echo good >/tmp/end
	EOT
}
rounds() { guest_sh b 'cat /tmp/rounds'; }
# rounds_go [N]: by N rounds more than now, since one may have been read before.
rounds_go() {
	local n
	n=$(rounds) && wait_until 120 more_rounds $((n + ${1:-2})) && return
	guest_sh b 'cat /tmp/rounds /tmp/end /tmp/io.log' || true
	tell a
	tell b
	return 1
}
more_rounds() { [ "$(rounds)" -ge "$1" ] 2>/dev/null; }
rounds_end() {
	guest_sh b 'touch /tmp/stop
		for ((i = 0; i < 300; i++)); do [ -e /tmp/end ] && break; sleep 0.2; done
		[ "$(cat /tmp/end)" = good ]'
}
# device_of GUEST: changes with each RDMA device, whose number ib_core does not give twice.
device_of() {
	guest_sh "$1" 'readlink -f /sys/class/infiniband/vhca0; stat -c %i /sys/class/infiniband/vhca0/'
}

NFS_PORT=20049
# Of exports(5): insecure, async, no_subtree_check, fsid.
NFS_EXPORT=$((0x0002 | 0x0010 | 0x0400 | 0x2000))

# nfs_server: of a, without daemons: what mountd would answer its kernel is told it before.
nfs_server() {
	on a "set -e
		mkdir -p /srv
		mount -t tmpfs -o size=100m none /srv
		mount -t nfsd none /proc/fs/nfsd
		echo 'nfsd ${KERNEL_ADDR[b]} 2147483647 b' >/proc/net/rpc/auth.unix.ip/channel
		echo 'b /srv 2147483647 $NFS_EXPORT 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
		echo 'b 1 \\x00000000 2147483647 /srv' >/proc/net/rpc/nfsd.fh/channel
		cd /proc/fs/nfsd
		echo '-2 -3 +4 +4.1 +4.2' >versions
		echo 10 >nfsv4leasetime
		echo 10 >nfsv4gracetime
		echo 'rdma $NFS_PORT' >portlist
		echo 4 >threads"
}
nfs_server_end() {
	on a 'echo 0 >/proc/fs/nfsd/threads && umount /proc/fs/nfsd && umount /srv'
}
nfs_mount() {
	on b "mkdir -p /mnt/nfs
		timeout 80 mount -i -t nfs4 -o vers=4.2,proto=rdma,port=$NFS_PORT,addr=${KERNEL_ADDR[a]},clientaddr=${KERNEL_ADDR[b]} \
			${KERNEL_ADDR[a]}:/ /mnt/nfs"
}

# In $IO writes b, which counts its rounds in /tmp/rounds and ends at /tmp/stop: without the
# device it waits, with the next one it goes on.
written() { guest_sh b 'cat /tmp/rounds'; }
more_written() { [ "$(written)" -gt "$1" ]; }
io_waits_for_a_device() {
	local n
	check "I/O goes" wait_until 60 more_written 1
	check "detach" vhcactl detach b 0
	n=$(written)
	sleep 3 # measured
	check "the I/O waits" [ "$(($(written) - n))" -le 1 ]
	kernel_attach b
	check "it goes on" wait_until 90 more_written $((n + 2))
	io_stops
}
io_stops() {
	guest_sh b 'touch /tmp/stop'
	check "nothing was lost" wait "$IO"
}
