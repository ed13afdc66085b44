#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A model HCA passed through to a PV utility domain behind an IOMMU: guests and
# dom0 ring its doorbells themselves, since the agent in dom0 maps them what is
# that domain's, and refuses it the pages of the HCA that dom0 kept. All of it
# again with a new utility domain, under the same guests.
# tier: soak
# limit: 200
# processors: 2
# hca: yes
# xen: iommu=no-intremap
# qemu: -machine kernel-irqchip=split -device intel-iommu,intremap=off,aw-bits=48 -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./utility.sh

# The HCAs, in the order of their addresses: that of hca0, then that of hca1.
hcas() { grep -l 0x15b3 /sys/bus/pci/devices/*/vendor | cut -d/ -f6; }

native=${HCAS%% *}
driver=${native%_*}
BAR=0	# that has the doorbells
[ "$driver" = mlx5 ] || BAR=2

# page BDF N: frame of a page of that BAR.
page() {
	local start
	read -r start _ < <(sed -n $((BAR + 1))p "/sys/bus/pci/devices/$1/resource")
	printf '0x%x' $(((start >> 12) + $2))
}

# hcadom_hca: the HCA's driver.
hcadom_hca() {
	hcadom_modules "${driver}_ib"
	hcadom_sh "modprobe ib_uverbs
		wait_until 30 grep -q ACTIVE \
			/sys/class/infiniband/$native/ports/1/state" ||
		fail "hcadom cannot use the HCA: $(guest_sh hcadom 'dmesg | tail -n 5')"
}

# asked DEVICE-DIR FRAME: what the agent answers when hcadom asks for it, by a list in
# place of its worker's.
asked() {
	local dir=$1/doorbell n
	n=$(date +%s%N)
	guest_sh hcadom "xenstore-write $dir/requests '$n 1000 map $2 0x0 0x1'"
	wait_until 10 has_answer "$dir" "$n" || true
	xenstore-read "$dir/answers" | sed "s/^$n //"
}
has_answer() { [[ $(xenstore-read "$1/answers") == "$2 "* ]]; }
answers() {
	local answer
	answer=$(asked "$2" "$3")
	[ "$answer" = "$1" ] || note "the agent answers '$answer'"
	[ "$answer" = "$1" ]
}

# programs REFUSED: how many doorbells were refused before, and are after them.
programs() {
	pair "guest to guest: ibv_rc_pingpong" a b "ibv_rc_pingpong -g 0 -n 300"
	pair "guest to guest: ib_write_lat" a b "ib_write_lat -F -s 8 -n 200"
	with_dom0 "dom0 to guest: ib_write_lat" a "ib_write_lat -F -s 8 -n 200"
	check "a register that is not theirs was never rung" \
		[ "$(hca_get hca0 doorbells-refused)" = "$1" ]
}

is_connected() { [ "$(xenstore-read "$1/state")" = 4 ]; }

step "an HCA for hcadom, the other one stays"
bdf=$(hcas | head -n 1)
other=$(hcas | tail -n 1)
note "$bdf for hcadom, $other for dom0"
modprobe xen-pciback
check "pci-assignable-add" xl pci-assignable-add "$bdf"
guest_config hcadom pv mem=512 "pci = [ \"$bdf\" ]" >/dev/null
guest_config a pv >/dev/null
guest_config b pv >/dev/null
guests_start hcadom a b
modprobe -a "${driver}_ib" ib_uverbs
check "dom0 has the other one" wait_until 30 \
	test -d "/sys/bus/pci/devices/$other/infiniband"
check "and only that" [ ! -e "/sys/bus/pci/devices/$bdf/infiniband" ]
hcadom_hca

step "devices for the guests and for dom0"
agent_start
hcadom_daemon
ends_open a b
hcadom_attach "hca=$native,pci=$bdf,max-pinned-mb=64" a b Domain-0
check "vhcactl check in hcadom finds it fit" hcadom_check
check "it sees the HCA" hcadom_says "ok   hca $native: ${driver}_core .*provider $driver"
check "how much of xenstored's quota they take" hcadom_says \
	'ok   xenstore-quota: 3 devices take 12 watches and at most 45 nodes'
check "the agent is not looked for" hcadom_says 'ok   xen-vhca-doorbelld: runs in the control'
programs 0
check "the agent mapped doorbell pages" \
	grep -q "^map " /run/xen-vhca-doorbelld/state

step "hcadom asks for what is not its own"
dev=$(hcadom_nodes)/$(guest_domid a)/0
check "a page of dom0's HCA is refused" \
	answers "refused not in a BAR of the HCA" "$dev" "$(page "$other" 300)"
check "dom0's memory is refused" \
	answers "refused not in a BAR of the HCA" "$dev" 0x1000
vhcactl attach -w 0 b \
	"hca=$native,backend=hcadom,pci=$other,max-pinned-mb=64"
dev=$(hcadom_nodes)/$(guest_domid b)/1
# A worker that starts removes what an earlier one asked for.
wait_until 20 is_connected "$dev" || note "it is not connected"
check "also for a device that names dom0's HCA" \
	answers "refused the HCA is not assigned to this backend domain" \
	"$dev" "$(page "$other" 300)"
vhcactl detach -f b 1

step "a new hcadom"
xl destroy hcadom
guest_start hcadom
hcadom_hca
hcadom_daemon
check "the devices come back" vhcactl reattach
# The death of the first hcadom may be seen there, not the guests' programs.
programs "$(hca_get hca0 doorbells-refused)"

step "detach"
for g in a b Domain-0; do
	check "$g" vhcactl detach $g all
done
ends_close a b
kernel_clean a b hcadom
