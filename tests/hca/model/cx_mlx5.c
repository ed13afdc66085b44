// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The family of the mlx5 driver: power-on, the initialization segment, the
 * dispatch of doorbells over the UAR pages. Offsets and values come from the
 * guest's kernel and, in UAR pages, from its processes: all of them are
 * untrusted.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"
#include "cx_mlx5.h"

/* struct mlx5_init_seg */
enum iseg {
	ISEG_FW_REV = 0x0, ISEG_CMDIF_REV = 0x4, ISEG_CMDQ_H = 0x10,
	ISEG_CMDQ_L = 0x14, ISEG_CMD_DBELL = 0x18, ISEG_INITIALIZING = 0x1fc,
	ISEG_HEALTH_FW_VER = 0x230, ISEG_HEALTH_HW_ID = 0x234,
	ISEG_TIMER_H = 0x1000, ISEG_TIMER_L = 0x1004,
	ISEG_HEALTH_COUNTER = 0x1010,
};

/* A UAR page (linux/mlx5/driver.h, device.h). */
enum uar { UAR_CQ = 0x20, UAR_EQ_ARM = 0x40, UAR_EQ = 0x48, UAR_BF = 0x800,
	   UAR_BF_SIZE = 0x100 };

#define FW_MAJOR	12u
#define FW_MINOR	28u
#define FW_SUB		2006u
#define CMDIF_REV	5u
#define HW_ID		0x209u		/* ConnectX-4 */

#define INDEX_MASK	0xffffffu	/* of a doorbell's words */
#define ARM_SOLICITED	BIT(24)

/* ---- power ---- */
static void ids_init(struct cx_dev *d)
{
	cx_ids_init(&d->pds, 1, 1u << CX_LOG_PD);
	cx_ids_init(&d->xrcds, 1, 1u << CX_LOG_PD);
	cx_ids_init(&d->tds, 1, 1u << CX_LOG_PD);
	cx_ids_init(&d->uctxs, 1, 1u << CX_LOG_UCTX);
	cx_ids_init(&d->uars, CX_UAR_FIRST,
		    cx_bar_size(&d->config) / CX_PAGE - CX_UAR_FIRST);
	cx_ids_init(&d->eqs, 1, CX_MAX_EQ);
	cx_ids_init(&d->cqs, 0x40, 1u << CX_LOG_CQ);
	cx_ids_init(&d->srqs, 0x40, 1u << CX_LOG_SRQ);
	cx_ids_init(&d->qps, 0, 1u << CX_LOG_QP);
	/* QP0 and QP1 have these numbers; others start where real ones do. */
	d->qps.low = 0x40;
	cx_ids_init(&d->mkeys, 1, 1u << CX_LOG_MKEY);
	cx_ids_init(&d->counters, 1, CX_MAX_COUNTERS);
	cx_ids_init(&d->tises, 1, 1u << CX_LOG_NIC);
	cx_ids_init(&d->tirs, 1, 1u << CX_LOG_NIC);
	cx_ids_init(&d->rqts, 1, 1u << CX_LOG_NIC);
	cx_ids_init(&d->fts, 1, 1u << CX_LOG_FT);
}

/* The device forgets all that the driver told it, but the registers. */
void cx_quiesce(struct cx_dev *d)
{
	cx_objects_free(d);
	cx_nic_clear(d);
	free(d->pages);
	d->pages = NULL;
	d->nr_pages = 0;
	d->room_pages = 0;
	d->hca_enabled = false;
	d->hca_up = false;
	d->teardown = false;
	d->issi = 0;
	d->log_max_qp = CX_LOG_QP;
	d->uar_4k = false;
	d->atomic_host = false;
}

static void power_on(struct cx_dev *d)
{
	cx_nic_init(d);
	d->nic_interface = CX_NIC_FULL;
	d->cmdq_addr = 0;
}

static int init(struct cx_dev *d)
{
	ids_init(d);
	return cx_cmdq_init(d);
}

static uint64_t pages_held(const struct cx_dev *d)
{
	return d->nr_pages + d->hca_enabled;
}

static bool may_touch(const struct cx_dev *d, uint64_t addr)
{
	return d->hca_enabled && addr - d->cmdq_addr < CX_PAGE;
}

/* ---- registers ---- */
uint64_t cx_cycles(const struct cx_dev *d)
{
	uint64_t ns = d->host->now(d->opaque) - d->born;

	return ns / 1000000 * CX_KHZ + ns % 1000000 * CX_KHZ / 1000000;
}

static uint32_t iseg_read(struct cx_dev *d, uint64_t offset)
{
	switch (offset) {
	case ISEG_FW_REV:
	case ISEG_HEALTH_FW_VER:
		return FW_MINOR << 16 | FW_MAJOR;
	case ISEG_CMDIF_REV:
		return CMDIF_REV << 16 | FW_SUB;
	case ISEG_CMDQ_H:
		return d->cmdq_addr >> 32;
	case ISEG_CMDQ_L:
		return (d->cmdq_addr & 0xfffff000) | d->nic_interface << 8 |
		       CX_LOG_CMDQ << 4 | CX_LOG_CMD;
	case ISEG_HEALTH_HW_ID:
		return HW_ID;
	case ISEG_TIMER_H:
		return cx_cycles(d) >> 32;
	case ISEG_TIMER_L:
		return cx_cycles(d);
	case ISEG_HEALTH_COUNTER:
		/* The driver wants to see it move between polls. */
		d->health_counter = (d->host->now(d->opaque) - d->born) >> 20;
		return d->health_counter;
	case ISEG_INITIALIZING:		/* done: nothing to wait for */
	default:
		return 0;
	}
}

/*
 * The low half of the command queue's address, and the NIC interface mode: a
 * driver that disables it, or asks for a reset, wants no access any more.
 */
static void cmdq_l_write(struct cx_dev *d, uint32_t value)
{
	uint32_t mode = value >> 8 & 7;

	d->cmdq_addr = (d->cmdq_addr & ~0xffffffffULL) | (value & 0xfffff000);
	if (mode != CX_NIC_DISABLED && mode != CX_NIC_SW_RESET) {
		d->nic_interface = mode;
		return;
	}
	cx_log(d, CX_INFO, "NIC interface disabled by the driver");
	d->nic_interface = CX_NIC_DISABLED;
	cx_quiesce(d);
	cx_port_link(d);
}

static void iseg_write(struct cx_dev *d, uint64_t offset, uint32_t value)
{
	switch (offset) {
	case ISEG_CMDQ_H:
		d->cmdq_addr = (uint64_t)value << 32 |
			       (d->cmdq_addr & 0xffffffff);
		break;
	case ISEG_CMDQ_L:
		cmdq_l_write(d, value);
		break;
	case ISEG_CMD_DBELL:
		cx_cmdq_doorbell(d, value);
		break;
	}
}

/* ---- UAR pages ---- */
static void eq_doorbell(struct cx_dev *d, uint32_t uar, bool arm,
			uint32_t value)
{
	struct cx_eq *eq = cx_ids_get(&d->eqs, value >> 24);

	d->stats.doorbells_eq++;
	if (!eq || !cx_uar_rings(d, uar, eq->uar))
		cx_refuse(d, "EQ", value >> 24, uar);
	else
		cx_eq_doorbell(d, eq, value & INDEX_MASK, arm);
}

static void cq_doorbell(struct cx_dev *d, uint32_t uar, uint32_t cmd,
			uint32_t cqn)
{
	struct cx_arm arm = { .cqn = cqn & INDEX_MASK, .ci = cmd & INDEX_MASK,
			      .sn = cmd >> 28 & 3,
			      .solicited = cmd & ARM_SOLICITED };

	cx_cq_doorbell(d, uar, &arm);
}

/* Both words of a doorbell are there. */
static void ring(struct cx_dev *d, uint64_t offset, uint32_t first,
		 uint32_t second)
{
	if (offset % CX_PAGE == UAR_CQ)
		cq_doorbell(d, offset / CX_PAGE, first, second);
	else
		cx_sq_doorbell(d, offset / CX_PAGE, second >> 8);
}

/*
 * Doorbells of two words come as one store, or as two stores in this order
 * (32-bit CPUs). What else is written to a BlueFlame buffer is a copy of the
 * WQE, which is in memory anyway.
 */
static void uar_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size)
{
	uint32_t reg = offset % CX_PAGE, word = cx_swap(value);
	uint32_t at = reg < UAR_BF ? reg - UAR_CQ : reg % UAR_BF_SIZE;

	if (!cx_ids_get(&d->uars, offset / CX_PAGE)) {
		d->stats.doorbells_refused++;
		cx_log(d, CX_DEBUG, "doorbell at %#llx: no such UAR page",
		       (unsigned long long)offset);
	} else if (reg == UAR_EQ_ARM || reg == UAR_EQ) {
		eq_doorbell(d, offset / CX_PAGE, reg == UAR_EQ_ARM, word);
	} else if (at == 0 && size == 8) {
		ring(d, offset, word, cx_swap(value >> 32));
	} else if (at == 0) {
		d->latched = offset;
		d->latch = word;
	} else if (at == 4 && size == 4 && d->latched == offset - 4) {
		d->latched = 0;
		ring(d, offset - 4, d->latch, word);
	}
}

static void reg_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size)
{
	if (offset >= (uint64_t)CX_UAR_FIRST * CX_PAGE) {
		uar_write(d, offset, value, size);
		return;
	}
	iseg_write(d, offset, cx_swap(value));
	if (size == 8)
		iseg_write(d, offset + 4, cx_swap(value >> 32));
}

const struct cx_family cx_mlx5 = {
	.device_id = 4115,
	.description = "MT4115 ConnectX4 model",
	.port_events = ~0U,
	.log_cmds = CX_LOG_CMDQ,
	.mtu = CX_MTU_4096,
	.laps = true,
	.eqe = { .bytes = 64, .data = 32, .number = 24, .owner = 1 },
	.cqe = { .bytes = 64, .owner = MLX5_CQE_OWNER_MASK,
		 .resize = MLX5_CQE_RESIZE_CQ << 4 },
	.init = init,
	.exit = cx_cmdq_free,
	.quiesce = cx_quiesce,
	.power_on = power_on,
	.pages_held = pages_held,
	.may_touch = may_touch,
	.read = iseg_read,
	.write = reg_write,
	.srq_next = cx_srq_next_index,
	.complete = cx_mlx5_complete,
	.sq_posted = cx_mlx5_sq_posted,
	.wqe_peek = cx_mlx5_wqe_peek,
	.wqe_read = cx_mlx5_wqe_read,
	.local = cx_mlx5_local,
};
