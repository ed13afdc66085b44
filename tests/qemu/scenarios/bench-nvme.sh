#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What NVMe over RDMA costs: fio on a disk in memory of dom0. Its host is the kernel of dom0,
# by the HCA's own driver, and that of a PV guest, by its vhca, in turn in one boot, and on a
# disk in the guest's own memory: what a copy costs there. Numbers under emulation are no
# verdict: only missing ones fail.
# limit: 1800
# processors: 2
# hca: yes
# storage: yes
# programs: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh
. ./storage.sh
. ./bench.sh

ROUNDS=5
SECONDS_EACH=4
CASES=('randread 4k' 'randwrite 4k' 'randread 128k' 'randwrite 128k' 'read 1m' 'write 1m')
KERNEL_PROGRAMS=yes POOL_MB=64 GUEST_MB=768 TARGET=dom0
raw=$SCENARIO_DIR/raw

# fio_case RW SIZE [DISK]: of $HOST; "IOPS, octets a second, I/Os".
fio_case() {
	at "$HOST" "fio --name=job --filename=${3:-/dev/nvme0n1} --ioengine=libaio --direct=1 \
		--rw=$1 --bs=$2 --iodepth=32 --time_based --runtime=$SECONDS_EACH \
		--output-format=json" | sed -n '/^{/,$p' |
		jq -r '.jobs[0] | [.read, .write] | max_by(.total_ios) |
			"\(.iops) \(.bw_bytes) \(.total_ios)"'
}
# pool: "octets in, octets out" of b's.
pool() {
	guest_sh b "awk '/^pool_in|^pool_out/ { print \$2 }' /sys/kernel/debug/xen-vhca/*/stats" |
		tr '\n' ' '
}
# measure HOST ROUND: a line for each case; of the guest also what its worker did.
measure() {
	local c rw size line before
	HOST=$1
	check "$1: connected, $2" nvme_connect
	check "$1: the disk comes" has_disk
	for c in "${CASES[@]}"; do
		read -r rw size <<<"$c"
		if [ "$1" = b ]; then
			counters_of b "$raw/before"
			before=$(pool)
		fi
		line=$(fio_case "$rw" "$size") || fail "fio $c by $1"
		echo "$rw $size $1 $2 $line" >>"$raw/figures"
		[ "$1" = b ] || continue
		counters_of b "$raw/after"
		note "$c: ${line##* } I/Os; pool: $before to $(pool); worker: $(worked \
			"$raw/before" "$raw/after")"
	done
	check "$1: disconnected" nvme_disconnect
	wait_until 20 at "$1" '! ls -d /sys/class/nvme/nvme*' || fail "$1 keeps its controller"
}
# copies_cost ROUND: one copy for each I/O, without an HCA.
copies_cost() {
	local rw
	HOST=b
	for rw in read write; do
		echo "$rw copy $1 $(fio_case $rw 1m /dev/ram0)" >>"$raw/copies"
	done
}
# A row for each case: medians of the rounds, and of their ratios.
rows() {
	jq -R -s 'def median: sort | .[length / 2 | floor];
		split("\n") | map(select(. != "") | split(" ")) |
		group_by([.[0], .[1]]) | map(
			(map(select(.[2] == "dom0")) | sort_by(.[3])) as $n |
			(map(select(.[2] == "b")) | sort_by(.[3])) as $g |
			def of($i): map(.[$i] | tonumber);
			def ratio($i): [($n | of($i)), ($g | of($i))] | transpose |
				map(.[1] / .[0]) | median;
			{name: "\(.[0][0]) \(.[0][1])",
			 iops: [($n | of(4) | median), ($g | of(4) | median)],
			 mb: [($n | of(5) | median / 1e6), ($g | of(5) | median / 1e6)],
			 ratio: ratio(4)})' "$raw/figures"
}

step "two guests on a fabric, and a disk of dom0"
mkdir -p "$raw"
archive_setup programs
kernel_guests nvme-rdma
modprobe brd rd_nr=1 rd_size=65536
modprobe nvme-rdma
guest_sh b 'modprobe brd rd_nr=1 rd_size=65536; dd if=/dev/zero of=/dev/ram0 bs=1M count=64'
check "the target listens" nvme_target
guest_sh b 'mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug'

for ((round = 1; round <= ROUNDS; round++)); do
	step "round $round"
	measure dom0 $round
	measure b $round
	copies_cost $round
done

step "figures"
rows >"$SCENARIO_DIR/nvme.json"
check "all figures are there" [ "$(jq length "$SCENARIO_DIR/nvme.json")" = ${#CASES[@]} ]
printf '%-16s %12s %12s %10s %10s %8s\n' '' 'IOPS dom0' guest 'MB/s dom0' guest ratio
jq -r '.[] | [.name, .iops[], .mb[], .ratio] | @tsv' "$SCENARIO_DIR/nvme.json" |
	awk -F '\t' '{ printf "%-16s %12.0f %12.0f %10.1f %10.1f %8.2f\n", $1, $2, $3, $4, $5, $6 }'
awk '{ ms[$1] = ms[$1] sprintf(" %.2f", 1048576e3 / $5) }
	END { for (rw in ms) print "ms for a MiB of the guest\x27s own disk, " rw ":" ms[rw] }' "$raw/copies"

step "the end"
check "the target ends" nvme_target_end
kernel_guests_end
