#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A subnet manager brings the ports up; MADs, IPoIB.
# tier: soak
# limit: 200
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./hca.sh

HCA_STATE=INIT hca_setup
step "opensm"
mkdir -p /var/cache/opensm
guid=$(ibstat -p mlx5_0 | head -n 1)
opensm -B -g "$guid" -f "$SCENARIO_DIR/opensm.log" >/dev/null
for d in $HCAS; do
	check "$d becomes active" wait_until 30 port_is "$d" ACTIVE
done
lid=$(cat /sys/class/infiniband/mlx5_1/ports/1/lid)
check "the LIDs are different" \
	[ "$lid" != "$(cat /sys/class/infiniband/mlx5_0/ports/1/lid)" ]
check "ibstat" ibstat
check "sminfo" sminfo
check "ibnetdiscover finds both" \
	[ "$(ibnetdiscover -l | grep -c '^Ca')" = 2 ]
check "perfquery" perfquery "$((lid))" 1
step "ibping"
ibping -S -C mlx5_1 &
server=$!
wait_until 10 has_open "$server" /dev/infiniband/umad*
check "ibping" timeout "$(seconds 20)" ibping -C mlx5_0 -c 3 -L "$((lid))"
kill "$server"
step "IPoIB"
modprobe ib_ipoib
wait_until 10 test -e /sys/class/net/ib1
ip netns add peer
ip link set ib1 netns peer
ip addr add 10.8.0.1/24 dev ib0
ip link set ib0 up
ip netns exec peer ip addr add 10.8.0.2/24 dev ib1
ip netns exec peer ip link set ib1 up
check "ping over IPoIB" wait_until 30 ping -c 1 -W 1 10.8.0.2
check "large packets" ping -c 3 -s 1900 10.8.0.2
check "RC ping-pong" both ibv_rc_pingpong -n 100
ip netns del peer
pkill opensm
check "the kernel did not complain" quiet_kernel
