// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * How long control verbs take, one at a time, on an otherwise idle device.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#define BIG (64u << 20)

static int failed(char *why, const char *verb, int err)
{
	snprintf(why, VT_WHY, "%s: %s", verb, vt_errno(err));
	return -1;
}

static double since_us(uint64_t t0)
{
	return (bench_now_ns() - t0) / 1000.0;
}

static int run_port(struct vt_dev *d, char *why)
{
	static struct bench_set b;
	struct ibv_port_attr a;
	uint64_t t;
	int i, err;

	bench_begin(&b, "query_port", "us");
	for (i = 0; i < bench_runs; i++) {
		t = bench_now_ns();
		err = ibv_query_port(d->ctx, VT_PORT, &a);
		bench_add(&b, since_us(t));
		if (err)
			return failed(why, "ibv_query_port", err);
	}
	bench_print(&b);
	return 0;
}

static int run_pd(struct vt_dev *d, char *why)
{
	static struct bench_set b;
	struct ibv_pd *pd;
	uint64_t t;
	int i, err;

	bench_begin(&b, "alloc_pd+dealloc_pd", "us");
	for (i = 0; i < bench_runs; i++) {
		t = bench_now_ns();
		pd = ibv_alloc_pd(d->ctx);
		if (!pd)
			return failed(why, "ibv_alloc_pd", errno);
		err = ibv_dealloc_pd(pd);
		bench_add(&b, since_us(t));
		if (err)
			return failed(why, "ibv_dealloc_pd", err);
	}
	bench_print(&b);
	return 0;
}

static int run_cq(struct vt_dev *d, char *why)
{
	static struct bench_set create, destroy;
	struct ibv_cq *cq;
	uint64_t t;
	int i, err;

	bench_begin(&create, "create_cq", "us");
	bench_begin(&destroy, "destroy_cq", "us");
	for (i = 0; i < bench_runs; i++) {
		t = bench_now_ns();
		cq = ibv_create_cq(d->ctx, 128, NULL, NULL, 0);
		bench_add(&create, since_us(t));
		if (!cq)
			return failed(why, "ibv_create_cq", errno);
		t = bench_now_ns();
		err = ibv_destroy_cq(cq);
		bench_add(&destroy, since_us(t));
		if (err)
			return failed(why, "ibv_destroy_cq", err);
	}
	bench_print(&create);
	bench_print(&destroy);
	return 0;
}

static int run_ah(struct vt_dev *d, char *why)
{
	static struct bench_set create, destroy;
	struct ibv_ah_attr a = {
		.is_global = 1, .port_num = VT_PORT, .dlid = d->port.lid,
		.grh = { .dgid = d->gid, .hop_limit = 64,
			 .sgid_index = d->gid_index },
	};
	struct ibv_ah *ah;
	uint64_t t;
	int i, err;

	bench_begin(&create, "create_ah", "us");
	bench_begin(&destroy, "destroy_ah", "us");
	for (i = 0; i < bench_runs; i++) {
		t = bench_now_ns();
		ah = ibv_create_ah(d->pd, &a);
		bench_add(&create, since_us(t));
		if (!ah)
			return failed(why, "ibv_create_ah", errno);
		t = bench_now_ns();
		err = ibv_destroy_ah(ah);
		bench_add(&destroy, since_us(t));
		if (err)
			return failed(why, "ibv_destroy_ah", err);
	}
	bench_print(&create);
	bench_print(&destroy);
	return 0;
}

static int to_rts(struct vt_dev *d, struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = VT_PORT,
		.path_mtu = d->port.active_mtu, .dest_qp_num = qp->qp_num,
		.min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1, .port_num = VT_PORT,
			.dlid = d->port.lid,
			.grh = { .dgid = d->gid, .hop_limit = 64,
				 .sgid_index = d->gid_index },
		},
	};
	int err;

	err = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (err)
		return err;
	a.qp_state = IBV_QPS_RTR;
	err = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV |
			    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	a.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int one_qp(struct vt_dev *d, struct ibv_cq *cq, struct bench_set *b,
		  char *why)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp;
	uint64_t t;
	int err;

	t = bench_now_ns();
	qp = ibv_create_qp(d->pd, &ia);
	bench_add(&b[0], since_us(t));
	if (!qp)
		return failed(why, "ibv_create_qp", errno);
	t = bench_now_ns();
	err = to_rts(d, qp);
	bench_add(&b[1], since_us(t));
	if (err)
		failed(why, "ibv_modify_qp", err);
	t = bench_now_ns();
	if (ibv_destroy_qp(qp) && !err)
		err = failed(why, "ibv_destroy_qp", errno);
	bench_add(&b[2], since_us(t));
	return err ? -1 : 0;
}

static int run_qp(struct vt_dev *d, char *why)
{
	static struct bench_set b[3];
	struct ibv_cq *cq = ibv_create_cq(d->ctx, 128, NULL, NULL, 0);
	int i, rc = 0;

	if (!cq)
		return failed(why, "ibv_create_cq", errno);
	bench_begin(&b[0], "create_qp", "us");
	bench_begin(&b[1], "modify_qp RESET->RTS", "us");
	bench_begin(&b[2], "destroy_qp", "us");
	for (i = 0; i < bench_runs && !rc; i++)
		rc = one_qp(d, cq, b, why);
	for (i = 0; i < 3 && !rc; i++)
		bench_print(&b[i]);
	ibv_destroy_cq(cq);
	return rc;
}

static int run_mr_size(struct vt_dev *d, uint8_t *mem, const char *size,
		       size_t len, int runs, char *why)
{
	static struct bench_set reg, dereg;
	char rname[32], dname[32];
	struct ibv_mr *mr;
	uint64_t t;
	int i, err;

	snprintf(rname, sizeof(rname), "reg_mr %s", size);
	snprintf(dname, sizeof(dname), "dereg_mr %s", size);
	bench_begin(&reg, rname, "us");
	bench_begin(&dereg, dname, "us");
	for (i = 0; i < runs; i++) {
		t = bench_now_ns();
		mr = ibv_reg_mr(d->pd, mem, len, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE);
		bench_add(&reg, since_us(t));
		if (!mr)
			return failed(why, rname, errno);
		t = bench_now_ns();
		err = ibv_dereg_mr(mr);
		bench_add(&dereg, since_us(t));
		if (err)
			return failed(why, dname, err);
	}
	bench_print(&reg);
	bench_print(&dereg);
	return 0;
}

static int run_mr(struct vt_dev *d, char *why)
{
	uint8_t *mem = mmap(NULL, BIG, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int rc;

	if (mem == MAP_FAILED)
		return failed(why, "mmap of 64 MiB", errno);
	memset(mem, 1, BIG);
	rc = run_mr_size(d, mem, "4 KiB", 4096, bench_runs, why) ||
	     run_mr_size(d, mem, "64 KiB", 65536, bench_runs, why) ||
	     run_mr_size(d, mem, "1 MiB", 1 << 20,
			 bench_runs < 41 ? bench_runs : 41, why) ||
	     run_mr_size(d, mem, "64 MiB", BIG, 7, why) ? -1 : 0;
	munmap(mem, BIG);
	return rc;
}

/** bench_control() - measure and print the control verbs */
int bench_control(struct vt_dev *d, char *why)
{
	return run_port(d, why) || run_pd(d, why) || run_cq(d, why) ||
	       run_ah(d, why) || run_qp(d, why) || run_mr(d, why) ? -1 : 0;
}
