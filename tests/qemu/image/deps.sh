#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Installs the Debian packages that building and testing need and that are
# missing. Instant when nothing is. Runs as root, or by sudo.
# Usage: deps.sh [--list] [build|unit|install|all|arm|debug|root|cross]
#   build    compiler, libraries, headers of the kernel that the test bed boots
#   unit     and what 'make check-unit' runs
#   install  and the headers of the running kernel, for 'make install'
#   all      everything (default)
#   arm      what compiles for arm64, here
#   debug    and the source of the kernel, for 'make check-debug'
#   root     what a root of another release compiles (build-root.sh)
#   cross    what packages for arm64 are compiled with, in a root (with --list only)
#   cross-build  and all of "make build", for another release than this machine's
#   --list   print the packages, install nothing
# Whoever may not install goes on without, but for "all": what is built then says
# what it misses.
set -eu
# shellcheck source=tests/lib/retry.sh
. "$(dirname "$0")/../../lib/retry.sh"

list=no
[ "${1:-}" != --list ] || { list=yes; shift; }
set_of=${1:-all}

build='build-essential autoconf automake libtool pkg-config bc kmod git
	libxen-dev libibverbs-dev libjson-c-dev libcmocka-dev'
kernel='linux-headers-amd64'
# The fuzz targets need the run-time library of clang's version.
unit='python3 jq sparse shellcheck clang libclang-rt-dev binutils util-linux procps
	device-tree-compiler nftables'
xen='qemu-system-x86 mmdebstrap cpio zstd xz-utils'
# The model HCA is compiled into QEMU (tests/hca); that of Debian 13 asks for venv.
qemu='meson python3-venv libglib2.0-dev libpixman-1-dev libfdt-dev
	libcap-ng-dev libattr1-dev zlib1g-dev'
# Packages of this project (tests/package).
debs='debhelper dh-dkms dkms'
package="$debs lintian"
# libxl and xl with this project's patches (tests/qemu/image/build-xl.sh).
xl='libyajl-dev uuid-dev flex bison libncurses-dev python3-dev acpica-tools
	zlib1g-dev libglib2.0-dev libpixman-1-dev'

# For arm64, whose libraries come in a root of it (tests/qemu/arm/root.sh).
arm='gcc-aarch64-linux-gnu mmdebstrap'

# Packages for arm64: libraries of two architectures, which few machines have.
cross="build-essential gcc-aarch64-linux-gnu $debs
	libc6-dev:arm64 pkgconf:arm64 libxen-dev:arm64 libjson-c-dev:arm64
	libibverbs-dev:arm64"

cross_build="$cross autoconf automake libtool bc kmod libcmocka-dev:arm64"

# With KDIR or KVER the user brings his own kernel.
[ -z "${KDIR:-}${KVER:-}" ] || kernel=''
case "$set_of" in
build)	wanted="$build $kernel" ;;
unit)	wanted="$build $kernel $unit" ;;
install) wanted=$build
	[ -n "${KDIR:-}" ] || [ -e "/lib/modules/$(uname -r)/build/Makefile" ] ||
		wanted="$wanted linux-headers-$(uname -r)" ;;
all)	wanted="$build $kernel $unit $xen $qemu $package $xl $arm" ;;
arm)	wanted="$build $arm" ;;
root)	wanted="$build $kernel $xl $debs" ;;
cross)	wanted=$cross; [ "$list" = yes ] || exit 2 ;;
cross-build) wanted=$cross_build; [ "$list" = yes ] || exit 2 ;;
debug)	wanted='linux-source bc patch bison flex libelf-dev libssl-dev rsync' ;;
*)	echo 'usage: deps.sh [--list] [build|unit|install|all|arm|debug|root|cross]' >&2
	exit 2 ;;
esac

# cannot WHY...: fails, or goes on without.
cannot() {
	for why; do
		echo "deps: $why" >&2
	done
	[ "$set_of" = all ] || exit 0
	exit 1
}

# shellcheck disable=SC2086
if [ "$list" = yes ]; then
	echo $wanted | tr ' ' '\n'
	exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	# Quiet where somebody has seen to it by hand.
	[ "$set_of" = all ] || exit 0
	cannot "this is no Debian system; please install by hand:" "$wanted"
fi

# Sets missing; ends if there is nothing to do.
find_missing() {
	# shellcheck disable=SC2086
	installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
		$wanted 2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' ')"
	missing=''
	for p in $wanted; do
		case "$installed" in
		*" $p "*) ;;
		*) missing="$missing $p" ;;
		esac
	done
	[ -n "$missing" ] || exit 0
}
find_missing

sudo=''
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || cannot "missing:$missing" \
		"run 'make deps' as root, or install sudo"
	sudo=sudo
fi
# 'make -j' runs this for two sets at a time.
exec 9<"$0"
flock 9
find_missing
echo "deps: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
	# shellcheck disable=SC2086
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
		-o DPkg::Lock::Timeout=600 --no-install-recommends $missing 9>&-
}
renew() { $sudo apt-get update -qq 9>&- && install; }
# The package lists may be absent or old, or another program may hold them.
install >"$log" 2>&1 || retry "$log" renew || {
	tail -n 15 "$log" >&2
	cannot "apt-get could not install them; is a Debian mirror reachable?"
}
