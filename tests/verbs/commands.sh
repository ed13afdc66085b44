#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What vhca-commands counted is what the table of docs/design/data-path.md promises.
# Usage: commands.sh COUNTED TABLE HCA    HCA: the head of a column
# A cell is a number, "2..3", or a word that stands for none. Status 0: each verb has
# a row and its number is in that range.
[ $# = 3 ] || { echo "usage: commands.sh COUNTED TABLE HCA" >&2; exit 2; }
awk -F' *[|] *' -v hca="$3" '
FNR == NR && $2 ~ /^verb/ {
	for (i = 1; i <= NF; i++)
		if ($i == hca)
			column = i
}
FNR == NR && column && $2 ~ /ibv_/ {
	n = split($2, verb, /, */)
	for (i = 1; i <= n; i++) {
		sub(/[(].*/, "", verb[i])
		range[verb[i]] = $column
	}
}
FNR == NR { next }
FNR != NR {
	split($0, word, " ")
	if (!(word[1] in range)) {
		print word[1] ": no row"
		bad++
		next
	}
	low = high = range[word[1]]
	if (low !~ /^[0-9]/)
		low = high = 0
	if (split(low, end, /[.][.]/) == 2) {
		low = end[1]
		high = end[2]
	}
	if (word[2] < low + 0 || word[2] > high + 0) {
		print word[1] ": " word[2] " commands, promised: " \
			range[word[1]]
		bad++
	}
	seen++
}
END {
	print seen + 0 " verbs, " bad + 0 " not as promised"
	exit bad || seen < 20
}' "$2" "$1"
