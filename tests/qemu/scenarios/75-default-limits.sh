#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Where no limit of grants was raised, a PV and a PVH guest have verbs, and regions as
# large as docs/guide/limits.md says.
# limit: 400
# tier: soak
# xen: gnttab_max_frames=64 gnttab_max_maptrack_frames=1024
. ./lib.sh
. ./vhca.sh
. ./default_limits.sh

default_limits 384
