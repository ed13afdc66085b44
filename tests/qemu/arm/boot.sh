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

# no_xenstore SCRIPT: its machine runs Debian's own Xen, in which no domain has one. No
# domain has a device with DMA there, so no share: one scenario for each machine, and its
# files come back by the console.
no_xenstore() {
	is_arm "$1" &&
		grep -q '^xenstore *= *no' "$here/arm/$(header "$1" machine |
			cut -d' ' -f2).ini"
}

# arm_lacking SCRIPT: why it cannot run here.
arm_lacking() {
	no_xenstore "$1" || "$here/arm/xen.sh" --have || {
		echo "Debian has no Xen 4.22 (VHCA_XEN_SRC names its sources)"
		return
	}
	[ -e "$build/arm64/vhcactl" ] || echo "not built: make build ARCH=arm64 (Debian 12)"
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

# arm_input SCRIPT: what the scenario's machine has of the share when it starts.
arm_input() {
	local in=$share/../in name
	name=$(basename "$1" .sh)
	mkdir -p "$in/share"
	cp "$share"/* "$in/share/"
	cp "$1" "$in/share/$name.sh"
	echo "$name /share/$name.sh $(limit_of "$1")" >"$in/share/next"
	(cd "$in" && find share | cpio --quiet -o -H newc -R 0:0)
}

# arm_tree FOLDER: the tree of the machine there, and what its utility domain is told.
arm_tree() {
	"$top/tools/scripts/vhca-devicetree" "$1/board.ini" "$1/board.dtb" "$1/xen" \
		>"$share/devicetree" && cp "$1/xen.conf" "$share/dom0less.conf"
}

# boot_arm PROCESSORS DESCRIPTION HCA QEMU-ARGS XEN-ARGS SCRIPT: starts QEMU with the
# share at $share, for this script, or for any of that machine; HCA is "yes" if scenarios
# ask the machine's monitor.
boot_arm() {
	local dir=$share/.. xen=xen address file plan9=()
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
		>"$dir/qemu.log" 2>&1 && arm_tree "$dir" || return 1
	if no_xenstore "$6"; then
		xen='xen-debian'
		arm_input "$6" >>"$dir/utility.cpio"
		# Its size stands in the tree.
		arm_tree "$dir" || return 1
	else
		# shellcheck disable=SC2054
		plan9=(-fsdev "local,id=share,path=$share,security_model=none"
			-device "virtio-9p-pci,fsdev=share,mount_tag=share,$virtio")
	fi
	while read -r address file; do
		machine+=(-device "loader,file=$file,addr=$address,force-raw=on")
	done <"$dir/xen.load"
	# shellcheck disable=SC2206,SC2054
	machine+=(-accel "tcg,thread=multi,tb-size=512" -no-reboot $4 ${QEMU_EXTRA:-}
		"${plan9[@]}"
		-kernel "$arm_images/$xen" -dtb "$dir/xen.dtb" -serial "file:$dir/console")
	if [ "$3" = yes ]; then
		mkdir "$share/qmp"
		machine+=(-qmp "unix:$dir/qmp,server=on,wait=off")
	fi
	start_qemu "$arm_program" "${machine[@]}"
	[ $xen = xen ] || setpriv --pdeathsig KILL "$here/arm/console.py" \
		"$dir/console" "$share" </dev/null 6>&- &
	if [ "$3" = yes ]; then
		setpriv --pdeathsig KILL "$here/arm/qmp.py" "$dir/qmp" "$share/qmp" \
			</dev/null >"$dir/qmp.log" 2>&1 &
	fi
}
