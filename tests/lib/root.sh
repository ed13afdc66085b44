# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that keep a Debian root in the user's cache: it is made once, and a
# command may run in it. They need say(), mirror.sh and retry.sh.

# root_once FOLDER COMMAND...: COMMAND makes FOLDER/root, unless it is complete. Two wait
# for each other. What ends halfway is made anew.
root_once() {
	[ ! -e "$1/complete" ] || return 0
	command -v mmdebstrap >/dev/null || {
		say "mmdebstrap is not installed: run 'make deps'"
		return 1
	}
	mkdir -p "${1%/*}"
	exec 9>"$1.lock"
	flock 9
	if [ ! -e "$1/complete" ]; then
		rm -rf "$1"
		mkdir -p "$1/root"
		"${@:2}" || return 1
		touch "$1/complete"
		say "done: $(du -sh "$1" | cut -f1)"
	fi
	exec 9>&-
}

# root_unpack SUITE FOLDER PACKAGES OPTION...: debian_tar's root into FOLDER/root.
root_unpack() {
	debian_tar "$@" || return 1
	tar -C "$2/root" --exclude='./dev/*' --exclude='./usr/share/doc' \
		--no-same-owner -xf "$2/root.tar" || return 1
	rm "$2/root.tar"
}

# root_compiles: options for a root in which something is compiled, one in a line.
root_compiles() {
	printf '%s\n' --variant=minbase --dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*'
}

# root_run ROOT DIR... -- COMMAND...: becomes COMMAND there, in the first DIR. Each DIR is
# at its own path in the root. Needs no privilege: user namespaces do. The environment is
# bare; "env NAME=VALUE" before the command adds to it.
root_run() {
	local root=$1 dirs=()
	shift
	while [ "$1" != -- ]; do
		dirs+=("$1")
		mkdir -p "$root$1"
		shift
	done
	shift
	# The mounts end with the namespace.
	# shellcheck disable=SC2016
	exec unshare --user --map-root-user --mount bash -c '
		root=$1 n=$2
		shift 2
		for d in /dev /proc "${@:1:n}"; do
			mount --rbind "$d" "$root$d" || exit
		done
		dir=$1
		shift "$n"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C bash -c "cd \"\$0\" && exec \"\$@\"" "$dir" "$@"
	' bash "$root" "${#dirs[@]}" "${dirs[@]}" "$@"
}
