# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by run and lib.sh: DEBUG_CMDLINE, what a debug kernel (image/debug-kernel.sh)
# is told on its command line, in dom0 and in guests.
#
# slub_debug=-, no_debug_objects, init_on_alloc=0: KASAN has red zones, a quarantine and
#   who allocated; the same by SLUB itself and by debugobjects only takes time.
# preempt=none: synchronize_rcu_tasks() of Linux 6.1, which RCU's own test calls at the
#   start, finds no kthread yet, yields in mutex_lock(), and waits for ever for the mutex
#   with which the kthread then waits for callbacks.
# The rest: on a slow host initcalls hold the processor for half a minute, which the
#   watchdogs would tell.
# shellcheck disable=SC2034
DEBUG_CMDLINE='slub_debug=- no_debug_objects init_on_alloc=0 preempt=none'
DEBUG_CMDLINE+=' watchdog_thresh=60'
DEBUG_CMDLINE+=' rcupdate.rcu_cpu_stall_timeout=300'
