# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# libfabric's ping-pong between dom0 and guests. Sourced after vhca.sh.

# A server tells its client the address of dom0's first HCA, unless it is to use another one.
FABRIC_HCA=rxe0
fabric_at() { # fabric_at WHERE COMMAND
	if [ "$1" = dom0 ]; then
		FI_VERBS_DEVICE_NAME=$FABRIC_HCA timeout "$(seconds 60)" bash -c "$2"
	else
		guest_sh -t 60 "$1" "$2"
	fi
}
# fabric PROVIDER ENDPOINT SERVER CLIENT ADDRESS: how fi_pingpong ends at both, to $ends.
# Its datagrams take index 0, which is not dom0's GID of that address: GID_IDX.
declare -A GID_IDX=([dom0]=1 [a]=0 [b]=0)
fabric() {
	local server pp="fi_pingpong -p '$1' -e $2 -I 10 -S 64"
	ends=0
	fabric_at "$3" "FI_VERBS_GID_IDX=${GID_IDX[$3]} $pp" >/tmp/fi.s 2>&1 &
	server=$!
	wait_until 20 fabric_at "$3" 'grep -q ":B9E8 .* 0A " /proc/net/tcp /proc/net/tcp6' ||
		note "fi_pingpong does not serve"
	fabric_at "$4" "FI_VERBS_GID_IDX=${GID_IDX[$4]} $pp $5" >/tmp/fi.c 2>&1 || ends=$?
	[ "$ends" = 0 ] || fabric_at "$3" 'pkill -x fi_pingpong' || true
	wait "$server" || ends="$ends $?"
	[ "$ends" = 0 ] || tail -n 3 /tmp/fi.[sc]
}
# ends_as NATIVELY: or well, as two processes that poll on one processor may take longer
# natively than they are given.
ends_as() { [ "$ends" = "$1" ] || [ "$ends" = 0 ]; }
