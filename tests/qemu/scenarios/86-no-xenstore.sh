#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On Debian's own Xen, which started all domains from a device tree, without dom0 and
# without xenstore, two guests use the Soft-RoCE of a utility domain, on Arm. Devices come
# back after the death of worker and supervisor, after a restart of the daemon, and after
# the guest loaded its frontend anew; nothing is left of them, and little of a guest that
# crashes.
# machine: dom0less no-xenstore
# tier: soak
# limit: 480
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh
. ./no-xenstore.sh

step "Debian's Xen started three domains, none of them domain 0; there is no xenstore"
note "$(cat /share/devicetree)"
check "no domain 0 exists" no_domain 0
for d in 1 2 3; do
	check "domain $d exists" domain-exists $d
done
check "this is an Arm machine" test "$(uname -m)" = aarch64
check "Xen is that of Debian 12" grep -x 17 /sys/hypervisor/version/minor
check "there is no xenstore" no_xenstore

step "HCA and daemon; two guests get a vhca each"
guests_up g1 g2
guests_connected g1 g2
vhcactl list
check_not "guests have no xenstore either" guest_sh g1 'timeout 20 xenstore-exists /'

step "Debian's programs, unmodified"
pair "RC ping-pong, data compared" g1 g2 'ibv_rc_pingpong -g 1 -c -e -n 300'
[ "$(long 0 1)" = 0 ] ||
	pair "the other way, 64 KiB" g2 g1 'ibv_rc_pingpong -g 1 -c -e -s 65536 -n 200'
pair "UD ping-pong" g1 g2 'ibv_ud_pingpong -g 1 -e -n 200'
xfer_between "vhca-xfer: every byte of all transfers" g1 g2 "-q $(long 2 4) --max-size $(long 4096 65536)"

ends_and_crash g1 g2
