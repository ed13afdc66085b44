#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Which versions ran: reads what scenarios left in the folders of their runs (run's
# --out) and writes it as a table between the lines "<!-- ran -->" and "<!-- end of ran
# -->" of docs/guide/install.md. A row for each pair of releases; only scenarios that passed
# count, and those that failed are named. A scenario that a later folder has, too,
# replaces the one of an earlier folder.
#
# Usage: ran.sh [--print] FOLDER...    --print: only print the table
set -euo pipefail
doc=$(cd "$(dirname "$0")/../.." && pwd)/docs/guide/install.md
print=no
[ "${1:-}" != --print ] || { print=yes; shift; }
[ $# != 0 ] || { echo "usage: ran.sh [--print] FOLDER..." >&2; exit 2; }

# rows: "Xen<TAB>dom0<TAB>guests<TAB>scenario<TAB>status<TAB>day" of each run.
rows() {
	local dir
	for dir; do
		find "$dir" -mindepth 2 -maxdepth 2 -name versions -printf '%h\n' | sort
	done | while read -r dir; do
		printf '%s\t%s\t%s\t%s\n' "$(cat "$dir/versions")" \
			"$(basename "$dir")" "$(cut -d' ' -f1 "$dir/status")" \
			"$(date -u -r "$dir/status" +%F)"
	done
}

table() {
	echo '| Xen | control domain | guests | scenarios that passed | last run |'
	echo '|---|---|---|---|---|'
	rows "$@" | awk -F'\t' '
		{ key = $1 "\t" $2 "\t" $3; status[key, $4] = $5
		  names[key] = names[key] (index(names[key] " ", " " $4 " ") ? "" : " " $4)
		  if ($6 > day[key]) day[key] = $6 }
		END { for (key in names) {
			n = split(names[key], name, " "); passed = failed = ""
			for (i = 1; i <= n; i++)
				if (status[key, name[i]] == "pass")
					passed = passed ", " name[i]
				else if (status[key, name[i]] == "fail")
					failed = failed ", " name[i]
			split(key, k, "\t")
			printf "| %s | %s | %s | %s%s | %s |\n", k[1], k[2], k[3],
				substr(passed, 3) == "" ? "none" : substr(passed, 3),
				failed == "" ? "" : "; failed: " substr(failed, 3),
				day[key] } }' | LC_ALL=C sort
}

if [ "$print" = yes ]; then
	table "$@"
	exit
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT
{
	sed '/^<!-- ran -->$/q' "$doc"
	table "$@"
	sed -n '/^<!-- end of ran -->$/,$p' "$doc"
} >"$new"
grep -qx '<!-- end of ran -->' "$new" || { echo "$doc has no place for it" >&2; exit 1; }
cat "$new" >"$doc"
