# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios about vhca devices share: the backend in dom0, devices of
# guests, programs between two guests, and the ledger that shows that nothing
# is left. Sourced after lib.sh.

DBG_FRONT=/sys/kernel/debug/xen-vhca
DBG_HELPER=/sys/kernel/debug/xen-vhca-helper
RUN_DIR=/run/xen-vhcad
BACKEND_ARGS=''			# more of xen-vhcad's

# backend_start: HCA, helper module and daemon, restarted when it dies, as
# systemd would. Later scenarios of the same boot find it running.
backend_start() {
	rxe_setup
	mountpoint -q /sys/kernel/debug ||
		mount -t debugfs debugfs /sys/kernel/debug
	modprobe xen-vhca-helper
	[ ! -e /run/vhcad.loop ] || return 0
	touch /run/vhcad.loop
	export BACKEND_ARGS
	setsid bash -c 'while [ -e /run/vhcad.loop ]; do
		xen-vhcad --foreground --log-level ${BACKEND_LOG:-debug} \
			--maptrack-frames 8192 $BACKEND_ARGS
		echo "xen-vhcad ended with status $?"
		sleep 0.3
	done' </dev/null >>/run/vhcad.log 2>&1 &
	wait_until 10 supervisor_pid || fail "xen-vhcad does not start:
$(tail -n 5 /run/vhcad.log)"
}

# backend_stop: for scenarios that begin without a daemon.
backend_stop() {
	[ -e /run/vhcad.loop ] || return 0
	rm /run/vhcad.loop
	pkill -x xen-vhcad || true
	wait_until 20 not pgrep -x xen-vhcad || fail "xen-vhcad does not stop"
}

supervisor_pid() { pgrep -o -x xen-vhcad -P "$(pgrep -of vhcad.loop)"; }
# worker_pid DOMAIN DEVID
worker_pid() { cat "$RUN_DIR/$(guest_domid "$1")-$2.lock"; }
# own_domid: where scenarios run, which is where the backend is.
own_domid() { echo 0; }
backend_dir() { echo "/local/domain/$(own_domid)/backend/vhca"; }
backend_state() {
	xenstore-read "$(backend_dir)/$(guest_domid "$1")/$2/state"
}
connected() {
	[ "$(backend_state "$1" "$2")" = 4 ] &&
	[ "$(xenstore-read "/local/domain/$(guest_domid "$1")/device/vhca/$2/state")" = 4 ]
}

other_worker() { [ "$(worker_pid "$1" "$2")" != "$3" ] && connected "$1" "$2"; }
# comes_back GUEST DEVID: its worker is killed, and the device connects to another one.
comes_back() {
	local old
	old=$(worker_pid "$1" "$2")
	kill -KILL "$old"
	wait_until 40 other_worker "$1" "$2" "$old"
}

# backend_has DOMID: the backend has nodes for a device of that domain.
backend_has() { xenstore-exists "$(backend_dir)/$1"; }
not() { ! "$@"; }

# vhca_attach GUEST [KEY=VALUE,...]: and wait until a program can open it. The
# HCA is rxe0, or hca=NAME if that comes first.
vhca_attach() {
	local spec=${2:-}
	case "$spec" in
	hca=*)	;;
	*)	spec=hca=rxe0${spec:+,$spec} ;;
	esac
	vhcactl attach -w "$(seconds 30)" "$1" "$spec" || fail "vhcactl attach $1"
	wait_guest 10 "$1" 'ls /dev/infiniband/uverbs*'
}

# vhca_attach_all GUEST...: each on the next of the HCAs in VHCA_HCAS (rxe0), with
# the keys of VHCA_KEYS, at once: a guest's first device takes seconds. On a debug kernel
# one after the other: of three at once, one had no device after half a minute.
vhca_attach_all() {
	local g hca hcas n=0 pids=()
	read -ra hcas <<<"${VHCA_HCAS:-rxe0}"
	for g; do
		hca=${hcas[n++ % ${#hcas[@]}]}
		vhca_attach "$g" "hca=$hca${VHCA_KEYS:+,$VHCA_KEYS}" &
		pids+=($!)
		! on_debug_kernel || wait "$!" || true
	done
	all_well "a guest has no vhca" "${pids[@]}"
}

# guests_with_vhca TYPE NAME [TYPE NAME]...: backend, guests, devices of
# vhca_attach_all.
guests_with_vhca() {
	local names=()
	backend_start
	while [ $# -gt 0 ]; do
		guest_config "$2" "$1" ${VHCA_GUEST_MEM:+mem=$VHCA_GUEST_MEM} \
			"${VHCA_GUEST_CFG[@]}" >/dev/null
		names+=("$2")
		shift 2
	done
	guests_start "${names[@]}"
	vhca_attach_all "${names[@]}"
}
VHCA_GUEST_MEM=''
VHCA_KEYS=''
VHCA_GUEST_CFG=()

# archive_setup NAME: /guest/NAME.cpio (of image/NAME.sh) in dom0, and in the guests that
# guests_with_vhca starts then.
archive_setup() {
	cat "$GUEST_RUN/initrd" "/guest/$1.cpio" >"$GUEST_RUN/initrd.$1"
	(cd / && cpio --quiet -id <"/guest/$1.cpio")
	VHCA_GUEST_MEM=768 VHCA_GUEST_CFG=("ramdisk = \"$GUEST_RUN/initrd.$1\"")
}

# listens GUEST: until one of Debian's programs there waits for its client, which
# tries only once, at port 18515; at most 30 s.
listens() {
	guest_sh "$1" 'for ((i = 0; i < 100; i++)); do
		! grep -q ":4853 .* 0A " /proc/net/tcp /proc/net/tcp6 || exit 0
		sleep 0.3
	done' || true
}

# Of guests with addresses of their own: the index of the GID to use, "%" in commands.
declare -A GID_INDEX=()
with_gid() { printf '%s\n' "${2//%/${GID_INDEX[$1]:-%}}"; }	# with_gid GUEST COMMAND

# pair_once SERVER CLIENT COMMAND: runs COMMAND in both guests, with the
# server's address appended in the client. Status 0 if both succeeded.
pair_once() {
	local server rc=0
	guest_sh -t 100 "$1" "$(with_gid "$1" "$3")" >/tmp/pair.s 2>&1 &
	server=$!
	listens "$1"
	guest_sh -t 90 "$2" "$(with_gid "$2" "$3") $(guest_ip "$1")" >/tmp/pair.c 2>&1 ||
		rc=$?
	wait "$server" || rc=$?
	return "$rc"
}

# pair_try SERVER CLIENT COMMAND: status 0 if both succeeded. perftest measures
# the processor's clock first and gives up, before any verb, where an emulated
# one is too unsteady: that, and only that, is tried again.
pair_try() {
	local rc attempt
	for attempt in 1 2 3 4; do
		rc=0
		pair_once "$1" "$2" "$3" || rc=$?
		[ "$rc" != 0 ] || return 0
		[ "$attempt" -lt 4 ] || break
		grep -q 'Correlation coefficient' /tmp/pair.[sc] || break
		note "$3: no steady clock; again"
		sleep 2
	done
	echo "--- server"; tail -n 15 /tmp/pair.s
	echo "--- client"; tail -n 15 /tmp/pair.c
	return "$rc"
}

# pair CLAIM SERVER CLIENT COMMAND: both must succeed.
pair() { check "$1" pair_try "$2" "$3" "$4"; }

PAIR_GID=1	# of these programs
# pingpongs_between SERVER CLIENT: the examples of libibverbs.
pingpongs_between() {
	local t n
	n=$(long 20 300)
	for t in rc uc ud; do
		pair "ibv_${t}_pingpong, $n x 1 KiB" "$1" "$2" \
			"ibv_${t}_pingpong -g $PAIR_GID -n $n -s 1024"
		pair "ibv_${t}_pingpong, events" "$1" "$2" \
			"ibv_${t}_pingpong -g $PAIR_GID -n $(long 20 100) -s 1024 -e"
	done
	pair "ibv_srq_pingpong, 4 QPs" "$1" "$2" \
		"ibv_srq_pingpong -g $PAIR_GID -n $n -q 4"
}

# programs_between SERVER CLIENT: Debian's own programs, unmodified.
programs_between() {
	local n
	pingpongs_between "$1" "$2"
	n=$(long 50 200)
	pair "ib_send_lat 8 B" "$1" "$2" "ib_send_lat -F -x $PAIR_GID -s 8 -n $n"
	pair "ib_send_lat 8 B, events" "$1" "$2" "ib_send_lat -F -x $PAIR_GID -s 8 -n $n -e"
	pair "ib_write_bw 64 KiB" "$1" "$2" "ib_write_bw -F -x $PAIR_GID -s 65536 -n 500"
	pair "ib_send_bw UD 1 KiB" "$1" "$2" "ib_send_bw -F -x $PAIR_GID -c UD -s 1024 -n 500"
	pair "ib_atomic_lat" "$1" "$2" "ib_atomic_lat -F -x $PAIR_GID -n $n"
	[ "$(long 0 1)" = 1 ] || return 0
	pair "ib_write_lat 8 B" "$1" "$2" "ib_write_lat -F -x $PAIR_GID -s 8 -n $n"
	pair "ib_read_bw 64 KiB" "$1" "$2" "ib_read_bw -F -x $PAIR_GID -s 65536 -n 500"
	pair "ib_write_bw, 8 QPs" "$1" "$2" "ib_write_bw -F -x $PAIR_GID -q 8 -s 4096 -n 500"
}

# xfer_between CLAIM SERVER CLIENT OPTIONS: vhca-xfer on both sides.
xfer_between() {
	local options="$XFER_GID $4 --give-up $(seconds 150) --timeout $(seconds 25000)" server
	guest_sh -t 280 "$2" "vhca-xfer $(with_gid "$2" "$options") -s" >/tmp/xfer.s 2>&1 &
	server=$!
	check "$1" guest_sh -t 280 "$3" \
		"vhca-xfer $(with_gid "$3" "$options") $(guest_ip "$2")"
	check "$1: the server agrees" wait "$server"
}
XFER_GID=''

# verified_between SERVER CLIENT MAX-SIZE: every byte compared.
verified_between() {
	xfer_between "vhca-xfer: every byte of all transfers" "$1" "$2" \
		"-q 100 --max-size $3"
	xfer_between "vhca-xfer by completion events" "$1" "$2" \
		'-e --max-size 1048576'
}

# traffic_start SERVER CLIENT SECONDS [OPTIONS]: verified traffic in the
# background; its output is /tmp/traffic.{server,client}, its processes $traffic_server
# and $traffic_client.
traffic_start() {
	: >/tmp/traffic.client
	guest_sh -t $(($3 + 60)) "$1" \
		"vhca-xfer $(with_gid "$1" "$XFER_GID") ${4:-} -s --traffic $3" \
		>/tmp/traffic.server 2>&1 &
	traffic_server=$!
	guest_sh -t $(($3 + 60)) "$2" \
		"vhca-xfer $(with_gid "$2" "$XFER_GID") ${4:-} --traffic $3 $(guest_ip "$1")" \
		>/tmp/traffic.client 2>&1 &
	traffic_client=$!
	wait_until 60 grep -q '^t=1 ' /tmp/traffic.client ||
		fail "traffic does not flow: $(tail -n 3 /tmp/traffic.{server,client})"
}

# traffic_inside GUEST SECONDS: verified traffic inside a guest, in the background, until it
# runs; inside[GUEST] is its process. It rests between rounds: guests that poll all the time
# keep the only processor from each other; on a debug kernel it does not poll.
declare -A inside
traffic_inside() {
	local rest='--pause 10'
	! on_debug_kernel || rest='-e --pause 1000'
	: >"/tmp/traffic.$1"
	guest_sh -t $(($2 + 60)) "$1" "vhca-xfer --loop $XFER_GID --traffic $2 $rest \
			--timeout $(seconds 5000)" \
		>"/tmp/traffic.$1" 2>&1 &
	inside[$1]=$!
	wait_until 60 grep -q '^t=1 ' "/tmp/traffic.$1" ||
		fail "no traffic in $1: $(tail -n 3 "/tmp/traffic.$1")"
}
# ends_with_error GUEST: it ends neither well, nor by a time-out.
ends_with_error() {
	local rc=0
	wait "${inside[$1]}" || rc=$?
	case $rc in
	0|124|255) echo "status $rc: $(tail -n 2 "/tmp/traffic.$1")"; return 1 ;;
	esac
}

# kill_worker VICTIM OTHER TRANSFER: that of VICTIM, while both have traffic inside
# themselves. Its device comes back, and a transfer works.
kill_worker() {
	traffic_inside "$1" 300
	traffic_inside "$2" 12
	kill -9 "$(worker_pid "$1" 0)"
	check "$1's program ends with an error, not by time-out" ends_with_error "$1"
	check "$2's traffic went on" wait "${inside[$2]}"
	check "the device of $1 comes back" wait_guest 20 "$1" 'ibv_devinfo | grep PORT_ACTIVE'
	check "and works" guest_sh -t 30 "$1" "vhca-xfer --loop $XFER_GID -t $3"
}

# ---- the ledger -------------------------------------------------------------

pinned() {
	awk '/nr_foll_pin_acquired/ { a = $2 } /nr_foll_pin_released/ { r = $2 }
		END { print a - r }' /proc/vmstat
}
counter() { awk -v k="$2" '$1 == k { print $2; f = 1 } END { exit !f }' "$1"; }

# port_list DOMID: its event channels.
port_list() { domain-ports "$1"; }
# Not the interrupts of devices: the HCA's driver asks for them when it likes.
ports() { port_list "$1" | awk '!/Physical IRQ/ { n++ } END { print n + 0 }'; }

# ledger_nodes: what the backend and the toolstack keep of devices.
ledger_nodes() {
	echo "nodes $(xenstore-ls "$(backend_dir)" 2>/dev/null | grep -c = || true)"
	echo "libxl $(xenstore-ls /libxl 2>/dev/null | grep -c vhca || true)"
}
# What a guest has of them, in its own directory.
GUEST_NODES='xenstore-ls device/vhca 2>/dev/null'

# dom0_ledger: lines "name value" that must be the same before and after.
dom0_ledger() {
	local t
	for t in qp cq mr pd ctx srq; do
		echo "rdma_$t $(rdma res show $t 2>/dev/null |
			grep -c -e 'comm vhcad-' || true)"
	done
	echo "helper_grants $(cat $DBG_HELPER/grants)"
	echo "helper_zombies $(cat $DBG_HELPER/zombies)"
	echo "helper_mapped $(cat $DBG_HELPER/mapped)"
	echo "pinned $(pinned)"
	ledger_nodes
}

# guest_ledger GUEST: the same seen from a guest.
guest_ledger() {
	guest_sh "$1" "mountpoint -q /sys/kernel/debug ||
		mount -t debugfs debugfs /sys/kernel/debug
		awk '/nr_foll_pin_acquired/ { a = \$2 }
			/nr_foll_pin_released/ { r = \$2 }
			END { print \"pinned\", a - r }' /proc/vmstat
		cat $DBG_FRONT/zombies 2>/dev/null || echo zombies 0
		echo nodes \$($GUEST_NODES | grep -c =)"
}

# guest_ledger_open GUEST and guest_ledger_close GUEST: one guest's part.
guest_ledger_open() {
	guest_ledger "$1" >"/tmp/ledger.$1"
	ports "$(guest_domid "$1")" >"/tmp/ledger.$1.ports"
}
guest_ledger_close() {
	check "$1: no grant, pin or node is left" \
		ledger_settles "same_guest $1" "/tmp/ledger.$1"
	check "$1: no event channel is left" wait_until 15 same_ports \
		"$(guest_domid "$1")" "/tmp/ledger.$1.ports"
}

# commands_as_promised GUEST HCA: each verb costs what docs/design/data-path.md says;
# HCA: a column of its table.
commands_as_promised() {
	local out=$SCENARIO_DIR/commands.$1 rc=0
	guest_sh -t 120 "$1" 'vhca-commands "$(ls /sys/class/infiniband)"' \
		>"$out" || rc=$?
	check "$1: the commands of each verb were counted" [ $rc = 0 ]
	check "$1: each verb costs what data-path.md says" \
		/tests/verbs/commands.sh "$out" /tests/verbs/data-path.md "$2"
}

# ledger_open GUEST...: takes the numbers before devices are attached.
ledger_open() {
	local g
	dom0_ledger >/tmp/ledger.dom0
	ports "$(own_domid)" >/tmp/ledger.ports
	port_list "$(own_domid)" >/tmp/ledger.ports.list
	for g; do
		guest_ledger_open "$g"
	done
}

same_dom0() { dom0_ledger | tee /tmp/ledger.now | cmp -s /tmp/ledger.dom0; }
same_guest() { guest_ledger "$1" | tee /tmp/ledger.now | cmp -s "/tmp/ledger.$1"; }
same_ports() { [ "$(ports "$1")" -le "$(cat "$2")" ]; }

# ledger_close [GUEST...]: the same numbers again, within 15 s.
ledger_close() {
	local g
	check "dom0: no verbs object, grant, pin or node is left" \
		ledger_settles same_dom0 /tmp/ledger.dom0
	[ $# = 0 ] || check "dom0: no event channel is left" dom0_ports_settle
	for g; do
		guest_ledger_close "$g"
	done
}
dom0_ports_settle() {
	wait_until 15 same_ports "$(own_domid)" /tmp/ledger.ports && return
	port_list "$(own_domid)" | diff /tmp/ledger.ports.list - || true
	return 1
}
ledger_settles() {
	# shellcheck disable=SC2086
	wait_until 15 $1 && return
	diff "$2" /tmp/ledger.now
	return 1
}

# no_leaks [GUEST...]: debug kernels know of no memory of ours that nobody refers
# to. What a scan finds may be in a register, a list of a processor or wait for RCU:
# it is lost if later scans find it too.
no_leaks() {
	local g k=/sys/kernel/debug/kmemleak
	local look="for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		echo scan >$k
		grep -q vhca $k || exit 0
		sleep 5
	done; grep -B 20 -A 12 vhca $k; exit 1"
	check "dom0's kernel lost no memory" bash -c "$look"
	for g; do
		check "$g's kernel lost no memory" guest_sh -t 300 "$g" "$look"
	done
}

# kernel_clean [GUEST...]: no complaint of any kernel.
kernel_clean() {
	local g
	[ ! -e /sys/kernel/debug/kmemleak ] || no_leaks "$@"
	check "dom0's kernel has no complaint" \
		bash -c "! dmesg | grep -E '$BAD_KERNEL'"
	for g; do
		check "$g's kernel has no complaint" \
			guest_sh "$g" "! dmesg | grep -E '$BAD_KERNEL'"
	done
}

# no_objects: no verbs object of any worker but its own control context.
no_objects() {
	local t
	for t in qp cq mr srq; do
		[ "$(rdma res show $t | grep -c 'comm vhcad-')" = 0 ] || return 1
	done
}

# guests_end_clean GUEST...: without devices nothing is left of them. They are not for
# later scenarios.
guests_end_clean() {
	local g
	step "what is left"
	for g; do
		vhcactl detach "$g" all
	done
	ledger_close "$@"
	kernel_clean "$@"
	spoilt "$@"
}
