// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * System calls and framing of the fake kernel; fake_cmd.c executes the
 * commands. The file descriptors are real ones, so that poll works.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/be.h"
#include "fake_cm.h"
#include "fake_priv.h"
#include "fake_umad.h"
#include "host/chardev.h"
#include "core/sys.h"
#include "uverbs/sysfs.h"

#define RING_MEMORY	(64u << 20)

struct fake fake;
struct fake_hca fake_hca;

static const char *saved_sysfs;
static char sysfs_dir[64];

struct fake_file *fake_file_find(int fd)
{
	unsigned int i;

	for (i = 0; i < FAKE_FILES; i++)
		if (fake.file[i].used && fake.file[i].fd == fd)
			return &fake.file[i];
	return NULL;
}

static int locked_open(const char *path, int flags)
{
	unsigned int i;

	if (fake.fail_open || fake.refuse) {
		errno = fake.refuse ? EINVAL : fake.fail_open;
		fake.fail_open = 0;
		return -1;
	}
	if (!strcmp(path, "/dev/infiniband/rdma_cm")) {
		if ((flags & (O_CLOEXEC | O_NONBLOCK)) !=
		    (O_CLOEXEC | O_NONBLOCK))
			fake.violations++;
		return fake_cm_open();
	}
	if (!strcmp(path, "/dev/infiniband/umad0")) {
		if ((flags & (O_CLOEXEC | O_NONBLOCK)) !=
		    (O_CLOEXEC | O_NONBLOCK))
			fake.violations++;
		return fake_umad_open();
	}
	if (strcmp(path, "/dev/infiniband/uverbs0")) {
		errno = ENOENT;
		return -1;
	}
	if (!(flags & O_CLOEXEC))
		fake.violations++;
	for (i = 0; i < FAKE_FILES && fake.file[i].used; i++)
		;
	if (i == FAKE_FILES) {
		errno = EMFILE;
		return -1;
	}
	fake.file[i] = (struct fake_file){
		.used = true, .fd = eventfd(0, EFD_CLOEXEC),
		.async_w = -1, .comp_w = -1,
	};
	return fake.file[i].fd;
}

int be_sys_open(const char *path, int flags)
{
	int r;

	fake_lock();
	r = locked_open(path, flags);
	fake_unlock();
	return r;
}

/* A QP that ib_core never destroys: it counts more than the driver can detach. */
static bool stuck(const struct fake_obj *o)
{
	unsigned int i, members = 0;

	for (i = 0; i < FAKE_GROUPS; i++)
		members += o->group[i].member;
	return o->mcast != members;
}

/* Explicit destruction is over: the kernel now frees what is left. */
static int locked_close(int fd)
{
	struct fake_file *f = fake_file_find(fd);
	unsigned int i, type;

	if (!f && fake_umad_has(fd))
		return fake_umad_close(fd);
	if (!f)
		return fake_cm_has(fd) ? fake_cm_close(fd) : close(fd);
	if (f->vmas)
		fake.violations++;
	for (type = FAKE_TYPES; type--; )
		for (i = 0; i < FAKE_OBJS; i++)
			if (fake.obj[i].used && fake.obj[i].fd == fd &&
			    fake.obj[i].type == type) {
				fake.violations += stuck(&fake.obj[i]);
				fake_obj_del(&fake.obj[i]);
			}
	if (f->async_w >= 0)
		close(f->async_w);
	if (f->comp_w >= 0)
		close(f->comp_w);
	f->used = false;
	fake_uars_drop(f);
	return close(fd);
}

int be_sys_close(int fd)
{
	int r;

	fake_lock();
	r = locked_close(fd);
	fake_unlock();
	return r;
}

static void *vma_new(struct fake_file *f, void *a, size_t len, int prot,
		     off_t off)
{
	void *p;

	if (fake.nr_vmas == FAKE_KEYS) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	p = mmap(a, len, prot, MAP_SHARED, fake.ring_fd, off);
	if (p == MAP_FAILED)
		return p;
	f->vmas++;
	fake.vma[fake.nr_vmas++] = (struct fake_vma){ p, f->fd, 0 };
	return p;
}

static void *uar_new(struct fake_file *f, void *a, size_t len, int prot,
		     uint64_t off)
{
	void *p = fake_mlx5_page(f, len, off) ? vma_new(f, a, len, prot, 0) :
		  MAP_FAILED;

	if (p != MAP_FAILED)
		fake.vma[fake.nr_vmas - 1].uar = fake_uar_mapped(f, off);
	return p;
}

static void *locked_mmap(void *a, size_t len, int prot, int fl, int fd,
			 off_t off)
{
	struct fake_file *f = fake_file_find(fd);
	struct fake_key *k;
	unsigned int i;
	void *p;

	errno = EINVAL;
	if (fake.fail_mmap) {
		errno = fake.fail_mmap;
		fake.fail_mmap = 0;
		return MAP_FAILED;
	}
	if (!(fl & MAP_SHARED) || !f || fake.refuse)
		return MAP_FAILED;
	if (fake_is_mlx5())		/* page 0 is no ring */
		return uar_new(f, a, len, prot, (uint64_t)off);
	for (i = 0; i < FAKE_KEYS; i++) {
		k = &fake.key[i];
		if (!k->fd || k->fd != fd || k->offset != (uint64_t)off)
			continue;
		if (len > k->size)
			return MAP_FAILED;
		p = vma_new(f, a, len, prot, off);
		if (p != MAP_FAILED)
			*k = (struct fake_key){ 0 };
		return p;
	}
	return MAP_FAILED;
}

void *be_sys_mmap(void *a, size_t len, int prot, int fl, int fd, off_t off)
{
	void *r;

	fake_lock();
	r = locked_mmap(a, len, prot, fl, fd, off);
	fake_unlock();
	return r;
}

static int locked_munmap(void *a, size_t len)
{
	struct fake_file *f;
	unsigned int i;

	for (i = 0; i < fake.nr_vmas; i++) {
		if (fake.vma[i].addr != a)
			continue;
		f = fake_file_find(fake.vma[i].fd);
		if (f)
			f->vmas--;
		else
			fake.violations++;
		fake.vma[i] = fake.vma[--fake.nr_vmas];
		return munmap(a, len);
	}
	fake.violations++;
	return munmap(a, len);
}

int be_sys_munmap(void *a, size_t len)
{
	int r;

	fake_lock();
	r = locked_munmap(a, len);
	fake_unlock();
	return r;
}

/* Offsets start above 0, as rxe's do. */
uint64_t fake_key_new(int fd, uint32_t *size)
{
	uint64_t offset = fake.next_ring;
	unsigned int i;

	*size = (*size + 4095) & ~4095u;
	if (offset + *size > RING_MEMORY)
		return 0;
	for (i = 0; i < FAKE_KEYS; i++) {
		if (fake.key[i].fd)
			continue;
		fake.key[i] = (struct fake_key){ fd, offset, *size };
		fake.next_ring += *size;
		return offset;
	}
	return 0;
}

void fake_key_drop(uint64_t offset)
{
	unsigned int i;

	for (i = 0; i < FAKE_KEYS; i++)
		if (fake.key[i].fd && fake.key[i].offset == offset)
			fake.key[i] = (struct fake_key){ 0 };
}

void *fake_ring(uint64_t offset)
{
	return fake.rings + offset;
}

static int event_pair(int *r, int *w)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -errno;
	*r = sv[0];
	*w = sv[1];
	return 0;
}

int fake_async_open(struct fake_file *f, int *fd)
{
	return event_pair(fd, &f->async_w);
}

int fake_comp_open(struct fake_file *f, int *fd)
{
	int err = event_pair(fd, &f->comp_w);

	f->comp_fd = err ? -1 : *fd;
	return err;
}

void fake_comp_event(const struct fake_obj *cq)
{
	struct ib_uverbs_comp_event_desc d = { .cq_handle = cq->user_handle };
	struct fake_file *f = fake_file_find(cq->fd);

	if (!f || write(f->comp_w, &d, sizeof(d)) < 0)
		fake.violations++;
}

void fake_async_event(const struct fake_obj *obj, uint32_t event)
{
	struct ib_uverbs_async_event_desc d = {
		.element = obj->user_handle, .event_type = event,
	};
	struct fake_file *f = fake_file_find(obj->fd);

	if (!f || write(f->async_w, &d, sizeof(d)) < 0)
		fake.violations++;
}

void fake_fail(uint32_t cmd, unsigned int n, int err)
{
	fake.fail_cmd = cmd;
	fake.fail_n = n;
	fake.fail_err = err;
}

void fake_refuse(bool all)
{
	fake.refuse = all ? EINVAL : 0;
}

void fake_slow(unsigned int us)
{
	fake.slow_us = us;
}

void fake_unplug(bool gone)
{
	fake.refuse = gone ? EIO : 0;
}

void fake_fail_open(int err)
{
	fake.fail_open = err;
}

void fake_fail_mmap(int err)
{
	fake.fail_mmap = err;
}

unsigned int fake_files(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_FILES; i++)
		n += fake.file[i].used;
	return n;
}

unsigned int fake_contexts(void)
{
	return fake.opened;
}

unsigned int fake_uars(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_FILES; i++)
		n += fake.file[i].used ? fake.file[i].uars : 0;
	return n;
}

unsigned int fake_vmas(void)
{
	return fake.nr_vmas;
}

unsigned int fake_violations(void)
{
	return fake.violations;
}

static void take_time(void)
{
	if (fake.slow_us)
		usleep(fake.slow_us);
}

ssize_t be_sys_write(int fd, const void *buf, size_t len)
{
	bool cm, umad;

	take_time();
	fake_lock();
	umad = fake_umad_has(fd);
	cm = fake_cm_has(fd);
	fake_unlock();
	if (umad)
		return fake_umad_write(fd, buf, len);
	return cm ? fake_cm_write(fd, buf, len) : fake_write(fd, buf, len);
}

static int locked_ioctl(int fd, unsigned long req, void *arg)
{
	if (fake.refuse) {
		errno = EINVAL;
		return -1;
	}
	return fake_umad_has(fd) ? fake_umad_ioctl(fd, req, arg) :
	       fake_ioctl(fd, req, arg);
}

int be_sys_ioctl(int fd, unsigned long req, void *arg)
{
	int r;

	take_time();
	fake_lock();
	r = locked_ioctl(fd, req, arg);
	fake_unlock();
	return r;
}

ssize_t be_sys_read(int fd, void *buf, size_t len)
{
	return fake_umad_has(fd) ? fake_umad_read(fd, buf, len) :
	       read(fd, buf, len);
}

int host_chardev(const char *hca, struct host_chardev *cd)
{
	if (strcmp(hca, "rxe0"))
		return -ENODEV;
	*cd = (struct host_chardev){
		.name = "uverbs0", .driver_id = fake_hca.driver_id,
		.abi = fake_hca.abi, .cm = !fake_hca.no_cm,
	};
	return 0;
}

int host_umad(uint32_t index, uint32_t port, char name[HOST_CHARDEV_NAME])
{
	if (index || !port)
		return -ENOENT;
	strcpy(name, "umad0");
	return 0;
}

int fake_sysfs_put(const char *name, const char *text)
{
	char path[160], *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", sysfs_dir, name);
	for (p = path + strlen(sysfs_dir) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
	f = fopen(path, "w");
	if (!f)
		return -1;
	fprintf(f, "%s\n", text);
	return fclose(f);
}

static int sysfs_make(void)
{
	int err = 0;

	strcpy(sysfs_dir, "/tmp/vhca-unit-XXXXXX");
	if (!mkdtemp(sysfs_dir))
		return -1;
	err |= fake_sysfs_put(FAKE_HCA "node_type", "1: CA");
	err |= fake_sysfs_put(FAKE_HCA "fw_ver", "1.2.3");
	err |= fake_sysfs_put(FAKE_HCA "ports/1/link_layer", "Ethernet");
	err |= fake_sysfs_put(FAKE_HCA "ports/1/pkeys/0", "0xffff");
	err |= fake_sysfs_put(FAKE_HCA "ports/1/cap_mask", "0x06414848");
	return err;
}

static void sysfs_unmake(void)
{
	char cmd[128];

	if (!sysfs_dir[0])
		return;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", sysfs_dir);
	if (system(cmd))
		fprintf(stderr, "cannot remove %s\n", sysfs_dir);
	sysfs_dir[0] = 0;
}

void fake_be_rxe(void)
{
	fake_hca = (struct fake_hca){
		.driver_id = 14, .abi = 2, .ports = 1, .max_qp = 65536,
		.pkeys = 1,
		.max_mr_size = UINT64_MAX,
	};
}

int fake_install(void)
{
	memset(&fake, 0, sizeof(fake));
	fake_be_rxe();
	fake_uars_are(0, 0, false);
	fake_gid_default();
	fake.next_ring = 4096;
	fake.ring_fd = memfd_create("rings", MFD_CLOEXEC);
	if (fake.ring_fd < 0 || ftruncate(fake.ring_fd, RING_MEMORY))
		return -1;
	fake.rings = mmap(NULL, RING_MEMORY, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fake.ring_fd, 0);
	if (fake.rings == MAP_FAILED || sysfs_make())
		return -1;
	saved_sysfs = be_sysfs;
	be_sysfs = sysfs_dir;
	return 0;
}

void fake_remove(void)
{
	unsigned int i;

	for (i = 0; i < FAKE_FILES; i++)
		if (fake.file[i].used)
			be_sys_close(fake.file[i].fd);
	munmap(fake.rings, RING_MEMORY);
	close(fake.ring_fd);
	be_sysfs = saved_sysfs;
	sysfs_unmake();
}
