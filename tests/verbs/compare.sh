#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Holds the output of vhca-probe in a guest against its output on the bare HCA.
# Prints every difference, the wrong ones last, and fails unless each one is in
# the list of expected differences. An entry of the list that did not come up
# fails as well, so that the list cannot outlive its reasons.
#
# The list has lines NAME<TAB>GUEST<TAB>REASON, where NAME is a probe's name and
# GUEST is "RESULT DETAIL" of the guest; both may be shell patterns. GUEST may
# be "-" for a probe that only the bare HCA prints. '#' begins a comment.
# A REASON that begins with "(may)" need not come up. Environment: COMPARE_LEAST, how
# many probes there are at least, default 500; COMPARE_MAY, a second list, of which nothing
# need come up.
set -eu

if [ $# -ne 3 ]; then
	echo "usage: compare.sh NATIVE.txt GUEST.txt EXPECTED.txt" >&2
	exit 2
fi
for f in "$@" ${COMPARE_MAY:+"$COMPARE_MAY"}; do
	if [ ! -s "$f" ]; then
		echo "compare.sh: $f is missing or empty" >&2
		exit 2
	fi
done

awk -F '\t' -v natname="$1" -v guestname="$2" -v least="${COMPARE_LEAST:-500}" '
# Shell pattern (only * and ?) to an anchored regular expression.
function regex(p) {
	gsub(/[].[^$()+{}|\\]/, "\\\\&", p)
	gsub(/\*/, ".*", p)
	gsub(/\?/, ".", p)
	return "^" p "$"
}
function trim(s) { sub(/ +$/, "", s); return s }
function expected(name, guest,   i) {
	for (i = 1; i <= rules; i++)
		if (name ~ rule_name[i] && guest ~ rule_guest[i]) {
			used[i]++
			return i
		}
	return 0
}
file == 1 {
	if ($0 ~ /^#/ || $0 == "")
		next
	if (NF < 3 || $3 == "") {
		printf "line %d of the expected differences has no reason\n", FNR
		bad++
		next
	}
	rules++
	rule_text[rules] = $1
	rule_name[rules] = regex($1)
	rule_guest[rules] = regex($2)
	rule_why[rules] = (may && $3 !~ /^\(may\)/ ? "(may) " : "") $3
	next
}
$0 !~ /\t/ { next }
file == 2 { nat[$1] = trim($2 " " $3); order[++n] = $1; next }
{ guest[$1] = trim($2 " " $3); seen[++g] = $1 }
END {
	for (i = 1; i <= g; i++)
		if (!(seen[i] in nat)) {
			nat[seen[i]] = "-"
			order[++n] = seen[i]
		}
	for (i = 1; i <= n; i++) {
		name = order[i]
		gv = (name in guest) ? guest[name] : "-"
		if (nat[name] == gv) {
			same++
			continue
		}
		r = expected(name, gv)
		if (!r)
			bad++
		else
			fine++
		if (!r && gv == "-" && missing++ >= 5)
			continue
		text = name "\n    native: " nat[name] "\n    guest:  " gv "\n"
		if (r)
			printf "expected   %s    reason: %s\n", text, rule_why[r]
		else
			wrong = wrong "UNEXPECTED " text
	}
	printf "%s", wrong
	for (i = 1; i <= rules; i++)
		if (!used[i] && rule_why[i] !~ /^\(may\)/) {
			printf "STALE %s: did not come up, take it out\n",
			       rule_text[i]
			bad++
		}
	if (missing > 5)
		printf "... and %d more that the guest did not print\n",
		       missing - 5
	if (n < least) {
		printf "only %d probes compared: the output is cut short\n", n
		bad++
	}
	printf "%d equal, %d expected differences, %d wrong\n",
	       same, fine, bad
	exit bad > 0
}' file=1 "$3" may=1 "${COMPARE_MAY:-/dev/null}" file=2 "$1" file=3 "$2"
