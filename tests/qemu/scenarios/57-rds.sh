#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# RDS does not take the device of a guest's kernel, whose connections have no path records,
# and refuses a peer's request, though it listens there: the guest's kernel lives.
# limit: 600
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh

PORT=18634	# of RDS, with IPv4
listens_at() { rdma resource show cm_id | grep "vhcad-.*src-addr ${KERNEL_ADDR[$1]}:$PORT "; }
# request GUEST: which RDS sees before it looks at its data. rping ends with -1.
request() {
	local rc=0
	timeout "$(seconds 30)" rping -c -a "${KERNEL_ADDR[$1]}" -p $PORT -C 1 \
		>"$SCENARIO_DIR/rping" 2>&1 || rc=$?
	[ "$rc" != 255 ] || rc=1
	return "$rc"
}

step "two guests on a fabric"
kernel_guests rds_rdma

step "a request for RDS"
for g in a b; do
	check "$g: RDS has no device" guest_sh "$g" "! dmesg | grep 'RDS/IB: .*added'"
	check "$g: it listens" wait_until 10 listens_at "$g"
	check_not "$g: a request is refused" request "$g"
	check "$g: at once" grep -i reject "$SCENARIO_DIR/rping"
	check "$g: its kernel lives" guest_sh "$g" 'cat /sys/class/infiniband/vhca0/node_type'
done

step "the end"
for g in a b; do
	check "$g: unload" guest_sh "$g" 'modprobe -r rds_rdma'
done
kernel_guests_end
