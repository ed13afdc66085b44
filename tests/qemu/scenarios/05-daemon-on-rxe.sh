#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The daemon's verbs code drives a real Soft-RoCE HCA: same sources as in
# xen-vhcad, with a program instead of a guest on the loopback transport.
# limit: 120
# machine: native
. ./lib.sh

step "Soft-RoCE"
rxe_setup

step "RDMA write, arming, SRQ and CQ resize"
check "queue pairs of one guest exchange data" vhca-loop-rxe rxe0 1
check "nothing is left in the kernel" \
	sh -c '! rdma resource show qp | grep -q vhca-loop-rxe'
check "the kernel did not complain" \
	sh -c '! dmesg | grep -E "BUG|WARNING|Call Trace"'
vhca-loop-rxe rxe7 2>missing.log || true
check "a missing HCA is named, with those that exist" \
	grep -q '"rxe7" does not exist; this domain has: rxe0' missing.log
