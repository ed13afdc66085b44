#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# iSCSI over RDMA between the kernels of two PV guests, by Debian's modules: the target is
# LIO with a disk that is memory of its guest, the initiator open-iscsi. What was written is
# read back; sessions come and go; a session outlives the initiator's worker, and its device,
# and goes on when there is a new one.
# limit: 1200
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./kernel.sh
. ./storage.sh

PORT=3260
POOL_MB=32
IQN=iqn.2026-11.org.example:disk
TARGET=/sys/kernel/config/target
TPG=$TARGET/iscsi/$IQN/tpgt_1
PORTAL=${KERNEL_ADDR[a]}:$PORT

# iscsi_target: of a, without targetcli; any initiator may log in.
iscsi_target() {
	on a "set -e
		modprobe -a configfs brd target_core_iblock iscsi_target_mod ib_isert
		mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
		mkdir -p $TARGET/core/iblock_0/disk $TPG/lun/lun_0
		echo udev_path=/dev/ram0 >$TARGET/core/iblock_0/disk/control
		echo 1 >$TARGET/core/iblock_0/disk/enable
		ln -s $TARGET/core/iblock_0/disk $TPG/lun/lun_0/disk
		cd $TPG/attrib
		echo 0 >authentication
		echo 1 >generate_node_acls
		echo 1 >cache_dynamic_acls
		echo 0 >demo_mode_write_protect
		mkdir $TPG/np/$PORTAL
		echo 1 >$TPG/np/$PORTAL/iser
		echo 1 >$TPG/enable"
}
iscsi_target_end() {
	on a "set -e
		echo 0 >$TPG/enable
		echo 0 >$TPG/np/$PORTAL/iser
		rmdir $TPG/np/$PORTAL
		rm $TPG/lun/lun_0/disk
		rmdir $TPG/lun/lun_0 $TPG $TARGET/iscsi/$IQN
		rmdir $TARGET/core/iblock_0/disk $TARGET/core/iblock_0"
}
# initiator: of b. A slow target is no lost one, and I/O waits for a new device.
initiator() {
	on b "set -e
		modprobe -a ib_iser sd_mod
		mkdir -p /etc/iscsi /run/lock
		echo InitiatorName=iqn.2026-11.org.example:b >/etc/iscsi/initiatorname.iscsi
		printf '%s\\n' 'node.session.timeo.replacement_timeout = 1800' \
			'node.conn[0].timeo.login_timeout = 120' \
			'node.conn[0].timeo.noop_out_interval = 0' >/etc/iscsi/iscsid.conf
		iscsid -f >/tmp/iscsid.log 2>&1 </dev/null &"
}
initiator_end() { on b 'kill $(pidof iscsid) && rm -r /etc/iscsi'; }
discovers() { on b "iscsiadm -m discovery -t sendtargets -p $PORTAL -I iser | grep '^$PORTAL,1 $IQN\$'"; }
login() {
	on b "iscsiadm -m node -T $IQN -l" && return
	guest_sh b 'tail -n 8 /tmp/iscsid.log'
	return 1
}
logout() { on b "iscsiadm -m node -T $IQN -u"; }
by_iser() { guest_sh b "iscsiadm -m session | grep '^iser: .* $PORTAL,1 $IQN'"; }
has_disk() { wait_guest 15 b 'test -b /dev/sda && [ "$(cat /sys/block/sda/size)" != 0 ]'; }
no_disk() { wait_guest 15 b '! test -e /sys/block/sda'; }
# same BLOCK [FLAG]: 8 MiB, written and read back by the initiator, and as the target has it.
same() {
	local sum
	sum=$(on b "set -e
		head -c 8388608 /dev/urandom >/tmp/written
		dd if=/tmp/written of=/dev/sda bs=$1 conv=nocreat,fsync ${2:+oflag=$2} 2>/dev/null
		echo 3 >/proc/sys/vm/drop_caches
		dd if=/dev/sda bs=$1 ${2:+iflag=$2} count=8388608 iflag=count_bytes of=/tmp/read 2>/dev/null
		cmp /tmp/written /tmp/read
		md5sum </tmp/written") && at a "echo 3 >/proc/sys/vm/drop_caches
		[ \"\$(head -c 8388608 /dev/ram0 | md5sum)\" = '$sum' ]"
}
# io_begins: rounds of 2 MiB, as io_waits_for_a_device() knows them.
io_begins() {
	guest_sh -t 300 b 'n=0; echo 0 >/tmp/rounds; rm -f /tmp/stop
		head -c 2097152 /dev/urandom >/tmp/written
		while [ ! -e /tmp/stop ]; do
			dd if=/tmp/written of=/dev/sda bs=64k oflag=direct conv=nocreat 2>/dev/null &&
				dd if=/dev/sda of=/tmp/read bs=64k count=32 iflag=direct 2>/dev/null &&
				cmp /tmp/written /tmp/read || exit 1
			echo $((++n)) >/tmp/rounds
		done' >/tmp/io 2>&1 &
	IO=$!
	wait_until 15 written
}

step "two guests on a fabric"
kernel_guests ib_iser

step "a target and its initiator"
check "the target listens" iscsi_target
check "the initiator starts" initiator
check "it discovers the target" discovers
check "logged in" login
check "by RDMA" by_iser
check "b has the disk" has_disk

step "what was written is read"
for block in 4k 20k 128k 1M; do
	check "by $block" same "$block" direct
done
check "by 5000 octets, through the cache" same 5000
check "logged out" logout
check "the disk goes" no_disk
for i in 1 2 3; do
	check "logged in again, $i" login
	check "the disk comes" has_disk
	check "by 64k" same 64k direct
	check "logged out" logout
done

step "the worker of b dies under I/O"
check "logged in" login
check "the disk comes" has_disk
io_begins
check "I/O goes" wait_until 60 more_written 1
kill -9 "$(worker_pid b 0)"
check "it goes on" wait_until 90 more_written $(($(written) + 2))
io_stops
check "logged out" logout

# The device of a SCSI host of iSER is a child of the vhca's in sysfs, and goes with it from
# the view of iscsiadm. The session has no end but that of its target or of b.
step "b is detached under I/O"
check "logged in" login
check "the disk comes" has_disk
io_begins
io_waits_for_a_device

step "the end"
check "the initiator ends" initiator_end
check "the target ends" iscsi_target_end
kernel_guests_end
