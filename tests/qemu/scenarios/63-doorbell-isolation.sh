#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A process in one guest rings, at its own doorbell page, for the queue pair
# and the CQ of a process in another guest, on another HCA and on the same one:
# the HCA refuses each doorbell, and neither that process nor traffic beside it
# notices. In either kind of guest a process can map its own doorbell pages and
# nothing else of the HCA.
# tier: soak
# limit: 420
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh

step "a PV and a PVH guest, each with an HCA"
hca_guests pv a pvh b
for g in a b; do
	check "$g: its own pages can be mapped, nothing else" \
		guest_sh -t 60 "$g" 'vhca-uar mmap'
	# The page of an mlx4 is uncached, and there is no other.
	[[ $HCAS != mlx5* ]] || check "$g: so can uncached pages" \
		guest_sh -t 60 "$g" 'MLX5_SHUT_UP_BF=1 vhca-uar mmap'
done

step "traffic in a, all the time"
: >/tmp/traffic.a
guest_sh -t 400 a 'while [ ! -e /tmp/enough ]; do
	vhca-xfer --loop -g 0 --traffic 10 || exit 1; done' >/tmp/traffic.a 2>&1 &
traffic=$!
wait_until 30 grep -q '^t=1 ' /tmp/traffic.a ||
	fail "no traffic in a: $(tail -n 3 /tmp/traffic.a)"
quiet=$(refused hca0)
wait_until 30 grep -q '^t=4 ' /tmp/traffic.a
check "traffic alone has no doorbell refused" [ "$(refused hca0)" = "$quiet" ]

step "b rings for a, from another HCA"
attack a b hca1 hca0

step "b rings for a, on the same HCA"
hca_move b "${HCAS%% *}"
attack a b hca0 hca1
step "a rings for b"
attack b a hca0 hca1
step "b rings for a once more, and dies over it"
hold_start a
read -r qpn cqn < <(held a)
quiet=$(refused hca0)
guest_sh -t 60 b "vhca-uar ring $qpn $cqn 16000000" >/tmp/ring 2>&1 &
ring=$!
check "it rings" wait_until 30 rung_since "$quiet"
guest_sh b 'pkill -KILL -x vhca-uar'
check_not "the program was killed" wait "$ring"
check "a did not notice" hold_end a

step "what is left"
check "a's traffic is still going" kill -0 "$traffic"
guest_sh a 'touch /tmp/enough'
check "a's traffic was never wrong" wait "$traffic"
grep '^t=' /tmp/traffic.a | tail -n 1
check "b can still use its HCA" guest_sh -t 60 b \
	'vhca-xfer --loop -g 0 -t rc-write-4k'
kernel_clean a b
