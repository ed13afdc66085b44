# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by ../run: machines of "# machine: dom0less DESCRIPTION", in which Xen starts
# all domains from a device tree that ../../../tools/scripts/vhca-devicetree makes from
# DESCRIPTION.ini beside this file. Its utility domain has the machine's PCI devices, the
# share among them, and runs the scenarios.
# shellcheck disable=SC2154

# Of the machines, MiB; the addresses in descriptions are below.
ARM_RAM=3072

is_arm() { # is_arm SCRIPT
	case $(header "$1" machine) in
	dom0less*)	;;
	*)		return 1 ;;
	esac
}

# arm_lacking: why such scenarios cannot run here.
arm_lacking() {
	"$here/arm/xen.sh" --have || {
		echo "Debian has no Xen 4.22 (VHCA_XEN_SRC names its sources)"
		return
	}
	[ -e "$build/arm64/vhcactl" ] || echo "not built: make build ARCH=arm64"
}

# prepare_arm: images, program and overlay of such machines.
prepare_arm() {
	[ -e "$build/arm64/vhcactl" ] || {
		say "run: nothing in $build/arm64: make build ARCH=arm64"
		return 1
	}
	arm_images=$("$here/arm/images.sh") || return 1
	arm_program=$("$top/tests/hca/build-qemu.sh" aarch64) || return 1
	# shellcheck disable=SC2034
	images=$arm_images program=$arm_program
	mkdir -p "$scratch/arm"
	UTILITY=yes CC="aarch64-linux-gnu-gcc --sysroot=$arm_images/sysroot" \
		STRIP=aarch64-linux-gnu-strip OVERLAY_EXTRA=${extra[*]:-} \
		"$here/image/overlay.sh" "$arm_images" "$build/arm64" "$scratch/arm"
}

# boot_arm PROCESSORS DESCRIPTION HCA QEMU-ARGS XEN-ARGS: starts QEMU with the share at
# $share; HCA is "yes" if scenarios ask the machine's monitor.
boot_arm() {
	local dir=$share/.. address file
	local virtio=iommu_platform=on,disable-legacy=on
	# shellcheck disable=SC2054
	local machine=(-machine "virt,virtualization=on,gic-version=2" -cpu cortex-a57
		-smp "$1" -m "$ARM_RAM" -nic none -display none)
	cp "$here/arm/$2.ini" "$dir/board.ini"
	[ -z "$5" ] || sed -i "s/^\\(args = console=dtuart .*\\)/\\1 $5/" "$dir/board.ini"
	ln -sf "$arm_images/Image" "$dir/Image"
	cat "$arm_images/guest.cpio" "$scratch/arm/guest.cpio" >"$dir/guest.cpio"
	cat "$arm_images/dom0.cpio" "$scratch/arm/overlay.cpio" >"$dir/utility.cpio"
	"$arm_program" "${machine[@]}" -machine dumpdtb="$dir/board.dtb" \
		>"$dir/qemu.log" 2>&1 &&
		"$top/tools/scripts/vhca-devicetree" "$dir/board.ini" "$dir/board.dtb" \
			"$dir/xen" >"$share/devicetree" || return 1
	cp "$dir/xen.conf" "$share/dom0less.conf"
	while read -r address file; do
		machine+=(-device "loader,file=$file,addr=$address,force-raw=on")
	done <"$dir/xen.load"
	# shellcheck disable=SC2206,SC2054
	machine+=(-accel "tcg,thread=multi,tb-size=512" -no-reboot $4 ${QEMU_EXTRA:-}
		-fsdev "local,id=share,path=$share,security_model=none"
		-device "virtio-9p-pci,fsdev=share,mount_tag=share,$virtio"
		-kernel "$arm_images/xen" -dtb "$dir/xen.dtb" -serial "file:$dir/console")
	if [ "$3" = yes ]; then
		mkdir "$share/qmp"
		machine+=(-qmp "unix:$dir/qmp,server=on,wait=off")
	fi
	start_qemu "$arm_program" "${machine[@]}"
	if [ "$3" = yes ]; then
		setpriv --pdeathsig KILL "$here/arm/qmp.py" "$dir/qmp" "$share/qmp" \
			</dev/null >"$dir/qmp.log" 2>&1 &
	fi
}
