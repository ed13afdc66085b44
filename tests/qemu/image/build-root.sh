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
# shellcheck source=tests/lib/root.sh
. "$top/tests/lib/root.sh"
say() { echo "root: $*" >&2; }

mapfile -t packages < <(env -u KDIR -u KVER "$here/deps.sh" --list root)
key=$( { cat "$here/build-root.sh" "$top/tests/lib/root.sh"; echo "$SUITE$SUITE_WEEK ${packages[*]}"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/root-$SUITE-$key
if [ "${1:-}" = --path ]; then
	echo "$cache"
	exit 0
fi

make_root() {
	local options
	say "installing a $SUITE root to compile in (once; cached in ${cache%/*})"
	mapfile -t options < <(root_compiles)
	root_unpack "$SUITE" "$cache" "$(IFS=,; echo "${packages[*]}")" \
		"${options[@]}" || return 1
	find "$cache/root/usr/src" -maxdepth 1 -name 'linux-headers-*-amd64' |
		sort -V | tail -n 1 | sed 's,.*/linux-headers-,,' >"$cache/kver"
	[ -s "$cache/kver" ] || { say "no kernel headers in $SUITE"; return 1; }
	say "it has the headers of Linux $(cat "$cache/kver")"
	# Those of earlier weeks.
	[ -z "$SUITE_WEEK" ] || find "${cache%/*}" -maxdepth 1 -name "root-$SUITE-*" \
		-mtime +14 -exec rm -rf {} +
}

root_once "$cache" make_root || exit 1
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
root_run "$cache/root" "${dirs[@]}" -- \
	env SUITE="$SUITE" ${JOBS:+JOBS="$JOBS"} "$@"
