#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two model HCAs with Ethernet ports, natively: Debian's mlx5_core gives them network
# interfaces with a carrier, mlx5_ib RoCE of both versions; also over a wire that loses,
# delays and repeats frames. The second interface is in a network namespace, so that
# the kernel does not route to itself.
# tier: soak
# limit: 400
# machine: native
# processors: 2
# hca: yes
# programs: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./hca.sh
. ./rdmacm.sh

IPV4=0000:0000:0000:0000:0000:ffff	# what GIDs of IPv4 begin with

# netdev DEVICE: its network interface.
netdev() { ls "/sys/class/infiniband/$1/device/net"; }
# in_peer COMMAND...: where the second interface is.
in_peer() { ip netns exec peer "$@"; }
# gid_of DEVICE TYPE PREFIX: the index of its first GID that is so.
gid_of() {
	local port=/sys/class/infiniband/$1/ports/1 i
	for ((i = 0; i < 16; i++)); do
		grep -qx "$2" "$port/gid_attrs/types/$i" 2>/dev/null &&
			grep -q "^$3" "$port/gids/$i" || continue
		echo "$i"
		return
	done
	return 1
}
# pair TYPE PREFIX PROGRAM [OPTION]...: by GIDs of that type.
pair() {
	local option=-g
	[[ $3 != ib_* ]] || option=-x	# perftest
	two_sides "$option $(gid_of mlx5_1 "$1" "$2")" "$option $(gid_of mlx5_0 "$1" "$2")" \
		"${@:3}"
}
# tcp ADDRESS WHERE...: 4 MiB to a listener there, compared.
tcp() {
	local server
	"${@:2}" socat -u TCP-LISTEN:5000,reuseaddr OPEN:/tmp/got,creat,trunc &
	server=$!
	wait_until 10 "${@:2}" sh -c 'ss -ltnH | grep -q :5000' || return 1
	"${FROM[@]}" timeout "$(seconds 60)" socat -u OPEN:/tmp/sent "TCP:$1:5000" &&
		wait "$server" && cmp /tmp/sent /tmp/got
}
# throughput [OPTION]...: of iperf3 from the first interface to the second.
throughput() {
	local server rc=0
	in_peer timeout "$(seconds 60)" iperf3 -s -1 >/tmp/server.log 2>&1 &
	server=$!
	wait_until 10 in_peer sh -c 'ss -ltnH | grep -q :5201' || true
	timeout "$(seconds 60)" iperf3 -c 10.8.0.2 -t 2 "$@" >/tmp/client.log 2>&1 || rc=$?
	wait "$server" || rc=$?
	note "$(grep receiver /tmp/client.log || ends /tmp/client.log)"
	return "$rc"
}
# counter INTERFACE NAME [WHERE...]: of ethtool -S.
counter() { "${@:3}" ethtool -S "$1" | awk -v name="$2:" '$1 == name { print $2 }'; }
# strangers: how many of ten packets to a MAC of nobody the first interface receives.
strangers() {
	local before
	before=$(counter "$a" rx_packets)
	in_peer ping -q -c 10 -i 0.1 -W 1 10.8.0.9 >/dev/null || true
	echo $(($(counter "$a" rx_packets) - before))
}
both_links() { ip link set "$a" "$@" && in_peer ip link set "$b" "$@"; }
carrier() { [ "$(cat "/sys/class/net/$1/carrier" 2>/dev/null)" = 1 ]; }

# links_up: interfaces with addresses, the second in its namespace.
links_up() {
	hca_drivers
	modprobe rdma_ucm
	a=$(netdev mlx5_0)
	b=$(netdev mlx5_1)
	ip netns add peer
	in_peer ip link set lo up
	ip link set "$b" netns peer
	ip link set "$a" up
	in_peer ip link set "$b" up
	ip addr add 10.8.0.1/24 dev "$a"
	in_peer ip addr add 10.8.0.2/24 dev "$b"
	check "$a has a carrier" wait_until 20 carrier "$a"
	for d in $HCAS; do
		check "$d is active" wait_until 20 port_is "$d" ACTIVE
	done
}

step "drivers"
(cd / && cpio --quiet -id </guest/programs.cpio)
links_up
ibv_devinfo -v -d mlx5_0 >"$SCENARIO_DIR/mlx5_0.txt"
rdma link show >"$SCENARIO_DIR/rdma-link.txt"
check "an Ethernet port" grep -q 'link_layer:.*Ethernet' "$SCENARIO_DIR/mlx5_0.txt"
check "rdma link names the interface" \
	grep -q "mlx5_0/1 state ACTIVE.*netdev $(netdev mlx5_0)" "$SCENARIO_DIR/rdma-link.txt"
check "every command is one that the model knows" \
	[ "$(hca_get hca0 commands-unknown)" = 0 ]
check "no command failed" [ "$(hca_get hca0 commands-failed)" = 0 ]

step "RoCE v1 by link-local addresses"
check "rc" pair 'IB/RoCE v1' fe80 ibv_rc_pingpong -n 50
check "rc, 1 MiB messages" \
	pair 'IB/RoCE v1' fe80 ibv_rc_pingpong -s 1048576 -n 20

step "frames of Ethernet"
check "ping" ping -c 3 -i 0.2 -W 2 10.8.0.2
check "ping of 1400 octets, not fragmented" \
	ping -c 3 -i 0.2 -W 2 -s 1400 -M 'do' 10.8.0.2
head -c 4194304 /dev/urandom >/tmp/sent
FROM=(env)
check "TCP" tcp 10.8.0.2 in_peer
FROM=(in_peer)
check "TCP, the other way" tcp 10.8.0.1 env
check "iperf3" throughput
check "iperf3, the other way" throughput -R
check "iperf3, UDP" throughput -u -b 20M
check "the HCA cut large packets of TCP" [ "$(counter "$a" tx_tso_packets)" -gt 0 ]
check "iperf3, 8 connections" throughput -P 8
for i in 0 1; do
	check "queue $i receives some of them" [ "$(counter "$b" rx${i}_packets in_peer)" -gt 0 ]
done
in_peer ip neigh replace 10.8.0.9 lladdr 02:00:00:00:00:09 dev "$b"
n=$(strangers)
check "frames of others do not arrive ($n)" [ "$n" -lt 10 ]
ip link set "$a" promisc on
n=$(strangers)
check "but in promiscuous mode ($n)" [ "$n" -ge 10 ]
ip link set "$a" promisc off
check "ping afterwards" ping -c 2 -i 0.2 -W 2 10.8.0.2

step "RoCE v2"
for p in rc uc ud srq; do
	check "$p over IPv4" pair 'RoCE v2' "$IPV4:0a08" "ibv_${p}_pingpong" -n 20
done
check "rc by events" pair 'RoCE v2' "$IPV4:0a08" ibv_rc_pingpong -e -n 20
for p in rc uc ud; do
	check "$p over IPv6" pair 'RoCE v2' fe80 "ibv_${p}_pingpong" -n 20
	check "$p over v1" pair 'IB/RoCE v1' fe80 "ibv_${p}_pingpong" -n 20
done
for p in ib_write_bw ib_read_bw ib_atomic_bw 'ib_send_bw -c XRC'; do
	# shellcheck disable=SC2086
	check "$p" pair 'RoCE v2' "$IPV4:0a08" $p -F -n 50
done
check "XRC over IPv6" pair 'RoCE v2' fe80 ib_send_bw -c XRC -F -n 50
check "XRC over v1" pair 'IB/RoCE v1' fe80 ib_send_bw -c XRC -F -n 50

step "ethtool and devlink"
ethtool "$a" >"$SCENARIO_DIR/ethtool.txt"
ethtool -S "$a" >"$SCENARIO_DIR/ethtool-S.txt"
devlink dev info >"$SCENARIO_DIR/devlink.txt"
check "100 Gbit/s" grep -q 'Speed: 100000Mb/s' "$SCENARIO_DIR/ethtool.txt"
check "a link" grep -q 'Link detected: yes' "$SCENARIO_DIR/ethtool.txt"
check "the driver" sh -c "ethtool -i $a | grep -q '^driver: mlx5_core'"
check "pause frames, channels, rings, offloads" \
	sh -c "ethtool -a $a && ethtool -l $a && ethtool -g $a && ethtool -k $a"
check "devlink names the driver" grep -q 'driver mlx5_core' "$SCENARIO_DIR/devlink.txt"
for c in tx_packets_phy rx_packets_phy rx_64_bytes_phy rx_prio0_packets tx_prio0_bytes \
	tx_vport_rdma_unicast_packets; do
	check "$c counts" [ "$(counter "$a" $c)" -gt 0 ]
done
check "nothing is discarded" [ "$(counter "$a" rx_discards_phy)" = 0 ]
check "every command is one that the model knows" \
	[ "$(hca_get hca0 commands-unknown)" = 0 ]
check "no command failed" [ "$(hca_get hca0 commands-failed)" = 0 ]

step "a wire that is not perfect"
retries=$(hca_get hca0 retries)
loss 20
check "ping" ping -c 20 -i 0.1 -W 2 10.8.0.2
FROM=(env)
check "TCP" tcp 10.8.0.2 in_peer
for p in ib_write_bw ib_read_bw ib_atomic_bw; do
	check "$p" pair 'RoCE v2' "$IPV4:0a08" $p -F -n 200
done
xfer_lossy() { # every byte is compared
	LIMIT=100 two_sides "-s -g $(gid_of mlx5_1 'RoCE v2' "$IPV4:0a08")" \
		"-g $(gid_of mlx5_0 'RoCE v2' "$IPV4:0a08")" vhca-xfer -p 18515 "$@"
}
check "vhca-xfer" xfer_lossy -t "$LOSSY" --max-size "$(long 1048576 67108864)"
check "frames were lost" [ "$(hca_get hca0 frames-lost)" -gt 0 ]
check "and sent again" [ "$(hca_get hca0 retries)" -gt "$retries" ]
loss 0

step "a VLAN"
ip link add link "$a" name v7 type vlan id 7
in_peer ip link add link "$b" name v7 type vlan id 7
ip addr add 10.9.0.1/24 dev v7
in_peer ip addr add 10.9.0.2/24 dev v7
ip link set v7 up
in_peer ip link set v7 up
check "ping" ping -c 3 -i 0.2 -W 2 10.9.0.2
for p in rc uc ud; do
	check "$p over v2" pair 'RoCE v2' "$IPV4:0a09" "ibv_${p}_pingpong" -n 20
	check "$p over v1" pair 'IB/RoCE v1' "$IPV4:0a09" "ibv_${p}_pingpong" -n 20
done

step "long frames"
both_links mtu 4200
check "ping of 4000 octets" ping -c 3 -i 0.2 -W 2 -s 4000 -M 'do' 10.8.0.2
check "rc, packets of 4096 octets" \
	pair 'RoCE v2' "$IPV4:0a08" ibv_rc_pingpong -m 4096 -n 20

step "the cable"
hca_set hca1 cable false
check "mlx5_1 is down" wait_until 20 port_is mlx5_1 DOWN
check "ethtool says why" sh -c "ip netns exec peer ethtool $b | grep -q 'no (No cable)'"
hca_set hca1 cable true
check "mlx5_1 is active" wait_until 20 port_is mlx5_1 ACTIVE
check "ping" ping -c 3 -i 0.2 -W 2 10.8.0.2

step "rdma_cm"
in_peer timeout "$(seconds 60)" rping -s -a 10.8.0.2 -C 3 -V >/tmp/server.log 2>&1 &
server=$!
wait_until 10 cm_listens || true
check "rping" timeout "$(seconds 60)" rping -c -a 10.8.0.2 -C 3 -V
wait "$server" || fail "rping -s: $(cat /tmp/server.log)"
in_peer timeout "$(seconds 60)" ib_send_bw -R -F -n 50 >/tmp/server.log 2>&1 &
server=$!
wait_until 10 cm_listens || true
send_bw_by_cm() {
	timeout "$(seconds 60)" ib_send_bw -R -F -n 50 10.8.0.2 >/tmp/client.log 2>&1 ||
		{ ends /tmp/client.log; return 1; }
}
check "ib_send_bw -R" send_bw_by_cm
wait "$server" || fail "ib_send_bw -R: $(cat /tmp/server.log)"

step "reload, with a function level reset"
check "the kernel did not complain" quiet_kernel
ip netns del peer
pci=$(basename "$(readlink -f /sys/class/infiniband/mlx5_0/device)")
check "the drivers unload" modprobe -r rdma_ucm mlx5_ib mlx5_core
echo flr >"/sys/bus/pci/devices/$pci/reset_method"
check "function level reset" sh -c "echo 1 >/sys/bus/pci/devices/$pci/reset"
for d in hca0 hca1; do
	check "$d reaches no memory" [ "$(hca_get "$d" pages-held)" = 0 ]
done
links_up
check "ping" ping -c 3 -i 0.2 -W 2 10.8.0.2
check "rc over v2" \
	pair 'RoCE v2' "$IPV4:0a08" ibv_rc_pingpong -n 20
check "still no unknown command" [ "$(hca_get hca0 commands-unknown)" = 0 ]
check "no doorbell was refused" [ "$(hca_get hca0 doorbells-refused)" = 0 ]
check "the kernel did not complain" quiet_kernel
