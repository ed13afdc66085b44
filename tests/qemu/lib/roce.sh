# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios share whose guests have addresses of their own on the Ethernet port of a
# model HCA: places are dom0 with the first HCA, peer, another host with the second, and
# guests a and b. Sourced after vhca.sh, hca.sh and rdmacm.sh.

declare -A V4=([dom0]=10.8.0.1 [peer]=10.8.0.5 [a]=10.8.0.71 [b]=10.8.0.72)
declare -A V6 IN_VLAN CM_ADDR
for where in "${!V4[@]}"; do
	V6[$where]=2001:db8:8::${V4[$where]##*.}
	IN_VLAN[$where]=10.8.7.${V4[$where]##*.}
	CM_ADDR[$where]=${V4[$where]}
done
declare -A DEVICE=([dom0]=mlx5_0 [peer]=mlx5_1 [a]=vhca0 [b]=vhca0)

# interface PLACE NAME: a host's, with its addresses, and one of a VLAN.
interface() {
	local at=()
	[ "$1" = dom0 ] || at=(-n "$1")
	ip "${at[@]}" link set "$2" up
	ip "${at[@]}" addr add "${V4[$1]}/24" dev "$2"
	ip "${at[@]}" addr add "${V6[$1]}/64" dev "$2" nodad
	ip "${at[@]}" link add link "$2" name v7 type vlan id 7
	ip "${at[@]}" addr add "${IN_VLAN[$1]}/24" dev v7
	ip "${at[@]}" link set v7 up
}
# network: dom0's interface is that of the first HCA, another host's that of the second.
network() {
	local d other
	hca_drivers
	modprobe -a 8021q rdma_ucm
	ETH=$(ls /sys/class/infiniband/mlx5_0/device/net)
	CM_DEV=$ETH
	other=$(ls /sys/class/infiniband/mlx5_1/device/net)
	ip netns add peer
	ip link set "$other" netns peer
	ip -n peer link set lo up
	interface dom0 "$ETH"
	interface peer "$other"
	for d in $HCAS; do
		check "$d is active" wait_until 20 port_is "$d" ACTIVE
	done
	check "the other host answers" wait_until 20 ping -c 1 -W 1 "${V4[peer]}"
}

# in_place PLACE COMMAND: the other host's programs run in dom0, by its HCA.
in_place() {
	case "$1" in
	dom0|peer)	timeout "$(seconds 60)" bash -c "$2" ;;
	*)		guest_sh -t 60 "$1" "$2" ;;
	esac
}
# table PLACE: the entries of its GID table.
table() { in_place "$1" "vhca-indices -d ${DEVICE[$1]}" >"$SCENARIO_DIR/$1.txt"; }
# index PLACE ADDRESS v1|v2
index() {
	awk -v g="$2" -v t="$3" '$2 && ($3 == g || $3 == "::ffff:" g) && $4 == t { print $2 }' \
		"$SCENARIO_DIR/$1.txt"
}
# use v1|v2 ADDRESSES: programs use these entries.
use() {
	local where
	local -n addr=$2
	for where in "${!addr[@]}"; do
		GID_INDEX[$where]=$(index "$where" "${addr[$where]}" "$1")
	done
}

# with_host GUEST HOST COMMAND: the guest serves.
with_host() {
	local server rc=0
	guest_sh -t 60 "$1" "$(with_gid "$1" "$3")" >/tmp/pair.s 2>&1 &
	server=$!
	listens "$1"
	in_place "$2" "$(with_gid "$2" "$3") -d ${DEVICE[$2]} $(guest_ip "$1")" \
		>/tmp/pair.c 2>&1 || rc=$?
	wait "$server" || rc=$?
	[ "$rc" = 0 ] || tail -n 8 /tmp/pair.[sc]
	return "$rc"
}
# xfer_with_host GUEST HOST OPTIONS: vhca-xfer compares every octet, the guest serves.
xfer_with_host() {
	local server rc=0 options="$3 --give-up $(seconds 150) --timeout $(seconds 25000)"
	guest_sh -t 280 "$1" "vhca-xfer -s $(with_gid "$1" "$options")" >/tmp/pair.s 2>&1 &
	server=$!
	timeout "$(seconds 280)" bash -c "vhca-xfer -d ${DEVICE[$2]} \
		$(with_gid "$2" "$options") $(guest_ip "$1")" >/tmp/pair.c 2>&1 || rc=$?
	wait "$server" || rc=$?
	[ "$rc" = 0 ] || tail -n 8 /tmp/pair.[sc]
	return "$rc"
}
# network_end: nothing of a device is left in dom0's network, and the HCAs were used well. Of
# the first one UNKNOWN commands were dom0's own.
UNKNOWN=0
network_end() {
	local d
	check "no device has an address here" test -z "$(/etc/xen/scripts/vhca-address list)"
	check "hca0: every command was known" [ "$(hca_get hca0 commands-unknown)" = "$UNKNOWN" ]
	check "hca1: every command was known" [ "$(hca_get hca1 commands-unknown)" = 0 ]
	for d in hca0 hca1; do
		check "$d refused no doorbell" [ "$(hca_get $d doorbells-refused)" = 0 ]
	done
	ip netns del peer
	ip link del v7
	ip addr flush dev "$ETH"
}
