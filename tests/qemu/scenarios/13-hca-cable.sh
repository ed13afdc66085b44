#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A cable that is pulled and plugged: port events, and queue pairs that time out.
# tier: soak
# limit: 120
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
step "the port follows the cable"
ibv_asyncwatch -d mlx5_0 >"$SCENARIO_DIR/events" 2>&1 &
watcher=$!
check "a program watches it" \
	wait_until 10 has_open "$watcher" /dev/infiniband/uverbs*
hca_set hca0 cable false
check "down" wait_until 10 port_is mlx5_0 DOWN
hca_set hca0 cable true
check "up" wait_until 10 port_is mlx5_0 ACTIVE
check "a program sees the port go" \
	wait_until 10 grep -qi 'port.*err' "$SCENARIO_DIR/events"
check "a program sees the port come" \
	wait_until 10 grep -qi port_active "$SCENARIO_DIR/events"
kill "$watcher"
check "data flows again" both ibv_rc_pingpong -n 100
check "the kernel did not complain" quiet_kernel
