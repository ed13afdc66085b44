#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes what scenarios with "# pyverbs: yes" lay over a root, and prints the folder that
# holds it: pyverbs.cpio, with Debian's Python, its bindings of libibverbs and the tests
# of rdma-core that come with them (/usr/share/pyverbs/tests). Nothing of this project
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
key=$({ cat "$here/pyverbs.sh" "$here/../lib/roots.sh"; echo "$SUITE$SUITE_WEEK"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/pyverbs-$key
say() { echo "image: $*" >&2; }
images_begin
all=$work/all
root=$work/root

say "fetching Debian's Python for rdma-core's tests (once; cached in ${cache%/*})"
debian_tar "$SUITE" "$work" python3,python3-pyverbs --variant=extract \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr || exit 1
mkdir "$all"
tar -C "$all" --exclude='./dev/*' --no-same-owner -xf "$work/root.tar"

python=$(basename "$(readlink "$all/usr/bin/python3")")
take "$root" usr/bin/python3 "usr/lib/$python" usr/lib/python3/dist-packages/pyverbs
# What no test imports, and what brings libraries: half of it.
(cd "$root/usr/lib/$python" && rm -rf test idlelib ensurepip lib2to3 distutils \
	pydoc_data tkinter turtledemo unittest/test config-* __pycache__ sqlite3 \
	lib-dynload/{_ssl,_hashlib,_sqlite3,_dbm,_gdbm,_curses,readline,nis,_crypt,_test}*)
tests=$root/usr/share/pyverbs/tests
mkdir -p "${tests%/*}"
cp -a "$all/usr/share/doc/rdma-core/tests" "$tests"
find "$tests" -name '*.gz' -exec gzip -d {} +
[ -e "$tests/test_qp.py" ] || {
	say "python3-pyverbs of $SUITE brings no tests"
	exit 1
}
take_libraries "$root"
pack "$root" "$cache.tmp/pyverbs.cpio"
images_end
