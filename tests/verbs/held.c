// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-held: verbs that take as long as somebody else decides, for those that look at
 * what other processes, and the device, feel of it.
 *
 * vhca-held ah N [INDEX]	N threads make an address handle each, of a neighbour of
 *			the GID at INDEX (1) that nobody has; prints how many were made,
 *			and the last error
 * vhca-held fault	Soft-RoCE: calls a verb whose arguments are in a page that is not
 *			there, by userfaultfd; prints "held" when the verb waits for
 *			it, and gives it on SIGTERM
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vt.h"

#define PAGE	4096u
#define THREADS	200

static struct ibv_pd *pd;
static union ibv_gid gid;
static int gid_index = 1;

/* Returns NULL if an address handle was made, else the name of the error. */
static void *make_ah(void *arg)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = (uint8_t)gid_index,
			 .hop_limit = 64 },
	};
	struct ibv_ah *ah;

	attr.grh.dgid.raw[15] = (uint8_t)(size_t)arg;
	ah = ibv_create_ah(pd, &attr);
	if (!ah)
		return (void *)vt_errno(errno);
	ibv_destroy_ah(ah);
	return NULL;
}

static int handles(int n)
{
	pthread_t thread[THREADS];
	const char *last = "ok";
	int i, made = 0;
	void *err;

	if (n < 1 || n > THREADS || ibv_query_gid(pd->context, 1, gid_index, &gid))
		return 2;
	for (i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, make_ah,
				   (void *)(size_t)(250 - i)))
			return 2;
	for (i = 0; i < n; i++) {
		pthread_join(thread[i], &err);
		made += !err;
		last = err ? err : last;
	}
	printf("made %d of %d: %s\n", made, n, last);
	return 0;
}

/* ib_uverbs reads the attributes while it holds the device. */
static void *verb(void *hdr)
{
	int rc = ioctl(pd->context->cmd_fd, RDMA_VERBS_IOCTL, hdr);

	printf("the verb ended: %s\n", rc ? vt_errno(errno) : "ok");
	return NULL;
}

/* The header of a verb with one attribute, which is in the next page. */
static struct ib_uverbs_ioctl_hdr *verb_before(unsigned char *attrs)
{
	struct ib_uverbs_ioctl_hdr hdr = {
		.length = sizeof(hdr) + sizeof(struct ib_uverbs_attr),
		.object_id = UVERBS_OBJECT_DEVICE,
		.method_id = UVERBS_METHOD_QUERY_PORT,
		.num_attrs = 1, .driver_id = RDMA_DRIVER_RXE,
	};

	return memcpy(attrs - sizeof(hdr), &hdr, sizeof(hdr));
}

static int fault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = {};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC), sig;
	struct uffd_msg msg;
	unsigned char *page;
	pthread_t thread;
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = zero.range.start = (uintptr_t)page + PAGE;
	range.range.len = zero.range.len = PAGE;
	if (fd < 0 || page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range) ||
	    pthread_create(&thread, NULL, verb, verb_before(page + PAGE)))
		return 2;
	if (read(fd, &msg, sizeof(msg)) != sizeof(msg))
		return 2;
	printf("held\n");
	sigwait(&term, &sig);
	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero))
		return 2;
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	char why[VT_WHY] = "usage: vhca-held ah N [INDEX] | fault";
	struct ibv_context *ctx = NULL;
	int rc = 2;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		ctx = vt_open_name(NULL, why);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	if (!pd) {
		fprintf(stderr, "vhca-held: %s\n", why);
		return 2;
	}
	if (argc == 4)
		gid_index = atoi(argv[3]);
	if (!strcmp(argv[1], "ah") && argc >= 3)
		rc = handles(atoi(argv[2]));
	else if (!strcmp(argv[1], "fault"))
		rc = fault();
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return rc;
}
