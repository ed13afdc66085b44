#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What the owner of a card runs, on a model HCA and on Soft-RoCE: vhca-selftest in dom0
# and in a guest, in a PV guest that has it and in a PVH guest that gets its programs
# copied. All parts are well, hostile ones too, and the report has no address. A part
# that failed is named.
# limit: 900
# tier: soak
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

# selftest GUEST OPTION...: results in the scenario's folder.
selftest() {
	local rc=0
	vhca-selftest run -q -w "${TIME_SCALE:-2}" -o "/tmp/selftest/$1" \
		-g "guest-shell -i -t $(seconds 600) $(guest_ip "$1") $SHELL_PORT" \
		"${@:2}" || rc=$?
	cp -r "/tmp/selftest/$1" "$SCENARIO_DIR/"
	return "$rc"
}
# parts GUEST SIDE VERDICT PART...: they ended so.
parts() {
	local p
	for p in "${@:4}"; do
		grep -q "^$3	$p	" "$SCENARIO_DIR/$1/$2/results" || {
			grep "	$p	" "$SCENARIO_DIR/$1/$2/results"
			return 1
		}
	done
}
# addresses: of dom0 and the guests, as sysfs and ip write them.
addresses() {
	cat /sys/class/net/*/address /sys/class/infiniband/*/node_guid \
		/sys/class/infiniband/*/ports/1/gids/* | grep '[1-9a-e]'
	echo 10.9.0.1
	guest_ip a
	[ -n "${ONLY_MODEL:-}" ] || guest_ip b
}
clean() {
	mkdir -p /tmp/in && rm -rf /tmp/in/* && tar -C /tmp/in -xzf "$1" || return
	! grep -rniF -f <(addresses) /tmp/in
}

# On Soft-RoCE, and a part that fails there.
soft_roce() {
	local rc=0
	step "Soft-RoCE"
	check "all parts are well" selftest b -d rxe0 -H
	check "dom0's were run" parts b host ok facts probe transfers speed guest1 \
		guest1-hostile guest1-beside kernel
	check "b's were run" parts b guest1 ok facts probe transfers speed wild hostile kernel \
		same-verbs ratios
	check "it has no doorbells" parts b guest1 skip pages
	check "the report has no address" clean "$SCENARIO_DIR"/b/vhca-selftest-*.tar.gz
	check "nothing is left in b" guest_sh b '! ls -d /tmp/vhca-selftest.*'

	step "a part that fails"
	vhcactl detach b all
	selftest b -d rxe0 -p transfers >/tmp/failed 2>&1 || rc=$?
	check "the status says so" [ $rc = 1 ]
	check "the part is named" grep '^failed:.* host/guest1' /tmp/failed
	check "with a reason" grep 'this guest has no vhca' "$SCENARIO_DIR/b/host/guest1.txt"
}

mkdir -p /tmp/selftest
step "a PV guest on a model HCA, a PVH guest on Soft-RoCE"
hca_setup
agent_start
backend_start
guest_config a pv ${PROBE_MEM:+mem=$PROBE_MEM} >/dev/null
if [ -n "${ONLY_MODEL:-}" ]; then
	guests_start a
else
	guest_config b pvh >/dev/null
	guests_start a b
	vhca_attach b trusted=1
	guest_sh b 'rm /usr/sbin/vhca-selftest'
fi
vhca_attach a "hca=${HCAS%% *}"

step "the model HCA"
check "all parts are well" selftest a -d "${HCAS%% *}" -e "${HCAS##* }" -H
check "dom0's were run" parts a host ok facts probe transfers cable speed \
	guest1 guest1-hostile guest1-beside kernel
check "doorbells of others are not heard" parts a host ok \
	doorbells-host-to-guest1 doorbells-guest1-to-host
check "a's were run" parts a guest1 ok facts probe transfers pages speed wild hostile \
	kernel same-verbs ratios
sed -n '/^== guest1/,$p' "$SCENARIO_DIR/a/summary.txt"
check "the report has no address" clean "$SCENARIO_DIR"/a/vhca-selftest-*.tar.gz
check "it has lines of our modules" grep -q ' of domain .*provider' \
	/tmp/in/vhca-selftest/guest1/kernel.txt

[ -n "${ONLY_MODEL:-}" ] || soft_roce
vhcactl detach a all
# ONLY_MODEL: there is no b.
if [ -n "${ONLY_MODEL:-}" ]; then
	kernel_clean a
	spoilt a
else
	kernel_clean a b
	spoilt a b
fi
