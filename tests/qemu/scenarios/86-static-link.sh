#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On Debian's own Xen, which started all domains from a device tree, without dom0 and
# without xenstore, two guests use the Soft-RoCE of a utility domain, on Arm. Devices come
# back after the death of worker and supervisor, and after the guest loaded its frontend
# anew.
# machine: dom0less static-link
# limit: 300
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh
. ./static-link.sh

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
for g in g1 g2; do
	check "$g is connected" wait_until 60 connected $g
	check "$g has a verbs device" wait_guest 20 $g 'ls /dev/infiniband/uverbs0'
done
vhcactl list
check_not "guests have no xenstore either" guest_sh g1 'timeout 20 xenstore-exists /'

step "Debian's programs, unmodified"
pair "RC ping-pong, data compared" g1 g2 'ibv_rc_pingpong -g 1 -c -e -n 300'
pair "the other way, 64 KiB" g2 g1 'ibv_rc_pingpong -g 1 -c -e -s 65536 -n 200'
pair "UD ping-pong" g1 g2 'ibv_ud_pingpong -g 1 -e -n 200'
xfer_between "vhca-xfer: every byte of all transfers" g1 g2 '-q 4 --max-size 65536'

parts_killed g1 g2

step "g2 crashes: nobody hears of it, and nothing of it is in the way"
check_not "g2: no complaint of its kernel before" guest_sh g2 "dmesg | grep -E '$BAD_KERNEL'"
worker=$(worker_pid g2 0)
guest_sh -t 5 g2 'echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger' || true
no_answer() { ! guest-shell -t 5 "$(guest_ip g2)" $SHELL_PORT true; }
check "it does not answer any more" wait_until 60 no_answer
check "its worker waits" kill -0 "$worker"
check "g1 goes on" guest_sh -t 60 g1 'vhca-xfer --loop -t rc-write-4k'
check "g2: detach by force" vhcactl detach -f "$(guest_domid g2)" all
check "its worker ends" wait_until 20 not kill -0 "$worker"

step "nothing is left"
check "vhcactl dom0less may run again" vhcactl dom0less "$DOM0LESS_CONF"
check "g2: detach what that made anew" vhcactl detach -f "$(guest_domid g2)" all
check "g1: detach" vhcactl detach "$(guest_domid g1)" all
check "g1: unload" guest_sh g1 'modprobe -r xen-vhcafront'
check_not "g1: no complaint of its kernel" guest_sh g1 "dmesg | grep -E '$BAD_KERNEL'"
for n in grants zombies; do
	check "the helper has no $n" wait_until 10 \
		bash -c "[ \"\$(cat $DBG_HELPER/$n)\" = 0 ]"
done
for kind in pd cq qp mr; do
	check "no $kind of a worker is left" bash -c "! rdma resource show $kind | grep vhcad-"
done
check_not "no complaint of the utility domain's kernel" bash -c "dmesg | grep -E '$BAD_KERNEL'"
