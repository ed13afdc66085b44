#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two machines, each in a QEMU of its own and with one HCA, and a cable between
# them that is a UNIX socket: subnet manager, IPoIB and verbs from end to end. With --address
# one of them has Xen and two guests, which have one address each for RDMA and everything
# else.
# Usage: two-machines.sh [--build DIR] [--out DIR] [--address]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build
out='' port=ib
declare -A script=([a]=two-machines-guest.sh [b]=two-machines-guest.sh)
while [ $# -gt 0 ]; do
	case "$1" in
	--build) build=$2; shift ;;
	--out)	out=$2; shift ;;
	--address) port=eth script=([a]=one-address-host.sh [b]=one-address-peer.sh) ;;
	*)	echo "usage: two-machines.sh [--build DIR] [--out DIR] [--address]" >&2
		exit 2 ;;
	esac
	shift
done
out=${out:-$build/hca}
cable=$(mktemp -d)
trap 'rm -rf "$cable"' EXIT

# machine NAME GUID SOCKET OPTIONS
machine() {
	VHCA_SMP=1 VHCA_SLOTS=2 DOM0_EXTRA="hca.role=$1" \
	QEMU_EXTRA="-chardev socket,id=cable,path=$cable/s,$3
		-device connectx4,id=hca0,chardev=cable,guid=$2,port=$port" \
		"$here/../qemu/run" --build "$build" --out "$out/$1" \
		"$here/${script[$1]}"
}

# Without "a", "b" has nobody to tell it that all is done.
machine a 0x0002c90300200010 server=on,wait=off &
a=$!
machine b 0x0002c90300200020 reconnect=1 >"$cable/b.log" 2>&1 &
b=$!
wait "$a" || { rc=$?; kill "$b"; }
wait "$b" || rc=$?
sed 's/^/b: /' "$cable/b.log"
exit "${rc:-0}"
