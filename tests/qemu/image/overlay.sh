#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Packs this project's part of the test bed's roots: what changes from run to
# run. Usage: overlay.sh IMAGES BUILD OUT [DEBIAN CARRIED]
#   IMAGES  folder printed by image.sh      BUILD  the project's build folder
#   OUT     gets overlay.cpio, to be appended to dom0.cpio
#   GUEST_IMAGES, GUEST_BUILD (environment): those of guests of another release
#   UTILITY=yes (environment): for a Xen without dom0. OUT gets guest.cpio too, which
#           Xen itself gives to guests
#   CC, STRIP (environment): those of the machine's architecture
#   DEBIAN, CARRIED  folders printed by debian.sh and package/carry.sh: for roots
#           in which the project's packages will be installed. They get the
#           programs for tests, and the packages in /debs: nothing that the
#           packages themselves bring.
# Taken along when present: BUILD/kmod/**/*.ko, BUILD/stage (an installation
# with DESTDIR), programs of BUILD/tests/{verbs,helper,hostile,bench}, udev rules, and every folder or file in
# OVERLAY_EXTRA (a space-separated list; laid over both roots).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
images=$1 build=$2 out=$3 debian=${4:-} carried=${5:-}
declare -A images_of=([dom0]=$images [guest]=${GUEST_IMAGES:-$images})
declare -A build_of=([dom0]=$build [guest]=${GUEST_BUILD:-$build})
work=$out/overlay
rm -rf "$work"
mkdir -p "$work"/{dom0,guest}

# Copies an installed tree; the roots have a merged /usr.
merge_tree() {
	local from=$1 to=$2 d
	mkdir -p "$to/usr"
	cp -a "$from/." "$to/"
	for d in bin sbin lib; do
		[ ! -d "$to/$d" ] || {
			mkdir -p "$to/usr/$d"
			cp -a "$to/$d/." "$to/usr/$d/"
			rm -r "${to:?}/$d"
		}
	done
}

# Modules, with dependencies computed against the base image's own.
add_modules() {
	local root=$1 base=$2 ko dir kver
	local images=${images_of[$2]} build=${build_of[$2]}
	kver=$(ls "$images/$base/lib/modules")
	dir=usr/lib/modules/$kver
	mkdir -p "$root/$dir/updates" "$work/depmod.$base/lib/modules"
	[ -n "$debian" ] || find "$build/kmod" -name '*.ko' \
		-exec cp {} "$root/$dir/updates/" \; 2>/dev/null || true
	for ko in "$root/$dir/updates"/*.ko; do
		[ ! -e "$ko" ] || "${STRIP:-strip}" --strip-debug "$ko"
	done
	cp -as "$images/$base/lib/modules/$kver" "$work/depmod.$base/lib/modules/"
	cp -a "$root/$dir/updates" "$work/depmod.$base/lib/modules/$kver/"
	depmod -b "$work/depmod.$base" "$kver"
	find "$work/depmod.$base/lib/modules/$kver" -maxdepth 1 -type f \
		-exec cp {} "$root/$dir/" \;
	[ -z "$debian" ] || rmdir "$root/$dir/updates"
}

# What the packages install, stripped as there.
add_product() {
	local root=$1 build=$2 f
	[ ! -d "$build/stage" ] || merge_tree "$build/stage" "$root"
	for f in "$root"/usr/{sbin,bin,libexec/xen-vhca}/*; do
		[ -L "$f" ] || "${STRIP:-strip}" "$f" 2>/dev/null || true	# a script
	done
	mkdir -p "$root/usr/lib/udev/rules.d"
	cp "$top"/tools/udev/*.rules "$root/usr/lib/udev/rules.d/" 2>/dev/null ||
		true
}

add_programs() {
	local root=$1 build=${build_of[$2]} f
	mkdir -p "$root/usr/bin" "$root/usr/sbin"
	cp "$work/guest-shell" "$root/usr/sbin/"
	[ ! -e "$work/xen-tap" ] || cp "$work/xen-tap" "$root/usr/sbin/"
	[ -n "$debian" ] || add_product "$root" "$build"
	for f in "$build"/tests/{verbs,helper,hostile,bench}/*; do
		if [ -f "$f" ] && [ -x "$f" ]; then
			"${STRIP:-strip}" -o "$root/usr/bin/${f##*/}" "$f" 2>/dev/null ||
				cp "$f" "$root/usr/bin/"	# a script
		fi
	done
	for f in ${OVERLAY_EXTRA:-}; do
		if [ -d "$f" ]; then
			merge_tree "$f" "$root"
		else
			cp "$f" "$root/usr/bin/"
		fi
	done
	rm -rf "$root"/usr/{include,share/{man,doc}}
	# What vhca-selftest brings along is here once, and stripped.
	for f in "$root"/usr/libexec/xen-vhca/*; do
		[ ! -e "$root/usr/bin/${f##*/}" ] || ln -sf "../../bin/${f##*/}" "$f"
	done
}

# The kernel and the root of guests of another release, over those in dom0.cpio, and
# the kernel's name for lib.sh.
add_guest() {
	local f
	for f in vmlinux vmlinuz; do
		cp "$GUEST_IMAGES/$f" "$work/dom0/guest/"
	done
	cp "$GUEST_IMAGES/guest.cpio" "$work/dom0/guest/base.cpio"
	ls "$GUEST_IMAGES/guest/lib/modules" >"$work/dom0/guest/kver"
}

# A dom0 that systemd starts, with image.sh's modules; both with the packages.
add_debian() {
	local unit dom0=$work/dom0 etc=$work/dom0/etc/systemd/system
	cp -a "$images/dom0/lib/modules" "$dom0/usr/lib/"
	cp -a "$carried" "$dom0/debs"
	cp -a "$carried" "$work/guest/debs"
	tar -C "$work/guest" -xf "$debian/guest.tar"
	ln "$images/vmlinux" "$dom0/guest/" 2>/dev/null ||
		cp "$images/vmlinux" "$dom0/guest/"
	ln "$images/guest.cpio" "$dom0/guest/base.cpio" 2>/dev/null ||
		cp "$images/guest.cpio" "$dom0/guest/base.cpio"
	ln -sf usr/lib/systemd/systemd "$dom0/init"
	mkdir -p "$etc/multi-user.target.wants" "${etc%/*}/system-generators"
	cp "$top"/tests/qemu/root/*.service "$etc/"
	ln -s ../testbed.service "$etc/multi-user.target.wants/"
	ln -s /usr/lib/systemd/system/multi-user.target "$etc/default.target"
	# Nothing here waits for a login, a disk or tomorrow.
	for unit in getty.target timers.target remote-fs.target \
		modprobe@{configfs,dm_mod,fuse,loop}.service \
		sys-kernel-{config,tracing}.mount dev-{mqueue,hugepages}.mount \
		proc-sys-fs-binfmt_misc.automount e2scrub_reap.service \
		systemd-{pstore,random-seed,sysusers,user-sessions}.service \
		systemd-{journal-flush,update-utmp{,-runlevel}}.service \
		xendomains.service; do
		ln -s /dev/null "$etc/$unit"
	done
	# They run at every daemon-reload, of which packages ask for many.
	for unit in cryptsetup debug fstab getty gpt-auto hibernate-resume \
		integritysetup rc-local run system-update veritysetup; do
		ln -s /dev/null \
			"${etc%/*}/system-generators/systemd-$unit-generator"
	done
	mkdir -p "$dom0/etc/default"
	echo 'XENCONSOLED_ARGS="--log=guest --log-dir=/share/console"' \
		>"$dom0/etc/default/xen"
	echo dom0 >"$dom0/etc/hostname"
}

pack() {
	(cd "$1" && find . | LC_ALL=C sort |
		cpio --quiet -o -H newc -R 0:0) >"$2"
}

${CC:-gcc} -O2 -Wall -s -static -o "$work/guest-shell" "$here/guest-shell.c"
# The network of machines without xenstore.
[ "${UTILITY:-}" != yes ] || ${CC:-gcc} -O2 -Wall -o "$work/xen-tap" "$here/xen-tap.c" \
	-lxengnttab -lxenevtchn
for side in guest dom0; do
	add_programs "$work/$side" "$side"
	add_modules "$work/$side" "$side"
done
init="dom0-init"
[ "${UTILITY:-}" != yes ] || init="utility-init"
cp "$top/tests/qemu/root/$init" "$work/dom0/init"
${CC:-gcc} -O2 -Wall -s -static -o "$work/guest/init" "$here/guest-init.c"
mkdir -p "$work"/dom0/{guest,tests,etc/xen/scripts}
cp "$top"/tests/qemu/root/{block,vif} "$work/dom0/etc/xen/scripts/"
printf 'autoballoon="off"\nrun_hotplug_scripts=1\n' >"$work/dom0/etc/xen/xl.conf"
cp -a "$top/tests/qemu" "$work/dom0/tests/"
[ ! -d "$top/tests/verbs" ] || {
	mkdir -p "$work/dom0/tests/verbs"
	cp "$top/docs/design/data-path.md" "$work/dom0/tests/verbs/"
	find "$top/tests/verbs" -maxdepth 1 -type f ! -name '*.c' ! -name '*.h' \
		-exec cp {} "$work/dom0/tests/verbs/" \;
}
# What of this project decides the scenarios: each of them has its own text besides
# (../lib/proven.sh).
(cd "$work" && find guest dom0 -path dom0/tests/qemu/scenarios -prune -o \
	! -name '*.md' -type f -print0 -o -name data-path.md -print0 |
	LC_ALL=C sort -z | xargs -0 sha256sum
 find guest dom0 -type l -printf '%p %l\n' | LC_ALL=C sort) >"$out/contents"
[ -z "${GUEST_IMAGES:-}" ] || add_guest
[ -z "$debian" ] || add_debian
if [ "${UTILITY:-}" = yes ]; then
	pack "$work/guest" "$out/guest.cpio"
else
	pack "$work/guest" "$work/dom0/guest/overlay.cpio"
fi
pack "$work/dom0" "$out/overlay.cpio"
rm -rf "$work"
