#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 63-doorbell-isolation, on models of a ConnectX-3, which refuse a doorbell of another page
# as a ConnectX-4 does. Whether a card does is not known: 63-doorbell-unchecked-mlx4.
# skip-ok: no time is left for it
# limit: 420
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
# shellcheck source=tests/qemu/scenarios/63-doorbell-isolation.sh
. ../scenarios/63-doorbell-isolation.sh
