#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds the base images of the test bed's Arm machines from root.sh's packages and
# prints the folder that holds them, as ../image/image.sh does:
#
#   dom0.cpio    root of the utility domain (an uncompressed initrd), with xen.sh's
#                xenstored, if there is one. As in the scenarios, "dom0" is where they run
#   guest.cpio   root of a guest
#   xen.cpio     added to dom0.cpio where there is a dom0: Debian's toolstack and xenstored,
#                and what it gives to guests
#   Image, xen-debian, xen   kernel, Debian's hypervisor, xen.sh's if it can be had
#   dom0/, guest/   module trees, for depmod with the overlay's modules
#   sysroot      link to the root, for a compiler
#
# Usage: images.sh
# Environment: SUITE, the release (../lib/suite.sh); VHCA_XEN_SRC (xen.sh); without it what needs that Xen cannot be run
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/qemu/lib/roots.sh
. "$here/../lib/roots.sh"
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../lib/suite.sh"
say() { echo "arm64 images: $*" >&2; }
triplet=aarch64-linux-gnu
# shellcheck disable=SC2034
loader=usr/lib/ld-linux-aarch64.so.1
guest_programs=(
	bash dash cat ls cp mv rm ln mkdir rmdir chmod head tail wc sort uniq cut tr
	seq sleep date env id stat dd od sync true false echo printf readlink basename
	dirname uname timeout nproc sha256sum md5sum cmp diff grep sed mawk find xargs test
	kill mount umount dmesg setsid flock taskset mountpoint ps pgrep pkill sysctl free
	ip rdma ss ping modprobe insmod rmmod lsmod depmod modinfo udevadm strace
	xenstore-read xenstore-write xenstore-ls xenstore-list xenstore-rm
	xenstore-exists xenstore-chmod xenstore-watch
	ibv_devices ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong
	ibv_srq_pingpong ibv_xsrq_pingpong ibv_asyncwatch
	ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat
	ib_atomic_bw ib_atomic_lat setpriv
)
utility_programs=(bridge tee touch xenstore mknod base64)
dom0_programs=(chown cut mktemp nice stdbuf)
xen_programs=(xl xenstored xenconsoled xen-init-dom0)
guest_modules=(
	xen-evtchn xen-gntdev xen-gntalloc xen-privcmd xenfs xen-netfront
	ib_uverbs crc32_generic tun
)
utility_modules=(
	xen-netback bridge dummy rdma_rxe
	virtio_pci 9p 9pnet_virtio mlx5_ib ib_umad tun
)

all=$("$here/root.sh")
xen=''
! "$here/xen.sh" --have || xen=$("$here/xen.sh")
KVER=$(ls "$all/usr/lib/modules")
key=$({ cat "$here/images.sh" "$here/../lib/roots.sh"; echo "$all $xen"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/arm64-$key
images_begin

say "building the roots"
[ -e "$all/usr/lib/modules/$KVER/modules.dep" ] || depmod -b "$all" "$KVER"
# take_backend ROOT: what vhcactl and the daemon link against. They are in guests, too; one
# that runs them is told what is missing.
take_backend() {
	local lib
	for lib in libxengnttab.so.1 libxenevtchn.so.1 libxenstore.so.4 "libxenctrl.so.$XEN" \
		libxenforeignmemory.so.1 libjson-c.so.5; do
		take "$1" "usr/lib/$triplet/$lib"
	done
	take_libraries "$1"
}
# build_xen: after dom0's and the guest's root, of which it has nothing twice. The kernel is
# under the name that scenarios give to xl.
build_xen() {
	local p dir=$work/xen
	mkdir -p "$dir"/{guest,usr/sbin,"usr/lib/$triplet"}
	for p in "${dom0_programs[@]}"; do
		p=$(program "$p")
		take "$dir" "$p"
	done
	for p in "${xen_programs[@]}"; do
		take "$dir" "usr/lib/xen-$XEN/bin/$p"
		ln -sf "../lib/xen-$XEN/bin/$p" "$dir/usr/sbin/$p"
	done
	take_libraries "$dir"
	(cd "$dir" && find . -type f) | while read -r p; do
		[ ! -e "$work/dom0/$p" ] || rm "$dir/$p"
	done
	cp "$cache.tmp/Image" "$dir/guest/vmlinux"
	cp "$cache.tmp/guest.cpio" "$dir/guest/base.cpio"
	pack "$dir" "$cache.tmp/xen.cpio"
}
fill_root "$work/guest" "${guest_programs[@]}"
take_modules "$work/guest" "${guest_modules[@]}"
take_backend "$work/guest"
fill_root "$work/dom0" "${guest_programs[@]}" "${utility_programs[@]}"
take_modules "$work/dom0" "${guest_modules[@]}" "${utility_modules[@]}"
take_backend "$work/dom0"
if [ -n "$xen" ]; then
	cp "$xen/xenstored" "$work/dom0/usr/sbin/"
	cp "$xen/xen" "$cache.tmp/"
fi
cp "$all"/boot/xen-*-arm64 "$cache.tmp/xen-debian"
cp "$all/boot/vmlinuz-$KVER" "$cache.tmp/Image"
ln -s "$all" "$cache.tmp/sysroot"
for root in guest dom0; do
	keep_modules $root "$cache.tmp"
	pack "$work/$root" "$cache.tmp/$root.cpio"
done
build_xen
images_end
