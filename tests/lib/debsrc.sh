# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that build a program from Debian's sources: a private
# package database, as the system's need not have source packages.

# debsrc_open DIR [SUITE [deb]]: the database in DIR/apt, of a Debian release (this machine's):
# of source packages, or with deb of packages. "${debsrc[@]}" are the options by which apt-get
# and apt-cache use it. The system's own
# mirrors, by that release's name if they are another's, or VHCA_MIRROR (Debian mirror).
# Removed by whoever called.
debsrc_open() {
	local apt=$1/apt suite=${2:-} kind=${3:-deb-src} all
	# shellcheck source=/dev/null
	[ -n "$suite" ] || suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
	if [ -n "${VHCA_MIRROR:-}" ]; then
		echo "$kind $VHCA_MIRROR $suite main"
	else
		# shellcheck disable=SC2016
		all=$(apt-get indextargets --format \
			"$kind "'$(SITE) $(CODENAME) $(COMPONENT)' \
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

# debsrc_fetch DIR PACKAGE [VERSION-PREFIX]: the files of the newest source package that a
# mirror has, in DIR: not every one has the newest version. Status: whether there is one.
debsrc_fetch() {
	local version
	for version in $(apt-cache "${debsrc[@]}" showsrc "$2" |
		sed -n "s/^Version: \(${3:-}\)/\1/p" | sort -Vr); do
		say "fetching the sources of $2 $version"
		(cd "$1" && apt-get "${debsrc[@]}" source --download-only \
			"$2=$version" >"$1/log" 2>&1) && return
		rm -f "$1/$2"_*
		say "that version is not to be had"
	done
	return 1
}
