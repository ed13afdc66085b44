#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Without a toolstack devices come back all the same: after kill -9 of a worker and of the
# supervisor, and a restart of the daemon, under traffic, and after the guest loaded its
# frontend anew. Nothing is left of them. A guest that crashes stays, without its worker,
# once an operator took its device away. On Arm.
# machine: dom0less two-guests
# limit: 480
. ./lib.sh
. ./vhca.sh
. ./dom0less.sh

step "two guests"
guests_up g1 g2
guests_connected g1 g2
ends_and_crash g1 g2
