# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios with many guests share: guests as small as they can be, and what
# processes of dom0 cost. Numbers go to $SCENARIO_DIR/scale, lines "name value ...",
# of which docs/results/scaling.md is filled. Sourced after vhca.sh.

TINY_MEM=128
TINY_PROVIDERS=rxe	# of rdma-core, that their root has
TINY_DIR=/run/tiny

# tell NAME VALUE...: a number for the table.
tell() {
	echo "$*" >>"$SCENARIO_DIR/scale"
	note "$*"
}

# ---- tiny guests ------------------------------------------------------------

# tiny_take PATH...: files of the full root, links and what they lead to.
tiny_take() {
	local path link
	for path; do
		(cd "$TINY_DIR/full" && cp -a --parents "$path" ../root/)
		link=$(readlink "$TINY_DIR/full/$path") || continue
		case "$link" in
		/bin/*)	link=usr$link ;;
		/*)	link=${link#/} ;;
		*)	link=${path%/*}/$link ;;
		esac
		tiny_take "$link"
	done
}

# tiny_libraries PROGRAM...: what they are linked with, by the root's own loader; in
# Debian 13 udevd is with a library in a folder of systemd's.
tiny_libraries() {
	local full=$TINY_DIR/full lib path
	lib=$full/usr/lib/x86_64-linux-gnu
	for path; do
		{ "$full/usr/lib64/ld-linux-x86-64.so.2" --library-path "$lib:$lib/systemd" \
			--list "$full/$path" || true; } 2>/dev/null
	done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
		while read -r path; do
			cp -L "$path" "$TINY_DIR/root/usr/lib/x86_64-linux-gnu/"
		done
}

# tiny_providers: those of TINY_PROVIDERS, in full and root of the caller, and no other.
# Each is one of its programs.
tiny_providers() {
	local p
	for p in "$root"/etc/libibverbs.d/*; do
		[[ " $TINY_PROVIDERS " = *" $(basename "$p" .driver) "* ]] || rm "$p"
	done
	for p in $TINY_PROVIDERS; do
		p=$(cd "$full" && echo usr/lib/x86_64-linux-gnu/libibverbs/lib"$p"-*)
		tiny_take "$p"
		programs+=("$p")
	done
}

# tiny_initrd: a root with some providers, the guest shell and the programs
# that the scenarios run: half as large as the other. Sets GUEST_INITRD.
tiny_initrd() {
	local full=$TINY_DIR/full root=$TINY_DIR/root p programs=() dir
	GUEST_INITRD=$GUEST_RUN/initrd.tiny.${TINY_PROVIDERS// /.}
	[ ! -e "$GUEST_INITRD" ] || return 0
	rm -rf "$TINY_DIR"
	mkdir -p "$full" "$root/usr/lib/x86_64-linux-gnu/libibverbs"
	for p in base overlay; do
		(cd "$full" && cpio -idmu --quiet <"/guest/$p.cpio")
	done
	for dir in "$full"/*; do
		[ ! -L "$dir" ] || cp -a "$dir" "$root/"
	done
	for dir in dev proc sys run tmp root; do
		mkdir -p "$root/$dir"
	done
	cp -a "$full/etc" "$root/"
	cp -a "$full/init" "$root/"
	for p in bash sh awk mawk cat ls grep sed sleep true false env head tail rm \
		mkdir mount mountpoint dmesg kill timeout udevadm kmod modprobe \
		xenstore-read xenstore-write xenstore-ls ibv_devices ibv_devinfo \
		guest-shell vhca-many vhca-xfer; do
		for dir in usr/bin usr/sbin; do
			[ -e "$full/$dir/$p" ] || [ -L "$full/$dir/$p" ] || continue
			tiny_take "$dir/$p"
			programs+=("$dir/$p")
		done
	done
	tiny_take usr/lib/systemd/systemd-udevd usr/lib64/ld-linux-x86-64.so.2
	cp -a "$full/usr/lib/udev" "$full/usr/lib/modules" "$root/usr/lib/"
	tiny_providers
	# From Debian 13 on udevd opens it by name, and is not linked with it.
	p=usr/lib/x86_64-linux-gnu/libkmod.so.2
	if [ -e "$full/$p" ]; then
		tiny_take "$p"
		programs+=("$p")
	fi
	tiny_libraries "${programs[@]}"
	(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$GUEST_INITRD.new"
	tell initrd_mib $(($(stat -c %s "$GUEST_INITRD.new") / 1048576))
	rm -rf "$TINY_DIR"
	mv "$GUEST_INITRD.new" "$GUEST_INITRD"
}

# tiny_guests NAME...: makes and starts them; tiny_guests_of MIB NAME...: of that size.
tiny_guests() { tiny_guests_of "$TINY_MEM" "$@"; }
tiny_guests_of() {
	local g mem=$1
	shift
	tiny_initrd
	for g; do
		guest_config "$g" pv mem="$mem" >/dev/null
		spoilt "$g"
	done
	guests_start "$@"
}

# ---- what a process cost ----------------------------------------------------

# cost PID: reads and writes (each request of xenstore is some), times that it was
# woken, and its time on a processor in ticks of 10 ms, all since it started.
cost() {
	local io wakeups
	io=$(awk '/^sysc[rw]/ { n += $2 } END { print n + 0 }' "/proc/$1/io")
	wakeups=$(cat /proc/"$1"/task/*/status |
		awk '/^voluntary_ctxt/ { n += $2 } END { print n + 0 }')
	echo "$io $wakeups $(awk '{ print $14 + $15 }' "/proc/$1/stat")"
}

supervisor_cost() { cost "$(supervisor_pid)"; }
agent_cost() { cost "$(pgrep -o -x xen-vhca-doorbe)"; }
xenstored_cost() { cost "$(pgrep -o -x xenstored)"; }

# costs_begin and costs_since N: of the three since then, for each of N events, as
# supervisor_io supervisor_wakeups supervisor_ticks agent_... xenstored_...
costs_begin() {
	costs_at="$(supervisor_cost) $(agent_cost) $(xenstored_cost)"
}
costs_since() {
	echo "$costs_at $(supervisor_cost) $(agent_cost) $(xenstored_cost)" |
		awk -v n="$1" '{ for (i = 1; i <= 9; i++)
			printf("%s%.1f", (i > 1 ? " " : ""), ($(i + 9) - $i) / n)
			print "" }'
}
costs_at=''

workers() { cat "$RUN_DIR"/*-*.lock; }

# memory_of_workers: median and most of Pss, median of what is private, in KiB.
memory_of_workers() {
	local pid
	for pid in $(workers); do
		awk '/^Pss:/ { p = $2 } /^Private_/ { m += $2 } END { print p, m }' \
			"/proc/$pid/smaps_rollup"
	done | sort -n | awk '{ p[NR] = $1; m[NR] = $2 }
		END { k = int((NR + 1) / 2); print p[k], p[NR], m[k] }'
}

# wakeups_of_workers: of all their threads, since they started.
wakeups_of_workers() {
	local pid
	for pid in $(workers); do
		cat "/proc/$pid"/task/*/status
	done | awk '/^voluntary_ctxt/ { n += $2 } END { print n + 0 }'
}

free_kib() { awk '/^MemFree/ { print $2 }' /proc/meminfo; }

# many_ends GUEST: a vhca-many that holds or loops there ends in order; of several
# processes the first one, which asks the others.
# shellcheck disable=SC2016
many_ends() {
	guest_sh "$1" 'kill -TERM $(cat /proc/[0-9]*/stat 2>/dev/null | awk "
		\$2 == \"(vhca-many)\" && (!n || \$1 < n) { n = \$1 } END { print n }")'
}

# value_of NAME FILE [LINE]: the number behind NAME in lines of vhca-many that begin
# with LINE.
value_of() {
	awk -v name="$1" -v line="${3:-}" '!line || $1 == line {
		for (i = 1; i < NF; i++) if ($i == name) v = $(i + 1) }
		END { print v }' "$2"
}
