#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The header of the helper's ioctls compiles alone, and user space of 32 and
# 64 bits sees the same numbers and layouts. Also shows that a field of
# another size is noticed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../include
# shellcheck source=tests/lib/claim.sh
. "$here/../lib/claim.sh"

# The C library of 32 bits is not needed for the kernel's headers.
layout() { # layout BITS INCLUDE-FOLDER
	gcc -std=gnu11 "-m$1" -ffreestanding -fsyntax-only -Wall -Wextra \
		-Werror -I"$2" -idirafter "/usr/include/$(gcc -print-multiarch)" \
		"$here/layout.c"
}

alone() { # alone COMPILER LANGUAGE
	printf '#include "uapi/vhca-helper.h"\n' |
		"$1" -x "$2" -fsyntax-only -Wall -Wextra -Werror -I"$include" -
}

wrong_layout() {
	mkdir -p "$work/uapi"
	sed '/^struct vhca_helper_frames/,/^}/s/__u32 nr_pages/__u64 nr_pages/' \
		"$include/uapi/vhca-helper.h" >"$work/uapi/vhca-helper.h"
	! cmp -s "$include/uapi/vhca-helper.h" "$work/uapi/vhca-helper.h" &&
		! layout 64 "$work"
}

claim "header alone, C" alone gcc c
claim "header alone, C++" alone g++ c++
claim "numbers and layouts, 64 bits" layout 64 "$include"
claim "numbers and layouts, 32 bits" layout 32 "$include"
claim "a field of another size is noticed" wrong_layout

verdict
