# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The devices of the test bed's Arm machines. Nothing else is compiled; ARM_V7M
# is no device of theirs, but target/arm does not link without.
CONFIG_ARM_VIRT=y
CONFIG_ARM_V7M=y
CONFIG_GENERIC_LOADER=y
CONFIG_PCIE_PORT=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_9P=y
CONFIG_EDU=y
CONFIG_CONNECTX4=y
