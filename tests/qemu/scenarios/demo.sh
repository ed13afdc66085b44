#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# "make demo": what the project is for, in one minute. The HCA is in dom0
# (Soft-RoCE); two PV guests run Debian's programs, unmodified.
# limit: 600
# processors: 2
. ./lib.sh
. ./vhca.sh

step "dom0: the HCA, the backend; two guests, each gets a vhca"
guests_with_vhca pv g1 pv g2
vhcactl list

step "g1 (PV): what Debian's programs see"
check "the guest has a verbs device" guest_sh g1 'uname -r; ibv_devices; ls -l /dev/infiniband'
guest_sh g1 'ibv_devinfo | head -n 12'

step "g2 to g1: ibv_rc_pingpong"
pair "RC ping-pong" g1 g2 "ibv_rc_pingpong -g 1 -n 1000"
grep iters /tmp/pair.c

step "g2 to g1: ibv_ud_pingpong, by completion events"
pair "UD ping-pong" g1 g2 "ibv_ud_pingpong -e -g 1 -n 300 -s 1024"
grep iters /tmp/pair.c

step "g2 to g1: ib_write_bw and ib_read_bw, 64 KiB; ib_send_lat, 8 B"
for t in "ib_write_bw -s 65536 -n 500" "ib_read_bw -s 65536 -n 500" \
	"ib_send_lat -s 8 -n 500"; do
	pair "${t%% *}" g1 g2 "$t -F -x 1"
	grep -A 1 '#bytes' /tmp/pair.c
done

step "what dom0 counted, and how it ends"
vhcactl stats g1 0
check "detach" vhcactl detach g1 all
vhcactl detach g2 all
