/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a worker reads over its store (store.h): its configuration, written by the
 * toolstack, and the frontend's offer.
 */
#ifndef BE_CONF_H
#define BE_CONF_H

#include "core/be.h"
#include "core/store.h"

#define BE_MAX_RING_ORDER	XENVHCA_MAX_RING_ORDER

/**
 * be_conf_read() - read the configuration of a device
 *
 * Fills dev->hca, port, quota and addr. On failure the reason, which names the
 * node, is in dev->fault_reason (be_fault). 0 or -errno.
 */
int be_conf_read(struct be_dev *dev, struct be_store *l);

/**
 * be_conf_frontend() - read what the frontend wrote before Initialised
 *
 * It must answer what be_conf_offer() has written. Nothing in it is trusted:
 * ranges and the version are checked, whether the references and ports exist is
 * for the hypervisor to say. On failure be_fault() names the node. 0 or -errno.
 */
int be_conf_frontend(struct be_dev *dev, struct be_store *l,
		     struct be_ring_params *p);

/* Versions and limits for the frontend, with InitWait, which follows. 0 or -errno. */
int be_conf_offer(struct be_store *l);

#endif
