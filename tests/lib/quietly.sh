# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that compile sources of others into the folder $out, and have say().

# quietly COMMAND...: its output, which is in $out/log, only if it fails; then the script ends.
quietly() {
	"$@" >"$out/log" 2>&1 </dev/null || {
		tail -n 25 "$out/log" >&2
		say "failed: $*"
		exit 1
	}
}
