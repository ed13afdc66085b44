// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Objects whose doorbells are rung by hand: two connected queue pairs of one
 * context, work requests in the form of the hardware (uar_mlx4.c, uar_mlx5.c), and
 * the stores to a doorbell page. Used by one thread.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "uar.h"

#define DEPTH		16
#define POLL_NS		100000

/* Memory before the doorbell, and the doorbell before what follows: a WC page
 * would else merge two of them. */
void uar_fence(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("mfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb sy" ::: "memory");
#else
	__sync_synchronize();
#endif
}

static int open_objects(struct uar_obj *u)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	int i;

	u->mem = mmap(NULL, UAR_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (u->mem == MAP_FAILED) {
		u->mem = NULL;
		return -1;
	}
	u->mr = ibv_reg_mr(u->dev.pd, u->mem, UAR_PAGE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	u->chan = ibv_create_comp_channel(u->dev.ctx);
	if (!u->mr || !u->chan)
		return -1;
	u->cq = ibv_create_cq(u->dev.ctx, 4 * DEPTH, NULL, u->chan, 0);
	if (!u->cq)
		return -1;
	ia.send_cq = ia.recv_cq = u->cq;
	for (i = 0; i < 2; i++) {
		u->qp[i] = ibv_create_qp(u->dev.pd, &ia);
		if (!u->qp[i])
			return -1;
	}
	return 0;
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = VT_PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(const struct uar_obj *u, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = u->dev.port.active_mtu,
		.dest_qp_num = peer, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = VT_PORT,
			.dlid = u->dev.port.lid,
			.grh = { .dgid = u->dev.gid, .hop_limit = 64,
				 .sgid_index = u->dev.gid_index },
		},
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_qps(struct uar_obj *u)
{
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++)
		err = to_init(u->qp[i]);
	for (i = 0; i < 2 && !err; i++)
		err = to_rtr(u, u->qp[i], u->qp[!i]->qp_num);
	for (i = 0; i < 2 && !err; i++)
		err = to_rts(u->qp[i]);
	return err;
}

static int open_dv(struct uar_obj *u)
{
	static const struct uar_kind *const kinds[] = { &uar_mlx5, &uar_mlx4 };
	int err = EOPNOTSUPP;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(kinds) && err == EOPNOTSUPP; i++) {
		u->kind = kinds[i];
		err = u->kind->init(u);
	}
	return err;
}

/**
 * uar_open() - open a device and objects whose doorbells can be rung
 * @why: VT_WHY bytes for the explanation of a failure
 *
 * Return: 0, or -1; uar_close() in both cases.
 */
int uar_open(struct uar_obj *u, const struct vt_opt *o, char *why)
{
	int err;

	memset(u, 0, sizeof(*u));
	if (vt_open(&u->dev, o, why))
		return -1;
	if (open_objects(u)) {
		snprintf(why, VT_WHY, "cannot make the objects: %s",
			 vt_errno(errno));
		return -1;
	}
	err = open_dv(u);
	if (err) {
		snprintf(why, VT_WHY, "%s is no mlx4 or mlx5 device (%s)",
			 ibv_get_device_name(u->dev.ctx->device),
			 vt_errno(err));
		return -1;
	}
	err = connect_qps(u);
	if (err)
		snprintf(why, VT_WHY, "cannot connect the queue pairs: %s",
			 vt_errno(err));
	return err ? -1 : 0;
}

void uar_close(struct uar_obj *u)
{
	int i;

	for (i = 0; i < 2; i++)
		if (u->qp[i])
			ibv_destroy_qp(u->qp[i]);
	if (u->cq) {
		ibv_ack_cq_events(u->cq, u->events);
		ibv_destroy_cq(u->cq);
	}
	if (u->chan)
		ibv_destroy_comp_channel(u->chan);
	if (u->mr)
		ibv_dereg_mr(u->mr);
	if (u->mem)
		munmap(u->mem, UAR_PAGE);
	vt_close(&u->dev);
	memset(u, 0, sizeof(*u));
}

/**
 * uar_post() - a complete work request, for which nobody rings yet
 * @value: eight bytes that it will write to our own memory
 *
 * Queue and doorbell record are as the HCA wants them: a doorbell that it
 * accepts, whoever rings, starts the transfer.
 */
void uar_post(struct uar_obj *u, uint64_t value)
{
	u->mem[0] = value;
	u->kind->post(u);
}

/**
 * uar_ring() - one doorbell: two words, in one store of 64 bits
 * @reg: in a doorbell page; the words are in host byte order
 */
void uar_ring(void *reg, uint32_t first, uint32_t second)
{
	volatile uint64_t *p = reg;

	uar_fence();
	*p = htobe64((uint64_t)first << 32 | second);
	uar_fence();
}

/** uar_ring_own() - ring for the last posted request, at @reg */
void uar_ring_own(const struct uar_obj *u, void *reg)
{
	u->kind->send(reg, u->qp[0]->qp_num, u->posted - 1);
}

/** uar_arrived() - is the value in our memory, within @ms (0: now)? */
bool uar_arrived(const struct uar_obj *u, uint64_t value, int ms)
{
	const volatile uint64_t *target = &u->mem[UAR_TARGET];
	struct timespec nap = { .tv_nsec = POLL_NS };
	uint64_t end = vt_now_ns() + ms * 1000000ull;

	while (*target != value) {
		if (vt_now_ns() > end)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

/**
 * uar_works() - does our own request run when rung for at @reg?
 * @why: VT_WHY bytes for the explanation of a failure
 *
 * Takes the completion. Return: 0 or -1.
 */
int uar_works(struct uar_obj *u, void *reg, char *why)
{
	uint64_t value = vt_now_ns() | 1, end;
	struct ibv_wc wc;
	int n = 0;

	uar_post(u, value);
	uar_ring_own(u, reg);
	if (!uar_arrived(u, value, UAR_WAIT_MS)) {
		snprintf(why, VT_WHY,
			 "a doorbell for the own queue pair does nothing");
		return -1;
	}
	end = vt_now_ns() + UAR_WAIT_MS * 1000000ull;
	while (!n && vt_now_ns() < end)
		n = ibv_poll_cq(u->cq, 1, &wc);
	if (n == 1 && wc.status == IBV_WC_SUCCESS)
		return 0;
	snprintf(why, VT_WHY, "the own request ended with '%s'",
		 n == 1 ? ibv_wc_status_str(wc.status) : "no completion");
	return -1;
}

/** uar_event() - 1: a completion event came within @ms, 0: none, -errno */
int uar_event(struct uar_obj *u, int ms)
{
	struct pollfd p = { .fd = u->chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;
	int n;

	do {
		n = poll(&p, 1, ms);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	if (ibv_get_cq_event(u->chan, &cq, &ctx))
		return -errno;
	u->events++;
	return 1;
}

void *uar_page(void *reg)
{
	return (void *)((uintptr_t)reg & ~(uintptr_t)(UAR_PAGE - 1));
}
