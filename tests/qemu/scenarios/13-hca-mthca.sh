#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Debian's driver ib_mthca takes the model for an InfiniHost III Lx (MT25204), from the
# probe to datagrams, connections and perftest, and lets go of it again. A defect of the
# driver shows: pages of doorbell records stay pinned when they are used again.
# tier: soak
# limit: 500
# machine: native
# hca: yes
# qemu: -device mt25204,id=hca0 -device mt25204,id=hca1
. ./lib.sh
. ./hca.sh
HCAS="mthca0 mthca1"

# pins: pages that are pinned for devices at this moment.
pins() {
	echo 1 >/proc/sys/vm/stat_refresh
	awk '/^nr_foll_pin_acquired / { n += $2 } /^nr_foll_pin_released / { n -= $2 }
		END { print n }' /proc/vmstat
}

step "drivers"
HCA_STATE=INIT hca_setup
for d in $HCAS; do
	ibv_devinfo -v -d "$d" >"$SCENARIO_DIR/$d.txt"
	check "$d: Mellanox' part 25204" \
		grep -q 'vendor_part_id:.*25204' "$SCENARIO_DIR/$d.txt"
	check "$d: 2 KiB are its greatest MTU" \
		grep -q 'max_mtu:.*2048' "$SCENARIO_DIR/$d.txt"
	check "$d: its interrupts are MSI-X" \
		[ "$(grep -c "mthca-.*@pci:$(basename "$(readlink -f "/sys/class/infiniband/$d/device")")" \
			/proc/interrupts)" = 3 ]
done

step "a subnet manager"
mkdir -p /var/cache/opensm
opensm -B -g "$(ibstat -p mthca0 | head -n 1)" -f "$SCENARIO_DIR/opensm.log" >/dev/null
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
check "2 KiB MTU, 1 MiB messages" both ibv_rc_pingpong -m 2048 -s 1048576 -n 20

hca_perftests
for t in UC UD; do
	check "ib_send_bw $t" both ib_send_bw -F -n 200 -c $t -s 2048
done
check "SRQ" both ib_send_bw -F -n 200 --use-srq -q 4
for d in hca0 hca1; do
	check "$d refused no doorbell" [ "$(hca_get "$d" doorbells-refused)" = 0 ]
done

step "vhca-xfer"
check "both sides on one device" timeout 180 vhca-xfer --loop -g 0 -d mthca0
timeout 180 vhca-xfer -s -g 0 -d mthca1 >"$SCENARIO_DIR/server.txt" 2>&1 &
check "between two devices" timeout 180 vhca-xfer -g 0 -d mthca0 127.0.0.1
check "the server agrees" wait $!

step "pages of records"
pinned=$(pins)
check "41 completion queues, one after the other" \
	vhca-bench --control -n 41 -g 0 -d mthca0
left=$(($(pins) - pinned))
note "$left pages are pinned that no process has"
check "the driver pins a page of records anew each time, and forgets the first" \
	[ "$left" -ge 80 ]

step "unloading, function level reset, loading"
pkill opensm
pci=$(basename "$(readlink -f /sys/class/infiniband/mthca0/device)")
check "the driver unloads" modprobe -r ib_mthca
for d in hca0 hca1; do
	check "$d: no page is left" [ "$(hca_get $d pages-held)" = 0 ]
done
echo flr >"/sys/bus/pci/devices/$pci/reset_method"
check "function level reset" sh -c "echo 1 >/sys/bus/pci/devices/$pci/reset"
HCA_STATE=INIT hca_setup
opensm -B -g "$(ibstat -p mthca0 | head -n 1)" -f "$SCENARIO_DIR/opensm2.log" >/dev/null
for d in $HCAS; do
	check "$d becomes active again" wait_until 30 port_is "$d" ACTIVE
done
check "queue pairs afterwards" both ibv_rc_pingpong -n 100
pkill opensm
for d in hca0 hca1; do
	check "$d knows every command" [ "$(hca_get $d commands-unknown)" = 0 ]
done
check "the kernel did not complain" quiet_kernel
