# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The keys of a device that are numbers, from the rows of XENVHCA_KINDS and
# XENVHCA_NUMBERS in vhca-keys.h, put into a file: @KEY_WORDS@ becomes their names, a
# line @KEY_ROWS@ a row of the manual's table for each.
#
#   awk -f keys.awk include/xen/io/vhcaif.h include/vhca-keys.h FILE.in
FNR == 1 {
	header = FILENAME ~ /\.h$/
}

/^#define XENVHCA_NODE_/ && header {
	node[$2] = $3
	gsub(/"/, "", node[$2])
}

/^#define XENVHCA_MAX_OBJECTS/ && header {
	most = $3
}

/^    X\(/ && header {
	if (!/\/\* .* \*\//) {
		print FILENAME ":" FNR ": a row without a comment" >"/dev/stderr"
		exit bad = 1
	}
	split($0, part, /\(|\)|, */)
	meaning = $0
	sub(/.*\/\* /, "", meaning)
	sub(/ \*\/.*/, "", meaning)
	# part: X, then KIND, word, default or NODE, least, most, default
	if (part[3] ~ /^[a-z]/)
		key("max-" part[3], 1, most, part[4], meaning)
	else
		key(node["XENVHCA_NODE_" part[2]], part[3], part[4], part[5], meaning)
}

header {
	next
}

/^@KEY_ROWS@$/ {
	printf "%s", rows
	next
}

{
	gsub(/@KEY_WORDS@/, words)
	print
}

function key(name, least, most, dflt, meaning,	typed) {
	words = words (words == "" ? "" : " ") name
	typed = name
	gsub(/-/, "\\-", typed)
	rows = rows typed "\t" least ".." most "\t" dflt "\t" meaning "\n"
}
