// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes below libibverbs: the write() and the ioctl() ABI of a uverbs file,
 * used well and badly, and mmap of offsets that nobody gave out. What such a
 * file still holds when it is closed, the kernel has to clean up.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "probe.h"
#include "raw.h"

static int raw_context(struct raw *r)
{
	struct ib_uverbs_get_context c = {};

	return raw_cmd(r, IB_USER_VERBS_CMD_GET_CONTEXT, &c, sizeof(c),
		       sizeof(struct ib_uverbs_get_context_resp), RAW_UDATA);
}

static int raw_mr(struct raw *r, uint32_t pd, void *addr, uint64_t len,
		  uint64_t va, uint32_t access)
{
	struct ib_uverbs_reg_mr c = {
		.start = (uintptr_t)addr, .length = len, .hca_va = va,
		.pd_handle = pd, .access_flags = access,
	};
	int err = raw_cmd(r, IB_USER_VERBS_CMD_REG_MR, &c, sizeof(c),
			  sizeof(struct ib_uverbs_reg_mr_resp), RAW_UDATA);

	if (!err)
		r->mr = raw_out(r, 0);
	return err;
}

static int raw_cq(struct raw *r, uint32_t cqe, int32_t channel, size_t udata)
{
	struct ib_uverbs_create_cq c = { .cqe = cqe, .comp_channel = channel };
	int err = raw_cmd(r, IB_USER_VERBS_CMD_CREATE_CQ, &c, sizeof(c),
			  sizeof(struct ib_uverbs_create_cq_resp), udata);

	if (!err)
		r->cq = raw_out(r, 0);
	return err;
}

static int raw_qp(struct raw *r, uint32_t pd, uint32_t cq, uint8_t type)
{
	struct ib_uverbs_create_qp c = {
		.pd_handle = pd, .send_cq_handle = cq, .recv_cq_handle = cq,
		.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
		.max_recv_sge = 1, .qp_type = type,
	};
	int err = raw_cmd(r, IB_USER_VERBS_CMD_CREATE_QP, &c, sizeof(c),
			  sizeof(struct ib_uverbs_create_qp_resp), RAW_UDATA);

	if (!err)
		r->qp = raw_out(r, 0);
	return err;
}

static void write_query(struct raw *r)
{
	struct ib_uverbs_query_device qd = {};
	struct ib_uverbs_query_port qp = { .port_num = VT_PORT };
	struct ib_uverbs_query_device_resp *d = (void *)r->out;
	int err;

	err = raw_cmd(r, IB_USER_VERBS_CMD_QUERY_DEVICE, &qd, sizeof(qd),
		      sizeof(*d), 0);
	prd("write.query_device", err, "max_qp %u max_cqe %u vendor %#x",
	    d->max_qp, d->max_cqe, d->vendor_id);
	err = raw_cmd(r, IB_USER_VERBS_CMD_QUERY_PORT, &qp, sizeof(qp),
		      sizeof(struct ib_uverbs_query_port_resp), 0);
	pr("write.query_port", err);
	qp.port_num = 7;
	pr("write.query_port.7",
	   raw_cmd(r, IB_USER_VERBS_CMD_QUERY_PORT, &qp, sizeof(qp),
		   sizeof(struct ib_uverbs_query_port_resp), 0));
	pr("write.query_device.short_answer",
	   raw_cmd(r, IB_USER_VERBS_CMD_QUERY_DEVICE, &qd, sizeof(qd), 8, 0));
}

static void write_objects(struct raw *r, void *mem)
{
	uint64_t va = (uintptr_t)mem;

	pr("write.alloc_pd", raw_pd(r));
	pr("write.reg_mr", raw_mr(r, r->pd, mem, 4096, va, 1));
	pr("write.reg_mr.bad_pd", raw_mr(r, 9999, mem, 4096, va, 1));
	pr("write.reg_mr.other_va_offset",
	   raw_mr(r, r->pd, mem, 4096, va + 1, 1));
	pr("write.reg_mr.all_access",
	   raw_mr(r, r->pd, mem, 4096, va, 0xffffffff));
	pr("write.reg_mr.huge", raw_mr(r, r->pd, mem, ~0ull, va, 1));
	pr("write.create_cq", raw_cq(r, 16, -1, RAW_UDATA));
	pr("write.create_cq.no_driver_room", raw_cq(r, 16, -1, 0));
	pr("write.create_cq.bad_channel", raw_cq(r, 16, 4711, RAW_UDATA));
	pr("write.create_cq.channel_is_uverbs", raw_cq(r, 16, r->fd, RAW_UDATA));
	pr("write.create_cq.max", raw_cq(r, 0xffffffff, -1, RAW_UDATA));
	pr("write.create_qp", raw_qp(r, r->pd, r->cq, IBV_QPT_RC));
	pr("write.create_qp.gsi", raw_qp(r, r->pd, r->cq, 1));
	pr("write.create_qp.smi", raw_qp(r, r->pd, r->cq, 0));
	pr("write.create_qp.bad_pd", raw_qp(r, 9999, r->cq, IBV_QPT_RC));
	pr("write.create_qp.bad_cq", raw_qp(r, r->pd, 9999, IBV_QPT_RC));
	pr("write.create_qp.cq_is_pd", raw_qp(r, r->pd, r->pd, IBV_QPT_RC));
}

static void write_destroy(struct raw *r)
{
	pr("write.dealloc_pd.busy",
	   raw_handle(r, IB_USER_VERBS_CMD_DEALLOC_PD, r->pd));
	pr("write.destroy_cq.busy",
	   raw_handle(r, IB_USER_VERBS_CMD_DESTROY_CQ, r->cq));
	pr("write.destroy_qp",
	   raw_handle(r, IB_USER_VERBS_CMD_DESTROY_QP, r->qp));
	pr("write.destroy_qp.again",
	   raw_handle(r, IB_USER_VERBS_CMD_DESTROY_QP, r->qp));
	pr("write.destroy_cq",
	   raw_handle(r, IB_USER_VERBS_CMD_DESTROY_CQ, r->cq));
	pr("write.dereg_mr",
	   raw_handle(r, IB_USER_VERBS_CMD_DEREG_MR, r->mr));
	pr("write.dereg_mr.again",
	   raw_handle(r, IB_USER_VERBS_CMD_DEREG_MR, r->mr));
	pr("write.dereg_mr.bad_handle",
	   raw_handle(r, IB_USER_VERBS_CMD_DEREG_MR, 0xffffffff));
	pr("write.dealloc_pd",
	   raw_handle(r, IB_USER_VERBS_CMD_DEALLOC_PD, r->pd));
}

/* Every command number there is, and some more, with nothing behind it. */
static void write_empty(struct raw *r)
{
	struct ib_uverbs_ex_cmd_hdr ex = {};
	uint32_t c;

	for (c = 0; c < 48; c++)
		pr(nm("write.empty.%u", c), raw_cmd(r, c, &ex, 0, 0, 0));
	for (c = 0; c < 72; c++)
		pr(nm("write.empty_ex.%u", c),
		   raw_cmd(r, c | IB_USER_VERBS_CMD_FLAG_EXTENDED, &ex,
			   sizeof(ex), 0, 0));
}

static void write_headers(struct raw *r)
{
	struct ib_uverbs_cmd_hdr h = {
		.command = IB_USER_VERBS_CMD_ALLOC_PD, .in_words = 4,
	};
	uint8_t big[64] = {};

	pr("write.header.1_byte", er(write(r->fd, &h, 1) < 0));
	pr("write.header.only", er(write(r->fd, &h, sizeof(h)) < 0));
	h.in_words = 3;
	memcpy(big, &h, sizeof(h));
	pr("write.header.words_too_few", er(write(r->fd, big, 16) < 0));
	h.in_words = 16000;
	memcpy(big, &h, sizeof(h));
	pr("write.header.words_too_many", er(write(r->fd, big, 16) < 0));
	h.command = 0x40000000;
	h.in_words = 2;
	pr("write.header.bad_flag", er(write(r->fd, &h, sizeof(h)) < 0));
	pr("write.read", er(read(r->fd, big, sizeof(big)) < 0));
}

static void write_ex_query(struct raw *r)
{
	struct {
		struct ib_uverbs_cmd_hdr h;
		struct ib_uverbs_ex_cmd_hdr x;
		struct ib_uverbs_ex_query_device c;
	} m = {
		.h = { .command = IB_USER_VERBS_EX_CMD_QUERY_DEVICE |
				  IB_USER_VERBS_CMD_FLAG_EXTENDED,
		       .in_words = 1, .out_words = 24 },
		.x = { .response = (uintptr_t)r->out },
	};
	struct ib_uverbs_ex_query_device_resp *d = (void *)r->out;
	ssize_t n;

	memset(r->out, 0, sizeof(r->out));
	n = write(r->fd, &m, sizeof(m));
	prd("write.ex_query_device", er(n < 0), "max_qp %u comp_mask %#x",
	    d->base.max_qp, d->comp_mask);
	m.x.cmd_hdr_reserved = 1;
	n = write(r->fd, &m, sizeof(m));
	pr("write.ex_query_device.reserved", er(n < 0));
	m.x.cmd_hdr_reserved = 0;
	m.x.response = 0x10;
	n = write(r->fd, &m, sizeof(m));
	pr("write.ex_query_device.bad_answer", er(n < 0));
}

void probe_write_abi(struct probe *p)
{
	struct raw r = { .fd = raw_open(p->ctx->device->dev_name) };
	void *mem = aligned_alloc(4096, 8192);
	int i;

	pr("write.open", er(r.fd < 0));
	if (r.fd < 0 || !mem)
		return;
	memset(mem, 0, 8192);
	pr("write.alloc_pd.no_context", raw_pd(&r));
	pr("write.get_context", raw_context(&r));
	prd("write.get_context.vectors", 0, "%u", raw_out(&r, 1));
	pr("write.get_context.twice", raw_context(&r));
	write_query(&r);
	write_ex_query(&r);
	write_objects(&r, mem);
	write_destroy(&r);
	write_headers(&r);
	write_empty(&r);
	pr("write.still_works", raw_pd(&r));
	for (i = 0; i < 20; i++)
		raw_mr(&r, r.pd, mem, 8192, (uintptr_t)mem, 1);
	raw_cq(&r, 16, -1, RAW_UDATA);
	raw_qp(&r, r.pd, r.cq, IBV_QPT_RC);
	pr("write.close_with_objects", er(close(r.fd)));
	free(mem);
}

#define DRIVERS		64	/* numbers that are looked for */
#define MLX4_ANSWER	16	/* octets, and half of that with an older ABI */

struct ioctl_msg {
	struct ib_uverbs_ioctl_hdr h;
	struct ib_uverbs_attr a[4];
};

static int raw_ioctl(int fd, struct ioctl_msg *m, uint16_t object,
		     uint16_t method, int attrs, uint32_t driver)
{
	m->h.length = sizeof(m->h) + attrs * sizeof(m->a[0]);
	m->h.object_id = object;
	m->h.method_id = method;
	m->h.num_attrs = attrs;
	m->h.driver_id = driver;
	return er(ioctl(fd, RDMA_VERBS_IOCTL, m));
}

static int ioctl_port(int fd, uint32_t driver, uint8_t port)
{
	struct ib_uverbs_query_port_resp_ex resp = {};
	struct ioctl_msg m = {};

	m.a[0].attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM;
	m.a[0].len = 8;
	m.a[0].flags = UVERBS_ATTR_F_MANDATORY;
	m.a[0].data = port;
	m.a[1].attr_id = UVERBS_ATTR_QUERY_PORT_RESP;
	m.a[1].len = sizeof(resp);
	m.a[1].flags = UVERBS_ATTR_F_MANDATORY;
	m.a[1].data = (uintptr_t)&resp;
	return raw_ioctl(fd, &m, UVERBS_OBJECT_DEVICE,
			 UVERBS_METHOD_QUERY_PORT, 2, driver);
}

/* With room for @room octets of the driver's answer. */
static int ioctl_context(int fd, uint32_t driver, uint16_t room)
{
	struct ioctl_msg m = {};
	uint8_t answer[MLX4_ANSWER];
	uint32_t vectors = 0;

	m.a[0].attr_id = UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS;
	m.a[0].len = sizeof(vectors);
	m.a[0].flags = UVERBS_ATTR_F_MANDATORY;
	m.a[0].data = (uintptr_t)&vectors;
	m.a[1].attr_id = UVERBS_ATTR_UHW_OUT;
	m.a[1].len = room;
	m.a[1].data = (uintptr_t)answer;
	return raw_ioctl(fd, &m, UVERBS_OBJECT_DEVICE,
			 UVERBS_METHOD_GET_CONTEXT, room ? 2 : 1, driver);
}

/* The driver that opens a context; an mlx4's writes its answer, of either ABI. */
static uint32_t ioctl_driver(int fd, uint16_t *room)
{
	static const uint16_t rooms[] = { MLX4_ANSWER, MLX4_ANSWER / 2, 0 };
	uint32_t driver;
	size_t i;

	for (driver = 0; driver < DRIVERS; driver++)
		for (i = 0; i < VT_ARRAY_SIZE(rooms); i++) {
			*room = rooms[i];
			if (ioctl_context(fd, driver, *room) != EINVAL)
				return driver;
		}
	return driver;
}

/* Handles of every object type that this device has a destroy method for. */
static void ioctl_destroy(int fd, uint32_t driver)
{
	uint32_t o;

	for (o = 0; o < 20; o++) {
		struct ioctl_msg m = {};

		m.a[0].flags = UVERBS_ATTR_F_MANDATORY;
		m.a[0].data = 0x7fffffff;
		pr(nm("ioctl.object_%u.method_1", o),
		   raw_ioctl(fd, &m, o, 1, 1, driver));
	}
}

void probe_ioctl_abi(struct probe *p)
{
	struct ioctl_msg m = {};
	int fd = raw_open(p->ctx->device->dev_name);
	uint32_t driver;
	uint16_t room;

	pr("ioctl.open", er(fd < 0));
	if (fd < 0)
		return;
	driver = ioctl_driver(fd, &room);
	prd("ioctl.driver_id", driver < DRIVERS ? 0 : ENOENT, "%u", driver);
	pr("ioctl.get_context.twice", ioctl_context(fd, driver, room));
	pr("ioctl.query_port", ioctl_port(fd, driver, VT_PORT));
	pr("ioctl.query_port.9", ioctl_port(fd, driver, 9));
	pr("ioctl.query_port.other_driver",
	   ioctl_port(fd, driver + 1, VT_PORT));
	pr("ioctl.no_object", raw_ioctl(fd, &m, 4000, 0, 0, driver));
	pr("ioctl.no_method", raw_ioctl(fd, &m, UVERBS_OBJECT_PD, 99, 0,
					driver));
	pr("ioctl.missing_attrs", raw_ioctl(fd, &m, UVERBS_OBJECT_MR,
					    UVERBS_METHOD_ADVISE_MR, 0,
					    driver));
	m.h.reserved1 = 1;
	pr("ioctl.reserved", raw_ioctl(fd, &m, UVERBS_OBJECT_PD, 0, 0,
				       driver));
	m.h.reserved1 = 0;
	m.h.length = 8;
	pr("ioctl.short", er(ioctl(fd, RDMA_VERBS_IOCTL, &m)));
	pr("ioctl.other_number", er(ioctl(fd, 0x1234, &m)));
	ioctl_destroy(fd, driver);
	pr("ioctl.close", er(close(fd)));
}

static void show_mmap(const char *name, int fd, size_t len, int prot,
		      int flags, off_t off)
{
	void *m = mmap(NULL, len, prot, flags, fd, off);

	pr(name, er(m == MAP_FAILED));
	if (m != MAP_FAILED)
		munmap(m, len);
}

/* Offsets 0..63 pages and some high ones; then the ring of a real CQ. */
void probe_mmap(struct probe *p)
{
	struct raw r = { .fd = raw_open(p->ctx->device->dev_name) };
	uint64_t off;
	int i, mapped = 0;

	pr("mmap.setup", r.fd < 0 ? er(-1) : raw_context(&r));
	if (r.fd < 0)
		return;
	for (i = 0; i < 64; i++) {
		void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			       r.fd, i * 4096l);

		if (m != MAP_FAILED) {
			mapped++;
			munmap(m, 4096);
		}
	}
	prd("mmap.guesses", 0, "%d of 64 mapped", mapped);
	show_mmap("mmap.high", r.fd, 4096, PROT_READ, MAP_SHARED, 1l << 40);
	show_mmap("mmap.large", r.fd, 1 << 30, PROT_READ, MAP_SHARED, 0);
	pr("mmap.create_cq", raw_cq(&r, 16, -1, RAW_UDATA));
	/* For a driver with a ring in its answer: after the core's 8 bytes. */
	off = r.out[sizeof(struct ib_uverbs_create_cq_resp) / 8];
	show_mmap("mmap.ring_too_long", r.fd, 1 << 20, PROT_READ | PROT_WRITE,
		  MAP_SHARED, off);
	show_mmap("mmap.ring", r.fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
		  off);
	show_mmap("mmap.ring_again", r.fd, 4096, PROT_READ | PROT_WRITE,
		  MAP_SHARED, off);
	show_mmap("mmap.after_destroy",
		  raw_handle(&r, IB_USER_VERBS_CMD_DESTROY_CQ, r.cq) ? -1 :
		  r.fd, 4096, PROT_READ, MAP_SHARED, off);
	pr("mmap.close", er(close(r.fd)));
}
