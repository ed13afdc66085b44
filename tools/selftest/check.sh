#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# vhca-selftest with programs and a sysfs that are made up: a host and a guest whose
# parts are well, each part that fails is named and fails the run, and nothing that a
# machine is known by gets into the archive. Both sides are this machine.
# Functions are called by claim().
# shellcheck disable=SC2317
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

if [ "$(id -u)" != 0 ]; then
	unshare -r true 2>/dev/null || { echo "skip no user namespace can be made here"; exit 77; }
	exec unshare -r "$0"
fi
# shellcheck source=tests/lib/claim.sh
. "$top/tests/lib/claim.sh"
lib=$work/lib out=$work/results
export FLAGS=$work/flags VHCA_KMSG=$work/kmsg
mkdir -p "$lib" "$work/bin" "$FLAGS"
cp "$here"/vhca-selftest "$here"/*.sh "$here"/*.awk "$top"/tests/verbs/compare.sh \
	"$top"/tests/verbs/expected-differences*.txt "$lib/"

# ---- what there is ----
GID=fe80:0000:0000:0000:0adb:cdff:fefe:aa01
GUID=0adb:cdff:fefe:aa01
MAC=08:db:cd:fe:aa:01
IP4=198.51.100.23
name=storage_17

sysfs() { # sysfs HCA
	local d=$work/sys/class/infiniband/$1
	mkdir -p "$d"/ports/1/{gids,gid_attrs/types} "$work/sys/class/net/eth7" \
		"$work/sys/hypervisor/version"
	echo "$GUID" >"$d/node_guid"
	echo "$GID" >"$d/ports/1/gids/0"
	echo 0000:0000:0000:0000:0000:ffff:c633:6417 >"$d/ports/1/gids/1"
	echo 'IB/RoCE v1' >"$d/ports/1/gid_attrs/types/0"
	echo 'RoCE v2' >"$d/ports/1/gid_attrs/types/1"
	echo Ethernet >"$d/ports/1/link_layer"
	echo '4: ACTIVE' >"$d/ports/1/state"
	echo MT4119 >"$d/hca_type"
	echo 16.35.2000 >"$d/fw_ver"
	echo "$MAC" >"$work/sys/class/net/eth7/address"
	echo PVH >"$work/sys/hypervisor/guest_type"
	echo 17 >"$work/sys/hypervisor/version/minor"
}

cp "$top/tests/verbs/expected-differences-mlx5.txt" "$FLAGS/list"
# program NAME and command NAME: of the kit, of the system; its script is read.
program() { { echo '#!/bin/bash'; cat; } >"$lib/$1"; chmod +x "$lib/$1"; }
tool() { program "$1"; mv "$lib/$1" "$work/bin/"; }

# Of the list for mlx5, what has to come up differs in the guest.
program vhca-probe <<'END'
case " $* " in
*" vhca0 "*) side=3 ;;
*)	side=2 ;;
esac
for ((i = 0; i < 600; i++)); do
	printf 'probe.%d\tok\tsize 0x10\n' $i
done
awk -F '\t' -v side=$side '!/^#/ && $3 !~ /^\(may\)/ {
	guest = $2
	gsub(/\*/, "x", guest)
	split(guest, word, " ")
	if (side == 2)
		print $1 "\tok\tnative"
	else if (guest != "-")
		print $1 "\t" word[1] "\t" substr(guest, length(word[1]) + 2)
}' "$FLAGS/list"
[ ! -s "$FLAGS/crash" ] || kill -9 "$(cat "$FLAGS/crash")"
END
program vhca-xfer <<'END'
case "$*" in
*--traffic*) sleep 0.5 ;;
esac
[ ! -e "$FLAGS/lost" ] || { echo "FAIL rc-write-4k: byte 17 is wrong"; echo "3 passed, 1 failed"; exit 1; }
echo "ok rc-write-4k from 198.51.100.23 to 203.0.113.9:18515"
echo "4 passed, 0 failed"
END
program vhca-bench <<'END'
echo '{"name":"alloc_pd","unit":"us","value":12.50,"n":21,"p99":20.10}'
END
program vhca-uar <<'END'
case "$*" in
*hold*)	trap '[ ! -e "$FLAGS/noticed" ] || { echo "vhca-uar: FAIL"; exit 1; }
		echo "ok: nobody else rang"; exit 0' TERM
	echo "qpn 77 cqn 12"
	for ((i = 0; i < 300; i++)); do sleep 0.1; done ;;
*ring*)	echo "rang: $*" ;;
*mmap*)	echo "ok   the own page: is mapped, and rings"; echo ok ;;
esac
END
program vhca-wqe <<'END'
echo "10000 requests"
END
program hostile-frontend <<'END'
echo "== $*"
END
tool ib_write_bw <<'END'
case "$*" in
*127.0.0.1*) printf ' local address: LID 0000 QPN 0x0011\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:198:51:100:23\n 65536 500 9000.5 8000.25 0.1\n 4096 500 900.5 800.25 0.1\n 8 100 1.1 2.2 %s 1.6 0.1 2 2\n' "$(cat "$FLAGS/typical" 2>/dev/null || echo 1.5)" ;;
esac
END
for p in ib_read_bw ib_write_lat ib_send_lat; do
	cp "$work/bin/ib_write_bw" "$work/bin/$p"
done
tool modprobe </dev/null
# What is made in a guest: others run this test, too.
tool mktemp <<'END'
made=$(/bin/mktemp "$@") && echo "$made" | tee -a "$FLAGS/made"
END
tool uname <<END
[ "\$*" != -n ] || { echo $name; exit; }
exec /bin/uname "\$@"
END
tool vhcactl <<'END'
echo "ok   xen: Xen 4.17, PVH control domain"
exit 5
END
tool dmesg <<END
[ ! -e "\$FLAGS/refused" ] || exit 1
echo "[    0.000001] BUG: of somebody else, on $name, before"
cat "\$VHCA_KMSG"
echo "[   17.100000] xen-vhca-helper: loaded on $name"
echo "[   17.200000] eth7: link up, $MAC"
[ ! -e "\$FLAGS/oops" ] || echo "[   17.300000] BUG: unable to handle page fault"
END
sysfs mlx5_0
sysfs mlx5_1
sysfs vhca0
# Its other notations, in a program's output.
tool ibv_devinfo <<END
echo "node_guid: $GUID  0x0adbcdfffefeaa01  sys_image_guid 0adbcdfffefeaa01"
echo "GID[0]: fe80::adb:cdff:fefe:aa01 on $MAC or ${MAC//:/-} or ${MAC//:/}"
echo "peer 2001:db8::77, 00:11:22:33:44:5e, 203.0.113.1-203.0.113.9; port 1 of $name"
echo "fw_ver 16.35.2000 on 0000:05:00.0, 6.1.0-56-amd64, max_mr_size 0xffffffffffffffff"
END

export VHCA_SYS=$work/sys PATH=$work/bin:$PATH
# The guest has another path than the script, so its programs are copied.
guest="env PATH=$PATH bash -c"
selftest() { "$lib/vhca-selftest" "$@" -o "$out" -w 1; }
run() { selftest run -d mlx5_0 -g "$guest" -q "$@"; }
all() { rm -rf "$out"; run -H; }
# fails PART WHY COMMAND...: with status 1, and says which and why.
fails() {
	local rc=0 part=$1 why=$2
	shift 2
	"$@" >"$work/said" 2>"$work/err" || rc=$?
	cat "$work/said" "$work/err"
	[ "$rc" = 1 ] && grep -q "^failed:.* $part\( \|\$\)" "$work/said" &&
		grep -q "^FAIL $part: .*$why" "$work/said"
}
archive() { echo "$out"/vhca-selftest-*.tar.gz; }
unpacked() { rm -rf "$work/in" && mkdir "$work/in" && tar -C "$work/in" -xzf "$(archive)"; }
has() { grep -rqF -- "$1" "$work/in"; }
lacks() { ! grep -rniF -- "$1" "$work/in"; }
says() { # says FILE LINE
	cat "$work/in/vhca-selftest/$1"
	grep -qxF -- "$2" "$work/in/vhca-selftest/$1"
}

# ---- a machine that is well ----
claim "all parts of host and guest are well" all
claim "each has a result" bash -c "! cut -f 2 '$out'/*/results | sort | diff - <(printf '%s\n' \
	check doorbells-guest1-to-host doorbells-host-to-guest1 facts facts guest1 guest1-beside \
	guest1-hostile hostile kernel kernel pages probe probe ratios same-verbs speed \
	speed transfers transfers wild) | grep ."
claim "the archive can be unpacked" unpacked
claim "it has owners of no name" bash -c \
	"tar -tvzf $(archive) | awk '\$2 != \"0/0\" { bad = 1 } END { exit bad }'"
claim "it has ratios" grep -q 'ib_write_bw 64 KiB *MB/s *8000.25 *8000.25 *1.000' \
	"$work/in/vhca-selftest/summary.txt"
claim "and versions" says host/facts.txt 'fw_ver: 16.35.2000'
claim "lines of our modules" grep -q 'xen-vhca-helper: loaded' \
	"$work/in/vhca-selftest/host/kernel.txt"
claim "and no others" lacks 'link up'
claim "no list of secrets" bash -c "! tar -tzf $(archive) | grep '/\\.'"

# ---- nothing that it is known by ----
for s in "$GID" "$GUID" "$MAC" "$IP4" 0adbcdfffefeaa01 "${MAC//:/-}" "${MAC//:/}" \
	fe80::adb:cdff:fefe:aa01 c633:6417 255:255:198:51:100:23 \
	2001:db8::77 00:11:22:33:44:5e 203.0.113.1 203.0.113.9; do
	claim "no $s" lacks "$s"
done
claim "not its name" lacks "$name"
claim "the same GUID is the same, however it is written" bash -c "grep -h node_guid: \
	'$work/in'/*/*/facts.txt | sed 's/[^<]*\\(<guid-[0-9]*>\\)[^<]*/\\1\\n/g' | grep . |
	sort -u | wc -l | grep -qx 1"
claim "so is the MAC" bash -c "grep -h 'GID.0.:' '$work/in'/*/*/facts.txt |
	grep -o '<mac-[0-9]*>' | sort | uniq -c | grep -q '^ *6 '"
claim "what is nobody's stays" grep -q \
	'fw_ver 16.35.2000 on 0000:05:00.0, 6.1.0-56-amd64, max_mr_size 0xffffffffffffffff' \
	"$work/in/vhca-selftest/host/facts.txt"
mv "$lib/redact.awk" "$work/"
cat >"$lib/redact.awk" <<'END'
FILENAME !~ /secrets$/ { print >(to substr(FILENAME, length(from) + 1)) }
END
claim "an archive that is not clean is not made" bash -c "rm $(archive)
	! '$lib/vhca-selftest' report -o '$out' && [ ! -e $(archive) ]"
mv "$work/redact.awk" "$lib/"

# ---- an Ethernet port without an IPv4 address ----
port=$work/sys/class/infiniband/mlx5_0/ports/1
takes() { # takes GID-INDEX
	"$lib/vhca-selftest" host -d mlx5_0 -p facts -o "$out" &&
		grep "gid-index $1\$" "$out/host/facts.txt"
}
claim "of RoCE v2, with an IPv4 address" takes 1
echo "$GID" >"$port/gids/1"
claim "else of v1, which needs no neighbour" takes 0
echo 0000:0000:0000:0000:0000:ffff:c633:6417 >"$port/gids/1"

# ---- a machine that is not ----
claim "it is made again" selftest report
touch "$FLAGS/lost"
claim "a transfer that fails is named, with its reason" \
	fails host/transfers 'rc-write-4k: byte 17' run -p transfers
claim "and the guest's" grep -q '^FAIL guest1/transfers: ' "$work/said"
claim "that of others is kept" grep -q '^ok   host/probe: ' "$work/said"
claim "the archive has it" bash -c "tar -xOzf $(archive) vhca-selftest/summary.txt |
	grep '^failed:.*host/transfers'"
rm "$FLAGS/lost"
touch "$FLAGS/oops"
claim "a complaint of the kernel" fails host/kernel 'look at dmesg' run -p kernel
rm "$FLAGS/oops"
touch "$FLAGS/refused"
claim "a log that cannot be read" fails host/kernel 'cannot be read' run -p kernel
rm "$FLAGS/refused"
touch "$FLAGS/noticed"
for w in host-to-guest1 guest1-to-host; do
	claim "a doorbell that is heard, $w" fails host/doorbells-$w noticed run -p doorbells-$w
done
rm "$FLAGS/noticed"
echo inf >"$FLAGS/typical"
claim "a figure that is no number" fails host/speed '0 of . runs gave a figure' run -p speed
rm "$FLAGS/typical"
mv "$lib/vhca-bench" "$work/"
claim "a program that is missing" fails host/speed 'vhca-bench' run -p speed
mv "$work/vhca-bench" "$lib/"
claim "a part that ends the machine" fails host/probe 'it did not end' bash -c "
	bash -c 'echo \$\$ >$FLAGS/crash; exec $lib/vhca-selftest host -d mlx5_0 -p probe -o $out'
	rm $FLAGS/crash; $lib/vhca-selftest report -o '$out'"
claim "a guest that does not answer" fails host/guest1 'command of -g' \
	selftest run -d mlx5_0 -g 'false' -p pages
# ---- a PV domain ----
program vhca-helper-test <<'END'
echo "capped $2: ${*:3}" >>"$FLAGS/capped"
exec "${@:3}"
END
echo PV >"$work/sys/hypervisor/guest_type"
for h in mlx5_0 mlx5_1; do
	mkdir "$work/sys/class/infiniband/$h/device"
	echo 0x15b3 >"$work/sys/class/infiniband/$h/device/vendor"
done
claim "without the helper no data is moved" bash -c "
	$lib/vhca-selftest host -d mlx5_0 -p transfers,speed -o $work/pv | tee /dev/stderr |
		grep -c '^skip .*modprobe xen-vhca-helper' | grep -x 2"
claim "with it they are" env VHCA_HELPER="$FLAGS/list" "$lib/vhca-selftest" host -d mlx5_0 \
	-e mlx5_1 -p transfers,cable -o "$work/pv"
claim "each HCA is capped for its side" bash -c "cut -d ' ' -f 2-6 '$FLAGS/capped' | sort |
	diff - <(printf '%s\n' 'mlx5_0: vhca-xfer --loop -d mlx5_0' \
		'mlx5_0: vhca-xfer -d mlx5_0 -g' 'mlx5_1: vhca-xfer -s -d mlx5_1' | sort)"

claim "an HCA that is not there" bash -c \
	"'$lib/vhca-selftest' host -d x -o '$out'; [ \$? = 2 ]"

# ---- a guest that lies ----
liar() { # liar LINES: what it sends in the place of its results
	cat >"$work/liar" <<-END
		#!/bin/bash
		case "\$1" in
		*'stat -c'*)	printf '%b' '$1' ;;
		*)	exec bash -c "\$1" ;;
		esac
	END
	chmod +x "$work/liar"
}
lies() {
	liar "$1"
	fails host/guest1 . selftest run -d mlx5_0 -g "$work/liar" -q -p pages
	[ ! -e "$out/x" ] && [ ! -e "$out/guest1/x" ]
}
claim "a name that leaves the folder" lies '2 ../x\nhi'
claim "a size that is none" lies '-1 results\n'
claim "a size beyond all bounds" lies '99999999 results\n'
claim "no results" lies ''
talks() { # to the terminal of who reads the report, and wants our words replaced
	liar '18 results\nok\tfacts\t\033[2Jseen\n37 .secrets\nguid failed\nhost -e\nip 198.51.100.77\n'
	selftest run -d mlx5_0 -g "$work/liar" -q -p pages >"$work/said" 2>&1
	cat -v "$work/said" "$out/guest1/.secrets"
	grep -q 'guest1/facts: ?\[2Jseen' "$work/said" && ! grep -q $'\033' "$work/said" &&
		[ "$(cat "$out/guest1/.secrets")" = 'ip 198.51.100.77' ]
}
claim "what speaks to a terminal, and lists no secrets" talks
hangs() {
	printf '#!/bin/bash\nexec sleep 600\n' >"$work/liar"
	VHCA_GUEST_SECONDS=1 fails host/guest1 'command of -g' timeout 60 \
		"$lib/vhca-selftest" run -d mlx5_0 -g "$work/liar" -q -p pages -o "$out" -w 1
}
claim "one that does not end" hangs
nothing_left() { # of what was made in guests
	grep '^/tmp/vhca-selftest' "$FLAGS/made" >"$work/made" &&
		! xargs ls -d <"$work/made" 2>/dev/null | grep .
}
claim "nothing of it is left in guests" nothing_left

verdict
