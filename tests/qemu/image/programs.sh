#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes what scenarios with "# programs: yes" lay over a root, and prints the folder that
# holds it: programs.cpio, with Debian's programs that use RDMA and IP at one address (fio,
# qperf, UCX, Open MPI with NetPIPE, iperf3), ethtool and devlink. Nothing of this project
# is inside. Cached as image.sh's. Needs no root.
#
# Environment: SUITE, the Debian release of it (../lib/suite.sh)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../lib/suite.sh"
# shellcheck source=tests/lib/mirror.sh
. "$here/../../lib/mirror.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../../lib/retry.sh"
# shellcheck source=tests/qemu/lib/roots.sh
. "$here/../lib/roots.sh"
# shellcheck disable=SC2034 # of roots.sh
triplet=x86_64-linux-gnu
packages=fio,qperf,ucx-utils,iperf3,ethtool,iproute2
programs=(fio qperf ucx_info ucx_perftest io_demo iperf3 ethtool devlink)
# Open MPI 5 of later releases starts its processes otherwise.
[ "$SUITE" != bookworm ] || {
	packages+=,openmpi-bin,netpipe-openmpi
	programs+=(orterun orted NPopenmpi)
}

key=$({ cat "$here/programs.sh" "$here/../lib/roots.sh"; echo "$SUITE$SUITE_WEEK"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/programs-$key
say() { echo "image: $*" >&2; }
images_begin
all=$work/all
root=$work/root

say "fetching Debian's programs that use RDMA (once; cached in ${cache%/*})"
debian_tar "$SUITE" "$work" "$packages" --variant=extract \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr || exit 1
mkdir -p "$all" "$root"
tar -C "$all" --exclude='./dev/*' --no-same-owner -xf "$work/root.tar"
rm "$work/root.tar"
for p in "${programs[@]}"; do
	take "$root" "$(program "$p")"
done
# What these open by name: transports of UCX, components of Open MPI and of its PMIx.
lib=usr/lib/$triplet
take "$root" "$lib/ucx"
rm -f "$root/$lib/ucx"/lib*_rocm.so*	# later releases': for GPUs, by 240 MB of libraries
[ "$SUITE" != bookworm ] || {
	take "$root" "$lib/openmpi/lib/openmpi3" "$lib/pmix2/lib/pmix" \
		"$lib/pmix2/share/pmix" usr/share/openmpi etc/openmpi
	# For networks that no machine here has.
	rm "$root/$lib/openmpi/lib/openmpi3"/mca_*_{ofi,psm,psm2}.so
}
take_libraries "$root"
pack "$root" "$cache.tmp/programs.cpio"
images_end
