# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by run: a scenario that passed in its long form, or on a debug kernel, has a
# record under the hash of all that decided it. With VHCA_RESUME=yes a run leaves out
# scenarios that have one, so 'make soak' goes on where the last one ended.
proofs=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/proven

# text_of SCRIPT: the scenario, with those that it sources.
text_of() {
	local other
	cat "$1"
	sed -n 's,^\. \.\./scenarios/,,p' "$1" | while read -r other; do
		text_of "$here/scenarios/$other"
	done
}

# inputs_of SCRIPT: what decides its verdict besides the run's options that are refused
# below. $scratch/contents: hashes of the files that this project brings (overlay.sh).
inputs_of() {
	local archive
	echo "$tier $SUITE $GUEST_SUITE ${VHCA_KERNEL:-} ${DOM0_MEM:-} ${PYVERBS_SUITE:-}"
	basename "$images" "${GUEST_IMAGES:-}"
	basename "${program%/bin/*}"
	for archive in pyverbs programs; do
		[ "$(header "$1" $archive)" != yes ] ||
			readlink "$scratch/$archive/guest/$archive.cpio"
	done
	[ "$(header "$1" oldkernel)" != yes ] ||
		cat "$(dirname "$(readlink "$scratch/oldkernel/guest/oldkernel.cpio")")"/*/*.ko
	[ "$(header "$1" xl)" != patched ] || cat "$scratch/xl"
	cat "$scratch/contents"
	text_of "$1"
}

# keyed: $scratch/key.NAME for each scenario of the plan whose pass is kept: not of short
# forms, of runs with options of their own, of machines without a dom0 or with packages,
# which are made later.
keyed() {
	local name script
	[ "$tier" = soak ] || [ -n "${VHCA_KERNEL:-}" ] || return 0
	[ -z "${extra[*]}${machine:-}${QEMU:-}${QEMU_EXTRA:-}${XEN_EXTRA:-}" ] &&
		[ -z "${DOM0_EXTRA:-}${VHCA_SMP:-}${VHCA_RAM:-}" ] || return 0
	while IFS=$'\t' read -r _ name script; do
		is_arm "$script" || [ "$(header "$script" packages)" = yes ] ||
			inputs_of "$script" | sha256sum | cut -c1-32 >"$scratch/key.$name"
	done <"$scratch/plan"
}

# record_of NAME: the file of its record; nothing if it has none.
record_of() { [ ! -e "$scratch/key.$1" ] || echo "$proofs/$(cat "$scratch/key.$1")"; }

# remember NAME STATUS SECONDS: a failure takes an earlier pass away.
remember() {
	local record
	record=$(record_of "$1")
	[ -n "$record" ] || return 0
	mkdir -p "$proofs"
	case $2 in
	pass)	echo "$(date -u +%F) $1, $3 s" >"$record.$BASHPID" &&
			mv "$record.$BASHPID" "$record" ;;
	fail*)	rm -f "$record" ;;
	esac
}

# go_on: takes off the plan what has a record.
before=0
go_on() {
	local line name record
	: >"$scratch/rest"
	while read -r line; do
		name=$(cut -f2 <<<"$line")
		record=$(record_of "$name")
		if [ -n "$record" ] && [ -e "$record" ]; then
			say "kept $name: passed on $(cut -d' ' -f1 "$record")"
			before=$((before + 1))
		else
			echo "$line" >>"$scratch/rest"
		fi
	done <"$scratch/plan"
	mv "$scratch/rest" "$scratch/plan"
}

# print_proven: those that have a record, and those that have none.
print_proven() {
	local name record yes=0 all=0 open=''
	while IFS=$'\t' read -r _ name _; do
		record=$(record_of "$name")
		all=$((all + 1))
		if [ -n "$record" ] && [ -e "$record" ]; then
			yes=$((yes + 1))
		else
			open+=" $name"
		fi
	done <"$scratch/plan"
	say "$SUITE${VHCA_KERNEL:+, debug kernel}: $yes of $all are proven${open:+; open:}"
	[ -z "$open" ] || fold -sw 76 <<<"${open# }" | sed 's/^/    /; s/ *$//'
}
