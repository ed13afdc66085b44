#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Management datagrams on an InfiniBand fabric with opensm: what saquery, perfquery,
# ibping and sminfo say in dom0 they say in guests with umad=query and umad=all; query
# changes nothing; two guests use the same transaction ids at once; a program that is
# killed and a device that goes leave nothing. A guest without the key has no umad0.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh

TOOLS='saquery perfquery ibping sminfo'

# tools_to GUEST: the programs, with libraries that guests do not have.
tools_to() {
	local f files=()
	for f in $TOOLS; do
		files+=("$(command -v "$f")")
	done
	for f in "${files[@]}"; do
		LD_TRACE_LOADED_OBJECTS=1 "$f" | awk '$3 ~ /^\// { print $3 }'
	done | sort -u >/tmp/libs
	while read -r f; do
		guest_sh "$1" "[ -e '$f' ]" </dev/null || files+=("$f")
	done </tmp/libs
	for f in "${files[@]}"; do
		guest_sh "$1" "mkdir -p '${f%/*}'" </dev/null
		guest_put "$1" "$f" "$f"
		guest_sh "$1" "chmod 755 '$f'" </dev/null
	done
}
# plain: what an output says, without what changes from one question to the next.
plain() { sed -e 's/\.[0-9]*$/./' -e 's/activity count [0-9]*/activity count/'; }
# same GUEST CLAIM PROGRAM OPTION...: ends and says as in dom0.
same() {
	local g=$1 claim=$2 n rc=0
	local program=$3
	shift 3
	n=$SCENARIO_DIR/$program.$((++outputs))
	timeout "$(seconds 30)" "$program" -C mlx5_0 "$@" >"$n.native" 2>"$n.err" ||
		fail "$program $* in dom0: $(cat "$n.err")"
	guest_sh -t 60 "$g" "$program -C vhca0 $*" >"$n.guest" 2>"$n.err" || rc=$?
	[ "$rc" = 0 ] || cat "$n.err"
	check "$g: $claim" [ "$rc" = 0 ]
	check "$g: it says the same" diff <(plain <"$n.native") <(plain <"$n.guest")
}
outputs=0
umad_files() { find "/proc/$(worker_pid "$1" 0)/fd" -lname '*/umad*' | wc -l; }
no_umad_files() { [ "$(umad_files "$1")" = 0 ]; }
has_umad_files() { [ "$(umad_files "$1")" -gt 0 ]; }
has_umad() { wait_guest 20 "$1" '[ -e /dev/infiniband/umad0 ]'; }

step "a fabric"
fabric_start
agent_start
backend_start
guest_create a pv &
guest_create b pv
wait $!
for g in a b; do
	guest_sh "$g" 'rmmod ib_umad 2>/dev/null || true'
	tools_to "$g"
done
lid0=$(($(cat /sys/class/infiniband/mlx5_0/ports/1/lid)))
lid=$(($(cat /sys/class/infiniband/mlx5_1/ports/1/lid)))

step "without the key"
vhca_attach a hca=mlx5_0
check "there is no umad0" guest_sh a '! ls /dev/infiniband/umad* 2>/dev/null'
vhcactl detach a 0

step "guests with umad=query and umad=all"
vhca_attach a hca=mlx5_0,umad=query
vhca_attach b hca=mlx5_0,umad=all
for g in a b; do
	check "$g has a umad0" has_umad "$g"
	# shellcheck disable=SC2016 # for the guest's shell
	check "$g: sysfs has what libibumad reads" guest_sh "$g" \
		'cd /sys/class/infiniband_mad && [ "$(cat abi_version)" = 5 ] &&
		[ "$(cat umad0/ibdev umad0/port)" = "$(printf "vhca0\n1")" ]'
	check "$g has no issm0" guest_sh "$g" '! ls /dev/infiniband/issm* 2>/dev/null'
done

step "programs"
for g in a b; do
	same "$g" "saquery: nodes, an answer of several datagrams" saquery
	same "$g" "saquery: paths" saquery PR
	same "$g" "saquery: one answer" saquery CPI
	same "$g" "perfquery" perfquery "$lid" 1
done
ibping -S -C mlx5_1 &
server=$!
wait_until 10 has_open "$server" /dev/infiniband/umad*
for g in a b; do
	check "$g: ibping to another HCA" guest_sh -t 40 "$g" \
		"ibping -C vhca0 -c 3 -L $lid"
done
kill "$server"
wait "$server" || true

step "what query refuses, and all does not"
same b "sminfo" sminfo
# Their own status is 255, as that of a guest that is lost.
check "a: sminfo is refused" guest_sh -t 40 a '! sminfo -C vhca0'
check "a: Set and SMPs: not permitted" guest_sh a \
	"vhca-mads -s $lid | tee /dev/stderr | grep -c 'not permitted' | grep -x 2"
check "b: Set and SMPs: sent" guest_sh b \
	"vhca-mads -s $lid | tee /dev/stderr | grep -c 'Success' | grep -x 2"
check "a: perfquery does not reset counters" guest_sh -t 40 a \
	"! perfquery -C vhca0 -R $lid 1"
check "b: perfquery does" guest_sh -t 40 b "perfquery -C vhca0 -R $lid 1"
check "xen-vhcad says what it refused" grep -q 'class 0x04, method 0x02 is refused' \
	/run/vhcad.log
guest_sh -t 60 b 'timeout 50 ibping -S -C vhca0' >/dev/null 2>&1 &
server=$!
check "b: ibping from another HCA is answered" wait_until 30 \
	timeout "$(seconds 5)" ibping -C mlx5_1 -c 1 -L "$lid0"
guest_sh b 'pkill -x ibping'
wait "$server" || true

step "the same transaction ids at once"
n=$(long 200 2000)
guest_sh -t 120 a "vhca-mads -u $lid 1001 $n" >/tmp/mads.a 2>&1 &
one=$!
guest_sh -t 120 b "vhca-mads -u $lid 1002 $n" >/tmp/mads.b 2>&1 &
other=$!
check "dom0 has its own answers" timeout "$(seconds 60)" vhca-mads "$lid" 1003 "$n"
rc=0
wait "$one" || rc=$?
tail -n 3 /tmp/mads.a
check "a has its own answers, with its ids" [ "$rc" = 0 ]
wait "$other" || rc=$?
tail -n 3 /tmp/mads.b
check "b has its own answers, with its ids" [ "$rc" = 0 ]

step "ends"
guest_sh -t 60 a "vhca-mads -w $lid" >/tmp/mads.a 2>&1 &
one=$!
check "a: a program waits for an answer" wait_until 20 grep -q waits /tmp/mads.a
check "a: its worker has a file" has_umad_files a
guest_sh a 'pkill -KILL -x vhca-mads'
wait "$one" || true
check "a: it was killed, and its worker has none" wait_until 10 no_umad_files a
guest_sh -t 60 a "vhca-mads -w $lid" >/tmp/mads.a 2>&1 &
one=$!
wait_until 20 grep -q waits /tmp/mads.a || fail "it does not wait"
vhcactl detach a 0
check "a: the device goes: its program ends with an error of input" wait "$one"
check "a: and umad0 with it" guest_sh a '! ls /dev/infiniband/umad* 2>/dev/null'

step "the guest's own ib_umad"
check "b: it does not load beside the vhca's" guest_sh b '! modprobe ib_umad'
guest_sh a 'modprobe ib_umad'
vhca_attach a hca=mlx5_0,umad=query
check "a: where it is, the vhca has none, and the log says why" wait_guest 10 a \
	'dmesg | grep "module ib_umad has that name"'
vhcactl detach a 0
guest_sh a 'rmmod ib_umad'
vhca_attach a hca=mlx5_0,umad=query
check "a: without it the vhca's is there again" has_umad a
same a "saquery: nodes" saquery

step "two vhcas in one guest"
vhca_attach a hca=mlx5_1,umad=query
# numbered: each umad file is that of the device with its number.
numbered() {
	# shellcheck disable=SC2016 # for the guest's shell
	guest_sh a 'cd /sys/class/infiniband_mad &&
		[ "$(cat umad0/ibdev umad1/ibdev)" = "$(printf "vhca0\nvhca1")" ]'
}
reloaded() {
	guest_sh a 'modprobe -r xen-vhcafront && modprobe xen-vhcafront'
	wait_until 20 numbered
}
check "umad0 is of vhca0, umad1 of vhca1" wait_until 20 numbered
for n in 1 2; do
	check "and again ($n)" reloaded
done
check "vhca0 alone connects again" comes_back a 0
check "and has its number" wait_until 20 numbered
a_asks() { guest_sh -t 60 a "saquery -C $1" >/dev/null; }
for d in vhca0 vhca1; do
	check "a: saquery by $d" a_asks $d
done

step "the end"
vhcactl detach a all
vhcactl detach b all
pkill -x opensm
kernel_clean a b
