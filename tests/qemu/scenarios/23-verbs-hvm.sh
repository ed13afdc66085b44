#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# An HVM guest has a vhca and talks to a PV guest.
# tier: soak
# limit: 300
# hvm: yes
# processors: 2
. ./lib.sh
. ./vhca.sh

step "an HVM and a PV guest with a vhca each"
guests_with_vhca hvm a pv b

step "a few programs"
check "device" guest_sh a 'ibv_devinfo | grep PORT_ACTIVE'
pair "ibv_rc_pingpong" a b "ibv_rc_pingpong -g 1 -n 300"
pair "ibv_ud_pingpong, events" a b "ibv_ud_pingpong -g 1 -n 300 -s 1024 -e"
pair "ib_write_bw" a b "ib_write_bw -F -x 1 -s 65536 -n 200"
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
