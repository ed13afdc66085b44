# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A host on which nobody raised a limit of grants, neither Xen's command line nor xl.cfg
# nor an option of xen-vhcad: docs/guide/limits.md. Sourced after vhca.sh. The machine has
# "# xen: gnttab_max_frames=64 gnttab_max_maptrack_frames=1024", what Xen takes without
# them, because the others have more.

# promised GUEST: the largest region, in MiB.
promised() {
	guest_sh "$1" 'v=$(ibv_devinfo -v | awk "/max_mr_size/ { print \$2 }")
		echo $((v >> 20))'
}

region() { guest_sh -t 120 "$1" "vhca-many region $2"; }
no_memory() { (region "$1" "$2" || true) 2>&1 | grep "ibv_reg_mr: ENOMEM"; }
sum_says() { (vhcactl check --json || true) | jq -e ".[] | select(.check == \"gnttab_max_maptrack_frames\") | .verdict == \"$1\""; }

# default_limits MIB: of all guests that this kind of dom0 may map.
default_limits() {
	local g mib all=$1
	# The last one counts.
	BACKEND_ARGS='--maptrack-frames 1024'
	step "two guests whose configuration names no limit"
	VHCA_GUEST_MEM=448
	VHCA_GUEST_CFG=(grants=default)
	guests_with_vhca pv a pvh b
	check "none" not grep -q frames "$GUEST_RUN/a.cfg" "$GUEST_RUN/b.cfg"
	check "vhcactl check has nothing to say of maptrack" sum_says ok

	step "all that the default grant table is said to hold"
	for g in a b; do
		mib=$(promised $g)
		note "guest $g: max_mr_size $mib MiB"
		check "$g: 96 MiB and more" [ "$mib" -ge 96 ]
		check "$g: so much registers" region $g "$mib"
		check "$g: one MiB more does not" no_memory $g $((mib + 1))
		check "$g: the log names the setting" guest_sh $g 'dmesg | grep max_grant_frames'
		check "$g: again" region $g "$mib"
	done

	step "transfers between them"
	pair "ibv_rc_pingpong" a b "ibv_rc_pingpong -g 1 -n 300"
	xfer_between "vhca-xfer: every byte" a b "-q 16 --max-size 1048576"

	step "the entries of maptrack that vhcas may have"
	check "more than $all MiB are refused, with the reason" bash -c \
		"vhcactl attach a hca=rxe0,max-pinned-mb=$((all - 256 + 1)) 2>&1 |
			grep 'max-pinned-mb $((all - 256 + 1)) beside 256 of other devices'"
	check "it is detached" vhcactl detach -f a 1
	check "the last MiB is there" vhcactl attach a hca=rxe0,max-pinned-mb=$((all - 256))
	check "and connects" wait_until 20 connected a 1
	vhcactl detach a all
	vhcactl detach b all
	kernel_clean a b
}
