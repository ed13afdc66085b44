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
	sed -n 's/.*"counters":{\([^}]*\)}.*/\1/p' "$file" | tr -d '"' | tr ',' '\n' |
		sed "s/^/$1's worker /"
}

# kicks GUEST: how many its worker has had.
kicks() { worker_counters "$1" | sed -n "s/.* kicks://p"; }

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

# both TEXT: both programs have said it, or one has ended.
both_said() {
	kill -0 "$server" && kill -0 "$client" || return 0
	grep -q "^$1\$" /tmp/quiet.a && grep -q "^$1\$" /tmp/quiet.b
}
# said TEXT: wait for it; else show what they say.
said() {
	wait_until "$2" both_said "$1" && grep -q "^$1\$" /tmp/quiet.a &&
		grep -q "^$1\$" /tmp/quiet.b && return
	tail -n 5 /tmp/quiet.a /tmp/quiet.b
	return 1
}

# zero_work WRITES: guests a and b write to each other as often, and nobody but the HCAs
# works. sq0 and sq1 are the doorbells that hca0 and hca1 counted meanwhile.
zero_work() {
	local g gate=/tmp/gate rc=0
	step "two programs, connected and warm"
	: >/tmp/quiet.a
	: >/tmp/quiet.b
	guest_sh -t 400 a "vhca-uar -w $gate quiet $1" >/tmp/quiet.a 2>&1 &
	server=$!
	guest_sh -t 400 b "vhca-uar -w $gate quiet $1 $(guest_ip a)" \
		>/tmp/quiet.b 2>&1 &
	client=$!
	check "both are ready" said ready 90
	check "nothing moves any more" wait_until 20 settled
	sq0=$(hca_get hca0 doorbells-sq)
	sq1=$(hca_get hca1 doorbells-sq)

	step "$1 writes to and fro"
	guest_sh a ": >$gate"
	guest_sh b ": >$gate"
	check "both are done" said "done" 300
	sq0=$(($(hca_get hca0 doorbells-sq) - sq0))
	sq1=$(($(hca_get hca1 doorbells-sq) - sq1))
	snapshot >/tmp/after
	guest_sh a "rm $gate"
	guest_sh b "rm $gate"
	wait "$server" || rc=$?
	wait "$client" || rc=$?
	cat /tmp/quiet.a /tmp/quiet.b

	step "who worked"
	check "nobody else in the guests" [ "$rc" = 0 ]
	for g in a b; do
		check "$g: all its vhca's counters are as before" \
			grep -q '^[1-9][0-9]* counters of the vhca have not moved$' \
			/tmp/quiet.$g
		check "$g: no system call, no page fault, no notification" grep -q \
			'^traced: 0 system calls .* 0 page faults; .*: 0 of the vhca' \
			/tmp/quiet.$g
	done
	check "nobody beside them: workers, their interrupts, commands of the drivers" \
		diff /tmp/before /tmp/after
}
