#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The same probe of every verb runs natively in dom0 and in a PV guest;
# differences must be those that are documented. The guest is trusted, as dom0 is:
# only then has it memory windows.
# skip-ok: no time is left for it
# limit: 420
. ./lib.sh
. ./vhca.sh

backend_start
step "native"
vhca-probe -d rxe0 >/tmp/native.txt || true
check "the native probe ran" [ "$(wc -l </tmp/native.txt)" -gt 60 ]
cp /tmp/native.txt "$SCENARIO_DIR/native.txt"

step "guests"
VHCA_KEYS=trusted=1
guests_with_vhca pv a
for g in a; do
	guest_sh -t 250 "$g" 'vhca-probe' >"$SCENARIO_DIR/$g.txt" || true
	check "$g: same result of every verb as natively, but documented ones" \
		/tests/verbs/compare.sh /tmp/native.txt "$SCENARIO_DIR/$g.txt" \
		/tests/verbs/expected-differences.txt
done
vhcactl detach a all
kernel_clean a
