#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds and runs the fuzz targets of the HCA model; as tests/fuzz/run.sh.
FUZZ_SET=tests/hca/fuzz exec "$(dirname "$0")/../../fuzz/run.sh" "$@"
