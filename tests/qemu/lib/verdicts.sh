# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios with rdma-core's own tests share ("# pyverbs: yes"). Sourced after
# vhca.sh. PYVERBS_SUITE=sid in the environment of tests/qemu/run makes them run the tests,
# library and provider of that Debian release, on the kernel of the machines' own.

# verdicts_setup: Python and the tests in dom0, and for the guests that follow.
verdicts_setup() {
	archive_setup pyverbs
	cp /tests/verbs/verdicts.py /tmp/
}

# of_release LIST: its lines for this release of rdma-core, which a reason names first,
# "[44 56]"; without that a line is for all.
of_release() {
	awk -F '\t' -v OFS='\t' -v now="$(cat /usr/share/pyverbs-release)" '
	$3 ~ /^\[/ {
		if (index(" " substr($3, 2, index($3, "]") - 2) " ", " " now " ") == 0)
			next
		sub(/^\[[^]]*\] */, "", $3)
	}
	{ print }' "$1"
}

# after_native: a scenario's own, between the two runs.
after_native() { :; }

# verdicts_equal DEVICE GUEST LIST [COMMAND...]: the same natively, where COMMAND runs
# them, as in the guest, but what the list has. VERDICTS_GID: the index of the GID of both.
verdicts_equal() {
	local dev=$1 guest=$2 list=$3 run native guests
	shift 3
	run="pyverbs-python /tmp/verdicts.py --tests /usr/share/pyverbs/tests"
	run+=" --timeout $((30 * ${TIME_SCALE:-2} / 2)) ${VERDICTS_GID:+--gid $VERDICTS_GID} --dev"
	native=$SCENARIO_DIR/native.txt guests=$SCENARIO_DIR/guest.txt

	note "rdma-core $(cat /usr/share/pyverbs-release)"
	of_release "/tests/verbs/$list" >/tmp/expected
	step "native"
	# shellcheck disable=SC2086
	"$@" $run "$dev" >"$native" || true
	cut -f2 "$native" | sort | uniq -c
	after_native
	step "guest"
	guest_put "$guest" /tmp/verdicts.py /tmp/verdicts.py
	guest_sh -t 600 "$guest" "$run vhca0" >"$guests" || true
	cut -f2 "$guests" | sort | uniq -c
	check "the same verdicts as in dom0, but documented ones" \
		env COMPARE_LEAST=200 /tests/verbs/compare.sh "$native" "$guests" \
		/tmp/expected
}
