#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Everything. What needs no emulated machine runs beside one, at the lowest
# priority, because an emulated machine leaves a third of two processors idle;
# scenarios that compare speeds wait for its end ("# quiet: yes",
# qemu/README.md). The packages that a later machine installs are made there too,
# the images while QEMU is compiled.
#
# Usage: check.sh BUILD-FOLDER MAKE    of 'make check', after 'make build'
# Status 0: nothing failed. All of it runs, whatever fails.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1 make=$2
failed=''

# What is made once and cached. What fails here fails again, and is told, where
# it is needed.
prefetch() {
	tests/qemu/image.sh
	tests/qemu/build-xl.sh
}

# The same for qemu/72-packages.
packages() {
	nice -n 19 tests/qemu/debian.sh
	nice -n 19 tests/package/carry.sh --build "$build"
}

# Holds the lock that quiet scenarios wait for; shows all output in the end.
beside() {
	local rc=0
	exec 8>"$VHCA_BESIDE"
	flock 8
	nice -n 19 "$make" check-beside >"$build/beside.log" 2>&1 || rc=$?
	cat "$build/beside.log"
	packages >/dev/null 2>&1
	exec 8>&-
	return "$rc"
}

part() { "$make" "$1" || failed+=" $1"; }

# Background jobs of a script do not hear of Ctrl-C.
trap 'trap - INT TERM; kill 0' INT TERM
VHCA_BESIDE=$(realpath "$build")/.beside
export VHCA_BESIDE
rm -f "$VHCA_BESIDE"
prefetch >/dev/null 2>&1 &
prefetch=$!
beside &
beside=$!
part check-cable
wait "$prefetch"
part check-xen
wait "$beside" || failed+=' check-unit or check-kernels'
[ -z "$failed" ] || {
	echo "failed:$failed"
	exit 1
}
