# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios about live migration share: a guest a, made by the patched xl, that
# migrates to this machine while dom0 writes into its registered memory, a migration that
# fails late, one that fails early, and how long the guest has no vhca. Sourced after
# vhca.sh, suspend.sh and create.sh. Set before:
#
#   MIGRATE_HCA     the guest's HCA
#   MIGRATE_OTHER   an HCA that this machine has not
#   MIGRATE_GID     GID index of the guest's programs and of dom0's
#   MIGRATE_PEER    dom0's HCA, which writes

PATH=/usr/lib/xen-vhca/bin:$PATH

# migrate ARGUMENT...: of guest a, to this machine.
migrate() { xl migrate -s '' "$@" >"$SCENARIO_DIR/xl.migrate" 2>&1; }

# stamps_start: dom0 writes into memory of guest a.
stamps_start() {
	spoilt a
	guest_sh a "rm -f /tmp/go /tmp/stamps
		setsid vhca-stamps $MIGRATE_GID /tmp/go </dev/null >/tmp/stamps 2>&1 &"
	wait_guest 30 a grep -q listens /tmp/stamps || return 1
	vhca-stamps -d "$MIGRATE_PEER" "$MIGRATE_GID" --to "$(guest_ip a)" \
		>/tmp/peer 2>&1 &
	peer=$!
	wait_guest 30 a grep -q ready /tmp/stamps
}

# stamps_moved: the memory in the guest now has all that was acknowledged.
stamps_moved() {
	local acked min max order
	wait "$peer" || return 1
	guest_sh -t 60 a 'touch /tmp/go; for ((i = 0; i < 300; i++)); do
			grep -q found /tmp/stamps && break
			sleep 0.1
		done; cat /tmp/stamps' >"$SCENARIO_DIR/stamps"
	grep -q fatal "$SCENARIO_DIR/stamps" || return 1
	read -r _ acked </tmp/peer
	read -r _ min max order < <(grep found "$SCENARIO_DIR/stamps")
	note "acknowledged $acked, found $min to $max, $order"
	[ "$acked" -gt 2 ] && [ "$order" = ordered ] &&
		[ "$min" -ge "$acked" ] && [ "$max" -le $((acked + 1)) ]
}

# gone DOMID, stopped DOMID, runs_again DOMID, back DOMID: a domain's vhca is given up, it
# does not run, the one after it runs, and has a vhca.
vhca_node() { xenstore-read "/local/domain/$1/device/vhca/0/state" 2>&1; }
gone() { [ "$(vhca_node "$1")" != 4 ]; }
stopped() { [[ $(xl list a 2>&1) == *\ ---s*\ * ]] || [ "$(xl domid a 2>&1)" != "$1" ]; }
runs_again() {
	local dom
	dom=$(xl domid a 2>/dev/null) && [ "$dom" != "$1" ] &&
		[[ $(xl list a 2>/dev/null) =~ \ [r-][b-]----\  ]]
}
back() {
	local dom
	dom=$(xl domid a 2>/dev/null) && [ "$dom" != "$1" ] && [ "$(vhca_node "$dom")" = 4 ]
}

# vhca_absent DOMID FILE: writes there how many ms pass from when that domain gives its
# vhca up until the one after it has one, as xenstore shows it, and how many of them no
# domain of that name runs, as Xen does.
vhca_absent() {
	local what at=() end=$((SECONDS + $(seconds 120)))
	for what in gone stopped runs_again back; do
		until "$what" "$1"; do
			[ $SECONDS -lt $end ] || return 1
			sleep 0.02
		done
		at+=("$(date +%s%3N)")
	done
	echo "without_vhca_ms $((at[3] - at[0])) stopped_ms $((at[2] - at[1]))" >"$2"
}

# down_time MIB: of a guest that has so much memory registered; 0: nothing.
down_time() {
	local watch old
	spoilt a
	[ "$1" = 0 ] || {
		guest_sh a "rm -f /tmp/many
			setsid vhca-many -g $MIGRATE_GID -w 300 region $1 \
				</dev/null >/tmp/many 2>&1 &"
		wait_guest 60 a grep -q held /tmp/many ||
			fail "no region of $1 MiB: $(guest_sh a 'tail -n 3 /tmp/many')"
	}
	old=$(guest_domid a)
	rm -f /tmp/absent
	vhca_absent "$old" /tmp/absent &
	watch=$!
	check "xl migrate, $1 MiB are registered" migrate a 'xl migrate-receive'
	check "the vhca is back" wait_until 60 test -s /tmp/absent
	wait "$watch"
	note "$1 MiB registered: $(cat /tmp/absent)"
	echo "registered_mib $1 $(cat /tmp/absent)" >>"$SCENARIO_DIR/down"
	wait_until 40 guest_sh -t 2 a true || fail "the network is not back"
	[ "$1" = 0 ] || guest_sh a 'pkill -x vhca-many; while pgrep -x vhca-many; do
		sleep 0.1; done'
}

# migrations: the whole scenario, of a guest that gets ready with all that is given.
migrations() {
	local old n mib
	step "a PVH guest"
	backend_start
	guest_create a pvh "$@" "vhca = [ \"hca=$MIGRATE_HCA\" ]"
	check "the device is connected" wait_until 20 connected a 0
	check "dom0 writes into the guest's memory" stamps_start

	step "a live migration"
	old=$(guest_domid a)
	check "xl migrate" migrate a 'xl migrate-receive'
	check "it is another domain" [ "$(guest_domid a)" != "$old" ]
	check "nothing is left of the old one" \
		wait_until 20 not xenstore-exists "/local/domain/0/backend/vhca/$old"
	check "the new one has the device" wait_until 40 connected a 0
	check "the network is back" wait_until 40 guest_sh -t 2 a true
	check "all that was acknowledged has moved" stamps_moved

	step "how long there is no vhca"
	for mib in ${MIGRATE_MIB:-0 16 64}; do
		down_time "$mib"
	done
	load_start a -g "$MIGRATE_GID"

	step "a migration that fails when the guest has moved"
	sed "s/hca=$MIGRATE_HCA/hca=$MIGRATE_OTHER/" "$GUEST_RUN/a.cfg" \
		>/run/guest/other.cfg
	old=$(guest_domid a) n=$(load_number a)
	check "xl migrate fails" \
		not migrate -C /run/guest/other.cfg a 'xl migrate-receive'
	check "because that HCA is not there" \
		grep -q "$MIGRATE_OTHER" "$SCENARIO_DIR/xl.migrate"
	check "the guest is the old domain" [ "$(guest_domid a)" = "$old" ]
	check "its programs go on with a new device" goes_on a "$n"

	step "a migration that fails before"
	n=$(load_number a)
	check "xl migrate fails" \
		not migrate a 'bash -c "head -c 30000000 | xl migrate-receive"'
	check "the guest is the old domain" [ "$(guest_domid a)" = "$old" ]
	check "its program has heard nothing" [ "$(load_number a)" = "$n" ]

	step "what is left"
	load_end a
	check "xl destroy" guest_destroy a
	check "no node is left" wait_until 20 no_node
}
