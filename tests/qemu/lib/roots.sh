# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by scripts that make roots of machines from unpacked Debian packages: $all is
# the folder in which they are, $triplet their architecture (x86_64-linux-gnu), $KVER the
# kernel, $work a folder in which roots grow, $cache where the images will be. They define
# say().
# shellcheck disable=SC2154

# take ROOT PATH...: copies files (relative to /) and what links point to.
take() {
	local root=$1 p dir target
	shift
	for p; do
		[ -e "$all/$p" ] || [ -L "$all/$p" ] || {
			say "no package supplies $p"
			return 1
		}
		dir=${p%/*}
		mkdir -p "$root/$dir"
		cp -a "$all/$p" "$root/$dir/"
		while [ -L "$all/$p" ]; do
			target=$(readlink "$all/$p")
			case "$target" in
			/*)	p=${target#/} ;;
			*)	p=${p%/*}/$target ;;
			esac
			p=$(realpath -ms --relative-to=/ "/$p")
			mkdir -p "$root/${p%/*}"
			cp -a "$all/$p" "$root/${p%/*}/"
		done
	done
}

# A program's path, wherever merged /usr put it.
program() {
	local dir
	for dir in usr/bin usr/sbin; do
		if [ -e "$all/$dir/$1" ] || [ -L "$all/$dir/$1" ]; then
			echo "$dir/$1"
			return
		fi
	done
	say "no package supplies program $1"
	return 1
}

# Copies the shared libraries that ROOT's files need, until none is missing.
take_libraries() {
	local root=$1 lib found again=1 libdir=usr/lib/$triplet
	while [ "$again" = 1 ]; do
		again=0
		for lib in $(find "$root/usr" -type f \( -perm /111 -o -name '*.so*' \) \
			-print0 | xargs -0 readelf -d 2>/dev/null |
			sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u); do
			[ ! -e "$root/$libdir/$lib" ] || continue
			# Some are in folders of their own (RUNPATH).
			found=$(cd "$all" && find usr/lib -name "$lib" |
				head -n 1)
			[ -n "$found" ] || {
				say "library $lib is in no package"
				return 1
			}
			[ ! -e "$root/$found" ] || continue
			take "$root" "$found"
			again=1
		done
	done
}

# has_module NAME: does the kernel have it, in itself or as a file?
has_module() {
	modprobe -d "$all" -S "$KVER" --show-depends "$1" >/dev/null 2>&1
}

take_modules() {
	local root=$1 m
	shift
	mkdir -p "$root/usr/lib/modules/$KVER"
	for m in "$all/usr/lib/modules/$KVER"/modules.{builtin,builtin.modinfo,order}; do
		cp -a "$m" "$root/usr/lib/modules/$KVER/"
	done
	for m; do
		modprobe -d "$all" -S "$KVER" --show-depends "$m" ||
			{ say "kernel $KVER has no module $m"; return 1; }
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u |
	while read -r m; do
		m=${m#"$all"/}
		take "$root" "usr/${m#usr/}"
	done
	# Debian 13's are compressed.
	find "$root/usr/lib/modules" -name '*.ko.xz' -exec xz -d {} +
}

# skeleton ROOT: what every root has, with $loader, the dynamic linker.
skeleton() {
	local root=$1
	mkdir -p "$root"/{proc,sys,dev,run,tmp,root,etc,var/log,var/lib,usr/bin,usr/sbin,usr/lib/"$triplet",usr/lib64,home/user}
	ln -s usr/bin "$root/bin"
	ln -s usr/sbin "$root/sbin"
	ln -s usr/lib "$root/lib"
	ln -s usr/lib64 "$root/lib64"
	ln -s ../run "$root/var/run"
	ln -s dash "$root/usr/bin/sh"
	ln -s mawk "$root/usr/bin/awk"
	take "$root" "$loader"
	printf '%s\n' root:x:0:0:root:/root:/bin/bash \
		user:x:1000:1000:user:/home/user:/bin/bash \
		nobody:x:65534:65534:nobody:/nonexistent:/bin/sh \
		>"$root/etc/passwd"
	printf '%s\n' root:x:0: tty:x:5: disk:x:6: kmem:x:15: lp:x:7: \
		dialout:x:20: cdrom:x:24: tape:x:26: audio:x:29: video:x:44: \
		input:x:101: kvm:x:102: render:x:103: sgx:x:104: rdma:x:105: \
		user:x:1000: nogroup:x:65534: >"$root/etc/group"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	printf 'passwd: files\ngroup: files\nhosts: files\n' \
		>"$root/etc/nsswitch.conf"
	# libmlx4: vhca-uar has it, and a plugin's link goes by another name.
	take "$root" etc/libibverbs.d "usr/lib/$triplet/libibverbs" \
		"usr/lib/$triplet/libgcc_s.so.1" "usr/lib/$triplet/libmlx4.so.1"
	# Provider plugins are links into the library folder.
	local plugin
	for plugin in "$all/usr/lib/$triplet/libibverbs"/*.so; do
		take "$root" "${plugin#"$all"/}"
	done
	# Since systemd 254 udevd opens libkmod when it first loads a module.
	take "$root" usr/lib/systemd/systemd-udevd \
		"usr/lib/$triplet/libkmod.so.2"
	mkdir -p "$root/usr/lib/udev/rules.d"
	take "$root" usr/lib/udev/rules.d/{50-udev-default,80-drivers}.rules
}

# fill_root ROOT PROGRAM...: skeleton, with these programs.
fill_root() {
	local root=$1 p
	shift
	skeleton "$root"
	for p in "$@"; do
		p=$(program "$p")
		take "$root" "$p"
	done
}

# pack ROOT FILE: the root as an initrd.
pack() {
	(cd "$1" && find . | LC_ALL=C sort |
		cpio --quiet -o -H newc -R 0:0) >"$2"
}

# keep_modules NAME TO: those of the root $work/NAME, for depmod.
keep_modules() {
	mkdir -p "$2/$1/lib"
	cp -a "$work/$1/usr/lib/modules" "$2/$1/lib/"
}

# images_there: those in $cache are complete; if so, the script is at its end.
images_there() {
	[ ! -e "$cache/complete" ] || {
		echo "$cache"
		exit 0
	}
}

# images_begin: ends the script if they are there. Else nobody but it makes them now, in
# $cache.tmp, and $work is a folder in that.
images_begin() {
	images_there
	mkdir -p "${cache%/*}"
	exec 9>"$cache.lock"
	flock 9
	images_there
	rm -rf "$cache" "$cache.tmp"
	work=$cache.tmp/work
	mkdir -p "$work"
	trap 'rm -rf "$cache.tmp"' EXIT
}

# images_end: prints the folder.
images_end() {
	rm -rf "$work"
	touch "$cache.tmp/complete"
	mv "$cache.tmp" "$cache"
	say "done: $(du -sh "$cache" | cut -f1)"
	echo "$cache"
}
