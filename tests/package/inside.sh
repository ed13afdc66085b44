#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Runs in the root that check.sh made, as its root user: installs the packages
# in /in/debs, looks, upgrades, purges. systemctl is replaced by a script that
# notes its arguments, so that it can be seen what would be stopped. Writes
# "ok|FAIL TEXT" lines to /in/out/verdicts.
set -uo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
out=/in/out
calls=/in/systemctl
mkdir -p "$out"
: >"$out/verdicts"
n=0

claim() { # claim TEXT COMMAND...
	local text=$1
	shift
	n=$((n + 1))
	if "$@" >"$out/$n.log" 2>&1; then
		echo "ok $n $text"
	else
		echo "FAIL $n $text"
	fi >>"$out/verdicts"
}

# Everything but what dpkg, ldconfig and we ourselves keep.
files() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /in -o \
		-path /tmp -o -path /var/lib/dpkg -o -path /var/log -o \
		-path /var/cache -o -path /run/systemd \) -prune -o -print | sort
}

prepare() {
	local kernel
	if [ -e /in/newer ]; then
		tar -C / -xf /in/newer.tar
		kernel=$(cat /in/newer)
		kernel=${kernel##*/linux-headers-}
		mkdir -p "/lib/modules/$kernel"
		ln -sfn "$(cat /in/newer)" "/lib/modules/$kernel/build"
	fi
	for kernel in /lib/modules/*; do
		touch "$kernel/modules.order" "$kernel/modules.builtin"
		depmod "${kernel##*/}"
	done
	# A system that runs, as far as maintainer scripts can see.
	rm -f /usr/sbin/policy-rc.d
	mkdir -p /run/systemd/system
	cat >/usr/local/bin/systemctl <<-EOT
		#!/bin/sh
		echo "\$*" >>$calls
		case "\$*" in
		*is-active*)	[ -e /in/active ] ;;
		*preset*|*enable*) SYSTEMD_OFFLINE=1 exec /bin/systemctl "\$@" ;;
		esac
	EOT
	chmod +x /usr/local/bin/systemctl
}

install_all() { dpkg -i /in/debs/*.deb; }

built() { # built MODULE: for each kernel, where modprobe finds it
	local dir kernel
	for dir in /lib/modules/*; do
		kernel=${dir##*/}
		modinfo -k "$kernel" -F vermagic "$1" | grep "^$kernel " ||
			return 1
		modinfo -k "$kernel" -F filename "$1" | grep updates/dkms ||
			return 1
	done
}

# The guest's kernel loads the frontend by itself, the backend's the helper.
autoloads() {
	local dir
	for dir in /lib/modules/*; do
		modprobe -S "${dir##*/}" -R xen:vhca | grep -x xen_vhcafront &&
		modprobe -S "${dir##*/}" -R xen-backend:vhca |
			grep -x xen_vhca_helper || return 1
	done
}

programs() {
	local p
	for p in xen-vhcad xen-vhca-doorbelld; do
		"$p" --version && "$p" --help || return 1
	done
	vhcactl --help
}

devicetree() {
	{ vhca-devicetree 2>&1 || true; } | grep '^vhca-devicetree: usage:'
}

units() {
	systemd-analyze verify --man=no \
		/lib/systemd/system/xen-vhca{d,-doorbelld,-dom0less,-xenstored}.service \
		2>/in/verify
	cat /in/verify
	! grep xen-vhca /in/verify
}

enabled() {
	local unit
	for unit in xen-vhcad xen-vhca-{doorbelld,dom0less,xenstored}; do
		[ -L "/etc/systemd/system/multi-user.target.wants/$unit.service" ] ||
			return 1
	done
}

called() { cat "$calls"; grep -q -- "$1" "$calls"; }
not_called() { cat "$calls"; ! grep -q -- "$1" "$calls"; }

upgrade() {
	: >"$calls"
	touch /in/active
	dpkg -i /in/debs/xen-vhcad_*.deb /in/debs/xen-vhca-doorbelld_*.deb
}

upgrade_vhcactl() { dpkg -i /in/debs/vhcactl_*.deb; }

# A module that was compiled elsewhere, with a DKMS that loads its archive and does no
# more: so does that of Debian 13 for a kernel without headers.
from_archive() {
	local script=/usr/lib/dkms/common.postinst to=/usr/share/xen-vhca-helper-dkms
	local deb kernel=${kernels%% *} version rc=0
	deb=$(echo /in/debs/xen-vhca-helper-dkms_*.deb)
	version=$(dpkg-deb -f "$deb" Version)
	mkdir $to
	dkms mktarball -m xen-vhca-helper -v "$version" -k "$kernel" \
		--archive "$to/xen-vhca-helper-$version.dkms.tar.gz" || return 1
	cp -p $script /in/script
	# shellcheck disable=SC2016
	printf '#!/bin/sh\ndkms ldtarball --archive "$3/$1-$2.dkms.tar.gz"\n' >$script
	dpkg -i "$deb" || rc=1
	cp -p /in/script $script
	rm -r $to
	modinfo -k "$kernel" -F filename xen-vhca-helper | grep updates/dkms && return $rc
}

header() {
	echo '#include <stdint.h>
		#include <string.h>
		#include <xen/xen.h>
		#include <xen/io/vhcaif.h>' | gcc -Wall -Werror -fsyntax-only -xc -
}

leave_state() { # what a daemon and an agent without mappings leave
	mkdir -p /run/xen-vhcad /run/xen-vhca-doorbelld
	touch /run/xen-vhcad/supervisor.lock /run/xen-vhca-doorbelld/lock
	printf 'xen-vhca-doorbelld 1\n%send\n' "${1:-}" \
		>/run/xen-vhca-doorbelld/state
}

purge_all() {
	local deb
	for deb in /in/debs/*.deb; do
		dpkg-deb -f "$deb" Package
	done | xargs dpkg --purge
}

nothing_left() {
	files >/in/after
	diff /in/before /in/after
}

agent_again() {
	dpkg -i /in/debs/xen-vhca-doorbelld_*.deb
	leave_state "map 5 0 1 0 0xfe000 0x0 1 000 00112233445566778899aabbccddeeff
"
	dpkg --purge xen-vhca-doorbelld
	[ -e /run/xen-vhca-doorbelld/state ]
}

prepare
files >/in/before
: >"$calls"
claim "dpkg installs all packages" install_all
kernels=$(cd /lib/modules && echo *)
for m in xen-vhcafront xen-vhca-helper; do
	claim "DKMS built $m for $kernels" built "$m"
done
claim "both modules are loaded when a device appears" autoloads
claim "every program starts and finds its libraries" programs
claim "vhca-devicetree starts" devicetree
claim "systemd has no complaint of the installed units" units
claim "the units are enabled" enabled
claim "installing starts the daemon" called 'start .*xen-vhcad.service'
claim "a daemon that came before its module is started anew" \
	called 'try-restart xen-vhcad.service'
claim "the protocol's header compiles beside Xen's" header
claim "a module is installed from its archive" from_archive
claim "an upgrade of daemon and agent is installed" upgrade
claim "an upgrade of vhcactl is installed" upgrade_vhcactl
claim "it neither stops nor restarts what serves guests without dom0" \
	not_called '\(stop\|restart\) .*xen-vhca-\(dom0less\|xenstored\).service'
claim "it neither stops nor restarts the daemon" \
	not_called '\(stop\|restart\) .*xen-vhcad.service'
claim "it hands over to a new supervisor" \
	called 'kill --kill-whom=main --signal=KILL xen-vhcad.service'
claim "it restarts the agent" called 'restart .*xen-vhca-doorbelld.service'
leave_state
: >"$calls"
claim "dpkg purges all packages" purge_all
claim "that stops the daemon" called 'stop .*xen-vhcad.service'
claim "nothing is left of the packages" nothing_left
claim "purging the agent leaves the pages that guests have on record" \
	agent_again
