# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The parts of vhca-selftest that one domain runs by itself: the HCA's domain natively,
# a guest on its vhca. Sourced by vhca-selftest. A part is a function that ends with
# status 0, or $SKIP, or fails; its last line, or its first FAIL line, is the reason.

IB=$SYS/class/infiniband
PERF_PORT=18540
XFER_PORT=18541
# Lines that no kernel may log meanwhile.
BAD_KERNEL='BUG|WARNING:|Oops|Bad page|Bad rss|Call Trace|refcount_t|hung task'
BAD_KERNEL+='|soft lockup|general protection|grant still in use|mlx[45]_core.*(health|timeout)'

# pick_hca host|guest: sets hca and gid unless given, and kind and capped.
pick_hca() {
	local all
	all=$(cd "$IB" 2>/dev/null && echo *)
	if [ "$1" = guest ]; then
		[ -n "$hca" ] || hca=$(tr ' ' '\n' <<<"$all" | grep -m 1 '^vhca')
		[ -n "$hca" ] || die "this guest has no vhca: vhcactl attach, in the control domain"
	elif [ -z "$hca" ]; then
		hca=$(tr ' ' '\n' <<<"$all" | grep -v '^vhca')
		[ "$(wc -w <<<"$hca")" = 1 ] || die "-d HCA: which of these? $all"
	fi
	[ -e "$IB/$hca" ] || die "there is no RDMA device $hca"
	[ -z "$other" ] || [ -e "$IB/$other" ] || die "there is no RDMA device $other"
	[ -n "$gid" ] || gid=$(gid_of "$hca")
	kind=$(kind_of "$hca")
	capped=()
	! needs_cap "$1" || capped=(vhca-helper-test --capped "$hca")
}

# kind_of HCA: the kind that selects the list of differences.
kind_of() {
	case $(cat "$IB/$1/hca_type" 2>/dev/null) in
	MT4099|MT4103)	echo mlx4 ;;	# ConnectX-3, Pro
	MT*)	echo mlx5 ;;
	'')	echo rxe ;;
	*)	echo other ;;
	esac
}

# gid_with HCA TYPE PATTERN: the index of the first GID that is so.
gid_with() {
	local port=$IB/$1/ports/1 n
	for n in {0..15}; do
		[ "$(cat "$port/gid_attrs/types/$n" 2>/dev/null)" = "$2" ] || continue
		# shellcheck disable=SC2053 # a pattern
		[[ $(cat "$port/gids/$n") != $3 ]] || { echo "$n"; return; }
	done
	return 1
}
# gid_of HCA: the index of a GID that its peer can reach: of RoCE v2 with an IPv4 address;
# one of RoCE v1 that has the peer's MAC in it, for which nothing is resolved.
gid_of() {
	gid_with "$1" 'RoCE v2' '0000:*:ffff:*' || gid_with "$1" 'IB/RoCE v1' 'fe80:*' ||
		gid_with "$1" 'RoCE v2' '*' || echo 0
}
# gid_by_cable HCA: Linux routes between addresses of one host past the cable.
gid_by_cable() { gid_with "$1" 'IB/RoCE v1' 'fe80:*' || gid_of "$1"; }

pv_domain() { grep -qsx PV "$SYS/hypervisor/guest_type"; }
# needs_cap SIDE: in a PV domain the HCA loses data natively without the helper's limit.
needs_cap() { [ "$1" = host ] && pv_domain && [ -e "$IB/$hca/device/vendor" ]; }
memory_is_safe() {
	[ ${#capped[@]} = 0 ] || [ -e "$HELPER" ] ||
		skip "modprobe xen-vhca-helper: without it an HCA in a PV domain loses data"
}

# The parts that both sides have.
parts_of_hca() {
	part probe probe
	part transfers transfers
	part speed speed
}

# ---- what it is -------------------------------------------------------------

# show FILE...: "name: first line" of existing files.
show() {
	local f
	for f; do
		[ ! -r "$f" ] || echo "${f##*/}: $(head -n 1 "$f" 2>/dev/null)"
	done
}

facts_of_hca() {
	local d=$IB/$hca n first last
	echo "hca: $hca kind $kind gid-index $gid"
	show "$d"/{hca_type,fw_ver,hw_rev,board_id,node_type}
	show "$d"/ports/1/{state,phys_state,rate,link_layer}
	show "$d"/device/{vendor,device,subsystem_vendor,subsystem_device} \
		"$d"/device/{current_link_speed,current_link_width,numa_node}
	echo "driver: $(basename "$(readlink "$d/device/driver")" 2>/dev/null)"
	[ ! -r "$d/device/resource" ] ||
		head -n 6 "$d/device/resource" | while read -r first last n; do
			[ $((last)) = 0 ] || echo "bar: $(((last - first + 1) >> 10)) KiB"
		done
	for n in 0 1 2 3; do
		echo "gid $n: $(cat "$d/ports/1/gid_attrs/types/$n" 2>/dev/null || echo none)"
	done
}

# Only the options of Xen's command line that matter to vhca.
facts_of_xen() {
	echo "domain: $(cat "$SYS/hypervisor/guest_type" 2>/dev/null || echo 'not of Xen')"
	show "$SYS"/hypervisor/version/{major,minor,extra}
	command -v xl >/dev/null && grep -qs control_d /proc/xen/capabilities || return 0
	limited 20 xl info | awk -F ' *: ' '
		/^(nr_cpus|total_memory|free_memory|virt_caps|xen_version|xen_scheduler) / {
			print $1 ": " $2 }
		/^xen_commandline / {
			n = split($2, word, " ")
			for (i = 1; i <= n; i++)
				if (word[i] ~ /^(dom0|gnttab|iommu|sched|ept|hap|smt)/)
					print "xen option: " word[i]
		}'
}

facts() {
	local m
	echo "kernel: $(uname -rm)"
	sed -n 's/^PRETTY_NAME=/distribution: /p' /etc/os-release
	sed -n 's/^model name[^:]*/processor/p' /proc/cpuinfo | head -n 1
	echo "processors: $(nproc)"
	facts_of_xen
	facts_of_hca
	for m in xen_vhcafront xen_vhca_helper mlx4_core mlx4_ib mlx5_core mlx5_ib rdma_rxe xen_gntdev; do
		[ ! -e "$SYS/module/$m" ] || echo "module $m: $(cat \
			"$SYS/module/$m"/{version,srcversion} 2>/dev/null | tr '\n' ' ')"
	done
	dpkg-query -W 'xen-vhca*' vhcactl libibverbs1 ibverbs-providers perftest \
		'xen-hypervisor-*' 2>/dev/null
	! command -v ibv_devinfo >/dev/null ||
		limited 20 ibv_devinfo -v -d "$hca"
	echo "$hca, $kind, firmware $(cat "$IB/$hca/fw_ver" 2>/dev/null), $(uname -r)"
}

# secrets: values that a report must not contain, KIND VALUE in a line.
secrets() {
	local f
	cat "$IB"/*/{node,sys_image}_guid 2>/dev/null | sed 's/^/guid /'
	cat "$IB"/*/ports/*/gids/* 2>/dev/null | sed 's/^/gid /'
	cat "$SYS"/class/net/*/{address,broadcast} 2>/dev/null | sed 's/^/mac /'
	ip -o addr show 2>/dev/null | awk '{ sub("/.*", "", $4); print "ip", $4 }'
	for f in "$(uname -n)" "$(hostname -f 2>/dev/null)" "$(cat /etc/hostname 2>/dev/null)"; do
		[ -z "$f" ] || printf 'host %s\nhost %s\n' "$f" "${f%%.*}"
	done
}

host_check() {
	local rc=0
	command -v vhcactl >/dev/null || skip "vhcactl is not installed here"
	limited 30 vhcactl check || rc=$?
	# 5: warnings, which are for the reader.
	[ "$rc" = 5 ] || return "$rc"
}

# ---- what it does -----------------------------------------------------------

# The report compares its output with the other side's.
probe() {
	local rc=0 n
	memory_is_safe
	limited 400 "${capped[@]}" vhca-probe -d "$hca" -g "$gid" >"$dir/probe.tsv" || rc=$?
	n=$(grep -c "$TAB" "$dir/probe.tsv")
	# A crash of a group is a result like others: on the other side it must be the same.
	sed -n "s/^group\./note: a group did not end: /p" "$dir/probe.tsv"
	echo "$n results, $(awk -F '\t' '$2 == "ok"' "$dir/probe.tsv" | wc -l) of them ok"
	[ "$rc" -le 1 ] && [ "$n" -gt 60 ]
}

# tests: the tests of vhca-xfer for this HCA and this run.
tests() {
	if [ "$quick" = yes ]; then
		echo -t 'rc-write-4k,rc-send-4k,rc-read-4k,uc-write-4k,ud-send-4k,srq'
	elif [ "$kind" = rxe ]; then
		# Multicast to itself needs another network than most hosts have.
		echo -t '[!m]*,m[!c]*' --max-size 67108864
	fi
}

transfers() {
	memory_is_safe
	# shellcheck disable=SC2046
	limited 600 "${capped[@]}" vhca-xfer --loop -d "$hca" -g "$gid" \
		--give-up $((100 * factor)) $(tests)
}

# listening PORT PID: waits for a bounded time, while that process lives.
listening() {
	local n hex
	hex=$(printf %04X "$1")
	for ((n = 0; n < 100 * factor; n++)); do
		! cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
			grep -qi ":$hex 0*:0000 0A" || return 0
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# Over the wire, to the other port.
cable() {
	local server rc=0 theirs=() gid
	gid=$(gid_by_cable "$hca")
	memory_is_safe
	! needs_cap host || theirs=(vhca-helper-test --capped "$other")
	# shellcheck disable=SC2046
	limited 600 "${theirs[@]}" vhca-xfer -s -d "$other" -g "$(gid_by_cable "$other")" \
		-p $XFER_PORT $(tests) >"$dir/cable-server.txt" 2>&1 &
	server=$!
	listening $XFER_PORT "$server" || true
	# shellcheck disable=SC2046
	limited 600 "${capped[@]}" vhca-xfer -d "$hca" -g "$gid" -p $XFER_PORT $(tests) \
		127.0.0.1 || rc=$?
	wait "$server" || { echo "FAIL the server: $(why_of "$dir/cable-server.txt")"; rc=1; }
	return "$rc"
}

# Pages of the HCA that a guest's process may map. (Native offsets differ.)
pages() {
	[[ $kind = mlx[45] ]] || skip "$kind has no doorbell pages"
	limited 60 vhca-uar -d "$hca" -g "$gid" mmap
}

# ---- how fast it is ---------------------------------------------------------

# processor N: the Nth (from 0) of the processors that this process may use.
processor() {
	awk -v n="$1" '/^Cpus_allowed_list:/ {
		parts = split($2, range, ",")
		for (i = 1; i <= parts; i++) {
			two = split(range[i], end, "-")
			for (c = end[1] + 0; c <= end[two] + 0; c++)
				if (!n--) { print c; exit }
		} }' /proc/self/status
}
# on N COMMAND...: on processor N, if there are two.
on() {
	if [ "$(nproc)" -ge 2 ]; then
		taskset -c "$(processor "$1")" "${@:2}"
	else
		"${@:2}"
	fi
}

# perftest_once PROGRAM OPTION...: runs server and client here; prints the client's output.
perftest_once() {
	local server rc=0 how=(-d "$hca" -F -p "$PERF_PORT")
	! grep -qs Ethernet "$IB/$hca/ports/1/link_layer" || how+=(-x "$gid")
	limited 60 "${capped[@]}" "$1" "${how[@]}" "${@:2}" >/dev/null 2>&1 &
	server=$!
	listening $PERF_PORT "$server" || true
	on 0 timeout -k 10 $((60 * factor)) "${capped[@]}" "$1" "${how[@]}" "${@:2}" \
		127.0.0.1 || rc=$?
	wait "$server" || rc=$?
	return "$rc"
}

# figure NAME UNIT COLUMN PROGRAM SIZE [OPTION...]: the median of some runs is a row of
# speed.tsv. Repeats perftest, which fails early, or prints "inf", if a virtual clock is
# unsteady.
figure() {
	local name=$1 unit=$2 column=$3 values='' try value got=0 want=5
	[ "$quick" = no ] || want=1
	for ((try = 0; got < want && try < want + 9; try++)); do
		perftest_once "$4" -s "$5" "${@:6}" >"$dir/speed.last" 2>&1
		value=$(awk -v s="$5" -v c="$column" '$1 == s && NF >= 4 && $c ~ /^[0-9.]+$/ {
			print $c; exit }' "$dir/speed.last")
		[ -z "$value" ] || { values+="$value "; got=$((got + 1)); }
	done
	if [ "$got" -lt "$want" ]; then
		cat "$dir/speed.last"
		echo "FAIL $name: $got of $want runs gave a figure"
		return 1
	fi
	value=$(tr ' ' '\n' <<<"$values" | grep . | sort -n | sed -n "$((got / 2 + 1))p")
	printf '%s\t%s\t%s\n' "$name" "$unit" "$value" | tee -a "$dir/speed.tsv"
}

# Rows of vhca-bench: control verbs.
bench() {
	local n=101
	[ "$quick" = no ] || n=21
	limited 200 "${capped[@]}" vhca-bench --control -n $n -d "$hca" -g "$gid" |
		sed -n 's/.*"name":"\([^"]*\)","unit":"\([^"]*\)","value":\([0-9.]*\).*/\1\t\2\t\3/p' |
		tee -a "$dir/speed.tsv"
	[ "${PIPESTATUS[0]}" = 0 ] || { echo "FAIL vhca-bench --control"; return 1; }
}

speed() {
	local rc=0 few=1000 many=5000
	memory_is_safe
	[ "$quick" = no ] || few=100 many=200
	: >"$dir/speed.tsv"
	ip link set lo up 2>/dev/null
	if command -v ib_write_bw >/dev/null; then
		figure "ib_write_bw 64 KiB" MB/s 4 ib_write_bw 65536 -n $many || rc=1
		figure "ib_read_bw 64 KiB" MB/s 4 ib_read_bw 65536 -n $many || rc=1
		figure "ib_write_bw 4 KiB" MB/s 4 ib_write_bw 4096 -n $many || rc=1
		figure "ib_write_lat 8 B" us 5 ib_write_lat 8 -n $few || rc=1
		figure "ib_send_lat 8 B" us 5 ib_send_lat 8 -n $few || rc=1
		figure "ib_send_lat 8 B events" us 5 ib_send_lat 8 -n $few -e || rc=1
	else
		echo "note: perftest is not installed"
	fi
	bench || rc=1
	rm -f "$dir/speed.last"
	echo "$(wc -l <"$dir/speed.tsv") figures"
	return "$rc"
}

# ---- what a hostile guest does ----------------------------------------------

only_hostile() { [ "$hostile" = yes ] || skip "only with -H"; }

# Arbitrary work requests, written into the queues by the process itself.
wild() {
	local n=10000
	only_hostile
	[ "$kind" != other ] || skip "not known of this HCA"
	[ "$quick" = no ] || n=1000
	limited 300 vhca-wqe -d "$hca" -g "$gid" -n $n || return
	limited 60 vhca-xfer --loop -d "$hca" -g "$gid" -t rc-write-4k
}

# A program that replaces the frontend, which gets the device back afterwards.
hostile_frontend() {
	local rc=0 n modes='nodes garbage pages udata producer states vanish'
	only_hostile
	[ "$quick" = no ] || modes='garbage pages producer'
	modprobe -r xen-vhcafront || { echo "FAIL xen-vhcafront is in use"; return 1; }
	modprobe -a xen-gntalloc xen-evtchn
	# shellcheck disable=SC2086
	limited 300 hostile-frontend $modes || rc=$?
	modprobe xen-vhcafront
	for ((n = 0; n < 300 * factor; n++)); do
		! grep -qs ACTIVE "$IB"/vhca*/ports/1/state || break
		sleep 0.1
	done
	hca=$(basename "$(echo "$IB"/vhca*)")
	limited 60 vhca-xfer --loop -d "$hca" -g "$gid" -t rc-write-4k || {
		echo "FAIL the device does not work afterwards"
		rc=1
	}
	return "$rc"
}

# The log since this side began, or all of it if that line is gone. A report contains
# only lines of our modules.
kernel() {
	local n
	dmesg >"$dir/.all" || { echo "FAIL the kernel's log cannot be read"; return 1; }
	awk -v mark="$(cat "$dir/.began")" '
		index($0, mark) { n = 0 }
		{ line[++n] = $0 }
		END { for (i = 1; i <= n; i++) print line[i] }' "$dir/.all" >"$dir/.dmesg"
	grep -i vhca "$dir/.dmesg"
	n=$(grep -cE "$BAD_KERNEL" "$dir/.dmesg")
	grep -oE "$BAD_KERNEL" "$dir/.dmesg" | sort | uniq -c
	[ "$n" = 0 ] || {
		echo "FAIL $n lines of complaint: look at dmesg"
		return 1
	}
	echo "no complaint"
}
