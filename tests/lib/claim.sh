# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by the check scripts of `make check`, once they know that they will
# not be skipped: each thing to prove is a claim(), verdict() comes last.
# Owns the folder $work, with the EXIT trap that removes it; its file out holds
# what the command of the last claim printed.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# The text holds if the command succeeds; what it printed is shown if not.
claim() { # claim TEXT COMMAND...
	text=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
		echo "ok   $text"
	else
		failed=$((failed + 1))
		echo "FAIL $text"
		sed 's/^/     /' "$work/out"
	fi
}

# To be the last command: the script's status is 0 if every claim held.
verdict() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}
