#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Fetches the headers of a kernel that this machine has no package of, unpacks them
# into the user's cache and prints the build folder in there. Nothing is
# installed, no root is needed, and the machine's own package lists stay as
# they are: apt works on lists and caches in the cache folder. It checks the
# signatures as ever.
#
# Usage: headers.sh [SERIES [ARCH [SUITE]]]
#   SERIES: 6.12 (default; of Debian 13, or from Debian 12's backports on a machine
#           of Debian 12, whose kbuild's programs could not run), 6.1 (Debian 12's) or
#           5.10 (Debian 11's)
#   ARCH:   amd64 (default) or arm64, whose modules this machine can compile with
#           ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-: kbuild's programs are its own
#
#   SUITE:  the Debian release that they are of, whose programs the caller can run
#
# VHCA_MIRROR names another Debian mirror. The cache is keyed by this script
# and the series: remove the folder to get a newer kernel of the series.
# Exit status 3: the packages cannot be had.
set -euo pipefail
series=${1:-6.12}
arch=${2:-amd64}
suite=bookworm-backports
[ "$series" != 5.10 ] || suite=bullseye
[ "$series" != 6.1 ] || suite=bookworm
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
[ "$series $release" != '6.12 trixie' ] || suite=trixie
suite=${3:-$suite}

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/mirror.sh
. "$here/../lib/mirror.sh"
key=$( { cat "$here/headers.sh"; echo "$series $suite $arch"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/$key
say() { echo "headers: $*" >&2; }

mkdir -p "${cache%/*}"
exec 9>"$cache.lock"
flock 9
if [ -e "$cache/complete" ]; then
	cat "$cache/complete"
	exit 0
fi
rm -rf "$cache"
work=$cache/apt
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs"
trap '[ -e "$cache/complete" ] || rm -rf "$cache"' EXIT

command -v apt-get >/dev/null || {
	say "this is no Debian system: there is no apt-get"
	exit 3
}

# sources: lines "deb URI SUITE main", of the mirrors that this machine uses for Debian
# itself. Its newest kernel may be among the security updates.
sources() {
	if [ -n "${VHCA_MIRROR:-}" ]; then
		echo "deb $VHCA_MIRROR $suite main"
	elif [ "$suite" != bookworm-backports ]; then
		mirror_sources "$suite"
	else
		# shellcheck disable=SC2016
		apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' \
			'Created-By: Packages' |
			awk -v suite="$suite" '$1 == "main" && $2 ~ /^[a-z]+$/ {
				print "deb", $3, suite, "main"; exit }'
	fi
}

sources >"$work/sources"
[ -s "$work/sources" ] || {
	say "apt knows no Debian mirror: VHCA_MIRROR=URI names one"
	exit 3
}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
while read -r _ uri of _; do
	printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$uri" "$of"
	[ ! -e "$keyring" ] || echo "Signed-By: $keyring"
	echo
done <"$work/sources" >"$work/debian.sources"

# apt_ COMMAND ARGUMENTS...: apt-get or apt-cache on our lists.
apt_() {
	local tool=$1
	shift
	"$tool" -o Dir::Etc::sourcelist="$work/debian.sources" \
		-o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists" \
		-o Dir::Cache="$work/cache" -o APT::Architecture="$arch" \
		-o APT::Architectures="$arch,$(dpkg --print-architecture)" \
		-o APT::Sandbox::User="$(id -un)" \
		-o Acquire::Languages=none -o Acquire::Retries=5 \
		-o APT::Update::Error-Mode=any "$@"
}

fail() {
	tail -n 5 "$work/log" >&2
	say "$*"
	exit 3
}

say "fetching the headers of Linux $series ($suite; once, cached)"
apt_ apt-get -q update >"$work/log" 2>&1 ||
	fail "no package lists: is the mirror reachable (VHCA_MIRROR names another)?"
# Newer packages repeat the version in the name of kbuild's, older ones do not.
version=$(apt_ apt-cache pkgnames "linux-headers-$series" |
	sed -n "s/^linux-headers-\($series\.[0-9][0-9.]*[^-]*\(-[0-9.]*\)\?\)-$arch\$/\1/p" |
	sort -V | tail -n 1)
[ -n "$version" ] || fail "$suite has no linux-headers-$series*-$arch"
kbuild=$(apt_ apt-cache depends "linux-headers-$version-$arch" |
	sed -n 's/.*Depends: \(linux-kbuild-.*\)/\1/p' | head -n 1)
(cd "$work/debs" && apt_ apt-get -q download "linux-headers-$version-$arch" \
	"linux-headers-$version-common" \
	"$kbuild:$(dpkg --print-architecture)") >"$work/log" 2>&1 ||
	fail "cannot download the headers of $version"

for deb in "$work"/debs/*.deb; do
	dpkg-deb -x "$deb" "$cache" >"$work/log" 2>&1 ||
		fail "cannot unpack ${deb##*/}"
done
# What was packed for / is now below $cache. Without the vmlinux module BTF is
# left out: it needs pahole, and says nothing about our sources.
headers=$cache/usr/src/linux-headers-$version-$arch
sed -i "s,/usr/src/,$cache/usr/src/,g" "$headers/Makefile"
find "$cache/usr" -type l -lname '/usr/*' | while read -r link; do
	ln -sfn "$cache$(readlink "$link")" "$link"
done
rm -f "$headers/vmlinux"
rm -rf "$work"
echo "$headers" >"$cache/complete"
echo "$headers"
