# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that build a program from Debian's sources: a private
# package database, as the system's need not have source packages.

# debsrc_open DIR: the database in DIR/apt; "${debsrc[@]}" are the options by
# which apt-get and apt-cache use it. VHCA_MIRROR (Debian mirror) instead of the
# system's own. Removed by whoever called.
debsrc_open() {
	local apt=$1/apt
	mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
	if [ -n "${VHCA_MIRROR:-}" ]; then
		echo "deb-src $VHCA_MIRROR bookworm main"
	else
		# shellcheck disable=SC2016
		apt-get indextargets --format \
			'deb-src $(SITE) $(RELEASE) $(COMPONENT)' \
			'Created-By: Packages' 'Component: main' |
			grep -E ' (bookworm|oldstable|stable)[^ ]* main$' |
			sort -u
	fi >"$apt/sources/debian.list"
	# shellcheck disable=SC2034
	debsrc=(-qq -o "Dir::Etc::sourcelist=/dev/null"
		-o "Dir::Etc::sourceparts=$apt/sources"
		-o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
		-o "APT::Sandbox::User=" -o Acquire::Retries=5)
	apt-get "${debsrc[@]}" update >&2
}
