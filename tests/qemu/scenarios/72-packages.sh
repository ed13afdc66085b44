#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The Debian packages in a dom0 that systemd started and in a guest, neither of
# which has a file of ours before: install, start, upgrade under traffic, purge,
# and the same files, processes and nodes as before. DKMS's archives of
# package/carry.sh stand in for a compiler and the kernel's headers in these domains; the
# guest at the other end of the traffic has but the module.
# tier: soak
# limit: 420
# packages: yes
# processors: 2
# xen: dom0_max_vcpus=1 dom0_vcpus_pin
. ./lib.sh
. ./vhca.sh

DAEMON=xen-vhcad.service
AGENT=xen-vhca-doorbelld.service
# The guests' processor; dom0 has the other one to itself.
CPUS='cpus = "1"'
# The daemon before its module: apt may choose this order.
DOM0_PACKAGES='vhcactl xen-vhca-doorbelld xen-vhcad xen-vhca-helper-dkms'

# In dom0 and in guests: what is on record of the files, as /tmp/left.NAME, and
# DKMS's archive of a module for a version of its package.
cat >/debs/lib.sh <<'EOT'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
left() { # left NAME
	find / /run -xdev -ignore_readdir_race \( -path /proc -o -path /sys -o -path /dev -o \
		-path /debs -o -path /share -o -path /tmp -o -path /root -o \
		-path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o \
		-path /run/log -o -path /run/systemd -o -path /run/udev -o \
		-path /run/guest -o -path /run/xen -o -path /var/lib/xen \
		\) -prune -o -print | sort -u >/tmp/left.$1
	find /etc /usr/lib/systemd /usr/lib/udev -type f ! -name '*-' \
		-exec sha256sum {} + | sort >>/tmp/left.$1
	ps -eo comm= | sed -n '/^kworker/d; /vhca/p' \
		>>/tmp/left.$1
	sed -n 's/^\(xen_vhca[^ ]*\).*/\1/p' /proc/modules >>/tmp/left.$1
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
	guest_sh -t 400 "$1" ". /debs/lib.sh; $2"
}
# Starts guest b and installs its package; the log is /tmp/install.b.
guest_with_package() {
	guest_create b pv "$CPUS"
	guest_put b /debs/lib.sh /debs/lib.sh
	in_guest b 'depmod; left before; packages now xen-vhcafront-dkms' \
		>/tmp/install.b 2>&1
}
# Starts guest a, with the module that DKMS made.
guest_with_module() {
	guest_create a pv "$CPUS"
	tar -xzOf /debs/dkms/xen-vhcafront-*+next.dkms.tar.gz --wildcards \
		'*/xen-vhcafront.ko' >/tmp/front.ko
	guest_put a /tmp/front.ko /tmp/front.ko
	guest_sh a 'modprobe ib_uverbs && insmod /tmp/front.ko'
}
own_cgroup() { # own_cgroup PID: of the daemon's, with controllers
	local dir=/system.slice/$DAEMON/vhcad-$1
	grep -qx "0::$dir" "/proc/$1/cgroup" &&
		[ "$(cat "/sys/fs/cgroup$dir/memory.max")" = $(((512 + 2 * 128) << 20)) ] &&
		[ "$(cat "/sys/fs/cgroup$dir/cpu.weight")" = 100 ]
}
main_pid() { systemctl show -P MainPID "$1"; }
another() { # another UNIT PID: it runs, and not as the process that it was
	[ "$(main_pid "$1")" != "$2" ] && [ "$(main_pid "$1")" != 0 ] &&
		systemctl -q is-active "$1"
}
is_new() { # is_new PID: its program is not one that an upgrade replaced
	local program
	program=$(readlink "/proc/$1/exe") && [[ $program != *deleted* ]]
}
# in_its_group COMMAND: with the devices that the unit allows.
in_its_group() {
	bash -c "echo \$\$ >/sys/fs/cgroup/system.slice/$DAEMON/supervisor/cgroup.procs
		$1"
}
# seen_by SERVICE COMMAND...: by root, but among the mounts of that service.
seen_by() { nsenter -m -t "$(systemctl show -P MainPID "$1")" "${@:2}"; }
# traffic_moves: more of it is done than when $traffic_seen was noted.
traffic_moves() {
	kill -0 "$traffic_client" &&
		[ "$(tail -n 1 /tmp/traffic.client)" != "$traffic_seen" ]
}
# shown LOG COMMAND...: its output if it fails.
shown() {
	local log=$1
	shift
	"$@" && return
	cat "$log"
	return 1
}

step "a dom0 without us"
check "systemd is its init" grep -qx systemd /proc/1/comm
check "Xen's daemons are run by Debian's service" systemctl is-active xen.service
# What is in a kernel's folder before was written by the kmod of the machine that made
# the images; that of another release has one more list.
depmod
left dom0
guest_with_package &
guest_b=$!
guest_with_module &
guest_a=$!
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
for dir in /dev /dev/shm /etc /run; do
	check_not "it could not make a file in $dir" \
		seen_by "$DAEMON" touch "$dir/vhca-test"
done
check "it can in its own folder" seen_by "$DAEMON" touch /run/xen-vhcad/vhca-test
rm /run/xen-vhcad/vhca-test
check_not "the agent could not make a file in /run" \
	seen_by "$AGENT" touch /run/vhca-test
check "dom0 can open a terminal" sh -c ': <>/dev/ptmx'
check_not "the daemon could not" seen_by "$DAEMON" sh -c ': <>/dev/ptmx'
knob=/sys/module/printk/parameters/time
check "dom0 can write to $knob" test -w $knob
for service in $DAEMON $AGENT; do
	check_not "$service could not" seen_by "$service" test -w $knob
done

step "install in a guest"
check "dpkg installs in a guest" shown /tmp/install.b wait "$guest_b"
check "another guest has the module" wait "$guest_a"
ledger_open a b
vhca_attach a
vhca_attach b
check_not "the workers are confined to their files" \
	sh -c "journalctl -u $DAEMON | grep 'no Landlock'"
check "any user may open it" guest_sh b \
	'setpriv --reuid 1000 --regid 1000 --clear-groups ibv_devinfo | grep PORT_ACTIVE'
pair "ibv_rc_pingpong between the guests" a b 'ibv_rc_pingpong -g 1 -n 100 -e'

step "upgrade the daemon, the agent and a guest under traffic"
traffic_start a b 200 '-e --pause 250'
supervisor=$(main_pid $DAEMON)
agent=$(main_pid $AGENT)
worker=$(worker_pid b 0)
check "the worker has a cgroup of its own" own_cgroup "$worker"
in_guest b 'packages next xen-vhcafront-dkms' >/tmp/upgrade.b 2>&1 &
upgrade=$!
check "dpkg upgrades" packages next vhcactl xen-vhca-doorbelld xen-vhcad
check "another supervisor took over" wait_until 20 another $DAEMON "$supervisor"
check "the agent is a new one" wait_until 20 another $AGENT "$agent"
check "the worker is the same" [ "$(worker_pid b 0)" = "$worker" ]
check "it runs on" kill -0 "$worker"
check "and still the old program" not is_new "$worker"
check "in its cgroup, with its bound" own_cgroup "$worker"
traffic_seen=$(tail -n 1 /tmp/traffic.client)
check "the traffic goes on" wait_until 10 traffic_moves
check "dpkg upgrades in b" shown /tmp/upgrade.b wait "$upgrade"
traffic_seen=$(tail -n 1 /tmp/traffic.client)
check "the device stays open" wait_until 10 traffic_moves
guest_sh b 'pkill -INT -x vhca-xfer'
check "all data was right" shown /tmp/traffic.client wait "$traffic_client"
check "and its server agrees" shown /tmp/traffic.server wait "$traffic_server"
tail -n 1 /tmp/traffic.client

step "the guest's new module"
check "it is loaded" wait_guest 10 b \
	'modprobe -r xen-vhcafront && modprobe xen-vhcafront'
check "the device comes back" wait_guest 20 b 'ibv_devinfo | grep PORT_ACTIVE'
check "its worker is the new program" is_new "$(worker_pid b 0)"
pair "ibv_rc_pingpong, old and new" a b 'ibv_rc_pingpong -g 1 -n 100 -e'

step "an address, with the rights of the unit"
check "detach b" vhcactl detach b all
vhca_attach b ip=10.9.0.72/24,vif=0
check "it is on the HCA's network" bash -c \
	'ip -o addr show to 10.9.0.72 | grep " d0 "'
check "what is not RDMA goes to the vif" bash -c \
	'nft list table netdev vhca | grep "10.9.0.72 :.*vif"'
check "b has its GID" guest_sh b \
	'grep 0a09:0048 /sys/class/infiniband/*/ports/1/gids/*'
check "rdma_cm serves it" guest_sh -t 20 b \
	'[ "$(timeout 5 rping -s -a 10.9.0.72 >&2; echo $?)" = 124 ]'

step "purge in the guest; stop and start in dom0"
check "detach b" vhcactl detach b all
check "its address is gone" wait_until 10 bash -c \
	'! ip -o addr show to 10.9.0.72 | grep .'
check "so are the vif's tables" not nft list table netdev vhca
in_guest b 'dpkg --purge xen-vhcafront-dkms && left after &&
	diff /tmp/left.before /tmp/left.after' >/tmp/purge.b 2>&1 &
purge=$!
check "stop" systemctl stop $DAEMON
check "no worker is left" not pgrep vhcad
check "start" systemctl start $DAEMON
check "a's device comes back" wait_guest 20 a 'ibv_devinfo | grep PORT_ACTIVE'

step "purge in dom0"
check "detach a" vhcactl detach a all
ledger_close a
kernel_clean a
guest_destroy a
# shellcheck disable=SC2086
check "dpkg purges in dom0" dpkg --purge $DOM0_PACKAGES
left after
check "no file, process or module is left" diff /tmp/left.dom0 /tmp/left.after
check "no unit is left" bash -c '! systemctl list-units --all | grep vhca'
check "no node is left" bash -c '! xenstore-ls -f | grep "/[^ ]*vhca"'
check "nothing is left in the guest" shown /tmp/purge.b wait "$purge"
guest_ledger_close b
kernel_clean b
