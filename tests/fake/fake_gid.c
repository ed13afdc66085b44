// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The tables of the fake kernel's ports: GIDs, which a test may change while the
 * HCA is in use, and P_Keys, which are files. Every second GID of the first port
 * is empty at first; the second port has one.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdio.h>
#include <string.h>

#include "fake_priv.h"

void fake_gid_default(void)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [8] = 2, [15] = 1 };
	unsigned int i;

	for (i = 0; i <= FAKE_GIDS; i += 2)
		fake_gid(i, gid);
}

void fake_gid(unsigned int index, const uint8_t gid[16])
{
	memset(fake.gid[index], 0, 16);
	if (gid)
		memcpy(fake.gid[index], gid, 16);
}

/* False: it is empty. */
static bool gid_get(unsigned int i, struct ib_uverbs_gid_entry *e)
{
	static const uint8_t zero[16];

	*e = (struct ib_uverbs_gid_entry){
		.gid_index = i % FAKE_GIDS, .port_num = 1 + i / FAKE_GIDS,
		.gid_type = i % 4 ? IB_UVERBS_GID_TYPE_ROCE_V2 :
				    IB_UVERBS_GID_TYPE_ROCE_V1,
	};
	memcpy(e->gid, fake.gid[i], 16);
	return memcmp(fake.gid[i], zero, 16);
}

static int query_table(const uint64_t *at, const uint16_t *len)
{
	struct ib_uverbs_gid_entry e;
	uint8_t *to = (void *)(uintptr_t)
		      at[UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES];
	uint64_t n = 0, max;
	unsigned int i;

	if (len[UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE] != 8 ||
	    len[UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES] != 8 ||
	    at[UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE] != sizeof(e))
		return -EINVAL;
	max = len[UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES] / sizeof(e);
	for (i = 0; i <= FAKE_GIDS; i++) {
		if (!gid_get(i, &e))
			continue;
		if (n == max)
			return -EINVAL;
		memcpy(to + n++ * sizeof(e), &e, sizeof(e));
	}
	memcpy((void *)(uintptr_t)
	       at[UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES], &n, 8);
	return 0;
}

static int query_entry(const uint64_t *at, const uint16_t *len)
{
	uint64_t index = at[UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX];
	struct ib_uverbs_gid_entry e;

	if (len[UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY] != sizeof(e) ||
	    at[UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS] ||
	    at[UVERBS_ATTR_QUERY_GID_ENTRY_PORT] != 1 || index >= FAKE_GIDS)
		return -EINVAL;
	if (!gid_get((unsigned int)index, &e))
		return -ENODATA;
	memcpy((void *)(uintptr_t)at[UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY], &e,
	       sizeof(e));
	return 0;
}

int fake_gid_query(const struct ib_uverbs_ioctl_hdr *h)
{
	const struct ib_uverbs_attr *a = h->attrs, *end = a + h->num_attrs;
	uint64_t at[4] = { 0 };
	uint16_t len[4] = { 0 };

	for (; a < end; a++) {
		if (a->attr_id > 3 || a->attr_data.reserved)
			return -EPROTONOSUPPORT;
		at[a->attr_id] = a->data;
		len[a->attr_id] = a->len;
	}
	if (h->method_id == UVERBS_METHOD_QUERY_GID_TABLE)
		return query_table(at, len);
	if (h->method_id == UVERBS_METHOD_QUERY_GID_ENTRY)
		return query_entry(at, len);
	return -EPROTONOSUPPORT;
}

void fake_pkey(unsigned int index, uint16_t pkey)
{
	char name[64], text[8];

	snprintf(name, sizeof(name), FAKE_HCA "ports/1/pkeys/%u", index);
	snprintf(text, sizeof(text), "0x%04x", pkey);
	fake.violations += !!fake_sysfs_put(name, text);
}

void fake_before(uint32_t cmd, void (*fn)(void))
{
	fake.before_cmd = cmd;
	fake.before = fn;
}
