/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The port: whether there is a link, the states that a subnet manager leads it
 * through, LIDs and GIDs, PortInfo, and the driver's events of all that.
 *
 * A port with a fixed LID behaves as one on a switch with a subnet manager:
 * ACTIVE as long as it is plugged in. If it has a cable to another process it
 * needs that process, or a neighbour on the hub. So does an Ethernet port, as
 * long as the driver does not switch it off. Another port without a LID trains
 * when the drivers of both ends are up, and then waits in INIT.
 * PortInfo comes from whoever passes as the subnet manager: checked in full
 * before any of it is taken.
 */
#include "cx_priv.h"

#define PREFIX_DEFAULT	0xfe80000000000000ULL
#define LID_MULTICAST	0xc000u
#define WIDTHS		3u	/* 1X, 4X */
#define WIDTH_4X	2u
#define SPEEDS		7u	/* SDR, DDR, QDR */
#define SPEED_SDR	1u
#define SPEEDS_EXT	3u	/* FDR, EDR */
#define SPEED_EXT_NONE	30u	/* of LinkSpeedExtEnabled: disable all */
#define VL_0_TO_3	3u
#define VLARB_CAP	8u	/* entries of each table */
#define RESP_TIME	16u	/* of the agents: 4.096 us * 2^n */
#define DEVICE_TIMEOUT	18u	/* subnet timeout before an SM says so */

/* What the port can do: CapabilityMask of PortInfo. */
#define CAP_TRAP	BIT(3)
#define CAP_SL_MAP	BIT(6)
#define CAP_SYS_GUID	BIT(11)
#define CAP_EXT_SPEED	BIT(14)
#define CAP_MASK_NOTICE	BIT(22)
#define CAP_CLIENT_REREG BIT(25)
#define CAP_LOCAL_NOTICE BIT(26)
#define CAP_OWN		(CAP_TRAP | CAP_SL_MAP | CAP_SYS_GUID | \
			 CAP_EXT_SPEED | CAP_MASK_NOTICE | \
			 CAP_CLIENT_REREG | CAP_LOCAL_NOTICE)

/* ---- events ---- */
/* In every family, the port is in the high half of octet 8. */
void cx_port_event(struct cx_dev *d, enum cx_port_event event)
{
	uint8_t data[28] = { 0 };

	data[8] = 1 << 4;
	if (d->family->port_events >> event & 1)
		cx_event(d, CX_EV_PORT_CHANGE, event, data, sizeof(data));
}

/* ---- power-on ---- */
void cx_port_init(struct cx_dev *d)
{
	struct cx_port *p = &d->port;
	struct cx_port old = *p;
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->plugged = old.plugged;
	p->peer = old.peer;
	p->neighbour = old.neighbour;
	p->lid = d->config.lid;
	p->state = CX_PORT_S_DOWN;
	p->phys_state = CX_PHYS_POLLING;
	p->cap_mask = CAP_OWN;
	p->prefix = PREFIX_DEFAULT;
	p->guid = d->config.guid;
	p->guids[0] = p->guid;
	p->pkey[0] = 0xffff;
	p->subnet_timeout = DEVICE_TIMEOUT;
	p->width_en = WIDTHS;
	p->speed_en = SPEEDS;
	p->ext_speed_en = SPEEDS_EXT;
	p->down_default = CX_PHYS_POLLING;
	p->mtu = d->family->mtu;
	p->op_vls = VL_0_TO_3;
	p->err_thresholds = 0x88;
	for (i = 0; i < 16; i++)
		p->sl2vl[i] = i % 4;
	for (i = 0; i < 2 * VLARB_CAP; i += 2)
		p->vlarb[0][i] = p->vlarb[1][i] = i / 2 % 4;
	strcpy(p->description, d->family->description);
}

void cx_gid(const struct cx_dev *d, unsigned int index, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (index >= CX_GIDS)
		return;
	cx_be64_set(gid, d->port.prefix);
	cx_be64_set(gid + 8, d->port.guids[index]);
}

/* ---- the link ---- */
/* ACTIVE without anybody's word. */
static bool is_switched(const struct cx_dev *d)
{
	return d->config.lid || d->config.eth;
}

bool cx_port_ready(const struct cx_dev *d)
{
	if (d->config.eth)
		return d->port.plugged && !d->nic.admin_down;
	return d->port.plugged && !d->port.disabled &&
	       (d->config.lid || d->hca_up);
}

static bool has_partner(const struct cx_dev *d)
{
	const struct cx_dev *o;

	if (is_switched(d))
		return !d->host->link_tx || d->port.neighbour || d->port.peer;
	for (o = cx_hub_first(d->hub); o; o = o->hub_next)
		if (o != d && cx_port_ready(o))
			return true;
	return d->port.peer && cx_link_peer_up(d);
}

static uint8_t highest(uint8_t bits)
{
	while (bits & (bits - 1))
		bits &= bits - 1;
	return bits;
}

/* The best that is enabled; an extended speed counts as QDR, too. */
static void train(struct cx_port *p)
{
	bool ext = p->ext_speed_en != SPEED_EXT_NONE;

	p->width = highest(p->width_en);
	p->ext_speed = ext ? highest(p->ext_speed_en) : 0;
	p->speed = highest(ext ? SPEEDS : p->speed_en);
}

static void link_up(struct cx_dev *d)
{
	struct cx_port *p = &d->port;

	train(p);
	p->phys_state = CX_PHYS_LINK_UP;
	p->state = is_switched(d) ? CX_PORT_S_ACTIVE : CX_PORT_S_INIT;
	cx_log(d, CX_INFO, "port up, LID %u", p->lid);
	cx_port_event(d, is_switched(d) ? CX_PORT_ACTIVE : CX_PORT_INIT);
}

/* What was under way is lost with the link. */
static void link_down(struct cx_dev *d)
{
	d->port.state = CX_PORT_S_DOWN;
	d->port.link_downed++;
	cx_wire_flush(d);
	cx_log(d, CX_INFO, "port down");
	cx_port_event(d, CX_PORT_DOWN);
}

static void update(struct cx_dev *d)
{
	struct cx_port *p = &d->port;
	bool up = cx_port_ready(d) && has_partner(d);

	if (up && p->state == CX_PORT_S_DOWN)
		link_up(d);
	else if (!up && p->state != CX_PORT_S_DOWN)
		link_down(d);
	if (!up)
		p->phys_state = p->disabled ? CX_PHYS_DISABLED :
					      CX_PHYS_POLLING;
}

void cx_port_link(struct cx_dev *d)
{
	struct cx_dev *o;

	if (!d->hub)
		return;
	for (o = cx_hub_first(d->hub); o; o = o->hub_next)
		update(o);
	for (o = cx_hub_first(d->hub); o; o = o->hub_next)
		cx_link_hello(o);
}

void cx_cable(struct cx_dev *d, bool plugged)
{
	if (d->port.plugged == plugged)
		return;
	d->port.plugged = plugged;
	cx_port_link(d);
}

bool cx_cable_get(const struct cx_dev *d)
{
	return d->port.plugged;
}

unsigned int cx_port_state(const struct cx_dev *d)
{
	return d->port.state;
}

/* ---- PortInfo ---- */
static void get_link(const struct cx_port *p, uint8_t *info)
{
	bool up = p->state != CX_PORT_S_DOWN;

	info[28] = 1;
	info[29] = p->width_en;
	info[30] = WIDTHS;
	info[31] = up ? p->width : WIDTH_4X;
	info[32] = SPEEDS << 4 | p->state;
	info[33] = p->phys_state << 4 | p->down_default;
	info[35] = (up ? p->speed : SPEED_SDR) << 4 | p->speed_en;
	info[62] = (up ? p->ext_speed : 0) << 4 | SPEEDS_EXT;
	info[63] = p->ext_speed_en;
}

void cx_port_get_info(struct cx_dev *d, uint8_t info[64])
{
	const struct cx_port *p = &d->port;

	memset(info, 0, 64);
	cx_be64_set(info, p->mkey);
	cx_be64_set(info + 8, p->prefix);
	cx_be16_set(info + 16, p->lid);
	cx_be16_set(info + 18, p->sm_lid);
	cx_be32_set(info + 20, p->cap_mask);
	cx_be16_set(info + 26, p->mkey_lease);
	get_link(p, info);
	info[34] = p->mkey_prot << 6 | p->lmc;
	info[36] = p->mtu << 4 | p->sm_sl;
	info[37] = VL_0_TO_3 << 4;
	info[38] = p->vl_limit;
	info[39] = info[40] = VLARB_CAP;
	info[41] = d->family->mtu;
	info[43] = p->op_vls << 4;
	cx_be16_set(info + 44, p->mkey_viol);
	cx_be16_set(info + 46, p->pkey_viol);
	cx_be16_set(info + 48, p->qkey_viol);
	info[50] = CX_GIDS;
	info[51] = p->subnet_timeout;
	info[52] = RESP_TIME;
	info[53] = p->err_thresholds;
}

/* 0 and all ones stand for "as it is" and "all that is supported". */
static bool enabled_ok(uint8_t value, uint8_t all, uint8_t supported)
{
	return value == all || !(value & ~supported);
}

static void set_enabled(uint8_t *field, uint8_t value, uint8_t all,
			uint8_t supported)
{
	if (value)
		*field = value == all ? supported : value;
}

/* DOWN with any, else without a physical state; ARM and ACTIVE in order. */
static bool state_ok(const struct cx_port *p, uint8_t state, uint8_t phys)
{
	if (phys > CX_PHYS_DISABLED ||
	    (phys && state > CX_PORT_S_DOWN))
		return false;
	switch (state) {
	case 0:
	case CX_PORT_S_DOWN:
		return true;
	case CX_PORT_S_ARMED:
		return p->state == CX_PORT_S_INIT ||
		       p->state == CX_PORT_S_ARMED;
	case CX_PORT_S_ACTIVE:
		return p->state == CX_PORT_S_ARMED ||
		       p->state == CX_PORT_S_ACTIVE;
	default:
		return false;
	}
}

static bool info_ok(const struct cx_dev *d, const uint8_t *info)
{
	uint8_t mtu = info[36] >> 4, ext = info[63] & 0x1f;

	return cx_be16_get(info + 16) < LID_MULTICAST &&
	       cx_be16_get(info + 18) < LID_MULTICAST &&
	       enabled_ok(info[29], 0xff, WIDTHS) &&
	       enabled_ok(info[35] & 0xf, 0xf, SPEEDS) &&
	       (ext == SPEED_EXT_NONE ||
		enabled_ok(ext, 0x1f, SPEEDS_EXT)) &&
	       (info[33] & 0xf) <= CX_PHYS_POLLING &&
	       mtu && mtu <= d->family->mtu && info[43] >> 4 <= VL_0_TO_3 &&
	       state_ok(&d->port, info[32] & 0xf, info[33] >> 4);
}

/*
 * The driver has no event for another subnet manager: that of the LID makes
 * its clients ask for the address again, too.
 */
static void set_addresses(struct cx_dev *d, const uint8_t *info)
{
	struct cx_port *p = &d->port, old = *p;

	if (cx_be16_get(info + 16)) {
		p->lid = cx_be16_get(info + 16);
		p->lmc = info[34] & 7;
	}
	if (cx_be16_get(info + 18)) {
		p->sm_lid = cx_be16_get(info + 18);
		p->sm_sl = info[36] & 0xf;
	}
	p->prefix = cx_be64_get(info + 8);
	if (p->lid != old.lid || p->lmc != old.lmc ||
	    p->sm_lid != old.sm_lid || p->sm_sl != old.sm_sl)
		cx_port_event(d, CX_PORT_LID);
	if (p->prefix != old.prefix)
		cx_port_event(d, CX_PORT_GUID);
}

static void set_params(struct cx_port *p, const uint8_t *info)
{
	p->mkey = cx_be64_get(info);
	p->mkey_lease = cx_be16_get(info + 26);
	p->mkey_prot = info[34] >> 6;
	set_enabled(&p->width_en, info[29], 0xff, WIDTHS);
	set_enabled(&p->speed_en, info[35] & 0xf, 0xf, SPEEDS);
	set_enabled(&p->ext_speed_en, info[63] & 0x1f, 0x1f, SPEEDS_EXT);
	set_enabled(&p->down_default, info[33] & 0xf, 0xf, CX_PHYS_POLLING);
	set_enabled(&p->op_vls, info[43] >> 4, 0xf, VL_0_TO_3);
	p->mtu = info[36] >> 4;
	p->vl_limit = info[38];
	if (!cx_be16_get(info + 44))
		p->mkey_viol = 0;
	if (!cx_be16_get(info + 46))
		p->pkey_viol = 0;
	if (!cx_be16_get(info + 48))
		p->qkey_viol = 0;
	p->subnet_timeout = info[51] & 0x1f;
	p->err_thresholds = info[53];
}

/* DOWN without "disabled" is a new training of the link: both ends see it. */
static void set_state(struct cx_dev *d, uint8_t state, uint8_t phys)
{
	if (state == CX_PORT_S_DOWN || phys) {
		d->port.disabled = true;
		cx_port_link(d);
		d->port.disabled = phys == CX_PHYS_DISABLED;
		cx_port_link(d);
	} else if (state && state != d->port.state) {
		d->port.state = state;
		if (state == CX_PORT_S_ACTIVE)
			cx_port_event(d, CX_PORT_ACTIVE);
	}
}

bool cx_port_set_info(struct cx_dev *d, const uint8_t info[64])
{
	if (!info_ok(d, info))
		return false;
	set_params(&d->port, info);
	set_addresses(d, info);
	set_state(d, info[32] & 0xf, info[33] >> 4);
	if (info[51] & 0x80)
		cx_port_event(d, CX_PORT_REREG);
	return true;
}

/* ---- changes by the driver, told by a trap ---- */
/* Trap 144 for the subnet manager; it is not repeated: no wire loses it. */
static void trap_change(struct cx_dev *d, uint8_t change)
{
	struct cx_port *p = &d->port;
	struct cx_frame *f;
	uint8_t *notice;

	if (!p->sm_lid || p->state != CX_PORT_S_ACTIVE)
		return;
	f = cx_frame_new(256);
	if (!f)
		return;
	f->kind = CX_F_DATAGRAM;
	f->st = CX_ST_UD;
	f->first = f->last = true;
	f->npsn = 1;
	f->dlid = p->sm_lid;
	f->sl = p->sm_sl;
	f->pkey = 0xffff;
	f->len = 256;
	memset(f->data, 0, 256);
	memcpy(f->data, "\1\1\1\5", 4);		/* version, class, .., Trap */
	cx_be64_set(f->data + 8, ++p->trap_tid);
	cx_be16_set(f->data + 16, 2);			/* Notice */
	notice = f->data + 64;
	notice[0] = 0x84;			/* generic, informational */
	notice[3] = 1;				/* of a channel adapter */
	cx_be16_set(notice + 4, 144);
	cx_be16_set(notice + 6, p->lid);
	cx_be16_set(notice + 12, p->lid);
	notice[15] = change != 0;
	cx_be32_set(notice + 16, p->cap_mask);
	notice[21] = change;
	if (cx_wire_send(d, f))
		cx_frame_free(f);
	cx_kick(d);
}

void cx_port_set_caps(struct cx_dev *d, uint32_t cap_mask)
{
	if (d->port.cap_mask == cap_mask)
		return;
	d->port.cap_mask = cap_mask;
	trap_change(d, 0);
}

void cx_port_describe(struct cx_dev *d, const char description[64])
{
	if (!memcmp(d->port.description, description, 64))
		return;
	memcpy(d->port.description, description, 64);
	trap_change(d, 1);
}
