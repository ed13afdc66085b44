#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Without a control domain, and so without an agent, two guests share a hardware HCA (the
# model) of the utility domain: their processes ring doorbell pages that Xen mapped when
# it made the guests. Nobody else works on the data path, the HCA refuses what one guest
# rings for the other, and no guest gets a page of the other's, not even when a worker is
# killed. On Arm.
# machine: dom0less two-guests-hca
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
# limit: 480
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh
. ./zero.sh
. ./dom0less.sh

WRITES=200

# window GUEST: first and last octet of its doorbell pages, as the backend is told.
window() {
	local gfn nr
	read -r _ gfn nr < <(xenstore-read \
		"/local/domain/$(own_domid)/backend/vhca/$(guest_domid "$1")/0/doorbell-static")
	printf '%x-%x' $((gfn * 4096)) $(((gfn + nr) * 4096 - 1))
}
other_pid() { local p; p=$(worker_pid a 0) && [ "$p" != "$1" ]; }

step "two guests of one HCA"
check "no domain 0 exists" no_domain 0
tail -n 2 /share/devicetree
hca_setup
guests_up a b
for g in a b; do
	check "$g is connected" wait_until 60 connected $g 0
	check "$g has a verbs device" wait_guest 30 $g 'ls /dev/infiniband/uverbs0'
	check "$g found the pages in its own device tree" guest_sh $g \
		"grep '^ *$(window $g) : vhca doorbells (device tree)\$' /proc/iomem"
done
check_not "no agent runs" pgrep -x xen-vhca-doorbe
refused=$(refused hca0)

step "Debian's programs, unmodified"
pair "RC ping-pong, data compared" a b 'ibv_rc_pingpong -g 0 -c -n 200'
pair "the other way, 64 KiB, with events" b a 'ibv_rc_pingpong -g 0 -c -e -s 65536 -n 50'
pair "UD ping-pong" a b 'ibv_ud_pingpong -g 0 -n 100'
for g in a b; do
	check "$g: no kick" test "$(kicks $g)" = 0
	check "$g: its own pages can be mapped, nothing else" \
		guest_sh -t 60 $g 'vhca-uar mmap'
	check "$g: so can uncached pages" \
		guest_sh -t 60 $g 'MLX5_SHUT_UP_BF=1 vhca-uar mmap'
done
check "the HCA refused no doorbell" test "$(refused hca0)" = "$refused"

zero_work $WRITES
note "doorbells: $sq0"
check "the HCA: a doorbell for each write" test "$sq0" -ge $((2 * WRITES))

step "one rings for the other"
attack a b hca0 hca1
attack b a hca0 hca1

step "the worker of a is killed, and the HCA gives its pages to whoever comes"
worker=$(worker_pid a 0)
kill -9 "$worker"
check "another one is there" wait_until 30 other_pid "$worker"
check "b has other contexts, of its own pages" guest_sh -t 60 b \
	'for i in 1 2 3; do MLX5_TOTAL_UUARS=$((16 + 16 * i)) vhca-uar mmap || exit 1; done'
check "the device of a comes back" wait_guest 60 a 'ibv_devinfo | grep PORT_ACTIVE'
check "and works" guest_sh -t 60 a 'vhca-xfer --loop -g 0 -t rc-write-4k'
attack b a hca0 hca1
note "$(grep -c 'contexts were opened besides' /run/vhcad.log || true) searches, at most $(
	sed -n 's/.*: \([0-9]*\) contexts were opened besides.*/\1/p' /run/vhcad.log |
		sort -n | tail -n 1) contexts in one"

step "what is left"
for g in a b; do
	check "$g: detach" vhcactl detach $g all
	check_not "$g: no complaint of its kernel" guest_sh $g "dmesg | grep -E '$BAD_KERNEL'"
done
check "the utility domain's kernel did not complain" quiet_kernel
check "the helper holds no grant" test "$(cat $DBG_HELPER/grants)" = 0
