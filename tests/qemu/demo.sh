#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# "make demo": what the project is for, in one minute. The HCA is in dom0
# (Soft-RoCE); a PV and a PVH guest run Debian's programs, unmodified.
# limit: 600
. ./lib.sh
. ./vhca.sh

step "dom0: the HCA, the backend; two guests, each gets a vhca"
guests_with_vhca pv g1 pvh g2
vhcactl list

step "g1 (PV): what Debian's programs see"
check "the guest has a verbs device" guest_sh g1 'uname -r; ibv_devices; ls -l /dev/infiniband'
guest_sh g1 'ibv_devinfo | head -n 12'

step "g2 (PVH) to g1 (PV): ibv_rc_pingpong"
guest_sh g1 'ibv_rc_pingpong -g 1 -n 1000' &
sleep 1
check "RC ping-pong" guest_sh g2 "ibv_rc_pingpong -g 1 -n 1000 $(guest_ip g1)"
wait $!

step "g2 (PVH) to g1 (PV): ib_write_bw, 64 KiB RDMA WRITE"
guest_sh g1 'ib_write_bw -x 1 -s 65536 -n 500' >/dev/null &
sleep 1
check "RDMA WRITE" guest_sh g2 "ib_write_bw -x 1 -s 65536 -n 500 $(guest_ip g1)"
wait $!

step "what dom0 counted, and how it ends"
vhcactl stats g1 0
check "detach" vhcactl detach g1 all
vhcactl detach g2 all
