#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds a kernel that tells what an ordinary one endures (KASAN, lockdep, kmemleak,
# DEBUG_VM, fault injection) from Debian's source and configuration, with the modules
# that the images have and no others, and prints the folder that has it:
#
#   vmlinux, vmlinuz, lib/modules    for image.sh, by VHCA_KERNEL
#   build                            what modules are built against, KDIR
#   release                          its KVER
#
# The patches in linux/ remove what Linux itself is reported for, as lockdep and KASAN
# see nothing after their first report, and give a PV domain KASAN's shadow: Linux 6.1
# does not start there with KASAN (nor as PVH), because nobody maps the early shadow,
# into which the first instrumented function writes.
#
# Cached. A debug kernel needs memory, so guests get more of it (lib.sh).
# Usage: debug-kernel.sh [--path]     --path: only print where it would be
# Environment: JOBS
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
unset KDIR KVER VHCA_KERNEL
# shellcheck source=tests/qemu/lib/kver.sh
. "$here/../lib/kver.sh"
# shellcheck source=tests/lib/quietly.sh
. "$here/../../lib/quietly.sh"
say() { echo "kernel: $*" >&2; }

on=(
	KASAN KASAN_GENERIC KASAN_INLINE KASAN_STACK
	SLUB_DEBUG SLUB_DEBUG_ON
	PROVE_LOCKING DEBUG_ATOMIC_SLEEP DEBUG_LIST DEBUG_SG DEBUG_OBJECTS
	DEBUG_OBJECTS_FREE DEBUG_OBJECTS_TIMERS DEBUG_OBJECTS_WORK
	DEBUG_VM DEBUG_VM_PGTABLE PAGE_POISONING DEBUG_KMEMLEAK DEBUG_KERNEL
	FAULT_INJECTION FAILSLAB FAIL_PAGE_ALLOC FAULT_INJECTION_DEBUG_FS
	DETECT_HUNG_TASK DEBUG_INFO_NONE KERNEL_GZIP
	UNWINDER_FRAME_POINTER
)
# KASAN_VMALLOC: a PV domain would need more than the early shadow. UNWINDER_ORC: KASAN
# and kmemleak note a stack for each allocation, and half of the time went to its walks.
off=(
	KASAN_OUTLINE KASAN_VMALLOC MODULE_SIG DEBUG_INFO_BTF DEBUG_INFO_DWARF5 WERROR
	RANDOMIZE_BASE DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT DEBUG_INFO_DWARF4
	SECURITY_LOCKDOWN_LSM_EARLY KERNEL_XZ UNWINDER_ORC
)
# What no scenario uses, and what takes longest to compile and to emulate. A shadow for
# the entry areas of 8192 processors would take 200 MB.
unused=(
	ACCESSIBILITY AGP AMD_IOMMU AMD_IOMMU_V2 AMD_MEM_ENCRYPT AUDIT
	BLK_CGROUP_IOCOST BLK_SED_OPAL BPF_LSM BPF_SYSCALL CHROME_PLATFORMS
	CPU_MITIGATIONS CRASH_DUMP CXL_BUS DRM EDAC EFI ENCRYPTED_KEYS EVM FB FDDI
	FS_ENCRYPTION FS_VERITY FTRACE FUSION GOOGLE_FIRMWARE GPIOLIB HAMRADIO
	HIBERNATION HIPPI HWMON I2C IMA INPUT_JOYSTICK INPUT_MISC INPUT_MOUSE
	INPUT_TABLET INPUT_TOUCHSCREEN INTEGRITY INTEL_IOMMU_SVM IPV6_SEG6_HMAC
	IPV6_SEG6_LWTUNNEL ISDN KEXEC KEXEC_FILE KPROBES KSM LIVEPATCH LRU_GEN
	MAXSMP MD MEDIA_SUPPORT MEMORY_FAILURE MEMTEST MICROCODE MLX5_CORE_EN
	MLX5_FPGA MLX5_SW_STEERING MODVERSIONS MPLS MPTCP NETLABEL
	NET_SCHED NEW_LEDS NUMA PARTITION_ADVANCED PINCTRL POWERCAP POWER_SUPPLY PWM
	QUOTA QUOTACTL RD_BZIP2 RD_LZ4 RD_LZMA RD_LZO RD_XZ REGULATOR
	SECURITY_APPARMOR SECURITY_LANDLOCK SECURITY_LOCKDOWN_LSM SECURITY_SELINUX
	SECURITY_TOMOYO SECURITY_YAMA SPI STAGING STRICT_DEVMEM SURFACE_PLATFORMS
	TCG_TPM UNICODE UPROBES USB_SUPPORT VIRTUALIZATION WAN WATCHDOG WIRELESS
	WLAN X86_5LEVEL X86_AMD_PLATFORM_DEVICE X86_CPU_RESCTRL X86_INTEL_LPSS
	X86_PLATFORM_DEVICES X86_SGX X86_X32_ABI XDP_SOCKETS XFRM_SUB_POLICY ZSWAP
)
processors=8

source=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' | sort -V |
	tail -n 1)
[ -n "$source" ] || {
	say "no /usr/src/linux-source-*.tar.xz: run 'tests/qemu/image/deps.sh debug'"
	exit 1
}
# As lsmod prints them: localmodconfig drops all other modules.
modules() {
	echo 'Module Size Used by'
	find "$images"/{dom0,guest}/lib/modules -name '*.ko' |
		sed 's,.*/,,; s/\.ko$//; y/-/_/; s/$/ 0 0/' | sort -u
}

images=$(KVER=$KVER "$here/image.sh")
key=$({ cat "$0" "$here"/linux/*.patch "$KDIR/.config"; modules
	stat -c '%s %Y' "$source"; } | sha256sum | cut -c1-16)
out=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/kernel-$key
if [ "${1:-}" = --path ] || [ -e "$out/complete" ]; then
	echo "$out"
	exit 0
fi
exec 9>"$out.lock"
flock 9
if [ -e "$out/complete" ]; then
	echo "$out"
	exit 0
fi

configure() {
	local o
	cp "$KDIR/.config" .config
	modules >../modules
	# It asks about what is new; the defaults are right.
	yes '' 2>/dev/null | make LSMOD="$out/modules" localmodconfig \
		>"$out/log" 2>&1 || true
	for o in "${on[@]}"; do scripts/config -e "$o"; done
	for o in "${off[@]}" "${unused[@]}"; do scripts/config -d "$o"; done
	scripts/config -m KASAN_MODULE_TEST --set-val NR_CPUS $processors \
		--set-str SYSTEM_TRUSTED_KEYS '' \
		--set-str SYSTEM_REVOCATION_KEYS '' \
		--set-str LOCALVERSION -vhca-debug --set-val FRAME_WARN 0 \
		--set-val DEBUG_KMEMLEAK_MEM_POOL_SIZE 16000
	quietly make olddefconfig
	for o in "${on[@]}"; do
		grep -q "^CONFIG_$o=y" .config || {
			say "CONFIG_$o does not stay in the configuration"
			exit 1
		}
	done
}

rm -rf "$out"
mkdir -p "$out/build"
say "unpacking ${source##*/}"
tar -C "$out/build" --strip-components=1 -xf "$source"
cd "$out/build"
for p in "$here"/linux/*.patch; do
	quietly patch -p1 -F0 -i "$p"
done
configure
say "compiling (a quarter of an hour on two processors, once)"
start=$SECONDS
quietly make -j"${JOBS:-$(nproc)}" bzImage modules
quietly make INSTALL_MOD_PATH="$out" INSTALL_MOD_STRIP=1 modules_install
make -s kernelrelease >"$out/release"
rm -f "$out"/lib/modules/*/{build,source}
strip -s -o "$out/vmlinux" vmlinux
cp arch/x86/boot/bzImage "$out/vmlinuz"
# Modules are built against what is left.
find . \( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '.*.cmd' \) \
	! -path './scripts/*' ! -path './tools/*' -delete
rm -f vmlinux "$out/log"
touch "$out/complete"
say "done after $((SECONDS - start)) s: $(du -sh "$out" | cut -f1)"
echo "$out"
