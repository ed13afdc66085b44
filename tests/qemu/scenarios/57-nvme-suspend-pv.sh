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

# outlives GUEST WHAT COMMAND...: its device, and the I/O.
outlives() {
	local guest=$1 what=$2 device
	shift 2
	device=$(device_of "$guest")
	check "I/O goes" rounds_go
	"$@" "$guest"
	check "$what: I/O goes on" rounds_go 3
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
rounds_begin /dev/nvme0n1
both
check "nothing was lost" rounds_end
check "it is still the first controller" guest_sh b '[ "$(ls /sys/class/nvme)" = nvme0 ]'
check "the target's memory has it" [ "$(at b 'md5sum </tmp/written')" = \
	"$(at a 'echo 3 >/proc/sys/vm/drop_caches; head -c 2097152 /dev/ram0 | md5sum')" ]
check "disconnected" nvme_disconnect
check "the target ends" nvme_target_end

step "a file system of a under I/O of b"
check "the server listens" nfs_server
check "mounted" nfs_mount
guest_sh b ": >/mnt/nfs/data"
rounds_begin /mnt/nfs/data
both
check "nothing was lost" rounds_end
check "the server has it" [ "$(at b 'md5sum </tmp/written')" = "$(at a 'md5sum </srv/data')" ]
check "unmounted" on b 'umount /mnt/nfs'
check "the server ends" nfs_server_end

step "the end"
kernel_guests_end
