#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Prints what of a list of questions (probes.in) the headers of a kernel answer with
# yes: a header with VHCA_HAVE_<name>. One run of the compiler answers all, as it says in
# which question each error is. Kbuild runs it, with the compiler and the flags of the module.
#
# Usage: probes.sh LIST COMPILER FLAG...
# Status 1: the headers do not compile, or nothing was asked; what the compiler said is on
# stderr.
set -eu
list=$1
shift
export LC_ALL=C
case $("$1" --version) in
*clang*) all='-ferror-limit=0 -fno-caret-diagnostics -fno-color-diagnostics' ;;
*)	 all='-fmax-errors=0 -ftrack-macro-expansion=0 -fno-diagnostics-show-caret' ;;
esac
# shellcheck disable=SC2086
said=$("$@" $all -Wno-error -Werror=implicit-function-declaration \
	-Werror=incompatible-pointer-types -fsyntax-only -x c - <"$list" 2>&1) || true

names=$(sed -n 's/^#line 1 "\([A-Z0-9_]*\)".*/\1/p' "$list")
no=$(echo "$said" | sed -n 's/^\([^:]*\):\([0-9]*:\)\{1,2\} \(fatal \)\{0,1\}error: .*/\1/p' | sort -u)
for n in $no; do
	echo "$names" | grep -qx "$n" && continue
	echo "$said" >&2
	exit 1
done
echo "$no" | grep -qx NOTHING || { echo "$said" >&2; exit 1; }
echo '/* SPDX-License-Identifier: GPL-2.0 */'
for n in $names; do
	echo "$no" | grep -qx "$n" || echo "#define VHCA_HAVE_$n 1"
done
