/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a whole worker (backend/core/store.h), to a frontend that answers each state
 * at once. Its Soft-RoCE is rxe0.
 */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct be_dev;
struct be_store;

#define FAKE_LINK_ORDER	4u		/* of the command ring */

/* 0 or -1. */
int fake_store_install(void);
void fake_store_remove(void);
/* Before a worker starts; page: of the guest, the first of 18 for the rings. */
void fake_store_begin(uint32_t page);
bool fake_store_connected(void);
/* After begin: the frontend never connects. Was it offered to? */
void fake_store_waits(void);
bool fake_store_offered(void);
/* Its guest is gone, of which only its nodes tell. */
void fake_store_gone(void);
/* The frontend is closed. */
void fake_store_end(void);
/* For be_worker_main(). */
struct be_store *fake_store_open(struct be_dev *dev, unsigned int domid,
			       unsigned int devid);

#endif
