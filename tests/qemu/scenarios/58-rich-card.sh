#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A model HCA that announces what a ConnectX-6 Dx does: the driver meets no failure, guests
# see of it what docs/design/providers.md says, each verb answers as natively or as that page
# says, and a PV and a PVH guest have their traffic. Neither wild work requests nor a hostile
# guest harm anybody else.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth,profile=cx6dx -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./hostile_front.sh

# Groups of vhca-probe. An Ethernet port makes others differ by addresses alone.
PROBES=device,mr,cq_ex,mlx5,rich,misc
WQES=$(long 2000 50000)	# of each guest

# devinfo FILE: capabilities that few HCAs have, without what is a number of bits.
devinfo() {
	sed -n '/general_odp_caps/,/tag matching/p' "$1" | tr -s '\t ' ' ' |
		sed -e 's/^ //' -e '/^device_cap_flags_ex/d' -e '/^$/d'
}
# announces FILE LINE...: all of these are in it.
announces() {
	local line
	for line in "${@:2}"; do
		grep -qw -- "$line" "$1" || { echo "no $line"; return 1; }
	done
}
# gid_index: of dom0's IPv4 address, of RoCE v2.
gid_index() {
	vhca-indices -d mlx5_0 |
		awk '$2 && $3 == "::ffff:10.8.0.1" && $4 == "v2" && !n++ { print $2 }'
}
has_gid() { [ -n "$(gid_index)" ]; }
workers() { echo "$(worker_pid a 0) $(worker_pid b 0)"; }

step "the driver meets a rich card"
hca_drivers
check "it has nothing to say" quiet_kernel
check "it sent no command that the model does not know" \
	[ "$(hca_get hca0 commands-unknown)" = 0 ]
for d in hca0 hca1; do
	note "$d: $(hca_get $d commands) commands, $(hca_get $d commands-failed) failed"
done
for d in $HCAS; do
	ip link set "$(ls "/sys/class/infiniband/$d/device/net")" up
	check "$d is active" wait_until 20 port_is "$d" ACTIVE
done
ETH=$(ls /sys/class/infiniband/mlx5_0/device/net)
ip addr add 10.8.0.1/24 dev "$ETH"
modprobe -a xen-vhca-helper rdma_ucm
check "its address has a GID" wait_until 10 has_gid
GID=$(gid_index)

step "native"
native=$SCENARIO_DIR/native.devinfo
ibv_devinfo -v -d mlx5_0 >"$native"
check "it is a ConnectX-6 Dx" announces "$native" 4125
check "with all that such a card announces" announces "$native" ODP_SUPPORT \
	'Scatter FCS offload' 'Delay drop' RAW_IP_CSUM MANAGED_FLOW_STEERING \
	PCI_WRITE_END_PADDING 'max_wq_type_rq:.*8388608' 'max_tso:.*262144' \
	'qp_rate_limit_max:.*100000000kbps' 'device memory:.*131072Bytes'
vhca-helper-test --capped mlx5_0 vhca-probe -g "$GID" -d mlx5_0 -t "$PROBES" \
	>"$SCENARIO_DIR/native.txt" || true
check "the probe ran" [ "$(wc -l <"$SCENARIO_DIR/native.txt")" -gt 60 ]
kernel_clean

step "a PV and a PVH guest"
agent_start
VHCA_HCAS=mlx5_0 guests_with_vhca pv a pvh b
for g in a b; do
	guest_sh $g 'ibv_devinfo -v' >"$SCENARIO_DIR/$g.devinfo"
	# What the table of providers.md says of it.
	cat >/tmp/devinfo <<-'EOT'
	general_odp_caps:
	rc_odp_caps:
	NO SUPPORT
	uc_odp_caps:
	NO SUPPORT
	ud_odp_caps:
	NO SUPPORT
	xrc_odp_caps:
	NO SUPPORT
	completion timestamp_mask: 0x7fffffffffffffff
	hca_core_clock: 156250kHZ
	tso_caps:
	max_tso: 0
	rss_caps:
	max_rwq_indirection_tables: 0
	max_rwq_indirection_table_size: 0
	rx_hash_function: 0x0
	rx_hash_fields_mask: 0x0
	max_wq_type_rq: 0
	packet_pacing_caps:
	qp_rate_limit_min: 0kbps
	qp_rate_limit_max: 0kbps
	tag matching not supported
	EOT
	check "$g: sees what is documented" \
		diff /tmp/devinfo <(devinfo "$SCENARIO_DIR/$g.devinfo")
	check "$g: and the card's number" announces "$SCENARIO_DIR/$g.devinfo" 4125
	check_not "$g: and nothing of raw packets, padding and device memory" \
		grep -E 'RAW_|UD_IP_CSUM|FLOW_STEERING|PADDING|device memory' \
		"$SCENARIO_DIR/$g.devinfo"
done

step "verb by verb"
guest_sh -t 250 a "vhca-probe -g $GID -t $PROBES" >"$SCENARIO_DIR/a.txt" || true
# Not all groups of the list for each mlx5 are probed here.
check "same result as natively, but documented ones" env COMPARE_LEAST=150 \
	COMPARE_MAY=/tests/verbs/expected-differences-mlx5.txt \
	/tests/verbs/compare.sh "$SCENARIO_DIR/native.txt" "$SCENARIO_DIR/a.txt" \
	/tests/verbs/expected-differences-rich.txt

step "traffic"
# shellcheck disable=SC2034
XFER_GID="-g $GID"
for p in rc uc ud srq; do
	pair "ibv_${p}_pingpong" a b "ibv_${p}_pingpong -g $GID -n 50"
done
pair "ib_write_bw" a b "ib_write_bw -F -x $GID -s 65536 -n 100"
pair "ib_atomic_lat" b a "ib_atomic_lat -F -x $GID -n 50"
pair "ib_send_bw of XRC" a b "ib_send_bw -F -x $GID -c XRC -n 50"
xfer_between "every byte" b a '-t rc-write-4k,rc-send-4k,ud-send-4k,srq'
check "no doorbell was refused" [ "$(hca_get hca0 doorbells-refused)" = 0 ]

step "wild work requests"
old=$(workers)
for g in a b; do
	check "$g: $WQES work requests" guest_sh -t "$(long 200 1200)" $g \
		"vhca-wqe -g $GID -n $WQES >/tmp/wild; rc=\$?; cat /tmp/wild; exit \$rc"
done
check "the workers are the same" [ "$(workers)" = "$old" ]

step "a hostile guest"
guest_sh b 'modprobe -r xen-vhcafront; modprobe xen-gntalloc; modprobe xen-evtchn'
for mode in garbage pages; do
	check "b: $mode" hostile b $mode
done
guest_sh b 'modprobe xen-vhcafront'
check "b: the module connects to the same device" \
	wait_guest 30 b 'ibv_devinfo | grep PORT_ACTIVE'
check_not "dom0's driver had nothing to say" bash -c \
	'dmesg | grep -E "BUG|Oops|WARNING|soft lockup|general protection|mlx5_core.*(health|timeout)"'
xfer_between "every byte, after all that" b a '-t rc-write-4k,rc-send-4k'
vhcactl detach a all
vhcactl detach b all
ip addr flush dev "$ETH"
kernel_clean a b
spoilt b
