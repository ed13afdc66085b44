#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The same as 34-doorbell-pv with PVH guests, which have doorbell pages at guest
# frames of their own choice.
# limit: 1200
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

step "two PVH guests on model HCAs"
hca_guests pvh a pvh b
hca_pingpongs
hca_perftests
step "verified transfers"
verified_between b a
check "no doorbell was refused" [ "$(hca_get hca0 doorbells-refused)" = 0 ]
check "nor by the other HCA" [ "$(hca_get hca1 doorbells-refused)" = 0 ]
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
