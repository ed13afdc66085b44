#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes a Debian 12 root with DKMS and kernel headers, to install packages in,
# and prints the file name of its archive, which is kept in the user's cache.
# Usage: root.sh PACKAGE...     what the packages under test depend on
# VHCA_MIRROR names another Debian mirror. Exit status 3: it cannot be had.
set -euo pipefail
suite=bookworm
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/mirror.sh
. "$here/../lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../lib/retry.sh"
packages=(systemd udev kmod dkms gcc libc6-dev make linux-headers-amd64
	"$@")

key=$( { cat "$here/root.sh"; printf '%s\n' "${packages[@]}"; } |
	sha256sum | cut -c1-16)
tar=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/root-$key.tar
mkdir -p "${tar%/*}"
exec 9>"$tar.lock"
flock 9
if [ ! -e "$tar" ]; then
	command -v mmdebstrap >/dev/null || {
		echo "mmdebstrap is not installed: run 'make deps'" >&2
		exit 3
	}
	echo "fetching a Debian root with kernel headers (once, cached)" >&2
	log=$(mktemp) conf=$(mktemp)
	trap 'rm -f "$log" "$conf" "$tar.new"' EXIT
	mirror_open "$suite" "$conf"
	retry "$log" debian_root --variant=minbase --format=tar --aptopt="$conf" \
		--include="$(IFS=,; echo "${packages[*]}")" \
		"$suite" "$tar.new" "${mirrors[@]}" || {
		tail -n 40 "$log" >&2
		echo "mmdebstrap failed: is the Debian mirror reachable?" >&2
		exit 3
	}
	mv "$tar.new" "$tar"
fi
echo "$tar"
