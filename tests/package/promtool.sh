#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Prints the path of promtool: this machine's, or that of Debian's package prometheus
# (19 MB), which is unpacked into the user's cache once. The package is not installed,
# as it would start Prometheus. Exit status 3: it cannot be had.
# Usage: promtool.sh
set -euo pipefail
if command -v promtool; then
	exit 0
fi
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/promtool-$release
mkdir -p "$cache"
exec 9>"$cache.lock"
flock 9
if [ ! -x "$cache/promtool" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cd "$work"
	apt-get download -qq prometheus >log 2>&1 || {
		tail -n 1 log >&2
		exit 3
	}
	dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
	mv usr/bin/promtool "$cache/"
fi
echo "$cache/promtool"
