// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Only this file opens, writes, maps and closes verbs files. It frames the
 * commands of the two write() ABIs. The command thread and the job threads call
 * it, and the kick thread for its two commands. The kernel is trusted; the lengths given by the
 * callers are bounded here once more.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/mman.h>

#include "core/be.h"
#include "core/sys.h"
#include "uverbs.h"

#define UV_CORE_MAX	512
#define UV_FRAME	(sizeof(struct ib_uverbs_cmd_hdr) +	\
			 sizeof(struct ib_uverbs_ex_cmd_hdr))

__thread uint64_t uv_errors;

/* A system call of errno was refused. */
static int uv_refused(void)
{
	uv_errors++;
	return -errno;
}

int uv_open(const char *path)
{
	int fd = be_sys_open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? uv_refused() : fd;
}

int uv_open_file(const char *path)
{
	int fd = be_sys_open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

void uv_close(int *fd)
{
	if (*fd >= 0)
		be_sys_close(*fd);
	*fd = -1;
}

int uv_mmap(int fd, uint64_t offset, size_t length, void **addr)
{
	void *p = be_sys_mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, (off_t)offset);

	if (p == MAP_FAILED)
		return uv_refused();
	*addr = p;
	return 0;
}

int uv_munmap(void *addr, size_t length)
{
	return be_sys_munmap(addr, length) ? -errno : 0;
}

int uv_ioctl(int fd, struct ib_uverbs_ioctl_hdr *hdr)
{
	return be_sys_ioctl(fd, RDMA_VERBS_IOCTL, hdr) < 0 ? uv_refused() : 0;
}

/* Request and response of one command, side by side. */
struct uv_buf {
	uint64_t in[(UV_FRAME + UV_CORE_MAX + XENVHCA_UDATA_SIZE) / 8];
	uint64_t out[(UV_CORE_MAX + XENVHCA_UDATA_SIZE) / 8];
};

static const struct uv_udata no_udata;

static int uv_check(size_t core_len, size_t resp_len,
		    const struct uv_udata *ud, unsigned int word)
{
	if (core_len > UV_CORE_MAX || resp_len > UV_CORE_MAX)
		return -EINVAL;
	if (ud->in_len > XENVHCA_UDATA_SIZE || ud->out_len > XENVHCA_UDATA_SIZE)
		return -EINVAL;
	if (core_len % word || resp_len % word || ud->in_len % word ||
	    ud->out_len % word)
		return -EINVAL;
	return 0;
}

static int uv_send(int fd, const struct uv_buf *b, size_t len)
{
	ssize_t r = be_sys_write(fd, b->in, len);

	if (r < 0)
		return uv_refused();
	return (size_t)r == len ? 0 : -EIO;
}

static void uv_answer(const struct uv_buf *b, void *resp, size_t resp_len,
		      const struct uv_udata *ud)
{
	const uint8_t *out = (const uint8_t *)b->out;

	if (resp_len)
		memcpy(resp, out, resp_len);
	if (ud->out_len)
		memcpy(ud->out, out + resp_len, ud->out_len);
}

int uv_write(int fd, uint32_t cmd, const void *core, size_t core_len,
	     void *resp, size_t resp_len, const struct uv_udata *ud)
{
	struct ib_uverbs_cmd_hdr hdr = { .command = cmd };
	struct uv_buf b = {};
	uint8_t *p = (uint8_t *)b.in;
	uint64_t response = (uintptr_t)b.out;
	size_t len;
	int err;

	ud = ud ? ud : &no_udata;
	err = uv_check(core_len, resp_len, ud, 4);
	if (err)
		return err;
	len = sizeof(hdr) + core_len + ud->in_len;
	hdr.in_words = len / 4;
	hdr.out_words = (resp_len + ud->out_len) / 4;
	memcpy(p, &hdr, sizeof(hdr));
	memcpy(p + sizeof(hdr), core, core_len);
	if (resp_len)
		memcpy(p + sizeof(hdr), &response, sizeof(response));
	if (ud->in_len)
		memcpy(p + sizeof(hdr) + core_len, ud->in, ud->in_len);
	err = uv_send(fd, &b, len);
	if (!err)
		uv_answer(&b, resp, resp_len, ud);
	return err;
}

int uv_write_ex(int fd, uint32_t cmd, const void *core, size_t core_len,
		void *resp, size_t resp_len, const struct uv_udata *ud)
{
	struct ib_uverbs_cmd_hdr hdr = {
		.command = cmd | IB_USER_VERBS_CMD_FLAG_EXTENDED,
	};
	struct ib_uverbs_ex_cmd_hdr ex = {};
	struct uv_buf b = {};
	uint8_t *p = (uint8_t *)b.in;
	int err;

	ud = ud ? ud : &no_udata;
	err = uv_check(core_len, resp_len, ud, 8);
	if (err)
		return err;
	hdr.in_words = core_len / 8;
	hdr.out_words = resp_len / 8;
	ex.provider_in_words = ud->in_len / 8;
	ex.provider_out_words = ud->out_len / 8;
	if (resp_len || ud->out_len)
		ex.response = (uintptr_t)b.out;
	memcpy(p, &hdr, sizeof(hdr));
	memcpy(p + sizeof(hdr), &ex, sizeof(ex));
	memcpy(p + UV_FRAME, core, core_len);
	if (ud->in_len)
		memcpy(p + UV_FRAME + core_len, ud->in, ud->in_len);
	err = uv_send(fd, &b, UV_FRAME + core_len + ud->in_len);
	if (!err)
		uv_answer(&b, resp, resp_len, ud);
	return err;
}
