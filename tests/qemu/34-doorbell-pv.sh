#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PV guests on model HCAs: their processes ring the doorbells themselves.
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

step "two PV guests on model HCAs"
hca_guests pv a pv b
step "first traffic"
pair "ibv_rc_pingpong" a b "ibv_rc_pingpong -n 200"
