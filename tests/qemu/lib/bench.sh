# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What benches share: the counters of the worker of guest a or b, before and after. Sourced
# after vhca.sh.

# counters_of GUEST FILE: of the worker of its first device, lines "name number".
counters_of() {
	vhcactl stats --json "$1" 0 >"$2.json"
	jq -r 'first(.. | objects | .counters? // empty) | to_entries[] |
		"\(.key) \(.value)"' "$2.json" >"$2"
}
# worked BEFORE AFTER: what it did meanwhile, "name number, ...".
worked() {
	awk 'FNR == NR { old[$1] = $2; next }
		$2 != old[$1] { printf "%s %.0f, ", $1, $2 - old[$1] }
		END { print "" }' "$1" "$2"
}
