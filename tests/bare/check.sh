#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The first command works on a new machine: 'make build', then 'make prepare' (all
# of 'make demo' but the machine that it boots), in a Debian root made for it that
# has make and git and nothing else. No package, package list, cache, build folder
# or variable of this machine is in there, of the sources only what is tracked. The
# way to a Debian mirror is this machine's: name server, sources, proxy.
#
# Usage: check.sh --build DIR [--export DIR [--unless-passed]] [--suite NAME]
#                 [--boot SCENARIO] [-v]
#   --build DIR   build folder; gets bare.log, all that was printed in there
#   --export DIR  cache of the user: gets the images and the QEMU made in there, if
#                 this machine would make the same and has not. Nothing goes the
#                 other way.
#   --unless-passed  not if it passed with the same inputs (inputs()) within a week,
#                 of which the export folder has a mark
#   --suite NAME  a Debian release, instead of this machine's
#   --boot NAME   and this scenario passes in there
#   -v            print what is printed in there
# Environment: VHCA_MIRROR (Debian mirror), JOBS, TMPDIR (with 4 GB). Needs root,
# or a user with subordinate ids (mmdebstrap's unshare mode). Status 0: nothing
# failed; where no root can be made, all is skipped, a failure if CI=true.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/lib/count.sh
. "$top/tests/lib/count.sh"
# shellcheck source=tests/lib/mirror.sh
. "$top/tests/lib/mirror.sh"

usage() {
	echo 'usage: check.sh --build DIR [--export DIR [--unless-passed]]' \
		'[--suite NAME] [--boot SCENARIO] [-v]' >&2
	exit 2
}

build='' export='' suite='' boot='' verbose=0 again=1
while [ $# -gt 0 ]; do
	case $1 in
	--build|--export)
		[ -n "${2:-}" ] || usage
		mkdir -p "$2" || exit 2
		printf -v "${1#--}" %s "$(realpath "$2")"
		shift ;;
	--suite|--boot)
		[ -n "${2:-}" ] || usage
		printf -v "${1#--}" %s "$2"
		shift ;;
	-v)	verbose=1 ;;
	--unless-passed)
		again=0 ;;
	*)	usage ;;
	esac
	shift
done
[ -n "$build" ] || usage
[ "$again" = 1 ] || [ -n "$export" ] || usage
work=$(mktemp -d "${TMPDIR:-/tmp}/vhca-bare.XXXXXX")
# mmdebstrap's helper processes may be another user.
chmod 755 "$work"
job='' out=''
# A name in os-release, of Debian and of nobody else.
# shellcheck source=/dev/null
[ -n "$suite" ] || suite=$(. /etc/os-release && [ "${ID:-}" = debian ] &&
	echo "${VERSION_CODENAME:-}")
mode=root
[ "$(id -u)" = 0 ] || mode=unshare

# However this ends: the root's processes, and with them the namespaces that hold
# its mounts, then its files, which are a subordinate user's unless we are root.
# shellcheck disable=SC2317
cleanup() {
	if [ -n "$job" ]; then
		kill -KILL -- "-$job" 2>/dev/null
		wait "$job" 2>/dev/null
	fi
	rm -rf --one-file-system "$work" ${out:+"$out"} 2>/dev/null ||
		mmdebstrap --unshare-helper rm -rf --one-file-system "$work"/mm*
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Says why there can be no root.
unable() {
	local free
	[ -n "$suite" ] || { echo "this is no Debian system"; return; }
	command -v mmdebstrap >/dev/null || {
		echo "mmdebstrap is not installed: run 'make deps'"
		return
	}
	if [ "$mode" = root ]; then
		unshare --mount --pid --fork --mount-proc true 2>&1 | tail -n 1
	else
		mmdebstrap --unshare-helper true 2>&1 | tail -n 1
	fi
	free=$(df -Pk "$work" | awk 'NR == 2 { print int($4 / 1000000) }')
	[ "$free" -ge 4 ] ||
		echo "${work%/*} has $free GB left; TMPDIR names another folder"
}

# inputs: a word for what decides whether first commands work on a new machine: what is
# installed, configured and made there, and the headers that sources ask for. What else
# a source says, this machine's own build tells. Empty without git.
inputs() {
	local git=(git -c safe.directory="$top" -C "$top" ls-files -z)
	local files='^(configure\.ac|autogen\.sh|m4/|debian/|tests/(bare|lib|hca/qemu|qemu/image)/|tests/hca/[^/]*$)'
	files+='|(^|/)(Makefile(\.am)?|Kbuild|kbuild-tree\.sh)$'
	"${git[@]}" >/dev/null 2>&1 || return 0
	(
		cd "$top" || exit
		echo "$suite $boot"
		"${git[@]}" | grep -zE -e "$files" | sort -z | xargs -0 cat --
		"${git[@]}" '*.[ch]' | xargs -0 grep -hE '^# *include *<' -- | sort -u
	) 2>/dev/null | sha256sum | cut -c 1-16
}

# The tracked files as they are now; without git, those of the source archive.
pack_tree() {
	local from=$top f archive
	git -c safe.directory="$top" -C "$top" ls-files -z >"$work/tracked" \
		2>/dev/null
	if [ -s "$work/tracked" ]; then
		while IFS= read -r -d '' f; do
			[ ! -e "$top/$f" ] || printf '%s\0' "$f"
		done <"$work/tracked" >"$work/files"
	else
		make -s -C "$top" dist B="$build" >"$work/part" 2>&1 || return 1
		archive=$(sed -n 's,^\(/.*\.tar\.[a-z0-9]*\)$,\1,p' "$work/part" |
			tail -n 1)
		from=$work/src
		mkdir "$from" && tar -C "$from" --strip-components=1 \
			-xf "$archive" && printf '.\0' >"$work/files"
	fi
	tar -C "$from" --owner=0 --group=0 --null -T "$work/files" \
		-cf "$work/tree.tar" 2>"$work/part"
}

# variables: those of inside.sh, for a shell. TERM as on a console that scrolls.
variables() {
	local v set=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb)
	for v in {http,https,ftp,no}_proxy {HTTP,HTTPS,NO}_PROXY VHCA_MIRROR JOBS; do
		[ -z "${!v:-}" ] || set+=("$v=${!v}")
	done
	[ -z "$boot" ] || set+=("VHCA_BARE_BOOT=$boot")
	echo "${set[@]@Q}"
}

# The names of what this machine would make and has not.
missing() {
	local name
	[ -n "$export" ] || return 0
	{ "$top/tests/qemu/image/image.sh" --path
	  "$top/tests/hca/build-qemu.sh" --path; } 2>/dev/null |
		sed 's,/bin/[^/]*$,,; s,.*/,,' | while read -r name; do
		[ -e "$export/$name/complete" ] || [ -d "$export/$name/bin" ] ||
			echo "$name"
	done
}

# Makes the root and runs inside.sh there. What the root is spared: manuals, and
# writing to disk what is thrown away.
enter() {
	local certs=/etc/ssl/certs/ca-certificates.crt
	local packages=make,git hooks=() ns=()
	mirror_open "$suite" "$work/apt.conf"
	case "${mirrors[*]}" in
	*https:*)
		packages+=,ca-certificates
		[ ! -e $certs ] ||
			hooks+=(--customize-hook="upload $certs $certs") ;;
	esac
	[ ! -e /etc/hosts ] ||
		hooks+=(--customize-hook='upload /etc/hosts /etc/hosts')
	# shellcheck disable=SC2016
	hooks+=(--customize-hook='rm -rf "$1"/var/lib/apt/lists/* \
			"$1"/etc/apt/apt.conf.d/00mmdebstrap
			mkdir "$1"/vhca "$1"/out; echo "bare: begin"'
		--customize-hook="tar-in '$work/tree.tar' /vhca"
		--customize-hook="chroot \"\$1\" env -i $(variables) \
			/vhca/tests/bare/inside.sh $(missing | tr '\n' ' ')")
	[ -z "$out" ] || hooks+=(--customize-hook="sync-out /out '$out'")
	# With root's rights mmdebstrap would mount where all can see it.
	[ "$mode" = unshare ] || ns=(unshare --mount --pid --fork --mount-proc)
	export TMPDIR=$work
	exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-		# as debian_root
	exec "${ns[@]}" mmdebstrap --mode="$mode" --variant=minbase --quiet --skip=cleanup \
		--include="$packages" --aptopt="$work/apt.conf" \
		--dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--format=null "${hooks[@]}" "$suite" /dev/null "${mirrors[@]}"
}

# Whose time it is, seen from what is printed.
declare -A spent=()
phase=root since=$SECONDS
mark() {
	local next=$phase
	case $1 in
	'bare: begin')		next=build ;;
	'deps: installing'*)	next=packages ;;
	'image: '*)		next=images ;;
	'qemu: '*)		next=QEMU ;;
	*)	[ "$phase" != packages ] || next=build ;;
	esac
	[ "$next" != "$phase" ] || return 0
	spent[$phase]=$((${spent[$phase]:-0} + SECONDS - since))
	phase=$next since=$SECONDS
}

times() {
	local p text='' all=0
	spent[$phase]=$((${spent[$phase]:-0} + SECONDS - since))
	for p in root packages build images QEMU; do
		[ -z "${spent[$p]:-}" ] || text+="$p ${spent[$p]} s, "
		all=$((all + ${spent[$p]:-0}))
	done
	echo "bare: $text$all s in all"
}

# Reads what mmdebstrap and inside.sh print: output, and "bare: ..." for us.
listen() {
	local line
	: >"$work/part"
	while IFS= read -r line; do
		mark "$line"
		echo "$line" >&5
		[ "$verbose" = 0 ] || echo "     $line"
		case $line in
		'bare: begin')	seen=begin ;;
		'bare: end')	seen=end ;;
		'bare: ok '*)	say ok "${line#bare: ok }" ;;
		'bare: FAIL '*)	say FAIL "${line#bare: FAIL }"
				show ;;
		*)	echo "$line" >>"$work/part"
			continue ;;
		esac
		: >"$work/part"
	done
}

# The end of what was printed since the last verdict, but for files compiled.
show() {
	grep -v -E '^  [A-Z]+ +[^ ]+$' "$work/part" | fold -s -w 150 |
		tail -n 30 | sed 's/^/     /'
}

finish() {
	counted
	exit
}

# works PROGRAM: here, where it was not linked.
works() {
	! ldd "$1" | grep 'not found' && "$1" --version &&
		"$1" -device help | grep -q connectx4
}

# keep NAME: moves a folder to the cache, under the lock of who makes such folders.
keep() {
	local lock=$export/$1.lock
	case $1 in
	qemu-*)	lock=$export/$(basename "$out"/qemu-tree-*.lock)
		works "$out/$1/bin/qemu-system-x86_64" >"$work/part" 2>&1 || {
			echo "bare: $1 is not kept, it does not run here:"
			show
			return
		} ;;
	esac
	(
		flock -n 9 || { echo "bare: $1 is being made here"; exit; }
		[ ! -e "$export/$1/complete" ] && [ ! -d "$export/$1/bin" ] ||
			exit
		rm -rf "${export:?}/$1"
		mv -T "$out/$1" "$export/$1" && echo "bare: kept $1 in $export"
	) 9>"$lock"
}

mark=$(inputs)
[ -z "$mark" ] || mark=$export/bare-$mark
if [ "$again" = 0 ] && [ -n "$(find "$mark" -mtime -7 2>/dev/null)" ]; then
	echo "bare: passed on $(cat "$mark") with the same inputs; 'make check-bare' tries again"
	exit 0
fi
why=$(unable)
if [ -n "$why" ]; then
	say skip "no new machine to try: $why"
	finish
fi
if ! pack_tree; then
	say FAIL "the source tree can be copied"
	show
	finish
fi
# On the file system of the cache, so that a folder appears there at once.
[ -z "$export" ] || out=$(mktemp -d "$export/.bare.XXXXXX")
[ -z "$out" ] || chmod 755 "$out"
seen='' rc=0
mkfifo "$work/said"
# A process group of its own, which can be ended as a whole.
set -m
enter >"$work/said" 2>&1 </dev/null &
job=$!
set +m
exec 5>"$build/bare.log"
listen <"$work/said"
wait "$job" || rc=$?
job=''
if [ -z "$seen" ]; then
	say skip "no new machine to try: $(grep -m 1 '^E: ' "$work/part" ||
		tail -n 1 "$work/part")"
	show
elif [ "$seen" != end ] || [ "$rc" != 0 ]; then
	say FAIL "all of it ran, and the root was removed"
	show
fi
times
[ "$failed" = 0 ] || echo "bare: everything: $build/bare.log"
if [ "$failed" = 0 ] && [ -n "$out" ]; then
	for name in $(cd "$out" && ls); do
		[ ! -d "$out/$name" ] || keep "$name"
	done
	[ "$passed" = 0 ] || [ -z "$mark" ] || date '+%-d %B %Y' >"$mark"
fi
finish
