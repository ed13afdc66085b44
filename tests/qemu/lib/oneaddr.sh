# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios share whose guests have one address for RDMA and everything else
# (vif=): an HCA on a network with another host, peer; who answers at an address, and to
# whom; what dom0's network looks like. Sourced after rdmacm.sh.

# No group of zeros, so that all programs print IPv6 addresses alike.
N6=2001:db8:3:1:1:1:1
declare -A V4=([dom0]=10.9.3.1 [peer]=10.9.3.5 [a]=10.9.3.71 [b]=10.9.3.72)
declare -A V6=([dom0]=$N6:1 [peer]=$N6:5 [a]=$N6:71 [b]=$N6:72)
# one_family 4|6: rdmacm.sh's programs use these.
one_family() {
	local where
	local -n from=V$1
	for where in "${!from[@]}"; do
		# shellcheck disable=SC2034 # of rdmacm.sh
		CM_ADDR[$where]=${from[$where]}
	done
}
one_family 4
HOST_SERVICE=7001
: "${SHARED_KEYS:=}"	# more keys of their devices, behind a comma

# two_hosts DEV OTHER [SECONDS]: dom0's interface, and that of the other host, which answers
# within that time.
two_hosts() {
	ip netns add peer
	ip link set "$2" netns peer
	ip addr add "${V4[dom0]}/24" dev "$1"
	ip addr add "${V6[dom0]}/64" dev "$1" nodad
	ip link set "$1" up
	ip -n peer addr add "${V4[peer]}/24" dev "$2"
	ip -n peer addr add "${V6[peer]}/64" dev "$2" nodad
	ip -n peer link set lo up
	ip -n peer link set "$2" up
	wait_until "${3:-10}" ip netns exec peer ping -q -c 1 -W 1 "${V4[dom0]}" ||
		fail "the other host does not reach dom0"
}
# network_setup [TYPE...]: Soft-RoCE device rxe2 of n0, whose other end is the peer's. Or n0
# is a port of SHARED_DEV, which is made with that type if there is none, and has rxe2.
# shellcheck disable=SC2120 # some give none
network_setup() {
	local dev=${SHARED_DEV:-n0}
	modprobe veth
	ip link add n0 type veth peer name n1
	[ $# = 0 ] || ip link add "$dev" type "$@"
	[ "$dev" = n0 ] || ip link set n0 master "$dev"
	ip link set n0 up
	two_hosts "$dev" n1
	rdma link add rxe2 type rxe netdev "$dev"
}
network_remove() {
	local dev=${SHARED_DEV:-n0}
	rdma link delete rxe2
	ip addr del "${V4[dom0]}/24" dev "$dev"
	ip addr del "${V6[dom0]}/64" dev "$dev"
	ip link delete n0
	ip netns delete peer
}

# network_state: all of dom0's network that one address may touch, but vifs.
network_state() {
	local f
	for f in -4 -6; do
		ip "$f" rule
		ip "$f" route show
		ip "$f" route show table 118 2>/dev/null || true
		ip "$f" neigh show nud permanent
	done | grep -v ' vif' | sed 's/ linkdown//'	# of a bridge without a vif
	ip neigh show proto 118
	ip -6 neigh show proto 118
	ip -o link | cut -d: -f2 | grep -v vif
	ip -o addr show dev "${SHARED_DEV:-n0}" | sed 's/ tentative//'
	nft list ruleset
	sysctl -a -r 'net\.ipv[46]\.(ip_forward|conf\..*\.(forwarding|rp_filter|proxy_arp|arp_ignore|accept_local|proxy_ndp))$' |
		grep -v '\.vif'
}
network_as_before() { network_state >/tmp/network.now && cmp -s /tmp/network{,.now}; }
# nothing_left: the guests have nothing in dom0's network any more.
nothing_left() {
	wait_until 20 network_as_before && return
	diff /tmp/network /tmp/network.now
	return 1
}

# share GUEST: it has its addresses, on the HCA and on its interface.
share() {
	share_only "$1"
	own_addresses "$1"
}
share_only() {	# not yet on its interface
	vhca_attach "$1" "hca=${SHARED_HCA:-rxe2},ip=${V4[$1]}/24 ${V6[$1]}/64,vif=0$SHARED_KEYS"
}
own_addresses() {
	guest_sh "$1" "ip addr add ${V4[$1]}/24 dev eth0 &&
		ip addr add ${V6[$1]}/64 dev eth0 nodad"
}
own_no_addresses() {
	guest_sh "$1" "ip addr del ${V4[$1]}/24 dev eth0 &&
		ip addr del ${V6[$1]}/64 dev eth0"
}

# serve WHERE: at each of its addresses it says who it is and who asks, and sends all
# data back.
serve() {
	at "$1" "[ -e /tmp/data ] || head -c $(long 100000 1000000) /dev/urandom >/tmp/data
	for f in TCP4-LISTEN:$HOST_SERVICE TCP6-LISTEN:$HOST_SERVICE,ipv6only=1; do
		PLACE=$1 setsid socat \$f,reuseaddr,fork \
			SYSTEM:'echo \$PLACE \$SOCAT_PEERADDR; exec cat' \
			</dev/null >/dev/null 2>&1 &
	done
	for ((i = 0; i < 100; i++)); do
		! grep -q :1B59 /proc/net/tcp || ! grep -q :1B59 /proc/net/tcp6 ||
			exit 0
		sleep 0.1
	done
	exit 1"
}
serve_all() {	# serve_all GUEST...: and dom0 and the peer
	local where pids=()
	for where; do
		serve "$where" &
		pids+=($!)
	done
	serve dom0
	serve peer
	all_well "no service" "${pids[@]}"
}
end_services() {	# end_services GUEST...; a peer's in a namespace end with dom0's
	local where
	for where in dom0 "$@"; do
		at "$where" 'pkill -x socat; exit 0'
	done
}

# bracketed ADDRESS: as socat wants it.
bracketed() {
	case $1 in
	*:*)	echo "[$1]" ;;
	*)	echo "$1" ;;
	esac
}
# talk 4|6 CLIENT SERVER: all data comes back over TCP, from the server and from no other
# place, and the server was asked from the client's address.
talk() {
	local said
	local -n addr=V$1
	said=$(at "$2" "{ read -r said && cmp - /tmp/data && echo \"\$said\"; } < \
		<(socat -t $(seconds 10) - \
		TCP$1:$(bracketed "${addr[$3]}"):$HOST_SERVICE,connect-timeout=$(seconds 5) \
		</tmp/data)") || true
	said=${said//[][]/}
	while [[ $said = *:0?* ]]; do
		said=${said//:0/:}
	done
	[ "$said" = "$3 ${addr[$2]}" ] || { echo "it says: $said"; return 1; }
}
# talks 4|6 "CLIENT SERVER"...
talks() {
	local pair
	for pair in "${@:2}"; do
		# shellcheck disable=SC2086
		check "TCP over IPv$1, ${pair/ / to }" talk "$1" $pair
	done
}

# connect WHERE ADDRESS PORT: how a connection ends, in socat's words.
connect() {
	at "$1" "socat -u OPEN:/dev/null \
		TCP4:$2:$3,connect-timeout=$(seconds 3) 2>&1 && echo connected" || true
}

# hears WHERE PORT: what it is told by UDP is in its /tmp/heard.WHERE.PORT.
hears() {
	at "$1" "setsid socat -u UDP4-RECV:$2 OPEN:/tmp/heard.$1.$2,creat,trunc \
		</dev/null >/dev/null 2>&1 &
	for ((i = 0; i < 100; i++)); do
		! grep -qi :$(printf %04X "$2") /proc/net/udp || exit 0
		sleep 0.1
	done
	exit 1"
}
# tell WHERE WORD FROM TO PORT
tell() { at "$1" "echo $2 | socat -u - UDP4-SENDTO:$4:$5,bind=$3"; }
heard() { at "$1" "grep -q $3 /tmp/heard.$1.$2"; }	# heard WHERE PORT WORD

# at_one_address: two guests, a and b, get one address each; all reach them at it, by TCP and
# by rdma_cm, but not dom0's listener. In the end nothing is left.
at_one_address() {
	local g where listener service=7002
	local pairs=('dom0 a' 'a dom0' 'peer a' 'a peer' 'a b' 'b a')
	network_state >/tmp/network
	share a
	share b
	check "the addresses are on ${SHARED_DEV:-n0}" bash -c \
		"[ \$(ip -o addr show dev ${SHARED_DEV:-n0} |
		grep -cE '${V4[a]}/|${V4[b]}/|${V6[a]}/|${V6[b]}/') = 4 ]"
	serve_all a b
	talks 4 "${pairs[@]}"
	talks 6 "${pairs[@]}"
	check "a answers a ping of the other host" \
		at peer "ping -q -c 1 -W $(seconds 2) ${V4[a]}"
	setsid socat TCP4-LISTEN:$service,reuseaddr,fork /dev/null \
		</dev/null >/dev/null 2>&1 &
	listener=$!
	wait_until 10 bash -c "ss -ltnH | grep ':$service '"
	for where in peer b; do
		check "$where does not reach dom0's listener at a's address" \
			grep -i refused <(connect "$where" "${V4[a]}" $service)
	done
	kill $listener
	one_family 4
	cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" "$@"
	one_family 6
	cm_case "rping, IPv6" "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a b' "${@: -1}"
	one_family 4
	end_services a b
	for g in a b; do
		check "detach $g" vhcactl detach $g all
	done
	check "nothing is left in dom0's network" nothing_left
	own_no_addresses a
	own_no_addresses b
}
