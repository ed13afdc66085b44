# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios with model HCAs share ("# hca: yes", devices with id=hca0 and
# so on): drivers, guests, the machine's monitor, two-sided programs. Sourced
# after lib.sh, and after vhca.sh where guests have a vhca.

# The two HCAs, and whether they have XRC; a scenario with other ones says so.
HCAS=${HCAS:-mlx5_0 mlx5_1}
HCA_XRC=${HCA_XRC:-yes}
has_xrc() { [ "$HCA_XRC" = yes ]; }

# hca_setup: drivers for two HCAs, until both ports are in state HCA_STATE
# (ACTIVE).
hca_setup() {
	local d
	hca_drivers
	for d in $HCAS; do
		! grep -q Ethernet "/sys/class/infiniband/$d/ports/1/link_layer" || eth_up "$d"
		wait_until 10 port_is "$d" "${HCA_STATE:-ACTIVE}" ||
			fail "$d: port is $(cat "/sys/class/infiniband/$d/ports/1/state")"
	done
}
# eth_up HCA: the interface of an Ethernet port, which then sends nothing by itself. GIDs 0
# and 1 are those of its MAC.
eth_up() {
	local dev
	dev=$(ls "/sys/class/infiniband/$1/device/net")
	sysctl -q "net.ipv6.conf.$dev.disable_ipv6=1"
	ip link set "$dev" up
}
hca_drivers() {
	local d driver=${HCAS%%_*}
	case $HCAS in
	mthca*)	modprobe ib_mthca ;;
	*)	modprobe -a "${driver}_core" "${driver}_ib" ;;
	esac
	modprobe -a ib_uverbs ib_umad
	for d in $HCAS; do
		wait_until 30 test -e "/sys/class/infiniband/$d" ||
			fail "the driver does not make $d: $(dmesg | tail -n 3)"
	done
}

# fabric_start [PARTITION]...: drivers for two HCAs in these partitions of opensm's
# beside the default one, until both ports are active. They may be so already, by the
# opensm of an earlier scenario.
fabric_start() {
	local d
	hca_drivers
	fabric_partitions "$@"
	mkdir -p /var/cache/opensm
	opensm -B -P /run/partitions -f "$SCENARIO_DIR/opensm.log" \
		-g "$(ibstat -p "${HCAS%% *}" | head -n 1)" >/dev/null
	for d in $HCAS; do
		check "$d becomes active" wait_until 30 port_is "$d" ACTIVE
	done
}
# fabric_partitions [PARTITION]...: others, for a fabric that has begun.
fabric_partitions() {
	printf '%s\n' 'Default=0x7fff,ipoib:ALL=full;' "$@" >/run/partitions
	! pgrep -x opensm >/dev/null || pkill -HUP -x opensm
}

# One of Debian's programs waits here for its client, which tries only once.
listening() { ss -ltnH | grep -q ':18515 '; }
# has_open PID FILE...: has a process one of the files open?
has_open() {
	local open file
	for open in /proc/"$1"/fd/*; do
		for file in "${@:2}"; do
			[ ! "$open" -ef "$file" ] || return 0
		done
	done
	return 1
}
port_is() { grep -q ": $2\$" "/sys/class/infiniband/$1/ports/1/state"; }

# agent_start: the doorbell agent, restarted when it dies, as systemd would.
agent_start() {
	[ ! -e /run/doorbelld.loop ] || return 0
	touch /run/doorbelld.loop
	# shellcheck disable=SC2016
	setsid bash -c 'while [ -e /run/doorbelld.loop ]; do
		xen-vhca-doorbelld --foreground ${AGENT_OPTIONS:--l debug}
		echo "xen-vhca-doorbelld ended with status $?"
		sleep 0.3
	done' </dev/null >>/run/doorbelld.log 2>&1 &
	wait_until 10 pgrep -x xen-vhca-doorbe ||
		fail "the agent does not start: $(tail -n 5 /run/doorbelld.log)"
}

# hca_guests TYPE NAME [TYPE NAME]...: drivers, agent, backend, guests; a vhca
# on the first of HCAS for the first, on the second for the second, and so on in turn.
hca_guests() {
	hca_setup
	agent_start
	# shellcheck disable=SC2034
	XFER_GID='-g 0'
	VHCA_HCAS="$HCAS" guests_with_vhca "$@"
	BOTH_GUESTS=("$2" "$4")
}
BOTH_GUESTS=()

# mem_is MIB: dom0 has about that much memory.
mem_is() {
	awk -v want="$1" '/MemTotal/ { have = $2 / 1024 }
		END { exit !(have > want - 200 && have < want + 100) }' /proc/meminfo
}

# balloon_twice: brings the frames of a PV dom0 into disorder.
balloon_twice() {
	local full round
	full=$(($(awk '/MemTotal/ { print $2 }' /proc/meminfo) / 1024))
	for round in 1 2; do
		xl mem-set 0 700
		check "dom0 is small, $round" wait_until 20 mem_is 700
		xl mem-set 0 2048
		check "dom0 is large, $round" wait_until 20 mem_is "$full"
	done
}

# qmp_value ANSWER: what it returns; its error on stderr. There is no jq on Arm.
qmp_value() {
	local line=${1%$'\r'}
	if [[ $line != '{"return": '*'}' ]]; then
		echo "$line" >&2
		return 1
	fi
	line=${line#'{"return": '}
	echo "${line%\}}"
}

# qmp_shared JSON: the same over the share, where the machine has no port to its monitor.
qmp_shared() {
	rm -f /share/qmp/answer
	echo "$1" >/share/qmp/new
	mv /share/qmp/new /share/qmp/request
	wait_until 20 test -e /share/qmp/answer || fail "the monitor does not answer"
	qmp_value "$(cat /share/qmp/answer)"
}

# qmp JSON: a command of QEMU's monitor; prints what it returns.
qmp() {
	local port=/dev/virtio-ports/qmp fd line=''
	[ ! -d /share/qmp ] || { qmp_shared "$1"; return; }
	if [ ! -e "$port" ]; then
		modprobe -a virtio_pci virtio_console
		wait_until 10 test -e "$port"
	fi
	exec {fd}<>"$port"
	if [ ! -e /run/qmp ]; then
		echo '{"execute":"qmp_capabilities"}' >&"$fd"
		until [[ $line = *'"return"'* ]]; do
			read -r -t "$(seconds 10)" -u "$fd" line
		done
		touch /run/qmp
	fi
	echo "$1" >&"$fd"
	while read -r -t "$(seconds 10)" -u "$fd" line; do
		[[ $line != *'"event"'* ]] || continue
		exec {fd}>&-
		qmp_value "$line"
		return
	done
	exec {fd}>&-
	fail "the monitor does not answer"
}

# hca_get ID PROPERTY and hca_set ID PROPERTY VALUE: of the model.
hca_get() {
	qmp '{"execute":"qom-get","arguments":{"path":"/machine/peripheral/'"$1"'","property":"'"$2"'"}}'
}
hca_set() {
	qmp '{"execute":"qom-set","arguments":{"path":"/machine/peripheral/'"$1"'","property":"'"$2"'","value":'"$3"'}}' >/dev/null
}

# hca_ledger: what the HCAs may reach of memory, and how many doorbell pages the
# agent has mapped; the same before a device is there and after it is gone.
hca_ledger() {
	local d
	for d in hca0 hca1; do
		echo "$d pages $(hca_get $d pages-held)"
	done
	# The last of the three flags: not mapped, but kept for its guest.
	echo "doorbells $(cat /run/xen-vhca-doorbelld/state 2>/dev/null |
		grep -c '^map .* [01][01]0 [0-9a-f]*$' || true)"
}
# mlx5 of Linux 6.12 makes resources of its own with the first region and queue pair that
# anybody has, and keeps them: they have to be there before. One queue pair, as with more
# than -n of them a side ends while the other one's are under way.
hca_ledger_open() {
	local BOTH_GUESTS=()
	[ -e /run/hca-used ] || both ibv_srq_pingpong -g 0 -q 1 -n 10 ||
		fail "ibv_srq_pingpong in dom0"
	touch /run/hca-used
	hca_ledger >/tmp/ledger.hca
}
same_hca() { hca_ledger | tee /tmp/ledger.now | cmp -s /tmp/ledger.hca; }
hca_ledger_close() {
	check "the HCAs reach no memory of guests, no doorbell page is mapped" \
		ledger_settles same_hca /tmp/ledger.hca
}

# ends FILE: what a program said first and last. In a file its errors come first.
ends() { head -n 4 "$1"; echo ...; tail -n 4 "$1"; }

# both PROGRAM [OPTION]...: server on mlx5_1, client on mlx5_0; both succeed.
# With hca_guests: the server in the first guest, the client in the second.
both() {
	local rc=0
	if [ "${#BOTH_GUESTS[@]}" != 0 ]; then
		pair_try "${BOTH_GUESTS[@]}" "$*" || rc=$?
		cp /tmp/pair.c /tmp/client.log
		return "$rc"
	fi
	two_sides '' '' "$@"
}
# two_sides SERVER_OPTIONS CLIENT_OPTIONS PROGRAM [OPTION]...: the same in dom0, with options
# for each side.
two_sides() {
	local server rc=0
	# shellcheck disable=SC2086
	timeout "$(seconds "${LIMIT:-60}")" "$3" -d "${HCAS##* }" $1 "${@:4}" >/tmp/server.log 2>&1 &
	server=$!
	wait_until 10 listening || true
	# shellcheck disable=SC2086
	timeout "$(seconds "${LIMIT:-60}")" "$3" -d "${HCAS%% *}" $2 "${@:4}" 127.0.0.1 \
		>/tmp/client.log 2>&1 || rc=$?
	wait "$server" || rc=$?
	[ "$rc" = 0 ] || {
		note "${*:3}: client:"
		ends /tmp/client.log
		note "server:"
		ends /tmp/server.log
	}
	return "$rc"
}

# The examples of libibverbs; in the short form most by events only.
hca_pingpongs() {
	local p opts
	# shellcheck disable=SC2046
	for p in rc ud xsrq $(long '' 'uc srq' 'uc srq'); do
		[ "$p" != xsrq ] || has_xrc || continue
		step "ibv_${p}_pingpong"
		opts=(-n "$(long 50 200)")
		[ "$p" = xsrq ] || opts+=(-g 0)
		case "$p $(long 0 1)" in
		rc*|xsrq*|*1)
			check "$p" both "ibv_${p}_pingpong" "${opts[@]}" ;;
		esac
		[ "$p" = xsrq ] || check "$p with events" \
			both "ibv_${p}_pingpong" "${opts[@]}" -e
	done
	check "16 queue pairs on one SRQ" both ibv_srq_pingpong -q 16 -r 500
	check "4 KiB MTU, 1 MiB messages" \
		both ibv_rc_pingpong -m 4096 -s 1048576 -n 20
}

# hca_perftests [PROGRAM]...: of perftest, or all; what they say goes to
# $SCENARIO_DIR.
hca_perftests() {
	local p n
	n=$(long 50 200)
	[ $# -gt 0 ] || set -- ib_{send,write,read,atomic}_{lat,bw}
	for p; do
		step "$p"
		check "$p" both "$p" -F -n $n
		cp /tmp/client.log "$SCENARIO_DIR/$p.txt"
		case "$p" in
		*write*)	;;
		*)	check "$p with events" both "$p" -F -n $n -e ;;
		esac
	done
	n=$(long 16 64)
	check "$n queue pairs" both ib_write_bw -F -n 50 -q "$n"
}

# Their other transports, sizes and numbers of queue pairs.
hca_perftest_options() {
	local p t n=200
	for p in ib_write_bw ib_send_bw ib_read_bw; do
		step "$p"
		check "$p, 8 queue pairs" both "$p" -F -n $n -q 8
		[ $p != ib_write_bw ] && [ "$(long 0 1)" = 0 ] ||
			check "$p, both ways, all sizes" \
				both "$p" -F -n "$(long 5 20)" -a -b
	done
	check "ib_atomic_bw, 8 queue pairs" both ib_atomic_bw -F -n $n -q 8
	for t in UC UD; do
		check "ib_send_bw $t" both ib_send_bw -F -n $n -c $t -s 2048
		check "ib_send_lat $t" both ib_send_lat -F -n $n -c $t
	done
	check "ib_write_bw UC" both ib_write_bw -F -n $n -c UC
	check "compare and swap" both ib_atomic_bw -F -n $n -A CMP_AND_SWAP
	check "SRQ" both ib_send_bw -F -n $n --use-srq -q 4
	! has_xrc || check "XRC" both ib_send_bw -F -n $n -c XRC
}

# xrc_objects GUEST TEST: how many domains, queue pairs and SRQs its vhca has.
xrc_objects() {
	vhcactl stats --json "$1" 0 | jq -e "[.objects |
		.xrcd.used, .qp.used, .srq.used] | $2" >/dev/null
}

# xrc_killed: both ends of an XRC connection are killed. Target and domain are in
# no context that would end with its process.
xrc_killed() {
	local g end=("${BOTH_GUESTS[@]}") program='ib_send_bw -F -c XRC -D 300'
	local pids=()
	step "kill both ends of ib_send_bw over XRC"
	guest_sh -t 60 "${end[0]}" "$program" >/tmp/pair.s 2>&1 || true &
	pids+=($!)
	listens "${end[0]}"
	guest_sh -t 60 "${end[1]}" "$program $(guest_ip "${end[0]}")" \
		>/tmp/pair.c 2>&1 || true &
	pids+=($!)
	for g in "${end[@]}"; do
		check "$g has a domain, queue pairs and an SRQ" \
			wait_until 10 xrc_objects "$g" 'all(. > 0)'
	done
	# Stopped first: an end that is alone gives up within half a second.
	for g in "${end[@]}"; do
		guest_sh "$g" 'pkill -STOP -x ib_send_bw'
	done
	for g in "${end[@]}"; do
		check "$g is killed" guest_sh "$g" 'pkill -KILL -x ib_send_bw'
	done
	wait "${pids[@]}"
	for g in "${end[@]}"; do
		check "nothing of it is left of $g" \
			wait_until 10 xrc_objects "$g" 'all(. == 0)'
	done
	check "XRC works again" both ibv_xsrq_pingpong -n 200
}

# forked GUEST: a child made by fork() has its parent's doorbell.
forked() {
	guest_sh "$1" 'vhca-uar fork' >/tmp/forked || return 1
	cat /tmp/forked
	grep -qx 'a child rings' /tmp/forked
}

# hca_everything TYPE: what runs natively on these HCAs (13-hca-*) runs in two
# guests of that type, and no doorbell of theirs is refused. Options of programs are for
# 'make soak'.
hca_everything() {
	local d
	local -A before	# refused doorbells of other scenarios
	step "two $1 guests on model HCAs"
	hca_guests "$1" a "$1" b
	d=$(cat "/sys/class/infiniband/${HCAS%% *}/ports/1/cap_mask")
	check "a: the port's capability mask is as natively, $d" \
		guest_sh a "grep -x '$d' /sys/class/infiniband/vhca0/ports/1/cap_mask"
	for d in hca0 hca1; do
		before[$d]=$(hca_get $d doorbells-refused)
	done
	hca_pingpongs
	check "fork()" forked a
	if [ "$(long 1 0 1)" = 0 ]; then
		hca_perftests
		hca_perftest_options
		step "verified transfers"
		verified_between b a "$(long 1048576 67108864)"
	else
		hca_perftests ib_atomic_lat ib_write_bw
		xfer_between "vhca-xfer: every byte of shorter transfers" b a \
			"-q 4 --max-size 65536"
	fi
	[ "$1 $(long 0 1 1)" != 'pv 1' ] || ! has_xrc || xrc_killed
	for d in hca0 hca1; do
		check "$d refused no doorbell" \
			[ "$(hca_get $d doorbells-refused)" = "${before[$d]}" ]
	done
	vhcactl detach a all
	vhcactl detach b all
	kernel_clean a b
}

# Neither the drivers nor the kernel complained since the scenario began.
quiet_kernel() {
	! dmesg | grep -E 'BUG|WARNING|Call Trace|mlx[45].*(error|fail|timeout|timed out|syndrome)|dump_cqe|unhandled'
}

# attach_both GUEST [KEY=VALUE]: both kinds of device, with queues that are mapped and
# with doorbell pages; a key of the latter.
attach_both() {
	vhcactl attach "$1" "hca=mlx5_0${2:+,$2}"
	vhcactl attach "$1" hca=rxe0
	wait_guest 30 "$1" '[ "$(ls /sys/class/infiniband | wc -l)" = 2 ]' ||
		fail "$1 has not both devices"
}

# loss N: of 1000 frames between the HCAs so many are lost, late, and there twice.
loss() { hca_set hca0 wire-loss "$1" && hca_set hca1 wire-loss "$1"; }
# What vhca-xfer does over such a wire.
# shellcheck disable=SC2034 # of scenarios
LOSSY='rc-send*,rc-write*,rc-read*,rc-cmp-swap,rc-fetch-add,rc-inline*,rc-zero*'
