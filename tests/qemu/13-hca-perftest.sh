#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Every program of perftest, with its events, many queue pairs, all sizes.
# limit: 600
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
for p in ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat \
	ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
	step "$p"
	n=200
	check "$p" both "$p" -F -n $n
	cp /tmp/client.log "$SCENARIO_DIR/$p.txt"
	case "$p" in
	*write*)	;;
	*)	check "$p with events" both "$p" -F -n $n -e ;;
	esac
	case "$p" in
	*_lat)	;;
	ib_atomic_bw) check "$p, 8 queue pairs" both "$p" -F -n $n -q 8 ;;
	*)	check "$p, 8 queue pairs" both "$p" -F -n $n -q 8
		check "$p, both ways, all sizes" both "$p" -F -n 20 -a -b ;;
	esac
done
for t in UC UD; do
	check "ib_send_bw $t" both ib_send_bw -F -n 200 -c $t -s 2048
	check "ib_send_lat $t" both ib_send_lat -F -n 200 -c $t
done
check "ib_write_bw UC" both ib_write_bw -F -n 200 -c UC
check "64 queue pairs" both ib_write_bw -F -n 50 -q 64
check "compare and swap" both ib_atomic_bw -F -n 200 -A CMP_AND_SWAP
check "SRQ" both ib_send_bw -F -n 200 --use-srq -q 4
check "XRC" both ib_send_bw -F -n 200 -c XRC
check "the kernel did not complain" quiet_kernel
