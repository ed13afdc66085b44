// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes of memory regions and memory windows: every access flag, sizes and
 * alignments, memory that cannot be registered, data of memory that cannot be
 * written to, keys, what keeps them busy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe.h"

#define RW (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	    IBV_ACCESS_REMOTE_READ)
#define MAX_LEN (64u << 20)

static const struct {
	const char *name;
	int access;
} flags[] = {
	{ "none", 0 },
	{ "local_write", IBV_ACCESS_LOCAL_WRITE },
	{ "remote_write", IBV_ACCESS_REMOTE_WRITE },
	{ "local_remote_write", IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE },
	{ "remote_read", IBV_ACCESS_REMOTE_READ },
	{ "remote_atomic", IBV_ACCESS_REMOTE_ATOMIC },
	{ "local_remote_atomic", IBV_ACCESS_LOCAL_WRITE |
				 IBV_ACCESS_REMOTE_ATOMIC },
	{ "mw_bind", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND },
	{ "zero_based", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED },
	{ "on_demand", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND },
	{ "hugetlb", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB },
	{ "relaxed_ordering", IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_RELAXED_ORDERING },
	{ "bit_8", IBV_ACCESS_LOCAL_WRITE | 1 << 8 },
	{ "bit_19", IBV_ACCESS_LOCAL_WRITE | 1 << 19 },
	{ "bit_29", IBV_ACCESS_LOCAL_WRITE | 1 << 29 },
};

static const struct {
	const char *name;
	size_t off, len;
} sizes[] = {
	{ "0", 0, 0 }, { "1", 0, 1 }, { "1_unaligned", 7, 1 },
	{ "page_cross", 4095, 2 }, { "4095", 0, 4095 }, { "4k", 0, 4096 },
	{ "4k_unaligned", 1, 4096 }, { "64k", 0, 65536 },
	{ "1m", 0, 1 << 20 }, { "1m_unaligned", 12345, 1 << 20 },
	{ "64m", 0, MAX_LEN },
};

static void show_mr(const char *name, struct ibv_mr *mr)
{
	int err = ep(mr);

	prd(name, err, "%s%s", !mr ? "" : mr->rkey ? "rkey set" : "rkey zero",
	    mr && mr->rkey == mr->lkey ? ", equal to lkey" : "");
	if (!mr)
		return;
	err = ibv_dereg_mr(mr);
	if (err)
		pr(nm("%s.dereg", name), err);
}

static void probe_where(struct probe *p, uint8_t *mem)
{
	void *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	void *none = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void *sh = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	void *file = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	show_mr("reg_mr.read_only", ibv_reg_mr(p->pd, ro, 8192, 0));
	show_mr("reg_mr.read_only_writable",
		ibv_reg_mr(p->pd, ro, 8192, IBV_ACCESS_LOCAL_WRITE));
	show_mr("reg_mr.no_access", ibv_reg_mr(p->pd, none, 8192, 0));
	show_mr("reg_mr.shared", ibv_reg_mr(p->pd, sh, 8192, RW));
	show_mr("reg_mr.file_read_only", ibv_reg_mr(p->pd, file, 4096, 0));
	show_mr("reg_mr.null", ibv_reg_mr(p->pd, NULL, 4096, RW));
	munmap(none, 8192);
	show_mr("reg_mr.unmapped", ibv_reg_mr(p->pd, none, 8192, RW));
	show_mr("reg_mr.kernel_address",
		ibv_reg_mr(p->pd, (void *)0xffff888000000000ul, 4096, RW));
	show_mr("reg_mr.wraps", ibv_reg_mr(p->pd, mem, ~(size_t)0 - 100, RW));
	show_mr("reg_mr.huge", ibv_reg_mr(p->pd, mem, 1ul << 46, RW));
	show_mr("reg_mr.past_mapping",
		ibv_reg_mr(p->pd, mem, (size_t)MAX_LEN * 4096, RW));
	munmap(ro, 8192);
	munmap(sh, 8192);
	munmap(file, 4096);
	close(fd);
}

static void probe_iova(struct probe *p, uint8_t *mem)
{
	show_mr("reg_mr_iova.same",
		ibv_reg_mr_iova(p->pd, mem, 4096, (uintptr_t)mem, RW));
	show_mr("reg_mr_iova.zero", ibv_reg_mr_iova(p->pd, mem, 4096, 0, RW));
	show_mr("reg_mr_iova.high", ibv_reg_mr_iova(p->pd, mem, 4096,
						    1ull << 60, RW));
	show_mr("reg_mr_iova.other_offset",
		ibv_reg_mr_iova(p->pd, mem, 4096, 0x1001, RW));
	show_mr("reg_mr_iova.same_offset",
		ibv_reg_mr_iova(p->pd, mem + 5, 4096, 0x1005, RW));
	show_mr("reg_dmabuf_mr.bad_fd",
		ibv_reg_dmabuf_mr(p->pd, 0, 4096, 0, -1, RW));
	show_mr("alloc_null_mr", ibv_alloc_null_mr(p->pd));
	show_mr("import_mr", ibv_import_mr(p->pd, 0));
}

static void probe_rereg_read_only(struct probe *p)
{
	uint8_t *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(p->pd, ro, 4096, 0);

	if (mr) {
		pr("rereg_mr.read_only",
		   er(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				   ro + 4096, 4096, 0)));
		ibv_dereg_mr(mr);
	}
	munmap(ro, 8192);
}

static void probe_rereg_write(struct probe *p, uint8_t *mem)
{
	struct ibv_mr *mr = ibv_reg_mr(p->pd, mem, 4096,
				       IBV_ACCESS_REMOTE_READ);

	if (!mr) {
		pr("rereg_mr.write", ep(mr));
		return;
	}
	pr("rereg_mr.write",
	   er(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RW)));
	pr("rereg_mr.write.dereg", ibv_dereg_mr(mr));
}

static void probe_rereg(struct probe *p, uint8_t *mem)
{
	struct ibv_mr *mr = ibv_reg_mr(p->pd, mem, 4096, RW);
	struct ibv_pd *pd = ibv_alloc_pd(p->ctx);

	if (!mr || !pd) {
		pr("rereg_mr.setup", ep(mr) ? ep(mr) : ep(pd));
		return;
	}
	pr("rereg_mr.translation",
	   er(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   mem + 8192, 8192, 0)));
	pr("rereg_mr.access",
	   er(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   IBV_ACCESS_LOCAL_WRITE)));
	pr("rereg_mr.pd",
	   er(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0)));
	pr("rereg_mr.no_flags", er(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0)));
	pr("rereg_mr.bad_flags", er(ibv_rereg_mr(mr, 64, NULL, NULL, 0, 0)));
	pr("rereg_mr.unmapped",
	   er(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   (void *)0x1000, 4096, 0)));
	pr("rereg_mr.dereg", ibv_dereg_mr(mr));
	probe_rereg_read_only(p);
	probe_rereg_write(p, mem);
	ibv_dealloc_pd(pd);
}

static void probe_advise(struct probe *p, uint8_t *mem)
{
	struct ibv_mr *mr = ibv_reg_mr(p->pd, mem, 4096, RW);
	struct ibv_sge sge = { (uintptr_t)mem, 4096, mr ? mr->lkey : 0 };

	pr("advise_mr.prefetch",
	   ibv_advise_mr(p->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
	if (mr)
		ibv_dereg_mr(mr);
}

static void probe_many(struct probe *p, uint8_t *mem)
{
	struct ibv_mr *mr[256];
	int i, n, err = 0;

	for (n = 0; n < 256; n++) {
		mr[n] = ibv_reg_mr(p->pd, mem + n * 4096, 8192, RW);
		if (!mr[n])
			break;
	}
	prd("reg_mr.many", n < 256 ? er(-1) : 0, "%d", n);
	for (i = 0; i < n; i++)
		err = err ? err : ibv_dereg_mr(mr[i]);
	pr("dereg_mr.many", err);
}

static void ro_same(const char *name, int err, struct lo *l,
		    const uint8_t *got, const struct ibv_mr *ro, int want)
{
	const char *st = err ? "not posted" : lo_status(l, want, 2000);

	prd(name, err, "%s, data %s", st,
	    memcmp(got, ro->addr, 4096) ? "differs" : "same");
	memset(l->buf, 0, LO_LEN);
}

/* Between the buffer and the region, whose side @op reads. */
static int ro_rdma(struct lo *l, const struct ibv_mr *ro, enum ibv_wr_opcode op)
{
	bool read = op == IBV_WR_RDMA_READ;
	struct ibv_sge sge = {
		(uintptr_t)(read ? l->buf : ro->addr), 4096,
		read ? l->mr->lkey : ro->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)(read ? ro->addr : l->buf),
			.rkey = read ? ro->rkey : l->mr->rkey,
		},
	}, *bad;

	return ibv_post_send(l->qp, &wr, &bad);
}

static int ro_recv(struct lo *l, const struct ibv_mr *ro)
{
	struct ibv_sge sge = { (uintptr_t)ro->addr, 4096, ro->lkey };
	struct ibv_recv_wr wr = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1,
	}, *bad;

	return ibv_post_recv(l->qp, &wr, &bad);
}

/* What is read arrives; what would be written is refused, by the HCA. */
static void ro_run(struct lo *l, const struct ibv_mr *ro)
{
	const char *st, *recv;
	int err = lo_recv(l, 4096);

	if (!err)
		err = ro_rdma(l, ro, IBV_WR_SEND);
	ro_same("read_only.send", err, l, l->buf + LO_LEN / 2, ro, 2);
	err = ro_rdma(l, ro, IBV_WR_RDMA_WRITE);
	ro_same("read_only.rdma_write", err, l, l->buf, ro, 1);
	err = ro_rdma(l, ro, IBV_WR_RDMA_READ);
	ro_same("read_only.rdma_read", err, l, l->buf, ro, 1);
	err = ro_recv(l, ro);
	if (!err)
		err = lo_send(l, 4096, 0);
	st = err ? "not posted" : lo_status(l, 2, 2000);
	recv = strstr(st, "recv=");
	/* One QP is both ends: its error ends the send as flushed, or its NAK does. */
	prd("read_only.recv", err, "send %s, %s",
	    strstr(st, "send=success") ? "succeeds" : "fails", recv ? recv : st);
}

/* Memory with contents that the process itself cannot write to: its program. */
static void probe_read_only(struct probe *p)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *mem = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct ibv_mr *ro = ibv_reg_mr(p->pd, mem, 4096,
				       IBV_ACCESS_REMOTE_READ);
	struct lo l = {};
	int err = ep(ro);

	pr("read_only.reg_mr", err);
	if (!err) {
		err = lo_open(&l, p, IBV_QPT_RC);
		pr("read_only.setup", err);
		if (!err)
			ro_run(&l, ro);
		lo_close(&l);
		pr("read_only.dereg_mr", ibv_dereg_mr(ro));
	}
	munmap(mem, 4096);
	close(fd);
}

void probe_mr(struct probe *p)
{
	uint8_t *mem = mmap(NULL, MAX_LEN + (1 << 20), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	if (mem == MAP_FAILED) {
		pr("reg_mr.setup", ENOMEM);
		return;
	}
	for (i = 0; i < VT_ARRAY_SIZE(flags); i++)
		show_mr(nm("reg_mr.access.%s", flags[i].name),
			ibv_reg_mr(p->pd, mem, 4096, flags[i].access));
	for (i = 0; i < VT_ARRAY_SIZE(sizes); i++)
		show_mr(nm("reg_mr.size.%s", sizes[i].name),
			ibv_reg_mr(p->pd, mem + sizes[i].off, sizes[i].len,
				   RW));
	probe_where(p, mem);
	probe_iova(p, mem);
	probe_read_only(p);
	probe_rereg(p, mem);
	probe_advise(p, mem);
	probe_many(p, mem);
	munmap(mem, MAX_LEN + (1 << 20));
}

static int post_wr(struct lo *l, struct ibv_send_wr *wr, const char **status)
{
	struct ibv_send_wr *bad;
	int err;

	wr->send_flags |= IBV_SEND_SIGNALED;
	wr->wr_id = 1;
	err = ibv_post_send(l->qp, wr, &bad);
	*status = err ? "not posted" : lo_status(l, 1, 2000);
	return err;
}

static int bind2(struct lo *l, struct ibv_mw *mw, uint64_t len,
		 unsigned int access, const char **status)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw, .rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = { .mr = l->mr,
				       .addr = (uintptr_t)l->buf,
				       .length = len,
				       .mw_access_flags = access },
		},
	};
	int err = post_wr(l, &wr, status);

	if (!err && !strcmp(*status, "send=success"))
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

static int invalidate(struct lo *l, uint32_t rkey, const char **status)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey,
	};

	return post_wr(l, &wr, status);
}

/* Some HCAs let a bound region go: what follows has one that is there. */
static void dereg_bound(struct probe *p, struct lo *l, const char *name)
{
	int err = ibv_dereg_mr(l->mr);

	pr(name, err);
	if (!err)
		lo_reg(l, p);
}

static void probe_type2(struct probe *p, struct lo *l)
{
	struct ibv_mw *mw = ibv_alloc_mw(p->pd, IBV_MW_TYPE_2);
	const char *st;
	int err;

	prd("alloc_mw.type2", ep(mw), "rkey %s", mw && mw->rkey ? "set" : "-");
	if (!mw)
		return;
	err = bind2(l, mw, 1024, IBV_ACCESS_REMOTE_WRITE, &st);
	prd("bind_mw.type2", err, "%s", st);
	dereg_bound(p, l, "dereg_mr.bound_mw");
	pr("dealloc_pd.bound_mw", ibv_dealloc_pd(p->pd));
	err = invalidate(l, mw->rkey, &st);
	prd("local_inv.type2", err, "%s", st);
	err = bind2(l, mw, 1024, IBV_ACCESS_REMOTE_READ, &st);
	prd("bind_mw.type2_again", err, "%s", st);
	pr("dealloc_mw.bound", ibv_dealloc_mw(mw));
}

/* Each of these breaks the QP: a fresh one for each. */
static void probe_bad_binds(struct probe *p)
{
	static const struct {
		const char *name;
		uint64_t len;
		unsigned int access;
	} bad[] = {
		{ "zero_length", 0, IBV_ACCESS_REMOTE_WRITE },
		{ "past_mr", LO_LEN + 1, IBV_ACCESS_REMOTE_WRITE },
		{ "local_access", 64, IBV_ACCESS_LOCAL_WRITE },
	};
	const char *st;
	struct ibv_mw *mw;
	size_t i;
	int err;

	for (i = 0; i < VT_ARRAY_SIZE(bad); i++) {
		struct lo l = {};

		err = lo_open(&l, p, IBV_QPT_RC);
		mw = ibv_alloc_mw(p->pd, IBV_MW_TYPE_2);
		st = "no setup";
		if (!err && mw)
			err = bind2(&l, mw, bad[i].len, bad[i].access, &st);
		prd(nm("bind_mw.bad.%s", bad[i].name), err, "%s", st);
		if (mw)
			ibv_dealloc_mw(mw);
		lo_close(&l);
	}
}

static void probe_type1(struct probe *p, struct lo *l)
{
	struct ibv_mw *mw = ibv_alloc_mw(p->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind b = {
		.wr_id = 1, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = l->mr, .addr = (uintptr_t)l->buf,
			       .length = 512,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};
	int err;

	prd("alloc_mw.type1", ep(mw), "rkey %s", mw && mw->rkey ? "set" : "-");
	if (!mw)
		return;
	err = ibv_bind_mw(l->qp, mw, &b);
	prd("bind_mw.type1", err, "%s", err ? "" : lo_status(l, 1, 2000));
	dereg_bound(p, l, "dereg_mr.bound_mw1");
	b.bind_info.mr = l->mr;
	b.bind_info.length = 0;
	err = ibv_bind_mw(l->qp, mw, &b);
	prd("bind_mw.type1_zero", err, "%s", err ? "" : lo_status(l, 1, 2000));
	b.bind_info.length = 64;
	b.bind_info.mw_access_flags = IBV_ACCESS_LOCAL_WRITE;
	err = ibv_bind_mw(l->qp, mw, &b);
	prd("bind_mw.type1_bad_access", err, "%s",
	    err ? "" : lo_status(l, 1, 2000));
	pr("dealloc_mw.type1", ibv_dealloc_mw(mw));
}

void probe_mw(struct probe *p)
{
	struct lo l = {};
	struct ibv_mw *mw;
	int err = lo_open(&l, p, IBV_QPT_RC);

	pr("mw.setup", err);
	if (!err) {
		probe_type1(p, &l);
		probe_type2(p, &l);
		mw = ibv_alloc_mw(p->pd, 3);
		pr("alloc_mw.type3", ep(mw));
		mw = ibv_alloc_mw(p->pd, 0);
		pr("alloc_mw.type0", ep(mw));
	}
	lo_close(&l);
	probe_bad_binds(p);
}
