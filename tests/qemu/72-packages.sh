#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The Debian packages in a dom0 that systemd started and in two guests, none of
# which has a file of ours before: install, start, upgrade under traffic, purge,
# and the same files, processes and nodes as before. DKMS's archives of
# package/carry.sh stand in for a compiler in these domains.
# limit: 300
# packages: yes
# by-hand: an upgrade under traffic, in guests with packages, has not passed yet
. ./lib.sh
. ./vhca.sh

DAEMON=xen-vhcad.service
AGENT=xen-vhca-doorbelld.service
# The daemon before its module: apt may choose this order.
DOM0_PACKAGES='vhcactl xen-vhca-doorbelld xen-vhcad xen-vhca-helper-dkms'

# In dom0 and in guests: what is on record of the files, as /tmp/left.NAME, and
# DKMS's archive of a module for a version of its package.
cat >/debs/lib.sh <<'EOT'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
left() { # left NAME
	find / /run -xdev \( -path /proc -o -path /sys -o -path /dev -o \
		-path /debs -o -path /share -o -path /tmp -o -path /root -o \
		-path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o \
		-path /run/log -o -path /run/systemd -o -path /run/udev -o \
		-path /run/guest -o -path /run/xen -o -path /var/lib/xen \
		\) -prune -o -print | sort -u >/tmp/left.$1
	find /etc /usr/lib/systemd /usr/lib/udev -type f ! -name '*-' \
		-exec sha256sum {} + | sort >>/tmp/left.$1
	ps -eo comm= | grep vhca | grep -v vhca-agent >>/tmp/left.$1
	grep -o '^xen_vhca[^ ]*' /proc/modules >>/tmp/left.$1
	true
}
archive() { # archive now|next PACKAGE
	local version
	version=$(dpkg-deb -f /debs/$1/$2_*.deb Version)
	mkdir -p /usr/share/$2
	cp "/debs/dkms/${2%-dkms}-$version.dkms.tar.gz" /usr/share/$2/
}
packages() { # packages now|next PACKAGE...
	local which=$1 p files=''
	shift
	for p; do
		case $p in
		*-dkms)	archive $which $p ;;
		esac
		files="$files /debs/$which/${p}_*.deb"
	done
	dpkg -i $files && rm -rf /usr/share/xen-vhca*-dkms
}
EOT
# shellcheck source=/dev/null
. /debs/lib.sh

in_guest() { # in_guest NAME COMMAND: with the functions above
	guest_sh -t 90 "$1" ". /debs/lib.sh; $2"
}
# guest_with_package NAME: starts a guest and installs its package; the log is
# /tmp/install.NAME.
guest_with_package() {
	guest_create "$1" pv
	guest_put "$1" /debs/lib.sh /debs/lib.sh
	in_guest "$1" 'left before; packages now xen-vhcafront-dkms' \
		>"/tmp/install.$1" 2>&1 ||
		fail "dpkg in $1: $(tail -n 5 "/tmp/install.$1")"
}
main_pid() { systemctl show -P MainPID "$1"; }
taken_over() { # taken_over OLD PID: another supervisor serves
	[ "$(main_pid $DAEMON)" != "$1" ] && [ "$(main_pid $DAEMON)" != 0 ] &&
		systemctl -q is-active $DAEMON
}
another_agent() {
	[ "$(main_pid $AGENT)" != "$1" ] && systemctl -q is-active $AGENT
}
is_new() { ! readlink "/proc/$1/exe" | grep -q deleted; }
# in_its_group COMMAND: with the devices that the unit allows.
in_its_group() {
	bash -c "echo \$\$ >/sys/fs/cgroup/system.slice/$DAEMON/cgroup.procs
		$1"
}

step "a dom0 without us"
check "systemd is its init" grep -qx systemd /proc/1/comm
check "Xen's daemons are run by Debian's service" systemctl is-active xen.service
guests=()
for g in a b; do
	guest_with_package $g &
	guests+=($!)
done
left dom0
rxe_setup
packages now vhcactl >/dev/null
rc=0
vhcactl check >/tmp/missing || rc=$?
cat /tmp/missing
check "vhcactl check tells that parts are missing" [ "$rc" = 1 ]
for part in xen-vhcad xen-vhca-helper; do
	check "it names $part" grep -q "^FAIL $part:" /tmp/missing
done

step "install in dom0"
# shellcheck disable=SC2086
check "dpkg installs" packages now $DOM0_PACKAGES
check "the daemon is active" systemctl is-active $DAEMON
check "the agent is active" systemctl is-active $AGENT
check "the module is loaded" grep -q '^xen_vhca_helper ' /proc/modules
rc=0
vhcactl check || rc=$?
check "vhcactl check is content" [ "$rc" = 0 ]
for device in gntdev evtchn xenbus vhca-helper; do
	check "a worker could open /dev/xen/$device" in_its_group \
		": </dev/xen/$device"
done
check "it could not open /dev/xen/privcmd" in_its_group \
	'! : </dev/xen/privcmd'

step "install in two guests"
for pid in "${guests[@]}"; do
	check "dpkg installs in a guest" wait "$pid"
done
ledger_open a b
vhca_attach a
vhca_attach b
check "any user may open it" guest_sh a \
	'setpriv --reuid 1000 --regid 1000 --clear-groups ibv_devinfo | grep PORT_ACTIVE'
pair "ibv_rc_pingpong between the guests" a b 'ibv_rc_pingpong -g 1 -n 300'

step "upgrade the daemon under traffic"
xl sched-credit2 -d Domain-0 -w 2048	# dpkg beside two guests that poll
traffic_start a b 30
supervisor=$(main_pid $DAEMON)
worker=$(worker_pid b 0)
check "dpkg upgrades" packages next xen-vhcad
check "another supervisor took over" wait_until 20 taken_over "$supervisor"
check "the traffic still runs then" kill -0 "$traffic_client"
check "the worker is the same" [ "$(worker_pid b 0)" = "$worker" ]
check "and still the old program" not is_new "$worker"
check "the traffic went on" wait "$traffic_client"
check "and its server agrees" wait "$traffic_server"

step "upgrade a guest with its device in use, and the agent"
agent=$(main_pid $AGENT)
guest_sh b 'ibv_asyncwatch -d vhca0 </dev/null >/tmp/watch 2>&1 &'
in_guest b 'packages next xen-vhcafront-dkms' >/tmp/upgrade.b 2>&1 &
upgrade=$!
check "dpkg upgrades" packages next vhcactl xen-vhca-doorbelld
check "the agent is a new one" wait_until 20 another_agent "$agent"
check "dpkg upgrades in b" wait "$upgrade"
check "the device stays open" guest_sh b 'pkill -x ibv_asyncwatch'
check "the new module is loaded" wait_guest 10 b \
	'modprobe -r xen-vhcafront && modprobe xen-vhcafront'
check "the device comes back" wait_guest 20 b 'ibv_devinfo | grep PORT_ACTIVE'
check "its worker is the new program" is_new "$(worker_pid b 0)"
pair "ibv_rc_pingpong, old and new" a b 'ibv_rc_pingpong -g 1 -n 300'

step "stop and start"
check "stop" systemctl stop $DAEMON
check "no worker is left" not pgrep vhcad
check "start" systemctl start $DAEMON
check "a's device comes back" wait_guest 20 a 'ibv_devinfo | grep PORT_ACTIVE'

step "purge"
check "detach a" vhcactl detach a all
check "detach b" vhcactl detach b all
ledger_close a b
kernel_clean a
guest_destroy a
in_guest b 'dpkg --purge xen-vhcafront-dkms && left after &&
	diff /tmp/left.before /tmp/left.after' >/tmp/purge.b 2>&1 &
purge=$!
# shellcheck disable=SC2086
check "dpkg purges in dom0" dpkg --purge $DOM0_PACKAGES
left after
check "no file, process or module is left" diff /tmp/left.dom0 /tmp/left.after
check "no unit is left" bash -c '! systemctl list-units --all | grep vhca'
check "no node is left" bash -c '! xenstore-ls -f | grep "/[^ ]*vhca"'
check "nothing is left in a guest" wait "$purge"
kernel_clean b
