#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds the test bed's base images from Debian packages and prints the folder
# that holds them. Nothing of this project is inside: that comes in as a small
# overlay for each run (overlay.sh), so the base is built once and cached.
#
#   dom0.cpio    root of the control domain (an uncompressed initrd)
#   guest.cpio   root of a guest: as small as possible, because xl copies it
#   storage.cpio modules and programs that guests of some scenarios get besides
#   hvm.cpio     added to dom0.cpio when a scenario starts HVM guests
#   vmlinux, vmlinuz, xen   kernel for PV/PVH, for HVM and native, hypervisor
#   dom0/, guest/           module trees, for depmod with the overlay's modules
#
# Everything is uncompressed on purpose: under software emulation inflating
# costs more than copying.
#
# Usage: image.sh [--path]     --path: only print where the images would be
# Environment: SUITE, the Debian release of all of it (../lib/suite.sh); VHCA_KERNEL
# (folder of debug-kernel.sh) instead of Debian's kernel
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../lib/suite.sh"
# shellcheck source=tests/qemu/lib/kver.sh
. "$here/../lib/kver.sh"
# shellcheck source=tests/lib/mirror.sh
. "$here/../../lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../../lib/retry.sh"
# shellcheck source=tests/qemu/lib/roots.sh
. "$here/../lib/roots.sh"
triplet=x86_64-linux-gnu
# shellcheck disable=SC2034
loader=usr/lib64/ld-linux-x86-64.so.2

packages=(
	"linux-image-$KVER" "xen-utils-$XEN" "xen-hypervisor-$XEN-amd64"
	xenstore-utils qemu-system-xen grub-pc-bin grub-common
	rdma-core ibverbs-utils rdmacm-utils perftest ibverbs-providers
	opensm infiniband-diags libfabric-bin open-iscsi e2fsprogs xfsprogs
	iproute2 nftables kmod udev iputils-ping procps sysvinit-utils socat strace jq pciutils
	bash dash coreutils util-linux mount grep sed mawk findutils diffutils
	gzip tar cpio libjson-c5 libgcc-s1
)

# Programs in every root. A name that no package supplies is an error.
common_programs=(
	bash dash cat ls cp mv rm ln mkdir rmdir chmod chown touch head tail
	wc sort uniq cut tr tee seq sleep date env id stat du df dd od sync true
	false echo printf readlink realpath basename dirname mknod mktemp uname
	timeout nproc sha256sum md5sum cmp diff grep sed mawk find xargs test
	expr stdbuf kill mount umount dmesg setsid flock setpriv runuser taskset
	prlimit mountpoint ps pgrep pkill pidof sysctl free
	ip rdma ss ping modprobe insmod rmmod lsmod depmod modinfo udevadm
	xenstore-read xenstore-write xenstore-ls xenstore-list xenstore-rm
	xenstore-exists xenstore-chmod xenstore-watch socat
	ibv_devices ibv_devinfo ibv_asyncwatch ibv_rc_pingpong ibv_uc_pingpong
	ibv_ud_pingpong ibv_srq_pingpong ibv_xsrq_pingpong
	ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat
	ib_atomic_bw ib_atomic_lat rping ucmatose udaddy rdma_server rdma_client
	rdma_xserver rdma_xclient udpong rcopy
	rstream riostream cmtime mckey fi_info fi_pingpong
)
dom0_programs=(
	tar cpio gzip jq lspci setpci losetup lsblk bridge tc xargs nice
	watch top vmstat strace xenstore nft
	opensm ibstat ibping ibaddr sminfo saquery smpquery perfquery
	ibnetdiscover ibportstate
)
xen_programs=(
	xl xenstored xenconsoled xenconsole xen-init-dom0 xenstore-control
	xen-diag xenctx xen-hptool xen-mfndump xen-cpuid
)
common_modules=(
	xen-evtchn xen-gntdev xen-gntalloc xen-privcmd xenfs
	xen-netfront xen-blkfront xen-pcifront
	ib_uverbs ib_umad rdma_ucm rdma_rxe
	dummy 8021q veth
)
# Consumers of RDMA in the kernel. In guests they are of some scenarios only: what each
# guest unpacks decides how little memory one can have, and takes time.
storage_modules=(
	brd nvme-rdma nvmet-rdma nfsd nfsv4 rpcrdma
	ib_iser ib_isert sd_mod target_core_iblock rds_rdma ext4 xfs
)
storage_programs=(iscsid iscsiadm mke2fs e2fsck mkfs.xfs xfs_repair)
dom0_modules=(
	brd nvme-rdma nvmet-rdma
	xen-netback xen-blkback xen-pciback bridge bonding macvlan vxlan loop tun
	virtio_pci 9p 9pnet_virtio virtio_blk virtio_net virtio_console
	ib_mthca mlx4_ib mlx5_ib ib_ipoib nft_fwd_netdev nft_fib_netdev nft_limit
)
# Soft-RoCE asks for these by name up to Linux 6.15, if they are no part of the kernel.
modules_until_6_15=(crc32_generic crc32c_generic)
# A debug kernel's own fault, which KASAN must tell.
[ -z "${VHCA_KERNEL:-}" ] || common_modules+=(kasan_test_module)

key=$( { cat "$here/image.sh" "$here/../lib/roots.sh"; echo "$SUITE$SUITE_WEEK $KVER${VHCA_KERNEL:-}"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/$key
if [ "${1:-}" = --path ]; then
	echo "$cache"
	exit 0
fi
say() { echo "image: $*" >&2; }
images_begin
all=$work/all

unpack_packages() {
	[ -z "${VHCA_KERNEL:-}" ] || packages=("${packages[@]:1}")
	say "fetching Debian packages of $SUITE (once; cached in ${cache%/*})"
	# "extract" runs no maintainer script: fast, and no root is needed.
	debian_tar "$SUITE" "$work" "$(IFS=,; echo "${packages[*]}")" \
		--variant=extract \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr || {
		say "If it no longer has linux-image-$KVER: apt-get install" \
			"linux-headers-amd64, or for another release than this" \
			"machine's remove $("$here/build-root.sh" --path)"
		exit 1
	}
	mkdir "$all"
	tar -C "$all" --exclude='./dev/*' --exclude='./usr/share/doc' \
		--no-same-owner -xf "$work/root.tar"
	rm "$work/root.tar"
	# Debian 12's libfabric wants it, and the package has a script link it.
	[ ! -e "$all/usr/lib/libpsm1" ] || ln -s ../libpsm1/libpsm_infinipath.so.1.16 \
		"$all/usr/lib/$triplet/libpsm_infinipath.so.1"
	[ -z "${VHCA_KERNEL:-}" ] ||
		cp -a "$VHCA_KERNEL/lib/modules" "$all/usr/lib/"
}

build_guest() {
	fill_root "$work/guest" "${common_programs[@]}"
	take_modules "$work/guest" "${common_modules[@]}"
	# A driver domain runs the backend: it links against these.
	for p in libxengnttab.so.1 libxenevtchn.so.1 libxenstore.so.4 \
		"libxenctrl.so.$XEN" libxenforeignmemory.so.1 \
		libxendevicemodel.so.1 libxencall.so.1 libxentoollog.so.1 \
		libxentoolcore.so.1 libjson-c.so.5; do
		take "$work/guest" usr/lib/x86_64-linux-gnu/$p
	done
	take_libraries "$work/guest"
}

# build_storage: what guest.cpio does not have of those modules and programs. The modules
# are among those for depmod, so that the guests' list of modules has them.
build_storage() {
	local f
	take_modules "$work/storage" "${storage_modules[@]}"
	# Where a link of open-iscsi leads: as a folder it would hide the guests' own.
	mkdir -p "$work/storage/usr/sbin"
	ln -s usr/sbin "$work/storage/sbin"
	for f in "${storage_programs[@]}"; do
		f=$(program "$f")
		take "$work/storage" "$f"
	done
	take_libraries "$work/storage"
	(cd "$work/storage" && find . -type f) | while read -r f; do
		[ ! -e "$work/guest/$f" ] || rm "$work/storage/$f"
	done
	cp -a "$work/storage/usr/lib/modules" "$cache.tmp/guest/lib/"
}

build_dom0() {
	local p
	fill_root "$work/dom0" "${common_programs[@]}" "${dom0_programs[@]}"
	take "$work/dom0" "usr/lib/xen-$XEN/bin/"{libxl-save-helper,init-xenstore-domain} \
		usr/lib/x86_64-linux-gnu/libjson-c.so.5 etc/xen
	for p in "${xen_programs[@]}"; do
		take "$work/dom0" "usr/lib/xen-$XEN/bin/$p"
		ln -sf "../lib/xen-$XEN/bin/$p" "$work/dom0/usr/sbin/$p"
	done
	take_modules "$work/dom0" "${common_modules[@]}" "${dom0_modules[@]}"
	take_libraries "$work/dom0"
	mkdir -p "$work/dom0/guest"
	cp "$cache.tmp/vmlinux" "$work/dom0/guest/"
}

# A disk with GRUB that takes its configuration from the second disk, as a list
# of blocks: no file system on any of them.
build_boot_disk() {
	local grub=$all/usr/lib/grub/i386-pc lib=$all/usr/lib/x86_64-linux-gnu
	echo 'configfile (hd1)0+8' >"$work/grub.early"
	"$lib/ld-linux-x86-64.so.2" --library-path "$lib" \
		"$all/usr/bin/grub-mkimage" -d "$grub" -O i386-pc -p / \
		-c "$work/grub.early" -o "$work/core.img" \
		biosdisk normal configfile linux
	cat "$grub/boot.img" "$work/core.img" >"$1"
}

# What dom0 needs besides to start HVM guests: the device model.
build_hvm() {
	local f
	take "$work/hvm" usr/libexec/xen-qemu-system-i386 \
		"usr/lib/xen-$XEN/boot/hvmloader" usr/share/qemu/keymaps/en-us
	for f in bios.bin bios-256k.bin kvmvapic.bin vgabios-stdvga.bin; do
		f=$(cd "$all" && find usr/share -name "$f" | head -n 1)
		[ -z "$f" ] || take "$work/hvm" "$f"
	done
	mkdir -p "$work/hvm/guest" "$work/hvm/usr/lib/x86_64-linux-gnu"
	take_libraries "$work/hvm"
	cp "$cache.tmp/vmlinuz" "$work/hvm/guest/"
	build_boot_disk "$work/hvm/guest/grub.img"
	# Do not ship twice what dom0 has.
	(cd "$work/hvm" && find . -type f) | while read -r f; do
		[ ! -e "$work/dom0/$f" ] || rm "$work/hvm/$f"
	done
}

# word FILE OFFSET SIZE: a little-endian number in FILE.
word() { od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# payload BZIMAGE: the compressed kernel in it, without the length that follows it, as
# Documentation/arch/x86/boot.rst has it: setup_sects, payload_offset, payload_length.
payload() {
	local at
	at=$((($(word "$1" $((0x1f1)) 1) + 1) * 512 + $(word "$1" $((0x248)) 4)))
	tail -c +$((at + 1)) "$1" |
		head -c $(($(word "$1" $((0x24c)) 4) - 4))
}

# unpack_payload: xz in Debian 12, zstd in Debian 13.
unpack_payload() {
	case $(head -c 4 "$1" | od -An -t x1 | tr -d ' ') in
	fd377a58)	xz -dc "$1" ;;
	28b52ffd)	zstd -dcq "$1" ;;
	*)		return 1 ;;
	esac
}

# An ELF kernel: neither Xen nor libxl then spends seconds on inflating it.
extract_kernel() {
	zcat "$all/boot/xen-$XEN-amd64.gz" >"$cache.tmp/xen"
	if [ -n "${VHCA_KERNEL:-}" ]; then
		cp "$VHCA_KERNEL"/vmlinu[xz] "$cache.tmp/"
		return
	fi
	# Where Debian 14 has it, or where 12 and 13 have.
	local kernel=$all/usr/lib/modules/$KVER/vmlinuz
	[ -e "$kernel" ] || kernel=$all/boot/vmlinuz-$KVER
	cp "$kernel" "$cache.tmp/vmlinuz"
	payload "$cache.tmp/vmlinuz" >"$work/payload" || true
	if ! unpack_payload "$work/payload" >"$cache.tmp/vmlinux" ||
	   ! strip -s "$cache.tmp/vmlinux"; then
		say "vmlinuz-$KVER holds no kernel that xz or zstd can unpack:" \
			"$(head -c 6 "$work/payload" | od -An -t x1)"
		exit 1
	fi
	rm "$work/payload"
}

unpack_packages
extract_kernel
depmod -b "$all" "$KVER"
for m in "${modules_until_6_15[@]}"; do
	! has_module "$m" || common_modules+=("$m")
done
say "building the roots"
build_guest
build_dom0
build_hvm
keep_modules guest "$cache.tmp"
build_storage
keep_modules dom0 "$cache.tmp"
pack "$work/guest" "$cache.tmp/guest.cpio"
mkdir -p "$work/dom0/guest"
cp "$cache.tmp/guest.cpio" "$work/dom0/guest/base.cpio"
pack "$work/dom0" "$cache.tmp/dom0.cpio"
pack "$work/storage" "$cache.tmp/storage.cpio"
pack "$work/hvm" "$cache.tmp/hvm.cpio"
images_end
