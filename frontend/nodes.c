// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The nodes of a connection: what the backend can, and what this side offers.
 * They are read and written by the worker of front.c. What the link reads is the
 * backend's and is range-checked here.
 */
#include <linux/slab.h>

#include "doorbell.h"
#include "nodes.h"
#include "vhca.h"

/* Ring pages, version, order, three channels, two rings, doorbell window. */
#define VHCA_NODES		(VHCA_RING_PAGES + 8)

/* Is @want one of the numbers of a comma separated list? */
static bool version_in(char *list, unsigned int want)
{
	unsigned int version;
	char *word;

	while ((word = strsep(&list, ",")))
		if (!kstrtouint(strim(word), 10, &version) && version == want)
			return true;
	return false;
}

int vhca_check_version(struct vhca_link *link)
{
	char *list;
	bool found;

	list = link->ops->read(link, XENVHCA_NODE_VERSIONS);
	if (IS_ERR(list)) {
		dev_err(link->dev, "backend has no node " XENVHCA_NODE_VERSIONS
			"\n");
		return PTR_ERR(list);
	}
	found = version_in(list, XENVHCA_PROTOCOL_VERSION_INT);
	kfree(list);
	if (found)
		return 0;
	dev_err(link->dev,
		"backend does not speak version " XENVHCA_PROTOCOL_VERSION
		" of the protocol; update it or this module\n");
	return -EPROTONOSUPPORT;
}

unsigned int vhca_ring_order(struct vhca_link *link)
{
	char *text = link->ops->read(link, XENVHCA_NODE_MAX_RING_ORDER);
	unsigned int order;

	if (IS_ERR(text))
		return 0;
	if (kstrtouint(strim(text), 10, &order))
		order = 0;
	kfree(text);
	return min_t(unsigned int, order, XENVHCA_MAX_RING_ORDER);
}

static void node_number(struct vhca_node *node, const char *name,
			unsigned int value)
{
	snprintf(node->name, sizeof(node->name), "%s", name);
	snprintf(node->value, sizeof(node->value), "%u", value);
}

/* All that a connection offers. Returns the number of nodes. */
static unsigned int node_table(struct vhca_dev *dev, struct vhca_node *node)
{
	const struct vhca_ring *ring = &dev->ring;
	struct vhca_node *first = node;
	char name[sizeof(node->name)];
	unsigned int i;

	node_number(node++, XENVHCA_NODE_VERSION,
		    XENVHCA_PROTOCOL_VERSION_INT);
	node_number(node++, XENVHCA_NODE_RING_ORDER, ring->order);
	for (i = 0; i < 1u << ring->order; i++) {
		snprintf(name, sizeof(name), XENVHCA_NODE_RING_REF "%u", i);
		node_number(node++, name, ring->cmd_ref[i]);
	}
	node_number(node++, XENVHCA_NODE_EVTCHN, ring->cmd_port);
	node_number(node++, XENVHCA_NODE_EVT_RING_REF, ring->evt_ref);
	node_number(node++, XENVHCA_NODE_EVT_EVTCHN, ring->evt_port);
	node_number(node++, XENVHCA_NODE_KICK_RING_REF, ring->kick_ref);
	node_number(node++, XENVHCA_NODE_KICK_EVTCHN, ring->kick_port);
	if (dev->window) {
		snprintf(node->name, sizeof(node->name),
			 XENVHCA_NODE_DOORBELL_WINDOW);
		snprintf(node->value, sizeof(node->value), "%#llx %#x",
			 vhca_window_gfn(dev->window),
			 XENVHCA_DOORBELL_SLOTS);
		node++;
	}
	return node - first;
}

int vhca_offer(struct vhca_dev *dev)
{
	struct vhca_node *node = kcalloc(VHCA_NODES, sizeof(*node), GFP_KERNEL);
	int err;

	if (!node)
		return -ENOMEM;
	err = dev->link->ops->write(dev->link, node, node_table(dev, node));
	kfree(node);
	return err;
}
