#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The RDMA device of a guest's kernel outlives its backend. Two PV guests, one with a disk
# and a file system of the other, by NVMe and NFS over RDMA, under I/O that is verified. The
# worker of either is killed, either is checkpointed, saved and restored. Each time the host
# reconnects by itself, over the same device and with the same controller, the target listens
# again, and what is read is what was written.
# limit: 2400
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./suspend.sh
. ./kernel.sh
. ./storage.sh

POOL_MB=32 GUEST_MB=320 LOSS=600

# io_begins FILE: in b, without a shell of ours: rounds of 2 MiB, written and read back past
# the caches, until one is wrong or it is to stop.
io_begins() {
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
# io_goes [N]: by N rounds more than now, since one may have been read before.
io_goes() {
	local n
	n=$(rounds) && wait_until 120 more_rounds $((n + ${1:-2})) && return
	guest_sh b 'cat /tmp/rounds /tmp/end /tmp/io.log' || true
	tell a
	tell b
	return 1
}
more_rounds() { [ "$(rounds)" -ge "$1" ] 2>/dev/null; }
io_ends() {
	guest_sh b 'touch /tmp/stop
		for ((i = 0; i < 300; i++)); do [ -e /tmp/end ] && break; sleep 0.2; done
		[ "$(cat /tmp/end)" = good ]'
}
# device_of GUEST: changes with each RDMA device, whose number ib_core does not give twice.
device_of() {
	guest_sh "$1" 'readlink -f /sys/class/infiniband/vhca0; stat -c %i /sys/class/infiniband/vhca0/'
}
# outlives GUEST WHAT COMMAND...: its device, and the I/O.
outlives() {
	local guest=$1 what=$2 device
	shift 2
	device=$(device_of "$guest")
	check "I/O goes" io_goes
	"$@" "$guest"
	check "$what: I/O goes on" io_goes 3
	check "$guest has the same device" [ "$(device_of "$guest")" = "$device" ]
}
worker_dies() { kill -9 "$(worker_pid "$1" 0)"; }
is_checkpointed() {
	xl save -c "$1" /dev/null >"/tmp/xl.$1" 2>&1 || fail "xl save -c $1: $(tail -n 5 "/tmp/xl.$1")"
}
# The restored domain has its vhca at its first instruction.
is_restored() {
	save "$1"
	restore "$1" -p
	vhcactl attach -w 0 "$1" "$(kernel_keys "$1")" || fail "vhcactl attach $1"
	xl unpause "$1"
	wait_until 60 guest_sh -t 10 "$1" true || fail "$1 does not answer"
}
# both: what either guest outlives.
both() {
	local guest
	for guest in b a; do
		outlives "$guest" "the worker of $guest died" worker_dies
		outlives "$guest" "$guest was checkpointed" is_checkpointed
		outlives "$guest" "$guest was restored" is_restored
	done
}

step "two guests on a fabric"
kernel_guests nvme-rdma rpcrdma

step "a disk of a under I/O of b"
check "the target listens" nvme_target
check "connected" nvme_connect
check "b has the disk" has_disk
io_begins /dev/nvme0n1
both
check "nothing was lost" io_ends
check "it is still the first controller" guest_sh b '[ "$(ls /sys/class/nvme)" = nvme0 ]'
check "the target's memory has it" [ "$(at b 'md5sum </tmp/written')" = \
	"$(at a 'echo 3 >/proc/sys/vm/drop_caches; head -c 2097152 /dev/ram0 | md5sum')" ]
check "disconnected" nvme_disconnect
check "the target ends" nvme_target_end

step "a file system of a under I/O of b"
check "the server listens" nfs_server
check "mounted" nfs_mount
guest_sh b ": >/mnt/nfs/data"
io_begins /mnt/nfs/data
both
check "nothing was lost" io_ends
check "the server has it" [ "$(at b 'md5sum </tmp/written')" = "$(at a 'md5sum </srv/data')" ]
check "unmounted" on b 'umount /mnt/nfs'
check "the server ends" nfs_server_end

step "the end"
kernel_guests_end
