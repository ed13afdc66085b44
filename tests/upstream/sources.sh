#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Fetches the sources of a tree that patches are for, from Debian, and prints their folder in
# the user's cache. Nothing is installed, and no root is needed.
#
#   linux   the newest kernel, that of Debian's next release, configured as Debian does and
#           prepared for modules (Module.symvers, too). Sources that no patch touches and no
#           module needs are removed.
#   sparse  the checker that this kernel wants, compiled; this release's is too old
#   xen     Xen of this release of Debian, as packaged
#
# Usage: sources.sh linux|sparse|xen
# Environment: VHCA_MIRROR (Debian mirror), JOBS. Status 77: the sources cannot be had.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=${1:?usage: sources.sh linux|sparse|xen}
say() { echo "$tree: $*" >&2; }
# shellcheck source=tests/lib/debsrc.sh
. "$here/../lib/debsrc.sh"
# shellcheck source=tests/lib/quietly.sh
. "$here/../lib/quietly.sh"
case $tree in
linux|sparse) SUITE=forky ;;
xen)	unset SUITE ;;
*)	say "no such tree"; exit 2 ;;
esac
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../qemu/lib/suite.sh"

key=$( { cat "$here/sources.sh"; echo "$tree $SUITE $SUITE_WEEK ${VHCA_MIRROR:-}"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca
out=$cache/upstream-$tree-$key
mkdir -p "$cache"
exec 9>"$cache/upstream-$tree.lock"
flock 9
if [ -e "$out/complete" ]; then
	touch "$out"
	echo "$out/src"
	exit 0
fi
# What nobody used for two weeks, and what was left when a fetch was ended.
find "$cache" -maxdepth 1 -name "upstream-$tree-*" \( -mtime +14 -o \
	! -exec test -e '{}/complete' \; \) -exec rm -rf {} +
mkdir -p "$out/src" "$out/debs"
trap '[ -e "$out/complete" ] || rm -rf "$out"' EXIT

gone() {
	tail -n 5 "$out/log" >&2 || true
	say "$*: is the mirror reachable (VHCA_MIRROR names another)?"
	exit 77
}

# Kconfig's files stay, and all of tools/ and scripts/ that Kbuild compiles.
prune() {
	local d
	for d in drivers fs sound net mm crypto block security lib virt samples; do
		find "$d" -name '*.[cS]' ! -path 'drivers/infiniband/*' \
			! -path 'drivers/xen/*' -delete
	done
	find drivers/gpu drivers/net drivers/staging sound -name '*.h' -delete
	find arch -type f ! -path 'arch/x86/*' ! -name 'Kconfig*' -delete
	find Documentation -mindepth 1 -maxdepth 1 ! -name infiniband ! -name Kconfig \
		! -name Makefile -exec rm -rf {} +
	rm -rf tools/testing tools/perf
}

get_linux() {
	local version headers d
	debsrc_open "$out" "$SUITE" deb 2>"$out/log" || say "not all lists of $SUITE can be had"
	version=$(apt-cache "${debsrc[@]}" show linux-headers-amd64 |
		sed -n 's/^Depends:.*linux-headers-\([^ ,]*\)-amd64.*/\1/p' | sort -V | tail -n 1)
	[ -n "$version" ] || gone "$SUITE has no linux-headers-amd64"
	say "fetching Linux $version (160 MB; once, cached)"
	(cd "$out/debs" && apt-get "${debsrc[@]}" download "linux-headers-$version-amd64" \
		"$(apt-cache "${debsrc[@]}" depends linux-source |
			sed -n 's/.*Depends: \(linux-source-.*\)/\1/p')") >"$out/log" 2>&1 ||
		gone "cannot download it"
	for d in "$out"/debs/*.deb; do
		quietly dpkg-deb -x "$d" "$out/debs"
	done
	say "unpacking"
	quietly tar -C "$out/src" --strip-components=1 -xf \
		"$(find "$out/debs/usr/src" -name 'linux-source-*.tar.xz')"
	headers=$out/debs/usr/src/linux-headers-$version-amd64
	cd "$out/src"
	cp "$headers/.config" "$headers/Module.symvers" .
	# BTF needs pahole and a vmlinux, signatures a key, and Rust its compiler.
	scripts/config -d DEBUG_INFO_BTF -d MODULE_SIG -d RUST --set-str SYSTEM_TRUSTED_KEYS '' \
		--set-str SYSTEM_REVOCATION_KEYS ''
	prune
	quietly make olddefconfig
	quietly make "-j${JOBS:-$(nproc)}" modules_prepare
}

unpack() {
	debsrc_open "$out" "$SUITE" 2>"$out/log" || say "not all lists of $SUITE can be had"
	debsrc_fetch "$out/debs" "$1" || gone "cannot download it"
	rmdir "$out/src"
	quietly dpkg-source --no-check -x "$out/debs/$1"_*.dsc "$out/src"
}

get_sparse() {
	unpack sparse
	quietly make -C "$out/src" "-j${JOBS:-$(nproc)}" CC=cc HAVE_SQLITE=no sparse
}

get_xen() { unpack xen; }

"get_$tree"
rm -rf "$out/debs" "$out/apt" "$out/log"
touch "$out/complete"
echo "$out/src"
