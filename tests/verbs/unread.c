// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-unread: a process of an mlx5 that never takes its events: completion queues
 * on one channel, a queue pair, in memory of the process, and files of rdma_cm and umad,
 * which live while a command runs. The commands are written to the device: rdma-core does not open an
 * mlx5 without doorbell pages, and those are what the other end may lie about.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_user_mad.h>
#include <rdma/mlx5-abi.h>
#include <rdma/rdma_user_cm.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw.h"

#define PAGE	4096u
#define CQE	64u	/* octets */
#define QP_RC	2
#define BFREGS	16

struct unread {
	struct raw raw;
	const char *dev;	/* uverbs0 */
	int channel;
	uint32_t entries;	/* of a CQ */
	size_t len;		/* of its memory */
	uint8_t *mem;		/* of every CQ and of the QP, and a page behind */
};

/* ---- objects ---- */

static int open_context(struct unread *u)
{
	struct {
		struct ib_uverbs_get_context c;
		struct mlx5_ib_alloc_ucontext_req_v2 udata;
	} cmd = {
		.udata = { .total_num_bfregs = BFREGS,
			   .num_low_latency_bfregs = 4,
			   .max_cqe_version = 1,
			   .lib_caps = MLX5_LIB_CAP_4K_UAR },
	};

	u->raw.fd = raw_open(u->dev);
	if (u->raw.fd < 0)
		return errno;
	return raw_cmd(&u->raw, IB_USER_VERBS_CMD_GET_CONTEXT, &cmd,
		       sizeof(cmd), sizeof(struct ib_uverbs_get_context_resp),
		       sizeof(struct mlx5_ib_alloc_ucontext_resp));
}

static int make_channel(struct unread *u)
{
	struct ib_uverbs_create_comp_channel cmd = {};
	int err = raw_cmd(&u->raw, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &cmd,
			  sizeof(cmd),
			  sizeof(struct ib_uverbs_create_comp_channel_resp),
			  0);

	u->channel = (int)raw_out(&u->raw, 0);
	return err;
}

static int make_cq(struct unread *u)
{
	struct {
		struct ib_uverbs_create_cq c;
		struct mlx5_ib_create_cq udata;
	} cmd = {
		.c = { .cqe = u->entries, .comp_channel = u->channel },
		.udata = { .buf_addr = (uintptr_t)u->mem,
			   .db_addr = (uintptr_t)u->mem + u->len,
			   .cqe_size = CQE },
	};
	int err = raw_cmd(&u->raw, IB_USER_VERBS_CMD_CREATE_CQ, &cmd,
			  sizeof(cmd), sizeof(struct ib_uverbs_create_cq_resp),
			  sizeof(struct mlx5_ib_create_cq_resp));

	u->raw.cq = raw_out(&u->raw, 0);
	return err;
}

/* In the same memory: nobody works here. */
static int make_qp(struct unread *u)
{
	struct {
		struct ib_uverbs_create_qp c;
		uint8_t udata[48];	/* as providers before ECE */
	} cmd = {
		.c = { .pd_handle = u->raw.pd, .send_cq_handle = u->raw.cq,
		       .recv_cq_handle = u->raw.cq, .max_send_wr = 8,
		       .max_recv_wr = 8, .max_send_sge = 1,
		       .max_recv_sge = 1, .qp_type = QP_RC },
	};
	struct mlx5_ib_create_qp udata = {
		.buf_addr = (uintptr_t)u->mem,
		.db_addr = (uintptr_t)u->mem + u->len,
		.sq_wqe_count = 8, .rq_wqe_count = 8, .rq_wqe_shift = 6,
	};

	memcpy(cmd.udata, &udata, sizeof(cmd.udata));
	return raw_cmd(&u->raw, IB_USER_VERBS_CMD_CREATE_QP, &cmd, sizeof(cmd),
		       sizeof(struct ib_uverbs_create_qp_resp), 8);
}

static int make_memory(struct unread *u)
{
	u->len = CQE;
	while (u->len < CQE * (1ull + u->entries))
		u->len *= 2;
	if (u->len < PAGE)
		u->len = PAGE;
	u->mem = mmap(NULL, u->len + PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return u->mem == MAP_FAILED ? errno : 0;
}

/* ---- doorbell pages ---- */

static sigjmp_buf after;

static void on_bus(int sig)
{
	siglongjmp(after, sig);
}

/* True: there is something that takes what is written. */
static bool written(volatile uint64_t *page)
{
	if (sigsetjmp(after, 1))
		return false;
	*page = 0;
	return true;
}

/* A page of each of the three kinds that providers map; how many could be used. */
static int doorbells(struct unread *u, int n)
{
	static const unsigned int command[] = { 0, 2, 3 };
	unsigned int pgoff;
	int i, used = 0;
	void *page;

	signal(SIGBUS, on_bus);
	for (i = 0; i < n; i++) {
		pgoff = command[i % 3] << 8 | (unsigned int)i / 3;
		page = mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, u->raw.fd,
			    (off_t)pgoff * PAGE);
		if (page == MAP_FAILED) {
			printf("doorbell %#x: %s\n", pgoff, strerror(errno));
		} else if (!written(page)) {
			printf("doorbell %#x: SIGBUS\n", pgoff);
		} else {
			printf("doorbell %#x: written\n", pgoff);
			used++;
		}
		fflush(stdout);
	}
	signal(SIGBUS, SIG_DFL);
	return used;
}

/* ---- files of rdma_cm and umad ---- */

static int make_id(void)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_create_id c;
	} cmd = {
		.hdr = { RDMA_USER_CM_CMD_CREATE_ID, sizeof(cmd.c),
			 sizeof(struct rdma_ucm_create_id_resp) },
		.c = { .ps = RDMA_PS_TCP, .qp_type = QP_RC },
	};
	struct rdma_ucm_create_id_resp resp;
	int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);

	cmd.c.response = (uintptr_t)&resp;
	return fd >= 0 && write(fd, &cmd, sizeof(cmd)) == sizeof(cmd) ? 0 : errno;
}

static int make_agent(void)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = 1, .mgmt_class = 4, .mgmt_class_version = 1,
	};
	int fd = open("/dev/infiniband/umad0", O_RDWR | O_CLOEXEC);

	return fd >= 0 && !ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req) ? 0 : errno;
}

/* They stay open. */
static int make_files(void)
{
	int err = make_id();

	if (!err)
		err = make_agent();
	if (err)
		fprintf(stderr, "vhca-unread: files: %s\n", strerror(err));
	return err;
}

/* ---- memory that should come back ---- */

static long pinned_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

/* A CQ is made and destroyed; until that fails. */
static void rounds(struct unread *u, int n)
{
	int i, err = 0;

	for (i = 1; i <= n && !err; i++) {
		err = make_cq(u);
		if (!err)
			err = raw_handle(&u->raw,
					 IB_USER_VERBS_CMD_DESTROY_CQ,
					 u->raw.cq);
		printf("round %d: VmPin %ld kB, %s\n", i, pinned_kb(),
		       err ? strerror(err) : "ok");
		fflush(stdout);
	}
}

/* ---- */

static int command(char **argv)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static int make(struct unread *u, int cqs)
{
	const char *what = "memory";
	int i, err = make_memory(u);

	if (!err) {
		what = "context";
		err = open_context(u);
	}
	if (!err) {
		what = "PD";
		err = raw_pd(&u->raw);
	}
	if (!err) {
		what = "channel";
		err = make_channel(u);
	}
	for (i = 0; !err && i < cqs; i++) {
		what = "CQ";
		err = make_cq(u);
	}
	if (!err && cqs) {
		what = "QP";
		err = make_qp(u);
	}
	if (err)
		fprintf(stderr, "vhca-unread: %s: %s: %s\n", u->dev, what,
			strerror(err));
	else
		printf("%d CQs\n", cqs);
	return err;
}

static const char *first_device(void)
{
	static const char dir[] = "/dev/infiniband/";
	glob_t g;

	if (glob("/dev/infiniband/uverbs*", 0, NULL, &g))
		return "uverbs0";
	return g.gl_pathv[0] + sizeof(dir) - 1;
}

static int usage(FILE *to)
{
	fprintf(to,
"usage: vhca-unread [-d uverbsN] [-f] [-n CQS] [-e ENTRIES] [-r ROUNDS] [-u PAGES] [COMMAND...]\n"
"-f: an id of rdma_cm and an agent of umad; "
"-u: maps so many doorbell pages; -r: makes and destroys a CQ so often.\n"
"Status: 1 a doorbell page could be written, 2 no objects, else that of COMMAND.\n");
	return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct unread u = { .entries = 63 };
	int c, cqs = 1, pages = 0, times = 0;
	bool files = false;

	while ((c = getopt(argc, argv, "+d:fn:e:r:u:h")) != -1) {
		switch (c) {
		case 'd': u.dev = optarg; break;
		case 'f': files = true; break;
		case 'n': cqs = atoi(optarg); break;
		case 'e': u.entries = (uint32_t)atol(optarg); break;
		case 'r': times = atoi(optarg); break;
		case 'u': pages = atoi(optarg); break;
		default: return usage(c == 'h' ? stdout : stderr);
		}
	}
	if (!u.dev)
		u.dev = first_device();
	if ((files && make_files()) || make(&u, cqs))
		return 2;
	rounds(&u, times);
	if (doorbells(&u, pages))
		return 1;
	return argv[optind] ? command(argv + optind) : 0;
}
