// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-twice: every verb twice at once on one object. Libraries take locks where the
 * kernel must not rely on them, so the commands are written to the device, and each
 * end is one by ioctl, too: two threads, one barrier, the same handle. One of two that
 * destroy must fail, and nothing else has to be right, but that the kernel lives: who
 * started this program looks after that.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/rdma_user_rxe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vt.h"

#define PAGE	4096u
#define BUF	(64u << 10)
#define TIMES	8	/* of an operation, in each thread */

struct twice {
	struct vt_dev dev;
	bool rxe;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *mr2;
	struct ibv_ah *ah;
	struct ibv_pd *pd;	/* that nothing is in, but windows */
	struct ibv_mw *mw;	/* NULL: the HCA has none for this guest */
	bool xrc;		/* there is a domain, of this number: */
	uint32_t xrcd;
	int file;		/* that names an XRC domain */
	uint8_t *mem;
	uint64_t offset;	/* of memory that nobody has mapped */
	union ibv_gid group;
	pthread_barrier_t start;
	int (*verb)(struct twice *t, int who);
	int result[2];		/* of the last time */
};

/* ---- commands by hand ---- */

/* A command without its header in @cmd; 0 or errno. */
static int command(struct twice *t, uint32_t number, const void *cmd,
		   size_t len, void *rsp, size_t rsp_len)
{
	_Alignas(8) uint8_t msg[512];
	struct ib_uverbs_cmd_hdr hdr = {
		number, (sizeof(hdr) + len) / 4, rsp_len / 4,
	};
	uint64_t where = (uintptr_t)rsp;

	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), cmd, len);
	/* Where there is an answer, its address comes first. */
	if (rsp)
		memcpy(msg + sizeof(hdr), &where, sizeof(where));
	return write(t->dev.ctx->cmd_fd, msg, sizeof(hdr) + len) < 0 ? errno :
	       0;
}

/* Destroys by ioctl: the handle is attribute 0, the answer 1, if there is one. */
static int destroy(struct twice *t, uint16_t object, uint16_t method,
		   uint32_t handle, bool answers)
{
	uint64_t answer[4];
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} c = {
		.hdr = {
			.length = sizeof(c.hdr) +
				  (1 + answers) * sizeof(c.attr[0]),
			.object_id = object,
			.method_id = method, .num_attrs = 1 + answers,
			.driver_id = t->rxe ? RDMA_DRIVER_RXE :
					      RDMA_DRIVER_MLX5,
		},
		.attr = {
			{ .attr_id = 0, .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = handle },
			{ .attr_id = 1, .len = 4, .data = (uintptr_t)answer },
		},
	};

	return ioctl(t->dev.ctx->cmd_fd, RDMA_VERBS_IOCTL, &c) ? errno : 0;
}

/* ---- verbs ---- */

static int resize_cq(struct twice *t, int who)
{
	struct {
		struct ib_uverbs_resize_cq c;
		struct mlx5_ib_resize_cq udata;
	} cmd = {
		.c = { .cq_handle = t->cq->handle, .cqe = 63 + 64 * who },
		.udata = { .buf_addr = (uintptr_t)t->mem + who * BUF / 2,
			   .cqe_size = 64 },
	};
	uint64_t rsp[8];

	return command(t, IB_USER_VERBS_CMD_RESIZE_CQ, &cmd,
		       t->rxe ? sizeof(cmd.c) : sizeof(cmd), rsp, sizeof(rsp));
}

/* An extended command, of which there is one: its length is in units of 8. */
static int modify_cq(struct twice *t, int who)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_modify_cq c;
	} cmd = {
		.hdr = { IB_USER_VERBS_EX_CMD_MODIFY_CQ |
			 IB_USER_VERBS_CMD_FLAG_EXTENDED,
			 sizeof(cmd.c) / 8, 0 },
		.c = { .cq_handle = t->cq->handle,
		       .attr_mask = IBV_CQ_ATTR_MODERATE,
		       .attr = { 8 + who, 16 + who } },
	};

	return write(t->dev.ctx->cmd_fd, &cmd, sizeof(cmd)) < 0 ? errno : 0;
}

static int query_srq(struct twice *t, int who)
{
	struct ibv_srq_attr a;

	(void)who;
	return ibv_query_srq(t->srq, &a);
}

static int modify_srq(struct twice *t, int who)
{
	uint64_t info[8];
	struct {
		struct ib_uverbs_modify_srq c;
		uint64_t udata;
	} cmd = {
		.c = { .srq_handle = t->srq->handle,
		       .attr_mask = t->rxe ? IBV_SRQ_MAX_WR : IBV_SRQ_LIMIT,
		       .max_wr = 15 + 16 * who, .srq_limit = 1 + who },
		.udata = (uintptr_t)info,
	};

	return command(t, IB_USER_VERBS_CMD_MODIFY_SRQ, &cmd,
		       t->rxe ? sizeof(cmd) : sizeof(cmd.c), NULL, 0);
}

static int modify_qp(struct twice *t, int who)
{
	struct ibv_qp_attr a = {
		.qp_state = who ? IBV_QPS_INIT : IBV_QPS_RESET,
		.port_num = VT_PORT,
	};

	return ibv_modify_qp(t->qp, &a, IBV_QP_STATE | (who ?
			     IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS : 0));
}

static int query_qp(struct twice *t, int who)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	(void)who;
	return ibv_query_qp(t->qp, &a, IBV_QP_STATE | IBV_QP_CAP, &init);
}

static int rereg(struct twice *t, const struct ibv_mr *mr, int who)
{
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = mr->handle, .flags = IBV_REREG_MR_CHANGE_ACCESS |
			IBV_REREG_MR_CHANGE_TRANSLATION,
		.start = (uintptr_t)t->mem + who * PAGE, .length = PAGE,
		.hca_va = (uintptr_t)t->mem + who * PAGE,
		.pd_handle = t->dev.pd->handle,
		.access_flags = IBV_ACCESS_LOCAL_WRITE,
	};
	struct ib_uverbs_rereg_mr_resp rsp;

	return command(t, IB_USER_VERBS_CMD_REREG_MR, &cmd, sizeof(cmd), &rsp,
		       sizeof(rsp));
}

static int rereg_mr(struct twice *t, int who)
{
	return rereg(t, t->mr, who);
}

static int notify(struct twice *t, int who)
{
	struct ib_uverbs_req_notify_cq cmd = {
		.cq_handle = t->cq->handle, .solicited_only = who,
	};

	return command(t, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, &cmd, sizeof(cmd),
		       NULL, 0);
}

static int post_send(struct twice *t, int who)
{
	struct ib_uverbs_post_send_resp rsp;
	struct ib_uverbs_post_send cmd = {
		.qp_handle = t->qp->handle,
		.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};

	(void)who;
	return command(t, IB_USER_VERBS_CMD_POST_SEND, &cmd, sizeof(cmd), &rsp,
		       sizeof(rsp));
}

static int mcast(struct twice *t, int who)
{
	return who ? ibv_detach_mcast(t->qp, &t->group, 0) :
		     ibv_attach_mcast(t->qp, &t->group, 0);
}

/* A file names one domain: the second to open it shares that of the first. -1: none. */
static int open_xrcd(struct twice *t, int file, uint32_t *handle)
{
	struct ib_uverbs_open_xrcd cmd = { .fd = file, .oflags = O_CREAT };
	struct ib_uverbs_open_xrcd_resp rsp = { };
	int err = command(t, IB_USER_VERBS_CMD_OPEN_XRCD, &cmd, sizeof(cmd),
			  &rsp, sizeof(rsp));

	*handle = rsp.xrcd_handle;
	return err;
}

static int xrcd(struct twice *t, int who)
{
	uint32_t handle;
	int err = open_xrcd(t, t->file, &handle);

	(void)who;
	return err ? err : command(t, IB_USER_VERBS_CMD_CLOSE_XRCD, &handle,
				   sizeof(handle), NULL, 0);
}

static int window(struct twice *t, int who)
{
	struct ibv_mw *mw = ibv_alloc_mw(t->pd, who ? IBV_MW_TYPE_2 :
					 IBV_MW_TYPE_1);

	return mw ? ibv_dealloc_mw(mw) : errno;
}

static int objects(struct twice *t, int who)
{
	struct ibv_cq *cq = ibv_create_cq(t->dev.ctx, 10, NULL, NULL, 0);
	struct ibv_mr *mr = ibv_reg_mr(t->dev.pd, t->mem + who * PAGE, PAGE,
				       IBV_ACCESS_LOCAL_WRITE);

	return (cq ? ibv_destroy_cq(cq) : errno) ||
	       (mr ? ibv_dereg_mr(mr) : errno);
}

/* A queue of a CQ that a driver has can be mapped once, a doorbell page again. */
static int map(struct twice *t, int who)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       t->dev.ctx->cmd_fd, (off_t)t->offset);

	(void)who;
	if (p == MAP_FAILED)
		return errno;
	munmap(p, PAGE);
	return 0;
}

/* ---- the end of an object: one by a command, one by an ioctl ---- */

/* Of QP, SRQ and CQ: the commands have one form, handle and answer in their places. */
static int end(struct twice *t, int who, uint32_t number, uint16_t object,
	       uint16_t method, uint32_t handle, size_t answer)
{
	struct ib_uverbs_destroy_qp cmd = { .qp_handle = handle };
	uint64_t rsp;

	return who ? destroy(t, object, method, handle, true) :
	       command(t, number, &cmd, sizeof(cmd), &rsp, answer);
}

/* Of the others: a handle is all that the command has. */
static int end_short(struct twice *t, int who, uint32_t number,
		     uint16_t object, uint16_t method, uint32_t handle)
{
	return who ? destroy(t, object, method, handle, false) :
	       command(t, number, &handle, sizeof(handle), NULL, 0);
}

static int destroy_qp(struct twice *t, int who)
{
	return end(t, who, IB_USER_VERBS_CMD_DESTROY_QP, UVERBS_OBJECT_QP,
		   UVERBS_METHOD_QP_DESTROY, t->qp->handle,
		   sizeof(struct ib_uverbs_destroy_qp_resp));
}

static int destroy_srq(struct twice *t, int who)
{
	return end(t, who, IB_USER_VERBS_CMD_DESTROY_SRQ, UVERBS_OBJECT_SRQ,
		   UVERBS_METHOD_SRQ_DESTROY, t->srq->handle,
		   sizeof(struct ib_uverbs_destroy_srq_resp));
}

static int destroy_cq(struct twice *t, int who)
{
	return end(t, who, IB_USER_VERBS_CMD_DESTROY_CQ, UVERBS_OBJECT_CQ,
		   UVERBS_METHOD_CQ_DESTROY, t->cq->handle,
		   sizeof(struct ib_uverbs_destroy_cq_resp));
}

static int dereg_mr(struct twice *t, int who)
{
	return end_short(t, who, IB_USER_VERBS_CMD_DEREG_MR, UVERBS_OBJECT_MR,
			 UVERBS_METHOD_MR_DESTROY, t->mr->handle);
}

/* Both may succeed, one after the other. */
static int rereg_dereg(struct twice *t, int who)
{
	return who ? end_short(t, 0, IB_USER_VERBS_CMD_DEREG_MR, 0, 0,
			       t->mr2->handle) : rereg(t, t->mr2, who);
}

static int destroy_ah(struct twice *t, int who)
{
	return end_short(t, who, IB_USER_VERBS_CMD_DESTROY_AH,
			 UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY,
			 t->ah->handle);
}

static int dealloc_pd(struct twice *t, int who)
{
	return end_short(t, who, IB_USER_VERBS_CMD_DEALLOC_PD,
			 UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
			 t->pd->handle);
}

static int dealloc_mw(struct twice *t, int who)
{
	return t->mw ? end_short(t, who, IB_USER_VERBS_CMD_DEALLOC_MW,
				 UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY,
				 t->mw->handle) : EOPNOTSUPP;
}

static int close_xrcd(struct twice *t, int who)
{
	return t->xrc ? end_short(t, who, IB_USER_VERBS_CMD_CLOSE_XRCD,
				  UVERBS_OBJECT_XRCD,
				  UVERBS_METHOD_XRCD_DESTROY,
				  t->xrcd) : EOPNOTSUPP;
}

static const struct step {
	const char *name;
	int (*verb)(struct twice *t, int who);
	enum { OFTEN, ONCE, ONE_OF_BOTH } how;
} steps[] = {
	{ "resize_cq", resize_cq, OFTEN },
	{ "modify_cq", modify_cq, OFTEN },
	{ "modify_srq", modify_srq, OFTEN },
	{ "query_srq", query_srq, OFTEN },
	{ "modify_qp", modify_qp, OFTEN },
	{ "query_qp", query_qp, OFTEN },
	{ "rereg_mr", rereg_mr, OFTEN },
	{ "req_notify_cq", notify, OFTEN },
	{ "post_send", post_send, OFTEN },
	{ "attach_mcast, detach_mcast", mcast, OFTEN },
	{ "create and destroy", objects, OFTEN },
	{ "open and close an XRC domain", xrcd, OFTEN },
	{ "rereg_mr, dereg_mr", rereg_dereg, ONCE },
	{ "alloc_mw and dealloc_mw", window, OFTEN },
	{ "mmap", map, ONE_OF_BOTH },
	{ "destroy_ah", destroy_ah, ONE_OF_BOTH },
	{ "destroy_qp", destroy_qp, ONE_OF_BOTH },
	{ "destroy_srq", destroy_srq, ONE_OF_BOTH },
	{ "destroy_cq", destroy_cq, ONE_OF_BOTH },
	{ "dealloc_mw", dealloc_mw, ONE_OF_BOTH },
	{ "dereg_mr", dereg_mr, ONE_OF_BOTH },
	{ "close_xrcd", close_xrcd, ONE_OF_BOTH },
	{ "dealloc_pd", dealloc_pd, ONE_OF_BOTH },
};

/* ---- two threads ---- */

struct half {
	struct twice *t;
	int who, times;
};

static void *half(void *arg)
{
	const struct half *h = arg;
	int i;

	pthread_barrier_wait(&h->t->start);
	/* What the HCA has not costs as a refusal, of which a device has few. */
	for (i = 0; i < h->times && h->t->result[h->who] != EOPNOTSUPP; i++)
		h->t->result[h->who] = h->t->verb(h->t, h->who);
	return NULL;
}

/*
 * An mlx5's library makes address handles without the kernel, and its pages are
 * doorbells. What there is not cannot be ended.
 */
static bool exempt(const struct twice *t, const struct step *s)
{
	return (!t->rxe && (s->verb == destroy_ah || s->verb == map)) ||
	       (!t->mw && s->verb == dealloc_mw) ||
	       (!t->xrc && s->verb == close_xrcd);
}

static int both(struct twice *t, const struct step *s)
{
	struct half h[2];
	pthread_t thread[2];
	int i;

	t->verb = s->verb;
	memset(t->result, 0, sizeof(t->result));
	/* Not before: the backend changes no region beside windows. */
	if (s->verb == dealloc_mw)
		t->mw = ibv_alloc_mw(t->pd, IBV_MW_TYPE_1);
	for (i = 0; i < 2; i++) {
		h[i] = (struct half){ t, i, s->how == OFTEN ? TIMES : 1 };
		if (pthread_create(&thread[i], NULL, half, &h[i]))
			exit(2);
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	/* In a group, a queue pair cannot be destroyed. */
	while (s->verb == mcast && !ibv_detach_mcast(t->qp, &t->group, 0))
		;
	if (s->how == ONE_OF_BOTH && !exempt(t, s) &&
	    !t->result[0] == !t->result[1]) {
		fprintf(stderr, "vhca-twice: FAIL: %s: one of two must fail, not %s and %s\n",
			s->name, vt_errno(t->result[0]),
			vt_errno(t->result[1]));
		return 1;
	}
	return 0;
}

/* A CQ whose memory no library maps; of an mlx5 the first doorbell page. */
static int make_range(struct twice *t)
{
	struct ib_uverbs_create_cq cmd = { .cqe = 63, .comp_channel = -1 };
	struct {
		struct ib_uverbs_create_cq_resp cq;
		struct rxe_create_cq_resp rxe;
	} rsp;
	int err;

	if (!t->rxe)
		return 0;
	err = command(t, IB_USER_VERBS_CMD_CREATE_CQ, &cmd, sizeof(cmd), &rsp,
		      sizeof(rsp));
	t->offset = rsp.rxe.mi.offset;
	errno = err;
	return err ? -1 : 0;
}

static int make(struct twice *t)
{
	struct ibv_srq_init_attr sa = { .attr = { 15, 1, 0 } };
	struct ibv_qp_init_attr qa = {
		.qp_type = IBV_QPT_UD, .cap = { 8, 8, 1, 1, 0 },
	};
	struct ibv_ah_attr aa = {
		.is_global = 1, .port_num = VT_PORT, .dlid = t->dev.port.lid,
		.grh = { .dgid = t->dev.gid, .hop_limit = 1,
			 .sgid_index = t->dev.gid_index },
	};

	t->chan = ibv_create_comp_channel(t->dev.ctx);
	t->cq = ibv_create_cq(t->dev.ctx, 63, NULL, t->chan, 0);
	t->srq = ibv_create_srq(t->dev.pd, &sa);
	qa.send_cq = qa.recv_cq = t->cq;
	t->qp = ibv_create_qp(t->dev.pd, &qa);
	t->mr = ibv_reg_mr(t->dev.pd, t->mem, PAGE, IBV_ACCESS_LOCAL_WRITE);
	t->mr2 = ibv_reg_mr(t->dev.pd, t->mem, PAGE, IBV_ACCESS_LOCAL_WRITE);
	t->ah = ibv_create_ah(t->dev.pd, &aa);
	t->pd = ibv_alloc_pd(t->dev.ctx);
	if (!t->chan || !t->cq || !t->srq || !t->qp || !t->mr || !t->mr2 ||
	    !t->ah || !t->pd || t->file < 0)
		return -1;
	t->xrc = !open_xrcd(t, -1, &t->xrcd);
	return make_range(t);
}

/* One life of the objects; the context goes with all that libibverbs believes of
 * them, as they are gone behind its back. */
static int life(const struct vt_opt *o, bool tell)
{
	struct twice t = { };
	char why[VT_WHY];
	size_t i;
	int bad = 0;

	if (vt_open(&t.dev, o, why)) {
		fprintf(stderr, "vhca-twice: %s\n", why);
		return 2;
	}
	t.rxe = t.dev.attr.vendor_id == VT_VENDOR_RXE;
	t.group.raw[0] = 0xff;
	t.group.raw[1] = 0x0e;
	t.group.raw[15] = 0x17;
	t.file = memfd_create("vhca-twice", 0);
	t.mem = mmap(NULL, BUF, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t.mem == MAP_FAILED || make(&t)) {
		fprintf(stderr, "vhca-twice: cannot make the objects: %s\n",
			vt_errno(errno));
		return 2;
	}
	pthread_barrier_init(&t.start, NULL, 2);
	for (i = 0; i < VT_ARRAY_SIZE(steps); i++) {
		bad |= both(&t, &steps[i]);
		if (tell)
			printf("%s: %s, %s\n", steps[i].name,
			       vt_errno(t.result[0]), vt_errno(t.result[1]));
	}
	close(t.dev.ctx->cmd_fd);
	close(t.file);
	munmap(t.mem, BUF);
	return bad;
}

int main(int argc, char **argv)
{
	struct vt_opt o = { .timeout_ms = 5000 };
	int c, i, n = 20, rc = 0;

	while ((c = getopt(argc, argv, "d:g:n:h")) != -1) {
		switch (c) {
		case 'd': o.dev = optarg; break;
		case 'g': o.gid_index = atoi(optarg); break;
		case 'n': n = atoi(optarg); break;
		default:
			fprintf(c == 'h' ? stdout : stderr,
"usage: vhca-twice [-d DEVICE] [-g GID-INDEX] [-n LIVES]\n"
"Status 0: of two that destroy an object one succeeded, each time.\n");
			return c == 'h' ? 0 : 2;
		}
	}
	for (i = 0; i < n && !rc; i++)
		rc = life(&o, !i);
	if (!rc)
		printf("%d lives, %zu verbs twice at once\n", n,
		       VT_ARRAY_SIZE(steps));
	return rc;
}
