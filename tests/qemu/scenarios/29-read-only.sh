#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Memory that its process can only read is registered in a guest as natively on the
# same kernel: from Linux 6.3 on it can be, and then it is granted read-only. Xen
# counts: it prints the entries of the guest's grant table that are mapped, each with
# its flags. Before 6.3 such a region is refused, natively and in the guest.
# limit: 300
. ./lib.sh
. ./vhca.sh

PAGES=24
GTF_READONLY=4

# since63: is this kernel one that pins such memory?
since63() {
	local major minor
	IFS=.- read -r major minor _ < <(uname -r)
	[ "$major" -gt 6 ] || { [ "$major" = 6 ] && [ "$minor" -ge 3 ]; }
}

# granted DOMID read-only|writable: entries of its grant table that are mapped.
granted() {
	local line flags n=0 want=0
	[ "$2" != read-only ] || want=$GTF_READONLY
	xl dmesg -c >/dev/null
	xl debug-keys g
	wait_until 10 bash -c 'xl dmesg | grep -q "all ] done"' || return 1
	xl dmesg >"$SCENARIO_DIR/grants.$2"
	while read -r line; do
		flags=$((${line##* }))
		[ $((flags & GTF_READONLY)) != "$want" ] || n=$((n + 1))
	done < <(awk -v d="$1" '/grant-table for remote d/ { on = ($0 ~ " d" d "[^0-9]") }
		on && /\[0x[0-9a-f]+\]/ { print }' "$SCENARIO_DIR/grants.$2")
	echo "$n"
}

guest_config a pv >/dev/null
guests_start a
backend_start
ledger_open a
vhca_attach_all a

step "natively and in the guest"
check "natively" bash -c "vhca-readonly 1 >/tmp/native"
check "in the guest" bash -c "$(declare -p AGENT_PORT); vhca-agent -t 120 \
	$(guest_ip a) $AGENT_PORT vhca-readonly 1 >/tmp/guest"
diff /tmp/native /tmp/guest || true
cat /tmp/guest
xl debug-keys g; xl dmesg | tail -n 60

guests_end_clean a
