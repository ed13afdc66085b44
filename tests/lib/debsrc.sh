# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that build a program from Debian's sources: a private
# package database, as the system's need not have source packages.

# debsrc_open DIR [SUITE]: the database in DIR/apt, of a Debian release (this machine's);
# "${debsrc[@]}" are the options by which apt-get and apt-cache use it. The system's own
# mirrors, by that release's name if they are another's, or VHCA_MIRROR (Debian mirror).
# Removed by whoever called.
debsrc_open() {
	local apt=$1/apt suite=${2:-} all
	# shellcheck source=/dev/null
	[ -n "$suite" ] || suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
	if [ -n "${VHCA_MIRROR:-}" ]; then
		echo "deb-src $VHCA_MIRROR $suite main"
	else
		# shellcheck disable=SC2016
		all=$(apt-get indextargets --format \
			'deb-src $(SITE) $(CODENAME) $(COMPONENT)' \
			'Created-By: Packages' 'Component: main' | sort -u)
		grep -E " ${suite}[^ ]* main$" <<<"$all" ||
			sed -nE "s/ [^ -]*(-updates|-security)? main$/ $suite\1 main/p" <<<"$all"
	fi >"$apt/sources/debian.list"
	# shellcheck disable=SC2034
	debsrc=(-qq -o "Dir::Etc::sourcelist=/dev/null"
		-o "Dir::Etc::sourceparts=$apt/sources"
		-o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
		-o "APT::Sandbox::User=" -o Acquire::Retries=5)
	apt-get "${debsrc[@]}" update >&2
}
