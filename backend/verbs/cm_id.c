// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which ids of the kernel's connection manager a guest has, and in which file. The
 * kernel checks the same; the table is here to charge them, and to know of each
 * whether it came to a device that is not the guest's. Ids come from the guest.
 * Job threads run this, with the lock: see cm.h.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#define HEADS		256u
#define BACKLOG_MOST	1024u	/* the kernel's own limit for one listener */
#define BACKLOG_SHARE	4u
#define AF_IB_SIZE	48u	/* struct sockaddr_ib, <rdma/ib.h> */

struct be_cm_ids {
	struct be_cm_id *head[HEADS];
	uint32_t n, groups;		/* groups are among the n */
	uint32_t backlog;		/* of all ids */
};

int be_cm_open(struct be_dev *dev)
{
	dev->cm_ids = calloc(1, sizeof(*dev->cm_ids));
	return dev->cm_ids ? 0 : -ENOMEM;
}

void be_cm_close(struct be_dev *dev)
{
	free(dev->cm_ids);
	dev->cm_ids = NULL;
}

struct be_cm_id *be_cm_id_get(const struct be_cm_call *c, const struct be_cm *cm,
			      uint32_t id, bool group, int *err)
{
	struct be_cm_id *i = c->dev->cm_ids->head[id % HEADS];

	while (i && (i->id != id || !i->of == group))
		i = i->next;
	*err = !i ? -ENOENT : i->cm != cm ? -EINVAL : 0;
	return *err ? NULL : i;
}

struct be_cm_id *be_cm_id_of_uid(const struct be_dev *dev,
				 const struct be_cm *cm, uint64_t uid)
{
	struct be_cm_id *i;
	unsigned int h;

	for (h = 0; h < HEADS; h++)
		for (i = dev->cm_ids->head[h]; i; i = i->next)
			if (i->cm == cm && !i->of && i->uid == uid)
				return i;
	return NULL;
}

/* Octets of an address, which rdma_addr_size() knows; 0: the kernel refuses it. */
static size_t addr_size(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return AF_IB_SIZE;
	}
	return 0;
}

bool be_cm_id_joined(const struct be_dev *dev, const struct be_cm_id *of,
		     const struct sockaddr_storage *group)
{
	size_t len = addr_size(group);
	struct be_cm_id *i;
	unsigned int h;

	for (h = 0; len && h < HEADS; h++)
		for (i = dev->cm_ids->head[h]; i; i = i->next)
			if (i->of == of && !memcmp(&i->group, group, len))
				return true;
	return false;
}

/* The attachments that go with groups are the command thread's, and counted there. */
int be_cm_id_check(const struct be_dev *dev, bool group)
{
	if (dev->cm_ids->n >= dev->quota.max_cm_ids ||
	    (group && dev->cm_ids->groups >= dev->quota.max[BE_MCAST]))
		return -EDQUOT;
	return 0;
}

struct be_cm_id *be_cm_id_add(struct be_dev *dev, struct be_cm *cm, uint32_t id,
			      struct be_cm_id *of)
{
	struct be_cm_id **head = &dev->cm_ids->head[id % HEADS];
	struct be_cm_id *i;

	/* Others may have made some while the kernel made this one. */
	if (be_cm_id_check(dev, of))
		return NULL;
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	*i = (struct be_cm_id){ .next = *head, .cm = cm, .of = of, .id = id };
	*head = i;
	dev->cm_ids->n++;
	dev->cm_ids->groups += i->of != NULL;
	return i;
}

void be_cm_id_del(struct be_dev *dev, const struct be_cm *cm,
		  const struct be_cm_id *id)
{
	struct be_cm_ids *ids = dev->cm_ids;
	struct be_cm_id **at, *i;
	unsigned int h;

	for (h = 0; h < HEADS; h++) {
		for (at = &ids->head[h]; (i = *at);) {
			if (id ? i != id && i->of != id : i->cm != cm) {
				at = &i->next;
				continue;
			}
			*at = i->next;
			ids->n--;
			ids->groups -= i->of != NULL;
			ids->backlog -= i->backlog;
			free(i);
		}
	}
}

void be_cm_id_move(struct be_dev *dev, struct be_cm_id *id, struct be_cm *to)
{
	struct be_cm_id *i;
	unsigned int h;

	for (h = 0; h < HEADS; h++)
		for (i = dev->cm_ids->head[h]; i; i = i->next)
			if (i == id || i->of == id)
				i->cm = to;
}

/*
 * The kernel makes an id for each request that waits, whoever sent it: a listener
 * gets a share of what is left, so that there is some for the next one.
 */
uint32_t be_cm_id_backlog(struct be_dev *dev, struct be_cm_id *id,
			  uint32_t asked)
{
	struct be_cm_ids *ids = dev->cm_ids;
	uint32_t left;

	ids->backlog -= id->backlog;
	left = ids->backlog < dev->quota.max_cm_ids ?
	       dev->quota.max_cm_ids - ids->backlog : 0;
	id->backlog = left / BACKLOG_SHARE + 1;
	if (id->backlog > BACKLOG_MOST)
		id->backlog = BACKLOG_MOST;
	if (asked && asked < id->backlog)
		id->backlog = asked;
	ids->backlog += id->backlog;
	return id->backlog;
}
