#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PV guests on model HCAs, whose processes ring the doorbells themselves: what
# runs natively on these HCAs (13-hca-*) runs in the guests.
# limit: 900
# long: yes
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

hca_everything pv
