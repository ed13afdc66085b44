# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that run mmdebstrap: where Debian's packages come from, and how
# this machine gets there. A root is made from the mirrors that the machine itself
# uses, as they are the ones known to be reachable.

# mirror_sources SUITE: this machine's sources of a Debian release, one in a line: those
# of its own release by the other's name, if it has none of that one (sid has one alone). None at all:
# mmdebstrap knows some. VHCA_MIRROR names another Debian mirror.
mirror_sources() {
	local all own
	if [ -n "${VHCA_MIRROR:-}" ]; then
		echo "$VHCA_MIRROR"
		return
	fi
	# shellcheck disable=SC2016
	all=$(apt-get indextargets --format 'deb $(SITE) $(CODENAME) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' 'Component: main' \
		2>/dev/null | sort -u) || return 0
	grep -E " $1[^ ]* main$" <<<"$all" && return
	# shellcheck source=/dev/null
	own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[ "$1" != sid ] || all=$(grep -vE -- "-(updates|security) main$" <<<"$all")
	[ -z "$own" ] || sed -nE "s/ $own(-updates|-security)? main$/ $1\1 main/p" <<<"$all"
	return 0
}

# mirror_options: lines of apt's configuration, this machine's way to a mirror.
mirror_options() {
	apt-config dump 2>/dev/null |
		grep -iE '^Acquire::(https?::|Check-|Retries|Force)' |
		grep -v -i Auto-Detect
	echo 'Acquire::Languages "none"; Acquire::Retries "5";'
}

# mirror_open SUITE FILE: FILE gets the options, "${mirrors[@]}" the sources.
mirror_open() {
	mirror_options >"$2"
	# shellcheck disable=SC2034
	mapfile -t mirrors < <(mirror_sources "$1")
}

# debian_tar SUITE FOLDER PACKAGES OPTION...: FOLDER/root.tar, a root with PACKAGES, of which
# commas are between. Needs retry.sh, and say(), which tells why it failed.
debian_tar() {
	local suite=$1 dir=$2 packages=$3
	shift 3
	mkdir -p "$dir"
	mirror_open "$suite" "$dir/apt.conf"
	retry "$dir/log" debian_root --format=tar --aptopt="$dir/apt.conf" \
		--include="$packages" "$@" "$suite" "$dir/root.tar" "${mirrors[@]}" && return
	tail -n 40 "$dir/log" >&2
	say "mmdebstrap failed. Is the Debian mirror reachable" \
		"(VHCA_MIRROR names another one)?"
	return 1
}

# debian_root ARGUMENTS: mmdebstrap, without the files that a caller has open (locks).
# It has a shell write to a descriptor by its number, and dash takes one digit.
debian_root() { mmdebstrap "$@" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; }
