#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes a tree of links to the sources of the kernel modules, because Kbuild writes
# beside its sources. Prints the folders that have a module.
# Usage: kbuild-tree.sh DIR [tests]
#   tests: also those that scenarios load into guests
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
modules='frontend backend/helper'
[ "${2:-}" != tests ] || modules="$modules tests/kverbs"
for d in $modules common/kernel common/provider; do
	(cd "$top" && find "$d" -name '*.[ch]' -o -name '*.mk' -o -name Kbuild -o -name 'probes.*') |
		while read -r f; do
			mkdir -p "$1/${f%/*}"
			ln -sf "$top/$f" "$1/$f"
		done
done
ln -sfn "$top/include" "$1/include"
echo "$modules"
