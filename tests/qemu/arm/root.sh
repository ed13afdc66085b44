#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Unpacks an arm64 root of a Debian release and prints its folder: what this project is compiled
# against for arm64 (a compiler's --sysroot), and what the roots of the test bed's Arm
# machines are taken from. Nothing in it runs here, and no maintainer script did. Needs
# no root. Cached.
#
# Usage: root.sh [--path | --configure CONFIGURE ARGUMENT...]
#   --path       only print where it would be
#   --configure  run an autotools configure for arm64 with libraries of that root
# Where arm64's libraries are installed (../../package/cross.sh) they are those that
# configure gets. Environment: SUITE, the release (../lib/suite.sh); VHCA_MIRROR (Debian
# mirror)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/mirror.sh
. "$here/../../lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../../lib/retry.sh"
# shellcheck source=tests/lib/root.sh
. "$here/../../lib/root.sh"
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../lib/suite.sh"
say() { echo "arm64 root: $*" >&2; }
triplet=aarch64-linux-gnu
[ "${1:-}" != --configure ] || ! command -v $triplet-pkg-config >/dev/null ||
	exec "$2" --host=$triplet "${@:3}"
packages=(
	# compiled against
	libc6-dev linux-libc-dev libxen-dev libibverbs-dev librdmacm-dev
	libjson-c-dev libcmocka-dev
	# run
	"xen-hypervisor-$XEN-arm64" "xen-utils-$XEN"
	linux-image-arm64 rdma-core ibverbs-utils ibverbs-providers perftest
	iproute2 kmod udev xenstore-utils iputils-ping procps sysvinit-utils strace
	bash dash coreutils util-linux mount grep sed mawk findutils diffutils
)
key=$({ cat "$here/root.sh" "$here/../../lib/root.sh"; echo "$SUITE$SUITE_WEEK ${VHCA_MIRROR:-}"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/arm64-root-$key

make_root() {
	say "fetching Debian packages of $SUITE (200 MB; once, cached in ${cache%/*})"
	root_unpack "$SUITE" "$cache" "$(IFS=,; echo "${packages[*]}")" \
		--variant=extract --architectures=arm64 \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr
}

[ "${1:-}" = --path ] || root_once "$cache" make_root || exit 1
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
