#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Installs the Debian packages that building and testing need and that are
# missing. Instant when nothing is. Runs as root, or by sudo.
# Usage: deps.sh [--list]      --list: print the packages, install nothing
set -eu

build='build-essential autoconf automake libtool pkg-config bc kmod
	libxen-dev libibverbs-dev libjson-c-dev libcmocka-dev'
kernel='linux-headers-amd64'
check='qemu-system-x86 mmdebstrap cpio zstd xz-utils binutils util-linux
	procps python3 sparse shellcheck clang'
# The model HCA is compiled into QEMU (tests/hca).
qemu='ninja-build meson python3 libglib2.0-dev libpixman-1-dev libfdt-dev
	libcap-ng-dev libattr1-dev zlib1g-dev'
# The fuzz targets need clang's run-time library of the same version.
rt=$(apt-cache depends clang 2>/dev/null |
	sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p' | head -n 1)
check="$check $rt"
# Packages of this project (tests/package).
package='debhelper dh-dkms dkms lintian'
# libxl and xl with this project's patches (tests/qemu/build-xl.sh).
xl='libyajl-dev uuid-dev flex bison libncurses-dev python3-dev acpica-tools'

# shellcheck disable=SC2086
if [ "${1:-}" = --list ]; then
	echo $build $kernel $check $qemu $package $xl | tr ' ' '\n'
	exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "deps: this is no Debian system; please install by hand:" >&2
	# shellcheck disable=SC2086
	echo $build $kernel $check $qemu $package $xl >&2
	exit 1
fi

# With KDIR or KVER the user brings his own kernel.
[ -z "${KDIR:-}${KVER:-}" ] || kernel=''
missing=''
for p in $build $kernel $check $qemu $package $xl; do
	case "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" in
	installed) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

sudo=''
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "deps: missing:$missing" >&2
		echo "deps: run 'make deps' as root, or install sudo" >&2
		exit 1
	}
	sudo=sudo
fi
echo "deps: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
	# shellcheck disable=SC2086
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
		--no-install-recommends $missing >"$log" 2>&1
}
# The package lists may be absent or old.
install || { $sudo apt-get update -qq >"$log" 2>&1 && install; } || {
	tail -n 15 "$log" >&2
	echo "deps: apt-get failed; is a Debian mirror reachable?" >&2
	exit 1
}
