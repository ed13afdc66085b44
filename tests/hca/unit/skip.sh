#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# In place of the HCA model's unit tests where they cannot be built.
echo "SKIP: the tests of the HCA model need cmocka, infiniband/mlx5dv.h and"
echo "linux/mlx5/mlx5_ifc.h of the kernel headers (make deps)"
exit 77
