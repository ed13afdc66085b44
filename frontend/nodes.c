// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The nodes of a connection: those of the backend and those of this side. The worker of
 * front.c reads and writes them. Values of the backend are range-checked here.
 */
#include <linux/inet.h>
#include <linux/slab.h>

#include "mmap/doorbell.h"
#include "nodes.h"
#include "vhca.h"

#define VHCA_NODES		2	/* setup, doorbell window */

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

int vhca_check_version(struct vhca_store *store)
{
	char *list;
	bool found;

	list = store->ops->read(store, XENVHCA_NODE_VERSIONS);
	if (IS_ERR(list)) {
		dev_err(store->dev, "backend has no node " XENVHCA_NODE_VERSIONS
			"\n");
		return PTR_ERR(list);
	}
	found = version_in(list, XENVHCA_PROTOCOL_VERSION_INT);
	kfree(list);
	if (found)
		return 0;
	dev_err(store->dev,
		"backend does not speak version " XENVHCA_PROTOCOL_VERSION
		" of the protocol; update it or this module\n");
	return -EPROTONOSUPPORT;
}

int vhca_read_terms(struct vhca_store *store, struct vhca_terms *t)
{
	char *text = store->ops->read(store, XENVHCA_NODE_SETUP), *offer, *order;
	bool good;

	if (IS_ERR(text)) {
		dev_err(store->dev, "backend has no node " XENVHCA_NODE_SETUP
			"\n");
		return PTR_ERR(text);
	}
	offer = text;
	order = strsep(&offer, " ");
	good = offer && !kstrtouint(order, 10, &t->order) &&
	       !kstrtouint(offer, 10, &t->offer);
	kfree(text);
	if (!good) {
		dev_err(store->dev, "backend's node " XENVHCA_NODE_SETUP
			" is not two numbers\n");
		return -EINVAL;
	}
	t->order = min_t(unsigned int, t->order, XENVHCA_MAX_RING_ORDER);
	return 0;
}

/* An address without a prefix is in a network of its own. */
static bool net_read(char *word, struct vhca_net *net)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	char *prefix = strchr(word, '/');
	unsigned int bits = 128, first = 0;

	if (prefix)
		*prefix++ = '\0';
	if (in4_pton(word, -1, net->addr + 12, -1, NULL)) {
		memcpy(net->addr, mapped, sizeof(mapped));
		first = 96;
	} else if (!in6_pton(word, -1, net->addr, -1, NULL)) {
		return false;
	}
	if (prefix && (kstrtouint(prefix, 10, &bits) || bits > 128 - first))
		return false;
	net->prefix = prefix ? first + bits : 128;
	return true;
}

void vhca_read_nets(struct vhca_store *store, struct vhca_nets *nets)
{
	char *text = store->ops->read(store, XENVHCA_NODE_IP), *rest, *word;

	nets->nr = 0;
	if (IS_ERR(text))
		return;
	rest = text;
	while ((word = strsep(&rest, " ")) && nets->nr < XENVHCA_MAX_IPS)
		nets->nr += net_read(word, &nets->net[nets->nr]);
	kfree(text);
}

/* A number of the toolstack in its range, or the default. */
static u32 read_number(struct vhca_store *store, const char *node, u32 most, u32 def)
{
	char *text = store->ops->read(store, node);
	unsigned int v = 0;

	if (IS_ERR(text))
		return def;
	if (kstrtouint(text, 10, &v) || v > most)
		v = def;
	kfree(text);
	return v;
}

u32 vhca_read_pool(struct vhca_store *store)
{
	if (!read_number(store, XENVHCA_NODE_KERNEL, 1, 0))
		return 0;
	return read_number(store, XENVHCA_NODE_KERNEL_POOL_MB,
			   XENVHCA_POOL_MB_MOST, XENVHCA_POOL_MB_DEFAULT) ?:
	       XENVHCA_POOL_MB_DEFAULT;
}

bool vhca_read_detached(struct vhca_store *store)
{
	return !read_number(store, "online", 1, 1);
}

static void node_setup(const struct vhca_ring *ring, u32 offer,
		       struct vhca_node *node)
{
	unsigned int i, len;

	snprintf(node->name, sizeof(node->name), XENVHCA_NODE_SETUP);
	len = snprintf(node->value, sizeof(node->value), "%u %u %u %u %u %u %u",
		       XENVHCA_PROTOCOL_VERSION_INT, offer, ring->cmd_port,
		       ring->evt_port, ring->kick_port, ring->evt_ref,
		       ring->kick_ref);
	for (i = 0; i < 1u << ring->order; i++)
		len += snprintf(node->value + len, sizeof(node->value) - len,
				" %u", ring->cmd_ref[i]);
}

/* All that a connection offers. Returns the number of nodes. */
static unsigned int node_table(struct vhca_dev *dev,
			       const struct vhca_terms *t,
			       struct vhca_node *node)
{
	node_setup(&dev->ring, t->offer, node);
	if (!dev->window)
		return 1;
	node++;
	snprintf(node->name, sizeof(node->name), XENVHCA_NODE_DOORBELL_WINDOW);
	snprintf(node->value, sizeof(node->value), "%#llx %#x",
		 vhca_window_gfn(dev->window), XENVHCA_DOORBELL_SLOTS);
	return 2;
}

int vhca_offer(struct vhca_dev *dev, const struct vhca_terms *t)
{
	struct vhca_node *node = kcalloc(VHCA_NODES, sizeof(*node), GFP_KERNEL);
	int err;

	if (!node)
		return -ENOMEM;
	err = dev->store->ops->write(dev->store, node, node_table(dev, t, node));
	kfree(node);
	return err;
}
