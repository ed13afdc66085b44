/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Between the parts of the fake kernel.
 */
#ifndef FAKE_PRIV_H
#define FAKE_PRIV_H

#include <rdma/ib_user_verbs.h>
#include <sys/types.h>

#include "fake_uverbs.h"

#define FAKE_FILES	64
#define FAKE_OBJS	4096
#define FAKE_KEYS	1024
#define FAKE_GIDS	24
#define FAKE_UARS	256
#define FAKE_UAR_END	4096

struct fake_file {
	bool used, context;
	int fd, async_w, comp_w, comp_fd;
	unsigned int vmas, uars;
	uint32_t uar[FAKE_UARS];	/* numbers of those from its beginning */
};
struct fake_key { int fd; uint64_t offset; uint32_t size; };
struct fake_vma { void *addr; int fd; uint32_t uar; };

/* One command after the framing was verified. */
struct call {
	struct fake_file *f;
	const uint8_t *core, *in;
	uint8_t *resp, *out;
	size_t in_len, out_len;
};

typedef int fake_run(const struct call *c);

struct fake_method {
	fake_run *run;
	uint16_t req, resp;
	bool udata;
};

extern struct fake {
	struct fake_file file[FAKE_FILES];
	struct fake_obj obj[FAKE_OBJS];
	struct fake_key key[FAKE_KEYS];
	struct fake_vma vma[FAKE_KEYS];
	unsigned int nr_vmas, violations;
	uint8_t *rings;
	int ring_fd;
	uint64_t next_ring;
	uint32_t next_num;
	uint32_t fail_cmd;
	unsigned int fail_n;
	int fail_err, fail_open, fail_mmap;
	int refuse;
	unsigned int slow_us;
	uint8_t last_in[256];
	size_t last_in_len;
	uint32_t opened;		/* contexts so far */
	unsigned int ioctls;
	uint8_t gid[FAKE_GIDS + 1][16];	/* the last one is port 2's */
	uint32_t before_cmd;
	void (*before)(void);
} fake;

struct fake_file *fake_file_find(int fd);
int fake_async_open(struct fake_file *f, int *fd);
int fake_comp_open(struct fake_file *f, int *fd);
/* Offset for mmap, 0 if there is no room; *size is rounded up to pages. */
uint64_t fake_key_new(int fd, uint32_t *size);
void fake_key_drop(uint64_t offset);
/* ---- fake_obj.c ---- */
void fake_obj_del(struct fake_obj *o);
/* -EBUSY if another object uses it. */
int fake_obj_destroy(const struct call *c, enum fake_type type,
		     uint32_t handle);
/* @o lives on @d; @slot: 0..3, one for each that it lives on. */
void fake_obj_uses(struct fake_obj *o, unsigned int slot, struct fake_obj *d);
struct fake_obj *fake_obj_find(const struct call *c, enum fake_type type,
			       uint32_t handle);
struct fake_obj *fake_obj_new(const struct call *c, enum fake_type type);
/* Is all of it mapped? */
bool fake_mapped(uint64_t addr, uint64_t length);

/* ---- fake_cmd.c ---- */
/* By number of the command. */
extern const struct fake_method fake_methods[64], fake_ex_methods[64];
/* Next power of two above n, as drivers make of n + 1 entries. */
uint32_t fake_slots(uint32_t n);
/* The part of the commands that is the same for all drivers. */
int fake_get_context(const struct call *c);
int fake_cq_new(const struct call *c, uint32_t slots, struct fake_obj **out);
int fake_qp_new(const struct call *c, struct fake_obj **out);
int fake_rxe_create_qp(const struct call *c);
int fake_srq_new(const struct call *c, const struct ib_uverbs_create_xsrq *q,
		 struct fake_obj **out);
/* CREATE_SRQ in the words of CREATE_XSRQ. */
void fake_xsrq(const struct call *c, struct ib_uverbs_create_xsrq *x);

/* fake_mlx5.c: what this driver does differently, or NULL; its mmap. */
bool fake_is_mlx5(void);
fake_run *fake_mlx5_run(uint32_t cmd);
int fake_mlx5_mac(const struct call *c, const uint8_t dgid[16]);
int fake_mlx5_create_cq_ex(const struct call *c);
int fake_create_qp(const struct call *c);
int fake_open_xrcd(const struct call *c);
int fake_mlx5_modify_cq(const struct call *c);
void fake_mlx5_caps(struct ib_uverbs_ex_query_device_resp *r);
bool fake_mlx5_page(struct fake_file *f, size_t len, uint64_t offset);

/* ---- fake_uar.c ---- */
bool fake_uars_numbered(void);	/* then contexts are as the driver wants them */
bool fake_uars_take(struct fake_file *f, uint32_t n);	/* false: all are in use */
void fake_uars_drop(const struct fake_file *f);
/* The page at an offset that is being mapped; 0: they have no numbers. */
uint32_t fake_uar_mapped(struct fake_file *f, uint64_t offset);

/* ---- fake_dmabuf.c ---- */
struct ib_uverbs_ioctl_hdr;
void fake_dmabuf_drop(struct fake_obj *o);	/* if it holds one */
int fake_dmabuf_reg(struct fake_file *f, struct ib_uverbs_ioctl_hdr *h);

/* ---- fake_gid.c ---- */
void fake_gid_default(void);
int fake_gid_query(const struct ib_uverbs_ioctl_hdr *h);

/* ---- fake_uverbs.c: a file of sysfs; 0 or not ---- */
#define FAKE_HCA	"infiniband/rxe0/"
int fake_sysfs_put(const char *name, const char *text);

/* ---- fake_frame.c ---- */
/* Around each call of the kernel, as two threads make them. */
void fake_lock(void);
void fake_unlock(void);
ssize_t fake_write(int fd, const void *buf, size_t len);
int fake_ioctl(int fd, unsigned long req, void *arg);

#endif
