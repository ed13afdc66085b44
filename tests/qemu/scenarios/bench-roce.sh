#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What RoCE costs on the Ethernet port of model HCAs, in a PV guest and in the PV dom0 of the
# same boot, in turn: the data path as in 37-doorbell-ratio-pv, control verbs, and regions
# that the guest has by a dma-buf and without. Numbers under emulation are no verdict.
# limit: 1500
# processors: 2
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth,odp=on,doorbell-bytes=4194304 -device connectx4,id=hca1,port=eth,doorbell-bytes=4194304
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./bench.sh
RATIO_ROUNDS=3
. ./ratio.sh

CONTROL_ROUNDS=5
MAP_PAGES=/sys/module/xen_vhca_helper/parameters/map_pages

# control SIDE ROUND: dom0, the guest by dma-bufs, or without them.
control() {
	local how mhz
	mhz=$(awk '/^cpu MHz/ { print $4; exit }' /proc/cpuinfo)
	how="vhca-bench --control -n 41 -g 0 -c $mhz"
	case "$1" in
	native)	timeout "$(seconds 100)" taskset -c 0 $how -d mlx5_0 ;;
	dmabuf)	guest_sh -t 100 a "taskset -c 0 $how" ;;
	gntdev)	echo 0 >$MAP_PAGES
		guest_sh -t 100 a "taskset -c 0 $how"
		echo "$pages" >$MAP_PAGES ;;
	esac >"$raw/control.$1.$2"
}
# A row for each verb: medians of the rounds, and of their ratios.
control_rows() {
	local i
	for ((i = 1; i <= CONTROL_ROUNDS; i++)); do
		for side in native dmabuf gntdev; do
			jq -c --arg side $side --arg round $i \
				'{name, value, side: $side, round: $round}' "$raw/control.$side.$i"
		done
	done | jq -s 'def median: sort | .[length / 2 | floor];
		def of($s): map(select(.side == $s)) | sort_by(.round) | map(.value);
		def ratios($a; $b): [$a, $b] | transpose | map(.[1] / .[0]) | median;
		group_by(.name) | map(of("native") as $n | of("dmabuf") as $d |
			of("gntdev") as $g |
			{name: .[0].name, unit: "us", native: ($n | median),
			 dmabuf: ($d | median), gntdev: ($g | median),
			 ratio: ratios($n; $d), ratio_gntdev: ratios($n; $g)})'
}

ratio pv

step "control verbs"
vhca_attach a hca=mlx5_0
pages=$(cat $MAP_PAGES)
for ((i = 1; i <= CONTROL_ROUNDS; i++)); do
	control native "$i"
	counters_of a "$raw/stats.$i.0"
	control dmabuf "$i"
	counters_of a "$raw/stats.$i.1"
	control gntdev "$i"
	counters_of a "$raw/stats.$i.2"
	note "worker, by dma-bufs: $(worked "$raw/stats.$i.0" "$raw/stats.$i.1")"
	note "worker, without: $(worked "$raw/stats.$i.1" "$raw/stats.$i.2")"
done
control_rows >"$SCENARIO_DIR/control.json"
check "all figures are there" [ "$(jq length "$SCENARIO_DIR/control.json")" -ge 17 ]
printf '%-22s %10s %10s %10s %8s %8s\n' us native dma-buf gntdev ratio gntdev
jq -r '.[] | [.name, .native, .dmabuf, .gntdev, .ratio, .ratio_gntdev] | @tsv' \
	"$SCENARIO_DIR/control.json" | awk -F '\t' \
	'{ printf "%-22s %10.1f %10.1f %10.1f %8.2f %8.2f\n", $1, $2, $3, $4, $5, $6 }'
note "event channel round trip now: $(evtchn_rtt a) us"
vhcactl detach a all
kernel_clean a
