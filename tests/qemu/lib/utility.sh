# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios with a utility domain share: a PV guest, hcadom, that owns the
# HCA and runs the daemon for other guests and for dom0. Sourced after vhca.sh.

# hcadom_sh COMMAND...: there, with functions of lib.sh.
hcadom_sh() {
	guest_sh hcadom "set -e
		fail() { echo \"\$*\" >&2; exit 1; }
		exec {nothing}<> <(:)
		$(declare -f pause wait_until rxe_setup)
		$*"
}

# hcadom_daemon: helper and daemon there. Its log goes to the console, which is
# an artefact. Without hypercalls, as its unit has it.
hcadom_daemon() {
	# shellcheck disable=SC2016
	hcadom_sh 'modprobe xen-vhca-helper
		rm -f /dev/xen/privcmd /dev/xen/hypercall
		setsid bash -c "xen-vhcad --foreground --log-level info 2>&1 |
			tee /run/vhcad.log" </dev/null >/dev/console 2>&1 &
		wait_until 10 grep -q serving /run/vhcad.log'
}

# hcadom_modules MODULE...: loads modules that no guest's image has, and what they need, in
# one stream. Those in arch/ are left out: each is for some processors only.
hcadom_modules() {
	local m have load='' files=()
	have=" $(guest_sh hcadom 'ls /sys/module' | tr '\n' ' ')"
	for m in $(modprobe --show-depends -a "$@" | sed -n '/[/]arch[/]/d; s/^insmod //p'); do
		[[ $have != *" $(basename "$m" .ko | tr - _) "* ]] || continue
		files+=("$m")
		load+="head -c $(stat -c %s "$m") >/tmp/m; insmod /tmp/m; "
		have+="$(basename "$m" .ko | tr - _) "
	done
	cat "${files[@]}" | guest_sh -i hcadom "set -e; $load"
}

hcadom_nodes() { echo "/local/domain/$(guest_domid hcadom)/backend/vhca"; }

# hcadom_check: what vhcactl check says there, in a file; no FAIL.
hcadom_check() {
	guest_sh hcadom 'vhcactl check' >"$SCENARIO_DIR/check.hcadom" || true
	cat "$SCENARIO_DIR/check.hcadom"
	grep -q '^ok   xenstore: domain' "$SCENARIO_DIR/check.hcadom" &&
		! grep '^FAIL' "$SCENARIO_DIR/check.hcadom"
}
hcadom_says() { grep -E "^$1" "$SCENARIO_DIR/check.hcadom"; }

# hcadom_attach SPEC DOMAIN...: a vhca of hcadom for each.
hcadom_attach() {
	local spec=$1,backend=hcadom g
	shift
	for g; do
		check "$g gets a device of hcadom" vhcactl attach "$g" "$spec"
	done
}

# dom0_vhca: the verbs device of dom0 that is a vhca.
dom0_vhca() { basename "$(echo /sys/class/infiniband/vhca*)"; }

# with_dom0 CLAIM GUEST COMMAND: server in the guest, client in dom0 on its vhca.
with_dom0() {
	check "$1" with_dom0_once "$2" "$3"
}
with_dom0_once() {
	local server rc=0 cmd
	read -ra cmd <<<"$2"
	guest_sh -t 60 "$1" "$2" >/tmp/pair.s 2>&1 &
	server=$!
	listens "$1"
	timeout "$(seconds 60)" "${cmd[@]}" -d "$(dom0_vhca)" "$(guest_ip "$1")" \
		>/tmp/pair.c 2>&1 || rc=$?
	wait "$server" || rc=$?
	[ "$rc" = 0 ] || {
		echo "--- server"; tail -n 15 /tmp/pair.s
		echo "--- client"; tail -n 15 /tmp/pair.c
	}
	return "$rc"
}

# ended_with_error NAME STATUS: of a program whose HCA went away.
ended_with_error() {
	check "$1 ends with an error of its own, it does not hang" \
		[ "$2" != 0 -a "$2" != 124 -a "$2" != 255 ]
}

# ends_open GUEST... and ends_close GUEST...: the guests' side of the ledger
# (vhca.sh), and dom0's as a guest.
dom0_end() {
	echo "pinned $(pinned)"
	cat "$DBG_FRONT"/zombies 2>/dev/null || echo zombies 0
	echo "nodes $(xenstore-ls device/vhca 2>/dev/null | grep -c = || true)"
	echo "libxl $(xenstore-ls /libxl | grep -c vhca || true)"
}
same_dom0_end() { dom0_end | tee /tmp/ledger.now | cmp -s /tmp/ledger.dom0.end; }
ends_open() {
	local g
	dom0_end >/tmp/ledger.dom0.end
	for g; do
		guest_ledger_open "$g"
	done
}
ends_close() {
	local g
	check "dom0: no grant, pin or node is left" \
		ledger_settles same_dom0_end /tmp/ledger.dom0.end
	for g; do
		guest_ledger_close "$g"
	done
}

# ---- a utility domain that serves Ethernet, too ----

MAC=00:16:3e:09:00:0	# and a digit

# hcadom_network: the bridge of hcadom, netback for it, and what "xl devd" does there: a new
# interface is put into the bridge, and its frontend may connect; the nodes of one that
# was taken away go.
# shellcheck disable=SC2016 # there
hcadom_network() {
	hcadom_modules xen-netback bridge
	hcadom_sh 'ip link add d0 type bridge forward_delay 0
		rxe_setup
		setsid bash -c "while sleep 0.2; do
			for v in /sys/class/net/vif*; do
				[ -e \$v/device/nodename -a ! -e \$v/master ] || continue
				ip link set \${v##*/} master d0 up
				xenstore-write \$(<\$v/device/nodename)/hotplug-status connected
			done
			xenstore-ls -f backend/vif 2>/dev/null |
				sed -n s,/state.=..6.\$,,p | while read -r v; do
				[ x\$(xenstore-read \$v/online) != x0 ] || xenstore-rm \$v
			done
		done" </dev/null >/dev/null 2>&1 &'
}

# netfront MAC: the interface that has this MAC.
# shellcheck disable=SC2016 # there
NETFRONT='netfront() {
	local i
	for i in /sys/class/net/*; do
		[ "$(<$i/address)" != "$1" ] || echo ${i##*/}
	done
}'
eval "$NETFRONT"
has_netfront() { [ -n "$(netfront "$1")" ]; }

# joins DOMAIN N: a netfront of it, 10.9.0.N.
joins() {
	local up="ip addr replace 10.9.0.$2/24 dev \$(netfront $MAC$2)
		ip link set \$(netfront $MAC$2) up"
	check "$1: xl network-attach" xl network-attach "$1" mac=$MAC"$2" backend=hcadom
	if [ "$1" = Domain-0 ]; then
		check "$1: it has a netfront" wait_until 20 has_netfront "$MAC$2"
		eval "$up"
	else
		wait_guest 20 "$1" "$NETFRONT; [ -n \"\$(netfront $MAC$2)\" ]"
		guest_sh "$1" "$NETFRONT; $up"
	fi
}

# network_guests: hcadom, a and b.
network_guests() {
	guest_config hcadom pv mem=512 'driver_domain = 1' >/dev/null
	guest_config a pv >/dev/null
	guest_config b pv >/dev/null
	guests_start hcadom a b
	modprobe xen-netfront
}

# hcadom_anew: it is destroyed, what it served in dom0 and a goes, and another one starts.
hcadom_anew() {
	xl destroy hcadom
	check "dom0's interface goes" xl network-detach 0 ${MAC}2
	check "and the guest's" xl network-detach a ${MAC}3
	guest_start hcadom
}
