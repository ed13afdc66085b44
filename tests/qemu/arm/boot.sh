# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by ../run: machines on Arm. In those of "# machine: dom0less DESCRIPTION" Xen
# starts all domains from a device tree that ../../../tools/scripts/vhca-devicetree makes
# from DESCRIPTION.ini beside this file. Its utility domain has the machine's PCI devices,
# the share among them, and runs the scenarios. Those of "# machine: arm64" have Debian's
# own Xen and a dom0, as machines of another architecture have.
# shellcheck disable=SC2154

# Of the machines, MiB; the addresses in descriptions are below. Of a dom0, without DOM0_MEM:
# its root has those of guests in it. Where QEMU puts files for it: behind Xen and the tree.
ARM_RAM=3072
ARM_DOM0_MEM=1024
ARM_MODULES=0x50000000
# Lines of the plan.
ARM_MACHINES='^[^|]*\|(dom0less |arm64\|)'

is_arm() { # is_arm SCRIPT
	case $(header "$1" machine) in
	dom0less*|arm64)	;;
	*)			return 1 ;;
	esac
}
is_dom0less() { is_arm "$1" && [ "$(header "$1" machine)" != arm64 ]; }

# no_xenstore SCRIPT: its machine runs Debian's own Xen, in which no domain has one. No
# domain has a device with DMA there, so no share: one scenario for each machine, and its
# files come back by the console.
no_xenstore() {
	is_dom0less "$1" &&
		grep -q '^xenstore *= *no' "$here/arm/$(header "$1" machine |
			cut -d' ' -f2).ini"
}

# arm_lacking SCRIPT: why it cannot run here.
arm_lacking() {
	[ "$SUITE" = "$GUEST_SUITE" ] || {
		echo "on Arm dom0 and guests are of one release"
		return
	}
	! is_dom0less "$1" || [ "$SUITE" = bookworm ] || {
		echo "a Xen without dom0 has domains of Debian 12 only"
		return
	}
	! is_dom0less "$1" || no_xenstore "$1" || "$here/arm/xen.sh" --have || {
		echo "Debian has no Xen 4.22 (VHCA_XEN_SRC names its sources)"
		return
	}
	[ -e "$build/arm64/vhcactl" ] || echo "not built: make build ARCH=arm64"
}

# prepare_arm: images, program and overlay of such machines.
prepare_arm() {
	[ -e "$build/arm64/vhcactl" ] || {
		say "run: nothing in $build/arm64: make build ARCH=arm64 SUITE=$SUITE"
		return 1
	}
	arm_images=$("$here/arm/images.sh") || return 1
	arm_program=$("$top/tests/hca/build-qemu.sh" aarch64) || return 1
	# shellcheck disable=SC2034
	images=$arm_images program=$arm_program
	! grep -q '^[^|]*|dom0less ' "$scratch/plan" || UTILITY=yes arm_overlay dom0less || return 1
	! grep -q '^[^|]*|arm64|' "$scratch/plan" || arm_overlay arm64
}

# arm_overlay KIND: in a folder of that name, for the machines of that kind.
arm_overlay() {
	mkdir -p "$scratch/$1"
	CC="aarch64-linux-gnu-gcc --sysroot=$arm_images/sysroot" \
		STRIP=aarch64-linux-gnu-strip OVERLAY_EXTRA=${extra[*]:-} \
		"$here/image/overlay.sh" "$arm_images" "$build/arm64" "$scratch/$1"
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

# arm_dom0less FOLDER DESCRIPTION XEN-ARGS: its tree and files, for a Xen without dom0.
arm_dom0less() {
	cp "$here/arm/$2.ini" "$1/board.ini"
	[ -z "$3" ] || sed -i "s/^\\(args = console=dtuart .*\\)/\\1 $3/" "$1/board.ini"
	ln -sf "$arm_images/Image" "$1/Image"
	cat "$arm_images/guest.cpio" "$scratch/dom0less/guest.cpio" >"$1/guest.cpio"
	cat "$arm_images/dom0.cpio" "$scratch/dom0less/overlay.cpio" >"$1/utility.cpio"
	arm_tree "$1"
}

# arm_dom0 FOLDER XEN-ARGS: the same with one: kernel and root of dom0 are modules of Xen
# (docs/misc/arm/device-tree/booting.txt there).
arm_dom0() {
	local tree=$1/xen.dtb mem=${DOM0_MEM:-$ARM_DOM0_MEM} address=$((ARM_MODULES)) f size node
	local args="console=dtuart dtuart=/pl011@9000000 loglvl=all guest_loglvl=all
		dom0_mem=${mem}M bootscrub=0 gnttab_max_frames=2048
		gnttab_max_maptrack_frames=8192 $2 ${XEN_EXTRA:-}"
	cat "$arm_images"/{dom0,xen}.cpio "$scratch/arm64/overlay.cpio" >"$1/ramdisk" &&
		ln -sf "$arm_images/Image" "$1/kernel" && cp "$1/board.dtb" "$tree" &&
		fdtput -t s "$tree" /chosen xen,xen-bootargs "${args//[$'\n\t']/ }" &&
		fdtput "$tree" /chosen '#address-cells' 2 &&
		fdtput "$tree" /chosen '#size-cells' 2 || return 1
	: >"$1/xen.load"
	for f in kernel ramdisk; do
		size=$(stat -Lc %s "$1/$f")
		node=$(printf '/chosen/module@%x' "$address")
		fdtput -c "$tree" "$node" &&
			fdtput -t s "$tree" "$node" compatible "multiboot,$f" multiboot,module &&
			fdtput "$tree" "$node" reg 0 "$address" 0 "$size" || return 1
		[ $f = ramdisk ] || fdtput -t s "$tree" "$node" bootargs \
			"console=hvc0 nosoftlockup $DOM0_CMDLINE ${DOM0_EXTRA:-}" || return 1
		printf '0x%x %s\n' "$address" "$1/$f" >>"$1/xen.load"
		address=$(((address + size + 0x1fffff) & ~0x1fffff))
	done
}

# boot_arm PROCESSORS DESCRIPTION HCA QEMU-ARGS XEN-ARGS SCRIPT: starts QEMU with the
# share at $share, for this script, or for any of that machine; DESCRIPTION is "arm64" if it
# has a dom0; HCA is "yes" if scenarios ask the machine's monitor.
boot_arm() {
	local dir=$share/.. xen=xen address file plan9=()
	local virtio=iommu_platform=on,disable-legacy=on
	# shellcheck disable=SC2054
	local machine=(-machine "virt,virtualization=on,gic-version=2" -cpu cortex-a57
		-smp "$1" -m "$ARM_RAM" -nic none -display none)
	"$arm_program" "${machine[@]}" -machine dumpdtb="$dir/board.dtb" \
		>"$dir/qemu.log" 2>&1 || return 1
	case $2 in
	arm64)	xen='xen-debian'
		arm_dom0 "$dir" "$5" || return 1 ;;
	*)	arm_dom0less "$dir" "$2" "$5" || return 1 ;;
	esac
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
	! no_xenstore "$6" || setpriv --pdeathsig KILL "$here/arm/console.py" \
		"$dir/console" "$share" </dev/null 6>&- &
	if [ "$3" = yes ]; then
		setpriv --pdeathsig KILL "$here/arm/qmp.py" "$dir/qmp" "$share/qmp" \
			</dev/null >"$dir/qmp.log" 2>&1 &
	fi
}
