#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 39-rdma-core-tests, on the Ethernet port of a model HCA; the guest has addresses of its
# own.
# limit: 1800
# tier: soak
# hca: yes
# pyverbs: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./roce.sh
. ./verdicts.sh

: "${VERDICTS:=expected-verdicts-roce.txt}"
# What the tests send to a rich card natively, and its model does not know, no guest may send.
after_native() {
	[ "$VERDICTS" != expected-verdicts-cx6dx.txt ] || UNKNOWN=$(hca_get hca0 commands-unknown)
}

step "a guest with Python, and with addresses"
verdicts_setup
network
agent_start
backend_start
guest_config a pv "mem=$VHCA_GUEST_MEM" "${VHCA_GUEST_CFG[@]}" >/dev/null
guests_start a
vhca_attach a "hca=mlx5_0,ip=${V4[a]}/24 ${V6[a]}/64 ${IN_VLAN[a]}/24"
# Index 0, which the tests take else, is not for datagrams of a guest (docs/guide/limits.md).
table a
VERDICTS_GID=$(index a "${V4[a]}" v2)
verdicts_equal mlx5_0 a "$VERDICTS" vhca-helper-test --capped mlx5_0
vhcactl detach a all
network_end
kernel_clean a
