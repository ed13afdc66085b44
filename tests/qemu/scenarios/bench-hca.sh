#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# "make bench-hca": what a data path over two model HCAs costs in a plain
# Debian, medians with the 99th percentile, and the goals. Numbers under
# emulation are no verdict: only missing ones fail.
# limit: 300
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
step "measuring"
# Both sides poll: on one processor each would wait for the other's time slice.
timeout "$(seconds 250)" taskset -c 1 vhca-bench --data -s -g 0 -d mlx5_1 \
	>/tmp/server.log 2>&1 &
check "the measurement ended" eval 'timeout "$(seconds 250)" taskset -c 0 vhca-bench \
	--data -g 0 -d mlx5_0 127.0.0.1 >"$SCENARIO_DIR/raw"'
wait $! || true
check "all figures are there" [ "$(grep -c '^{' "$SCENARIO_DIR/raw")" -ge 9 ]
printf '\n%-22s %10s %10s %-5s %s\n' "" median "99 %" "" goal
jq -r 'select(.name) | [.name, .value, .p99, .unit,
	({"write_lat 8 B": "<= 40", "write_bw 64 KiB": ">= 500"}[.name] // "")]
	| @tsv' "$SCENARIO_DIR/raw" |
	awk -F '\t' '{ printf "%-22s %10.1f %10.1f %-5s %s\n", $1, $2, $3, $4, $5 }'
