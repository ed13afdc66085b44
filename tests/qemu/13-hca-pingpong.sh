#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Each transport of libibverbs' examples, by polling and by events.
# limit: 300
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
for p in rc uc ud srq xsrq; do
	step "ibv_${p}_pingpong"
	opts=(-n 200)
	[ "$p" = xsrq ] || opts+=(-g 0)
	check "$p" both "ibv_${p}_pingpong" "${opts[@]}"
	[ "$p" = xsrq ] || check "$p with events" \
		both "ibv_${p}_pingpong" "${opts[@]}" -e
done
check "64 queue pairs on one SRQ" both ibv_srq_pingpong -q 16 -r 500
check "4 KiB MTU, 1 MiB messages" both ibv_rc_pingpong -m 4096 -s 1048576 -n 20
check "no doorbell was refused" [ "$(hca_get hca0 doorbells-refused)" = 0 ]
check "the kernel did not complain" quiet_kernel
