#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Builds the fuzz targets with clang (libFuzzer, address and undefined-behaviour
# sanitizers) and runs each for a bounded number of inputs. A crash leaves its
# input in the build folder, with the command that repeats it.
#
#   tests/fuzz/run.sh [-n RUNS] [-t SECONDS] [TARGET...]
#
# FUZZ_BUILD=DIR  where to build and keep the corpora that grow
# FUZZ_SET=DIR    another folder of targets: sources.sh says what they need
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
set=${FUZZ_SET:-tests/fuzz}
runs=1000 seconds=1
while getopts n:t: opt; do
	case $opt in
	n) runs=$OPTARG ;;
	t) seconds=$OPTARG ;;
	*) sed -n '5,14s/^# \{0,1\}//p' "$0" >&2; exit 99 ;;
	esac
done
shift $((OPTIND - 1))

CLANG=${CLANG:-clang}
if ! echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
	"$CLANG" -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
	echo "SKIP: $CLANG with libFuzzer is not installed (make deps)"
	exit 77
fi

if [ -n "${FUZZ_BUILD:-}" ]; then
	build=$FUZZ_BUILD
elif [ -f ./config.status ]; then
	build=$PWD/$set
else
	build=$(mktemp -d)
	trap 'rm -rf "$build"' EXIT
fi
mkdir -p "$build"

flags="-std=gnu11 -gline-tables-only -O1 -Wall -D_GNU_SOURCE
	-fsanitize=address,undefined -fno-sanitize-recover=all -I$top"
sources='' libs=''
# shellcheck source=/dev/null
. "$top/$set/sources.sh"
targets=${*:-$(cd "$top/$set" && find . -name 'fuzz_*.c' |
	sed 's,^\./,,; s,\.c$,,' | sort)}

# Objects are kept: only what is older than any header is compiled anew.
newest=$(cd "$top" && find backend common frontend include tests tools xenstore \
	-name '*.h' -newer "$build/stamp" 2>/dev/null | head -n 1) || true
if [ ! -e "$build/stamp" ] || [ -n "$newest" ]; then
	rm -f "$build"/*.o
fi
: >"$build/stamp"
objects=
jobs=$(nproc)
list=$build/compile
: >"$list"
for s in $sources; do
	o=$build/$(echo "$s" | tr / _).o
	objects="$objects $o"
	[ "$o" -nt "$top/$s" ] || printf '%s %s\n' "$top/$s" "$o" >>"$list"
done
# shellcheck disable=SC2086
xargs -r -n 2 -P "$jobs" sh -c "$CLANG ${flags//[$'\n\t']/ } -fsanitize=fuzzer-no-link \
	-c \"\$0\" -o \"\$1\"" <"$list"

failed=0
for t in $targets; do
	# shellcheck disable=SC2086
	"$CLANG" $flags -fsanitize=fuzzer "$top/$set/$t.c" $objects \
		$libs -o "$build/$t"
	mkdir -p "$build/corpus/$t"
	python3 "$top/$set/seeds.py" "$t" "$build/corpus/$t"
	if "$build/$t" -runs="$runs" -max_total_time="$seconds" -max_len=4096 \
		-timeout=20 -rss_limit_mb=1024 -print_final_stats=1 \
		-artifact_prefix="$build/$t." "$build/corpus/$t" \
		>"$build/$t.log" 2>&1; then
		echo "ok   $t: $(sed -n 's/^stat::number_of_executed_units: *//p' \
			"$build/$t.log") inputs, $(sed -n \
			's/.* cov: \([0-9]*\) .*/\1/p' "$build/$t.log" |
			tail -n 1) edges$(sed -n 's/^steps: \(.*\)/, \1 steps/p' "$build/$t.log")"
	else
		failed=$((failed + 1))
		echo "FAIL $t; the end of its log:"
		tail -n 40 "$build/$t.log"
		echo "     again: $build/$t $build/$t.crash-*"
	fi
done
[ "$failed" -eq 0 ]
