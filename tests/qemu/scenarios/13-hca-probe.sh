#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Debian's mlx5 drivers take the model for a ConnectX-4, and so does libibverbs.
# limit: 120
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

step "drivers"
hca_setup
for d in $HCAS; do
	ibv_devinfo -v -d "$d" >"$SCENARIO_DIR/$d.txt"
	check "$d: the port is active" grep -q PORT_ACTIVE "$SCENARIO_DIR/$d.txt"
	check "$d: an InfiniBand port" \
		grep -q 'link_layer:.*InfiniBand' "$SCENARIO_DIR/$d.txt"
	check "$d: Mellanox' part 4115" \
		grep -q 'vendor_part_id:.*4115' "$SCENARIO_DIR/$d.txt"
done
check "two different GUIDs" [ "$(ibv_devices | awk '/mlx5_/ { print $2 }' |
	sort -u | wc -l)" = 2 ]
check "every command is one that the model knows" \
	[ "$(hca_get hca0 commands-unknown)" = 0 ]
check "the kernel did not complain" quiet_kernel
