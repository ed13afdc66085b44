#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes configure and Makefile.in from configure.ac and Makefile.am.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
	command -v "$tool" >/dev/null || {
		echo "autogen.sh: $tool not found; install autoconf, automake and pkg-config" >&2
		exit 1
	}
done
exec autoreconf --install --force --warnings=all
