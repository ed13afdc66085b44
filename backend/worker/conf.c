// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reads a worker's nodes (conf.h). The toolstack's nodes are trusted but may
 * hold mistakes; the frontend's are hostile. A mistake closes the device with
 * a message that names the node and what it may hold. Command thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "conf.h"
#include "host/maptrack.h"
#include "uverbs/sysfs.h"

#define BE_MAX_OBJECTS	65535
#define BE_MAX_RATE	10000000
#define BE_MAX_SPIN_US	1000
#define BE_MAX_PORT	((1u << 17) - 1)	/* FIFO event channels */
#define BE_MAX_GREF	(UINT32_MAX - 1)

struct be_number {
	const char *node;
	uint32_t min, max, def;
};

static const struct {
	enum be_type type;
	struct be_number num;
} be_objects[] = {
#define OBJ(t) { BE_##t, { XENVHCA_NODE_MAX_##t, 1, BE_MAX_OBJECTS,	\
			   XENVHCA_DEF_MAX_##t } }
	OBJ(UCONTEXT), OBJ(PD), OBJ(CQ), OBJ(QP), OBJ(SRQ), OBJ(AH), OBJ(MR),
	OBJ(MW), OBJ(MCAST), OBJ(MMAP), OBJ(XRCD),
#undef OBJ
};

/* Everything that can be wrong with a number, said once. */
static int be_conf_number(struct be_dev *dev, struct xs_handle *xs,
			  const char *dir, const struct be_number *n,
			  bool needed, uint32_t *val)
{
	int rc;

	if (needed)
		rc = xn_read_u32(xs, XBT_NULL, dir, n->node, n->min, n->max,
				 val);
	else
		rc = xn_read_u32_def(xs, XBT_NULL, dir, n->node, n->min,
				     n->max, n->def, val);
	if (rc == -EINVAL || rc == -ERANGE)
		be_fault(dev, "%s/%s must be a number %u..%u", dir, n->node,
			 n->min, n->max);
	else if (rc)
		be_fault(dev, "%s/%s: %s", dir, n->node, strerror(-rc));
	return rc;
}

static int be_conf_limits(struct be_dev *dev, struct xs_handle *xs,
			  const char *dir)
{
	static const struct be_number
		port = { XENVHCA_NODE_PORT, 1, 255, XENVHCA_DEF_PORT },
		mb = { XENVHCA_NODE_MAX_PINNED_MB, 1, HOST_MAX_MB,
		       XENVHCA_DEF_MAX_PINNED_MB },
		cmd = { XENVHCA_NODE_MAX_CMD_RATE, 0, BE_MAX_RATE,
			XENVHCA_DEF_MAX_CMD_RATE },
		evt = { XENVHCA_NODE_MAX_EVT_RATE, 0, BE_MAX_RATE,
			XENVHCA_DEF_MAX_EVT_RATE },
		spin = { XENVHCA_NODE_SPIN_US, 0, BE_MAX_SPIN_US,
			 XENVHCA_DEF_SPIN_US },
		trusted = { XENVHCA_NODE_TRUSTED, 0, 1, XENVHCA_DEF_TRUSTED };
	struct be_quota *q = &dev->quota;
	uint32_t v = 0;
	size_t i;
	int rc;

	for (i = 0; i < sizeof(be_objects) / sizeof(be_objects[0]); i++) {
		rc = be_conf_number(dev, xs, dir, &be_objects[i].num, false,
				    &q->max[be_objects[i].type]);
		if (rc)
			return rc;
	}
	rc = be_conf_number(dev, xs, dir, &mb, false, &v);
	if (rc)
		return rc;
	q->max_pages = (uint64_t)v * HOST_PAGES_PER_MB;
	rc = be_conf_number(dev, xs, dir, &cmd, false, &v);
	if (rc)
		return rc;
	q->cmd.rate = v;
	rc = be_conf_number(dev, xs, dir, &evt, false, &v);
	if (rc)
		return rc;
	q->evt.rate = v;
	rc = be_conf_number(dev, xs, dir, &spin, false, &q->spin_us);
	if (rc)
		return rc;
	rc = be_conf_number(dev, xs, dir, &trusted, false, &v);
	if (rc)
		return rc;
	dev->trusted = v;
	rc = be_conf_number(dev, xs, dir, &port, false, &v);
	dev->port = (uint8_t)v;
	return rc;
}

static int be_conf_hca(struct be_dev *dev, struct xs_handle *xs,
		       const char *dir)
{
	int rc = xn_read_str(xs, XBT_NULL, dir, XENVHCA_NODE_HCA, dev->hca,
			     sizeof(dev->hca));

	if (!rc && be_hca_name_ok(dev->hca))
		return 0;
	dev->hca[0] = '\0';
	be_fault(dev, "%s/%s must name an RDMA device (1..63 characters of [A-Za-z0-9_.-])",
		 dir, XENVHCA_NODE_HCA);
	return rc ? rc : -EINVAL;
}

int be_conf_read(struct be_dev *dev, struct xs_handle *xs, const char *dir,
		 char *front)
{
	const struct be_number id = {
		"frontend-id", (uint32_t)dev->domid, (uint32_t)dev->domid, 0,
	};
	uint32_t v = 0;
	int rc;

	rc = xn_read_str(xs, XBT_NULL, dir, "frontend", front, XN_PATH_MAX);
	if (rc) {
		be_fault(dev, "%s/frontend: %s", dir, strerror(-rc));
		return rc;
	}
	rc = be_conf_number(dev, xs, dir, &id, true, &v);
	if (!rc)
		rc = be_conf_hca(dev, xs, dir);
	if (!rc)
		rc = be_conf_limits(dev, xs, dir);
	return rc;
}

static int be_conf_version(struct be_dev *dev, struct xs_handle *xs,
			   const char *dir)
{
	char v[32] = "";
	int rc = xn_read_str(xs, XBT_NULL, dir, XENVHCA_NODE_VERSION, v,
			     sizeof(v));

	if (!rc && !strcmp(v, XENVHCA_PROTOCOL_VERSION))
		return 0;
	be_fault(dev, "%s/%s is '%s', this backend speaks %s", dir,
		 XENVHCA_NODE_VERSION, v, XENVHCA_PROTOCOL_VERSION);
	return rc ? rc : -EPROTO;
}

static int be_conf_ring_refs(struct be_dev *dev, struct xs_handle *xs,
			     const char *dir, struct be_xen_params *p)
{
	struct be_number ref = { NULL, 1, BE_MAX_GREF, 0 };
	char node[32];
	uint32_t i;
	int rc = 0;

	ref.node = node;
	for (i = 0; i < 1u << p->ring_order && !rc; i++) {
		snprintf(node, sizeof(node), XENVHCA_NODE_RING_REF "%u", i);
		rc = be_conf_number(dev, xs, dir, &ref, true, &p->ring_ref[i]);
	}
	return rc;
}

int be_conf_frontend(struct be_dev *dev, struct xs_handle *xs,
		     const char *dir, struct be_xen_params *p)
{
	static const struct be_number
		order = { XENVHCA_NODE_RING_ORDER, 0, BE_MAX_RING_ORDER, 0 },
		evt = { XENVHCA_NODE_EVT_RING_REF, 1, BE_MAX_GREF, 0 },
		kick = { XENVHCA_NODE_KICK_RING_REF, 1, BE_MAX_GREF, 0 },
		cmdp = { XENVHCA_NODE_EVTCHN, 1, BE_MAX_PORT, 0 },
		evtp = { XENVHCA_NODE_EVT_EVTCHN, 1, BE_MAX_PORT, 0 },
		kickp = { XENVHCA_NODE_KICK_EVTCHN, 1, BE_MAX_PORT, 0 };
	int rc;

	memset(p, 0, sizeof(*p));
	rc = be_conf_version(dev, xs, dir);
	if (!rc)
		rc = be_conf_number(dev, xs, dir, &order, false,
				    &p->ring_order);
	if (!rc)
		rc = be_conf_ring_refs(dev, xs, dir, p);
	if (!rc)
		rc = be_conf_number(dev, xs, dir, &evt, true, &p->evt_ref);
	if (!rc)
		rc = be_conf_number(dev, xs, dir, &kick, true, &p->kick_ref);
	if (!rc)
		rc = be_conf_number(dev, xs, dir, &cmdp, true, &p->cmd_port);
	if (!rc)
		rc = be_conf_number(dev, xs, dir, &evtp, true, &p->evt_port);
	if (!rc)
		rc = be_conf_number(dev, xs, dir, &kickp, true,
				    &p->kick_port);
	return rc;
}

int be_conf_offer(struct xs_handle *xs, const char *dir)
{
	int rc = xn_write_str(xs, XBT_NULL, dir, XENVHCA_NODE_VERSIONS,
			      XENVHCA_PROTOCOL_VERSION);

	if (rc)
		return rc;
	return xn_write_u32(xs, XBT_NULL, dir, XENVHCA_NODE_MAX_RING_ORDER,
			    BE_MAX_RING_ORDER);
}
