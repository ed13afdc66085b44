# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Preparation of "make hca-vm": two model HCAs on one wire.
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. /tests/qemu/lib/lib.sh
. /tests/qemu/lib/hca.sh
checks=1
hca_setup
ibv_devinfo | grep -E 'hca_id|guid|state|lid'
cat <<-EOT

	mlx5_0 and mlx5_1 are cabled together. Try:
	  both ibv_rc_pingpong; both ib_write_bw -F
	  vhca-xfer --loop -g 0; ibv_devinfo -v; rdma res
	  hca_set hca0 cable false; hca_get hca0 doorbells-refused
EOT
