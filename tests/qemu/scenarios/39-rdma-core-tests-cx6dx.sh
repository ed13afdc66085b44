#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 39-rdma-core-tests-roce, on the model of a rich card.
# limit: 1800
# tier: soak
# hca: yes
# pyverbs: yes
# qemu: -device connectx4,id=hca0,port=eth,profile=cx6dx -device connectx4,id=hca1,port=eth
VERDICTS=expected-verdicts-cx6dx.txt
# shellcheck source=tests/qemu/scenarios/39-rdma-core-tests-roce.sh
. ../scenarios/39-rdma-core-tests-roce.sh
