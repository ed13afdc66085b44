// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Tests xen-vhca-helper.ko in the domain that owns the HCA, against that
 * domain itself: it grants a completion queue's ring and maps it back, and
 * it kills processes that hold rings and memory regions over grant mappings.
 * It asks for frames of doorbell pages and for a cap of DMA segments. Needs
 * root, Xen and a verbs device whose rings are driver memory (rxe); with a
 * hardware HCA only the last two are tested, there with doorbells and a cap.
 * Usage: vhca-helper-test HCA. Exit code 0: all passed, 1: not.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xengnttab.h>
#include <uapi/vhca-helper.h>
#include "helper_test.h"

#define MR_PAGES 64u
#define RING_MAX 64u

static uint32_t domid;

static int grant(int fd, void *addr, uint32_t nr, uint32_t *refs, uint32_t *id)
{
	struct vhca_helper_grant g = {
		.addr = (uintptr_t)addr, .refs = (uintptr_t)refs,
		.nr_pages = nr, .domid = domid,
	};
	int r = ioctl(fd, VHCA_HELPER_GRANT, &g);

	*id = g.id;
	return r;
}

static int ungrant(int fd, uint32_t id)
{
	struct vhca_helper_ungrant u = { .id = id };

	return ioctl(fd, VHCA_HELPER_UNGRANT, &u);
}

static void test_errors(void)
{
	struct vhca_helper_grant g = { .nr_pages = 1, .domid = 0x7ff0 };
	uint32_t ref, id;
	int fd = helper_open(), self = open("/proc/self/exe", O_RDONLY);
	int fd2 = helper_open();
	void *anon = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self, 0);

	CHECK(grant(fd, anon, 1, &ref, &id) < 0 && errno == EFAULT);
	CHECK(grant(fd, file, 1, &ref, &id) < 0 && errno == EFAULT);
	CHECK(grant(fd, (char *)anon + 1, 1, &ref, &id) < 0 && errno == EINVAL);
	CHECK(grant(fd, NULL, 1, &ref, &id) < 0 && errno == EFAULT);
	CHECK(grant(fd, anon, 0, &ref, &id) < 0 && errno == EINVAL);
	CHECK(grant(fd, anon, VHCA_HELPER_MAX_PAGES + 1, &ref, &id) < 0 &&
	      errno == EINVAL);
	CHECK(ioctl(fd, VHCA_HELPER_GRANT, &g) < 0 && errno == EINVAL);
	CHECK(ioctl(fd, VHCA_HELPER_GRANT, NULL) < 0 && errno == EFAULT);
	domid++;
	CHECK(grant(fd, anon, 1, &ref, &id) < 0 && errno == EPERM);
	domid--;
	CHECK(ungrant(fd, 1) < 0 && errno == ENOENT);
	CHECK(ioctl(fd, VHCA_HELPER_KEEP_MM) == 0);
	CHECK(ioctl(fd, VHCA_HELPER_KEEP_MM) < 0 && errno == EBUSY);
	CHECK(ioctl(fd2, VHCA_HELPER_KEEP_MM) < 0 && errno == EBUSY);
	CHECK(counter("kept_mms") == 1);
	close(fd);
	CHECK(counter("kept_mms") == 0);
	CHECK(ioctl(fd2, VHCA_HELPER_KEEP_MM) == 0);
	close(fd2);
	CHECK(counter("grants") == 0);
	munmap(file, PAGE);
	munmap(anon, PAGE);
	close(self);
}

/* Shared memory stays where it is, and what it is, while it is granted. */
static void test_shared(void)
{
	uint32_t ref[2], ids[2] = { domid, domid }, id, other;
	xengnttab_handle *xgt = xengnttab_open(NULL, 0);
	int fd = helper_open();
	uint32_t *mine, *map;

	mine = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(xgt && mine != MAP_FAILED);
	CHECK(grant(fd, mine, 3, ref, &id) < 0 && errno == EFAULT);
	CHECK(grant(fd, mine, 2, ref, &id) == 0 && counter("grants") == 2);
	map = xengnttab_map_grant_refs(xgt, 2, ids, ref,
				       PROT_READ | PROT_WRITE);
	CHECK(map != NULL);
	if (failed)
		return;
	/* A page of a grant is granted to nobody: devtmpfs is not shared memory. */
	CHECK(grant(fd, map, 1, ref + 1, &other) < 0 && errno == EFAULT);
	mine[0] = 0x1234;
	map[PAGE / 4] = 0x5678;
	CHECK(map[0] == 0x1234 && mine[PAGE / 4] == 0x5678);
	CHECK(madvise(mine, 2 * PAGE, MADV_PAGEOUT) == 0);
	mine[1] = 0x9abc;
	CHECK(map[1] == 0x9abc && mine[0] == 0x1234);
	munmap(mine, 2 * PAGE);
	CHECK(ungrant(fd, id) == 2 && counter("zombies") == 2);
	map[0] = 1;			/* harmless: the page is still ours */
	xengnttab_unmap(xgt, map, 2);
	CHECK(counter_becomes("zombies", 0));
	CHECK(counter_becomes("grants", 0));
	xengnttab_close(xgt);
	close(fd);
}

static int parameter(const char *name, const char *value)
{
	char path[128];
	FILE *f;
	int r;

	snprintf(path, sizeof(path), "/sys/module/xen_vhca_helper/parameters/%s",
		 name);
	f = fopen(path, "w");
	r = f ? fputs(value, f) : -1;
	return f && !fclose(f) && r >= 0;
}

/* What lives counts as much as what was given back and is still mapped. */
static void test_bound(void)
{
	uint32_t ref[4], ids[2] = { domid, domid }, id, id1, id2;
	xengnttab_handle *xgt = xengnttab_open(NULL, 0);
	int fd = helper_open(), fd2 = helper_open();
	char *mine, *map;

	mine = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(xgt && mine != MAP_FAILED && parameter("domain_pages", "4"));
	CHECK(parameter("granted_pages", "3"));
	CHECK(grant(fd, mine, 4, ref, &id) < 0 && errno == ENOSPC);
	CHECK(parameter("granted_pages", "0"));
	CHECK(grant(fd, mine, 2, ref, &id) == 0);
	CHECK(grant(fd, mine, 3, ref, &id1) < 0 && errno == EBUSY);
	CHECK(grant(fd2, mine + PAGE, 3, ref, &id1) < 0 && errno == EBUSY);
	CHECK(grant(fd, mine + 3 * PAGE, 2, ref, &id1) < 0 && errno == EFAULT);
	map = xengnttab_map_grant_refs(xgt, 2, ids, ref,
				       PROT_READ | PROT_WRITE);
	CHECK(map && ungrant(fd, id) == 2);
	CHECK(grant(fd, mine, 3, ref, &id1) < 0 && errno == EBUSY);
	CHECK(grant(fd2, mine, 2, ref, &id1) == 0);
	CHECK(grant(fd, mine, 1, ref, &id2) < 0 && errno == EBUSY);
	if (map)
		xengnttab_unmap(xgt, map, 2);
	CHECK(counter_becomes("zombies", 0));
	CHECK(grant(fd, mine, 2, ref, &id2) == 0);
	close(fd2);
	CHECK(grant(fd, mine, 2, ref, &id) == 0);
	close(fd);
	CHECK(counter("grants") == 0 && parameter("domain_pages", "16384"));
	munmap(mine, 4 * PAGE);
	xengnttab_close(xgt);
}

/* A granted ring, mapped back, shows the same memory; ends in every order. */
static void test_ring(const char *hca)
{
	uint32_t refs[RING_MAX], ids[RING_MAX], nr = 0, id = 0, i;
	struct ibv_context *ctx = hca_open(hca);
	struct ibv_cq *cq = ibv_create_cq(ctx, 1000, NULL, NULL, 0);
	xengnttab_handle *xgt = xengnttab_open(NULL, 0);
	uint32_t *ring, *map;
	int fd = helper_open();

	ring = mapping(0, &nr);
	CHECK(cq && xgt && ring && nr > 1 && nr <= RING_MAX);
	if (failed)
		return;
	for (i = 0; i < nr; i++)
		ids[i] = domid;
	CHECK(grant(fd, ring, nr + 1, refs, &id) < 0 && errno == EFAULT);
	CHECK(counter("grants") == 0);
	CHECK(grant(fd, ring, nr, refs, &id) == 0 && id);
	CHECK(counter("grants") == (int)nr);
	map = xengnttab_map_grant_refs(xgt, nr, ids, refs,
				       PROT_READ | PROT_WRITE);
	CHECK(map && !memcmp(map, ring, nr * PAGE));
	if (failed)
		return;
	ring[PAGE / 4 - 1] ^= 0x5a5a5a5a;
	CHECK(map[PAGE / 4 - 1] == ring[PAGE / 4 - 1]);
	map[nr * PAGE / 4 - 1] ^= 0xa5a5a5a5;
	CHECK(map[nr * PAGE / 4 - 1] == ring[nr * PAGE / 4 - 1]);
	/* Still mapped: taken over, and freed after the last unmap. */
	CHECK(ungrant(fd, id) == (int)nr && counter("zombies") == (int)nr);
	CHECK(ungrant(fd, id) < 0 && errno == ENOENT);
	ibv_destroy_cq(cq);		/* vfree()s the ring */
	ibv_close_device(ctx);
	map[0] = 0x12345678;		/* harmless: the page is still ours */
	xengnttab_unmap(xgt, map, nr);
	CHECK(counter_becomes("zombies", 0) && counter("grants") == 0);
	xengnttab_close(xgt);
	close(fd);
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* The victim: what a worker of the daemon holds. Says "r" on fd ready. */
static void victim(const char *hca, uint32_t *refs, int ready, int child)
{
	uint32_t ids[MR_PAGES], ring_refs[RING_MAX], nr = 0, id, i;
	xengnttab_handle *xgt = xengnttab_open(NULL, 0);
	int fd = helper_open();
	struct ibv_context *ctx, *ctx2;
	struct ibv_mr *mr, *mr2;
	pthread_t thread;
	void *map, *ring;

	CHECK(ioctl(fd, VHCA_HELPER_KEEP_MM) == 0);
	for (i = 0; i < MR_PAGES; i++)
		ids[i] = domid;
	map = xengnttab_map_grant_refs(xgt, MR_PAGES, ids, refs,
				       PROT_READ | PROT_WRITE);
	CHECK(map != NULL);
	ctx = hca_open(hca);
	ctx2 = hca_open(hca);	/* without any mapping of its own */
	mr = ibv_reg_mr(ibv_alloc_pd(ctx), map, MR_PAGES * PAGE,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	mr2 = ibv_reg_mr(ibv_alloc_pd(ctx2), map, MR_PAGES / 2 * PAGE,
			 IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr && mr2 && ibv_create_cq(ctx, 1000, NULL, NULL, 0));
	ring = mapping(0, &nr);
	CHECK(ring && grant(fd, ring, nr, ring_refs, &id) == 0);
	CHECK(!pthread_create(&thread, NULL, sleeper, NULL));
	if (child && !fork()) {
		close(fd);
		sleeper(NULL);
	}
	CHECK(write(ready, failed ? "f" : "r", 1) == 1);
	sleeper(NULL);
}

/*
 * kill -9 of a process with memory regions over grant mappings. The kernel
 * log must stay clean (the caller looks), everything must be given back.
 * With child, a child that inherited the verbs files delays that.
 */
static void test_kill(const char *hca, int child)
{
	xengntshr_handle *xgs = xengntshr_open(NULL, 0);
	uint32_t refs[MR_PAGES];
	char c = 0;
	void *mem;
	int p[2];
	pid_t pid;

	mem = xengntshr_share_pages(xgs, domid, MR_PAGES, refs, 1);
	CHECK(mem && !pipe(p));
	if (failed)
		return;
	memset(mem, 0x11, MR_PAGES * PAGE);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		victim(hca, refs, p[1], child);
	}
	CHECK(pid > 0 && read(p[0], &c, 1) == 1 && c == 'r');
	CHECK(counter("kept_mms") == 1 && counter("grants") > 0);
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	if (child) {
		/* Longer than the module's patience: it warns, and waits. */
		sleep(6);
		CHECK(counter("kept_mms") == 1);
		CHECK(!kill(-pid, SIGKILL));
	}
	CHECK(counter_becomes("kept_mms", 0));
	CHECK(counter_becomes("grants", 0));
	xengntshr_unshare(xgs, mem, MR_PAGES);
	xengntshr_close(xgs);
	close(p[0]);
	close(p[1]);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2) {
		fprintf(stderr, "usage: vhca-helper-test HCA [OWN-DOMID]\n"
			"       vhca-helper-test --capped HCA COMMAND...\n");
		return 1;
	}
	if (argc > 3 && !strcmp(argv[1], "--capped"))
		return run_capped(argv[2], argv + 3);
	domid = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	test_errors();
	test_shared();
	test_bound();
	test_frame_errors();
	test_frames(argv[1]);
	test_cap(argv[1]);
	if (!is_hardware(argv[1])) {
		test_ring(argv[1]);
		for (i = 0; i < 5 && !failed; i++)
			test_kill(argv[1], 0);
		if (!failed)
			test_kill(argv[1], 1);
	}
	printf("%s\n", failed ? "FAILED" : "all passed");
	return failed;
}
