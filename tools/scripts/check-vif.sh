#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# vhca-vif as vhca-address runs it, with network namespaces as the machines: this domain
# with p0 (of a made-up HCA) and the bridge xenbr0, two guests with a vif on it, and a
# host on p0's wire.
set -eu

skip() {
	echo "skip $*"
	exit 77
}
# All that runs there ends with its first process.
apart="unshare -rnpf --mount-proc --kill-child"
if [ "${1:-}" != inside ]; then
	command -v nft >/dev/null || skip "nft is missing (package nftables)"
	$apart sh -c 'ip link add x0 type veth peer name x1 && nft -f -' \
		>/dev/null 2>&1 <<-'END' || skip "no nft with fwd and fib in a network namespace here"
		table netdev t {
			chain c {
				type filter hook ingress device x0 priority 0;
				fib daddr type local fwd ip to 192.0.2.1 device x0
			}
		}
	END
	# shellcheck disable=SC2086
	exec $apart "$0" inside
fi
# shellcheck source=tests/lib/claim.sh
. "$(dirname "$0")/../../tests/lib/claim.sh"
scripts=$(cd "$(dirname "$0")" && pwd)
# machine NAME
machine() {
	unshare -n sleep infinity &
	echo $! >"$work/$1"
	until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do
		sleep 0.1
	done
}
at() { # at MACHINE|here COMMAND...
	pid=$(cat "$work/$1")
	shift
	nsenter -t "$pid" -n "$@"
}
echo $$ >"$work/here"
cable() { # cable DEV MAC MACHINE: to eth0 there
	ip link add "$1" type veth peer name eth0 netns "$(cat "$work/$3")"
	ip link set "$1" up
	at "$3" ip link set lo up
	at "$3" ip link set eth0 address "$2" up
}
give() { # give MACHINE ADDRESS...
	m=$1
	shift
	for addr; do
		case $addr in
		*:*)	at "$m" ip addr add "$addr/64" dev eth0 nodad ;;
		*)	at "$m" ip addr add "$addr/24" dev eth0 ;;
		esac
	done
}

cat >"$work/tcp.py" <<'END'
# serve NAME: answers each connection with NAME.
# ask SECONDS [ADDRESS SOURCE]...: prints the answers, or "none".
import socket
import sys
if sys.argv[1] == "serve":
    s = socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        c = s.accept()[0]
        c.sendall(sys.argv[2].encode())
        c.close()
for to, source in zip(sys.argv[3::2], sys.argv[4::2]):
    try:
        c = socket.create_connection((to, 7000), int(sys.argv[2]), (source, 0))
        print(c.recv(9).decode())
    except OSError:
        print("none")
END
cat >"$work/udp.py" <<'END'
# serve FILE: writes what comes to RoCE's port; send ADDRESS SOURCE: sends there.
import socket
import sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "serve":
    s.bind(("", 4791))
    open(sys.argv[2] + ".up", "w").close()
    while True:
        who = s.recvfrom(9)[1][0]
        print(who, file=open(sys.argv[2], "a"))
s.bind((sys.argv[3], 0))
s.sendto(b"x", (sys.argv[2], 4791))
END
cat >"$work/tag.py" <<'END'
# send MAC FROM TO: a frame of VLAN 5; see FILE: writes when one has come.
import socket
import sys
if sys.argv[1] == "see":
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind(("eth0", 3))
    while True:
        frame, where = s.recvfrom(2000)
        if b"VLAN 5" in frame and where[2] != socket.PACKET_OUTGOING:
            print("seen", file=open(sys.argv[2], "a"))
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
ip = [socket.inet_aton(a) for a in sys.argv[3:]]
s.send(bytes.fromhex(sys.argv[2].replace(":", "")) + s.getsockname()[4] +
       bytes.fromhex("81000005080045000022000000004011") + b"\0\0" + ip[0] + ip[1] +
       bytes.fromhex("12345678000e0000") + b"VLAN 5")
END
serve() { # serve MACHINE|here
	at "$1" python3 "$work/tcp.py" serve "$1" &
}
# both WANT MACHINE|here FROM TO: who answers in both families; the last octets are given.
both() {
	time=10
	[ "$1" != none ] || time=1
	[ "$(at "$2" python3 "$work/tcp.py" ask $time "192.0.2.$4" "192.0.2.$3" \
		"2001:db8::$4" "2001:db8::$3" | tr '\n' ' ')" = "$1 $1 " ]
}
not() { ! "$@"; }
state() {
	ip rule
	ip -6 rule
	ip -o link show | sed 's/^[0-9]*: *\([^:@]*\).*/\1/' | sort
	ip neigh show nud permanent
	ip route show table all proto 118
	ip -6 route show table all proto 118
	nft list ruleset
}
sys=$work/sys
mkdir -p "$work/bin" "$sys/class/net/p0" "$sys/class/infiniband/rxe0/ports/1/gids" \
	"$sys/bus/xen-backend/devices/vif-5-0/net/vif5.0" \
	"$sys/bus/xen-backend/devices/vif-6-0/net/web"
printf '#!/bin/sh\necho "link rxe0/1 state ACTIVE netdev ${PORT_DEV:-p0}"\n' >"$work/bin/rdma"
chmod +x "$work/bin/rdma"
PATH=$work/bin:$PATH
export PATH VHCA_HCA=rxe0 VHCA_PORT=1 VHCA_PKEY='' VHCA_SYS="$sys" VHCA_VIF=0
echo Ethernet >"$sys/class/infiniband/rxe0/ports/1/link_layer"
for i in 7 8; do
	echo "fe80::$i" >"$sys/class/infiniband/rxe0/ports/1/gids/$i"
done

for m in host a b; do
	machine $m
done
ip link set lo up
ip link add xenbr0 type bridge
ip link set xenbr0 up
cable p0 02:00:00:00:00:05 host
cable vif5.0 00:16:3e:00:00:07 a
cable web 00:16:3e:00:00:08 b
ip link set vif5.0 master xenbr0
ip link set web master xenbr0
ip addr add 192.0.2.1/24 dev p0
ip addr add 2001:db8::1/64 dev p0 nodad
give host 192.0.2.5 2001:db8::5
give a 192.0.2.7 2001:db8::7
give b 192.0.2.8 2001:db8::8
for m in here host a b; do
	serve $m
done
state >"$work/before"

vhca() { # vhca DEVICE MAC VERB...
	VHCA_DEVICE=$1 VHCA_MAC=$2 "$scripts/vhca-address" "$3" \
		"192.0.2.$4" 192.0.2.0/24 "fe80::$4" "2001:db8::$4" 2001:db8::/64 "fe80::$4"
}
a() { vhca 5-0 "$1" "$2" 7; }
b() { vhca 6-0 00:16:3e:00:00:08 "$1" 8; }
MAC_A=00:16:3e:00:00:07

mkdir "$work/no-nft"
for p in awk cat cut dirname flock grep ip ls readlink sed sleep sort; do
	ln -s "$(command -v $p)" "$work/no-nft/$p"
done
refused() {
	(PATH=$work/bin:$work/no-nft && not a $MAC_A add) && [ -z "$(ip addr show to 192.0.2.7)" ]
}
claim "without nft this domain does not take the address" refused
printf '#!/bin/sh\nexit 1\n' >"$work/no-nft/nft"
chmod +x "$work/no-nft/nft"
claim "nor keeps it where nft fails" refused
claim "a guest's addresses, with its vif" a $MAC_A add
claim "another guest's, whose vif has a name of its own" b add
for m in here host a b; do
	until at $m python3 "$work/tcp.py" ask 1 ::1 ::1 | grep -q $m; do
		sleep 0.5
	done
done
claim "the guest connects to a host of which this domain has not heard" both host a 7 5
claim "what this domain connects to is the guest" both a here 1 7
claim "the guest connects to this domain" both here a 7 1
claim "a host on the HCA's network connects to the guest" both a host 5 7
claim "one guest to the other" both b a 7 8
hca_mac=$(ip -o link show p0 | sed 's|.*link/ether \([^ ]*\).*|\1|')
claim "for the host the guest's addresses have the HCA's MAC" eval \
	'for i in 192.0.2.7 2001:db8::7; do
		at host ip neigh show "$i" | grep -q "$hca_mac" || return 1
	done'

for m in here host; do
	at $m python3 "$work/udp.py" serve "$work/roce.$m" &
done
until [ -e "$work/roce.here.up" ] && [ -e "$work/roce.host.up" ]; do
	sleep 0.1
done
at host python3 "$work/udp.py" send 192.0.2.7 192.0.2.5
at a python3 "$work/udp.py" send 192.0.2.5 192.0.2.7
at a python3 "$work/udp.py" send 192.0.2.1 192.0.2.7
sleep 0.5
claim "RoCE for the guest's address comes to this domain, and none from its vif" eval \
	'[ "$(cat "$work/roce.here")" = 192.0.2.5 ] && not cat "$work/roce.host"'

claim "b speaks to both, and knows their MACs" eval 'both here b 8 1 && both host b 8 5'
give b 192.0.2.7 2001:db8::7
claim "who takes another guest's address reaches neither this domain nor the host" eval \
	'both none b 7 1 && both none b 7 5'
at b ip addr del 192.0.2.7/24 dev eth0
at b ip addr del 2001:db8::7/64 dev eth0

for m in a b host; do
	at $m timeout 3 python3 "$work/tag.py" see "$work/tagged.$m" &
done
sleep 1
at a python3 "$work/tag.py" send fe:ff:ff:ff:ff:ff 192.0.2.7 192.0.2.5
at host python3 "$work/tag.py" send "$hca_mac" 192.0.2.5 192.0.2.7
at a python3 "$work/tag.py" send 00:16:3e:00:00:08 192.0.2.7 192.0.2.8
sleep 0.5
claim "no frame gets into a VLAN of the HCA's network, nor out of one" \
	eval 'not cat "$work/tagged.a" && not cat "$work/tagged.host"'
claim "nor from the guest's vif to its bridge" not cat "$work/tagged.b"

# Each unknown host is an entry of a table that is one for all.
at a python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.7", 0))
for i in range(10, 250):
    s.sendto(b"x", ("192.0.2.%d" % i, 9))'
claim "a guest that looks for all hosts gets at some only" eval \
	'sleep 0.2; [ "$(ip neigh show dev p0 | wc -l)" -lt 100 ]'
left() { nft list set netdev vhca known4 | sed -n 's/.*192\.0\.2\.10 [^,]*expires \([0-9]*\)s.*/\1/p'; }
look() {
	at a python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.7", 0))
s.sendto(b"x", ("192.0.2.10", 9))'
}
claim "nor does it keep them by sending" eval \
	'before=$(left); sleep 2; look; [ "$(left)" -lt "$before" ]'

ip link add p1 type veth peer name p2
ip link set p1 up
mkdir "$sys/class/net/p1"
claim "b's addresses move to another network" eval '(PORT_DEV=p1; export PORT_DEV; b add)'
claim "the host of a's does not reach b there, nor does a" eval 'both none host 5 8 && both none a 7 8'
claim "they move back" eval 'b add && both b host 5 8 && both b a 7 8'
ip link del p1

claim "the vif is away: neither the guest nor this domain answers" eval \
	'a "" vif && both none host 5 7 && both none here 1 7'
claim "other guests go on" both b host 5 8
claim "it is there again" eval 'a $MAC_A vif && both a host 5 7'
mkdir "$work/count"
for p in awk cat cut dirname flock grep ip ls nft sed sort; do
	printf '#!/bin/sh\necho %s >>"%s"\nexec %s "$@"\n' \
		"$p" "$work/programs" "$(command -v "$p")" >"$work/count/$p"
done
chmod +x "$work/count"/*
claim "a slow host has time for it: few programs run" eval \
	'(PATH=$work/count:$PATH && a $MAC_A vif) && cat "$work/programs" &&
	[ "$(wc -l <"$work/programs")" -le 20 ]'
ip link del vif5.0
cable vif5.0 $MAC_A a
ip link set vif5.0 master xenbr0
give a 192.0.2.7 2001:db8::7
claim "another one in its place" eval 'a $MAC_A vif && both a host 5 7 && both a here 1 7'

claim "after runs that were killed the next one does all" eval \
	'for t in 0.02 0.05 0.1; do
		timeout -s KILL $t env VHCA_DEVICE=5-0 "$scripts/vhca-address" remove
	done 2>/dev/null
	a $MAC_A add && both a host 5 7 && both here a 7 1'

claim "one guest goes: its addresses are nobody's" eval \
	'VHCA_DEVICE=5-0 "$scripts/vhca-address" remove && both none host 5 7 &&
	[ -z "$(ip route show 192.0.2.7 table 118)" ]'
claim "the other one stays" both b here 1 8
ip addr del 192.0.2.8/32 dev p0
claim "an address that somebody removed by hand is forgotten as well" eval \
	'VHCA_DEVICE=6-0 "$scripts/vhca-address" remove'
claim "nothing is left at the end" eval \
	'state >"$work/after"; diff "$work/before" "$work/after"'
claim "nor if somebody removed a part of it" eval \
	'a $MAC_A add && ip link del vhcanet0 && VHCA_DEVICE=5-0 "$scripts/vhca-address" remove &&
	state >"$work/after"; diff "$work/before" "$work/after"'
VHCA_VIF=''
claim "without the key nothing of it is made" eval \
	'a "" add && not ip link show vhcanet0 && both here host 5 7'
verdict
