#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Unpacks an arm64 root of Debian 12 and prints its folder: what this project is compiled
# against for arm64 (a compiler's --sysroot), and what the roots of the test bed's Arm
# machines are taken from. Nothing in it runs here, and no maintainer script did. Needs
# no root. Cached.
#
# Usage: root.sh [--path | --configure CONFIGURE ARGUMENT...]
#   --path       only print where it would be
#   --configure  run an autotools configure for arm64 with libraries of that root
# Environment: VHCA_MIRROR (Debian mirror)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/mirror.sh
. "$here/../../lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../../lib/retry.sh"
say() { echo "arm64 root: $*" >&2; }
suite=bookworm
triplet=aarch64-linux-gnu
packages=(
	# compiled against
	libc6-dev linux-libc-dev libxen-dev libibverbs-dev librdmacm-dev
	libjson-c-dev libcmocka-dev
	# run; Xen has no dom0 in these machines, and this is the one that Debian has
	xen-hypervisor-4.17-arm64
	linux-image-arm64 rdma-core ibverbs-utils ibverbs-providers perftest
	iproute2 kmod udev xenstore-utils iputils-ping procps sysvinit-utils strace
	bash dash coreutils util-linux mount grep sed mawk findutils diffutils
)
key=$({ cat "$here/root.sh"; echo "${VHCA_MIRROR:-}"; } | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/arm64-root-$key

make_root() {
	rm -rf "$cache"
	mkdir -p "$cache/root"
	say "fetching Debian packages of $suite (200 MB; once, cached in ${cache%/*})"
	debian_tar "$suite" "$cache" "$(IFS=,; echo "${packages[*]}")" \
		--variant=extract --architectures=arm64 \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr || exit 1
	tar -C "$cache/root" --exclude='./dev/*' --exclude='./usr/share/doc' \
		--no-same-owner -xf "$cache/root.tar"
	rm "$cache/root.tar"
	touch "$cache/complete"
	say "done: $(du -sh "$cache" | cut -f1)"
}

if [ "${1:-}" != --path ] && [ ! -e "$cache/complete" ]; then
	command -v mmdebstrap >/dev/null || {
		say "mmdebstrap is not installed: run 'make deps'"
		exit 1
	}
	mkdir -p "${cache%/*}"
	exec 9>"$cache.lock"
	flock 9
	[ -e "$cache/complete" ] || make_root
	exec 9>&-
fi
if [ "${1:-}" != --configure ]; then
	echo "$cache/root"
	exit 0
fi
command -v $triplet-gcc >/dev/null || {
	say "$triplet-gcc is not installed: run 'make deps'"
	exit 1
}
export PKG_CONFIG=pkg-config PKG_CONFIG_PATH='' PKG_CONFIG_SYSROOT_DIR=$cache/root
export PKG_CONFIG_LIBDIR=$cache/root/usr/lib/$triplet/pkgconfig
exec "$2" --host=$triplet CC="$triplet-gcc --sysroot=$cache/root" "${@:3}"
