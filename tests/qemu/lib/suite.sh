# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced: sets SUITE, the Debian release that the test bed's machines run (from the
# environment, else this machine's own, else Debian 12), SUITE_HOST, this machine's,
# XEN, the version of Xen in SUITE, which is part of the names of its files, and SUITE_WEEK,
# by which what is cached of a release that still changes is made anew.
# shellcheck disable=SC2034
# shellcheck source=/dev/null
SUITE_HOST=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
SUITE_WEEK=''
case "${SUITE:=$SUITE_HOST}" in
bookworm)	XEN=4.17 ;;
trixie)		XEN=4.20 ;;
forky)		XEN=4.20 SUITE_WEEK=$(date +%G-%V) ;;	# testing: what comes next
*)	# Another system has brought what is needed, as for Debian 12.
	[ "$SUITE" = "$SUITE_HOST" ] || {
		echo "SUITE=$SUITE: the test bed knows bookworm, trixie and forky" >&2
		exit 2
	}
	SUITE=bookworm SUITE_HOST=bookworm XEN=4.17 ;;
esac
