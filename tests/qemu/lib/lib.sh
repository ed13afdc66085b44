# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Functions for scenarios (NN-claim.sh), which run in dom0 of the test bed and
# source this file first. A scenario passes when it ends with status 0 and made
# at least one check; any command that fails without being tested ends it.
set -eEuo pipefail
shopt -s inherit_errexit

BRIDGE_NET=192.168.77
SHELL_PORT=7000
GUEST_RUN=/run/guest
# Of guests, MB; their root, if it is another one than all of it; what they are told
# besides; how often states are looked at, in seconds.
GUEST_MEM=256
GUEST_INITRD=''
GUEST_APPEND=''
PAUSE=0.1
# shellcheck source=tests/qemu/lib/debug.sh
. "${BASH_SOURCE%/*}/debug.sh"
# The kernel of guests, which may be of another release than this domain (overlay.sh).
GUEST_KVER=$(cat /guest/kver 2>/dev/null || uname -r)
# The least memory that a guest starts with: its root is unpacked into half of what its
# kernel leaves. A debug kernel needs more, and under emulation a second for a process.
case $GUEST_KVER in
*-vhca-debug)
	GUEST_MEM=768
	GUEST_APPEND=$DEBUG_CMDLINE
	PAUSE=1 ;;
6.1.*)	GUEST_MEM_LEAST=192 ;;
esac
# Arm has one kind of guest, whatever a scenario calls it, with less memory than it has: each
# page of another domain takes the place of one that its kernel has given up (guest-init.c).
ARM=''
[ "$(uname -m)" != aarch64 ] || ARM=yes GUEST_MEM=320
# shellcheck disable=SC2034
: "${GUEST_MEM_LEAST:=$GUEST_MEM}"
PROCESSORS=$(xl info nr_cpus 2>/dev/null || nproc)
checks=0
skipping=0

# stamp: NOW is the time since the machine started, in seconds. No process is
# started for it: under emulation that would take longer than many a check.
stamp() { read -r NOW _ </proc/uptime; }
now() { stamp; echo "$NOW"; }

# step TEXT: what happens next; the last one is printed when the scenario fails.
step() {
	echo "$*" >"$SCENARIO_DIR/step"
	stamp
	echo "[$NOW] == $*"
}

note() { stamp; echo "[$NOW]    $*"; }

# fail WHY: ends the scenario.
fail() {
	echo "$*" >"$SCENARIO_DIR/why"
	echo "[$(now)] FAIL $*"
	trap - ERR
	exit 1
}

# skip WHY: ends the scenario as skipped; an unexpected skip fails in CI.
skip() {
	echo "$*" >"$SCENARIO_DIR/why"
	echo "[$(now)] SKIP $*"
	skipping=1
	exit 77
}

# check CLAIM COMMAND...: the command must succeed.
check() {
	local claim=$1 rc=0
	shift
	"$@" || rc=$?
	checks=$((checks + 1))
	[ "$rc" = 0 ] || fail "$claim (exit $rc: $*)"
	stamp
	echo "[$NOW] ok $claim"
}

# check_not CLAIM COMMAND...: the command must fail (with an exit status, not
# by a lost guest or a time-out).
check_not() {
	local claim=$1 rc=0
	shift
	"$@" || rc=$?
	checks=$((checks + 1))
	case "$rc" in
	0)	fail "$claim (did not fail: $*)" ;;
	124|255) fail "$claim (no verdict, exit $rc: $*)" ;;
	esac
	stamp
	echo "[$NOW] ok $claim"
}

# long CHECK SOAK [DEBUG]: how often, in the short form that 'make check' runs and in the
# long one of 'make soak'; in that of a debug kernel, which takes ten times as long.
long() {
	if on_debug_kernel && [ $# = 3 ]; then
		echo "$3"
	elif [ "${VHCA_TIER:-check}" = soak ]; then
		echo "$2"
	else
		echo "$1"
	fi
}

# on_debug_kernel: do the guests run one?
on_debug_kernel() { [ -n "$GUEST_APPEND" ]; }

# seconds N: a time limit of N seconds on the host that limits are written for.
seconds() { echo $(($1 * ${TIME_SCALE:-2})); }

# vhcactl ...: its own time limits, too, are longer on a slow host.
vhcactl() {
	case "$1 $*" in
	*' -w '*|*' -f '*) command vhcactl "$@" ;;
	attach*|detach*|reattach*)
		command vhcactl "$1" -w "$(seconds 30)" "${@:2}" ;;
	*)	command vhcactl "$@" ;;
	esac
}

# pause SECONDS: sleeps without a process, which under emulation costs more than many a
# command that is waited for. Nobody writes to the pipe.
exec {nothing}<> <(:)
pause() { read -r -t "$1" <&"$nothing" || true; }

# wait_until SECONDS COMMAND...: polls until it succeeds; else status 1. It rests as long
# as an attempt took, at least $PAUSE: what is waited for needs the processor, too.
wait_until() {
	local end=$((SECONDS + $1 * ${TIME_SCALE:-2})) begin took
	shift
	until begin=${EPOCHREALTIME/[.,]/}; "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		took=$((${EPOCHREALTIME/[.,]/} - begin + 1000000))
		pause "${PAUSE:-0.1}"
		[ "$took" -lt 1100000 ] || pause $((took / 1000000 - 1)).${took: -6}
	done
}

on_exit() {
	local rc=$?
	cp /run/vhcad.log /run/doorbelld.log "$SCENARIO_DIR/" 2>/dev/null ||
		true
	if [ "$rc" = 0 ] && [ "$checks" = 0 ]; then
		echo "it ended without a single check" >"$SCENARIO_DIR/why"
		exit 1
	fi
	exit "$rc"
}
on_err() {
	[ "$skipping" = 1 ] || [ -e "$SCENARIO_DIR/why" ] ||
		echo "line $2: '$3' returned $1" >"$SCENARIO_DIR/why"
}
trap on_exit EXIT
trap 'on_err $? $LINENO "$BASH_COMMAND"' ERR

guest_ip() { cat "$GUEST_RUN/$1.ip"; }
guest_domid() { xl domid "$1"; }

new_guest_number() {
	local n=1
	until mkdir "$GUEST_RUN/number.$n" 2>/dev/null; do
		n=$((n + 1))
	done
	echo "$n"
}

sectors() { echo $((($(stat -Lc %s "$1") + 511) / 512)); }

# hvm_config NAME COMMAND LINE: the lines of an HVM guest. The device model takes a kernel
# given to it through an I/O port, octet by octet: many minutes under emulation.
# GRUB reads it from AHCI disks, by DMA. Each file is a disk, padded to a
# geometry that the BIOS accepts.
hvm_config() {
	local dir=$GUEST_RUN/$1.disk f mb n=0 disks='' padding
	mkdir -p "$dir"
	cp /guest/base.zst "$dir/3"
	# The next archive begins at a multiple of 4.
	padding=$(((4 - $(stat -c %s "$dir/3") % 4) % 4))
	head -c $padding /dev/zero >>"$dir/3"
	cat /guest/overlay.cpio >>"$dir/3"
	cp /guest/grub.img "$dir/0"
	cat >"$dir/1" <<-EOT
	linux (hd2)0+$(sectors /guest/vmlinuz) $2
	initrd (hd3)0+$(sectors "$dir/3")
	boot
	EOT
	printf '%4096s' '' | tr ' ' '\n' >>"$dir/1"
	cp /guest/vmlinuz "$dir/2"
	for f in a b c d; do
		mb=$((8 + $(stat -c %s "$dir/$n") / 1048576))
		dd if=/dev/null of="$dir/$n" bs=1M seek=$mb 2>/dev/null
		disks+="\"format=raw,backendtype=qdisk,vdev=hd$f,access=rw,target=$dir/$n\", "
		n=$((n + 1))
	done
	printf '%s\n' 'vga = "stdvga"' 'vnc = 0' 'nographic = 1' 'usb = 0' \
		'serial = "none"' 'hdtype = "ahci"' "disk = [ ${disks%, } ]"
}

# guest_config NAME pv|pvh|hvm [mem=MB] [vcpus=N] [append=KERNEL ARGS]
# [grants=default] [xl.cfg line]...: writes NAME's xl configuration and prints its file
# name.
guest_config() {
	local name=$1 type=${ARM:+pvh} mem=$GUEST_MEM vcpus=1 append='' n arg cfg cmdline
	local grants=$'max_grant_frames = 1024\nmax_maptrack_frames = 1024'
	: "${type:=$2}"
	shift 2
	n=$(new_guest_number)
	cfg=$GUEST_RUN/$name.cfg
	echo "$BRIDGE_NET.$((10 + n))" >"$GUEST_RUN/$name.ip"
	cp "$GUEST_RUN/$name.ip" "$cfg.ip"
	rm -f "$GUEST_RUN/$name.spoilt"
	: >"$cfg.extra"
	for arg; do
		case "$arg" in
		mem=*)		mem=${arg#*=} ;;
		vcpus=*)	vcpus=${arg#*=} ;;
		append=*)	append=${arg#*=} ;;
		grants=default)	grants='' ;;
		*)		echo "$arg" >>"$cfg.extra" ;;
		esac
	done
	cat >"$cfg" <<-EOT
	name = "$name"
	type = "$type"
	memory = $mem
	vcpus = $vcpus
	$grants
	vif = [ "mac=00:16:3e:77:00:$(printf %02x $((10 + n))),bridge=xenbr0,script=vif,type=vif" ]
	on_poweroff = "destroy"
	on_crash = "destroy"
	on_reboot = "destroy"
	EOT
	cmdline="console=hvc0 quiet loglevel=4 panic=1 rdinit=/init net.ifnames=0"
	cmdline+=" mitigations=off"
	cmdline+=" cryptomgr.notests=1 initcall_blacklist=crypto_kdf108_init"
	cmdline+="${GUEST_APPEND:+ $GUEST_APPEND}${ARM:+ nosoftlockup vhca.reserve=16}"
	cmdline+=" vhca.ip=$(guest_ip "$name") vhca.name=$name $append"
	if [ "$type" = hvm ]; then
		hvm_config "$name" "$cmdline" >>"$cfg"
	else
		printf '%s\n' 'kernel = "/guest/vmlinux"' \
			"ramdisk = \"${GUEST_INITRD:-$GUEST_RUN/initrd}\"" \
			"extra = \"$cmdline\"" >>"$cfg"
	fi
	# A processor that emulates SVM is slow for everybody else on it: leave
	# one to dom0, if there is another (VHCA_CPUS: another choice).
	[ "$type" = pv ] || [ "$PROCESSORS" = 1 ] ||
		echo "cpus = \"${VHCA_CPUS:-all,^0}\"" >>"$cfg"
	cat "$cfg.extra" >>"$cfg"
	echo "$cfg"
}

# ready_or_gone DOMID: the guest's init wrote that it is up, or the domain is
# gone.
ready_or_gone() {
	xenstore-read "/local/domain/$1/data/ready" >/dev/null 2>&1 ||
		! xenstore-exists "/local/domain/$1"
}

# wait_ready DOMID SECONDS: for that, by a watch. Polling with processes would
# take half a processor from the guest that starts.
wait_ready() {
	local end=$((SECONDS + $2 * ${TIME_SCALE:-2}))
	until ready_or_gone "$1"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		# Once for the watch itself, once for the change; the limit is for
		# a change right before it.
		timeout $((2 * ${TIME_SCALE:-2})) xenstore-watch -n 2 "/local/domain/$1/data/ready" \
			>/dev/null 2>&1 || true
	done
}

# guest_start NAME [PROGRAM]: creates the domain from guest_config's file with
# PROGRAM create (default: xl, or a pooled guest of that configuration), waits for
# its guest shell.
guest_start() {
	local name=$1 program=${2:-xl} cfg=$GUEST_RUN/$1.cfg start dom
	stamp
	start=$NOW
	if [ "$program" = xl ] && pool_take "$name"; then
		note "guest $name: one that an earlier scenario left as it was"
		return
	fi
	cp "$cfg.ip" "$GUEST_RUN/$name.ip"
	"$program" create "$cfg" || fail "guest $name: $program create failed"
	dom=$(xl domid "$name" 2>/dev/null) ||
		fail "guest $name died at once"
	wait_ready "$dom" 240 ||
		fail "guest $name did not come up within 240 s"
	xl domid "$name" >/dev/null 2>&1 ||
		fail "guest $name died while it started"
	wait_until 20 guest-shell -t "$(seconds 5)" "$(guest_ip "$name")" $SHELL_PORT true ||
		fail "guest $name: its guest shell does not answer"
	stamp
	note "guest $name: up after $(awk "BEGIN { print $NOW - $start }") s"
}

# guest_create NAME pv|pvh|hvm [option or xl.cfg line]...: see guest_config.
guest_create() {
	guest_config "$@" >/dev/null
	guest_start "$1"
}

# all_well WHAT PID...: background jobs, all of which must succeed. The reason is
# theirs, if one gave any.
all_well() {
	local what=$1 pid
	shift
	for pid; do
		wait "$pid" ||
			fail "$what$(sed 's/^/: /' "$SCENARIO_DIR/why" 2>/dev/null)"
	done
}

# guests_start NAME...: of guest_config, as many at once as there are processors: two that
# start at once on one take twice to ten times the sum of their times.
guests_start() {
	local g pids=()
	for g; do
		guest_start "$g" &
		pids+=($!)
		((${#pids[@]} % PROCESSORS)) || wait "${pids[@]: -PROCESSORS}" || true
	done
	all_well "a guest did not start" "${pids[@]}"
}

# guests_create TYPE NAME...: several of one type at once.
guests_create() {
	local g type=$1
	shift
	for g; do
		guest_config "$g" "$type" >/dev/null
	done
	guests_start "$@"
}

# guest_destroy NAME: as a crash would: no chance to clean up.
guest_destroy() {
	xl destroy "$1"
}

# guest_sh [-t SECONDS] [-i] NAME COMMAND...: runs it in the guest by bash,
# streams stdout and stderr, returns its status (124 time-out, default 60 s;
# 255 no guest). -i passes stdin on. Several may run at once (use &).
guest_sh() {
	local opts=(-t $((60 * ${TIME_SCALE:-2}))) name ip=''
	while :; do
		case "$1" in
		-t)	opts+=(-t $(($2 * ${TIME_SCALE:-2}))); shift 2 ;;
		-i)	opts+=(-i); shift ;;
		*)	break ;;
		esac
	done
	name=$1
	shift
	# No process is started for what bash can do: it would take longer than most commands.
	read -r ip <"$GUEST_RUN/$name.ip" || true
	guest-shell "${opts[@]}" "$ip" $SHELL_PORT "$*"
}

# guest_put NAME LOCAL REMOTE and guest_get NAME REMOTE LOCAL: one file.
guest_put() { guest_sh -i "$1" "cat >'$3'" <"$2"; }
guest_get() { guest_sh "$1" "cat '$2'" >"$3"; }

# wait_guest SECONDS NAME COMMAND...: polls a command in the guest.
wait_guest() {
	local seconds=$1
	shift
	wait_until "$seconds" guest_sh "$@"
}

# Complaints of a kernel that no scenario may cause.
BAD_KERNEL='BUG|WARNING:|Oops|Bad page|Bad rss|Call Trace|refcount_t|hung task|grant still in use'
BAD_KERNEL+='|consumers in the kernel left'

# shellcheck source=tests/qemu/lib/pool.sh
. "${BASH_SOURCE%/*}/pool.sh"

# rxe_setup: Soft-RoCE device rxe0 on a dummy network device; GID index 1 is
# the IPv4 one (10.9.0.1).
rxe_setup() {
	[ ! -e /sys/class/infiniband/rxe0 ] || return 0
	modprobe -a dummy rdma_rxe ib_uverbs
	[ -e /sys/class/net/d0 ] || ip link add d0 type dummy
	ip addr add 10.9.0.1/24 dev d0
	ip link set d0 mtu 4200 up	# an MTU of 4096 for rxe
	# rxe receives a multicast packet only if its host joined the group,
	# and only from the device: not as one of the host's own addresses.
	ip addr add 239.77.1.1/32 dev d0 autojoin
	ip route del local 239.77.1.1 table local
	rdma link add rxe0 type rxe netdev d0
	wait_until 10 test -e /dev/infiniband/uverbs0
}
