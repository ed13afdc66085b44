#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A guest that keeps queue pairs far from each other makes the driver of an mlx4 hold memory
# for all numbers between them: it gets as many as its max-pinned-mb pays for, and what the
# HCA may reach in dom0 grows no more than that. Its end gives all of it back.
# tier: soak
# limit: 400
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
. ./lib.sh
. ./vhca.sh
. ./hca.sh

PINNED=3	# MiB: of five groups of numbers, and the queues
PIECES=64	# pages; the HCA's driver has them of five kinds

pages() { hca_get hca0 pages-held; }
kept() { sed -n 's/^spread kept \([0-9]*\) of .*/\1/p' /tmp/spread; }
said_spread() { grep -q '^spread' /tmp/spread; }

step "a PV guest"
hca_setup
agent_start
backend_start
guest_create a pv
ledger_open a
hca_ledger_open
vhca_attach a "hca=${HCAS%% *},max-pinned-mb=$PINNED"

step "queue pairs, one in each 512 numbers"
before=$(pages)
guest_sh -t 300 a "vhca-many -g 0 -w 200 spread 12" >/tmp/spread 2>&1 &
spread=$!
check "it has what it gets" wait_until 200 said_spread
cat /tmp/spread
held=$(($(pages) - before))
note "the HCA may reach $held pages more"
check "it gets some" [ "$(kept)" -ge 4 ]
check "but no more than it pays for" [ "$(kept)" -le 6 ]
check "the worker says why" grep 'contexts of queue pairs exceed max-pinned-mb' /run/vhcad.log
# Of each kind one, whose pieces may hold more numbers than a group has, and its queues.
check "nor does the HCA's driver hold more" [ "$held" -le $((256 * PINNED + 5 * PIECES)) ]
guest_sh a 'pkill -TERM -x vhca-many'
wait "$spread" || true

step "what is left"
check "another process gets as many" guest_sh -t 200 a 'vhca-many -g 0 spread 4 | grep "kept 4"'
vhcactl detach a all
ledger_close a
hca_ledger_close
kernel_clean a
