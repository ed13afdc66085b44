/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The HCA of a device: opened, and closed with all that is in it (device.c).
 */
#ifndef BE_DEVICE_H
#define BE_DEVICE_H

struct be_dev;
struct vhca_provider;

/* Open the HCA, read its limits, choose the provider. On failure be_fault()
 * has said why, for the log and the operator. */
int be_dev_open(struct be_dev *dev);
/* Sets the provider, whose rows are found by the op of a request. */
void be_dev_provider(struct be_dev *dev, const struct vhca_provider *prov);
/* Close every ucontext (objects first, then unmap), then the HCA. Contexts
 * whose doorbells the guest may still reach stay open: dev->unsettled. */
void be_dev_close(struct be_dev *dev);

#endif
