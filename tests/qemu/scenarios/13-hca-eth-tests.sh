#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The tests that rdma-core brings with its Python bindings succeed natively on a model HCA
# with an Ethernet port; those that do not run there have their reasons.
# limit: 1200
# tier: soak
# machine: native
# hca: yes
# pyverbs: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./hca.sh
. ./verdicts.sh

step "drivers"
(cd / && cpio --quiet -id </guest/pyverbs.cpio)
cp /tests/verbs/verdicts.py /tmp/	# which another release's Python sees
hca_drivers
modprobe rdma_ucm
n=0
for d in $HCAS; do
	i=$(ls "/sys/class/infiniband/$d/device/net")
	ip addr add "10.$((++n)).0.1/24" dev "$i"
	ip link set "$i" up
	check "$d is active" wait_until 20 port_is "$d" ACTIVE
done
note "rdma-core $(cat /usr/share/pyverbs-release)"
of_release /tests/verbs/expected-verdicts-eth.txt >/tmp/expected

step "tests"
verdicts=$SCENARIO_DIR/verdicts.txt
pyverbs-python /tmp/verdicts.py --tests /usr/share/pyverbs/tests --dev mlx5_0 \
	--timeout $((30 * ${TIME_SCALE:-2} / 2)) >"$verdicts"
cut -f2 "$verdicts" | sort | uniq -c
awk -F '\t' -v OFS='\t' '{ print $1, "ok", "" }' "$verdicts" >/tmp/all-ok
check "each succeeds, or is not for this port" \
	env COMPARE_LEAST=200 /tests/verbs/compare.sh /tmp/all-ok "$verdicts" /tmp/expected
check "every command is one that the model knows" \
	[ "$(hca_get hca0 commands-unknown)" = 0 ]
check "no doorbell was refused" [ "$(hca_get hca0 doorbells-refused)" = 0 ]
