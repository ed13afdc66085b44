/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * Shared part of the verbs programs (vhca-probe, vhca-xfer, vhca-bench).
 *
 * Owns: the opened device, the out-of-band link between two sides, one
 * connected endpoint and the data pattern. A side is used by one thread only.
 * Nothing that a peer or a device does is trusted to end: every wait has a
 * limit, and what comes over the out-of-band link is checked before use.
 */
#ifndef VHCA_TESTS_VT_H
#define VHCA_TESTS_VT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define VT_PORT		1	/* HCA port that every program uses */
#define VT_WHY		320	/* longest explanation of a failure */
#define VT_GUARD	64	/* bytes kept around data to catch overruns */
#define VT_GRH		40	/* bytes a UD receive puts before the data */
#define VT_QKEY		0x11223344
#define VT_RECV		(1ull << 63)	/* marks a wr_id as a receive */

/*
 * What rxe of Linux 6.1 does not do, also through a vhca: it has no bounds for
 * memory windows, flags an invalidated key with the kernel's bit (4, not 8)
 * and does not look at receives that are posted in the error state.
 */
#define VT_VENDOR_RXE	0xffffff

#define VT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct vt_opt {
	const char *dev;	/* NULL: first device */
	int gid_index;
	bool events;		/* wait by completion channel, do not poll */
	int timeout_ms;		/* limit of every single wait */
	int pause_ms;		/* of traffic, between two rounds */
};

struct vt_dev {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
	uint32_t seen;		/* types of async events that were taken */
};

/* Is it a ConnectX-3 or a ConnectX-3 Pro, by the PCI device? */
static inline bool vt_mlx4(const struct ibv_device_attr *a)
{
	return a->vendor_part_id == 0x1003 || a->vendor_part_id == 0x1007;
}

struct vt_oob {
	int fd;
	bool peer_over;		/* the peer already sent its verdict */
	int peer_rc;
	char peer_why[VT_WHY];
};

/* One of the two parties of a test; init starts the transfers. */
struct vt_side {
	struct vt_dev *dev;
	const struct vt_opt *opt;
	struct vt_oob oob;
	bool init;
	char why[VT_WHY];
};

struct vt_ep_attr {
	enum ibv_qp_type type;
	int depth;		/* send and receive requests, each */
	int sge;
	int inl;
	size_t len;		/* bytes of data in the buffer */
	size_t skew;		/* misalignment of the data, bytes */
	int access;		/* of the memory region */
	int rnr_retry;		/* 7: for ever */
	int retry_cnt;
	int timeout;		/* 4.096 us * 2^timeout */
	struct ibv_srq *srq;	/* receives come from here, not owned */
};

/* What a side tells its peer about an endpoint. */
struct vt_peer {
	uint32_t qpn;
	uint32_t psn;
	uint32_t rkey;
	uint32_t mtu;
	uint64_t addr;
	uint64_t len;
	uint16_t lid;
	uint8_t gid[16];
	uint8_t pad[6];
};

struct vt_ep {
	struct vt_side *side;
	struct vt_ep_attr attr;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *mem;		/* mapping: guard, data, guard */
	size_t mem_len;
	uint8_t *data;		/* attr.len bytes (UD: after room for a GRH) */
	uint32_t psn;
	unsigned int events;	/* taken from the channel, not yet acked */
	struct vt_peer peer;
};

/* Work request in a form that covers every opcode used here. */
struct vt_wr {
	uint64_t id;
	enum ibv_wr_opcode op;
	size_t off;		/* in our data */
	size_t roff;		/* in the peer's data */
	uint32_t len;
	uint32_t lkey;		/* 0: that of the endpoint */
	uint32_t rkey;		/* 0: the peer's */
	uint32_t imm;		/* or the rkey to invalidate */
	unsigned int flags;
	bool quiet;		/* not signaled */
	uint64_t add, swap;	/* atomics */
	uint32_t rqpn;		/* UD; 0: the peer's */
	uint32_t qkey;		/* UD; 0: VT_QKEY */
};

/* vt_dev.c */
int vt_open(struct vt_dev *d, const struct vt_opt *o, char *why);
void vt_close(struct vt_dev *d);
struct ibv_context *vt_open_name(const char *name, char *why);
const char *vt_errno(int err);
uint64_t vt_now_ns(void);
int vt_fail(struct vt_side *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int vt_async_fatal(struct vt_dev *d);
void vt_fill(void *buf, size_t len, uint64_t seed);
ptrdiff_t vt_check(const void *buf, size_t len, uint64_t seed);
bool vt_all(const void *buf, size_t len, uint8_t value);

/* vt_oob.c */
int vt_oob_pair(struct vt_oob *a, struct vt_oob *b);
int vt_oob_listen(int port, char *why);
int vt_oob_accept(int lfd, struct vt_oob *o, int timeout_ms, char *why);
int vt_oob_connect(struct vt_oob *o, const char *host, int port,
		   int timeout_ms, char *why);
void vt_oob_close(struct vt_oob *o);
int vt_send(struct vt_side *s, const void *buf, size_t len);
int vt_recv(struct vt_side *s, void *buf, size_t len, int timeout_ms);
int vt_xchg(struct vt_side *s, const void *mine, void *theirs, size_t len);
int vt_sync(struct vt_side *s);
int vt_verdict(struct vt_side *s, int rc);

/* vt_ep.c */
void vt_ep_defaults(struct vt_ep_attr *a, enum ibv_qp_type type, size_t len);
int vt_ep_open(struct vt_side *s, struct vt_ep *ep,
	       const struct vt_ep_attr *a);
int vt_ep_connect(struct vt_ep *ep);
int vt_ep_reconnect(struct vt_ep *ep);
void vt_ep_close(struct vt_ep *ep);
bool vt_ep_guards_ok(const struct vt_ep *ep);
void vt_ep_guards_set(struct vt_ep *ep);
struct ibv_ah *vt_ah(struct vt_side *s, const uint8_t *gid, uint16_t lid);

/* vt_wr.c */
int vt_post(struct vt_ep *ep, const struct vt_wr *w);
int vt_post_recv(struct vt_ep *ep, uint64_t id, size_t off, uint32_t len);
int vt_wait(struct vt_ep *ep, struct ibv_wc *wc, int timeout_ms);
int vt_want(struct vt_ep *ep, struct ibv_wc *wc, enum ibv_wc_status status,
	    const char *what);
int vt_quiet(struct vt_ep *ep, int ms, const char *what);

#endif
