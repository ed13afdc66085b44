// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reads a worker's nodes (conf.h). The toolstack's nodes are trusted but may
 * hold mistakes; the frontend's are hostile. A mistake closes the device with a
 * message that names the node and what it may hold. The command thread runs
 * this.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "clock.h"
#include "conf.h"
#include "host/addr.h"
#include "host/maptrack.h"
#include "number.h"
#include "uverbs/sysfs.h"
#include "vhca-keys.h"

#define BE_NUMBER_MAX	32	/* characters of a number, with the NUL */
#define BE_WORDS_MAX	256	/* of a list of words */
#define BE_MAX_PORT	((1u << 17) - 1)	/* FIFO event channels */
#define BE_MAX_GREF	(UINT32_MAX - 1)

#define BE_NUMBER_ID(NODE, least, most, dflt) BE_##NODE,
#define BE_NUMBER(NODE, least, most, dflt) [BE_##NODE] = { \
	XENVHCA_NODE_##NODE, (least), (most), (dflt) },

struct be_number {
	const char *node;
	uint32_t min, max, def;
};

#define KIND(KIND, word, dflt) [BE_##KIND] = { "max-" #word, 1, \
	XENVHCA_MAX_OBJECTS, (dflt) },
static const struct be_number objects[BE_TYPES] = { XENVHCA_KINDS(KIND) };

enum { XENVHCA_NUMBERS(BE_NUMBER_ID) BE_NUMBERS };
static const struct be_number numbers[BE_NUMBERS] = {
	XENVHCA_NUMBERS(BE_NUMBER)
};

/* Reads a number; tells everything that can be wrong with one. */
static int conf_number(struct be_dev *dev, struct be_store *l,
		       const struct be_number *n, uint32_t *val)
{
	char text[BE_NUMBER_MAX];
	uint64_t v = n->def;
	int rc = l->ops->read(l, BE_OWN, n->node, text, sizeof(text));

	if (rc == -ENOENT)
		rc = 0;
	else if (!rc)
		rc = vl_parse_u64(text, n->min, n->max, &v);
	if (!rc)
		*val = (uint32_t)v;
	else if (rc == -EINVAL || rc == -ERANGE || rc == -E2BIG)
		be_fault(dev, "%s/%s must be a number %u..%u", l->name[BE_OWN],
			 n->node, n->min, n->max);
	else
		be_fault(dev, "%s/%s: %s", l->name[BE_OWN], n->node,
			 strerror(-rc));
	return rc;
}

static int conf_limits(struct be_dev *dev, struct be_store *l)
{
	static const struct be_number port_row = {
		XENVHCA_NODE_PORT, 1, XENVHCA_MOST_PORT, XENVHCA_DEF_PORT,
	};
	uint32_t v[BE_NUMBERS] = {}, port = 0;
	struct be_quota *q = &dev->quota;
	unsigned int i;
	int rc;

	for (i = BE_NONE + 1; i < BE_TYPES; i++) {
		rc = conf_number(dev, l, &objects[i], &q->max[i]);
		if (rc)
			return rc;
	}
	for (i = 0; i < BE_NUMBERS; i++) {
		rc = conf_number(dev, l, &numbers[i], &v[i]);
		if (rc)
			return rc;
	}
	q->max_pages = (uint64_t)v[BE_MAX_PINNED_MB] * HOST_PAGES_PER_MB;
	q->max_cm_ids = v[BE_MAX_CM_ID];
	q->cmd.rate = v[BE_MAX_CMD_RATE];
	q->evt.rate = v[BE_MAX_EVT_RATE];
	q->spin_us = v[BE_SPIN_US];
	dev->trusted = v[BE_TRUSTED];
	dev->counters_shown = v[BE_PORT_COUNTERS];
	rc = conf_number(dev, l, &port_row, &port);
	dev->port = (uint8_t)port;
	return rc;
}

static int conf_hca(struct be_dev *dev, struct be_store *l)
{
	int rc = l->ops->read(l, BE_OWN, XENVHCA_NODE_HCA, dev->hca,
			      sizeof(dev->hca));

	if (!rc && be_hca_name_ok(dev->hca))
		return 0;
	dev->hca[0] = '\0';
	be_fault(dev, "%s/%s must name an RDMA device (1..63 characters of [A-Za-z0-9_.-])",
		 l->name[BE_OWN], XENVHCA_NODE_HCA);
	return rc ? rc : -EINVAL;
}

/* Text of a node that need not be there: 1 if it is, 0 or -errno. */
static int conf_words(struct be_dev *dev, struct be_store *l, const char *node,
		      char text[BE_WORDS_MAX])
{
	int rc = l->ops->read(l, BE_OWN, node, text, BE_WORDS_MAX);

	if (!rc)
		return 1;
	if (rc == -ENOENT)
		return 0;
	be_fault(dev, "%s/%s: %s", l->name[BE_OWN], node, strerror(-rc));
	return rc;
}

static int conf_ip(struct be_dev *dev, struct be_store *l)
{
	char text[BE_WORDS_MAX];
	int rc = conf_words(dev, l, XENVHCA_NODE_IP, text);

	if (rc <= 0)
		return rc;
	rc = host_addrs_parse(text, dev->addr.ip);
	if (rc < 0)
		be_fault(dev, "%s/%s must be at most %u different addresses, with blanks between them",
			 l->name[BE_OWN], XENVHCA_NODE_IP, XENVHCA_MAX_IPS);
	else
		dev->addr.n_ips = (unsigned int)rc;
	return rc < 0 ? rc : 0;
}

/* A vhca with addresses of its own is in the default partition, unless told. */
static int conf_pkeys(struct be_dev *dev, struct be_store *l)
{
	char text[BE_WORDS_MAX];
	int rc = conf_words(dev, l, XENVHCA_NODE_PKEYS, text);

	if (rc < 0)
		return rc;
	if (!rc) {
		dev->addr.pkey[0] = UINT16_MAX;
		dev->addr.default_pkey = true;
		dev->addr.n_pkeys = be_addr_given(dev) ? 1 : 0;
		return 0;
	}
	rc = host_pkeys_parse(text, dev->addr.pkey);
	if (rc < 0)
		be_fault(dev, "%s/%s must be at most %u different P_Keys such as 0x8001, with blanks between them",
			 l->name[BE_OWN], XENVHCA_NODE_PKEYS,
			 XENVHCA_MAX_PKEYS);
	else
		dev->addr.n_pkeys = (unsigned int)rc;
	return rc < 0 ? rc : 0;
}

static int conf_umad(struct be_dev *dev, struct be_store *l)
{
	char text[BE_WORDS_MAX];
	int rc = conf_words(dev, l, XENVHCA_NODE_UMAD, text);

	if (rc <= 0)
		return rc;
	if (!strcmp(text, XENVHCA_UMAD_QUERY))
		dev->umad = BE_UMAD_QUERY;
	else if (!strcmp(text, XENVHCA_UMAD_ALL))
		dev->umad = BE_UMAD_ALL;
	else
		rc = -EINVAL;
	if (rc < 0)
		be_fault(dev, "%s/%s must be " XENVHCA_UMAD_QUERY " or "
			 XENVHCA_UMAD_ALL, l->name[BE_OWN], XENVHCA_NODE_UMAD);
	return rc < 0 ? rc : 0;
}

static int conf_window(struct be_dev *dev, struct be_store *l)
{
	char text[BE_WORDS_MAX];
	int rc = conf_words(dev, l, XENVHCA_NODE_DOORBELL_STATIC, text);

	if (rc > 0)
		rc = host_window_parse(text, &dev->window);
	if (rc == -EINVAL)
		be_fault(dev, "%s/%s must be machine frame, guest frame and number of pages, such as 0x8000140 0x8000140 0x760",
			 l->name[BE_OWN], XENVHCA_NODE_DOORBELL_STATIC);
	return rc;
}

int be_conf_read(struct be_dev *dev, struct be_store *l)
{
	int rc = conf_hca(dev, l);

	if (!rc)
		rc = conf_limits(dev, l);
	if (!rc)
		rc = conf_ip(dev, l);
	if (!rc)
		rc = conf_umad(dev, l);
	if (!rc)
		rc = conf_window(dev, l);
	return rc ? rc : conf_pkeys(dev, l);
}

enum { S_VERSION, S_OFFER, S_PORTS, S_REFS = S_PORTS + 3, S_RING = S_REFS + 2,
       S_MOST = S_RING + BE_RING_PAGES };

/* Numbers of a list. Their number, or -errno: something else, or too many. */
static int setup_words(char *text, uint64_t v[S_MOST])
{
	char *word;
	int n = 0, rc;

	while ((word = strsep(&text, " "))) {
		rc = n < S_MOST ? vl_parse_u64(word, 0, UINT32_MAX, &v[n++]) :
				  -E2BIG;
		if (rc)
			return rc;
	}
	return n;
}

/* 0 and *p, or -EINVAL: a number out of its range. */
static int setup_take(const uint64_t v[S_MOST], int n, struct be_ring_params *p)
{
	int i, pages = n - S_RING;

	if (pages < 1 || pages & (pages - 1))
		return -EINVAL;
	for (i = S_PORTS; i < n; i++)
		if (!v[i] || v[i] > (i < S_REFS ? BE_MAX_PORT : BE_MAX_GREF))
			return -EINVAL;
	p->cmd_port = (uint32_t)v[S_PORTS];
	p->evt_port = (uint32_t)v[S_PORTS + 1];
	p->kick_port = (uint32_t)v[S_PORTS + 2];
	p->evt_ref = (uint32_t)v[S_REFS];
	p->kick_ref = (uint32_t)v[S_REFS + 1];
	while (1 << p->ring_order < pages)
		p->ring_order++;
	for (i = 0; i < pages; i++)
		p->ring_ref[i] = (uint32_t)v[S_RING + i];
	return 0;
}

int be_conf_frontend(struct be_dev *dev, struct be_store *l,
		     struct be_ring_params *p)
{
	char text[BE_WORDS_MAX];
	uint64_t v[S_MOST] = {};
	int n, rc = l->ops->read(l, BE_PEER, XENVHCA_NODE_SETUP, text,
				 sizeof(text));

	memset(p, 0, sizeof(*p));
	n = rc ? rc : setup_words(text, v);
	rc = n > S_OFFER && v[S_VERSION] == XENVHCA_PROTOCOL_VERSION_INT &&
	     v[S_OFFER] == l->offer ? setup_take(v, n, p) : -EINVAL;
	if (rc)
		be_fault(dev, "%s/%s must be version %s, the offer %u, three event channels, two references, and those of 1..%u pages",
			 l->name[BE_PEER], XENVHCA_NODE_SETUP,
			 XENVHCA_PROTOCOL_VERSION, l->offer, BE_RING_PAGES);
	return rc;
}

int be_conf_offer(struct be_store *l)
{
	char text[BE_NUMBER_MAX];
	int rc = l->ops->offer(l, XENVHCA_NODE_VERSIONS,
			       XENVHCA_PROTOCOL_VERSION);

	if (rc)
		return rc;
	/* Another number than the last worker's, whose guest it may be. */
	l->offer = (uint32_t)(vl_now_ns() / 1000);
	snprintf(text, sizeof(text), "%u %u", BE_MAX_RING_ORDER, l->offer);
	return l->ops->offer(l, XENVHCA_NODE_SETUP, text);
}
