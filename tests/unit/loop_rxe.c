// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The daemon's real code on a real Soft-RoCE HCA, without Xen: the frontend
 * is this program, over the loopback transport. Two RC queue pairs of one
 * guest, an RDMA write between them, posted as the guest's provider does it:
 * into the shared ring, with a kick. Exit status 77: there is no such HCA.
 *
 * Usage: vhca-loop-rxe [HCA [GID-INDEX]]
 */
#include <poll.h>
#include <rdma/rdma_user_rxe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/be.h"
#include "core/event.h"
#include "tests/fake/ring_loop.h"
#include "uverbs/uverbs.h"
#include "worker/device.h"
#include "worker/dispatch.h"
#include "worker/kick.h"

#define PAGES	16u
#define IOVA	0x7f5500000000ull
#define WAIT_MS	10000

struct ring { struct rxe_queue_buf *q; };

struct side {
	uint32_t handle, qpn;
	struct ring sq;
};

static struct be_dev dev;
static struct loop *loop;
static struct xenvhca_request req;
static struct xenvhca_response rsp;
static uint32_t uc, pd, cq, lkey, rkey;
static struct ring cq_ring;
static uint8_t sgid_index = 1;

static void die(const char *what)
{
	fprintf(stderr, "FAIL: %s (status %d)\n", what, rsp.status);
	exit(1);
}

static void cmd(uint16_t op, const char *what)
{
	req.op = op;
	req.ucontext = uc;
	be_dispatch(&dev, &req, &rsp);
	memset(&req, 0, sizeof(req));
	if (rsp.status)
		die(what);
}

static struct ring map(unsigned int at)
{
	struct ring r;
	uint64_t offset;
	uint32_t size;

	memcpy(&offset, rsp.udata + at, sizeof(offset));
	memcpy(&size, rsp.udata + at + 8, sizeof(size));
	req.u.mmap.offset = offset;
	req.u.mmap.length = size;
	cmd(XENVHCA_OP_MMAP, "MMAP");
	r.q = loop_gmap(loop, rsp.u.mmap.gref[0]);
	loop_gunmap(loop, rsp.u.mmap.gref[0]);
	if (!r.q)
		die("grant of queue memory");
	return r;
}

static void open_all(void)
{
	unsigned int i;

	cmd(XENVHCA_OP_ALLOC_UCONTEXT, "ALLOC_UCONTEXT");
	uc = rsp.u.alloc_ucontext.ucontext;
	cmd(XENVHCA_OP_ALLOC_PD, "ALLOC_PD");
	pd = rsp.u.handle.handle;
	req.u.create_cq.cqe = 15;
	req.out_len = 16;
	cmd(XENVHCA_OP_CREATE_CQ, "CREATE_CQ");
	cq = rsp.u.cq.handle;
	if (rsp.u.cq.cqe != 15)
		die("cqe");
	cq_ring = map(0);
	req.u.reg_mr = (struct xenvhca_reg_mr_req){
		.pd = pd, .access = 7, .iova = IOVA + 0x10,
		.length = 7 * 4096, .page_offset = 0x10,
		.pages.nr_pages = 8,
	};
	for (i = 0; i < 8; i++)
		req.u.reg_mr.pages.gref[i] = LOOP_REF(7 - i);
	cmd(XENVHCA_OP_REG_MR, "REG_MR");
	lkey = rsp.u.mr.lkey;
	rkey = rsp.u.mr.rkey;
}

static void create_qp(struct side *s)
{
	req.u.create_qp = (struct xenvhca_create_qp_req){
		.pd = pd, .send_cq = cq, .recv_cq = cq, .qp_type = 2,
		.cap = { 8, 8, 1, 1, 0, 0 },
	};
	req.out_len = 32;
	cmd(XENVHCA_OP_CREATE_QP, "CREATE_QP");
	s->handle = rsp.u.create_qp.handle;
	s->qpn = rsp.u.create_qp.qpn;
	s->sq = map(16);
}

static void modify(const struct side *s, struct xenvhca_qp_attr a,
		   const char *what)
{
	req.u.modify_qp.handle = s->handle;
	req.u.modify_qp.attr = a;
	cmd(XENVHCA_OP_MODIFY_QP, what);
}

static void own_gid(uint8_t gid[16])
{
	uint32_t first = 0, i, old = uc;
	bool found = false;

	uc = 0;
	do {
		req.u.query_gid_table.first = first;
		cmd(XENVHCA_OP_QUERY_GID_TABLE, "QUERY_GID_TABLE");
		for (i = 0; i < rsp.u.query_gid_table.count; i++) {
			if (rsp.u.query_gid_table.gid[i].index != sgid_index)
				continue;
			memcpy(gid, rsp.u.query_gid_table.gid[i].gid, 16);
			found = true;
		}
		first = rsp.u.query_gid_table.next;
	} while (first && !found);
	uc = old;
	if (!found)
		die("source GID");
}

static void connect_qp(const struct side *s, const struct side *peer)
{
	struct xenvhca_qp_attr a = {
		.mask = 1 | 8 | 16 | 32, .qp_state = 1, .port_num = 1,
		.qp_access_flags = 7,
	};

	modify(s, a, "to INIT");
	a = (struct xenvhca_qp_attr){
		.mask = 1 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 |
			1 << 20,
		.qp_state = 2, .path_mtu = 3, .dest_qp_num = peer->qpn,
		.rq_psn = 100, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah = { .is_global = 1, .port_num = 1, .hop_limit = 64,
			.sgid_index = sgid_index },
	};
	own_gid(a.ah.dgid);
	modify(s, a, "to RTR");
	a = (struct xenvhca_qp_attr){
		.mask = 1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 16,
		.qp_state = 3, .sq_psn = 100, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
	};
	modify(s, a, "to RTS");
	req.u.query_qp.handle = s->handle;
	req.u.query_qp.mask = 1;
	cmd(XENVHCA_OP_QUERY_QP, "QUERY_QP");
	if (rsp.u.query_qp.attr.qp_state != 3)
		die("QP is not in RTS");
}

/* As the provider does: the request into the ring, then the index. */
static void post_write(struct side *s, uint64_t wr_id)
{
	struct rxe_queue_buf *q = s->sq.q;
	uint32_t prod = q->producer_index;
	struct rxe_send_wqe *w = (void *)(q->data +
		((size_t)prod << q->log2_elem_size));

	memset(w, 0, sizeof(*w));
	w->wr.wr_id = wr_id;
	w->wr.opcode = 0;		/* IB_WR_RDMA_WRITE */
	w->wr.send_flags = 2;		/* signaled */
	w->wr.wr.rdma.remote_addr = IOVA + 0x4010;
	w->wr.wr.rdma.rkey = rkey;
	w->iova = w->wr.wr.rdma.remote_addr;
	w->dma.length = w->dma.resid = 5000;
	w->dma.num_sge = 1;
	w->dma.sge[0].addr = IOVA + 0x10;
	w->dma.sge[0].length = 5000;
	w->dma.sge[0].lkey = lkey;
	__atomic_store_n(&q->producer_index, (prod + 1) & q->index_mask,
			 __ATOMIC_RELEASE);
}

static void kick(uint8_t type, uint32_t handle)
{
	struct xenvhca_kick k = { .type = type, .handle = handle };

	loop_put_kick(loop, &k);
}

static void await_event(void)
{
	struct pollfd p = {
		.fd = loop_notify_fd(loop, BE_PORT_EVT), .events = POLLIN,
	};
	struct xenvhca_event ev;
	uint64_t n;

	while (!loop_get_event(loop, &ev)) {
		if (poll(&p, 1, WAIT_MS) != 1)
			die("no completion event");
		if (read(p.fd, &n, sizeof(n)) < 0)
			die("eventfd");
	}
	if (ev.type != XENVHCA_EVT_COMP || ev.handle != cq)
		die("wrong event");
}

static void check_cqe(uint32_t i, uint64_t wr_id)
{
	const struct ib_uverbs_wc *wc;
	struct rxe_queue_buf *q = cq_ring.q;

	if (q->producer_index != ((i + 1) & q->index_mask))
		die("completion queue is empty");
	wc = (void *)(q->data + ((size_t)i << q->log2_elem_size));
	if (wc->wr_id != wr_id || wc->status || wc->opcode != 1)
		die("completion with error");
	q->consumer_index = (i + 1) & q->index_mask;
}

/* Pages were registered in reverse order: offset in the MR to guest page. */
static uint8_t *mr_byte(uint32_t off)
{
	off += 0x10;
	return (uint8_t *)loop_page(loop, 7 - off / 4096) + off % 4096;
}

static void transfer(struct side *s)
{
	uint32_t i;

	for (i = 0; i < 5000; i++)
		*mr_byte(i) = (uint8_t)(i * 7 + i / 256);
	kick(XENVHCA_KICK_ARM, cq);
	post_write(s, 4711);
	kick(XENVHCA_KICK_SEND, s->handle);
	await_event();
	check_cqe(0, 4711);
	for (i = 0; i < 5000; i++)
		if (*mr_byte(0x4000 + i) != (uint8_t)(i * 7 + i / 256))
			die("data differ");
	kick(XENVHCA_KICK_ARM, cq);
	post_write(s, 4712);
	kick(XENVHCA_KICK_SEND, s->handle);
	await_event();
	check_cqe(1, 4712);
}

static void modify_srq(void)
{
	uint32_t srq;

	req.u.create_srq.pd = pd;
	req.u.create_srq.max_wr = 20;
	req.u.create_srq.max_sge = 1;
	req.out_len = 24;
	cmd(XENVHCA_OP_CREATE_SRQ, "CREATE_SRQ");
	srq = rsp.u.create_srq.handle;
	map(0);
	req.u.modify_srq.handle = srq;
	req.u.modify_srq.mask = 1;
	req.u.modify_srq.max_wr = 200;
	req.in_len = 8;
	req.out_len = 16;
	cmd(XENVHCA_OP_MODIFY_SRQ, "MODIFY_SRQ");
	if (map(0).q->index_mask != 255)
		die("resized SRQ");
	req.u.handle.handle = srq;
	cmd(XENVHCA_OP_DESTROY_SRQ, "DESTROY_SRQ");
}

static void resize_cq(void)
{
	req.u.resize_cq.handle = cq;
	req.u.resize_cq.cqe = 100;
	req.out_len = 16;
	cmd(XENVHCA_OP_RESIZE_CQ, "RESIZE_CQ");
	if (map(0).q->index_mask != 127)
		die("resized CQ");
}

static void setup(const char *hca)
{
	if (be_dev_init(&dev, 1, 0))
		die("be_dev_init");
	snprintf(dev.hca, sizeof(dev.hca), "%s", hca);
	loop = loop_new(PAGES, 2);
	if (!loop)
		die("loop_new");
	dev.t = loop_transport(loop);
	if (be_event_start(&dev) || be_dev_open(&dev)) {
		fprintf(stderr, "SKIP: no usable HCA %s\n", hca);
		exit(77);
	}
	if (be_event_add(&dev, dev.ctl_async_fd, NULL, true) ||
	    be_kick_start(&dev))
		die("threads");
}

static void teardown(void)
{
	be_kick_stop(&dev);
	be_event_stop(&dev);
	be_dev_close(&dev);
	if (loop_mapped(loop) || loop_granted(loop) || loop_errors(loop))
		die("something is left");
	loop_free(loop);
	be_dev_fini(&dev);
}

int main(int argc, char **argv)
{
	struct side a = {}, b = {};

	if (argc > 2)
		sgid_index = (uint8_t)atoi(argv[2]);
	setup(argc > 1 ? argv[1] : "rxe0");
	cmd(XENVHCA_OP_GET_INFO, "GET_INFO");
	printf("hca %s driver %u abi %u vectors %u\n", rsp.u.get_info.hca,
	       rsp.u.get_info.driver_id, rsp.u.get_info.uverbs_abi_ver,
	       rsp.u.get_info.num_comp_vectors);
	cmd(XENVHCA_OP_QUERY_DEVICE, "QUERY_DEVICE");
	cmd(XENVHCA_OP_QUERY_PORT, "QUERY_PORT");
	cmd(XENVHCA_OP_QUERY_PKEY_TABLE, "QUERY_PKEY_TABLE");
	open_all();
	create_qp(&a);
	create_qp(&b);
	connect_qp(&a, &b);
	connect_qp(&b, &a);
	transfer(&a);
	modify_srq();
	resize_cq();
	teardown();
	printf("PASS: RDMA write through the daemon's code\n");
	return 0;
}
