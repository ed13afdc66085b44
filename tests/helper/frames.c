// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhca-helper-test: frames of pages, which only doorbells of an HCA have, and the cap
 * of DMA segments of an HCA in a PV domain.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uapi/vhca-helper.h>
#include "helper_test.h"

int is_hardware(const char *hca)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/resource",
		 hca);
	return !access(path, R_OK);
}

/* Does a frame lie in the registers of a hardware HCA? */
static int in_registers(const char *hca, uint64_t frame)
{
	unsigned long long start, end;
	char path[256], line[128];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/resource",
		 hca);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %llx", &start, &end) == 2 && end &&
		    frame >= start / PAGE && frame <= end / PAGE)
			found = 1;
	if (f)
		fclose(f);
	return found;
}

static int frames(int fd, const void *addr, uint32_t nr, uint64_t *out,
		  uint32_t *cache)
{
	struct vhca_helper_frames f = {
		.addr = (uintptr_t)addr, .frames = (uintptr_t)out,
		.nr_pages = nr,
	};
	int r = ioctl(fd, VHCA_HELPER_FRAMES, &f);

	*cache = f.cache;
	return r;
}

void test_frame_errors(void)
{
	uint64_t out[VHCA_HELPER_MAX_FRAMES + 1] = { 0 };
	struct vhca_helper_frames f = { .nr_pages = 1, .cache = 1 };
	int fd = helper_open(), zero = open("/dev/zero", O_RDWR);
	uint32_t cache;
	char *anon, *file;

	anon = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	file = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
	CHECK(anon != MAP_FAILED && file != MAP_FAILED);
	*anon = 1;
	CHECK(frames(fd, anon, 1, out, &cache) < 0 && errno == EFAULT);
	CHECK(frames(fd, file, 1, out, &cache) < 0 && errno == EFAULT);
	CHECK(frames(fd, NULL, 1, out, &cache) < 0 && errno == EFAULT);
	CHECK(frames(fd, anon + 1, 1, out, &cache) < 0 && errno == EINVAL);
	CHECK(frames(fd, anon, 0, out, &cache) < 0 && errno == EINVAL);
	CHECK(frames(fd, anon, VHCA_HELPER_MAX_FRAMES + 1, out, &cache) < 0 &&
	      errno == EINVAL);
	CHECK(frames(fd, (void *)-(uintptr_t)PAGE, 1, out, &cache) < 0 &&
	      errno == EINVAL);
	f.addr = (uintptr_t)anon;
	CHECK(ioctl(fd, VHCA_HELPER_FRAMES, &f) < 0 && errno == EINVAL);
	CHECK(ioctl(fd, VHCA_HELPER_FRAMES, NULL) < 0 && errno == EFAULT);
	CHECK(!out[0] && !cache);
	munmap(anon, PAGE);
	munmap(file, PAGE);
	close(zero);
	close(fd);
}

/*
 * A child that has the same helper file asks for an address of its parent,
 * which it gets from fd in. Exit code 0: refused as not mapped.
 */
static void frame_thief(int fd, int in)
{
	uint64_t out = 0;
	uint32_t cache;
	void *addr;

	if (read(in, &addr, sizeof(addr)) != sizeof(addr))
		_exit(2);
	_exit(!(frames(fd, addr, 1, &out, &cache) < 0 && errno == EFAULT &&
		!out));
}

/* One mapping, as a whole: registers (1), or memory of the driver (0). */
static int frames_of(int fd, const char *hca, void *page, uint32_t nr)
{
	uint64_t out[VHCA_HELPER_MAX_FRAMES] = { 0 };
	uint32_t cache, i;

	CHECK(nr < VHCA_HELPER_MAX_FRAMES);
	CHECK(frames(fd, page, nr + 1, out, &cache) < 0 && errno == EFAULT);
	if (failed)
		return 0;
	if (frames(fd, page, nr, out, &cache)) {
		CHECK(errno == EPERM && !cache && !out[0]);
		return 0;
	}
	CHECK(cache == VHCA_HELPER_CACHE_NC || cache == VHCA_HELPER_CACHE_WC ||
	      cache == VHCA_HELPER_CACHE_DEV);
	for (i = 0; i < nr; i++)
		CHECK(in_registers(hca, out[i]));
	CHECK(frames(fd, page, nr, NULL, &cache) < 0 && errno == EFAULT);
	return 1;
}

/* Doorbells have frames, in the HCA's registers; queue memory has none. */
void test_frames(const char *hca)
{
	int fd = helper_open(), p[2], status = -1, told = 0;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	uint32_t nr, i;
	void *page;
	pid_t pid;

	CHECK(!pipe(p));
	pid = fork();
	if (!pid) {
		close(p[1]);	/* or it would wait for a dead parent */
		frame_thief(fd, p[0]);
	}
	ctx = hca_open(hca);
	cq = ibv_create_cq(ctx, 1000, NULL, NULL, 0);
	page = mapping(0, &nr);
	CHECK(pid > 0 && cq && page);
	CHECK(write(p[1], &page, sizeof(page)) == sizeof(page));
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	for (i = 0; (page = mapping(i, &nr)); i++)
		told += frames_of(fd, hca, page, nr);
	CHECK(is_hardware(hca) ? told > 0 : !told);
	ibv_destroy_cq(cq);
	ibv_close_device(ctx);
	close(p[0]);
	close(p[1]);
	close(fd);
}

static int cap(int fd, const char *hca, int uverbs, uint32_t *result)
{
	struct vhca_helper_cap_dma c = { .fd = uverbs };
	int r;

	snprintf(c.hca, sizeof(c.hca), "%s", hca);
	r = ioctl(fd, VHCA_HELPER_CAP_DMA, &c);
	*result = c.result;
	return r;
}

static int in_pv_domain(void)
{
	FILE *f = fopen("/sys/hypervisor/guest_type", "r");
	char type[16] = "";

	CHECK(f && fgets(type, sizeof(type), f));
	if (f)
		fclose(f);
	return !strcmp(type, "PV\n");
}

static void test_cap_errors(const char *hca, int uverbs)
{
	struct vhca_helper_cap_dma c = { .fd = uverbs };
	struct ibv_device **list = ibv_get_device_list(NULL);
	int fd = helper_open(), i;
	const char *other;
	uint32_t result;

	CHECK(cap(fd, hca, -1, &result) < 0 && errno == EBADF);
	CHECK(cap(fd, hca, fd, &result) < 0 && errno == EINVAL);
	CHECK(cap(fd, "", uverbs, &result) < 0 && errno == ENODEV);
	CHECK(cap(fd, "no-such-hca", uverbs, &result) < 0 && errno == ENODEV);
	memset(c.hca, 'a', sizeof(c.hca));
	CHECK(ioctl(fd, VHCA_HELPER_CAP_DMA, &c) < 0 && errno == EINVAL);
	memset(&c, 0, sizeof(c));
	c.fd = uverbs;
	snprintf(c.hca, sizeof(c.hca), "%s", hca);
	c.result = 1;
	CHECK(ioctl(fd, VHCA_HELPER_CAP_DMA, &c) < 0 && errno == EINVAL);
	CHECK(ioctl(fd, VHCA_HELPER_CAP_DMA, NULL) < 0 && errno == EFAULT);
	for (i = 0; list && list[i]; i++) {
		other = ibv_get_device_name(list[i]);
		if (is_hardware(other) != is_hardware(hca))
			CHECK(cap(fd, other, uverbs, &result) < 0 &&
			      errno == EINVAL);
	}
	ibv_free_device_list(list);
	CHECK(counter("capped_hcas") == 0);
	close(fd);
}

/* In force until the last file that asked is closed; software needs none. */
void test_cap(const char *hca)
{
	int capped = is_hardware(hca) && in_pv_domain();
	int fd = helper_open(), fd2 = helper_open();
	struct ibv_context *ctx = hca_open(hca);
	uint32_t want, result;

	want = capped ? VHCA_HELPER_CAP_DONE : VHCA_HELPER_CAP_NEEDLESS;
	test_cap_errors(hca, ctx->cmd_fd);
	CHECK(!cap(fd, hca, ctx->cmd_fd, &result) && result == want);
	CHECK(!cap(fd, hca, ctx->cmd_fd, &result) && result == want);
	CHECK(!cap(fd2, hca, ctx->cmd_fd, &result) && result == want);
	CHECK(counter("capped_hcas") == capped);
	close(fd);
	CHECK(counter("capped_hcas") == capped);
	close(fd2);
	CHECK(counter("capped_hcas") == 0);
	ibv_close_device(ctx);
}

int run_capped(const char *hca, char **command)
{
	int fd = helper_open();
	struct ibv_context *ctx = hca_open(hca);
	uint32_t result = 0;

	if (cap(fd, hca, ctx->cmd_fd, &result)) {
		fprintf(stderr, "cap of %s: %s\n", hca, strerror(errno));
		return 1;
	}
	ibv_close_device(ctx);
	/* The cap lasts as long as this file is open: in the command too. */
	fcntl(fd, F_SETFD, 0);
	execvp(command[0], command);
	perror(command[0]);
	return 1;
}
