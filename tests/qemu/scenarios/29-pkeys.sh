#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PV guests on an InfiniBand fabric with partitions: each has the P_Keys that it
# was given, at indices of its own, and reaches who shares one with it. The addresses
# of a guest are on the IPoIB interface of its partition.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh

port_has() { # port_has HCA PKEY
	grep -qx "$2" "/sys/class/infiniband/$1/ports/1/pkeys"/*
}
# pkeys GUEST LINE...: vhca-indices says so of the whole table and what is behind.
pkeys() {
	[ "$(guest_sh "$1" vhca-indices | tee "$SCENARIO_DIR/$1.txt" |
		grep '^pkey ')" = "$(printf '%s\n' "${@:2}")" ]
}
rc() {
	local server rc=0
	guest_sh -t 90 a 'timeout 60 ibv_rc_pingpong -g 0 -n 50' >/tmp/pp.a 2>&1 &
	server=$!
	listens a
	guest_sh -t 90 b "timeout 60 ibv_rc_pingpong -g 0 -n 50 $(guest_ip a)" \
		>/tmp/pp.b 2>&1 || {
		rc=$?
		# Nothing reached the server: it would wait to its time-out.
		guest_sh a 'pkill -x ibv_rc_pingpong'
	}
	wait "$server" || rc=$?
	return "$rc"
}
ib0_has() { ip -o addr show to "$1" | grep -q "$2"; }

step "a fabric with partitions"
fabric_start 'one=0x0001,ipoib:ALL=full;' 'two=0x0002:ALL=full;'
for d in $HCAS; do
	check "$d is in both partitions" wait_until 30 port_has "$d" 0x8002
done
modprobe ib_ipoib
wait_until 10 test -e /sys/class/net/ib0 || fail "there is no ib0"
ip link set ib0 up
agent_start
backend_start
guest_create a pv &
guest_create b pv
wait $!
vhca_attach a hca=mlx5_0,pkeys=0x8001,ip=10.8.0.71/24
vhca_attach b 'hca=mlx5_1,pkeys=0x8002 0x8001 0x8003'

step "tables"
check "a has its one" pkeys a 'pkey 0 0x8001 qp ok' 'pkey 1 EINVAL qp EINVAL'
check "b has its own, and none that the port has not" pkeys b \
	'pkey 0 0x8002 qp ok' 'pkey 1 0x8001 qp ok' \
	'pkey 2 0x0000 qp EINVAL' 'pkey 3 EINVAL qp EINVAL'
check "the GID is the port's" guest_sh a \
	'vhca-indices | grep "^gid 0 fe80::.* IB qp ok"'
check "the link is InfiniBand, with a LID" guest_sh a \
	'ibv_devinfo | grep "link_layer:.*InfiniBand" &&
	rdma link | grep "vhca0/1 .* lid [1-9]"'

step "who reaches whom"
check "0x8001 does not reach 0x8002" not rc
check "because packets are dropped" grep -i 'transport retry\|Failed status' \
	/tmp/pp.a /tmp/pp.b
check "detach" vhcactl detach b 0
vhca_attach b hca=mlx5_1,pkeys=0x8001
check "0x8001 reaches 0x8001" rc

step "the address of a guest"
check "is on the child interface of its partition" ib0_has 10.8.0.71 ib0.8001
check "which has its P_Key" grep 12:40:1b:80:01: \
	/sys/class/net/ib0.8001/broadcast

step "the subnet manager takes a partition away"
fabric_partitions 'two=0x0002:ALL=full;'
check "the ports lose it" wait_until 40 not port_has mlx5_0 0x8001
check "the guest has none" wait_until 20 pkeys a \
	'pkey 0 0x0000 qp EINVAL' 'pkey 1 EINVAL qp EINVAL'
fabric_partitions 'one=0x0001,ipoib:ALL=full;' 'two=0x0002:ALL=full;'
check "until it is back" wait_until 40 pkeys a \
	'pkey 0 0x8001 qp ok' 'pkey 1 EINVAL qp EINVAL'

step "the end"
vhcactl detach a 0
vhcactl detach b 0
check "the address is gone, and the interface" \
	wait_until 10 not test -e /sys/class/net/ib0.8001
check "ib0 is not" test -e /sys/class/net/ib0
pkill -x opensm
kernel_clean a b
