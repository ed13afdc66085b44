#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The tests that rdma-core brings with its Python bindings have the same verdicts on
# Soft-RoCE in dom0 as in a guest that has it as vhca; differences must be those that
# are documented. The guest is trusted, as dom0 is: only then has it memory windows; and
# it may have queues of 128 MiB, which some of the tests make.
# limit: 1800
# tier: soak
# pyverbs: yes
. ./lib.sh
. ./vhca.sh
. ./verdicts.sh

backend_start
step "a guest with Python"
verdicts_setup
VHCA_KEYS=trusted=1,max-pinned-mb=320
guests_with_vhca pv a
pages=/sys/module/xen_vhca_helper/parameters/domain_pages
default=$(cat $pages)
echo 65536 >$pages
guest_sh a 'echo 65536 >/sys/module/xen_vhcafront/parameters/queue_pages'
spoilt a
verdicts_equal rxe0 a expected-verdicts-rxe.txt
vhcactl detach a all
echo "$default" >$pages
kernel_clean a
