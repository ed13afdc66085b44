/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The subnet management agent, and the way of a MAD to the port's agents.
 * MADs come by MAD_IFC: from the driver's own questions, and from whoever
 * reaches QP 0 or 1, through the guest's MAD layer, which does the stations of
 * a directed route, and to which SMInfo belongs (the subnet manager is
 * software). M_Keys are checked here; all of a MAD is untrusted.
 */
#include "cx_priv.h"

enum {
	CLASS_SM_LID = 0x01, CLASS_SM_DIRECTED = 0x81, CLASS_PM = 0x04,
	CLASS_VENDOR_9 = 0x09, CLASS_VENDOR_A = 0x0a, CLASS_CONG = 0x21,
};

enum {
	METHOD_GET = 0x01, METHOD_SET = 0x02, METHOD_REPRESS = 0x07,
	METHOD_RESP = 0x81,
};

enum {
	ATTR_NODE_DESC = 0x10, ATTR_NODE_INFO = 0x11, ATTR_GUID_INFO = 0x14,
	ATTR_PORT_INFO = 0x15, ATTR_PKEYS = 0x16, ATTR_SL2VL = 0x17,
	ATTR_VLARB = 0x18, ATTR_EXT_PORT_INFO = 0xff90,
};

/* Status of a MAD. */
enum {
	ST_OK = 0x00, ST_VERSION = 0x04, ST_METHOD = 0x08,
	ST_ATTRIBUTE = 0x0c, ST_VALUE = 0x1c,
};

/* Where the fields of a MAD are; then those of an SMP. */
#define AT_BASE		0
#define AT_CLASS	1
#define AT_CLASS_VER	2
#define AT_METHOD	3
#define AT_STATUS	4
#define AT_ATTR		16
#define AT_MODIFIER	20
#define AT_MKEY		24
#define AT_DATA		64

#define VENDOR_ID	0x0002c9u
#define GUIDS_BLOCK	8u
#define PKEYS_BLOCK	32u

/* ---- M_Key ---- */
static bool method_allowed(const struct cx_port *p, uint8_t method)
{
	return method == METHOD_GET && p->mkey_prot < 2;
}

/*
 * A wrong key starts the lease, the right one stops it; when it has run out,
 * a new subnet manager may read the key.
 */
static bool mkey_ok(struct cx_dev *d, const uint8_t *smp, bool ignore)
{
	uint64_t now = d->host->now(d->opaque);
	struct cx_port *p = &d->port;

	if (p->mkey_expires && now >= p->mkey_expires) {
		p->mkey_expires = 0;
		p->mkey_prot = 0;
	}
	if (ignore)
		return true;
	if (!p->mkey || p->mkey == cx_be64_get(smp + AT_MKEY)) {
		p->mkey_expires = 0;
		return true;
	}
	if (method_allowed(p, smp[AT_METHOD]))
		return true;
	if (p->mkey_viol < 0xffff)
		p->mkey_viol++;
	if (!p->mkey_expires && p->mkey_lease)
		p->mkey_expires = now + p->mkey_lease * 1000000000ULL;
	return false;
}

/* ---- attributes: a status, and the answer in place ---- */
/* Also of a Set: then data is what was set. */
typedef uint16_t (*attr_fn)(struct cx_dev *d, uint32_t modifier, bool set,
			    uint8_t data[64]);

static uint16_t node_desc(struct cx_dev *d, uint32_t modifier, bool set,
			  uint8_t data[64])
{
	if (set)
		return ST_ATTRIBUTE;
	memcpy(data, d->port.description, 64);
	return ST_OK;
}

static uint16_t node_info(struct cx_dev *d, uint32_t modifier, bool set,
			  uint8_t data[64])
{
	if (set)
		return ST_ATTRIBUTE;
	memset(data, 0, 64);
	data[0] = 1;			/* versions: base, class */
	data[1] = 1;
	data[2] = 1;			/* a channel adapter ... */
	data[3] = 1;			/* ... with one port */
	cx_be64_set(data + 4, d->config.guid);
	cx_be64_set(data + 12, d->config.guid);
	cx_be64_set(data + 20, d->port.guid);
	cx_be16_set(data + 28, CX_PKEYS);
	cx_be16_set(data + 30, d->family->device_id);
	data[36] = 1;			/* the port asked */
	data[37] = VENDOR_ID >> 16;
	cx_be16_set(data + 38, VENDOR_ID & 0xffff);
	return ST_OK;
}

static uint16_t guid_info(struct cx_dev *d, uint32_t modifier, bool set,
			  uint8_t data[64])
{
	bool changed = false;
	uint64_t *guid, v;
	uint32_t i;

	if (modifier >= CX_GIDS / GUIDS_BLOCK)
		return ST_VALUE;
	guid = d->port.guids + modifier * GUIDS_BLOCK;
	for (i = 0; i < GUIDS_BLOCK; i++) {
		v = cx_be64_get(data + i * 8);
		/* The first of all is the port's own, for ever. */
		if (set && modifier + i && v != guid[i]) {
			guid[i] = v;
			changed = true;
		}
		cx_be64_set(data + i * 8, guid[i]);
	}
	if (changed)
		cx_port_event(d, CX_PORT_GUID);
	return ST_OK;
}

static uint16_t pkey_table(struct cx_dev *d, uint32_t modifier, bool set,
			   uint8_t data[64])
{
	uint32_t i, block = modifier & 0xffff;
	bool changed = false;
	uint16_t *pkey;

	if (block >= CX_PKEYS / PKEYS_BLOCK)
		return ST_VALUE;
	pkey = d->port.pkey + block * PKEYS_BLOCK;
	for (i = 0; i < PKEYS_BLOCK; i++) {
		if (set && pkey[i] != cx_be16_get(data + 2 * i)) {
			pkey[i] = cx_be16_get(data + 2 * i);
			changed = true;
		}
		cx_be16_set(data + 2 * i, pkey[i]);
	}
	if (changed)
		cx_port_event(d, CX_PORT_PKEY);
	return ST_OK;
}

static uint16_t sl2vl(struct cx_dev *d, uint32_t modifier, bool set,
		      uint8_t data[64])
{
	uint8_t *vl = d->port.sl2vl;
	unsigned int i;

	for (i = 0; i < 16 && set; i++)
		vl[i] = i & 1 ? data[i / 2] & 0xf : data[i / 2] >> 4;
	memset(data, 0, 64);
	for (i = 0; i < 16; i++)
		data[i / 2] |= i & 1 ? vl[i] : vl[i] << 4;
	return ST_OK;
}

/* Blocks 1 and 3: the low and the high table; 2 and 4 would be their rest. */
static uint16_t vl_arb(struct cx_dev *d, uint32_t modifier, bool set,
		       uint8_t data[64])
{
	uint32_t block = modifier >> 16;
	uint8_t *table;

	if (block != 1 && block != 3)
		return ST_VALUE;
	table = d->port.vlarb[block / 2];
	if (set)
		memcpy(table, data, sizeof(d->port.vlarb[0]));
	memset(data, 0, 64);
	memcpy(data, table, sizeof(d->port.vlarb[0]));
	return ST_OK;
}

/* Speeds outside of the standard: there are none, and a Set changes none. */
static uint16_t ext_port_info(struct cx_dev *d, uint32_t modifier, bool set,
			      uint8_t data[64])
{
	if ((modifier & 0xff) > 1)
		return ST_VALUE;
	memset(data, 0, 64);
	return ST_OK;
}

/* The answer to a Set tells that the clients have been told (o14-12.2.1). */
static uint16_t port_info(struct cx_dev *d, uint32_t modifier, bool set,
			  uint8_t data[64])
{
	uint8_t rereg = set ? data[51] & 0x80 : 0;
	uint16_t status = ST_OK;

	if ((modifier & 0xff) > 1)
		return ST_VALUE;
	if (set && !cx_port_set_info(d, data))
		status = ST_VALUE;
	cx_port_get_info(d, data);
	data[51] |= rereg;
	return status;
}

static const struct {
	uint16_t id;
	attr_fn fn;
} attributes[] = {
	{ ATTR_NODE_DESC, node_desc },
	{ ATTR_NODE_INFO, node_info },
	{ ATTR_GUID_INFO, guid_info },
	{ ATTR_PORT_INFO, port_info },
	{ ATTR_PKEYS, pkey_table },
	{ ATTR_SL2VL, sl2vl },
	{ ATTR_VLARB, vl_arb },
	{ ATTR_EXT_PORT_INFO, ext_port_info },
};

/* A Get that passed without the key, at protection level 1, does not see it. */
static void hide_mkey(struct cx_dev *d, uint64_t key, uint8_t *smp)
{
	if (cx_be16_get(smp + AT_ATTR) == ATTR_PORT_INFO &&
	    smp[AT_METHOD] == METHOD_GET && d->port.mkey_prot == 1 &&
	    d->port.mkey != key)
		cx_be64_set(smp + AT_DATA, 0);
}

static uint16_t smp_answer(struct cx_dev *d, uint8_t *smp)
{
	uint64_t key = cx_be64_get(smp + AT_MKEY);
	bool set = smp[AT_METHOD] == METHOD_SET;
	uint16_t status = ST_ATTRIBUTE;
	size_t i;

	if (smp[AT_CLASS_VER] != 1)
		return ST_VERSION;
	if (!set && smp[AT_METHOD] != METHOD_GET)
		return ST_METHOD;
	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].id == cx_be16_get(smp + AT_ATTR))
			status = attributes[i].fn(d, cx_be32_get(smp + AT_MODIFIER),
						  set, smp + AT_DATA);
	hide_mkey(d, key, smp);
	return status;
}

/* ---- the way to the agents ---- */
static bool is_smp(const uint8_t *mad)
{
	return mad[AT_CLASS] == CLASS_SM_LID ||
	       mad[AT_CLASS] == CLASS_SM_DIRECTED;
}

static bool dispatch(struct cx_dev *d, uint8_t *mad, uint16_t *status)
{
	switch (mad[AT_CLASS]) {
	case CLASS_SM_LID:
	case CLASS_SM_DIRECTED:
		*status = smp_answer(d, mad);
		return true;
	case CLASS_PM:
		*status = cx_pma(d, mad);
		return true;
	case CLASS_VENDOR_9:
	case CLASS_VENDOR_A:
	case CLASS_CONG:
		*status = ST_ATTRIBUTE;
		return true;
	default:
		return false;
	}
}

/*
 * The answer keeps the header, so also the station and the paths of a directed
 * route; the driver sets the direction. TrapRepress has none, and a response
 * is nothing to answer: the driver drops what comes back.
 */
bool cx_mad(struct cx_dev *d, bool ignore_mkey, bool ignore_bkey,
	    uint16_t wc_slid, const uint8_t in[256], uint8_t reply[256])
{
	uint16_t status = ST_VERSION;

	memcpy(reply, in, 256);
	if (in[AT_METHOD] & 0x80)
		return false;
	if (is_smp(in) && !mkey_ok(d, in, ignore_mkey))
		return false;
	if (is_smp(in) && in[AT_METHOD] == METHOD_REPRESS)
		return true;
	if (in[AT_BASE] == 1 && !dispatch(d, reply, &status))
		return false;
	reply[AT_METHOD] = METHOD_RESP;
	cx_be16_set(reply + AT_STATUS, status);
	return true;
}
