#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# "make demo-dom0less": Xen on Arm started all domains from a device tree, there is no
# dom0. The HCA (Soft-RoCE) is in a utility domain; two guests run Debian's programs,
# unmodified.
# machine: dom0less two-guests
# limit: 600
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh

step "what Xen started"
tail -n +2 /share/devicetree
check "there is no domain 0" no_domain 0

step "the utility domain: the HCA, the backend; two guests, each gets a vhca"
guests_up g1 g2
check "g1 is connected" wait_until 60 connected g1 0
check "g2 is connected" wait_until 60 connected g2 0
vhcactl list

step "g1: what Debian's programs see"
check "the guest has a verbs device" guest_sh g1 'uname -rm; ibv_devices'

step "g2 to g1: ibv_rc_pingpong, by completion events"
pair "RC ping-pong" g1 g2 "ibv_rc_pingpong -g 1 -c -e -n 300"
grep iters /tmp/pair.c

step "what the utility domain counted, and how it ends"
vhcactl stats g1 0 | awk '/^counters/ && $2'
check "detach" vhcactl detach g1 all
vhcactl detach g2 all
