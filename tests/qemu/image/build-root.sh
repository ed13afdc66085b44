#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes a root of a Debian release in which this project is compiled for it, with
# that release's compiler, libraries and kernel headers, and prints its folder:
#
#   root     the root, without package lists
#   kver     the kernel whose headers it has
#
# libxenctrl's soname has Xen's version in it, and kbuild's programs need the C
# library of their release: so nothing that this machine compiles runs there for sure.
# With a command, it runs the command in the root, with this source tree and the folders
# named at the same paths. Needs no root: user namespaces do.
#
# Usage: build-root.sh [--path | --in DIR... -- COMMAND...]
# Environment: SUITE, the release (../lib/suite.sh)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../lib/suite.sh"
# shellcheck source=tests/lib/mirror.sh
. "$top/tests/lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$top/tests/lib/retry.sh"
say() { echo "root: $*" >&2; }

mapfile -t packages < <(env -u KDIR -u KVER "$here/deps.sh" --list root)
key=$( { cat "$here/build-root.sh"; echo "$SUITE ${packages[*]}"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/root-$SUITE-$key
if [ "${1:-}" = --path ]; then
	echo "$cache"
	exit 0
fi

make_root() {
	rm -rf "$cache"
	mkdir -p "$cache/root"
	say "installing a $SUITE root to compile in (once; cached in ${cache%/*})"
	debian_tar "$SUITE" "$cache" "$(IFS=,; echo "${packages[*]}")" \
		--variant=minbase --dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' || exit 1
	tar -C "$cache/root" --exclude='./dev/*' --no-same-owner \
		-xf "$cache/root.tar"
	rm "$cache/root.tar"
	find "$cache/root/usr/src" -maxdepth 1 -name 'linux-headers-*-amd64' |
		sort -V | tail -n 1 | sed 's,.*/linux-headers-,,' >"$cache/kver"
	[ -s "$cache/kver" ] || { say "no kernel headers in $SUITE"; exit 1; }
	touch "$cache/complete"
	say "done: $(du -sh "$cache" | cut -f1), Linux $(cat "$cache/kver")"
}

mkdir -p "${cache%/*}"
exec 9>"$cache.lock"
flock 9
[ -e "$cache/complete" ] || make_root
exec 9>&-
if [ "${1:-}" != --in ]; then
	echo "$cache"
	exit 0
fi

shift
dirs=("$top")
while [ "$1" != -- ]; do
	mkdir -p "$1"
	dirs+=("$(realpath "$1")")
	shift
done
shift
for d in "${dirs[@]}"; do
	mkdir -p "$cache/root$d"
done
# The mounts end with the namespace.
# shellcheck disable=SC2016
exec unshare --user --map-root-user --mount bash -c '
	root=$1 n=$2
	shift 2
	for d in /dev /proc "${@:1:n}"; do
		mount --rbind "$d" "$root$d" || exit
	done
	top=$1
	shift "$n"
	exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C ${JOBS:+JOBS=$JOBS} SUITE='"$SUITE"' \
		bash -c "cd \"\$0\" && exec \"\$@\"" "$top" "$@"
' bash "$cache/root" "${#dirs[@]}" "${dirs[@]}" "$@"
