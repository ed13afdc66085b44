#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Makes what scenarios with "# packages: yes" boot instead of image.sh's roots,
# installed by dpkg from Debian packages, and prints the folder that holds it:
#
#   dom0.cpio   a control domain: systemd, Xen's tools, rdma-core, DKMS
#   guest.tar   laid over image.sh's guest: dpkg, its database, DKMS
#
# Nothing of this project is inside. Cached as image.sh's. Modules come from
# image.sh: a kernel package would make an initrd of its own.
# Environment: SUITE, the Debian release of it (../lib/suite.sh)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/mirror.sh
. "$here/../../lib/mirror.sh"
# shellcheck source=tests/qemu/lib/suite.sh
. "$here/../lib/suite.sh"
# shellcheck source=tests/lib/retry.sh
. "$here/../../lib/retry.sh"
# DKMS wants some compiler, and packages.sh brings modules that it compiled.
packages=(
	systemd systemd-sysv udev kmod iproute2 nftables procps jq
	"xen-utils-$XEN" xenstore-utils rdma-core ibverbs-utils ibverbs-providers
	libjson-c5 dkms tcc
)
# What no program reads here: half of the size.
leave_out=(/usr/share/{doc,man,locale,info} /usr/lib/udev/hwdb.d
	/lib/udev/hwdb.d "/usr/lib/xen-$XEN/boot")
# Packages whose files a guest gets; its database is that of dom0.
guest_packages=(dpkg tar gzip dkms libc-bin libselinux1
	libpcre2-8-0 liblzma5 libzstd1 libmd0 libbz2-1.0 zlib1g libacl1)
# Its dkms asks it for the release; later ones read os-release, and do nothing without.
[ "$SUITE" != bookworm ] || guest_packages+=(lsb-release)

key=$({ cat "$here/debian.sh"; echo "$SUITE"; } | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xen-vhca/debian-$key
mkdir -p "${cache%/*}"
exec 9>"$cache.lock"
flock 9
[ ! -e "$cache/complete" ] || { echo "$cache"; exit 0; }
say() { echo "image: $*" >&2; }
command -v mmdebstrap >/dev/null || {
	say "mmdebstrap is not installed: run 'make deps'"
	exit 1
}
rm -rf "$cache"
mkdir -p "$cache"
work=$(mktemp -d "${TMPDIR:-/tmp}/vhca-debian.XXXXXX")
trap 'rm -rf "$work"' EXIT
# mmdebstrap's helper processes may be another user.
chmod 755 "$work"

# Runs for the finished root, with its path: as root, or as root of a user
# namespace, so the archives carry the owners.
cat >"$work/pack" <<'EOT'
#!/bin/bash
set -euo pipefail
cd "$1"
shift
echo 8a1d5d3bbf5a4e0c9b0f7f0e1d2c3b4a >etc/machine-id
rm -rf var/lib/apt/lists/* var/cache/apt/* usr/sbin/policy-rc.d
for p; do
	cat "var/lib/dpkg/info/$p.list" 2>/dev/null ||
		cat "var/lib/dpkg/info/$p:amd64.list"
done | sed -E 's,^/(bin|sbin|lib|lib64)/,/usr/\1/,; s,^/,,' |
	while read -r f; do
		[ ! -f "$f" ] && [ ! -L "$f" ] || echo "$f"
	done >/tmp/list.$$
ls var/lib/dpkg/{arch,status,info/format,info/*.list} usr/bin/getopt usr/lib/os-release \
	>>/tmp/list.$$
tar --no-recursion -cf out.guest -T /tmp/list.$$ var/lib/dkms
rm /tmp/list.$$
find . -xdev \( -path './proc/*' -o -path './sys/*' -o -path './dev/*' -o \
	-path './run/*' -o -path './tmp/*' -o -path './out.*' \) -prune -o \
	-print | LC_ALL=C sort | cpio --quiet -o -H newc >/tmp/dom0.$$
mv /tmp/dom0.$$ out.dom0
EOT
chmod 755 "$work/pack"
exclude=()
for f in "${leave_out[@]}"; do
	exclude+=("--dpkgopt=path-exclude=$f/*")
done
say "installing a Debian control domain (once; cached in ${cache%/*})"
mirror_open "$SUITE" "$work/apt.conf"
retry "$work/log" debian_root --variant=minbase --format=null "${exclude[@]}" \
	--aptopt="$work/apt.conf" \
	--include="$(IFS=,; echo "${packages[*]}")" \
	--customize-hook="$work/pack \"\$1\" ${guest_packages[*]}" \
	--customize-hook="download /out.dom0 '$cache/dom0.cpio'" \
	--customize-hook="download /out.guest '$cache/guest.tar'" \
	"$SUITE" /dev/null "${mirrors[@]}" || {
	tail -n 40 "$work/log" >&2
	say "mmdebstrap failed. Is the Debian mirror reachable (VHCA_MIRROR" \
		"names another one)?"
	exit 1
}
touch "$cache/complete"
say "done: $(du -sh "$cache" | cut -f1)"
echo "$cache"
