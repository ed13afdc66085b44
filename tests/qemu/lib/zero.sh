# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What anybody but the model HCAs has done: counters of the workers of guests a and
# b, interrupts of their event channels, commands of the HCA's driver. Sourced after
# vhca.sh and hca.sh.

# worker_counters GUEST: what its worker did. The file is written anew on USR1.
worker_counters() {
	local file
	file=$RUN_DIR/$(guest_domid "$1")-0.stats
	rm -f "$file"
	kill -USR1 "$(worker_pid "$1" 0)"
	wait_until 10 test -s "$file" || fail "no statistics of $1's worker"
	jq -r '.counters | to_entries[] | "worker \(.key) \(.value)"' "$file" |
		sed "s/^/$1's /"
}

# Interrupts of event channels of the workers, one line each.
worker_irqs() {
	awk '/vhcad/ { n = 0; for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i
		print "interrupts", $1, n }' /proc/interrupts
}

hca_counters() {
	local hca name
	for hca in hca0 hca1; do
		for name in commands irqs doorbells-eq doorbells-refused; do
			echo "$hca $name $(hca_get $hca $name)"
		done
	done
}
snapshot() {
	worker_counters a
	worker_counters b
	worker_irqs
	hca_counters
}
# settled: two looks at the counters agree, what connecting began is over.
settled() { snapshot >/tmp/before && snapshot | cmp - /tmp/before; }
