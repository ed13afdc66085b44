#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What is carried into a test domain in which the packages will be installed;
# prints its folder, which is kept in the user's cache, keyed by content:
#
#   now/*.deb    the packages, as dpkg-buildpackage made them
#   next/*.deb   the same sources built as a later version, for upgrades
#   dkms/*.gz    their modules (of next: the guest's), compiled here by DKMS from
#                the packages' own sources, as "dkms mktarball" archives: an
#                emulated processor would take minutes. The packages' postinst
#                takes them from /usr/share/PACKAGE/.
#
# For another release than this machine's (SUITE) all is compiled in its root.
# Usage: carry.sh --build DIR     DIR: build folder of the front-door Makefile
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/qemu/lib/kver.sh
. "$here/../qemu/lib/kver.sh"
if [ "${1:-}" != --build ] || [ $# != 2 ]; then
	echo 'usage: carry.sh --build DIR' >&2
	exit 2
fi
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$here/../../debian/changelog")
now=$("$here/check.sh" --build "$2" --debs)
next=$("$here/check.sh" --build "$2" --debs "$version+next")

key=$( { cat "$here/carry.sh"; echo "$KVER $now $next"; } | sha256sum |
	cut -c1-16)
out=${now%/*}/carried-$key
exec 9>"$out.lock"
flock 9
[ ! -e "$out/complete" ] || { echo "$out"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/vhca-carry.XXXXXX")
trap 'rm -rf "$work"' EXIT

root=''
inside() { "$@"; }
if [ "$SUITE" != "$SUITE_HOST" ]; then
	build_root=$here/../qemu/image/build-root.sh
	root=$("$build_root")/root
	inside() { "$build_root" --in "$work" -- "$@"; }
fi

# archive DEB: compiles the module and keeps DKMS's archive of it. DKMS wants a
# key to sign with; nobody here asks for a signature.
archive() {
	local tree=$work/${1##*/} source
	dpkg-deb -x "$1" "$tree"
	source=$(echo "$tree"/usr/src/*)
	source=${source##*/}
	set -- --sourcetree "$tree/usr/src" --dkmstree "$tree/dkms" \
		-m "${source%-*}" -v "${source##*-}" -k "$KVER"
	mkdir "$tree/dkms"
	inside dkms build --no-depmod --installtree "$tree/lib" \
		--kernelsourcedir "${KDIR#"$root"}" "$@" &&
		inside dkms mktarball "$@" &&
		cp "$tree"/dkms/*/*/tarball/*.gz \
			"$work/new/dkms/$source.dkms.tar.gz"
}

mkdir -p "$work"/new/{now,next,dkms}
cp "$now"/*.deb "$work/new/now/"
cp "$next"/*.deb "$work/new/next/"
for deb in "$now"/*-dkms_*.deb "$next"/xen-vhcafront-dkms_*.deb; do
	archive "$deb" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		exit 1
	}
done
touch "$work/new/complete"
rm -rf "$out"
cp -a "$work/new" "$out"
echo "$out"
