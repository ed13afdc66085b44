// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The command register, and bringing a device up and down in the order of
 * mlx4_core's probe and remove. See m4.h.
 */
#include <stdlib.h>

#include "m4.h"

/* Registers. */
enum { HCR = 0x80680, STATUS = 0x80698, OWNER = 0x8069c, RESET = 0xf0010,
       SEMAPHORE = 0xf03fc };
enum { GO = 1 << 23, EVENT = 1 << 22, TOGGLE = 1 << 21 };

enum { QUERY_DEV_CAP = 0x3, QUERY_FW = 0x4, QUERY_ADAPTER = 0x6,
       INIT_HCA = 0x7, CLOSE_HCA = 0x8, INIT_PORT = 0x9, CLOSE_PORT = 0xa,
       SET_PORT = 0xc, MAP_EQ = 0x12, HW2SW_EQ = 0x14,
       CONF_SPECIAL_QP = 0x23, MAD_IFC = 0x24, NOP = 0x31,
       MOD_STAT_CFG = 0x34, QUERY_PORT = 0x43, RUN_FW = 0xff6,
       UNMAP_ICM = 0xff9, MAP_ICM = 0xffa, UNMAP_ICM_AUX = 0xffb,
       MAP_ICM_AUX = 0xffc, SET_ICM_SIZE = 0xffd, UNMAP_FA = 0xffe,
       MAP_FA = 0xfff };

enum { EV_CMD = 0x0a };
#define ASYNC_EVENTS	0x1f063eull	/* those that the model has */

/* Where the tables are in context memory. */
#define ICM_MTT		0x10000000ull
#define ICM_DMPT	0x20000000ull
#define ICM_QPC		0x30000000ull
#define ICM_SIZE	0x40000000ull
#define MTT_BYTES	(8u << M4_LOG_MTT)
#define DMPT_BYTES	(64u << M4_LOG_MPT)
#define QPC_BYTES	(256u << M4_LOG_QP)

void m4_put16(void *p, size_t at, uint16_t value)
{
	value = htobe16(value);
	memcpy((uint8_t *)p + at, &value, sizeof(value));
}

void m4_put32(void *p, size_t at, uint32_t value)
{
	value = htobe32(value);
	memcpy((uint8_t *)p + at, &value, sizeof(value));
}

void m4_put64(void *p, size_t at, uint64_t value)
{
	value = htobe64(value);
	memcpy((uint8_t *)p + at, &value, sizeof(value));
}

uint32_t m4_get32(const void *p, size_t at)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)p + at, sizeof(value));
	return be32toh(value);
}

uint64_t m4_get64(const void *p, size_t at)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)p + at, sizeof(value));
	return be64toh(value);
}

/* ---- events ---- */
void m4_eq_update(struct m4 *v, struct m4_eq *eq, bool arm)
{
	if (v->mt) {
		rig_write32(v->dev, 0xf0200 + eq->eqn * 8, eq->ci);
		if (arm)
			rig_write32(v->dev, 0xf0404, 1u << eq->eqn);
		return;
	}
	rig_write32(v->dev, CX_BAR2 + eq->eqn / 4 * M4_PAGE + 0x800 +
		    eq->eqn % 4 * 8, (eq->ci & 0xffffff) | (uint32_t)arm << 31);
}

const struct m4_eqe *m4_event(struct m4 *v, struct m4_eq *eq)
{
	struct m4_eqe *e = &eq->e[eq->ci & ((1u << eq->log_size) - 1)];

	if (e->owner >> 7 != (v->mt ? 0 : eq->ci >> eq->log_size & 1))
		return NULL;
	if (v->mt)
		e->owner = 0x80;
	eq->ci++;
	m4_eq_update(v, eq, true);
	return e;
}

static void keep(struct m4 *v, const struct m4_eqe *e)
{
	if (v->nr_kept < sizeof(v->kept) / sizeof(v->kept[0]))
		v->kept[v->nr_kept++] = *e;
}

/* The interrupt handler's work. */
static void take_events(struct m4 *v)
{
	const struct m4_eqe *e;

	while ((e = m4_event(v, &v->async)))
		keep(v, e);
}

const struct m4_eqe *m4_async(struct m4 *v, uint8_t type)
{
	const struct m4_eqe *found = NULL;
	unsigned int i;

	take_events(v);
	for (i = 0; i < v->nr_kept; i++)
		if (v->kept[i].type == type)
			found = &v->kept[i];
	v->nr_kept = 0;
	return found;
}

/* ---- commands ---- */
/* mlx4_cmd_poll(): the GO bit is clear and the toggle is the command's. */
static int answer(struct m4 *v, uint64_t *out)
{
	uint32_t status = rig_read32(v->dev, STATUS);

	if (status & GO || !(status & TOGGLE) == v->toggle)
		return M4_LOST;
	if (out)
		*out = (uint64_t)rig_read32(v->dev, HCR + 12) << 32 |
		       rig_read32(v->dev, HCR + 16);
	return status >> 24;
}

static int answer_event(struct m4 *v, uint64_t *out)
{
	const struct m4_eqe *e;
	unsigned int irqs;

	irqs = v->dev->irqs[v->commands->vector];
	while ((e = m4_event(v, v->commands))) {
		if (e->type != EV_CMD || m4_get32(e->data, 0) != v->token) {
			keep(v, e);
			continue;
		}
		if (out)
			*out = m4_get64(e->data, 12);
		return irqs ? e->data[11] : M4_LOST;
	}
	return M4_LOST;
}

int m4_cmd(struct m4 *v, uint16_t opcode, uint8_t op_mod, uint32_t in_mod,
	   uint64_t in_param, uint64_t *out)
{
	uint64_t out_param = out ? *out : 0;
	uint32_t word[] = { in_param >> 32, in_param, in_mod, out_param >> 32,
			    out_param, (uint32_t)++v->token << 16 };
	unsigned int i;

	if (v->events)
		take_events(v);
	v->toggle = !v->mt && !v->toggle;
	v->dev->irqs[v->commands->vector] = 0;
	for (i = 0; i < 6; i++)
		rig_write32(v->dev, HCR + 4 * i, word[i]);
	rig_write32(v->dev, STATUS, GO | (v->events ? EVENT : 0) |
		    (v->toggle ? TOGGLE : 0) | (uint32_t)op_mod << 12 | opcode);
	return v->events ? answer_event(v, out) : answer(v, out);
}

int m4_box(struct m4 *v, uint16_t opcode, uint8_t op_mod, uint32_t in_mod,
	   const void *in, size_t in_len, void *out, size_t out_len)
{
	uint64_t to = rig_bus(v->rig, v->out);
	int ret;

	memset(v->in, 0, M4_PAGE);
	memset(v->out, 0, M4_PAGE);
	if (in)
		memcpy(v->in, in, in_len);
	if (in && v->spoil)
		v->spoil(v, v->in);
	ret = m4_cmd(v, opcode, op_mod, in_mod,
		     in ? rig_bus(v->rig, v->in) : 0, out ? &to : NULL);
	if (out)
		memcpy(out, v->out, out_len);
	return ret;
}

/* mlx4_map_cmd(): whole pages, each by itself. */
int m4_map(struct m4 *v, uint16_t opcode, const uint8_t *p, size_t len,
	   uint64_t virt)
{
	uint8_t list[M4_PAGE];
	uint32_t nr = 0;
	size_t at;
	int ret = 0;

	for (at = 0; at < len && !ret; at += M4_PAGE) {
		m4_put64(list, nr * 16, virt + at);
		m4_put64(list, nr * 16 + 8, rig_bus(v->rig, p + at));
		if (++nr < M4_PAGE / 16 && at + M4_PAGE < len)
			continue;
		ret = m4_box(v, opcode, 0, nr, list, nr * 16, NULL, 0);
		nr = 0;
	}
	return ret;
}

int m4_give(struct m4 *v, uint16_t opcode, uint32_t pages)
{
	uint8_t *p = rig_alloc(v->rig, pages * M4_PAGE);

	return p ? m4_map(v, opcode, p, pages * M4_PAGE, 0) : M4_LOST;
}

int m4_begin(struct m4 *v, struct rig_dev *dev)
{
	memset(v, 0, sizeof(*v));
	v->rig = dev->rig;
	v->dev = dev;
	v->commands = &v->async;
	v->in = rig_alloc(v->rig, M4_PAGE);
	v->out = rig_alloc(v->rig, M4_PAGE);
	return v->in && v->out ? 0 : M4_LOST;
}

int m4_start(struct m4 *v, struct rig_dev *dev)
{
	uint8_t fw[0x100];
	int ret = m4_begin(v, dev);

	if (ret || rig_read32(dev, OWNER) || rig_read32(dev, SEMAPHORE))
		return M4_LOST;
	rig_write32(dev, RESET, 1);
	ret = m4_box(v, QUERY_FW, 0, 0, NULL, 0, fw, sizeof(fw));
	/* Pages first; interface revision 3 at 0xa. */
	if (ret || fw[0xb] != 3)
		return ret ? ret : M4_LOST;
	ret = m4_give(v, MAP_FA, fw[0] << 8 | fw[1]);
	return ret ? ret : m4_cmd(v, RUN_FW, 0, 0, 0, NULL);
}

static int map_tables(struct m4 *v)
{
	uint8_t *qpc = rig_alloc(v->rig, QPC_BYTES);
	int ret;

	v->mtt = rig_alloc(v->rig, MTT_BYTES);
	v->dmpt = rig_alloc(v->rig, DMPT_BYTES);
	if (!v->mtt || !v->dmpt || !qpc)
		return M4_LOST;
	ret = m4_map(v, MAP_ICM, v->mtt, MTT_BYTES, ICM_MTT);
	if (!ret)
		ret = m4_map(v, MAP_ICM, v->dmpt, DMPT_BYTES, ICM_DMPT);
	return ret ? ret : m4_map(v, MAP_ICM, qpc, QPC_BYTES, ICM_QPC);
}

int m4_init(struct m4 *v)
{
	uint8_t caps[0x100], hca[0x200] = { 2 };
	uint64_t aux = 0;
	int ret;

	ret = m4_box(v, QUERY_DEV_CAP, 0, 0, NULL, 0, caps, sizeof(caps));
	if (!ret)
		ret = m4_cmd(v, SET_ICM_SIZE, 0, 0, ICM_SIZE, &aux);
	if (!ret)
		ret = m4_give(v, MAP_ICM_AUX, aux);
	if (!ret)
		ret = map_tables(v);
	if (ret)
		return ret;
	v->log_cqe = caps[0x40] & 0x40 ? 6 : 5;
	if (v->log_cqe == 6)
		hca[0x58] |= 0x40;		/* which the HCA asks for */
	m4_put32(hca, 0x14, 1);			/* a little endian host */
	m4_put64(hca, 0x30, ICM_QPC);
	hca[0x37] = M4_LOG_QP;
	hca[0x4f] = M4_LOG_CQ;			/* SRQs */
	hca[0x57] = M4_LOG_CQ;
	hca[0x87] = 7;				/* EQs */
	hca[0xd3] = 10;				/* octets of a group's entry */
	hca[0xd7] = M4_LOG_MCG - 1;
	hca[0xdb] = M4_LOG_MCG;
	m4_put64(hca, 0xf0, ICM_DMPT);
	hca[0xfb] = M4_LOG_MPT;
	m4_put64(hca, 0x100, ICM_MTT);
	hca[0x12a] = 10;			/* doorbell pages */
	ret = m4_box(v, INIT_HCA, 0, 0, hca, sizeof(hca), NULL, 0);
	v->uar = 130;
	v->mtt_used = 16;
	v->next_qpn = 0x100;
	v->next_cqn = 0x80;
	v->next_srqn = 0x40;
	v->next_mpt = 0x100;
	v->sqp = 0x40;
	return ret;
}

int m4_map_keys_again(struct m4 *v)
{
	int ret = m4_cmd(v, UNMAP_ICM, 0, DMPT_BYTES / M4_PAGE, ICM_DMPT, NULL);

	return ret ? ret : m4_map(v, MAP_ICM, v->dmpt, DMPT_BYTES, ICM_DMPT);
}

static int open_eqs(struct m4 *v)
{
	unsigned int i;
	int ret;

	ret = m4_eq_create(v, &v->async, 32, 7, 0);
	for (i = 0; i < M4_COMP_EQS && !ret; i++)
		ret = m4_eq_create(v, &v->comp[i], 33 + i, 9, 1 + i);
	if (!ret)
		ret = m4_cmd(v, MAP_EQ, 0, v->async.eqn, ASYNC_EVENTS, NULL);
	if (ret)
		return ret;
	m4_eq_update(v, &v->async, true);
	v->events = true;
	return m4_cmd(v, NOP, 0, 0x1f, 0, NULL);
}

int m4_open(struct m4 *v, struct rig_dev *dev)
{
	uint8_t port[8] = { 0 };
	int ret;

	ret = m4_start(v, dev);
	if (!ret)
		ret = m4_cmd(v, MOD_STAT_CFG, 0, 0, 0, NULL);
	if (!ret)
		ret = m4_init(v);
	if (!ret)
		ret = open_eqs(v);
	if (!ret)
		ret = m4_cmd(v, CONF_SPECIAL_QP, 0, v->sqp, 0, NULL);
	m4_put32(port, 4, 0x06404848);
	if (!ret)
		ret = m4_box(v, SET_PORT, 0, 1, port, sizeof(port), NULL, 0);
	return ret ? ret : m4_cmd(v, INIT_PORT, 0, 1, 0, NULL);
}

int m4_close(struct m4 *v)
{
	unsigned int i;
	int ret;

	ret = m4_cmd(v, CLOSE_PORT, 0, 1, 0, NULL);
	if (!ret)
		ret = m4_cmd(v, CONF_SPECIAL_QP, 0, 0, 0, NULL);
	v->events = false;
	if (!ret)
		ret = m4_cmd(v, MAP_EQ, 0, 1u << 31 | v->async.eqn,
			     ASYNC_EVENTS, NULL);
	for (i = 0; i < M4_COMP_EQS && !ret; i++)
		ret = m4_cmd(v, HW2SW_EQ, 1, v->comp[i].eqn, 0, NULL);
	if (!ret)
		ret = m4_cmd(v, HW2SW_EQ, 1, v->async.eqn, 0, NULL);
	if (!ret)
		ret = m4_cmd(v, CLOSE_HCA, 0, 0, 0, NULL);
	if (!ret)
		ret = m4_cmd(v, UNMAP_ICM, 0, MTT_BYTES / M4_PAGE, ICM_MTT,
			     NULL);
	if (!ret)
		ret = m4_cmd(v, UNMAP_ICM, 0, DMPT_BYTES / M4_PAGE, ICM_DMPT,
			     NULL);
	if (!ret)
		ret = m4_cmd(v, UNMAP_ICM, 0, QPC_BYTES / M4_PAGE, ICM_QPC,
			     NULL);
	if (!ret)
		ret = m4_cmd(v, UNMAP_ICM_AUX, 0, 0, 0, NULL);
	return ret ? ret : m4_cmd(v, UNMAP_FA, 0, 0, 0, NULL);
}

int m4_mad_ifc(struct m4 *v, const void *mad, void *reply)
{
	return m4_box(v, MAD_IFC, 3, 1, mad, 256, reply, 256);
}
