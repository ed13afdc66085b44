# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios about suspended guests share: a guest that runs one program
# after the other, and checkpoints, saves and restores under them. Sourced after
# vhca.sh.

# load_start GUEST [OPTION...]: programs in the guest, each with verified traffic
# until it fails. /tmp/load.N is what the Nth said, /tmp/load its number.
load_start() {
	local guest=$1
	shift
	spoilt "$guest"
	guest_sh -i "$guest" 'cat >/tmp/load.sh
		echo 0 >/tmp/load
		setsid bash /tmp/load.sh </dev/null >/dev/null 2>&1 &' <<-EOT
	while [ ! -e /tmp/load.end ]; do
		n=\$((n + 1))
		: >/tmp/load.\$n
		echo \$n >/tmp/load
		vhca-xfer --loop --pause $(long 0 0 1000) --timeout $(seconds 5000) $* \
			--traffic 900 >/tmp/load.\$n 2>&1
		echo "status \$?" >>/tmp/load.\$n
		sleep 0.2
	done
	EOT
	goes_on "$guest" 0 || fail "no traffic in $guest"
}

# load_end GUEST: the last program is stopped from outside.
load_end() {
	guest_sh "$1" 'touch /tmp/load.end; pkill -x vhca-xfer
		until grep -q ^status "/tmp/load.$(cat /tmp/load)"; do
			sleep 0.1
		done'
}

# load_number GUEST: which program runs now. The file is empty while it is written.
load_number() {
	guest_sh "$1" 'until read -r n </tmp/load; do sleep 0.1; done
		echo "$n"'
}

# goes_on GUEST N: program N was told that the device died, another one after it
# has traffic, no byte was ever wrong, and the kernel has no complaint.
goes_on() {
	# Its network comes back too: do not wait for lost packets.
	wait_until 60 guest_sh -t "$(long 5 5 10)" "$1" true || {
		echo "$1 does not answer"
		xl list
		ps -eo pid,stat,time,args --sort=-time | head -n 12
		return 1
	}
	guest_sh -t 70 "$1" '
		on=
		while [ $SECONDS -lt '"$(seconds 50)"' ]; do
			n=$(cat /tmp/load)
			[ "$n" -gt '"$2"' ] && grep -q "^t=1 " /tmp/load.$n &&
				on=1 && break
			sleep 0.2
		done
		[ '"$2"' = 0 ] || grep -q "fatal event" /tmp/load.'"$2"' || on=
		[ "$on" ] &&
			! grep -h errors= /tmp/load.* | grep -v errors=0 &&
			! dmesg | grep -E "'"$BAD_KERNEL"'" && exit
		tail -n 3 /tmp/load.*
		dmesg | tail -n 40
		exit 1'
}

# checkpoint GUEST: it is saved and goes on. Nobody needs the file.
checkpoint() {
	local n
	n=$(load_number "$1")
	xl save -c "$1" /dev/null >"/tmp/xl.$1" 2>&1 ||
		fail "xl save -c $1: $(tail -n 5 "/tmp/xl.$1")"
	goes_on "$1" "$n" || fail "$1 does not go on after a checkpoint"
}

# save GUEST and restore GUEST [-p]
save() {
	xl save "$1" "/run/$1.save" >"/tmp/xl.$1" 2>&1 ||
		fail "xl save $1: $(tail -n 5 "/tmp/xl.$1")"
}
restore() {
	# shellcheck disable=SC2086
	xl restore ${2:-} "/run/$1.save" >"/tmp/xl.$1" 2>&1 ||
		fail "xl restore $1: $(tail -n 5 "/tmp/xl.$1")"
	rm "/run/$1.save"
}

# resume_with GUEST HCA: saved and restored by a toolstack that brings the vhca
# back: at the new domain's first instruction the nodes are there.
resume_with() {
	local n
	n=$(load_number "$1")
	save "$1"
	restore "$1" -p
	vhcactl attach -w 0 "$1" "hca=$2"
	xl unpause "$1"
	goes_on "$1" "$n" || fail "$1 does not go on after a restore"
}

# resume_without GUEST HCA: by a toolstack that does not know of vhcas. An
# operator attaches a new one.
resume_without() {
	local n
	n=$(load_number "$1")
	save "$1"
	restore "$1"
	vhcactl attach "$1" "hca=$2" || fail "vhcactl attach $1 after a restore"
	goes_on "$1" "$n" || fail "$1 does not go on with a new device"
}
