#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A file system on a disk of another guest, by NVMe over RDMA between the kernels of two PV
# guests (kernel=1), goes on when the utility domain that has the HCA is destroyed and a new
# one is there: the guests keep their RDMA devices, the host its controller, and what is read
# is what was written.
# tier: soak
# limit: 900
# processors: 2
# hca: yes
# storage: yes
# xen: iommu=no-intremap
# qemu: -machine kernel-irqchip=split -device intel-iommu,intremap=off,aw-bits=48 -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./utility.sh
. ./rdmacm.sh
. ./kernel.sh
. ./storage.sh

POOL_MB=32 PINNED_MB=128 GUEST_MB=384 LOSS=600

hcadom_driver() {
	hcadom_modules mlx5_ib ib_ipoib rdma_ucm
	hcadom_sh 'modprobe ib_uverbs'
}
# hcadom_up: an address and the daemon.
hcadom_up() {
	hcadom_sh "wait_until 30 grep -q ACTIVE /sys/class/infiniband/mlx5_0/ports/1/state ||
			fail \"hcadom cannot use the HCA: \$(dmesg | tail -n 5)\"
		wait_until 10 test -e /sys/class/net/ib0 || fail 'there is no ib0'
		ip addr replace ${KERNEL_ADDR[dom0]}/24 dev ib0
		ip link set ib0 up"
	hcadom_daemon
}

step "an HCA for hcadom; opensm has the other one"
hca_drivers
bdf=$(basename "$(readlink -f /sys/class/infiniband/mlx5_0/device)")
KERNEL_MORE=backend=hcadom,pci=$bdf
modprobe xen-pciback
check "pci-assignable-add" xl pci-assignable-add "$bdf"
guest_config hcadom pv mem=512 "pci = [ \"$bdf\" ]" >/dev/null
guest_start hcadom
hcadom_driver	# the link needs both ends
HCAS=mlx5_1
fabric_start
hcadom_up

step "two guests with devices for their kernels"
agent_start
kernel_boot nvme-rdma
ends_open a b
kernel_attach a
kernel_attach b

step "a file system on a disk of the other guest"
check "the target listens" nvme_target
check "connected" nvme_connect
check "b has the disk" has_disk
check "ext4 is made" on b 'mke2fs -q -F -t ext4 /dev/nvme0n1'
check "and mounted" on b 'modprobe ext4 && mkdir -p /mnt/fs && mount -t ext4 /dev/nvme0n1 /mnt/fs'
guest_sh b ': >/mnt/fs/data'
rounds_begin /mnt/fs/data
check "I/O goes" rounds_go

step "a new hcadom, $(long 1 3) times"
for ((i = 0; i < $(long 1 3); i++)); do
	device_a=$(device_of a)
	device_b=$(device_of b)
	xl destroy hcadom
	guest_start hcadom
	hcadom_driver
	hcadom_up
	check "the devices come back" vhcactl reattach
	check "I/O goes on" rounds_go 3
	check "a has the same device" [ "$(device_of a)" = "$device_a" ]
	check "b has the same device" [ "$(device_of b)" = "$device_b" ]
done

step "nothing was lost"
check "each round was read as it was written" rounds_end
check "it is still the first controller" guest_sh b '[ "$(ls /sys/class/nvme)" = nvme0 ]'
check "unmounted" on b 'umount /mnt/fs'
check "ext4 is whole" on b 'e2fsck -f -n /dev/nvme0n1'
check "disconnected" nvme_disconnect
check "the target ends" nvme_target_end

step "the end"
for g in a b; do
	check "$g: its kernel has no object" wait_until 15 kernel_has_none "$g"
	check "detach $g" vhcactl detach "$g" all
done
ends_close a b
kernel_clean a b hcadom
