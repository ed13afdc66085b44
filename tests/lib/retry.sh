# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that fetch from a Debian mirror.

# retry LOG COMMAND...: COMMAND, whose output goes to LOG; when it fails again after
# 10 and 30 seconds, because mirrors and the way to them fail for moments. LOG keeps
# what every try said. Status: the last one's.
retry() {
	retry_log=$1
	shift
	: >"$retry_log"
	for retry_pause in 10 30; do
		"$@" >>"$retry_log" 2>&1 && return
		echo "failed; once more in $retry_pause s" >>"$retry_log"
		sleep "$retry_pause"
	done
	"$@" >>"$retry_log" 2>&1
}
