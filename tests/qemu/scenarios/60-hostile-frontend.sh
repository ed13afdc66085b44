#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Hostile frontends (a program in guests a and c, with the module unloaded) against
# the real backend: their devices are closed with a reason, guest b's traffic and
# the supervisor do not notice, and the module connects again afterwards.
# limit: 420
. ./lib.sh
. ./vhca.sh
. ./hostile_front.sh

# What a backend waits for before it starts a worker again takes most of the time:
# the two guests have half of it each.
first_half() {
	local worker
	step "a: nodes that cannot be"
	check "each closes the device and says why" hostile a nodes
	step "a: the frontend vanishes"
	check "connected, with a memory region, and gone" hostile a vanish
	step "a: a flood of commands, kicks and notifications"
	worker=$(worker_pid b 0)
	check "the backend serves on afterwards" hostile a flood
	check "b's worker is the same" [ "$(worker_pid b 0)" = "$worker" ]
}
second_half() {
	step "c: garbage and lying page lists"
	check "errors are answered, the device serves on" \
		hostile c garbage pages
	step "c: wild producer indices"
	check "each closes the device and says why" hostile c producer
	step "c: states in disorder"
	check "the backend follows" hostile c states
}

step "two PV guests and a PVH guest with a vhca each"
backend_start
guest_config a pv >/dev/null
guest_config b pvh >/dev/null
guest_config c pv >/dev/null
guests_start a b c
ledger_open a b c
vhca_attach_all a b c
hostile_fronts_begin

first_half &
first=$!
second_half &
second=$!
all_well "what a or c does is not endured" "$first" "$second"

hostile_fronts_end
ledger_close b
kernel_clean a b c
spoilt a c
