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
machines=()
trap '[ "${#machines[@]}" = 0 ] || kill "${machines[@]}" 2>/dev/null || true
	rm -rf "$cable"' EXIT
trap 'exit 130' INT TERM

# machine NAME GUID SOCKET OPTIONS: in the background; who kills it kills run.
machine() {
	VHCA_SMP=1 VHCA_SLOTS=2 DOM0_EXTRA="hca.role=$1" \
	QEMU_EXTRA="-chardev socket,id=cable,path=$cable/s,$3
		-device connectx4,id=hca0,chardev=cable,guid=$2,port=$port" \
		exec "$here/../qemu/run" --build "$build" --out "$out/$1" \
		"$here/${script[$1]}"
}

machine a 0x0002c90300200010 server=on,wait=off &
machines+=($!)
machine b 0x0002c90300200020 reconnect=1 >"$cable/b.log" 2>&1 &
machines+=($!)
# Without "a", "b" has nobody to tell it that all is done.
wait "${machines[0]}" || { rc=$?; kill "${machines[1]}" 2>/dev/null || true; }
wait "${machines[1]}" || rc=$?
sed 's/^/b: /' "$cable/b.log"
exit "${rc:-0}"
