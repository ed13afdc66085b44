#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The patched xl makes a device for the guest's kernel (keys kernel, kernel-pool-mb): by the
# configuration and by xl vhca-attach. It keeps it over save and restore, where the guest has
# the same RDMA device afterwards, as its vhca is there before it runs. What is wrong is
# refused without a trace.
# limit: 400
# tier: soak
# xl: patched
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./create.sh

PATH=/usr/lib/xen-vhca/bin:$PATH
SPEC='hca=mlx5_0,kernel=1,max-pinned-mb=64'

in_json() { xl list -l a | jq -c '[.[0].config.vhcas[]? | [.devid, .kernel, .kernel_pool_mb]]'; }
# is_kernels MB: a device of the guest's kernel, no file of which a process can open.
is_kernels() {
	wait_guest 20 a 'test -e /sys/class/infiniband/vhca0' && guest_sh a "
		mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
		! ls /dev/infiniband/uverbs* &&
			grep -qx 'pool_pages $(($1 * 256))' /sys/kernel/debug/xen-vhca/vhca0/stats"
}
# ib_core does not give this number twice.
device_of_a() { guest_sh a 'stat -c %i /sys/class/infiniband/vhca0/'; }

step "a device by plain xl create"
fabric_start
agent_start
backend_start
dom0_ledger >/tmp/ledger.dom0
guest_create a pv "vhca = [ \"$SPEC,kernel-pool-mb=4\" ]"
dom=$(guest_domid a)
check "it is connected" wait_until 20 connected a 0
check "kernel is the backend's" [ "$(backend_node 0/kernel)" = 1 ]
check "kernel-pool-mb is the backend's" [ "$(backend_node 0/kernel-pool-mb)" = 4 ]
check "it is for the guest's kernel" is_kernels 4
check "xl list -l has both keys" [ "$(in_json)" = '[[0,1,4]]' ]

step "detach and attach"
check "xl vhca-detach" xl vhca-detach a 0
check "the guest has none" wait_guest 20 a '! ls -d /sys/class/infiniband/vhca*'
# shellcheck disable=SC2086
check "xl vhca-attach" xl vhca-attach a ${SPEC//,/ } kernel-pool-mb=8
id=$(xl vhca-list a | awk '$5 == "mlx5_0" { print $1 }')
check "it is connected" wait_until 20 connected a "$id"
check "it is for the guest's kernel" is_kernels 8

step "save and restore"
device=$(device_of_a)
check "xl save" xl save a /run/a.save
check "the domain is gone" not xl domid a
check "xl restore" xl restore /run/a.save
rm /run/a.save
dom=$(guest_domid a)
check "xl list -l has both keys" [ "$(in_json)" = "[[$id,1,8]]" ]
check "it is connected" wait_until 20 connected a "$id"
check "it is for the guest's kernel" is_kernels 8
check "it is the same device" [ "$(device_of_a)" = "$device" ]

step "destroy"
check "xl destroy" guest_destroy a
check "no node is left" no_node

step "what is wrong is refused"
create_refused xl hca=mlx5_0,kernel=2 kernel=2 0..1
create_refused xl hca=mlx5_0,kernel=1,kernel-pool-mb=0 kernel-pool-mb=0 1..1024
ledger_close
kernel_clean
