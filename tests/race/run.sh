#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Stresses of the frontend's own sources under ThreadSanitizer, and a model of what that
# does not know (README.md). Each is run as it is, and then with faults planted into what
# it stands on, each of which it has to notice.
#
#   tests/race/run.sh
#
# RACE_SECONDS=N  how long a stress takes as it is (3)
# shellcheck disable=SC2154,SC2086
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
CC=${CC:-gcc}

# As the kernel's headers: empty ones, but for those of user space that libc includes.
# The files of all folders of frontend/ are found beside each other, as links.
prepare() {
	mkdir "$work/copy"
	find "$top/frontend" "$top/common/kernel" -name '*.[ch]' \
		-exec ln -s {} "$work/copy/" \;
	rm "$work/copy/compat.h"
	: >"$work/copy/compat.h"
	cat "$work"/copy/*.[ch] |
		sed -n 's,^#include <\(\(asm\|linux\|net\|rdma\|xen\)/.*\)>.*,\1,p' |
		sort -u | while read -r h; do
		[ ! -e "$top/include/$h" ] || continue
		mkdir -p "$work/kernel/${h%/*}"
		printf '#if __has_include_next(<%s>)\n#include_next <%s>\n#endif\n' \
			"$h" "$h" >"$work/kernel/$h"
	done
	# Xen's own of user space declare what kernel.h does.
	find "$work/kernel/xen" -name '*.h' -exec truncate -s 0 {} +
}

compile() { # compile NAME SOURCE...
	name=$1
	shift
	$CC -std=gnu11 -g -O1 -w -fsanitize=thread -D_GNU_SOURCE -D__XEN_TOOLS__ \
		-DKERNEL_THREADS='"threads.h"' -I"$work/kernel" -I"$work" \
		-I"$top/tests/race" -I"$top/tests/unit/kernel" -I"$top/frontend" \
		-I"$top/include" -I"$top/common" -I"$top" \
		"$@" -o "$work/$name" -pthread
}

# run NAME [FAULT]: a stress, which ends at the first report.
run() {
	RACE_PLANT=${2:-} TSAN_OPTIONS='halt_on_error=1 report_thread_leaks=0' \
		timeout 300 $bare "$work/$1"
}

# notices NAME FAULT...: it ends with a report, with each of them. On one processor, where
# threads are interrupted in what others see within nanoseconds else.
notices() {
	name=$1
	shift
	for fault; do
		if RACE_SECONDS=120 bare="taskset -c $processor $bare" run "$name" "$fault"; then
			echo "$fault: no report"
			return 1
		fi >"$work/report" 2>&1
		grep -q '^wrong: \|ThreadSanitizer: \(data race\|heap-use\)' \
			"$work/report" || { echo "$fault:"; cat "$work/report"; return 1; }
	done
}

stress() { # stress NAME FAULT...
	claim "$1" run "$1"
	sed 's/^/     /' "$work/out"
	claim "$1 notices $(echo "$@" | cut -d ' ' -f 2-)" notices "$@"
}

# model NAME FAULT...: of the order of accesses, with each of them wrong.
model() {
	name=$1
	shift
	claim "model of $name" "$work/model_events" "$name"
	sed 's/^/     /' "$work/out"
	for fault; do
		claim "model of $name notices no $fault" \
			wrong "$work/model_events" "$name" "$fault"
	done
}

wrong() {
	! "$@" >"$work/report" && grep '^wrong: ' "$work/report"
}

compiles() {
	echo 'int main(void) { return 0; }' |
		$CC -fsanitize=thread -x c - -o "$1" -pthread 2>/dev/null
}

# shellcheck source=tests/lib/claim.sh
. "$top/tests/lib/claim.sh"
compiles "$work/probe" || { echo "SKIP: $CC has no ThreadSanitizer"; exit 77; }
# It wants its addresses where a kernel with much randomness does not put them.
bare=
"$work/probe" 2>/dev/null || bare="setarch -R"
processor=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
prepare
claim "the model compiles" $CC -O1 "$top/tests/race/model_events.c" -o "$work/model_events"
for name in race_ring race_range race_end; do
	claim "$name compiles" compile "$name" "$top/tests/race/$name.c" \
		"$work/copy/check.c"
done
# The formats of the HCA's queues are those of the kernel's headers.
kern=
if "$top/tests/hca/mlx5-include.sh" "$work/include" >/dev/null; then
	kern=yes
	claim "race_kern compiles" compile race_kern -DVHCA_COMPAT_H -isystem "$work/include" \
		"$top/tests/race/race_kern.c"
fi
model ring wmb "mb of the producer" "mb of the consumer" "the final check"
model kicks "mb of the producer" "mb of the consumer" "the final check" \
	"kick_lock around done_event"
stress race_ring plain rmb wmb spinlock wake rcu
stress race_range spinlock cmpxchg cancel
stress race_end spinlock mutex cancel wake
[ -z "$kern" ] || stress race_kern plain rmb spinlock rcu
verdict
