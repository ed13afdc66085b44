#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A polled data path on an HCA with doorbell pages makes no work for anybody
# but the HCA: while two guests exchange writes no command, kick, event or
# interrupt of a vhca happens, in the guests, in the daemon or in dom0's
# kernel, the programs make no system call, no event channel is notified, and
# the HCA's driver gives no command.
# limit: 420
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./zero.sh

WRITES=$(long 1000 10000)
GATE=/tmp/gate

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

step "a PV and a PVH guest, each with an HCA"
hca_guests pv a pvh b
check "dom0 shows the workers' event channels" grep -q vhcad /proc/interrupts

step "two programs, connected and warm"
: >/tmp/quiet.a
: >/tmp/quiet.b
guest_sh -t 400 a "vhca-uar -w $GATE quiet $WRITES" >/tmp/quiet.a 2>&1 &
server=$!
guest_sh -t 400 b "vhca-uar -w $GATE quiet $WRITES $(guest_ip a)" \
	>/tmp/quiet.b 2>&1 &
client=$!
check "both are ready" said ready 90
check "nothing moves any more" wait_until 20 settled
sq0=$(hca_get hca0 doorbells-sq)
sq1=$(hca_get hca1 doorbells-sq)

step "$WRITES writes to and fro"
guest_sh a "touch $GATE"
guest_sh b "touch $GATE"
check "both are done" said "done" 300
sq0=$(($(hca_get hca0 doorbells-sq) - sq0))
sq1=$(($(hca_get hca1 doorbells-sq) - sq1))
snapshot >/tmp/after
guest_sh a "rm $GATE"
guest_sh b "rm $GATE"
rc=0
wait "$server" || rc=$?
wait "$client" || rc=$?
cat /tmp/quiet.a /tmp/quiet.b

step "who worked"
note "doorbells: $sq0 at hca0, $sq1 at hca1"
check "the HCAs: a doorbell for each write" \
	[ "$sq0" -ge $WRITES -a "$sq1" -ge $WRITES ]
check "nobody else in the guests" [ "$rc" = 0 ]
for g in a b; do
	check "$g: all its vhca's counters are as before" \
		grep -q '^[1-9][0-9]* counters of the vhca have not moved$' \
		/tmp/quiet.$g
	check "$g: no system call, no page fault, no notification" grep -q \
		'^traced: 0 system calls .* 0 page faults; .*: 0 of the vhca' \
		/tmp/quiet.$g
done
check "nobody in dom0: workers, their interrupts, commands of the drivers" \
	diff /tmp/before /tmp/after
kernel_clean a b
vhcactl detach a all
vhcactl detach b all
