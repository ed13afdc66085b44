#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A root of Debian in which packages for arm64 are made, and for another release than this
# machine's all of "make build ARCH=arm64": programs of this machine's architecture, a
# compiler for arm64, and arm64's libraries beside this machine's (multiarch), so that
# Debian's own tools find what a package depends on. Prints its folder, which is kept in
# the user's cache; with a command, runs it there, in the first DIR. Each DIR has the same
# path in the root. Needs no root: user namespaces do.
#
# Usage: cross.sh [--path | --in DIR... -- COMMAND...]     --path: only says where it would be
# Environment: SUITE, the release (Debian 12, if this machine has another one);
# VHCA_MIRROR (Debian mirror). Exit status 3: it cannot be had.
set -euo pipefail
arch=arm64
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/mirror.sh
. "$here/../lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../lib/retry.sh"
# shellcheck source=tests/lib/root.sh
. "$here/../lib/root.sh"
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../qemu/lib/suite.sh"
say() { echo "arm64 packages: $*" >&2; }
list=cross
[ "$SUITE" = "$SUITE_HOST" ] || list=cross-build
mapfile -t packages < <("$here/../qemu/image/deps.sh" --list "$list")
key=$({ cat "$here/cross.sh" "$here/../lib/root.sh"; echo "$SUITE ${packages[*]}"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/cross-$arch-$key

make_root() {
	local options
	say "installing a $SUITE root to compile in (once; cached in ${cache%/*})"
	mapfile -t options < <(root_compiles)
	root_unpack "$SUITE" "$cache" "$(IFS=,; echo "${packages[*]}")" "${options[@]}" \
		--architectures="$(dpkg --print-architecture),$arch"
}

[ "${1:-}" = --path ] || root_once "$cache" make_root || exit 3
if [ "${1:-}" != --in ]; then
	echo "$cache/root"
	exit 0
fi
shift
dirs=()
while [ "$1" != -- ]; do
	dirs+=("$(realpath "$1")")
	shift
done
shift
root_run "$cache/root" "${dirs[@]}" -- "$@"
