#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The protocol header compiles alone as C90, C99 and C++98 for 32 and 64 bits,
# and its drawings and offset comments agree with its structures. Also shows
# that the comparison notices a wrong drawing.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
header=$top/include/xen/io/vhcaif.h
# shellcheck source=tests/lib/claim.sh
. "$top/tests/lib/claim.sh"

# Headers of the compiler only, so that -m32 needs no second C library.
alone() { # alone COMPILER LANGUAGE STANDARD BITS
	printf '#include "xen/io/vhcaif.h"\n' |
		"$1" -x "$2" -std="$3" "-m$4" -ffreestanding -fsyntax-only -Wall \
			-Wextra -Werror -I"$top/include" -
}

layout() { # layout HEADER BITS
	python3 "$top/tests/abi/layout.py" "$1" >"$work/layout.c" &&
		gcc -std=gnu11 "-m$2" -ffreestanding -fsyntax-only -Wall -Werror \
			-I"$(dirname "$1")/../.." "$work/layout.c"
}

wrong_drawing() {
	mkdir -p "$work/bad/xen/io"
	sed 's/^\( \* |  *ucontext  *|\) 8$/\1 12/' "$header" \
		>"$work/bad/xen/io/vhcaif.h"
	! cmp -s "$header" "$work/bad/xen/io/vhcaif.h" &&
		! layout "$work/bad/xen/io/vhcaif.h" 64
}

for bits in 64 32; do
	claim "header alone, C90, $bits bits" alone gcc c c90 $bits
	claim "header alone, C99, $bits bits" alone gcc c c99 $bits
	claim "header alone, C++98, $bits bits" alone g++ c++ c++98 $bits
	claim "drawings and offsets, $bits bits" layout "$header" $bits
done
claim "a wrong drawing is noticed" wrong_drawing

verdict
