#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The Debian packages: built from the source archive as dpkg-buildpackage does,
# they hold what contents.txt lists, and can be installed, upgraded and purged
# in a Debian root of its own, where DKMS builds both modules. Those for arm64 are
# cross-compiled and looked into. Starts nothing, needs no Xen; the system it runs on
# stays as it is.
#
# Usage: check.sh --build DIR     DIR: build folder of the front-door Makefile
#        check.sh --build DIR --debs [VERSION]    only builds; prints the
#        packages' folder. VERSION: another one than changelog's, for upgrades
# Environment: SUITE (../qemu/lib/suite.sh), with --debs: built in that release's root;
# CROSS_ARCH=arm64, with --debs: built for that architecture, in a root that can
#
# Packages are kept in the user's cache, keyed by the sources' content. Status
# 0: nothing failed; what cannot be had is skipped, a failure if CI=true. With --debs
# 3: the tools cannot be had.
# Functions are called by claim().
# shellcheck disable=SC2317
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
programs='vhcactl xen-vhca-doorbelld xen-vhcad'
packages="vhca-devicetree xen-vhca-dev xen-vhca-helper-dkms xen-vhca-selftest
	xen-vhcafront-dkms $programs"
export CROSS_ARCH=${CROSS_ARCH:-}
# shellcheck source=tests/lib/count.sh
. "$top/tests/lib/count.sh"
# shellcheck source=tests/qemu/lib/suite.sh
. "$top/tests/qemu/lib/suite.sh"

usage() {
	echo 'usage: check.sh --build DIR [--debs [VERSION]]' >&2
	exit 2
}
if [ "${1:-}" != --build ] || [ $# -lt 2 ]; then
	usage
fi
mkdir -p "$2"
build=$(cd "$2" && pwd)
only=${3:-} version=${4:-}
[ -z "$only" ] || [ "$only" = --debs ] || usage
work=$(mktemp -d "${TMPDIR:-/tmp}/vhca-package.XXXXXX")
trap 'rm -rf "$work"' EXIT
# mmdebstrap's helper processes may be another user.
chmod 755 "$work"
mkdir "$work/tree" "$work/results"

claim() { # claim TEXT COMMAND...: prints what COMMAND printed if it fails
	local text=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		say ok "$text"
	else
		say FAIL "$text"
		sed 's/^/     /' "$work/out" | tail -n 20
	fi
}

finish() {
	counted
	exit
}

# ---- building ----
# The archive, unpacked in $work/src.
unpack() {
	local archive
	make -s -C "$top" dist B="$build" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		return 1
	}
	archive=$(sed -n 's,^\(/.*\.tar\.[a-z0-9]*\)$,\1,p' "$work/log" |
		tail -n 1)
	mkdir "$work/src"
	tar -C "$work/src" --strip-components=1 -xf "$archive"
	[ -x "$work/src/debian/rules" ] || {
		echo "'make dist' leaves debian/ out of the archive" >&2
		return 1
	}
	[ -z "$version" ] || sed -i "1s/(.*)/($version)/" \
		"$work/src/debian/changelog"
}

# inside DIR COMMAND...: in that folder, where SUITE's tools are, or those for CROSS_ARCH.
inside() {
	if [ -n "$CROSS_ARCH" ]; then
		# shellcheck disable=SC2016
		"$here/cross.sh" --in "$work" -- sh -c 'cd "$0" && exec "$@"' "$@"
	elif [ "$SUITE" = "$SUITE_HOST" ]; then
		(cd "$1" && "${@:2}")
	else
		# shellcheck disable=SC2016
		"$top/tests/qemu/image/build-root.sh" --in "$work" -- \
			bash -c 'cd "$0" && "$@"' "$@"
	fi
}

built_with() {
	if [ -n "$CROSS_ARCH" ]; then
		"$here/cross.sh" --path
	elif [ "$SUITE" = "$SUITE_HOST" ]; then
		dpkg-query -W gcc debhelper dkms libxen-dev libjson-c-dev libibverbs-dev
	else
		"$top/tests/qemu/image/build-root.sh" --path
	fi
}

# Of all that goes into the packages: of no test but the programs of vhca-selftest.
sources_key() {
	{ (cd "$work/src" && find . -path './tests/*' \
		! -path './tests/verbs*' ! -path './tests/h[eo]*' -prune -o -type f -print0 |
		LC_ALL=C sort -z | xargs -0 sha256sum)
	  built_with
	} | sha256sum | cut -c1-16
}

# build_packages: sets debs, a folder in the cache. -d: the root of cross.sh was made of
# what is needed, which dpkg would look for among arm64's packages.
build_packages() {
	debs=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/deb-$(sources_key)
	[ ! -e "$debs/complete" ] || return 0
	inside "$work/src" env DEB_BUILD_PROFILES="nocheck ${CROSS_ARCH:+cross}" \
		DEB_BUILD_OPTIONS="nocheck terse ${DEB_BUILD_OPTIONS:-}" \
		dpkg-buildpackage -us -uc -b ${CROSS_ARCH:+-a"$CROSS_ARCH" -d} \
		>"$work/log" 2>&1 || {
		tail -n 30 "$work/log" >&2
		return 1
	}
	rm -rf "$debs"
	mkdir -p "$debs"
	cp "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$work/log" \
		"$debs/"
	touch "$debs/complete"
}

[ "$SUITE$CROSS_ARCH" = "$SUITE_HOST" ] || [ "$only" = --debs ] || {
	echo "check.sh: packages are installed on this machine's kind only" >&2
	exit 2
}
[ -z "$CROSS_ARCH" ] || "$here/cross.sh" >/dev/null || exit 3
missing=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' debhelper \
	dh-dkms dkms 2>&1 | grep -v '^installed ') || true
if [ -n "$missing" ]; then
	[ "$only" != --debs ] || { echo "$missing" >&2; exit 3; }
	say skip "the tools for Debian packages are missing: run 'make deps'"
	finish
fi
if ! unpack || ! build_packages; then
	[ "$only" != --debs ] || exit 1
	say FAIL "the source archive builds packages"
	finish
fi
[ "$only" != --debs ] || { echo "$debs"; exit 0; }
say ok "the source archive builds packages"

# ---- what is in them ----
deb() { echo "$debs/$1"_*.deb; }

no_complaint() {
	! grep -E '^(dh_[a-z]*|dpkg-[a-z]*): (warning|error)' "$debs/log"
}

listed() { # listed PACKAGE: its files are those of contents.txt
	dpkg-deb --fsys-tarfile "$(deb "$1")" | tar -t | sed 's,^\./,,' |
		grep -v '/$' | grep -v -E \
		'^(usr/src/|usr/share/doc/[^/]*/[^/]*$|usr/share/lintian/|$)' |
		LC_ALL=C sort >"$work/has"
	sed -n "s/^$1 //p" "$here/contents.txt" | while read -r f; do
		if [ "${f#\?}" = "$f" ] || grep -qx "${f#\?}" "$work/has"; then
			echo "${f#\?}"
		fi
	done | LC_ALL=C sort >"$work/should"
	diff "$work/should" "$work/has"
}

sources() { # sources PACKAGE FOLDER...: all that Kbuild reads, and no more
	local dir=$work/tree/$1
	dpkg-deb -x "$(deb "$1")" "$dir"
	(cd "$dir"/usr/src/*/ && find . -name '*.[ch]' -o -name '*.mk' -o -name Kbuild -o -name 'probes.*') |
		grep -v '^./include/' | LC_ALL=C sort >"$work/has"
	shift
	(cd "$work/src" && find "${@/#/./}" -name '*.[ch]' -o -name '*.mk' -o -name Kbuild -o -name 'probes.*') |
		grep -v '\.mod\.c$' |
		LC_ALL=C sort >"$work/should"
	diff "$work/should" "$work/has" &&
		! grep -r '@VERSION@\|#MODULE_VERSION#' "$dir"/usr/src
}

manuals() { # manuals PACKAGE: one for each program
	local dir=$work/tree/$1 f name
	dpkg-deb -x "$(deb "$1")" "$dir"
	find "$dir/usr" -type f -path '*/usr/*bin/*' | while read -r f; do
		name=${f##*/}
		zcat "$dir"/usr/share/man/man[18]/"$name".[18].gz |
			grep '^\.TH ' || exit 1
	done
}

hardened() { # hardened PROGRAM
	readelf -hW "$1" | grep 'Type: *DYN' &&
		readelf -dW "$1" | grep 'Flags:.*NOW' &&
		readelf -lW "$1" | grep GNU_RELRO &&
		readelf -W --dyn-syms "$1" | grep '__stack_chk_fail' &&
		readelf -W --dyn-syms "$1" | grep '_chk@'
}

claim "debhelper has no complaint" no_complaint
for p in $packages; do
	claim "$p holds what contents.txt lists" listed "$p"
done
claim "the helper's sources are complete" \
	sources xen-vhca-helper-dkms backend/helper common/kernel
claim "the frontend's sources are complete" \
	sources xen-vhcafront-dkms frontend common/kernel common/provider
for p in $programs; do
	claim "$p has a manual page of every program" manuals "$p"
	claim "$p is hardened" hardened "$work/tree/$p/usr/sbin/$p"
done
claim "vhca-devicetree has one, too" manuals vhca-devicetree
if command -v lintian >/dev/null; then
	# shellcheck disable=SC2086
	claim "lintian has no error or warning" lintian --profile debian \
		--allow-root --fail-on error,warning "$debs"/*.changes
else
	say skip "lintian is not installed: run 'make deps'"
fi

# ---- the examples for Prometheus ----
prometheus() {
	make -s -C "$build" tools/vhcactl/vhcactl.8 tests/unit/test_ctl_metrics &&
		cd "$build" && PROMTOOL=$promtool tests/unit/test_ctl_metrics
}
if promtool=$("$here/promtool.sh" 2>"$work/log"); then
	claim "promtool takes metrics, queries and rules" prometheus
else
	say skip "promtool: $(tail -n 1 "$work/log")"
fi

# ---- those for arm64 ----
machine() { # machine PACKAGE: what it says, and each program in it
	local f program
	[ "$(dpkg-deb -f "$(deb "$1")" Architecture)" = arm64 ] || return 1
	for f in "$work/tree/$1"/usr/sbin/*; do
		program=$(readelf -hW "$f")
		grep 'Machine: *AArch64$' <<<"$program" || return 1
	done
}
# As those for this machine do: found by dpkg-shlibdeps among arm64's.
same_depends() {
	diff <(dpkg-deb -f "$(deb "$1")" Depends | sed 's/ *([^)]*)//g') \
		<(dpkg-deb -f "$own/$1"_*.deb Depends | sed 's/ *([^)]*)//g')
}
foreign() {
	local own=$debs rc=0 p
	debs=$(CROSS_ARCH=arm64 "$here/check.sh" --build "$build" --debs 2>"$work/log") || rc=$?
	case $rc in
	0)	say ok "the source archive builds packages for arm64" ;;
	3)	say skip "packages for arm64: $(tail -n 1 "$work/log")" ;;
	*)	say FAIL "the source archive builds packages for arm64"
		sed 's/^/     /' "$work/log" | tail -n 20 ;;
	esac
	[ $rc = 0 ] || { debs=$own; return; }
	for p in $programs; do
		rm -rf "$work/tree/$p"
		claim "arm64: $p holds what contents.txt lists" listed "$p"
		claim "arm64: $p has a manual page of every program" manuals "$p"
		claim "arm64: $p is for that machine" machine "$p"
		claim "arm64: $p is hardened" hardened "$work/tree/$p/usr/sbin/$p"
		claim "arm64: $p depends on what it does here" same_depends "$p"
	done
	p=xen-vhca-selftest
	rm -rf "$work/tree/$p"
	claim "arm64: $p holds what contents.txt lists" listed $p
	claim "arm64: $p depends on what it does here" same_depends $p
	debs=$own
}
foreign

# ---- installing them ----
# What they depend on, without each other.
depends() {
	local p
	echo "$packages" | tr -s ' \t' '\n' >"$work/own"
	for p in $packages; do
		dpkg-deb -f "$(deb "$p")" Depends Pre-Depends
	done | sed 's/^[A-Za-z-]*: //' | tr ',' '\n' |
		sed 's/|.*//; s/(.*//; s/[ \t]//g' | sort -u | grep . |
		grep -v -x -F -f "$work/own"
}

# The root's own kernel headers, and those of a newer series if we have them.
headers() {
	mkdir -p "$work/in/debs"
	for p in $packages; do
		cp "$(deb "$p")" "$work/in/debs/"
	done
	cp "$here/inside.sh" "$work/in/"
	if newer=$("$top/tests/kbuild/headers.sh" 6.12 2>"$work/log"); then
		tar -C / -cf "$work/in/newer.tar" \
			"$(realpath --relative-to=/ "${newer%/usr/src/*}/usr")"
		echo "$newer" >"$work/in/newer"
	else
		say skip "linux 6.12: $(tail -n 1 "$work/log")"
	fi
	chmod -R a+rX "$work/in"
}

# mmdebstrap knows how to enter a root with or without being root.
enter() {
	mmdebstrap --quiet --variant=custom --skip=update,cleanup \
		--setup-hook="tar -C \"\$1\" -xf '$1'" \
		--customize-hook="copy-in '$work/in' /" \
		--customize-hook="chroot \"\$1\" /bin/bash /in/inside.sh" \
		--customize-hook="sync-out /in/out '$work/results'" \
		--format=null bookworm /dev/null \
		"deb [trusted=yes] file:///nonexistent ./" >"$work/log" 2>&1
}

# shellcheck disable=SC2046
if ! root=$("$here/root.sh" $(depends) 2>"$work/log"); then
	say skip "no root to install in: $(tail -n 1 "$work/log")"
	finish
fi
headers
if ! enter "$root"; then
	say FAIL "the packages can be tried in a root of their own"
	sed 's/^/     /' "$work/log" | tail -n 30
	finish
fi
while read -r word n text; do
	say "$word" "$text"
	[ "$word" = ok ] || sed 's/^/     /' "$work/results/$n.log" | tail -n 30
done <"$work/results/verdicts"
finish
