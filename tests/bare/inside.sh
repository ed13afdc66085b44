#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Runs in the root that check.sh made, as its root user, from a copy of the source
# tree: the first commands of a new machine, and a look at what they made. Prints
# "bare: ok|FAIL TEXT" after what each check printed; ends early where nothing that
# follows could work.
#
# Usage: inside.sh [NAME...]    folders of the cache to be laid out in /out
# Environment: VHCA_BARE_BOOT, a scenario that is to pass
# Functions are called by claim().
# shellcheck disable=SC2317
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
cache=$HOME/.cache/xen-vhca

claim() { # claim TEXT COMMAND...
	local text=$1
	shift
	if "$@" </dev/null 2>&1; then
		echo "bare: ok $text"
	else
		echo "bare: FAIL $text"
		return 1
	fi
}

end() {
	echo 'bare: end'
	exit 0
}

# Otherwise this test would show nothing.
bare() {
	local p
	for p in cc pkg-config ninja mmdebstrap qemu-system-x86_64 dkms; do
		! command -v "$p" || return 1
	done
	for p in /usr/src/linux-* /lib/modules/* /var/lib/apt/lists/* \
		"$HOME/.cache" build configure; do
		[ ! -e "$p" ] || { echo "$p is here"; return 1; }
	done
}

# For the kernel whose headers were installed a moment ago.
modules() {
	local m kernel
	kernel=$(cd /usr/src && echo linux-headers-*-amd64)
	kernel=${kernel#linux-headers-}
	for m in frontend/xen-vhcafront backend/helper/xen-vhca-helper; do
		modinfo -F vermagic "build/kmod/$m.ko" | grep "^$kernel " ||
			return 1
	done
}

programs() {
	build/stage/usr/sbin/xen-vhcad --version &&
		build/stage/usr/sbin/vhcactl --help
}

# made FILE...: none is missing or empty.
made() {
	local f
	for f; do
		[ -s "$f" ] || { echo "no $f"; return 1; }
	done
}

images() {
	images=$(tests/qemu/image/image.sh --path) && [ -e "$images/complete" ] &&
		made "$images"/{dom0.cpio,guest.cpio,hvm.cpio,vmlinux,vmlinuz,xen}
}

qemu() {
	program=$(tests/hca/build-qemu.sh --path) && "$program" --version &&
		"$program" -device help | grep '"connectx4"'
}

# The machine of a scenario, halted before its first instruction: firmware that
# Debian's packages bring is loaded by then.
halted() {
	echo quit | timeout 60 "$program" -S -machine q35 -m 2048 -nic none \
		-display none -monitor stdio -device connectx4 \
		-kernel "$images/xen" \
		-initrd "$images/vmlinux,$images/dom0.cpio"
}

nothing_left() { ! tests/qemu/image/deps.sh 2>&1 | grep .; }

claim "the machine is bare" bare || end
claim "'make build' works as the first command" make build || end
claim "both modules are there, for the kernel whose headers were installed" modules
claim "the daemon and vhcactl run" programs
claim "'make prepare' works as the second" make prepare || end
claim "the images are complete" images
claim "there is a QEMU that has a ConnectX-4" qemu
claim "it finds its firmware, and takes Xen and the images" halted
claim "nothing is left to install" nothing_left
[ -z "${VHCA_BARE_BOOT:-}" ] ||
	claim "$VHCA_BARE_BOOT passes" make check-xen T="$VHCA_BARE_BOOT"
for name; do
	[ ! -d "$cache/$name" ] || mv "$cache/$name" /out/
done
cp "$cache"/*.lock /out/
end
