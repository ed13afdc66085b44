// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reads the toolstack's nodes of a device (devices.h). An illegal limit counts as the
 * default.
 */
#include <errno.h>
#include "devices.h"
#include "host/tree.h"
#include "number.h"
#include "vhca-keys.h"

int be_devices_state(struct be_devices *s, unsigned int domid, unsigned int devid)
{
	uint64_t v = XenbusStateUnknown;
	char text[24];
	int rc = s->ops->read(s, domid, devid, HOST_TREE_NODE_STATE, text, sizeof(text));

	if (!rc)
		rc = vl_parse_u64(text, XenbusStateInitialising, XenbusStateClosed, &v);
	return rc && rc != -ENOENT ? rc : (int)v;
}

int be_devices_close(struct be_devices *s, unsigned int domid, unsigned int devid)
{
	const char closed[] = { '0' + XenbusStateClosed, '\0' };
	int state = be_devices_state(s, domid, devid);

	if (state < 0 || state == XenbusStateUnknown || state == XenbusStateClosed)
		return state < 0 ? state : 0;
	return s->ops->write(s, domid, devid, HOST_TREE_NODE_STATE, closed);
}

static uint32_t number(struct be_devices *s, unsigned int domid, unsigned int devid,
		       const char *node, uint32_t least, uint32_t most, uint32_t def)
{
	uint64_t v = def;
	char text[24];

	if (!s->ops->read(s, domid, devid, node, text, sizeof(text)))
		vl_parse_u64(text, least, most, &v);
	return (uint32_t)v;
}

bool be_devices_online(struct be_devices *s, unsigned int domid, unsigned int devid)
{
	return number(s, domid, devid, HOST_TREE_NODE_ONLINE, 1, 1, 0);
}

static void text_or_none(struct be_devices *s, unsigned int domid, unsigned int devid,
			 const char *node, char *text, size_t size)
{
	if (s->ops->read(s, domid, devid, node, text, size))
		text[0] = '\0';
}

void be_devices_share(struct be_devices *s, unsigned int domid, unsigned int devid,
		      struct be_share *share)
{
	*share = (struct be_share){
		.pinned_mb = number(s, domid, devid, XENVHCA_NODE_MAX_PINNED_MB, 1,
				    XENVHCA_MOST_MAX_PINNED_MB,
				    XENVHCA_DEF_MAX_PINNED_MB),
		.ucontexts = number(s, domid, devid, XENVHCA_NODE_MAX_UCONTEXT, 1,
				    XENVHCA_MAX_OBJECTS, XENVHCA_DEF_MAX_UCONTEXT),
	};
	text_or_none(s, domid, devid, XENVHCA_NODE_HCA, share->hca, sizeof(share->hca));
}

void be_devices_network(struct be_devices *s, unsigned int domid, unsigned int devid,
			struct be_network *net)
{
	net->port = number(s, domid, devid, XENVHCA_NODE_PORT, 1, XENVHCA_MOST_PORT,
			   XENVHCA_DEF_PORT);
	text_or_none(s, domid, devid, XENVHCA_NODE_HCA, net->hca, sizeof(net->hca));
	text_or_none(s, domid, devid, XENVHCA_NODE_IP, net->ip, sizeof(net->ip));
	text_or_none(s, domid, devid, XENVHCA_NODE_PKEYS, net->pkeys,
		     sizeof(net->pkeys));
	net->vif = number(s, domid, devid, XENVHCA_NODE_VIF, 0, XENVHCA_MOST_VIF,
			  BE_NO_VIF);
	net->mac[0] = '\0';
	if (net->vif != BE_NO_VIF && s->ops->vif_mac)
		s->ops->vif_mac(s, domid, net->vif, net->mac);
}
