#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# In either machine of two-machines.sh: "a" has the subnet manager and the
# clients, "b" runs the servers that "a" asks for.
# limit: 240
# machine: native
# hca: yes
. ./lib.sh
. ./hca.sh
role=$(sed -n 's/.*hca.role=\([ab]\).*/\1/p' /proc/cmdline)
peer=10.8.0.2 me=10.8.0.1
[ "$role" = a ] || { peer=10.8.0.1 me=10.8.0.2; }

step "$role: driver, port"
modprobe -a mlx5_core mlx5_ib ib_uverbs ib_umad ib_ipoib
wait_until 30 test -e /sys/class/infiniband/mlx5_0 || fail "no mlx5_0"
if [ "$role" = a ]; then
	check "the cable is there" wait_until 120 port_is mlx5_0 INIT
	mkdir -p /var/cache/opensm
	opensm -B -f "$SCENARIO_DIR/opensm.log" >/dev/null
fi
check "$role: the port is active" wait_until 120 port_is mlx5_0 ACTIVE
ip addr add "$me/24" dev ib0
ip link set ib0 up
guest-shell -s 7000 &
check "$role: IPoIB" wait_until 60 ping -c 1 -W 1 "$peer"

if [ "$role" = b ]; then
	step "b: serving"
	check "b: the other side is done" wait_until 150 test -e /run/end
	check "b: the kernel did not complain" quiet_kernel
	exit 0
fi

check "b takes commands" wait_until 60 guest-shell -t 5 "$peer" 7000 true

# serves PORT: b has a server there.
serves() { guest-shell -t 5 "$peer" 7000 "ss -ltnH | grep -q :$1"; }
# between PROGRAM [OPTION]...: the server runs on b, at the port of all these programs.
between() {
	local server rc=0
	guest-shell -t 90 "$peer" 7000 "$* >/tmp/server 2>&1" &
	server=$!
	wait_until 30 serves 18515 || return
	timeout 90 "$@" "$peer" >/tmp/client.log 2>&1 || rc=$?
	wait "$server" || rc=$?
	[ "$rc" = 0 ] || tail -n 8 /tmp/client.log
	return "$rc"
}
for p in rc uc ud srq; do
	check "ibv_${p}_pingpong" between "ibv_${p}_pingpong" -n 200
done
check "ib_write_bw" between ib_write_bw -F -n 500
tail -n 3 /tmp/client.log
check "ib_send_lat" between ib_send_lat -F -n 200
tail -n 3 /tmp/client.log
step "every opcode"
guest-shell -t 150 "$peer" 7000 'vhca-xfer -s -g 0 >/tmp/xfer 2>&1' &
server=$!
check "its server listens" wait_until 30 serves 18517
check "vhca-xfer" timeout 150 vhca-xfer -g 0 "$peer"
check "the server agrees" wait $server
guest-shell -t 10 "$peer" 7000 'touch /run/end'
check "the kernel did not complain" quiet_kernel
