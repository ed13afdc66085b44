#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Debian's programs that use one address for RDMA and for their TCP connections run
# between guests that share addresses with their vifs (vif=), and with dom0, or end as
# they do in dom0 alone: libfabric, qperf, fio, UCX, Open MPI, also over two HCAs of each
# guest, and iperf3 beside RDMA.
# limit: 2400
# tier: soak
# programs: yes
. ./lib.sh
. ./vhca.sh
. ./rdmacm.sh
. ./oneaddr.sh
. ./fabric.sh
# SHARED_HCA: on that one in place of Soft-RoCE (29-one-address-programs-roce).
[ -z "${SHARED_HCA:-}" ] || . ./hca.sh

PAIRS=('a b' 'a dom0' 'dom0 b')

# tcp_serves WHERE PORT
tcp_serves() {
	at "$1" "grep -q '$(printf :%04X "$2") .* 0A ' /proc/net/tcp /proc/net/tcp6"
}
# by_tcp PORT SERVER CLIENT COMMAND COMMAND: as cm_once(), of a server that waits for a TCP
# connection at that port, and perhaps for the next one; "%" is the HCA there. $verdict: the
# client's status.
by_tcp() {
	local server name s c
	s=${4//@/${CM_ADDR[$2]}} c=${5//@/${CM_ADDR[$2]}}
	s=${s//%/${DEVICE[$2]}} c=${c//%/${DEVICE[$3]}}
	for name in $s; do	# the first word but variables
		[[ $name = *=* ]] || break
	done
	at "$2" "$s" >/tmp/cm.s 2>&1 &
	server=$!
	wait_until 20 tcp_serves "$2" "$1" || note "nothing listens: $s"
	verdict=0
	at "$3" "$c" >/tmp/cm.c 2>&1 || verdict=$?
	at "$2" "pkill -x $name" || true
	wait "$server" || true
}
# What the programs call the HCA.
declare -A DEVICE=([dom0]=${SHARED_HCA:-rxe2} [a]=vhca0 [b]=vhca0)
# v2_index ADDRESS: the index of its GID, in what vhca-indices prints.
v2_index() { awk -v g="::ffff:$1" '$2 && $3 == g && $4 == "v2" { print $2; exit }'; }

# tcp_native CLAIM PORT COMMAND COMMAND: in dom0 alone, to $native.
tcp_native() {
	by_tcp "$2" dom0 dom0 "$3" "$4"
	native=$verdict
	note "$1 natively: $native, $(tail -n 2 /tmp/cm.c | tr '\n' ' ')"
}
# tcp_same CLAIM PORT COMMAND COMMAND [PAIR...]: between each pair as natively.
tcp_same() {
	local pair
	local -a pairs=("${@:5}")
	tcp_native "${@:1:4}"
	for pair in "${pairs[@]:-${PAIRS[@]}}"; do
		# shellcheck disable=SC2086
		by_tcp "$2" $pair "$3" "$4"
		[ "$verdict" = "$native" ] || tail -n 5 /tmp/cm.s /tmp/cm.c
		check "$1: as natively, server and client in $pair" \
			[ "$verdict" = "$native" ]
	done
}
# tcp_works ...: and natively it works.
tcp_works() {
	tcp_same "$@"
	check "$1 works natively" [ "$native" = 0 ]
}

step "two guests with one address each, and these programs"
archive_setup programs
backend_start
modprobe rdma_ucm
for g in a b; do
	guest_config "$g" pv "mem=$VHCA_GUEST_MEM" "${VHCA_GUEST_CFG[@]}" >/dev/null
done
guests_start a b
if [ -n "${SHARED_HCA:-}" ]; then
	hca_drivers
	agent_start
	SHARED_DEV=$(ls "/sys/class/infiniband/$SHARED_HCA/device/net")
	two_hosts "$SHARED_DEV" "$(ls /sys/class/infiniband/mlx5_1/device/net)"
else
	network_setup
fi
network_state >/tmp/network
share a
share b
for g in a b; do
	guest_sh "$g" vhca-indices >"$SCENARIO_DIR/$g.txt"
	GID_IDX[$g]=$(v2_index "${V4[$g]}" <"$SCENARIO_DIR/$g.txt")
done
# Not 1, as of rxe0: another device had its addresses before this one.
GID_IDX[dom0]=$(vhca-indices -d "${DEVICE[dom0]}" | v2_index "${V4[dom0]}")

step "libfabric"
FABRIC_HCA=${DEVICE[dom0]}
check "fi_info finds endpoints of messages" guest_sh a \
	'fi_info -p verbs -t FI_EP_MSG | grep "domain: vhca0"'
check "at the shared address" guest_sh a \
	"fi_info -p verbs -t FI_EP_MSG -v | grep -F ${V4[a]}"
for e in 'verbs msg' 'verbs;ofi_rxm rdm' 'verbs dgram'; do
	declare -A native_ends=()
	for a in 127.0.0.1 "${V4[dom0]}"; do
		fabric "${e% *}" "${e#* }" dom0 dom0 "$a"
		native_ends[$a]=$ends
	done
	note "$e natively: ${native_ends[${V4[dom0]}]}; over loopback: ${native_ends[127.0.0.1]}"
	fabric "${e% *}" "${e#* }" a a 127.0.0.1
	check "$e over loopback ends as natively" ends_as "${native_ends[127.0.0.1]}"
	for pair in "${PAIRS[@]}"; do
		fabric "${e% *}" "${e#* }" "${pair% *}" "${pair#* }" "${V4[${pair% *}]}"
		check "$e between $pair too" ends_as "${native_ends[${V4[dom0]}]}"
	done
done
fabric verbs msg dom0 dom0 "${V6[dom0]}"
native=$ends
fabric verbs msg a b "${V6[a]}"
check "verbs msg over IPv6 ends as natively" ends_as "$native"

step "qperf"
# Its server tells its port before it listens: dom0 as a client of a guest is faster than
# that (docs/guide/limits.md).
tcp_works "qperf -cm 1" 19765 qperf "qperf @ -t 1 -cm 1 rc_lat rc_bw" 'a b' 'dom0 b'
tcp_works "qperf's TCP" 19765 qperf "qperf @ -t 1 tcp_lat tcp_bw"
# It knows LIDs only.
tcp_same "qperf without rdma_cm" 19765 qperf "qperf @ -t 1 -li %:1 rc_lat"
tcp_works "qperf's UDP" 19765 qperf "qperf @ -t 1 udp_lat"

step "fio"
# fio_case VERB PAIR...: its server reads, whatever the client's verb.
fio_case() {
	cm_case "fio, $1" "fio --name=server --ioengine=rdma --port=4800 --bs=64k \
		--size=4m --thread --rw=read --iodepth=16" \
		"fio --name=client --ioengine=rdma --port=4800 --bs=64k --size=4m \
		--thread --rw=write --verb=$1 --hostname=@ --iodepth=1 \
		--iodepth_batch_complete=1" "${@:2}"
}
fio_case write "${PAIRS[@]}"
fio_case read "${PAIRS[@]}"
# It never retries, so the receives have to be dom0's own (docs/guide/limits.md).
fio_case send 'dom0 b'

step "UCX"
# It takes a completion's service level for the kind of the address, as of an mlx5, and drops
# datagrams of Soft-RoCE.
ucx="UCX_UD_ETH_DGID_CHECK=n UCX_UD_TIMEOUT=$(seconds 60)s"
# On an mlx5 it chooses among its ways to that HCA.
UCX_WAYS=${SHARED_HCA:+ib,self}
: "${UCX_WAYS:=rc_verbs,ud_verbs,self}"
# The model of a rich card announces DEVX, whose commands it refuses.
ucx+=" UCX_NET_DEVICES=%:1 UCX_IB_MLX5_DEVX=n UCX_TLS=$UCX_WAYS"
# ucx_transports WHERE: on its HCA.
ucx_transports() {
	at "$1" "UCX_IB_MLX5_DEVX=n ucx_info -d" | awk -v hca="${DEVICE[$1]}" '
		$2 == "Transport:" { t = $3 }
		$2 == "Device:" && $3 == hca ":1" { print t }' | sort
}
ucx_transports dom0 >/tmp/transports.dom0
ucx_transports a >/tmp/transports.a
check "a has the transports of dom0" diff /tmp/transports.dom0 /tmp/transports.a
check "which are some" grep rc_ /tmp/transports.a
tcp_works "ucx_perftest" 13337 "$ucx ucx_perftest" \
	"$ucx ucx_perftest @ -t tag_lat -n 100 -w 10"
tcp_works "ucx_perftest, streams" 13337 "$ucx ucx_perftest" \
	"$ucx ucx_perftest @ -t stream_bw -s 4096 -n 200 -w 10"
# Its sockaddr connections are of rdma_cm.
io_listens() { rdma resource show cm_id | grep -q 'LISTEN.*:1337'; }
# io_demo SERVER CLIENT: $verdict is the client's status.
io_demo() {
	local server run="UCX_SOCKADDR_TLS_PRIORITY=rdmacm $ucx io_demo -p 1337"
	at "$1" "${run//%/${DEVICE[$1]}}" >/tmp/cm.s 2>&1 &
	server=$!
	wait_until 20 io_listens || note "io_demo does not listen"
	verdict=0
	at "$2" "${run//%/${DEVICE[$2]}} -i 100 -d 4096:4096 -o write -q ${CM_ADDR[$1]}" \
		>/tmp/cm.c 2>&1 || verdict=$?
	at "$1" 'pkill -x io_demo' || true
	wait "$server" || true
	wait_until 10 not io_listens || true
}
io_demo dom0 dom0
native=$verdict
note "io_demo natively: $native, $(tail -n 2 /tmp/cm.c | tr '\n' ' ')"
for pair in "${PAIRS[@]}"; do
	# shellcheck disable=SC2086
	io_demo $pair
	[ "$verdict" = "$native" ] || tail -n 5 /tmp/cm.[sc]
	check "UCX by rdma_cm: as natively, server and client in $pair" \
		[ "$verdict" = "$native" ]
done
check "UCX by rdma_cm works natively" [ "$native" = 0 ]

step "Open MPI"
# What starts its processes at the other address: guests have no sshd.
cat >/tmp/remote <<-EOT
#!/bin/bash
host=\$(awk -v h="\$1" '\$2 == h { print \$1 }' /etc/hosts)
shift
exec guest-shell -t $(seconds 60) "\$host" $SHELL_PORT "\$*"
EOT
chmod 755 /tmp/remote
for g in a b; do	# whoever is started demands it, too
	guest_put $g /tmp/remote /tmp/remote
	guest_sh $g 'chmod 755 /tmp/remote'
done
NET=${V4[dom0]%.*}.0/24
mpirun="orterun --allow-run-as-root -np 2 --leave-session-attached"
mpirun+=" --mca plm_rsh_agent /tmp/remote"
mpirun+=" --mca plm_rsh_no_tree_spawn 1 --mca btl_base_warn_component_unused 0"
mpirun+=" --mca oob_tcp_if_include $NET"
netpipe="NPopenmpi -u 256 -n 2 -o /dev/null"
# mpi_runs WHERE OPTIONS
mpi_runs() {
	at "$1" "$mpirun $2 $netpipe" >/tmp/mpi 2>&1 && return
	tail -n 15 /tmp/mpi
	return 1
}
# mpi CLAIM OPTIONS: within dom0, and over the two guests; "%" is the HCA, "!" the network of
# TCP. Not of dom0's interface, which has the guests' addresses, too (docs/guide/limits.md).
mpi() {
	local of_dom0=${2//%/${DEVICE[dom0]}} of_a=${2//%/${DEVICE[a]}}
	check "$1 within dom0" mpi_runs dom0 "--host localhost:2 ${of_dom0//!/127.0.0.0/8}"
	check "$1 over two guests" mpi_runs a "--host a,b ${of_a//!/$NET}"
}
# two_rails: over two HCAs of each guest, each in its own network: UCX compares those of
# interfaces. Which HCA it takes for large messages is its own choice.
two_rails() {
	local g first second
	local -A ip2=([a]=10.9.0.71 [b]=10.9.0.72)
	for g in a b; do
		vhca_attach "$g" "hca=rxe0,ip=${ip2[$g]}/24"
		guest_sh "$g" "modprobe dummy; ip link add d1 type dummy &&
			ip addr add ${ip2[$g]}/24 dev d1 && ip link set d1 up"
	done
	sent() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }
	first=$(sent rxe2) second=$(sent rxe0)
	netpipe="NPopenmpi -l 131072 -u 262144 -n 4 -o /dev/null"
	check "Open MPI over two HCAs of each guest" mpi_runs a "--host a,b \
		--mca pml ucx --mca pml_ucx_devices any -x UCX_TLS=rc_verbs,ud_verbs,self \
		-x UCX_UD_ETH_DGID_CHECK=n -x UCX_IB_ROCE_LOCAL_SUBNET=y \
		-x UCX_RNDV_THRESH=8k -x UCX_MAX_RNDV_RAILS=2 \
		-x UCX_NET_DEVICES=vhca0:1,vhca1:1"
	note "packets: $(($(sent rxe2) - first)) by the first, $(($(sent rxe0) - second)) by the second"
	for g in a b; do
		check "$g: detach the second one" vhcactl detach "$g" 1
		guest_sh "$g" "ip link del d1"
	done
}
# Its TCP takes one address of an interface, perhaps the wrong one of two.
declare -A test_ip
if [ -e /usr/bin/orterun ]; then
	for g in a b; do
		test_ip[$g]=$(guest_ip "$g")
		echo "${V4[$g]}" >"$GUEST_RUN/$g.ip"
		check "$g has its shared address only" \
			guest_sh "$g" "ip addr del ${test_ip[$g]}/24 dev eth0"
		guest_sh "$g" "printf '%s\n' '${V4[a]} a' '${V4[b]} b' >>/etc/hosts"
	done
	mpi "Open MPI by TCP" "--mca pml ob1 --mca btl tcp,self \
		--mca btl_tcp_if_include !"
	mpi "Open MPI by verbs" "--mca pml ucx --mca pml_ucx_devices any \
		-x UCX_UD_ETH_DGID_CHECK=n -x UCX_IB_MLX5_DEVX=n -x UCX_TLS=$UCX_WAYS \
		-x UCX_NET_DEVICES=%:1"
	[ -n "${SHARED_HCA:-}" ] || two_rails
	for g in a b; do
		guest_sh "$g" "ip addr add ${test_ip[$g]}/24 dev eth0"
		echo "${test_ip[$g]}" >"$GUEST_RUN/$g.ip"
	done
else
	note "this release's Open MPI is not in the image"
fi

step "TCP beside RDMA"
tcp_works "iperf3" 5201 "iperf3 -s" "iperf3 -c @ -t 2"
cm_serve a "rping -s -a ${V4[a]}"
rping_server=$server
at b "rping -c -a ${V4[a]} -C 1000000 -v" >/tmp/rping.c 2>&1 &
rping_client=$!
pings() { [ "$(grep -c 'ping data' /tmp/rping.c)" -gt "$1" ]; }
wait_until 20 pings 0 || fail "rping does not run"
by_tcp 5201 a b "iperf3 -s" "iperf3 -c @ -t 5"
check "iperf3 beside rping" [ "$verdict" = 0 ]
n=$(grep -c 'ping data' /tmp/rping.c)
check "rping goes on" wait_until 20 pings "$n"
for g in b a; do
	guest_sh "$g" 'pkill -x rping' || true
done
wait "$rping_client" || true
wait "$rping_server" || true

step "IPv6"
one_family 6
serve_all a b
talks 6 'dom0 a' 'a dom0' 'peer a' 'a peer' 'a b' 'b a'
cm_case "rping" "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" "${PAIRS[@]}"
tcp_same "qperf -cm 1 over IPv6" 19765 qperf "qperf @ -t 1 -cm 1 rc_lat" 'a b' 'dom0 b'
tcp_works "iperf3 over IPv6" 5201 "iperf3 -s" "iperf3 -6 -c @ -t 2"
tcp_works "ucx_perftest over IPv6" 13337 "$ucx ucx_perftest -6" \
	"$ucx ucx_perftest -6 @ -t tag_lat -n 100 -w 10"
one_family 4

step "what is left"
end_services a b
for g in a b; do
	vhcactl detach "$g" all
	own_no_addresses "$g"
done
check "nothing is left in dom0's network" nothing_left
if [ -n "${SHARED_HCA:-}" ]; then
	ip netns del peer
	ip addr flush dev "$SHARED_DEV"
else
	network_remove
fi
kernel_clean a b
