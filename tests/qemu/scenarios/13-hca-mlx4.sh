#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Debian's mlx4 drivers take the model for a ConnectX-3, from the probe to datagrams,
# connections and perftest, and let go of it again. One of two has BlueFlame and entries of
# 64 octets (ABI 4), the other neither (ABI 3).
# tier: soak
# limit: 400
# machine: native
# hca: yes
# qemu: -device connectx3,id=hca0,cqe64=on,blueflame=on -device connectx3,id=hca1
. ./lib.sh
. ./hca.sh
HCAS="mlx4_0 mlx4_1"

step "drivers"
HCA_STATE=INIT hca_setup
for d in $HCAS; do
	ibv_devinfo -v -d "$d" >"$SCENARIO_DIR/$d.txt"
	check "$d: Mellanox' part 4099" \
		grep -q 'vendor_part_id:.*4099' "$SCENARIO_DIR/$d.txt"
done

step "a subnet manager"
mkdir -p /var/cache/opensm
opensm -B -g "$(ibstat -p mlx4_0 | head -n 1)" -f "$SCENARIO_DIR/opensm.log" >/dev/null
for d in $HCAS; do
	check "$d becomes active" wait_until 30 port_is "$d" ACTIVE
done
check "ibnetdiscover finds both" [ "$(ibnetdiscover -l | grep -c '^Ca')" = 2 ]
check "sminfo" sminfo

for p in rc uc ud srq; do
	step "ibv_${p}_pingpong"
	check "$p" both "ibv_${p}_pingpong" -g 0 -n "$(long 50 200)"
	check "$p with events" both "ibv_${p}_pingpong" -g 0 -n "$(long 50 200)" -e
done
check "16 queue pairs on one SRQ" both ibv_srq_pingpong -q 16 -r 500
check "4 KiB MTU, 1 MiB messages" both ibv_rc_pingpong -m 4096 -s 1048576 -n 20

hca_perftests
for d in hca0 hca1; do
	check "$d refused no doorbell" [ "$(hca_get "$d" doorbells-refused)" = 0 ]
done

step "doorbell pages of a process"
for d in $HCAS; do
	check "$d: its own can be mapped, nothing else" vhca-uar -d "$d" -n mmap
done

step "unloading, function level reset, loading"
pkill opensm
pci=$(basename "$(readlink -f /sys/class/infiniband/mlx4_0/device)")
check "the drivers unload" modprobe -r mlx4_ib mlx4_core
for d in hca0 hca1; do
	check "$d: no page is left" [ "$(hca_get $d pages-held)" = 0 ]
done
echo flr >"/sys/bus/pci/devices/$pci/reset_method"
check "function level reset" sh -c "echo 1 >/sys/bus/pci/devices/$pci/reset"
HCA_STATE=INIT hca_setup
opensm -B -g "$(ibstat -p mlx4_0 | head -n 1)" -f "$SCENARIO_DIR/opensm2.log" >/dev/null
for d in $HCAS; do
	check "$d becomes active again" wait_until 30 port_is "$d" ACTIVE
done
check "queue pairs afterwards" both ibv_rc_pingpong -n 100
pkill opensm
for d in hca0 hca1; do
	check "$d knows every command" [ "$(hca_get $d commands-unknown)" = 0 ]
done
check "the kernel did not complain" quiet_kernel
