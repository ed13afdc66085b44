#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes what scenarios with "# oldkernel: yes" start guests with, Debian 11's kernel, and
# prints the folder that holds it: oldkernel.vmlinuz, and oldkernel.cpio, to be laid over
# the guests' root: its modules, with the frontend's. Debian's part is cached as image.sh's.
# Needs no root.
#
# Usage: oldkernel.sh BUILD    the project's build folder; gets kmod-VERSION
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
build=$(cd "$1" && pwd)
# shellcheck source=tests/lib/debsrc.sh
. "$here/../../lib/debsrc.sh"
# shellcheck source=tests/qemu/lib/roots.sh
. "$here/../lib/roots.sh"
say() { echo "image: $*" >&2; }
series=5.10 suite=bullseye
modules=(
	xen-evtchn xen-gntdev xen-gntalloc xen-privcmd xenfs xen-netfront
	ib_uverbs ib_umad rdma_ucm iw_cm dummy
)

kdir=$("$top/tests/kbuild/headers.sh" $series)
KVER=${kdir##*/linux-headers-}
key=$({ cat "$here/oldkernel.sh"; echo "$KVER"; } | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/oldkernel-$key

# debian_part: the kernel, and its modules as the guests' root has them.
debian_part() {
	mkdir -p "${cache%/*}"
	exec 9>"$cache.lock"
	flock 9
	[ ! -e "$cache/complete" ] || return 0
	rm -rf "$cache"
	mkdir -p "$cache"
	say "fetching Linux $KVER of $suite (once; cached in ${cache%/*})"
	debsrc_open "$cache" $suite deb
	(cd "$cache" && apt-get "${debsrc[@]}" download "linux-image-$KVER") >&2
	all=$cache/all
	dpkg-deb -x "$cache"/linux-image-*.deb "$all"
	mkdir -p "$all/usr"
	mv "$all/lib" "$all/usr/"
	ln -s usr/lib "$all/lib"
	cp "$all/boot/vmlinuz-$KVER" "$cache/vmlinuz"
	depmod -b "$all" "$KVER"
	take_modules "$cache/root" "${modules[@]}"
	rm -rf "$all" "$cache/apt" "$cache"/*.deb
	touch "$cache/complete"
}

debian_part
out=$build/kmod-$KVER
"$top/tools/kbuild-tree.sh" "$out" >/dev/null
make -s -j"${JOBS:-$(nproc)}" CC=gcc -C "$kdir" M="$out/frontend" modules >&2
root=$out/root
rm -rf "$root"
cp -a "$cache/root" "$root"
mkdir "$root/usr/lib/modules/$KVER/updates"
cp "$out/frontend/xen-vhcafront.ko" "$root/usr/lib/modules/$KVER/updates/"
strip --strip-debug "$root/usr/lib/modules/$KVER/updates/xen-vhcafront.ko"
depmod -b "$root/usr" "$KVER"
pack "$root" "$out/oldkernel.cpio"
ln -sf "$cache/vmlinuz" "$out/oldkernel.vmlinuz"
echo "$out"
