#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On a Xen that started all domains from a device tree, without dom0, two guests use
# the HCA of a utility domain, on Arm.
# machine: dom0less two-guests
# limit: 300
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh

step "Xen started three domains, none of them domain 0"
note "$(cat /share/devicetree)"
check "no domain 0 exists" no_domain 0
for d in 1 2 3; do
	check "domain $d exists" domain-exists $d
done
check "this one is the third" test "$(own_domid)" = 3
check "this is an Arm machine" test "$(uname -m)" = aarch64

step "HCA and daemon; two guests get a vhca each"
guests_up g1 g2
for g in g1 g2; do
	check "$g is connected" wait_until 60 connected $g 0
	check "$g has a verbs device" wait_guest 20 $g 'ls /dev/infiniband/uverbs0'
done
vhcactl list

step "Debian's programs, unmodified"
pair "RC ping-pong, data compared" g1 g2 'ibv_rc_pingpong -g 1 -c -e -n 300'
pair "the other way, 64 KiB" g2 g1 'ibv_rc_pingpong -g 1 -c -e -s 65536 -n 200'
pair "UD ping-pong" g1 g2 'ibv_ud_pingpong -g 1 -e -n 200'

step "what is there stays, and nothing is left in the end"
list=$(vhcactl list)
check "vhcactl dom0less may run again" vhcactl dom0less "$DOM0LESS_CONF"
check "it made no other device" test "$(vhcactl list)" = "$list"
for g in g1 g2; do
	check "$g: detach" vhcactl detach $g all
	check_not "$g: no complaint of its kernel" guest_sh $g "dmesg | grep -E '$BAD_KERNEL'"
done
check_not "no complaint of the utility domain's kernel" bash -c "dmesg | grep -E '$BAD_KERNEL'"
check "the helper holds no grant" test "$(cat $DBG_HELPER/grants)" = 0
