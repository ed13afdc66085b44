#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# UCX has the HCA match tags (UCX_RC_MLX5_TM_ENABLE) in a guest as natively: messages that
# are copied, and long ones by rendezvous, on a model of a ConnectX-5.
# limit: 900
# tier: soak
# hca: yes
# programs: yes
# qemu: -device connectx4,id=hca0,lid=1,tag-matching=on -device connectx4,id=hca1,lid=2,tag-matching=on
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh

declare -A DEVICE=([dom0]=mlx5_0 [a]=vhca0 [b]=vhca0)
# Its default is 4,096 buffers of 48 KiB for each process.
UCX="UCX_IB_MLX5_DEVX=n UCX_TLS=rc_mlx5,ud_mlx5,self UCX_RC_MLX5_TM_ENABLE=y \
	UCX_RC_MLX5_TM_SEG_SIZE=8k UCX_RC_MLX5_TM_MP_SRQ_ENABLE=n"
PORT=13337

serves() { at "$1" "grep -q '$(printf :%04X $PORT) .* 0A ' /proc/net/tcp"; }
# ucx WHERE ADDRESS TEST...: client and server there; /tmp/srqs: what they have in dom0.
ucx() {
	local where=$1 server rc=0 run="$UCX UCX_NET_DEVICES=${DEVICE[$1]}:1 ucx_perftest"
	at "$where" "timeout $(seconds 90) env $run -p $PORT" >/tmp/ucx.s 2>&1 &
	server=$!
	wait_until 20 serves "$where" || { cat /tmp/ucx.s; return 1; }
	at "$where" "timeout $(seconds 60) env $run 127.0.0.1 -p $PORT -n 100 -w 10 ${*:2}" \
		>/tmp/ucx.c 2>&1 &
	wait_until 30 has_tags || rc=1
	wait $! || rc=1
	wait "$server" || rc=1
	grep -h ERROR /tmp/ucx.[sc] && rc=1
	tail -n 1 /tmp/ucx.c
	return "$rc"
}
has_tags() { rdma resource show srq | grep -i 'type tm' | tee /tmp/srqs; }
tests() { # tests WHERE PATTERN: of a line of its SRQ, whose "comm" is not always right
	check "$1: messages that are copied" ucx "$1" -t tag_lat -s 256
	cat /tmp/srqs
	check "$1: an SRQ matches their tags" grep -q "$2" /tmp/srqs
	check "$1: long ones" ucx "$1" -t tag_bw -s 100000
}

step "natively"
archive_setup programs
hca_setup
tests dom0 'pid [0-9]'

step "in a guest"
# shellcheck disable=SC2034 # of vhca.sh
VHCA_KEYS=max-pinned-mb=256
hca_guests pv a pv b
tests a "pid $(worker_pid a 0) "
vhcactl detach a all
kernel_clean a b
