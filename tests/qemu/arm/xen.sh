#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Compiles Xen for arm64, and its xenstored for a domain that is not dom0, and prints the
# folder that holds both:
#
#   xen         the hypervisor
#   xenstored   a static program; its versions before 4.22 need a domain 0
#
# Debian has no Xen as new. All is cached: the first run takes one or two minutes, any
# other none. Needs no root.
#
# Usage: xen.sh [--have]   --have: only say, by the status, whether it can be had
# Environment: VHCA_XEN_SRC: the sources of Xen 4.22 or newer, as a folder, as an archive
# (xen-4.22.0.tar.xz), or as a folder that has such an archive; JOBS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca
triplet=aarch64-linux-gnu
say() { echo "arm64 xen: $*" >&2; }

# source_of PLACE: the folder or archive at it, the newest of several.
source_of() {
	if [ -e "$1/xen/Makefile" ] || [ -f "$1" ]; then
		realpath "$1"
	elif [ -d "$1" ]; then
		find "$(realpath "$1")" -maxdepth 1 -name 'xen-4.*.tar.*' |
			sort -V | tail -n 1
	fi
}
source=$(source_of "${VHCA_XEN_SRC:-/nonexistent}")
if [ "${1:-}" = --have ]; then
	[ -n "$source" ]
	exit
fi
[ -n "$source" ] || {
	say "the sources of Xen 4.22 or newer are needed, and Debian has none:" \
		"VHCA_XEN_SRC=FOLDER or ARCHIVE names them (the archive" \
		"xen-4.22.0.tar.xz is at downloads.xenproject.org/release/xen/4.22.0)"
	exit 1
}

# What tools/configure would find out. It asks for the libraries of all tools, of which
# xenstored needs none.
configure_tools() {
	printf '%s\n' 'CONFIG_9PFS := n' 'PYTHON := python3' 'AWK := awk' \
		'PERL := perl' 'BASH := bash' 'PREFIX := /usr' 'prefix := /usr' \
		>"$1/config/Tools.mk"
	printf '#define %s\n' 'XEN_RUN_STORED "/run/xenstored"' \
		'XEN_LIB_DIR "/var/lib/xen"' 'XEN_RUN_DIR "/run/xen"' \
		'XEN_LOG_DIR "/var/log/xen"' 'INCLUDE_ENDIAN_H <endian.h>' \
		>"$1/tools/config.h"
}

# compile TREE SYSROOT
compile() {
	local lib libs='' all="XEN_TARGET_ARCH=arm64 CROSS_COMPILE=$triplet-"
	local tools=("CC=$triplet-gcc --sysroot=$2" nosharedlibs=y debug=n)
	# shellcheck disable=SC2086
	set -- "$1" $all "-j${JOBS:-$(nproc)}"
	make -C "$1/xen" "${@:2}" defconfig
	# A direct map is allowed with static memory only.
	printf '%s\n' CONFIG_UNSUPPORTED=y CONFIG_STATIC_MEMORY=y >>"$1/xen/.config"
	make -C "$1/xen" "${@:2}" olddefconfig
	make -C "$1/xen" "${@:2}"
	configure_tools "$1"
	make -C "$1/tools/include" "${@:2}" "${tools[@]}"
	for lib in toolcore toollog call evtchn gnttab manage; do
		make -C "$1/tools/libs/$lib" "${@:2}" "${tools[@]}"
		libs="$1/tools/libs/$lib/libxen$lib.a $libs"
	done
	make -C "$1/tools/xenstored" "${@:2}" "${tools[@]}" LDFLAGS=-static \
		"APPEND_LDFLAGS=$libs"
}

sysroot=$("$here/root.sh")
key=$({ declare -f configure_tools compile; $triplet-gcc -dumpfullversion; echo "$sysroot"
	if [ -f "$source" ]; then sha256sum <"$source"
	else echo "$source" "$(stat -c %Y "$source/xen/Makefile")"; fi; } |
	sha256sum | cut -c1-16)
out=$cache/arm64-xen-$key
if [ ! -e "$out/xenstored" ]; then
	exec 9>"$cache/arm64-xen.lock"
	flock 9
fi
if [ -e "$out/xenstored" ]; then
	echo "$out"
	exit 0
fi
start=$SECONDS
rm -rf "$out" "$out.tmp"
mkdir -p "$out.tmp/src"
say "compiling $source (once; cached in $cache)"
if [ -f "$source" ]; then
	tar -C "$out.tmp/src" --strip-components=1 -xf "$source"
else
	tar -C "$source" --exclude=./.git -cf - . | tar -C "$out.tmp/src" -xf -
fi
compile "$out.tmp/src" "$sysroot" >"$out.tmp/log" 2>&1 || {
	grep -A5 -E 'error: |undefined reference|\*\*\*' "$out.tmp/log" |
		cut -c1-160 | head -n 40 >&2
	say "compilation failed; all of it: $out.tmp/log"
	exit 1
}
cp "$out.tmp/src/xen/xen" "$out.tmp/"
cp "$out.tmp/src/tools/xenstored/xenstored" "$out.tmp/"
rm -rf "$out.tmp/src"
mv "$out.tmp" "$out"
say "done after $((SECONDS - start)) s"
echo "$out"
