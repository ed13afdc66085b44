# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced: sets KVER, the kernel that modules are built for and that the test
# bed boots, and KDIR, its build folder. KVER and KDIR from the environment, else
# the newest amd64 headers installed; with another release than this machine's as
# SUITE, those in the root where all is compiled for that. Trusts nothing but the file
# system, and reads it when it is sourced: the headers may have been installed a moment
# before.
# shellcheck disable=SC2034
# shellcheck source=tests/qemu/lib/suite.sh
. "$(dirname "${BASH_SOURCE[0]}")/suite.sh"
if [ -z "${KVER:-}${KDIR:-}" ] && [ "$SUITE" != "$SUITE_HOST" ]; then
	KDIR=$("$(dirname "${BASH_SOURCE[0]}")/../image/build-root.sh") || exit 1
	KVER=$(cat "$KDIR/kver")
	KDIR=$KDIR/root/usr/src/linux-headers-$KVER
fi
if [ -z "${KVER:-}" ] && [ -n "${KDIR:-}" ]; then
	KVER=$(sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		"$KDIR/include/generated/utsrelease.h" 2>/dev/null) || true
	if [ -z "$KVER" ]; then
		echo "KDIR=$KDIR is no kernel build folder" >&2
		exit 1
	fi
fi
if [ -z "${KVER:-}" ]; then
	KVER=$(find /usr/src -maxdepth 1 -name 'linux-headers-*-amd64' \
		! -name '*-cloud-amd64' ! -name '*-rt-amd64' 2>/dev/null |
		sort -V | tail -n 1)
	KVER=${KVER##*/linux-headers-}
fi
if [ -z "$KVER" ]; then
	echo "no kernel headers found: run 'make deps', or set KDIR" >&2
	exit 1
fi
if [ -z "${KDIR:-}" ]; then
	KDIR=/lib/modules/$KVER/build
	[ -e "$KDIR/Makefile" ] || KDIR=/usr/src/linux-headers-$KVER
fi
if [ ! -e "$KDIR/Makefile" ]; then
	echo "no kernel build folder at '$KDIR': install the headers of $KVER" \
		"(Debian: linux-headers-$KVER), or set KDIR" >&2
	exit 1
fi
