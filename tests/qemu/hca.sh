# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios with model HCAs share ("# hca: yes", devices with id=hca0 and
# so on): drivers, guests, the machine's monitor, two-sided programs. Sourced
# after lib.sh, and after vhca.sh where guests have a vhca.

MLX5="mlx5_0 mlx5_1"

# hca_setup: drivers for two HCAs, until both ports are in state HCA_STATE
# (ACTIVE).
hca_setup() {
	local d
	modprobe -a mlx5_core mlx5_ib ib_uverbs ib_umad
	for d in $MLX5; do
		wait_until 30 test -e "/sys/class/infiniband/$d" ||
			fail "the driver does not make $d: $(dmesg | tail -n 3)"
		wait_until 10 port_is "$d" "${HCA_STATE:-ACTIVE}" ||
			fail "$d: port is $(cat "/sys/class/infiniband/$d/ports/1/state")"
	done
}

port_is() { grep -q ": $2\$" "/sys/class/infiniband/$1/ports/1/state"; }

# agent_start: the doorbell agent, restarted when it dies, as systemd would.
agent_start() {
	[ ! -e /run/doorbelld.loop ] || return 0
	touch /run/doorbelld.loop
	setsid bash -c 'while [ -e /run/doorbelld.loop ]; do
		xen-vhca-doorbelld --foreground ${AGENT_OPTIONS:--l debug}
		echo "xen-vhca-doorbelld ended with status $?"
		sleep 0.3
	done' </dev/null >>/run/doorbelld.log 2>&1 &
	wait_until 10 pgrep -x xen-vhca-doorbe ||
		fail "the agent does not start: $(tail -n 5 /run/doorbelld.log)"
}

# hca_guests TYPE NAME [TYPE NAME]...: drivers, agent, backend, guests; a vhca
# on mlx5_0 for the first, on mlx5_1 for the second, and so on in turn.
hca_guests() {
	hca_setup
	agent_start
	VHCA_HCAS="$MLX5" guests_with_vhca "$@"
}

# qmp JSON: a command of QEMU's monitor; prints what it returns.
qmp() {
	local port=/dev/virtio-ports/qmp fd line=''
	if [ ! -e "$port" ]; then
		modprobe -a virtio_pci virtio_console
		wait_until 10 test -e "$port"
	fi
	exec {fd}<>"$port"
	if [ ! -e /run/qmp ]; then
		echo '{"execute":"qmp_capabilities"}' >&"$fd"
		until [[ $line = *'"return"'* ]]; do
			read -r -t 10 -u "$fd" line
		done
		touch /run/qmp
	fi
	echo "$1" >&"$fd"
	while read -r -t 10 -u "$fd" line; do
		[[ $line != *'"event"'* ]] || continue
		exec {fd}>&-
		jq -ce 'if .error then error(.error.desc) else .return end' \
			<<<"$line"
		return
	done
	exec {fd}>&-
	fail "the monitor does not answer"
}

# hca_get ID PROPERTY and hca_set ID PROPERTY VALUE: of the model.
hca_get() {
	qmp '{"execute":"qom-get","arguments":{"path":"/machine/peripheral/'"$1"'","property":"'"$2"'"}}'
}
hca_set() {
	qmp '{"execute":"qom-set","arguments":{"path":"/machine/peripheral/'"$1"'","property":"'"$2"'","value":'"$3"'}}' >/dev/null
}

# both PROGRAM [OPTION]...: server on mlx5_1, client on mlx5_0; both succeed.
both() {
	local server rc=0
	timeout "${LIMIT:-60}" "$1" -d mlx5_1 "${@:2}" >/tmp/server.log 2>&1 &
	server=$!
	sleep 0.4
	timeout "${LIMIT:-60}" "$1" -d mlx5_0 "${@:2}" 127.0.0.1 \
		>/tmp/client.log 2>&1 || rc=$?
	wait "$server" || rc=$?
	[ "$rc" = 0 ] || {
		note "$*: client:"
		tail -n 8 /tmp/client.log
		note "server:"
		tail -n 8 /tmp/server.log
	}
	return "$rc"
}

# Neither the drivers nor the kernel complained since the scenario began.
quiet_kernel() {
	! dmesg | grep -E 'BUG|WARNING|Call Trace|mlx5.*(error|fail|timeout|syndrome)|dump_cqe|unhandled'
}
