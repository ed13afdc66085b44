#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# With Arm's default policy, which lets guests talk to the control domain only, the
# utility domain is told why it reaches no guest.
# machine: dom0less two-guests
# xen: xsm=silo
# limit: 120
. ./lib.sh
. ./dom0less.sh

step "guests cannot be introduced"
check_not "vhcactl dom0less fails" vhcactl dom0less "$DOM0LESS_CONF" 2>/tmp/err
cat /tmp/err
for g in g1 g2; do
	check "it names $g and the policy" grep "($g) cannot be introduced.*xsm=dummy" /tmp/err
	check_not "$g has no nodes" xenstore-exists "/local/domain/$(guest_domid $g)/name"
done
