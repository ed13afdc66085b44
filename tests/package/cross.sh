#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A root of Debian 12 in which packages for arm64 are made: programs of this machine's
# architecture, a compiler for arm64, and arm64's libraries beside this machine's
# (multiarch), so that Debian's own tools find what a package depends on. Prints its
# folder, which is kept in the user's cache; with a command, runs it there, in DIR, which
# has the same path in the root. Needs no root: user namespaces do.
#
# Usage: cross.sh [--path | --in DIR COMMAND...]     --path: only says where it would be
# Environment: VHCA_MIRROR (Debian mirror). Exit status 3: it cannot be had.
set -euo pipefail
suite=bookworm arch=arm64
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/mirror.sh
. "$here/../lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../lib/retry.sh"
say() { echo "arm64 packages: $*" >&2; }
mapfile -t packages < <("$here/../qemu/image/deps.sh" --list cross)
key=$({ cat "$here/cross.sh"; echo "${packages[*]}"; } | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/cross-$arch-$key

make_root() {
	command -v mmdebstrap >/dev/null || {
		say "mmdebstrap is not installed: run 'make deps'"
		exit 3
	}
	rm -rf "$cache"
	mkdir -p "$cache/root"
	say "installing a $suite root to compile in (once; cached in ${cache%/*})"
	debian_tar "$suite" "$cache" "$(IFS=,; echo "${packages[*]}")" --variant=minbase \
		--architectures="$(dpkg --print-architecture),$arch" \
		--dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' || exit 3
	tar -C "$cache/root" --exclude='./dev/*' --no-same-owner -xf "$cache/root.tar"
	rm "$cache/root.tar"
	touch "$cache/complete"
	say "done: $(du -sh "$cache" | cut -f1)"
}

if [ "${1:-}" != --path ] && [ ! -e "$cache/complete" ]; then
	mkdir -p "${cache%/*}"
	exec 9>"$cache.lock"
	flock 9
	[ -e "$cache/complete" ] || make_root
	exec 9>&-
fi
if [ "${1:-}" != --in ]; then
	echo "$cache/root"
	exit 0
fi
dir=$(realpath "$2")
shift 2
mkdir -p "$cache/root$dir"
# The mounts end with the namespace.
# shellcheck disable=SC2016
exec unshare --user --map-root-user --mount sh -ec 'root=$1 dir=$2
	for d in /dev /proc "$dir"; do
		mount --rbind "$d" "$root$d"
	done
	shift 2
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
		chroot "$root" sh -c "cd \"\$0\" && exec \"\$@\"" "$dir" "$@"
' sh "$cache/root" "$dir" "$@"
