#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The patches for other trees (tools/patches/, docs/upstream.md) can be posted: each series
# applies to the tree's sources without fuzz, has no complaint of the tree's own checks, and
# what it changes compiles without a warning. The driver of Linux is exported first. Only
# what patches touch is compiled. Needs no root.
#
# Usage: check.sh --build DIR     where to compile
# Status 0: nothing failed; a tree that cannot be had is skipped, a failure if CI=true.
# Environment: VHCA_XEN_SRC (../qemu/arm/xen.sh): the series for Xen without dom0, too; JOBS
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
patches=$top/tools/patches
# shellcheck source=tests/lib/count.sh
. "$top/tests/lib/count.sh"
if [ "${1:-}" != --build ] || [ -z "${2:-}" ]; then
	echo 'usage: check.sh --build DIR' >&2
	exit 2
fi
mkdir -p "$2"
build=$(cd "$2" && pwd)
jobs=${JOBS:-$(nproc)}
driver=drivers/infiniband/hw/xen-vhca

# claim TEXT COMMAND...: what it says is shown if it fails.
claim() {
	local text=$1
	shift
	if "$@" >"$build/log" 2>&1; then
		say ok "$text"
	else
		say FAIL "$text"
		{ grep -E 'error|arning|WARNING|CHECK|ERROR|Error' "$build/log" ||
			tail -n 10 "$build/log"; } | head -n 20 | sed 's/^/     /'
		return 1
	fi
}
not() { ! "$@"; }

# copy_of TREE NAME: the tree's sources, to be changed; status 1: they cannot be had.
copy_of() {
	local from
	from=$("$here/sources.sh" "$1" 2>"$build/log") || {
		say skip "$1: $(tail -n 1 "$build/log")"
		return 1
	}
	rm -rf "${build:?}/$2"
	cp -a "$from" "$build/$2"
}

# applied TREE PATCH...: in order, each hunk with all of its context.
applied() {
	local tree=$1 p
	shift
	for p; do
		case ${p##*/} in 0000-*) continue ;; esac
		(cd "$tree" && GIT_CEILING_DIRECTORIES=$build git apply "$p") || return
	done
}

# Not asked: whether MAINTAINERS needs a line (the first patch that adds files has it), for
# parentheses around rows of lists, about xenbus' and uverbs' names and macros, about ENOSYS, which rdma_ucm answers,
# about a ring's slot that must be read once, as a whole, and about commits of Fixes:, which
# sources without a history do not have.
options=(--strict --terse --no-summary --show-types --max-line-length=100 --ignore
	"FILE_PATH_CHANGES,COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,TRAILING_SEMICOLON,CAMELCASE,OPEN_ENDED_LINE,ENOSYS,VOLATILE,UNKNOWN_COMMIT_ID")
# As Xen writes its public headers; patch 3 adds the file as it is there.
xen_style=LEADING_SPACE,CODE_INDENT,PREFER_KERNEL_TYPES,BIT_MACRO

# checkpatch TREE PATCH...: the sender signs them (tools/patches/README.md). The sources have
# no history, and it would look for licences in that of this project.
checkpatch() {
	local tree=$1 p rc=0 ignore
	shift
	for p; do
		case ${p##*/} in 0000-*) continue ;; esac
		ignore=()
		! grep -q '^+++ b/include/xen/interface/' "$p" || ignore=(--ignore "$xen_style")
		sed 's/^---$/Signed-off-by: The vhca authors <vhca@lists.invalid>\n---/' "$p" \
			>"$build/signed.patch"
		GIT_DIR=$tree/.git "$tree/scripts/checkpatch.pl" --root="$tree" "${options[@]}" \
			"${ignore[@]}" "$build/signed.patch" || { echo "WARNING: ${p##*/}"; rc=1; }
	done
	return $rc
}

# module TREE FOLDER [OBJECT]: compiled, every warning an error, and sparse's; without an
# object the modules of the folder are linked, too, with the symbols of Debian's kernel.
# Kbuild compiles without sparse if it does not like it.
module() {
	local what=("$2/${3:-}")
	[ -n "${3:-}" ] || what=("M=$2" modules)
	make -s -C "$1" "-j$jobs" W=1 KCFLAGS=-Werror C=1 CHECK="$sparse/sparse" \
		CF=-Wsparse-error "${what[@]}" >"$build/make.log" 2>&1 || {
		cat "$build/make.log"
		return 1
	}
	! grep 'not up to date' "$build/make.log"
}

kernel_doc() { # kernel_doc TREE FOLDER
	local said
	said=$(find "$1/$2" -name '*.[ch]' -exec "$1/scripts/kernel-doc" -none -Wall {} + 2>&1)
	[ -z "$said" ] || { echo "warning: $said"; return 1; }
}

# The export has every file, and nothing that is for older kernels.
newest_only() {
	! grep -rE 'LINUX_VERSION_CODE|compat\.h|__KERNEL__|uint[0-9]+_t' "$1/$driver"
}

configured() {
	(cd "$1" && scripts/config -m INFINIBAND_XEN_VHCA && make -s olddefconfig modules_prepare) &&
		grep -qx CONFIG_INFINIBAND_XEN_VHCA=m "$1/.config"
}

linux() {
	local tree=$build/linux version out=$build/xen-vhca series
	copy_of linux linux || return 0
	sparse=$("$here/sources.sh" sparse 2>"$build/log") || {
		say skip "linux: no sparse: $(tail -n 1 "$build/log")"
		return
	}
	version=$(make -s -C "$tree" kernelversion)
	rm -rf "$out"
	claim "the driver is exported for linux $version" \
		"$patches/linux-vhca/export.py" "$tree" "$out" || return 0
	for series in "$out" "$patches/linux-rxe" "$patches/linux-xen"; do
		claim "${series##*/} applies to linux $version" \
			applied "$tree" "$series"/*.patch || return 0
		claim "${series##*/}: checkpatch --strict is content" \
			checkpatch "$tree" "$series"/*.patch || true
	done
	claim "the driver has nothing for older kernels" newest_only "$tree" || true
	claim "the driver: kernel-doc is content" kernel_doc "$tree" "$driver" || true
	claim "Kconfig offers the driver" configured "$tree" || return 0
	claim "the driver compiles, with sparse, and is linked" \
		module "$tree" $driver || true
	claim "linux-rxe compiles, with sparse, and is linked" \
		module "$tree" drivers/infiniband/sw/rxe || true
	claim "core's files of xen-vhca compile" \
		module "$tree" drivers/infiniband/core uverbs_std_types_device.o || true
	claim "core's files of xen-vhca compile, nldev.c" \
		module "$tree" drivers/infiniband/core nldev.o || true
	claim "linux-xen compiles, gntdev.c" module "$tree" drivers/xen gntdev.o || true
	claim "linux-xen compiles, mmu_pv.c" module "$tree" arch/x86/xen mmu_pv.o || true
	# What is wrong is noticed.
	sed 's/^+\treturn 0;$/+\treturn  0; /' "$out"/0007-*.patch >"$build/bad.patch"
	claim "a blank at the end of a line is noticed" \
		not checkpatch "$tree" "$build/bad.patch" || true
	claim "a patch that is applied does not apply again" \
		not applied "$tree" "$out"/0007-*.patch || true
	echo 'int vhca_bad(int __user *p); int vhca_bad(int __user *p) { return *p; }' \
		>>"$tree/$driver/verbs/pd.c"
	claim "user memory that is read directly is noticed" \
		not module "$tree" $driver verbs/pd.o || true
}

# The steps of Xen's build before it compiles, its checks of public headers (C90, C99, C++98)
# among them, and one object.
xen_object() { # xen_object TREE FOLDER OBJECT
	cat >"$1/xen/upstream.mk" <<'EOF'
include Makefile
.RECIPEPREFIX = >
upstream: outputmakefile $(if $(asm-generic),asm-generic)
> $(Q)$(MAKE) $(build)=tools
> $(Q)$(MAKE) $(build)=. include/xen/compile.h
> $(Q)$(MAKE) $(build)=include all
> $(Q)$(MAKE) $(build)=arch/$(SRCARCH) include
> $(Q)$(MAKE) $(build)=. arch/$(SRCARCH)/include/asm/asm-offsets.h
> $(Q)$(MAKE) $(build)=$(FOLDER) $(FOLDER)/$(OBJECT)
EOF
	make -s -C "$1/xen" defconfig &&
		make -s -C "$1/xen" "-j$jobs" -f upstream.mk upstream FOLDER="$2" OBJECT="$3"
}

# What the checks of public headers looked at.
header_checked() {
	grep -q 'public/io/vhcaif\.h' "$1/xen/include/headers.chk" &&
		grep -q 'public/io/vhcaif\.h' "$1/xen/include/headers++.chk"
}

xen() {
	local tree=$build/xen series
	copy_of xen xen || return 0
	for series in xen-gnttab xen-libxl; do
		claim "$series applies to Debian's xen" \
			applied "$tree" "$patches/$series"/*.patch || true
	done
	cp "$top/include/xen/io/vhcaif.h" "$tree/xen/include/public/io/"
	claim "vhcaif.h and xen-gnttab compile in Debian's xen" \
		xen_object "$tree" common grant_table.o || true
	claim "vhcaif.h is among the public headers that were checked" \
		header_checked "$tree" || true
	echo '// no comment of C90' >>"$tree/xen/include/public/io/vhcaif.h"
	claim "a public header that is not C90 is noticed" \
		not xen_object "$tree" common grant_table.o || true
}

# Xen as of 4.22 has dom0less for all architectures, and Debian has no such Xen.
xen_dom0less() {
	local tree=$build/xen-dom0less source=${VHCA_XEN_SRC:-/nonexistent} p
	[ ! -d "$source" ] || [ -e "$source/xen/Makefile" ] ||
		source=$(find "$source" -maxdepth 1 -name 'xen-4.*.tar.*' | sort -V | tail -n 1)
	[ -e "$source" ] || {
		say skip "xen-dom0less: VHCA_XEN_SRC names no sources of Xen 4.22"
		return
	}
	rm -rf "$tree"
	mkdir -p "$tree"
	if [ -f "$source" ]; then
		tar -C "$tree" --strip-components=1 -xf "$source"
	else
		tar -C "$source" --exclude=./.git -cf - . | tar -C "$tree" -xf -
	fi
	for p in xen-dom0less xen-gnttab xen-libxl; do
		claim "$p applies to the xen of VHCA_XEN_SRC" \
			applied "$tree" "$patches/$p"/*.patch || true
	done
	command -v aarch64-linux-gnu-gcc >/dev/null || {
		say skip "xen-dom0less: no compiler for arm64: run 'make deps'"
		return
	}
	cp "$top/include/xen/io/vhcaif.h" "$tree/xen/include/public/io/"
	for p in dom0less-build dom0less-bindings; do
		XEN_TARGET_ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
			claim "xen-dom0less compiles, $p.c" \
			xen_object "$tree" common/device-tree "$p.o" || true
	done
}

linux
xen
xen_dom0less
counted
