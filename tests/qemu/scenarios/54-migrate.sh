#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A PVH guest migrates live while a peer writes into its registered memory: all that
# was acknowledged has moved with it, its program hears that the device died, and the
# next one works on the new side. A migration that fails late resumes at the source, one
# that fails early is not noticed. Both sides are this machine.
# limit: 600
# tier: soak
# xl: patched
. ./lib.sh
. ./vhca.sh
. ./suspend.sh
. ./create.sh

PATH=/usr/lib/xen-vhca/bin:$PATH

# migrate ARGUMENT...: of guest a, to this machine.
migrate() { xl migrate -s '' "$@" >"$SCENARIO_DIR/xl.migrate" 2>&1; }

# stamps_start: dom0 writes into memory of guest a.
stamps_start() {
	spoilt a
	guest_sh a 'rm -f /tmp/go /tmp/stamps
		setsid vhca-stamps 1 /tmp/go </dev/null >/tmp/stamps 2>&1 &'
	wait_guest 30 a grep -q listens /tmp/stamps || return 1
	vhca-stamps 1 --to "$(guest_ip a)" >/tmp/peer 2>&1 &
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

step "a PVH guest"
backend_start
guest_create a pvh 'vhca = [ "hca=rxe0" ]'
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
load_start a

step "a migration that fails when the guest has moved"
sed 's/hca=rxe0/hca=rxe7/' "$GUEST_RUN/a.cfg" >/run/guest/other.cfg
old=$(guest_domid a) n=$(load_number a)
check "xl migrate fails" not migrate -C /run/guest/other.cfg a 'xl migrate-receive'
check "because that HCA is not there" grep -q 'rxe7' "$SCENARIO_DIR/xl.migrate"
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
check "no verbs object is left" no_objects
kernel_clean
