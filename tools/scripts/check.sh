#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# vhca-address with the kernel's own addresses and routes, in a network namespace
# with a pair of Ethernet devices; what sysfs and rdma say of an HCA is made up.
set -eu

if [ "${1:-}" != inside ]; then
	unshare -rn ip link add x0 type veth peer name x1 >/dev/null 2>&1 || {
		echo "skip no network namespace with a veth can be made here"
		exit 77
	}
	exec unshare -rn "$0" inside
fi
# shellcheck source=tests/lib/claim.sh
. "$(dirname "$0")/../../tests/lib/claim.sh"
script=$(cd "$(dirname "$0")" && pwd)/vhca-address

mkdir -p "$work/bin" "$work/run" "$work/sys/class/net/p0" \
	"$work/sys/class/infiniband/rxe0/ports/1/gids"
cat >"$work/bin/rdma" <<'END'
#!/bin/sh
echo "link rxe0/1 state ACTIVE physical_state LINK_UP netdev p0"
END
chmod +x "$work/bin/rdma"
PATH=$work/bin:$PATH
export PATH VHCA_HCA=rxe0 VHCA_PORT=1 VHCA_PKEY='' VHCA_SYS="$work/sys"
echo Ethernet >"$work/sys/class/infiniband/rxe0/ports/1/link_layer"
G4=0000:0000:0000:0000:0000:ffff:c000:02
G6=2001:0db8:0000:0000:0000:0000:0000:00
n=0
for g in ${G4}07 ${G4}08 ${G6}07; do
	echo "$g" >"$work/sys/class/infiniband/rxe0/ports/1/gids/$n"
	n=$((n + 1))
done
ip link add p0 type veth peer name p1
ip link set p0 up
ip link set p1 up

vhca() { # vhca DEVICE add|remove [ADDRESS NETWORK GID]...
	dev=$1
	shift
	# xen-vhcad had the records once, and workers still could write them.
	VHCA_DEVICE=$dev VHCA_RECORD=$work/run/$dev.address "$script" "$@"
}
a7() { vhca 5-0 add 192.0.2.7 192.0.2.0/24 ${G4}07 2001:db8::7 2001:db8::/64 ${G6}07; }
a8() { vhca 6-0 add 192.0.2.8 192.0.2.0/24 ${G4}08; }
list() { # list WANT: devices that have something here
	[ "$("$script" list | tr '\n' ' ')" = "$1" ]
}
has() { # has DEV ADDRESS: once
	[ "$(ip -o addr show dev "$1" to "$2" | wc -l)" = 1 ]
}
route() { [ "$(ip -4 -o route show 192.0.2.0/24 dev p0 | wc -l)" = "$1" ]; }
not() { ! "$@"; }
says() { # says WORDS COMMAND...: it fails, and says so
	words=$1
	shift
	! "$@" 2>"$work/err" && grep -q "$words" "$work/err"
}

claim "addresses of both families are put on the network device" a7
claim "they are there" eval 'has p0 192.0.2.7 && has p0 2001:db8::7 && route 1'
claim "again: nothing is doubled" eval 'a7 && has p0 192.0.2.7 && route 1'
ip addr add 192.0.2.77/32 dev p0 metric $((2147483648 + 5 * 65536))
ip addr add 192.0.2.78/32 dev p1 metric $((2147483648 + 5 * 65536))
claim "what it had by an earlier configuration goes, and no more" eval \
	'a7 && not has p0 192.0.2.77 && not has p1 192.0.2.78 && has p0 192.0.2.7 && route 1'
ip addr del 192.0.2.7/32 dev p0
ip addr add 192.0.2.7/32 dev p1 metric $((2147483648 + 5 * 65536))
claim "and what it had on another network device moves" eval \
	'a7 && has p0 192.0.2.7 && not has p1 192.0.2.7'
claim "a second device has its own" eval 'a8 && has p0 192.0.2.8 && route 1'
claim "an address that another device has is refused" \
	says 'is an address of this domain already' \
	vhca 7-0 add 192.0.2.7 - ${G4}07
claim "the other device has it still" has p0 192.0.2.7
claim "and what was refused leaves nothing" eval \
	'vhca 7-0 remove && list "5-0 6-0 " && has p0 192.0.2.7'
claim "the first one goes, the second keeps address and network" eval \
	'vhca 5-0 remove && not has p0 192.0.2.7 && has p0 192.0.2.8 && route 1'
claim "of IPv6 as well" not has p0 2001:db8::7
claim "removed twice is removed" vhca 5-0 remove
claim "with the last one the network goes" eval \
	'vhca 6-0 remove && not has p0 192.0.2.8 && route 0'
claim "no device has anything here" list ""

ip addr add 192.0.2.1/24 dev p0
claim "where this domain is in the network no route is made" eval \
	'a8 && has p0 192.0.2.8 && [ "$(ip -4 -o route show proto 118)" = "" ]'
claim "its own address is nobody else's" \
	says '192.0.2.1 is an address of this domain' \
	vhca 7-0 add 192.0.2.1 - ${G4}01
claim "and stays" eval 'vhca 7-0 remove && has p0 192.0.2.1'
claim "somebody else took the address away: again puts it there" eval \
	'ip addr del 192.0.2.8/32 dev p0 && a8 && has p0 192.0.2.8'
claim "or removes what is left" eval \
	'ip addr del 192.0.2.8/32 dev p0 && vhca 6-0 remove && list ""'
ip addr del 192.0.2.1/24 dev p0

# A worker that a guest took over writes any file that it likes.
ip link add xenbr0 type bridge
ip addr add 192.0.2.1/24 dev p1
ip addr add 192.0.2.2/32 dev p0
ip addr add 192.0.2.3/24 dev p0 metric 100
ip addr add 192.0.2.4/32 dev p0 metric 4294967295
ip addr add 192.0.2.5/30 dev p0 metric $((2147483648 + 9 * 65536 + 9))
ip route add 203.0.113.0/24 dev p0 proto static
forged() { # forged DEVICE
	printf '%s\n' 'link xenbr0' 'addr p1 192.0.2.1' 'addr p0 192.0.2.2' \
		'addr p0 192.0.2.3' 'addr p0 192.0.2.8' 'net p0 203.0.113.0/24' \
		>"$work/run/$1.address"
	vhca "$1" remove
}
claim "what a worker makes up takes nothing of another guest" eval \
	'a8 && forged 9-9 && has p0 192.0.2.8 && list "6-0 "'
claim "nor the domain's own interfaces" ip link show dev xenbr0
claim "nor its addresses" eval \
	'has p1 192.0.2.1 && for i in 2 3 4 5; do has p0 192.0.2.$i || return 1; done'
claim "nor its routes" eval '[ -n "$(ip route show 203.0.113.0/24)" ]'
claim "nor is anything of a device forgotten for it" eval \
	'rm "$work/run"/* && vhca 6-0 remove && not has p0 192.0.2.8'
ip addr flush dev p1
ip addr flush dev p0
ip route flush dev p0 proto static

ip link add br0 type bridge
ip link set br0 up
mkdir -p "$work/sys/class/net/p0/upper_br0" "$work/sys/class/net/br0"
ip addr add 192.0.2.1/24 dev br0
claim "what is stacked on it and in the network gets the address" eval \
	'a8 && has br0 192.0.2.8 && not has p0 192.0.2.8 && vhca 6-0 remove'
ip addr del 192.0.2.1/24 dev br0
ln -s ../br0 "$work/sys/class/net/p0/master"
claim "a port of a bridge or bond has none of its own" eval \
	'a8 && has br0 192.0.2.8 && vhca 6-0 remove'

rm "$work/sys/class/infiniband/rxe0/ports/1/gids/1"
claim "an address without a GID is said" says 'has no GID of it: is br0 up' a8
claim "and taken off" eval 'vhca 6-0 remove && not has br0 192.0.2.8'
printf '#!/bin/sh\n' >"$work/bin/rdma"
claim "an HCA without a network device is said" \
	says 'has no network device' a8
# An InfiniBand port with two IPoIB interfaces, of which one is a child: Linux says of
# that one neither the HCA nor the port.
ipoib() { # ipoib DEV PKEY IFINDEX IFLINK
	mkdir -p "$work/sys/class/net/$1"
	echo 32 >"$work/sys/class/net/$1/type"
	echo 0 >"$work/sys/class/net/$1/dev_port"
	echo "$3" >"$work/sys/class/net/$1/ifindex"
	echo "$4" >"$work/sys/class/net/$1/iflink"
	echo "00:ff:ff:ff:ff:12:40:1b:$2:00:00:00:00:00:00:ff:ff:ff:ff" \
		>"$work/sys/class/net/$1/broadcast"
}
rm -r "$work/sys/class/net/p0"
ipoib p0 80:01 12 11
ipoib p1 ff:ff 11 11
mkdir -p "$work/sys/class/net/p1/device/infiniband/mlx5_0"
mkdir -p "$work/sys/class/infiniband/mlx5_0/ports/1"
echo InfiniBand >"$work/sys/class/infiniband/mlx5_0/ports/1/link_layer"
VHCA_HCA=mlx5_0 VHCA_PKEY=0x0001
claim "of a partition it is put on the interface that has the P_Key" eval \
	'a8 && has p0 192.0.2.8 && vhca 6-0 remove && not has p0 192.0.2.8'
VHCA_PKEY=''
claim "without one on that of the default partition" eval \
	'a8 && has p1 192.0.2.8 && vhca 6-0 remove && not has p1 192.0.2.8'
VHCA_PKEY=0x8001
ip link set p0 alias xen-vhca		# as one that was made here
claim "the one that made an interface goes before the one that uses it" eval \
	'vhca 9-0 add 192.0.2.9 - "" && a8 && vhca 9-0 remove && has p0 192.0.2.8'
claim "an interface that was not made here stays" ip link show dev xenbr0
claim "the interface goes with the last one" eval \
	'vhca 6-0 remove && not ip link show p0 2>/dev/null'
VHCA_PORT=2
claim "a port without an interface is said" says 'has no IPoIB interface' a8
claim "nothing is left at the end" eval \
	'vhca 6-0 remove && list "" && route 0'
verdict
