# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by check scripts that may have to skip: one line for each result, and
# a last one that counts them. In CI (CI=true) a skip is a failure.

passed=0 failed=0 skipped=0

say() { # say ok|FAIL|skip TEXT
	case $1 in
	ok)	passed=$((passed + 1)) ;;
	FAIL)	failed=$((failed + 1)) ;;
	skip)	skipped=$((skipped + 1))
		[ "${CI:-}" != true ] || failed=$((failed + 1)) ;;
	esac
	printf '%-4s %s\n' "$1" "$2"
}

# To be the last command: the script's status is 0 if nothing failed.
counted() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
}
