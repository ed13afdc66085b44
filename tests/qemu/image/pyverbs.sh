#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes what scenarios with "# pyverbs: yes" lay over a root, and prints the folder that
# holds it: pyverbs.cpio, with Debian's Python, its bindings of libibverbs and the tests
# of rdma-core that come with them (/usr/share/pyverbs/tests). Nothing of this project
# is inside. Cached as image.sh's. Needs no root.
#
# With PYVERBS_SUITE another release than the machines' it has a root of its own there,
# /pyverbs, because that Python needs its own C library. /usr/bin/pyverbs-python runs it
# in both cases, and /usr/share/pyverbs-release is the release of rdma-core.
#
# Environment: SUITE, the Debian release of it (../lib/suite.sh); PYVERBS_SUITE
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
suite=${PYVERBS_SUITE:-$SUITE} week=$SUITE_WEEK
[ "$suite" != sid ] || week=$(date +%G-%V)
key=$({ cat "$here/pyverbs.sh" "$here/../lib/roots.sh"; echo "$SUITE $suite$week"; } |
	sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/pyverbs-$key
say() { echo "image: $*" >&2; }
images_begin
all=$work/all
outer=$work/root
root=$outer
[ "$suite" = "$SUITE" ] || root=$outer/pyverbs

say "fetching Debian's Python for rdma-core's tests (once; cached in ${cache%/*})"
debian_tar "$suite" "$work" python3,python3-pyverbs,iproute2,coreutils --variant=extract \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr || exit 1
mkdir -p "$all" "$outer/usr/bin" "$outer/usr/share"
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
	say "python3-pyverbs of $suite brings no tests"
	exit 1
}
if [ "$root" != "$outer" ]; then
	mkdir -p "$root"/{dev,proc,sys,tmp}
	# Programs that tests of newer releases run.
	(cd "$all" && echo usr/*bin/{cat,ls,devlink,ip,rdma}) >"$work/programs"
	read -ra programs <"$work/programs"
	take "$root" "${programs[@]}"
	take "$root" etc/libibverbs.d usr/lib64/ld-linux-x86-64.so.2
	for plugin in "$all/usr/lib/$triplet/libibverbs"/*.so; do
		take "$root" "${plugin#"$all"/}"
	done
	mkdir -p "$root/usr/sbin"
	for p in bin lib lib64 sbin; do
		ln -s "usr/$p" "$root/$p"
	done
fi
take_libraries "$root"
# libibverbs.so.1.14.44.0 is of rdma-core 44.
basename "$(readlink "$all/usr/lib/$triplet/libibverbs.so.1")" |
	cut -d. -f5 >"$outer/usr/share/pyverbs-release"
if [ "$root" = "$outer" ]; then
	cat <<-'EOT'
	#!/bin/sh
	exec python3 "$@"
	EOT
else	# The roots of machines have no chroot, but this Python does.
	cat <<-'EOT'
	#!/bin/sh
	for d in dev proc sys tmp; do
		grep -q " /pyverbs/$d " /proc/mounts || mount --rbind /$d /pyverbs/$d
	done
	exec env PYTHONHOME=/pyverbs/usr /pyverbs/usr/lib64/ld-linux-x86-64.so.2 \
		--library-path /pyverbs/usr/lib/x86_64-linux-gnu /pyverbs/usr/bin/python3 -c '
	import os, sys
	os.chroot("/pyverbs")
	os.chdir("/")
	del os.environ["PYTHONHOME"]
	os.execv("/usr/bin/python3", ["python3"] + sys.argv[1:])' "$@"
	EOT
fi >"$outer/usr/bin/pyverbs-python"
chmod 755 "$outer/usr/bin/pyverbs-python"
pack "$outer" "$cache.tmp/pyverbs.cpio"
images_end
