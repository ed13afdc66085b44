# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Read by run.sh: the model, the rig and the small drivers of the unit tests.
if ! echo '#include <infiniband/mlx5dv.h>' |
	"$CLANG" -fsyntax-only -x c - 2>/dev/null ||
	! "$top/tests/hca/mlx5-include.sh" "$build/include" >/dev/null; then
	echo "SKIP: infiniband/mlx5dv.h or linux/mlx5/ is missing (make deps)"
	exit 77
fi
flags="$flags -isystem $build/include"
# Of the frontend, as its unit tests have it.
"$top/tests/unit/kernel/copy.sh" "$build/copy" "$top"/frontend/*.[ch] \
	"$top"/frontend/*/*.[ch] "$top"/common/kernel/*.h
flags="$flags -I$build -I$top/tests/unit/kernel -I$top/include -D__XEN_TOOLS__"
sources="$(cd "$top" && find tests/hca/model -name 'cx_*.c')
	tests/hca/unit/rig.c tests/hca/unit/drv.c tests/hca/unit/drv_eq.c
	tests/hca/unit/drv_eth.c tests/hca/unit/drv_obj.c
	tests/hca/unit/drv_qp.c tests/hca/unit/drv_wr.c
	tests/hca/unit/m4.c tests/hca/unit/m4_obj.c tests/hca/unit/m4_wr.c
	tests/hca/unit/mt.c tests/hca/unit/mt_wr.c
	tests/hca/fuzz/hfuzz.c tests/fuzz/input.c"
libs=
