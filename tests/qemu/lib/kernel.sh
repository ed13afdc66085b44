# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios share in which the kernels of two guests, a and b, use RDMA at addresses
# of theirs (kernel=1, ip=). Sourced after rdmacm.sh. KERNEL_GUESTS: their kinds and names;
# KERNEL_PROGRAMS=yes: with the programs of image/programs.sh, which need memory.

: "${KERNEL_GUESTS:=pv a pv b}"
declare -A KERNEL_ADDR=([dom0]=10.8.0.1 [a]=10.8.0.71 [b]=10.8.0.72)

# tell WHERE: what its kernel last said.
tell() { at "$1" "dmesg | grep -iE 'vhca|rdma|rds|nvme|nfs|rpc|iscsi|ise[rw]|scsi|target' | tail -n 12 | sed 's/^/$1: /'" || true; }
# on WHERE COMMAND: with what its kernel says, if it fails.
on() {
	local rc=0
	case "$1" in
	dom0)	timeout "$(seconds 100)" bash -c "$2" || rc=$? ;;
	*)	guest_sh -t 100 "$@" || rc=$? ;;
	esac
	[ "$rc" = 0 ] || tell "$1"
	return "$rc"
}
# kernel_keys GUEST: of a device for its kernel; KERNEL_MORE: other keys.
kernel_keys() {
	echo "hca=mlx5_0,ip=${KERNEL_ADDR[$1]}/24,kernel=1,kernel-pool-mb=${POOL_MB:-16},max-pinned-mb=${PINNED_MB:-256}${KERNEL_MORE:+,$KERNEL_MORE}"
}
# kernel_attach GUEST: rdma_cm has it when its netdev has the address.
kernel_attach() {
	vhcactl attach -w "$(seconds 30)" "$1" "$(kernel_keys "$1")" || {
		tell "$1"
		vhcactl show "$1" 0
		fail "vhcactl attach $1"
	}
	check "$1: its port has the GID of the netdev" wait_guest 10 "$1" "$HAS_GID"
}
HAS_GID="grep -v '^0000:0000:0000:0000' /sys/class/infiniband/vhca0/ports/1/gids/0"
# kernel_fabric: the port that all share, where dom0 has an address of its own.
kernel_fabric() {
	local dev=ib0
	hca_drivers
	modprobe rdma_ucm
	if grep -q Ethernet /sys/class/infiniband/mlx5_0/ports/1/link_layer; then
		hca_setup
		dev=$(ls /sys/class/infiniband/mlx5_0/device/net)
	else
		fabric_start
		modprobe ib_ipoib
		wait_until 10 test -e /sys/class/net/ib0 || fail "there is no ib0"
	fi
	ip addr replace "${KERNEL_ADDR[dom0]}/24" dev "$dev"
	ip link set "$dev" up
}
# kernel_guests MODULE...: a and b, with a device of dom0 each and these modules.
kernel_guests() {
	kernel_fabric
	agent_start
	backend_start
	kernel_boot "$@"
	ledger_open a b
	kernel_attach a
	kernel_attach b
}
# kernel_boot MODULE...: a and b with these modules.
kernel_boot() {
	local g kinds mem archives=(/guest/storage.cpio)
	read -r -a kinds <<<"$KERNEL_GUESTS"
	GUEST_INITRD=$GUEST_RUN/initrd.storage
	[ -z "${KERNEL_PROGRAMS:-}" ] || archives+=(/guest/programs.cpio)
	cat "$GUEST_RUN/initrd" "${archives[@]}" >"$GUEST_INITRD"
	mem=${GUEST_MB:-512}
	[ "$mem" -ge "$GUEST_MEM" ] || mem=$GUEST_MEM	# a debug kernel needs more
	for g in 0 2; do
		guest_config "${kinds[g + 1]}" "${kinds[g]}" "mem=$mem" \
			"vcpus=${GUEST_VCPUS:-1}" >/dev/null
	done
	guests_start a b
	for g in a b; do
		guest_sh "$g" "modprobe -a xen-vhcafront rdma_cm dummy $*
			ip link add rdma0 type dummy; ip link set rdma0 up
			ip addr add ${KERNEL_ADDR[$g]}/24 dev rdma0"
	done
}
# kernel_has_none GUEST: no queue pair, region or connection any more.
kernel_has_none() {
	guest_sh "$1" 'for o in qp mr cm_id; do rdma resource show $o; done >/tmp/left
		! grep . /tmp/left'
}
# kernel_guests_end [GUEST...]: of these, a and b, nothing is left.
kernel_guests_end() {
	local g
	[ $# != 0 ] || set -- a b
	check "no connection is left" wait_until 15 no_cm_ids
	for g; do
		check "$g: its kernel has no object" wait_until 15 kernel_has_none "$g"
		check "detach $g" vhcactl detach "$g" all
		guest_sh "$g" 'ip link del rdma0'
	done
	ledger_close "$@"
	kernel_clean "$@"
}
