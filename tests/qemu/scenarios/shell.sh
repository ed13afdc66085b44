# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Preparation of "make shell": the backend in dom0, a PV and a PVH guest, a
# vhca in each.
. /tests/qemu/lib/lib.sh
. /tests/qemu/lib/vhca.sh
checks=1
step "starting the backend and two guests (half a minute or more)"
guests_with_vhca pv g1 pvh g2
guest_sh g1 ibv_devices
cat <<-EOT

	g1 (PV, $(guest_ip g1)) and g2 (PVH, $(guest_ip g2)) have a vhca each. Try:
	  . vhca.sh; pair ping-pong g1 g2 'ibv_rc_pingpong -g 1'; cat /tmp/pair.c
	  vhcactl list; vhcactl stats g1 0; rdma res
EOT
