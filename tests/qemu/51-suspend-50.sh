#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# 50-suspend with 50 cycles.
# limit: 700
# by-hand: seven minutes of the same
CYCLES=25
. ./50-suspend.sh
