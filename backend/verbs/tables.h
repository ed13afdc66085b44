/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which entries of the port's tables are a vhca's own. Command thread, if nothing
 * else is said.
 */
#ifndef BE_TABLES_H
#define BE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

struct be_dev;

/* Has the guest GIDs, P_Keys of its own, or all that the port has? */
bool be_gids_own(const struct be_dev *dev);
bool be_pkeys_own(const struct be_dev *dev);
/**
 * be_gid_check() - may an address vector name that entry?
 * @index: of the table, which has the physical indices
 *
 * Return: 0; -EINVAL: there is no such entry; -ENODATA: there is nothing in it
 * for this vhca; another -errno: the kernel does not tell.
 */
int be_gid_check(const struct be_dev *dev, uint32_t index);
/**
 * be_gid_to_host() - physical index of an entry of the guest's GID table
 * @index: at entry the guest's; index 0, which programs use by default, is that of
 *	the vhca's first GID unless it has the physical entry 0
 *
 * Return: as be_gid_check(), of the physical entry.
 */
int be_gid_to_host(const struct be_dev *dev, uint8_t *index);
/*
 * Has the guest's part of the GID table changed since the last time? Event thread.
 * True as well the first time, and when nobody knows.
 */
bool be_gids_changed(struct be_dev *dev);
/**
 * be_pkey_to_host() - physical index of an entry of the guest's P_Key table
 *
 * Return: 0; -EINVAL: it has no such entry, or the port does not have the P_Key.
 */
int be_pkey_to_host(struct be_dev *dev, uint16_t index, uint16_t *host);
/* The other way round, of an answer: 0, or -ENOENT. Any thread. */
int be_pkey_find(const struct be_dev *dev, uint16_t host, uint16_t *index);
/*
 * May it use what the kernel sends with when it is asked for this partition? The kernel
 * takes full membership if the port has that. Any thread.
 */
bool be_pkey_member(const struct be_dev *dev, uint16_t pkey);
/* Likewise; 0 where the guest has none such. */
uint16_t be_pkey_from_host(const struct be_dev *dev, uint16_t host);
/* How many entries the guest's P_Key table has. */
uint32_t be_pkey_count(const struct be_dev *dev);

#endif
