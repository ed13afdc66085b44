#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds a kernel that tells what an ordinary one endures (lockdep, kmemleak,
# DEBUG_VM, fault injection) from Debian's source and configuration, with the modules
# that the images have and no others, and prints the folder that has it:
#
#   vmlinux, vmlinuz, lib/modules    for image.sh, by VHCA_KERNEL
#   build                            what modules are built against, KDIR
#   release                          its KVER
#
# The patches in linux/ remove what Linux itself is reported for, as lockdep sees
# nothing after its first report.
#
# A quarter of an hour on two processors; cached. A debug kernel needs memory, so
# machines and guests get more of it (run, lib.sh).
#
# It has SLUB's red zones and poison, not KASAN: with that, Linux 6.1 does not start in
# a PV domain. Nobody there maps the early shadow, into which the first instrumented
# function writes (xen_start_kernel(), arch/x86/xen/enlighten_pv.c; the native path
# does it in x86_64_start_kernel()).
# Usage: debug-kernel.sh [--path]     --path: only print where it would be
# Environment: JOBS
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
unset KDIR KVER VHCA_KERNEL
# shellcheck source=tests/qemu/lib/kver.sh
. "$here/../lib/kver.sh"
say() { echo "kernel: $*" >&2; }

on=(
	SLUB_DEBUG SLUB_DEBUG_ON
	PROVE_LOCKING DEBUG_ATOMIC_SLEEP DEBUG_LIST DEBUG_SG DEBUG_OBJECTS
	DEBUG_OBJECTS_FREE DEBUG_OBJECTS_TIMERS DEBUG_OBJECTS_WORK
	DEBUG_VM DEBUG_VM_PGTABLE PAGE_POISONING DEBUG_KMEMLEAK DEBUG_KERNEL
	FAULT_INJECTION FAILSLAB FAIL_PAGE_ALLOC FAULT_INJECTION_DEBUG_FS
	DETECT_HUNG_TASK DEBUG_INFO_NONE
)
off=(
	KASAN MODULE_SIG DEBUG_INFO_BTF DEBUG_INFO_DWARF5 WERROR RANDOMIZE_BASE
	DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT DEBUG_INFO_DWARF4
	SECURITY_LOCKDOWN_LSM_EARLY
)

source=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' | sort -V |
	tail -n 1)
[ -n "$source" ] || {
	say "no /usr/src/linux-source-*.tar.xz: run 'tests/qemu/image/deps.sh debug'"
	exit 1
}
images=$(KVER=$KVER "$here/image.sh")
key=$({ cat "$0" "$here"/linux/*.patch "$KDIR/.config"; echo "$images"
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

# quietly COMMAND...: its output only if it fails.
quietly() {
	"$@" >"$out/log" 2>&1 </dev/null || {
		tail -n 25 "$out/log" >&2
		say "failed: $*"
		exit 1
	}
}

# As lsmod prints them: localmodconfig drops all other modules.
modules() {
	echo 'Module Size Used by'
	find "$images"/{dom0,guest}/lib/modules -name '*.ko' |
		sed 's,.*/,,; s/\.ko$//; y/-/_/; s/$/ 0 0/' | sort -u
}

configure() {
	local o
	cp "$KDIR/.config" .config
	modules >../modules
	# It asks about what is new; the defaults are right.
	yes '' 2>/dev/null | make LSMOD="$out/modules" localmodconfig \
		>"$out/log" 2>&1 || true
	for o in "${on[@]}"; do scripts/config -e "$o"; done
	for o in "${off[@]}"; do scripts/config -d "$o"; done
	scripts/config --set-str SYSTEM_TRUSTED_KEYS '' \
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
