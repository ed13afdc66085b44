// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-torture: what a process may do to the memory that verbs mapped into it,
 * queues and doorbell pages: move it, protect it, advise on it, lock it, track it, take
 * it away, fork, all at random, while another thread makes and destroys objects. Such a
 * process often ends by a signal of its own making; the next one is started. What
 * the kernel has to say of it is for who started this program to look at.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vt.h"

#define PAGE		4096ul
#define MAPS		32
#define LIFE_MS		700	/* of a process */
#define OBJECTS		2

static unsigned int *done;	/* of all processes */
static const char *begun;	/* made when it has, or NULL */
static unsigned int limit = 60;	/* seconds, of a process and of all */

struct map {
	uint8_t *at;
	size_t len;
};

/* Mappings of verbs files that this process has now. */
static int find_maps(struct map *m)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	int n = 0;

	if (!f)
		return 0;
	while (n < MAPS && fgets(line, sizeof(line), f))
		if (strstr(line, "infiniband/uverbs") &&
		    sscanf(line, "%lx-%lx", &from, &to) == 2)
			m[n++] = (struct map){ (void *)from, to - from };
	fclose(f);
	return n;
}

static void read_all(const struct map *m, int n)
{
	volatile uint8_t sum = 0;
	size_t i;

	for (; n--; m++)
		for (i = 0; i < m->len; i += PAGE)
			sum += m->at[i];
}

/* A child has what the parent has, or dies by a signal. */
static void forked(const struct map *m, int n, unsigned int how)
{
	pid_t pid = fork();

	if (!pid) {
		if (how & 1)
			read_all(m, n);
		if (how & 2)
			munmap(m->at, PAGE);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void advise(const struct map *m, unsigned int how)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT, MADV_DONTFORK,
		MADV_DOFORK, MADV_REMOVE, MADV_FREE, MADV_HUGEPAGE,
		MADV_MERGEABLE, MADV_WILLNEED, MADV_POPULATE_READ,
		MADV_POPULATE_WRITE,
	};

	madvise(m->at, m->len, advice[how % VT_ARRAY_SIZE(advice)]);
}

/* As a program does that looks which pages this process reads and writes. */
static void track(unsigned int how)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY);

	if (fd < 0)
		return;
	if (write(fd, how & 1 ? "1" : "4", 1) < 0)
		perror("vhca-torture: /proc/self/clear_refs");
	close(fd);
}

static void move(struct map *m, unsigned int how)
{
	size_t len = how & 1 && m->len > PAGE ? m->len - PAGE : m->len;
	size_t more = how & 6 ? len : len + PAGE;
	void *p = mremap(m->at, len, more, MREMAP_MAYMOVE |
			 (how & 8 ? MREMAP_DONTUNMAP : 0));

	if (p != MAP_FAILED && !(how & 8))
		m->at = p;
}

static void torture(struct map *m, int n, unsigned int how)
{
	static const int prot[] = {
		PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC,
	};
	struct map *one = &m[how % n];
	size_t part = how & 0x100 && one->len > PAGE ? PAGE : one->len;

	how >>= 10;
	switch (how % 10) {
	case 0: move(one, how >> 4); break;
	case 1:
	case 2: mprotect(one->at, part, prot[(how >> 4) %
					     VT_ARRAY_SIZE(prot)]); break;
	case 3: advise(one, how >> 4); break;
	case 4: mlock(one->at, part); break;
	case 5: munlock(one->at, part); break;
	case 6: forked(one, 1, how >> 4); break;
	case 7: read_all(one, 1); break;
	case 8:
		if (!(how >> 4 & 15))
			munmap(one->at, part);
		break;
	case 9: track(how >> 4); break;
	}
}

static int make(struct vt_dev *d, struct ibv_cq **cq, struct ibv_qp **qp)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 300, .max_recv_wr = 300,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	*cq = ibv_create_cq(d->ctx, 600, NULL, NULL, 0);
	if (!*cq)
		return -1;
	a.send_cq = a.recv_cq = *cq;
	*qp = ibv_create_qp(d->pd, &a);
	return *qp ? 0 : -1;
}

/* Objects come and go, and with them their mappings. */
static void *objects(void *arg)
{
	struct vt_dev *d = arg;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	for (;;) {
		cq = NULL;
		qp = NULL;
		make(d, &cq, &qp);
		usleep(1000);
		if (qp)
			ibv_destroy_qp(qp);
		if (cq)
			ibv_destroy_cq(cq);
	}
	return NULL;
}

static void child(const struct vt_opt *o, unsigned int seed)
{
	struct vt_dev d;
	struct ibv_cq *cq[OBJECTS];
	struct ibv_qp *qp[OBJECTS];
	struct map m[MAPS];
	uint64_t end;
	pthread_t thread;
	char why[VT_WHY];
	int i, n;

	alarm(limit);
	if (vt_open(&d, o, why))
		_exit(3);
	for (i = 0; i < OBJECTS; i++)
		if (make(&d, &cq[i], &qp[i]))
			_exit(3);
	end = vt_now_ns() + LIFE_MS * 1000000ull;
	if (seed & 1)
		pthread_create(&thread, NULL, objects, &d);
	while (vt_now_ns() < end) {
		n = find_maps(m);
		if (n && begun)		/* the first may be its end */
			close(creat(begun, 0644));
		for (i = 0; n && i < 8; i++, ++*done)
			torture(m, n, (unsigned int)rand_r(&seed));
	}
	if (seed & 2) {			/* else the kernel does it all */
		for (i = 0; i < OBJECTS; i++) {
			ibv_destroy_qp(qp[i]);
			ibv_destroy_cq(cq[i]);
		}
	}
	_exit(0);
}

/* ---- a page that outlives its process, and the file system of its device node ---- */

/* The same nodes in a file system that only this process has, as in a container. */
static int own_nodes(void)
{
	const char *dir = "/dev/infiniband";
	char path[300];
	struct stat st[64];
	struct dirent *e[64], *entry;
	DIR *d = opendir(dir);
	int i, n = 0;

	if (!d || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	while (n < (int)VT_ARRAY_SIZE(e) && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (stat(path, &st[n]) || !S_ISCHR(st[n].st_mode))
			continue;
		e[n] = malloc(sizeof(*entry));
		if (!e[n])
			return -1;
		memcpy(e[n++], entry, sizeof(*entry));
	}
	closedir(d);
	if (mount("none", dir, "tmpfs", 0, NULL))
		return -1;
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, e[i]->d_name);
		if (mknod(path, st[i].st_mode, st[i].st_rdev))
			return -1;
	}
	return 0;
}

/* Standard output is a pipe, whose reader has the page when this process has ended. */
static int hold(const struct vt_opt *o)
{
	struct vt_dev d;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct map m[MAPS];
	struct iovec page = { .iov_len = PAGE };
	char why[VT_WHY];

	if (own_nodes() || vt_open(&d, o, why) || make(&d, &cq, &qp) ||
	    !find_maps(m)) {
		perror("vhca-torture: no queues");
		return 2;
	}
	page.iov_base = m[0].at;
	if (vmsplice(STDOUT_FILENO, &page, 1, 0) == (ssize_t)PAGE)
		return 0;
	perror("vhca-torture: vmsplice");
	return 1;
}

/* A slow machine needs longer for the first attack. */
static bool lasts(uint64_t start, int seconds)
{
	uint64_t s = (vt_now_ns() - start) / 1000000000ull;

	return s < (uint64_t)seconds || (!*done && s < limit);
}

int main(int argc, char **argv)
{
	struct vt_opt o = { .timeout_ms = 5000 };
	unsigned int seed = (unsigned int)vt_now_ns(), n = 0, killed = 0;
	unsigned int refused = 0;
	uint64_t start;
	int c, seconds = 5, status;
	pid_t pid;

	while ((c = getopt(argc, argv, "b:d:g:l:t:s:ph")) != -1) {
		switch (c) {
		case 'b': begun = optarg; break;
		case 'd': o.dev = optarg; break;
		case 'g': o.gid_index = atoi(optarg); break;
		case 'l': limit = (unsigned int)atoi(optarg); break;
		case 't': seconds = atoi(optarg); break;
		case 's': seed = (unsigned int)strtoul(optarg, NULL, 0); break;
		case 'p': return hold(&o);
		default:
			fprintf(c == 'h' ? stdout : stderr,
"usage: vhca-torture [-d DEVICE] [-g GID-INDEX] [-t SECONDS] [-s SEED]\n"
"	[-b FILE] [-l SECONDS]\n"
"	vhca-torture [-d DEVICE] [-g GID-INDEX] -p | READER\n"
"-p: leaves a page of a queue to READER, and its device node nowhere.\n"
"Makes FILE when it begins, and goes on until then, -l (60) seconds at most.\n"
"Status 0: there were mappings, and their worst was done to them.\n");
			return c == 'h' ? 0 : 2;
		}
	}
	done = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		return 2;
	printf("seed %#x\n", seed);
	fflush(stdout);
	start = vt_now_ns();
	for (; lasts(start, seconds); n++, seed += 0x9e3779b9) {
		pid = fork();
		if (!pid)
			child(&o, seed);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		killed += WIFSIGNALED(status);
		if (WIFEXITED(status) && WEXITSTATUS(status)) {
			refused++;
			usleep(50000);	/* no device at the moment */
		}
	}
	printf("%u attacks by %u processes; %u ended by a signal, %u found no device or lost it\n",
	       *done, n, killed, refused);
	return !*done && !killed;
}
