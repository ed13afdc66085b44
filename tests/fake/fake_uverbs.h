/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A kernel with one Soft-RoCE HCA, small enough for unit tests: the uverbs
 * write() ABI behind backend/core/sys.h, the lengths checked as the kernel checks them,
 * handles reused at once as the kernel does. It remembers what is alive and
 * pinned, and counts what a careful caller never does. Commands, files and mappings
 * may be those of several threads; what tests ask and tell is one thread's.
 */
#ifndef FAKE_UVERBS_H
#define FAKE_UVERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_type {
	FAKE_PD, FAKE_CQ, FAKE_XRCD, FAKE_QP, FAKE_SRQ, FAKE_MR, FAKE_MW, FAKE_AH,
	FAKE_TYPES
};

#define FAKE_GROUPS	4		/* attachments of a QP */
struct fake_obj {
	bool used;
	enum fake_type type;
	int fd;				/* uverbs file that owns it */
	uint32_t handle;
	uint64_t user_handle;
	uint32_t dep[4];		/* indices + 1 of what it uses */
	unsigned int users;
	uint64_t start, length, iova;	/* MR; queue in user memory */
	uint64_t db;			/* doorbell record, or 0 */
	uint32_t access;
	uint32_t num;			/* qpn, lkey, cqe, ah_num */
	uint64_t ring;			/* mmap offset of CQ, SRQ, send queue */
	uint64_t rq_ring;
	uint32_t cq_flags;		/* IB_UVERBS_CQ_FLAGS_* */
	uint16_t cq_count, cq_period;	/* moderation */
	uint32_t max_tags;		/* of an SRQ */
	uint32_t qp_flags;		/* IB_UVERBS_QP_CREATE_* */
	uint32_t qp_mask;		/* of the last MODIFY_QP */
	uint32_t posts, arms;		/* kicks seen */
	bool solicited;			/* of the last arm */
	uint8_t qp_state, qp_type, port;
	int dmabuf;			/* MR of one: a descriptor of its own, else 0 */
	uint64_t inode;			/* XRCD: one domain in several files */
	unsigned int mcast;		/* of a QP: what ib_core counts */
	struct fake_mcast {		/* ib_uverbs: each pair of GID and LID */
		uint8_t gid[16];
		uint16_t lid;
		bool used, member;	/* the driver: each GID once */
	} group[FAKE_GROUPS];
	uint8_t sgid_index, alt_sgid_index;	/* as the kernel was asked for */
	uint16_t pkey_index, alt_pkey_index;
};

/*
 * The fake kernel: system calls of backend/core/sys.h and host_chardev() are its own in a
 * program that links it; this makes its memory and sysfs. 0 or -1.
 */
int fake_install(void);
/* Takes it out; closes and frees everything. */
void fake_remove(void);

/* The n-th command cmd (enum ib_uverbs_write_cmds) from now on fails; or each. */
#define FAKE_EACH	(~0u)
void fake_fail(uint32_t cmd, unsigned int n, int err);
/* Every command, file and mapping, with EINVAL, until told otherwise. */
void fake_refuse(bool all);
/* Each takes so long. */
void fake_slow(unsigned int us);
/* The same with EIO: the HCA is taken from all files. */
void fake_unplug(bool gone);
/* Before each command cmd from now on, as if another processor was at it; NULL:
 * no more. */
void fake_before(uint32_t cmd, void (*fn)(void));
/*
 * Commands cmd wait from now on, but those of the calling thread; 0: no more. How
 * many wait now, and how many of that thread did not.
 */
void fake_block(uint32_t cmd);
unsigned int fake_blocked(unsigned int *by_keeper);
/* An entry of the GID table of port 1, 0..23; NULL: it is empty. */
void fake_gid(unsigned int index, const uint8_t gid[16]);
/* Of its P_Key table, of one entry (fake_hca.pkeys) at first. */
void fake_pkey(unsigned int index, uint16_t pkey);
void fake_fail_open(int err);
void fake_fail_mmap(int err);

unsigned int fake_live(enum fake_type type);
unsigned int fake_live_all(void);
unsigned int fake_files(void);		/* uverbs files open now */
unsigned int fake_contexts(void);	/* opened so far */
unsigned int fake_vmas(void);		/* mappings of uverbs files */
unsigned int fake_ioctls(void);		/* of all files, so far */
/* Objects destroyed after their memory was unmapped, files closed while
 * mapped, commands with wrong framing: must stay 0. */
unsigned int fake_violations(void);

/* The next object that has a number (qpn, lkey) has this one. */
void fake_number(uint32_t next);
/* Object by kind and order of creation among the living, or NULL. */
struct fake_obj *fake_nth(enum fake_type type, unsigned int n);
/* XRC domain that an SRQ or target QP was made in, or NULL. */
struct fake_obj *fake_xrcd_of(const struct fake_obj *o);
/* The kernel's own view of the queue memory at an mmap offset. */
void *fake_ring(uint64_t offset);
/* Driver data of the last command: what the kernel would have seen. */
const void *fake_last_in(size_t *len);
/* Deliver an event to the file that owns obj. */
void fake_comp_event(const struct fake_obj *cq);
void fake_async_event(const struct fake_obj *obj, uint32_t event);

/* Of the HCA; may be changed before be_dev_open(). */
extern struct fake_hca {
	uint32_t driver_id, abi;
	uint8_t ports;
	uint8_t infiniband;		/* the link layer; to multicast, of port 1 */
	uint16_t pkeys;			/* entries of the table */
	uint32_t max_qp;
	uint64_t max_mr_size;
	uint8_t moody;			/* mlx5: never answers the same */
	bool no_cm;			/* rdma_ucm is not there */
	bool no_dmabuf;			/* mlx5: an old driver */
	bool no_odp;			/* nor a dma-buf, as mlx5 of Linux 6.12 says last */
	uint32_t cqe_size;		/* mlx4 with ABI 4: octets */
	bool av_port;			/* binds datagrams to their queue pair's port */
	uint64_t umr_reach;		/* longest region by a dma-buf, or 0: any */
} fake_hca;

/*
 * A ConnectX instead, as its driver treats contexts, queues in user memory
 * and doorbell pages: to be called before be_dev_open().
 */
#define FAKE_MLX5_IN	32		/* octets of udata of GET_CONTEXT */
#define FAKE_MLX5_OUT	64
#define FAKE_MLX5_TICKS	0x7fffffffffffffffull	/* timestamp_mask */
#define FAKE_MLX5_KHZ	156250ull		/* hca_core_clock */
#define FAKE_MLX5_PERIOD	0x0fff		/* us, of a moderated CQ */
#define FAKE_MLX5_TAGS		127u		/* of an SRQ */
void fake_be_mlx5(void);
void fake_be_rxe(void);			/* again, as fake_install() made it */
/* Request udata of a context; programs of another kind have another tag. */
void fake_mlx5_open(uint8_t udata[FAKE_MLX5_IN], uint32_t tag);
/* The same with so many doorbell registers; the others have 16. */
void fake_mlx5_open_bfregs(uint8_t udata[FAKE_MLX5_IN], uint32_t bfregs);
/* Doorbell pages of the open contexts. */
unsigned int fake_uars(void);
/*
 * Doorbell pages have numbers, first .. end - 1 of at most 4096: the lowest that is
 * free, or the next one after the last.
 */
void fake_uars_are(uint32_t first, uint32_t end, bool lowest);
void fake_uar_next(uint32_t n);		/* where the HCA goes on */
unsigned int fake_uars_used(void);
uint32_t fake_uar_at(const void *addr);	/* of a page that is mapped there */
/* The guest is gone: closes the contexts that the device keeps, or would keep at
 * its end, as the end of the worker and of its guard does. */
struct be_dev;
void fake_settle(struct be_dev *dev);

#endif
