#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds QEMU with the model of a ConnectX-4 and prints the program's path.
# The sources are those of Debian's installed QEMU. All is cached: the first
# run takes minutes, one after a change of the model seconds, any other none.
# Needs no root; writes only below ${XDG_CACHE_HOME:-~/.cache}/xen-vhca.
#
# Usage: build-qemu.sh [--path] [x86_64|aarch64]   --path: only print where it would be
# Each target has a tree of its own, so that nobody compiles both who needs one.
# Environment: VHCA_QEMU_SRC (folder with the sources of QEMU 7.2 or 10.0, instead of
# Debian's), VHCA_MIRROR (Debian mirror), VHCA_QEMU_ASAN=1 (with AddressSanitizer,
# in a cache of its own), JOBS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# It runs on this machine, whatever the release of those that it emulates.
unset SUITE
# shellcheck source=tests/qemu/lib/kver.sh
. "$here/../qemu/lib/kver.sh"
# shellcheck source=tests/lib/debsrc.sh
. "$here/../lib/debsrc.sh"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca
say() { echo "qemu: $*" >&2; }
only_path=no
[ "${1:-}" != --path ] || { only_path=yes; shift; }
target=${1:-x86_64}
case $target in
x86_64|aarch64)	;;
*)	say "unknown target $target: x86_64 or aarch64"; exit 2 ;;
esac

options=(
	"--target-list=$target-softmmu" --without-default-features
	--without-default-devices "--with-devices-$target=vhca"
	--enable-tcg --enable-virtfs --enable-attr --enable-cap-ng
	--enable-fdt=system --disable-docs --disable-tools
	--disable-guest-agent --disable-werror --disable-debug-info
	# No user of these machines is an attacker: 6 % of the processor's time.
	--disable-pie --disable-stack-protector
	--extra-cflags=-fno-pie --extra-ldflags=-no-pie
	# Debian's packages have the firmware.
	--firmwarepath=/usr/share/qemu:/usr/share/seabios
)
[ "${VHCA_QEMU_ASAN:-0}" != 1 ] || options+=(--enable-sanitizers)

if [ -n "${VHCA_QEMU_SRC:-}" ]; then
	version="folder $(realpath "$VHCA_QEMU_SRC")"
	series=$(cat "$VHCA_QEMU_SRC/VERSION")
else
	# shellcheck disable=SC2016
	version=$(dpkg-query -W -f '${source:Version}' qemu-system-x86) || {
		say "no Debian package qemu-system-x86: run 'make deps'"
		exit 1
	}
	series=${version#*:}
fi
series=$(grep -oE '^[0-9]+\.[0-9]+' <<<"$series" || true)
patches=$here/qemu/$series
# Of 10.0 Debian ships no firmware, not even to be installed.
[ "$series" = 7.2 ] || options+=(--disable-install-blobs)
[ -n "$series" ] && [ -d "$patches" ] || {
	say "the model is for QEMU 7.2 and 10.0, this is $version:" \
		"VHCA_QEMU_SRC names a folder with the sources of one of them"
	exit 1
}

fetch() {
	say "fetching the sources of QEMU $version (25 MB, once)"
	debsrc_open "$1"
	(cd "$1" && apt-get "${debsrc[@]}" source --download-only \
		"qemu=$version" >&2) || {
		say "no mirror of this system has that version any more:" \
			"upgrade qemu-system-x86, or set VHCA_QEMU_SRC"
		return 1
	}
	rm -rf "$1/apt"
}

# What a change of needs everything to be compiled anew.
prepare() {
	local tree=$1 p
	rm -rf "$tree"
	mkdir -p "$tree"
	if [ -n "${VHCA_QEMU_SRC:-}" ]; then
		say "copying $VHCA_QEMU_SRC"
		mkdir "$tree/src"
		tar -C "$VHCA_QEMU_SRC" --exclude=./b --exclude=./build \
			--exclude=./.git -cf - . | tar -C "$tree/src" -xf -
	else
		fetch "$tree"
		say "unpacking"
		dpkg-source --no-check -x "$tree"/qemu_*.dsc "$tree/src" \
			>"$tree/log" 2>&1
		rm "$tree"/qemu_*
	fi
	# Firmware is not built.
	rm -rf "$tree/src/roms"
	for p in "$patches"/*.patch; do
		patch -s -d "$tree/src" -p1 <"$p" >&2
	done
	echo "subdir('connectx')" >>"$tree/src/hw/meson.build"
	echo "source connectx/Kconfig" >>"$tree/src/hw/Kconfig"
	cp "$here/qemu/devices-$target.mak" \
		"$tree/src/configs/devices/$target-softmmu/vhca.mak"
	model_into "$tree/src/hw/connectx"
	mkdir "$tree/build"
	say "configuring"
	(cd "$tree/build" && ../src/configure "${options[@]}" \
		>"$tree/log" 2>&1) || {
		tail -n 20 "$tree/log" >&2
		say "configure failed: 'make deps' installs what is missing"
		return 1
	}
	touch "$tree/configured"
}

# Keeps the time of a file that did not change.
put() { cmp -s "$1" "$2" || cp "$1" "$2"; }

# Makes folder $1 hold the model and nothing else.
model_into() {
	local dir=$1 f name
	mkdir -p "$dir/include/linux/mlx5"
	for f in "$dir"/*.[ch]; do
		name=${f##*/}
		[ -e "$here/model/$name" ] || [ -e "$here/qemu/$name" ] ||
			rm -f "$f"
	done
	for f in "$here"/model/*.[ch] "$here"/qemu/*.[ch] \
		"$here"/qemu/{Kconfig,meson.build}; do
		put "$f" "$dir/${f##*/}"
	done
	for f in "$ifc"/mlx5_ifc*.h; do
		put "$f" "$dir/include/linux/mlx5/${f##*/}"
	done
	(cd "$dir" && ls ./*.c) >"$dir/sources.new"
	put "$dir/sources.new" "$dir/sources"
	rm "$dir/sources.new"
}

# The kernel's headers that have the layout of mlx5 commands.
ifc=''
for p in /usr/src/linux-headers-"${KVER%-amd64}"-common \
	"${KDIR:-/nonexistent}" "${KDIR:-/nonexistent}/source" \
	/usr/src/linux-headers-*-common; do
	if [ -e "$p/include/linux/mlx5/mlx5_ifc.h" ]; then
		ifc=$p/include/linux/mlx5
		break
	fi
done
[ -n "$ifc" ] || { say "no linux/mlx5/mlx5_ifc.h: run 'make deps'"; exit 1; }

hash16() { sha256sum | cut -c1-16; }
base=$({ declare -f prepare; echo "$version" "${options[@]}"
	${CC:-cc} -dumpfullversion
	cat "$patches"/*.patch "$here/qemu/devices-$target.mak"; } | hash16)
key=$({ echo "$base"
	cat "$ifc"/mlx5_ifc*.h "$here"/model/*.[ch] "$here"/qemu/{*.[ch],Kconfig,meson.build}
	} | hash16)
out=$cache/qemu-$key
program=$out/bin/qemu-system-$target
if [ "$only_path" = yes ] || [ -x "$program" ]; then
	[ ! -d "$out" ] || touch "$out"
	echo "$program"
	exit 0
fi

tree=$cache/qemu-tree-$base
mkdir -p "$cache"
exec 9>"$tree.lock"
flock 9
# Whoever held the lock may have made it.
if [ -x "$program" ]; then
	echo "$program"
	exit 0
fi
[ -e "$tree/configured" ] || prepare "$tree"
model_into "$tree/src/hw/connectx"
say "compiling (a few minutes the first time)"
start=$SECONDS
ninja -C "$tree/build" ${JOBS:+-j"$JOBS"} "${program##*/}" \
	>"$tree/log" 2>&1 || {
	grep -A15 -E '^FAILED|error:|undefined' "$tree/log" |
		cut -c1-160 | head -n 40 >&2
	say "compilation failed; all of it: $tree/log"
	exit 1
}
mkdir -p "$out.tmp/bin"
cp "$tree/build/${program##*/}" "$out.tmp/bin/"
[ "${VHCA_QEMU_ASAN:-0}" = 1 ] || strip -s "$out.tmp/bin/${program##*/}"
rm -rf "$out"
mv "$out.tmp" "$out"
# What nobody used for two weeks.
find "$cache" -maxdepth 1 -name 'qemu-*' ! -name "${tree##*/}*" -mtime +14 \
	-exec rm -rf {} +
touch "$tree"
say "done after $((SECONDS - start)) s"
echo "$program"
