#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Allocations fail, in the kernels of a guest and of dom0, while a device is met, while
# objects are made and destroyed and while queues are mapped: programs get errors,
# then all works again, and nothing is lost.
# by-hand: needs a kernel that can be told to fail (make check-debug)
# limit: 1200
. ./lib.sh
. ./vhca.sh
. ./faults.sh

step "a PV and a PVH guest"
backend_start
guest_create a pv
guest_create b pvh
ledger_open a b
vhca_attach_all a b

step "in a process's verbs"
faults_in_verbs a b

step "while a device is met and left"
faults_in_meeting a rxe0
faults_in_meeting b rxe0

step "in the worker's system calls"
faults_in_worker a
check "a works" works a
check "b did not notice" works b

guests_end_clean a b
