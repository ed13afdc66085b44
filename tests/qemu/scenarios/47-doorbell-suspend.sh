#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A PV guest whose processes ring doorbells of an HCA is checkpointed, saved and
# restored: neither stops at a frame of the HCA in a page table, a program that
# rings a dead doorbell ends, and afterwards new programs ring new ones.
# tier: soak
# limit: 120
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh
. ./suspend.sh

rings() { [ "$(hca_get hca0 doorbells-sq)" -gt "$1" ]; }
# again CLAIM COMMAND...: it rings doorbells before and after.
again() {
	local rung
	"${@:2}"
	rung=$(hca_get hca0 doorbells-sq)
	check "$1" wait_until 10 rings "$rung"
}
refused() { hca_get hca0 doorbells-refused; }
# keeps N: so many address spaces, those of living workers among them.
keeps() { [ "$(cat $DBG_HELPER/kept_mms)" = "$1" ]; }

step "a PV guest"
hca_setup
agent_start
backend_start
pool_end
check "no memory of earlier workers is kept" wait_until 20 keeps 0
guest_create a pv
ledger_open a
hca_ledger_open
before=$(refused)	# those of other scenarios
note "doorbells refused before: $before"
vhcactl attach a "hca=${HCAS%% *}"
load_start a -g 0
check "the agent has mapped doorbell pages" not same_hca

step "suspend"
# Its doorbell pages may be in the guest's reach, so its context is parked, and the
# supervisor guards the verbs files of the worker that goes.
check "a process has been there" guest_sh a 'ibv_devinfo >/dev/null'
again "doorbells ring after a checkpoint" checkpoint a
check "of the worker before only files are kept" wait_until 20 keeps 1
hold_start a
again "doorbells ring after a restore" resume_with a "${HCAS%% *}"
# It rings once more before it ends.
check "a program that rings a dead doorbell ends" guest_sh -t 30 a '
	pkill -TERM -x vhca-uar
	for ((i = 0; i < 100; i++)); do
		pgrep -x vhca-uar >/dev/null || exit 0
		sleep 0.1
	done
	exit 1'
kill "${hold[a]}" 2>/dev/null || true
check "the HCA refused no doorbell" [ "$(refused)" = "$before" ]

step "what is left"
load_end a
vhcactl detach a all
ledger_close a
hca_ledger_close
kernel_clean a
guest_destroy a
check "no memory of dead workers is kept" wait_until 20 keeps 0
