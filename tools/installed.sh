#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Updates the lists of depmod, udev and systemd after files were installed into, or
# removed from, this system (not a DESTDIR). 'make install' runs it as root; a package
# does the same in its own way.
# Usage: installed.sh KERNEL-VERSION
set -eu

depmod "$1"
# Neither runs in a container or under another init: no error then.
if [ -d /run/udev ]; then
	udevadm control --reload || :
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
fi
