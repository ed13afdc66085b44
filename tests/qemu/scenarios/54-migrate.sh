#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A PVH guest on Soft-RoCE migrates live while a peer writes into its registered memory:
# all that was acknowledged has moved with it, its program hears that the device died, and
# the next one works on the new side. A migration that fails late resumes at the source,
# one that fails early is not noticed. Both sides are this machine.
# limit: 900
# tier: soak
# xl: patched
. ./lib.sh
. ./vhca.sh
. ./suspend.sh
. ./create.sh
. ./migrate.sh

MIGRATE_HCA=rxe0 MIGRATE_OTHER=rxe7 MIGRATE_PEER=rxe0 MIGRATE_GID=1
migrations
check "no verbs object is left" no_objects
kernel_clean
