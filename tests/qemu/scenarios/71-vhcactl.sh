#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What an operator does with vhcactl beside attach and detach: check the host,
# change a quota, watch the devices, feed Prometheus.
# limit: 300
. ./lib.sh
. ./vhca.sh

qp_limit() { vhcactl quota --json a 0 | jq -e ".\"max-qp\".value == $1"; }
served_limit() { vhcactl stats --json a 0 | jq -e ".objects.qp.max == $1"; }
verdict() { (vhcactl check --json || true) | jq -e ".[] | select(.check == \"$1\") | .verdict == \"$2\""; }
rate_seen() {
	local r=0 load
	for _ in 1 2 3 4 5; do guest_sh a 'ibv_devinfo -v >/dev/null'; done &
	load=$!
	vhcactl top --json -n 6 -d 1 |
		jq -es 'map(.devices[0].cmds_per_s // 0) | max > 0' || r=$?
	wait "$load" || r=$?
	return "$r"
}

step "before the backend runs"
backend_stop
rxe_setup
check "the host is not fit" bash -c 'vhcactl check; [ $? = 1 ]'
check "xen-vhcad is missed" verdict xen-vhcad fail

step "a guest with a device"
backend_start
guest_create a "$(long pv pvh)"
vhca_attach a max-pinned-mb=64
check "the host is fit (0, or 5: warnings)" bash -c 'vhcactl check; [ $? = 0 ] || [ $? = 5 ]'
check "xen-vhcad is seen" verdict xen-vhcad ok
check "the helper is seen" verdict xen-vhca-helper ok
check "rxe0 is taken" verdict "hca rxe0" ok
check "its port is active" verdict "port rxe0" ok
check "its kernel is new enough" verdict "kernel rxe0" ok
check "no guest has memory windows" verdict "windows rxe0" ok
check "a software HCA has no PCI address" bash -c \
	'! xenstore-exists "/libxl/$(xl domid a)/device/vhca/0/pci"'

step "what does not fit into maptrack"
check "is refused, with the reason" bash -c \
	'vhcactl attach a hca=rxe0,max-pinned-mb=1048576 2>&1 | grep "max-pinned-mb 1048576 beside 64 of other devices"'
check "check tells it" verdict gnttab_max_maptrack_frames warn
check "it is detached" vhcactl detach -f a 1
check "then all is well" verdict gnttab_max_maptrack_frames ok

# The guest ends the old device when it has the time, in the nodes of the new one.
step "a number that is free again is taken at once"
for n in 1 2 3 4; do
	check "$n: one that is refused" not command vhcactl attach a hca=rxe0,max-pinned-mb=1048576
	check "$n: is detached" vhcactl detach -f a 1
	check "$n: the next one connects" vhcactl attach a hca=rxe0,max-pinned-mb=64
	check "$n: it is device 1, and is detached" vhcactl detach a 1
done

# Linux retains a device whose nodes were gone before its driver could read them.
step "a number that the guest has a device of, without a driver"
check "the one before is gone there, too" wait_guest 20 a '[ ! -e /sys/bus/xen/devices/vhca-1 ]'
xenstore-write "/local/domain/$(guest_domid a)/device/vhca/1/state" 1
check "it has the device" wait_guest 20 a 'ls /sys/bus/xen/devices/vhca-1'
check "its driver could not read it" wait_guest 20 a 'dmesg | grep "talk_to_otherend on device.vhca.1 failed"'
check "attach takes the number, and connects" bash -c \
	'vhcactl attach --json a hca=rxe0,max-pinned-mb=64 | jq -e ".devid == 1"'
check "it is detached" vhcactl detach a 1

step "quota"
check "the default is shown" qp_limit 2048
check "out of range" bash -c 'vhcactl quota a 0 max-qp=0 2>&1 | grep "max-qp=0: a number 1..65535"'
check "change" vhcactl quota a 0 max-qp=7
check "it is configured" qp_limit 7
check "a connected guest keeps the old one" served_limit 2048
check "the guest reloads its driver" guest_sh a 'modprobe -r xen-vhcafront && modprobe xen-vhcafront'
check "connected again" wait_until 20 connected a 0
check "now it is in force" wait_until 5 served_limit 7
check "back to the default" vhcactl quota a 0 max-qp=default
check "it is configured" qp_limit 2048

step "top and stats"
check "top prints rounds" bash -c '[ "$(vhcactl top -b -d 1 -n 3 | grep -c "^ .* a .*rxe0")" = 3 ]'
check "top --json is one object a line" bash -c 'vhcactl top --json -n 2 -d 1 | jq -es "length == 2 and .[1].devices[0].hca == \"rxe0\""'
check "top knows a rate of commands under load" rate_seen
check "OpenMetrics ends with EOF" bash -c '[ "$(vhcactl stats --openmetrics | tail -1)" = "# EOF" ]'
check "OpenMetrics counts commands" bash -c \
	"vhcactl stats -o | grep -E '^vhca_commands_total\\{domid=\"[0-9]+\",devid=\"0\",hca=\"rxe0\"\\} [1-9]'"

# Natively each of them waits a second, beside the others. A dummy has no neighbours once
# it asks for them.
THREADS=$(long 24 60)
step "$THREADS threads make address handles for nobody"
ip link set d0 arp on
guest_sh a 'vhca-held ah '"$THREADS"' >/tmp/held 2>&1 & sleep 0.3' # measured
begin=$SECONDS
check "another process opens the device" guest_sh -t 100 a 'ibv_devinfo -d vhca0 >/dev/null'
opened=$((SECONDS - begin))
check "the threads end" wait_guest 120 a 'grep made /tmp/held'
ended=$((SECONDS - begin))
check "natively they are refused" bash -c 'vhca-held ah 1 >/tmp/held; grep "made 0 of 1" /tmp/held'
check "in the guest with the same error" guest_sh a \
	"grep 'made 0 of $THREADS:$(cut -d: -f2 /tmp/held)' /tmp/held"
check "who opened it, in $opened s, did not wait for half of them, which took $ended s" \
	[ $((2 * opened)) -lt $ended ]
ip link set d0 arp off
check "the device lives" guest_sh a 'ibv_devinfo -d vhca0 | grep PORT_ACTIVE'

# A process stands in a page fault in a verb: ib_core waits for it.
step "a device is taken away while a verb of it waits"
guest_sh a 'vhca-held fault >/tmp/held 2>&1 &'
check "a process calls a verb whose arguments are not there" wait_guest 20 a 'grep held /tmp/held'
check "detach -f" vhcactl detach -f a 0
check "the guest removes the device" wait_guest 20 a '[ ! -e /sys/bus/xen/devices/vhca-0 ]'
check "the process still waits" guest_sh a '! grep ended /tmp/held && pgrep -x vhca-held'
check "another device comes" vhcactl attach -w "$(seconds 30)" a hca=rxe0,max-pinned-mb=64
check "and is detached" vhcactl detach a 0
check "the page comes, the verb ends" guest_sh a 'kill $(pgrep -x vhca-held); while pgrep -x vhca-held; do sleep 0.3; done; grep ended /tmp/held'
check "nothing is left of the device" wait_guest 40 a '[ -z "$(ls /sys/class/infiniband)" ]'
check "no kernel complains" guest_sh a '! dmesg | grep -E "WARNING:|BUG:"'
vhca_attach a max-pinned-mb=64

step "detach"
check "detach tells what it removed" bash -c 'vhcactl detach --json a all | jq -e "length == 1 and .[0].devid == 0"'
