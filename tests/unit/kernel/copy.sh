#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Copies files of the modules without the headers of the kernel, for which kernel.h
# stands in.
# Usage: copy.sh FOLDER FILE...
set -eu
to=$1
shift
mkdir -p "$to"
for f; do
	sed -e '/^#include <\(asm\|linux\|net\|rdma\|xen\)\//d' -e '/^#include "compat.h"/d' \
		-e 's|^#include "[./]*/common/kernel/|#include "|' \
		-e 's|^#include "[a-z]*/\([a-z_]*\.h"\)|#include "\1|' "$f" >"$to/${f##*/}"
done
