#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PV guests on model HCAs, whose processes ring the doorbells themselves: what
# runs natively on these HCAs (13-hca-*) runs in the guests.
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

step "two PV guests on model HCAs"
hca_guests pv a pv b
hca_pingpongs
hca_perftests
step "verified transfers"
verified_between b a
check "no doorbell was refused" [ "$(hca_get hca0 doorbells-refused)" = 0 ]
check "nor by the other HCA" [ "$(hca_get hca1 doorbells-refused)" = 0 ]
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
