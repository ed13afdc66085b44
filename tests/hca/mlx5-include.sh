#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes an include folder with the kernel headers' linux/mlx5/ alone: all of
# them would come before those of the C library.
#
#   tests/hca/mlx5-include.sh FOLDER
#
# MLX5_INCLUDE=DIR  the kernel's include/ (default: the newest installed)
set -eu

for d in ${MLX5_INCLUDE:-} $(find /usr/src -maxdepth 2 \
	-path '/usr/src/linux-headers-*/include' 2>/dev/null | sort -rV); do
	[ -e "$d/linux/mlx5/mlx5_ifc.h" ] || continue
	mkdir -p "$1/linux"
	ln -sfn "$d/linux/mlx5" "$1/linux/mlx5"
	# Included by those, for what a test of the kernel's formats has itself.
	mkdir -p "$1/rdma"
	: >"$1/linux/refcount.h"
	: >"$1/rdma/ib_verbs.h"
	echo "$d"
	exit 0
done
echo "linux/mlx5/mlx5_ifc.h not found (Debian: linux-headers-amd64)" >&2
exit 77
