#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Memory that its process can only read is registered in a guest as natively on the
# same kernel: from Linux 6.3 on it can be, and then it is granted read-only. Xen
# counts: it prints the entries of the guest's grant table that are mapped, with their
# flags and with who maps them how. Before 6.3 such a region is refused, natively and in
# the guest.
# limit: 300
# skip-ok: dom0 and guest have different kernels
. ./lib.sh
. ./vhca.sh

PAGES=24

# pins_read_only: does this kernel pin what it cannot write to?
pins_read_only() {
	local major minor
	IFS=.- read -r major minor _ < <(uname -r)
	[ "$major" -gt 6 ] || { [ "$major" = 6 ] && [ "$minor" -ge 3 ]; }
}

# grant_table GUEST FILE: what of it is mapped, one entry in a line: domain, frame, pin
# count, owner, its frame, flags.
grant_table() {
	xl dmesg -c >/dev/null
	xl debug-keys g
	wait_until 20 bash -c 'xl dmesg | grep -q "gnttab_usage_print_all \] done"'
	xl dmesg >"$2.all"
	awk -v d="$(guest_domid "$1")" '
		/grant-table for remote d/ { on = ($0 ~ "remote d" d "[^0-9]") }
		on && sub(/.*\[0x[0-9a-f]+\] */, "") { print }' "$2.all" >"$2"
}

# entries FILE read-only|writable|writers: how many of them are granted read-only
# (GTF_readonly), how many not; how many of those read-only are mapped to be written
# (the low octet of the pin count).
entries() {
	local pin flags n=0 v
	while read -r _ _ pin _ _ flags; do
		v=writable
		[ $((flags & 4)) = 0 ] || v=read-only
		[ "$v" = writable ] || [ "$2" != writers ] ||
			[ $((pin & 0xff)) = 0 ] || v=writers
		[ "$v" != "$2" ] || n=$((n + 1))
	done <"$1"
	echo "$n"
}

# held PAGES: a process of the guest keeps regions; what is mapped then.
held() {
	local job
	guest_sh -t 150 a "vhca-readonly 1 --hold $PAGES /run/held" &
	job=$!
	wait_guest 30 a test -e /run/held || fail "the regions are not registered"
	grant_table a "$SCENARIO_DIR/held"
	guest_sh a rm /run/held
	wait "$job"
}

step "a guest with a vhca"
backend_start
guest_config a pv >/dev/null
guests_start a
[ "$(guest_sh a uname -r)" = "$(uname -r)" ] ||
	skip "dom0 and guest have different kernels"
ledger_open a
vhca_attach_all a

step "what a process can only read: natively and in the guest"
natively() { vhca-readonly 1 >"$SCENARIO_DIR/native"; }
in_guest() { guest_sh -t 120 a vhca-readonly 1 >"$SCENARIO_DIR/guest"; }
# rxe refuses to change the memory before anybody looks at it; a guest pins it first.
but_rereg() { grep -v '\.rereg_write_part ' "$SCENARIO_DIR/$1"; }
check "it ran natively" natively
check "it ran in the guest" in_guest
sed 's/^/    /' "$SCENARIO_DIR/guest"
check "each result is the native one" \
	diff <(but_rereg native) <(but_rereg guest)

if ! pins_read_only; then
	check "before Linux 6.3 a region of a file that can only be read is refused" \
		grep -qx 'shared_file.reg_mr EFAULT' "$SCENARIO_DIR/guest"
	guests_end_clean a
	exit 0
fi
for m in shared_file private_file private; do
	for r in 'reg_mr ok' 'send ok' 'send_again ok' 'dereg_mr ok' \
		'as_it_was ok' 'reg_mr_local_write EFAULT' \
		'reg_mr_remote_write EFAULT' 'rereg_remote_read ok' \
		'rereg_remote_read.send ok' 'rereg_local_write EACCES' \
		'rereg_write_part EFAULT'; do
		check "$m: $r" grep -qx "$m.$r" "$SCENARIO_DIR/guest"
	done
done

step "Xen's own count of how it is granted"
grant_table a "$SCENARIO_DIR/before"
check "no page is granted read-only before" \
	[ "$(entries "$SCENARIO_DIR/before" read-only)" = 0 ]
held
n=$(entries "$SCENARIO_DIR/held" read-only)
note "$n pages read-only, $(entries "$SCENARIO_DIR/held" writable) not, before" \
	"$(entries "$SCENARIO_DIR/before" writable)"
check "all $PAGES pages of the region that nobody writes to are granted read-only" \
	[ "$n" = $PAGES ]
check "and none of them is mapped to be written" \
	[ "$(entries "$SCENARIO_DIR/held" writers)" = 0 ]
check "those of the other region are not read-only" \
	[ "$(entries "$SCENARIO_DIR/held" writable)" -ge \
	  $((PAGES + $(entries "$SCENARIO_DIR/before" writable))) ]
grant_table a "$SCENARIO_DIR/after"
check "none is left" [ "$(entries "$SCENARIO_DIR/after" read-only)" = 0 ]
guests_end_clean a
