#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Which versions ran: reads the results of scenarios in the folders of their runs (run's
# --out) and writes a table between the lines "<!-- ran -->" and "<!-- end of ran -->" of
# docs/guide/install.md. A row for each pair of releases has the number of scenarios that
# passed; a list below the table names those that failed. A later folder's result of a
# scenario replaces that of an earlier folder.
#
# Usage: ran.sh [--print] FOLDER...    --print: print the table, and the names that it counts
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

# listed STATUS FOLDER...: "Xen<TAB>dom0<TAB>guests<TAB>last day<TAB>number<TAB>names" of
# the scenarios with that status, for each pair of releases.
listed() {
	local status=$1
	shift
	rows "$@" | awk -F'\t' -v status="$status" '
		{ key = $1 "\t" $2 "\t" $3; last[key, $4] = $5
		  names[key] = names[key] (index(names[key] " ", " " $4 " ") ? "" : " " $4)
		  if ($6 > day[key]) day[key] = $6 }
		END { for (key in names) {
			n = split(names[key], name, " "); found = 0; list = ""
			for (i = 1; i <= n; i++)
				if (last[key, name[i]] == status) {
					found++
					list = list " " name[i]
				}
			print key "\t" day[key] "\t" found "\t" substr(list, 2) } }' |
		LC_ALL=C sort
}

# table FOLDER...: what goes into the manual.
table() {
	echo '| Xen | control domain | guests | scenarios passed | last run |'
	echo '|---|---|---|---|---|'
	listed pass "$@" | awk -F'\t' '{ printf "| %s | %s | %s | %s | %s |\n", $1, $2, $3, $5, $4 }'
	listed fail "$@" | awk -F'\t' '$5 { if (!n++) print ""
		printf "- Xen %s, %s, guests: %s; failed: %s\n", $1, $2, $3, $6 }' | fold -sw 92 |
		sed 's/ *$//; /^-/! s/^./  &/'
}

if [ "$print" = yes ]; then
	table "$@"
	listed pass "$@"
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
