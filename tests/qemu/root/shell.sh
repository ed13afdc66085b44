#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# In dom0, on the terminal: runs the preparation script if there is one, then
# an interactive shell with the scenario functions loaded.
export SCENARIO=shell SCENARIO_DIR=/share/shell-run
mkdir -p "$SCENARIO_DIR"
cd /tests/qemu/lib || exit 1
dmesg -n 3
if [ -s /share/shell ]; then
	bash /share/shell 2>&1 || echo "(preparation failed; the shell is yours)"
fi
[ "$MACHINE" = native ] || cat <<'HINTS'

  dom0 shell.  guest_sh g1 ibv_devinfo     run a command in a guest
               xl list; xl console g1      toolstack (leave a console: Ctrl-])
               . lib.sh functions: guest_create, guest_destroy, rxe_setup, ...
               exit (or Ctrl-D)            stop the machine

HINTS
bash --rcfile <(echo '. /tests/qemu/lib/lib.sh; . /tests/qemu/lib/hca.sh; set +eu; trap - EXIT ERR; PS1="dom0# "')
# A reboot ends the emulator; there is no init to do it properly.
sync
echo b >/proc/sysrq-trigger
sleep 60
