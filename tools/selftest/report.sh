# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The report of vhca-selftest on the sides in the output folder: a guest's probe and
# figures beside the host's, a verdict, an archive without secrets. Sourced by
# vhca-selftest.

# same_verbs: the guest of $dir answers as the HCA does, except for the list of its kind. Not
# every mlx5 announces what a rich card does.
same_verbs() {
	local list=$lib/expected-differences.txt may='' kind
	kind=$(sed -n 's/^hca: .* kind \([a-z0-9]*\) .*/\1/p' "$out/host/facts.txt")
	[[ $kind != mlx[45] ]] || list=$lib/expected-differences-$kind.txt
	[ "$kind" != mlx5 ] || may=$lib/expected-differences-rich.txt
	if [ ! -s "$out/host/probe.tsv" ] || [ ! -s "$dir/probe.tsv" ]; then
		skip "probe did not run on both sides"
	fi
	COMPARE_MAY=$may sh "$lib/compare.sh" "$out/host/probe.tsv" "$dir/probe.tsv" "$list"
}

# ratios: figures of the guest of $dir, natively, in the guest, their ratio. They decide
# nothing; docs/results/performance.md has the goals.
ratios() {
	if [ ! -s "$out/host/speed.tsv" ] || [ ! -s "$dir/speed.tsv" ]; then
		skip "speed did not run on both sides"
	fi
	awk -F '\t' '
		NR == FNR { native[$1] = $3; next }
		FNR == 1 { printf "%-28s %-5s %12s %12s %8s\n", "", "unit", "native", "guest", "ratio" }
		!($1 in native) { next }
		{
			n++
			printf "%-28s %-5s %12.2f %12.2f %8.3f\n", $1, $2, native[$1], $3,
				(native[$1] + 0 ? $3 / native[$1] : 0)
			delete native[$1]
		}
		END {
			for (name in native) {
				printf "FAIL %s: natively only\n", name
				bad = 1
			}
			print n + 0 " ratios"
			exit bad || !n
		}' "$out/host/speed.tsv" "$dir/speed.tsv"
}

sides() {
	local r
	for r in "$out"/*/results; do
		[ ! -e "$r" ] || basename "${r%/results}"
	done
}

# verdict_of SIDE...: prints the results; fails if a part failed, or if there is none.
verdict_of() {
	local s files=()
	for s; do
		files+=("$out/$s/results")
	done
	[ $# -gt 0 ] || { say "vhca-selftest: nothing was run yet in $out"; return 1; }
	awk -F '\t' '
		{
			n = split(FILENAME, part, "/")
			name = part[n - 1] "/" $2
			count[$1]++
			printf "%-4s %s: %s\n", $1, name, $3
			if ($1 == "FAIL")
				failed = failed " " name
		}
		END {
			printf "%d ok, %d failed, %d skipped\n", count["ok"], count["FAIL"], count["skip"]
			if (failed != "")
				print "failed:" failed
			exit failed != "" || !count["ok"]
		}' "${files[@]}"
}

# packed: puts the readable files of each side and the verdict into $archive.
packed() {
	local work top s f lists=() files=() n
	work=$(mktemp -d) || return 1
	top=$work/vhca-selftest
	for s in $(sides); do
		mkdir -p "$top/$s"
		[ ! -e "$out/$s/.secrets" ] || lists+=("$out/$s/.secrets")
		for f in "$out/$s"/{results,*.txt,*.tsv}; do
			[ ! -s "$f" ] || files+=("$f")
		done
	done
	awk -v from="$out/" -v to="$top/" -f "$lib/redact.awk" "${lists[@]}" \
		"$out/summary.txt" "${files[@]}" && none_left "$top" "${lists[@]}" &&
		tar -C "$work" --owner=0 --group=0 --numeric-owner --sort=name -czf "$archive" \
			vhca-selftest
	n=$?
	rm -rf "$work"
	return $n
}

# none_left FOLDER LIST...: a last check that no known secret is in the folder.
none_left() {
	local kind value where=$1
	shift
	cat "$@" /dev/null | sort -u | while read -r kind value; do
		[ "$kind" != host ] || continue		# also an ordinary word
		case $value in
		*[1-9a-eA-E]*) ;;
		*)	continue ;;
		esac
		case $value in
		127.*|::1)	continue ;;
		esac
		grep -rqwiF -e "$value" "$where"
		[ $? = 1 ] || { say "vhca-selftest: a $kind is left"; exit 1; }
	done
}

report() {
	local s rc=0 archive all
	[ -d "$out" ] || die "there is no $out"
	out=$(cd "$out" && pwd)
	for s in $(sides); do
		[ "$s" != host ] || continue
		side_is "$s"
		part same-verbs same_verbs
		part ratios ratios
	done
	read -ra all < <(sides | tr '\n' ' ')
	{
		verdict_of "${all[@]}" || rc=1
		for s in "${all[@]}"; do
			[ ! -s "$out/$s/ratios.txt" ] ||
				{ echo; echo "== $s"; cat "$out/$s/ratios.txt"; }
		done
	} >"$out/summary.txt"
	cat "$out/summary.txt"
	archive=$out/vhca-selftest-$(date +%Y%m%d).tar.gz
	packed || { say "vhca-selftest: no report was made"; return 1; }
	echo "report: $archive"
	return "$rc"
}
