#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 34-doorbell-pv, on models of a ConnectX-3, which have no XRC: guests of the driver mlx4,
# whose processes ring doorbells in its second BAR. The HCA of one has
# BlueFlame and entries of 64 octets (ABI 4), that of the other neither (ABI 3).
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1,cqe64=on,blueflame=on -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
HCA_XRC=no
. ./lib.sh
. ./vhca.sh
. ./hca.sh

hca_everything pv
for d in hca0 hca1; do
	check "$d knows every command" [ "$(hca_get $d commands-unknown)" = 0 ]
done
