#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds xl and libxl with the vhca patches (tools/patches/xen-libxl) and prints a
# folder that is to be laid over the test bed's dom0 root: usr/lib/xen-vhca with
# xl in bin/ and its libraries in lib/, which only this xl loads (RUNPATH).
# Debian's own stay in force: the structures of the patched libxl are larger, so
# no program that was built against another one may load it. The sources are
# those of Xen in the Debian release SUITE; for another one than this machine's they
# are compiled in its root (build-root.sh). All is cached: the first run takes a minute
# or two, one after a change of the patches a minute, any other none. Needs no root;
# writes only below ${XDG_CACHE_HOME:-~/.cache}/xen-vhca.
#
# Usage: build-xl.sh [--path]   --path: only print where it would be
# Status 77: the sources cannot be had.
# Environment: SUITE (../lib/suite.sh), XEN_SRC (folder with the sources of a version
# of Xen, instead of Debian's), VHCA_MIRROR (Debian mirror), JOBS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../lib/suite.sh"
patches=$(cd "$here/../../../tools/patches/xen-libxl" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca
multiarch=x86_64-linux-gnu
place=usr/lib/xen-vhca
# shellcheck source=tests/lib/debsrc.sh
. "$here/../../lib/debsrc.sh"
say() { echo "xl: $*" >&2; }

# number NAME: of the version, as the sources in XEN_SRC have it.
number() {
	sed -nE "s/^(export )?$1[ \t]*:?=[ \t]*([0-9]+)[ \t]*\$/\2/p" "$XEN_SRC/xen/Makefile"
}

# Part of the libraries' names. Programs are where those of SUITE's Xen are.
release=$XEN
if [ -n "${XEN_SRC:-}" ]; then
	release=$(number XEN_VERSION).$(number XEN_SUBVERSION)
	[[ $release =~ ^[0-9]+\.[0-9]+$ ]] || {
		say "$XEN_SRC/xen/Makefile has no version of Xen"
		exit 1
	}
	[ "$release" = "$XEN" ] ||
		say "these are the sources of Xen $release: it will not run on Xen $XEN"
fi

# The folders of Debian's packages, so that the result finds their programs.
options=(
	--prefix=/usr "--libdir=/usr/lib/$multiarch"
	--sysconfdir=/etc --localstatedir=/var
	"--with-libexec-libdir-suffix=/$multiarch"
	"--with-libexec-leaf-dir=xen-$XEN"
	--disable-xen --disable-docs --disable-stubdom --disable-ocamltools
	--disable-golang --disable-monitors --disable-pvshim --disable-rombios
	--enable-ipxe=no
	--with-system-qemu=/usr/libexec/xen-qemu-system-i386
	--with-system-seabios=/usr/share/seabios/bios-256k.bin
	--with-system-ovmf=/usr/share/ovmf/OVMF.fd
)
# Without libnl, which only Remus needs: the dom0 root does not have it.
flags=(CONFIG_LIBNL=n "APPEND_LDFLAGS=-Wl,-rpath,/$place/lib")
make_options=("${flags[@]}" "-j${JOBS:-$(nproc)}")

missing=''
for p in libyajl-dev uuid-dev flex bison libncurses-dev zlib1g-dev \
	libglib2.0-dev libpixman-1-dev python3-dev acpica-tools autoconf; do
	[ "$SUITE" = "$SUITE_HOST" ] || break	# they are in its root
	dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null |
		grep -qx installed || missing+=" $p"
done

# inside DIR COMMAND...: in that folder below the cache, where SUITE's compiler is.
inside() {
	if [ "$SUITE" = "$SUITE_HOST" ]; then
		(cd "$1" && "${@:2}")
	else
		# shellcheck disable=SC2016
		"$here/build-root.sh" --in "$cache" -- \
			bash -c 'cd "$0" && "$@"' "$@"
	fi
}

fetch() {
	debsrc_open "$1" "$SUITE" || say "not all lists of $SUITE can be had"
	if debsrc_fetch "$1" xen "$release\."; then
		rm -rf "$1/apt"
		return
	fi
	tail -n 5 "$1/log" >&2 || true
	say "no mirror of this system has the sources of Xen $release:" \
		"set VHCA_MIRROR or XEN_SRC"
	exit 77
}

# Unpacked, patched, configured.
prepare() {
	local tree=$1 p
	rm -rf "$tree"
	mkdir -p "$tree"
	if [ -n "${XEN_SRC:-}" ]; then
		say "copying $XEN_SRC"
		mkdir "$tree/src"
		tar -C "$XEN_SRC" --exclude=./.git -cf - . |
			tar -C "$tree/src" -xf -
	else
		fetch "$tree"
		say "unpacking"
		dpkg-source --no-check -x "$tree"/xen_*.dsc "$tree/src" \
			>"$tree/log" 2>&1
		rm "$tree"/xen_*
	fi
	for p in "$patches"/*.patch; do
		patch -s -d "$tree/src" -p1 <"$p" >&2 || {
			say "${p##*/} does not apply"
			return 1
		}
	done
	# Debian's sources come without what autoconf makes and needs.
	for p in config.guess config.sub; do
		[ -e "$tree/src/$p" ] || cp "/usr/share/misc/$p" "$tree/src/"
	done
	say "configuring"
	{ { [ -x "$tree/src/configure" ] && [ -x "$tree/src/tools/configure" ] ||
		inside "$tree/src" ./autogen.sh; } &&
		inside "$tree/src" ./configure "${options[@]}"; } \
		>"$tree/log" 2>&1 || {
		tail -n 20 "$tree/log" >&2
		say "configure failed: 'make deps' installs what is missing"
		return 1
	}
	touch "$tree/configured"
}

# xl and the two libraries that the patches change. Everything else is
# Debian's: the other libraries, and libxl-save-helper, whose messages are the
# same, at the place that libxl has compiled in.
install_into() {
	local dir=$1/$place tools=$2 lib
	mkdir -p "$dir"/{bin,lib}
	install -s "$tools/xl/xl" "$dir/bin/"
	for lib in light/libxenlight util/libxlutil; do
		install -s "$tools/libs/$lib.so.$release.0" "$dir/lib/"
		lib=${lib#*/}
		ln -s "$lib.so.$release.0" "$dir/lib/$lib.so.$release"
	done
}

key=$({ declare -f prepare install_into; echo "${XEN_SRC:-}" "$release" "$SUITE" "${options[@]}" "${flags[@]}"
	"${CC:-cc}" -dumpfullversion
	cat "$patches"/*.patch; } | sha256sum | cut -c1-16)
out=$cache/xl-$key
if [ "${1:-}" = --path ] || [ -e "$out/$place/bin/xl" ]; then
	[ ! -d "$out" ] || touch "$out"
	echo "$out"
	exit 0
fi
[ -z "$missing" ] || {
	say "packages are missing: apt-get install$missing"
	exit 1
}

tree=$cache/xl-tree-$key
mkdir -p "$cache"
exec 9>"$cache/xl.lock"
flock 9
start=$SECONDS
[ -e "$tree/configured" ] || prepare "$tree"
say "compiling"
for p in include libs xl; do
	# Compiled with -Werror, as Xen's tools are by default.
	inside "$tree/src/tools/$p" make "${make_options[@]}" \
		>>"$tree/log" 2>&1 || {
		grep -A5 -E '(error|warning): |undefined reference|\*\*\*' \
			"$tree/log" | cut -c1-160 | head -n 40 >&2
		say "compilation failed; all of it: $tree/log"
		exit 1
	}
done
rm -rf "$out" "$out.tmp"
install_into "$out.tmp" "$tree/src/tools"
mv "$out.tmp" "$out"
rm -rf "$tree"
# What nobody used for two weeks.
find "$cache" -maxdepth 1 -name 'xl-*' -mtime +14 -exec rm -rf {} +
say "done after $((SECONDS - start)) s"
echo "$out"
