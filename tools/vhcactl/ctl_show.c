// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl show prints the nodes of one device: its ends and states, its addresses, its
 * limits (and which are defaults), the reason of a failure and what to do about it.
 */
#include <errno.h>
#include "ctl.h"
#include "host/xenbus.h"
#include "vhca-agent.h"
#include "vhca-keys.h"

static struct json_object *limits(struct ctl *c, const struct ctl_dev *d)
{
	struct json_object *o = json_object_new_object();
	const struct ctl_key *k;
	uint32_t val;
	int i;

	for (i = 0; i < CTL_KEYS; i++) {
		k = &ctl_keys[i];
		val = k->def;
		if (xn_read_u32_def(c->xs, XBT_NULL, d->be, k->name, k->min,
				    k->max, k->def, &val))
			ctl_json_text(o, k->name, "not a legal value");
		else
			ctl_json_int(o, k->name, val);
	}
	return o;
}

/* @shared: meaning of an absent node. */
static void add_words(struct ctl *c, const struct ctl_dev *d,
		      struct json_object *o, enum ctl_text_id id,
		      const char *shared)
{
	char val[CTL_TEXT_MAX];
	int rc = xn_read_str(c->xs, XBT_NULL, d->be, ctl_texts[id].name, val,
			     sizeof(val));

	if (!rc && ctl_texts[id].count(val) < 0)
		rc = -EINVAL;
	ctl_json_text(o, ctl_texts[id].name,
		      !rc ? val : rc == -ENOENT ? shared : "not a legal value");
}

static void add_vif_mac(struct ctl *c, const struct ctl_dev *d, struct json_object *o)
{
	char mac[VL_MAC];
	uint32_t vif;

	if (xn_read_u32(c->xs, XBT_NULL, d->be, XENVHCA_NODE_VIF, 0, XENVHCA_MOST_VIF, &vif))
		return;
	xn_vif_mac(c->xs, d->backend, d->domid, vif, mac);
	ctl_json_text(o, "vif_mac", mac[0] ? mac :
		      "there is no such vif (yet): is its backend the same domain?");
}

/* The guest's own part of the port's tables. */
static struct json_object *addresses(struct ctl *c, const struct ctl_dev *d)
{
	static const char shared[] = "shared with the HCA's other users";
	struct json_object *o = json_object_new_object();
	bool own = xn_exists(c->xs, XBT_NULL, d->be, ctl_texts[CTL_IP].name);

	add_words(c, d, o, CTL_IP, shared);
	if (own)
		add_words(c, d, o, CTL_VIF, "none: but for RDMA, they are the backend domain's");
	add_vif_mac(c, d, o);
	add_words(c, d, o, CTL_PKEYS, own ? "default partition" : shared);
	return o;
}

static void add_text(struct ctl *c, struct json_object *o, const char *key,
		     const char *dir, const char *node)
{
	char val[XN_VALUE_MAX];

	if (!xn_read_str(c->xs, XBT_NULL, dir, node, val, sizeof(val)))
		ctl_json_text(o, key, val);
}

static struct json_object *end(struct ctl *c, const char *dir,
			       const char *const *nodes)
{
	struct json_object *o = json_object_new_object();

	ctl_json_text(o, "path", dir);
	ctl_json_text(o, "state", host_state_name(xn_state_read(c->xs, XBT_NULL, dir)));
	for (; *nodes; nodes++)
		add_text(c, o, *nodes, dir, *nodes);
	return o;
}

static struct json_object *collect(struct ctl *c, const struct ctl_dev *d)
{
	static const char *const be_nodes[] = {
		XN_NODE_ONLINE, XENVHCA_NODE_VERSIONS,
		XENVHCA_NODE_DOORBELL_STATIC, XENVHCA_NODE_BROKEN, "error", NULL
	};
	static const char *const fe_nodes[] = {
		XENVHCA_NODE_BROKEN, "error", NULL
	};
	struct json_object *o = json_object_new_object();
	char name[CTL_NAME_MAX], hint[CTL_HINT_MAX];

	ctl_domain_name(c, d->domid, name);
	ctl_dev_hint(c, d, hint, sizeof(hint));
	ctl_json_int(o, "domid", d->domid);
	ctl_json_text(o, "name", name);
	ctl_json_int(o, "devid", d->devid);
	ctl_json_int(o, "backend_domid", d->backend);
	add_text(c, o, "hca", d->be, XENVHCA_NODE_HCA);
	add_text(c, o, XENVHCA_NODE_PCI, d->libxl, XENVHCA_NODE_PCI);
	if (hint[0])
		ctl_json_text(o, "hint", hint);
	json_object_object_add(o, "backend", end(c, d->be, be_nodes));
	json_object_object_add(o, "frontend", end(c, d->fe, fe_nodes));
	json_object_object_add(o, "addresses", addresses(c, d));
	json_object_object_add(o, "limits", limits(c, d));
	return o;
}

int ctl_show(struct ctl *c)
{
	struct json_object *o;
	struct ctl_dev d;
	int rc = ctl_dev_named(c, &d);

	if (rc)
		return rc;
	o = collect(c, &d);
	if (c->json)
		ctl_print_json(o);
	else
		ctl_print_flat(o);
	return CTL_OK;
}
