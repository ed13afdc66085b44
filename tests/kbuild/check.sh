#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Both modules, and that of the scenarios, compile for every kernel that we claim, with
# neither a warning of the compiler (of what was built before: with KCFLAGS=-Werror, as CI
# builds it) nor a complaint of sparse (address spaces, locks, byte order): the installed
# headers, those of the other release of Debian (6.1 or 6.12) and this release's for arm64,
# which headers.sh fetches. And for the newest kernel, that of Debian's next release, by
# its compiler alone, in a root of that release (qemu/image/build-root.sh). Runs nothing of
# ours and needs no root.
#
# Usage: check.sh --build DIR [--built DIR] [--less-other] [KERNEL-BUILD-FOLDER...]
#   --build DIR   where to compile
#   --built DIR   where 'make build' compiled for the installed kernel: only sparse looks
#                 at it
#   --less-other  not for other releases of Debian: 'make check-other' and 'make
#                 check-next' compile for them; and arm64 without sparse
#
# Folders named are tested instead of those. Status 0: nothing failed; a kernel whose
# headers cannot be had is skipped, a failure if CI=true.
# Environment: VHCA_SPARSE=no, without sparse; KCFLAGS, those of 'make build'; VHCA_HAS_ALL=yes,
# the kernel has all that frontend/probes.in asks for
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/lib/count.sh
. "$top/tests/lib/count.sh"

usage() {
	echo 'usage: check.sh --build DIR [--built DIR] [--less-other]' \
		'[KERNEL-BUILD-FOLDER...]' >&2
	exit 2
}

build='' built='' with_other=yes
while [ $# -gt 0 ]; do
	case $1 in
	--build|--built)
		[ -n "${2:-}" ] || usage
		mkdir -p "$2"
		printf -v "${1#--}" %s "$(cd "$2" && pwd)"
		shift ;;
	--less-other)
		with_other=no ;;
	-*)	usage ;;
	*)	break ;;
	esac
	shift
done
[ -n "$build" ] || usage

# The architecture of the folder, as kbuild wants to be told. Another than this
# machine's needs a cross compiler. Debian's headers name the compiler's version, which
# another release of Debian may not have.
target_of() { # target_of KDIR
	local cross='' named
	if grep -qx CONFIG_ARM64=y "$1/include/config/auto.conf"; then
		echo ARCH=arm64
		[ "$(uname -m)" = aarch64 ] || cross=aarch64-linux-gnu-
		[ -z "$cross" ] || echo "CROSS_COMPILE=$cross"
	fi
	named=$(sed -n 's/^CC = .*(CROSS_COMPILE)\(gcc-[0-9]*\)$/\1/p' \
		"$1/.kernelvariables" 2>/dev/null) || true
	[ -z "$named" ] || command -v "$cross$named" >/dev/null || echo "CC=${cross}gcc"
}

release() { # release KDIR: its version
	sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		"$1/include/generated/utsrelease.h"
}

sparse=(C=2 CF=-Wsparse-error)
[ "${VHCA_SPARSE:-yes}" = yes ] || sparse=()

# compile KDIR DIR MODULE-FOLDER [KCFLAGS]: gcc and sparse; every complaint ends it. With
# the flags that it was compiled with, only sparse has anything to do.
compile() {
	local target
	mapfile -t target < <(target_of "$1")
	make -s -j"${JOBS:-$(nproc)}" "${target[@]}" -C "$1" M="$2/$3" KCFLAGS="${4--Werror}" "${sparse[@]}" \
		modules >"$build/log" 2>&1
}

# The modules declare what udev and the kernel look for.
declared() { # declared DIR
	local front=$1/frontend/xen-vhcafront.ko
	local helper=$1/backend/helper/xen-vhca-helper.ko
	[ "$(modinfo -F license "$front")" = GPL ] &&
		{ [ "$folders" = frontend ] || [ "$(modinfo -F license "$helper")" = GPL ]; } &&
		modinfo -F alias "$front" | grep -qx xen:vhca
}

check_kernel() { # check_kernel KDIR [BUILT]: compiled there, or to be looked at
	local version dir d folders does=compiles flags=()
	version=$(release "$1" 2>/dev/null) || true
	if [ -z "$version" ]; then
		say FAIL "no kernel build folder at '$1': run 'make deps'"
		return
	fi
	dir=$build/$version
	[ -z "${2:-}" ] || { dir=$2 does="has no complaint of sparse in" flags=("${KCFLAGS:-}"); }
	mkdir -p "$dir"
	folders=$("$top/tools/kbuild-tree.sh" "$dir" tests)
	local sparse=("${sparse[@]}")
	case $version in 5.*) folders=frontend sparse=() ;; esac
	for d in $folders; do
		if compile "$1" "$dir" "$d" "${flags[@]}"; then
			say ok "linux $version $does $d"
		else
			say FAIL "linux $version $does $d"
			sed 's/^/     /' "$build/log" | tail -n 30
			return
		fi
	done
	if declared "$dir"; then
		say ok "linux $version: licences and alias are declared"
	else
		say FAIL "linux $version: licences and alias are declared"
	fi
	[ "${VHCA_HAS_ALL:-}" = yes ] || return 0
	if asked | diff - <(sed -n 's/^#define VHCA_HAVE_\([A-Z0-9_]*\) .*/\1/p' \
		"$dir/frontend/probes.h") >"$build/log"; then
		say ok "linux $version has all that probes.in asks for"
	else
		say FAIL "linux $version has all that probes.in asks for"
		cat "$build/log"
	fi
}

asked() { sed -n '/^#line 1 "NOTHING"/q; s/^#line 1 "\([A-Z0-9_]*\)".*/\1/p' "$top/frontend/probes.in"; }

# backported KDIR: as distributions do, a kernel has a change of a later version, here one
# of 6.3. Its headers decide, not its number. One file that needs the change.
backported() {
	local dir=$build/backported target version
	version=$(release "$1")
	rm -rf "$dir"
	mkdir -p "$dir"
	"$top/tools/kbuild-tree.sh" "$dir" >/dev/null
	cat >"$dir/backport.h" <<-EOF
	#ifndef __ASSEMBLY__
	#include <linux/mm.h>
	static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
	{
		vma->vm_flags |= flags;
	}

	static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
	{
		vma->vm_flags &= ~flags;
	}
	#endif
	EOF
	mapfile -t target < <(target_of "$1")
	if make -s "${target[@]}" -C "$1" M="$dir/frontend" \
		KCFLAGS="-Werror -include $dir/backport.h" mmap/doorbell.o >"$build/log" 2>&1 &&
	   grep -qx '#define VHCA_HAVE_VM_FLAGS_SET 1' "$dir/frontend/probes.h"; then
		say ok "linux $version with a change of a later version: the frontend compiles"
	else
		say FAIL "linux $version with a change of a later version: the frontend compiles"
		tail -n 30 "$build/log"
	fi
	rm -rf "$dir"
}

# noticed KDIR TEXT LINE: the helper with LINE at its end is refused.
noticed() {
	local dir=$build/broken
	rm -rf "$dir"
	mkdir -p "$dir"
	"$top/tools/kbuild-tree.sh" "$dir" >/dev/null
	rm "$dir/backend/helper/keep.c"
	{ cat "$top/backend/helper/keep.c"; echo "$3"; } \
		>"$dir/backend/helper/keep.c"
	if ! compile "$1" "$dir" backend/helper &&
	   grep -q "keep\.c:.*error:" "$build/log"; then
		say ok "$2 is noticed"
	else
		say FAIL "$2 is noticed"
	fi
	rm -rf "$dir"
}

# newest: the verdicts of this script in a root of the next release.
newest() {
	local root verdict text said=0
	root=$(SUITE=$NEXT "$top/tests/qemu/image/build-root.sh" 2>"$build/log") || {
		say skip "the kernel of $NEXT: $(tail -n 1 "$build/log")"
		return
	}
	while read -r verdict text; do
		case $verdict in
		ok|FAIL) said=$((said + 1)); say "$verdict" "$text" ;;
		''|[0-9]*) ;;
		*)	echo "     $verdict $text" ;;
		esac
	done < <(SUITE=$NEXT "$top/tests/qemu/image/build-root.sh" --in "$build" -- \
		env VHCA_SPARSE=no VHCA_HAS_ALL=yes tests/kbuild/check.sh --build "$build" \
		"/usr/src/linux-headers-$(cat "$root/kver")" 2>&1)
	[ "$said" != 0 ] || say FAIL "modules are compiled in a root of $NEXT"
}

NEXT=forky
[ "${#sparse[@]}" = 0 ] || command -v sparse >/dev/null || {
	say FAIL "sparse is not installed: run 'make deps'"
	exit 1
}
if [ $# -gt 0 ]; then
	for kdir; do
		check_kernel "$kdir"
	done
else
	# shellcheck source=tests/qemu/lib/kver.sh
	. "$top/tests/qemu/lib/kver.sh"
	check_kernel "$KDIR" "$built"
	noticed "$KDIR" "a warning of the compiler" \
		'static void unused(void) { }'
	noticed "$KDIR" "user memory that is read directly" \
		'int vh_x(int __user *p); int vh_x(int __user *p) { return *p; }'
	# This release of Debian's kernel, and the other's.
	own=6.1 other=6.12
	case $(release "$KDIR") in
	6.12.*)	own=6.12 other=6.1 ;;
	esac
	# Newer kernels have the change themselves.
	case $(release "$KDIR") in 6.1.*) backported "$KDIR" ;; esac
	if [ $with_other = no ]; then
		:
	elif older=$("$here/headers.sh" 5.10 2>"$build/log"); then
		check_kernel "$older"
		backported "$older"
	else
		say skip "linux 5.10: $(tail -n 1 "$build/log")"
	fi
	if [ $with_other = no ]; then
		:
	elif kdir=$("$here/headers.sh" $other 2>"$build/log"); then
		check_kernel "$kdir"
	else
		say skip "linux $other: $(tail -n 1 "$build/log")"
	fi
	# What sparse sees does not depend on the architecture: the long form looks all the same.
	[ $with_other = yes ] || sparse=()
	if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
		say skip "linux $own for arm64: no compiler for it: run 'make deps'"
	elif kdir=$("$here/headers.sh" $own arm64 2>"$build/log"); then
		check_kernel "$kdir"
	else
		say skip "linux $own for arm64: $(tail -n 1 "$build/log")"
	fi
	[ $with_other = no ] || newest
fi
counted
