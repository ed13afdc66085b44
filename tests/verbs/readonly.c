// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-readonly: memory that its process can only read, registered. Every line that
 * it prints is a result, "memory.step verdict", and must be the same natively and in a
 * guest of the same kernel: what may be registered with which access, what arrives
 * when it is sent from, and what becomes of it when the access is changed.
 *
 * With --hold it registers PAGES pages that it can only read and as many of others,
 * makes FILE, and keeps both regions until FILE is removed: somebody else counts
 * how they are granted.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vt.h"

#define PAGES	24u		/* of each memory */
#define LEN	(PAGES * 4096u)
#define SEED	5
#define HOLD_MS	120000
#define WAIT_MS	20000

struct readonly {
	struct vt_dev dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;	/* connected to itself */
	uint8_t *to;		/* what is received */
	struct ibv_mr *to_mr;
};

static void show(const char *mem, const char *step, const char *verdict)
{
	printf("%s.%s %s\n", mem, step, verdict);
	fflush(stdout);
}

/* ---- one queue pair, connected to itself ---- */

static int qp_connect(struct readonly *r)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = VT_PORT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE,
	};
	int err = ibv_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = r->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.port_num = VT_PORT,
			.dlid = r->dev.port.lid,
			.is_global = 1,
			.grh = { .dgid = r->dev.gid,
				 .sgid_index = (uint8_t)r->dev.gid_index,
				 .hop_limit = 1 },
		},
	};
	if (!err)
		err = ibv_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_AV |
				    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	if (!err)
		err = ibv_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return err;
}

static int setup(struct readonly *r)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	r->to = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->to == MAP_FAILED)
		return errno;
	r->to_mr = ibv_reg_mr(r->dev.pd, r->to, LEN, IBV_ACCESS_LOCAL_WRITE);
	r->cq = ibv_create_cq(r->dev.ctx, 16, NULL, NULL, 0);
	if (!r->to_mr || !r->cq)
		return errno;
	init.send_cq = r->cq;
	init.recv_cq = r->cq;
	r->qp = ibv_create_qp(r->dev.pd, &init);
	return r->qp ? qp_connect(r) : errno;
}

/* Both completions of one transfer; the status of the first that failed. */
static const char *completions(struct readonly *r)
{
	uint64_t end = vt_now_ns() + WAIT_MS * 1000000ull;
	struct ibv_wc wc;
	int n = 0, got;

	while (n < 2) {
		got = ibv_poll_cq(r->cq, 1, &wc);
		if (got < 0)
			return "poll_cq failed";
		if (got && wc.status)
			return ibv_wc_status_str(wc.status);
		n += got;
		if (vt_now_ns() > end)
			return "no completion";
	}
	return NULL;
}

/* Sends @len octets at @from; what arrives must be them. */
static const char *transfer(struct readonly *r, const struct ibv_mr *mr,
			    const uint8_t *from, uint32_t len)
{
	struct ibv_sge in = { (uintptr_t)r->to, len, r->to_mr->lkey };
	struct ibv_sge out = { (uintptr_t)from, len, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;
	const char *why;

	memset(r->to, 0xa5, LEN);
	if (ibv_post_recv(r->qp, &recv, &bad_recv) ||
	    ibv_post_send(r->qp, &send, &bad_send))
		return "cannot post";
	why = completions(r);
	if (why)
		return why;
	return memcmp(r->to, from, len) ? "other octets arrived" : "ok";
}

/* ---- memory ---- */

/* A file of @len octets, open to be read only; -1: errno. */
static int file_to_read(size_t len)
{
	char name[] = "/tmp/readonly.XXXXXX";
	uint8_t *data = malloc(len);
	int fd = mkstemp(name), err = 0;

	if (!data || fd < 0) {
		err = errno;
	} else {
		vt_fill(data, len, SEED);
		if (write(fd, data, len) != (ssize_t)len)
			err = EIO;
	}
	free(data);
	if (fd >= 0) {
		close(fd);
		fd = open(name, O_RDONLY);
		unlink(name);
	}
	errno = err;
	return err ? -1 : fd;
}

/* Memory to read: of a file, or anonymous and written to before. */
static uint8_t *memory(int flags, size_t len)
{
	uint8_t *mem;
	int fd;

	if (flags & MAP_ANONYMOUS) {
		mem = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (mem == MAP_FAILED)
			return mem;
		vt_fill(mem, len, SEED);
		mprotect(mem, len, PROT_READ);
		return mem;
	}
	fd = file_to_read(len);
	if (fd < 0)
		return MAP_FAILED;
	mem = mmap(NULL, len, PROT_READ, flags, fd, 0);
	close(fd);
	return mem;
}

/* ---- what is tried with each memory ---- */

static void try_access(struct readonly *r, const char *name, uint8_t *mem,
		       const char *step, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(r->dev.pd, mem, LEN, access);

	show(name, step, mr ? "ok" : vt_errno(errno));
	if (mr)
		ibv_dereg_mr(mr);
}

/* By hand: libibverbs has no rereg_mr for rxe, but Linux has one, from 6.4 on. */
static int rereg(struct readonly *r, struct ibv_mr *mr, uint32_t flags,
		 const uint8_t *mem, size_t len, uint32_t access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr c;
	} cmd = {
		.hdr = { IB_USER_VERBS_CMD_REREG_MR, sizeof(cmd) / 4,
			 sizeof(resp) / 4 },
		.c = {
			.response = (uintptr_t)&resp,
			.mr_handle = mr->handle,
			.flags = flags,
			.start = (uintptr_t)mem,
			.length = len,
			.hca_va = (uintptr_t)mem,
			.access_flags = access,
		},
	};

	if (write(r->dev.ctx->cmd_fd, &cmd, sizeof(cmd)) < 0)
		return errno;
	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return 0;
}

/*
 * Rereg: other read rights, other memory that can only be read, and the right to write,
 * which must not be got in this way.
 */
static void try_rereg(struct readonly *r, const char *name, const uint8_t *mem,
		      struct ibv_mr *mr)
{
	int err = rereg(r, mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0,
			IBV_ACCESS_REMOTE_READ);

	show(name, "rereg_remote_read", vt_errno(err));
	if (!err)
		show(name, "rereg_remote_read.send",
		     transfer(r, mr, mem, LEN));
	err = rereg(r, mr, IBV_REREG_MR_CHANGE_TRANSLATION, mem + 4096,
		    LEN - 4096, 0);
	show(name, "rereg_part", vt_errno(err));
	if (!err)
		show(name, "rereg_part.send",
		     transfer(r, mr, mem + 4096, LEN - 4096));
	show(name, "rereg_write_part",
	     vt_errno(rereg(r, mr, IBV_REREG_MR_CHANGE_TRANSLATION |
			    IBV_REREG_MR_CHANGE_ACCESS, mem + 4096,
			    LEN - 4096, IBV_ACCESS_LOCAL_WRITE)));
	show(name, "rereg_local_write",
	     vt_errno(rereg(r, mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0,
			    IBV_ACCESS_LOCAL_WRITE)));
}

static int try_memory(struct readonly *r, const char *name, int flags)
{
	uint8_t *mem = memory(flags, LEN);
	struct ibv_mr *mr;

	if (mem == MAP_FAILED)
		return errno;
	mr = ibv_reg_mr(r->dev.pd, mem, LEN, 0);
	show(name, "reg_mr", mr ? "ok" : vt_errno(errno));
	if (mr) {
		show(name, "send", transfer(r, mr, mem, LEN));
		show(name, "send_again", transfer(r, mr, mem, LEN));
		try_rereg(r, name, mem, mr);
		show(name, "dereg_mr", vt_errno(ibv_dereg_mr(mr)));
	}
	show(name, "as_it_was", vt_check(mem, LEN, SEED) < 0 ? "ok" : "changed");
	try_access(r, name, mem, "reg_mr_local_write", IBV_ACCESS_LOCAL_WRITE);
	try_access(r, name, mem, "reg_mr_remote_write",
		   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	try_access(r, name, mem, "reg_mr_remote_read", IBV_ACCESS_REMOTE_READ);
	munmap(mem, LEN);
	return 0;
}

static int try_all(struct readonly *r)
{
	int err = try_memory(r, "shared_file", MAP_SHARED);

	if (!err)
		err = try_memory(r, "private_file", MAP_PRIVATE);
	if (!err)
		err = try_memory(r, "private", MAP_PRIVATE | MAP_ANONYMOUS);
	return err;
}

/* ---- --hold ---- */

static int hold(struct readonly *r, size_t pages, const char *file)
{
	uint64_t end = vt_now_ns() + HOLD_MS * 1000000ull;
	uint8_t *ro = memory(MAP_SHARED, pages * 4096);
	uint8_t *rw = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *a, *b;
	int fd;

	if (ro == MAP_FAILED || rw == MAP_FAILED)
		return errno;
	a = ibv_reg_mr(r->dev.pd, ro, pages * 4096, 0);
	b = a ? ibv_reg_mr(r->dev.pd, rw, pages * 4096,
			   IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!a || !b)
		return errno;
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		return errno;
	close(fd);
	while (!access(file, F_OK) && vt_now_ns() < end)
		usleep(50000);
	ibv_dereg_mr(a);
	ibv_dereg_mr(b);
	return access(file, F_OK) ? 0 : ETIMEDOUT;
}

int main(int argc, char **argv)
{
	const struct vt_opt opt = {
		.gid_index = argc > 1 ? atoi(argv[1]) : 0,
	};
	struct readonly r = {};
	char why[VT_WHY] = "";
	int err;

	if (argc < 2 || (argc > 2 && (argc != 5 || strcmp(argv[2], "--hold")))) {
		fprintf(stderr,
			"usage: vhca-readonly GID-INDEX [--hold PAGES FILE]\n");
		return 2;
	}
	if (vt_open(&r.dev, &opt, why)) {
		fprintf(stderr, "vhca-readonly: %s\n", why);
		return 1;
	}
	err = setup(&r);
	if (!err)
		err = argc == 5 ? hold(&r, strtoul(argv[3], NULL, 0), argv[4]) :
				  try_all(&r);
	if (err)
		fprintf(stderr, "vhca-readonly: %s\n", vt_errno(err));
	return err ? 1 : 0;
}
