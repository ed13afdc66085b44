# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios about rdma_cm share: two programs at two places, a place being
# dom0, a guest, or peer, another host (a network namespace). What they end with
# in dom0 alone is what they have to end with everywhere. Sourced after vhca.sh.

declare -A CM_ADDR	# of each place
# CM_DEV: dom0's interface, on which programs join groups; d0 unless it is set.

# These serve until they are killed.
CM_FOREVER='cmtime rcopy udpong'

# peer_sh COMMAND: on the other host. A scenario whose other host is another machine defines
# its own.
peer_sh() { timeout "$(seconds 60)" ip netns exec peer bash -c "$1"; }
# at WHERE COMMAND
at() {
	case "$1" in
	dom0)	timeout "$(seconds 60)" bash -c "$2" ;;
	peer)	peer_sh "$2" ;;
	*)	guest_sh -t 60 "$1" "$2" ;;
	esac
}

# A server listens, or has joined a group, in dom0's kernel, wherever its program is.
cm_listens() { rdma resource show cm_id | grep -q LISTEN; }
cm_groups() { ip maddr show dev "${CM_DEV:-d0}" 2>/dev/null || true; }
cm_ready_or_ended() { # cm_ready_or_ended GROUPS PID
	cm_listens || [ "$(cm_groups)" != "$1" ] || ! kill -0 "$2" 2>/dev/null
}
no_cm_ids() { ! rdma resource show cm_id | grep -q vhcad-; }

# cm_serve WHERE COMMAND: starts a server as $server and waits until it serves. The one
# before it has to be gone in the kernel, too.
cm_serve() {
	local groups
	wait_until 10 not cm_listens || note "who listens? $(rdma resource show cm_id)"
	groups=$(cm_groups)
	at "$1" "$2" >/tmp/cm.s 2>&1 &
	server=$!
	wait_until 10 cm_ready_or_ended "$groups" "$server" ||
		note "nothing listens: $2"
}

# cm_end SERVER PROGRAM PID RC: its status to $rs; of one that had to be killed
# because it serves for ever, or because its client failed, "ended".
cm_end() {
	local killed=''
	case " $CM_FOREVER " in
	*" $2 "*)	killed=yes ;;
	*)		[ "$4" = 0 ] || killed=yes ;;
	esac
	rs=0
	[ -z "$killed" ] || at "$1" "pkill -x $2" || killed=''
	wait "$3" || rs=$?
	[ -z "$killed" ] || rs=ended
}

# cm_once SERVER CLIENT COMMAND COMMAND: both programs; "@" is the server's
# address, "%" the place's own. $verdict: the status of each.
cm_once() {
	local server rs rc=0 s c
	s=${3//@/${CM_ADDR[$1]}}
	s=${s//%/${CM_ADDR[$1]}}
	c=${4//@/${CM_ADDR[$1]}}
	c=${c//%/${CM_ADDR[$2]}}
	cm_serve "$1" "$s"
	at "$2" "$c" >/tmp/cm.c 2>&1 || rc=$?
	cm_end "$1" "${s%% *}" "$server" "$rc"
	verdict="$rs $rc"
}

# cm_pair ...: the same. perftest gives up where the clock is not steady, as in
# pair_try(). It also connects twice, and its server listens anew in between: a
# client that is faster finds nobody (REJECTED, 8), and Debian's then crashes.
cm_pair() {
	local attempt
	for attempt in 1 2 3 4; do
		cm_once "$@"
		[[ $3 = ib_* ]] && [ "$verdict" != "0 0" ] && grep -qsE \
			'Correlation coefficient|REJECTED; error: 8' \
			/tmp/cm.[sc] || break
		note "$3: no clock or no listener ($attempt)"
	done
}

# cm_case CLAIM SERVER-COMMAND CLIENT-COMMAND PAIR...: dom0 alone, then each pair
# "SERVER CLIENT".
cm_case() {
	local claim=$1 server=$2 client=$3 pair native attempt
	shift 3
	# A subnet manager that has new partitions to set up leaves questions unanswered.
	for attempt in 1 2 3; do
		cm_pair dom0 dom0 "$server" "$client"
		native=$verdict
		[ "${native##* }" != 0 ] || break
		note "$claim: dom0 alone, attempt $attempt: $(tail -qn 3 /tmp/cm.[sc] |
			tr '\n' ' ')"
	done
	check "$claim: dom0 alone" [ "${native##* }" = 0 ]
	for pair; do
		# shellcheck disable=SC2086
		cm_pair $pair "$server" "$client"
		[ "$verdict" = "$native" ] || tail -n 4 /tmp/cm.s /tmp/cm.c
		check "$claim: server and client in $pair" \
			[ "$verdict" = "$native" ]
	done
}

# cm_fails CLAIM SERVER-COMMAND CLIENT-COMMAND PAIR...: it fails natively, so it
# fails in guests.
cm_fails() {
	local claim=$1 server=$2 client=$3 pair
	shift 3
	for pair in 'dom0 dom0' "$@"; do
		# shellcheck disable=SC2086
		cm_once $pair "$server" "$client"
		note "$claim in $pair: $(tail -qn 3 /tmp/cm.c | tr '\n' ' ')"
		check "$claim fails, server and client in $pair" \
			[ "${verdict##* }" != 0 -a "${verdict##* }" != 124 ]
	done
}

# cm_words: of a client: what it says of events and errors.
cm_words() { grep -iE 'event:|error|refused|assign' "$1" || true; }

# cm_alone CLAIM COMMAND WHERE...: a client without a server says and returns in each
# place what it does in dom0, there with @ as dom0's own address.
cm_alone() {
	local claim=$1 where rc rc0=0 words
	at dom0 "${2//@/${CM_ADDR[dom0]}}" >/tmp/cm.0 2>&1 || rc0=$?
	words=$(cm_words /tmp/cm.0)
	note "$claim: $words"
	check "$claim: dom0 has words for it" [ "$rc0" != 0 -a -n "$words" ]
	for where in "${@:3}"; do
		rc=0
		at "${where%% *}" "${2//@/${CM_ADDR[${where##* }]}}" \
			>/tmp/cm.1 2>&1 || rc=$?
		cm_words /tmp/cm.1
		check "$claim: the same in ${where%% *}" \
			[ "$rc $(cm_words /tmp/cm.1)" = "$rc0 $words" ]
	done
}
