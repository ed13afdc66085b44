/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The guest's memory as the model reaches it: buffers of queues, DMA, and
 * MKEYs with their translation and checks. cx_priv.h includes this.
 */
#ifndef CX_MEM_H
#define CX_MEM_H

#include "cx.h"

/* A queue's pages, as a command listed them; or what a memory key has from address 0 on. */
struct cx_buf {
	uint64_t *page;
	uint32_t nr;
	uint8_t log_page;	/* 12 .. 31 */
	uint32_t offset;	/* of the queue in the first page, bytes */
	uint64_t size;		/* of the queue, bytes */
	bool keyed;		/* no pages, but: */
	uint32_t key, pd;
};

/**
 * cx_buf_init() - takes a page list of a command
 * @pas: nr big-endian bus addresses; low 12 bits are ignored
 *
 * Return: 0, -EINVAL if the pages do not hold offset + size bytes, -ENOMEM.
 */
int cx_buf_init(struct cx_buf *b, const void *pas, uint32_t nr,
		uint8_t log_page, uint32_t offset, uint64_t size);
/* Each access is checked as one by a work request of that domain. */
void cx_buf_init_key(struct cx_buf *b, uint32_t key, uint32_t pd, uint64_t size);
void cx_buf_free(struct cx_buf *b);
/* 0 or -EFAULT; off + len beyond the queue is -EFAULT too. */
int cx_buf_read(struct cx_dev *d, const struct cx_buf *b, uint64_t off,
		void *to, size_t len);
int cx_buf_write(struct cx_dev *d, const struct cx_buf *b, uint64_t off,
		 const void *from, size_t len);
int cx_dma_read(struct cx_dev *d, uint64_t addr, void *to, size_t len);
int cx_dma_write(struct cx_dev *d, uint64_t addr, const void *from,
		 size_t len);
/* The counter of a doorbell record, wherever the family has it; 0 or -EFAULT. */
int cx_record_read(struct cx_dev *d, uint64_t record, uint32_t *count);
/*
 * Counted up while in host->dma_*() and host->irq(). A guest may have pointed
 * them at the registers of a device: cx_mmio_write() ignores such a
 * store, nothing below a DMA changes under the caller's feet.
 */
extern _Thread_local unsigned int cx_dma_depth;

enum cx_access {
	CX_LR = 1, CX_LW = 2, CX_RR = 4, CX_RW = 8, CX_ATOMIC = 16,
};

#define CX_ANY_QPN	0xffffffu	/* in an MKEY: not for one QP alone */

struct cx_klm {
	uint32_t bytes, key;
	uint64_t va;
};

struct cx_mkey {
	uint32_t index;		/* key = index << 8 | variant */
	uint8_t variant;
	bool free;		/* created or invalidated: not usable */
	bool pa;		/* access_mode PA: addresses are bus addresses */
	bool klms;		/* translated by klm[], else by mtt[] */
	bool length64;		/* all of the address space */
	bool umr_en;
	bool rinval;		/* a message may end it; a window: of type 2 */
	uint8_t access;		/* enum cx_access */
	uint8_t log_page;
	uint32_t pd, qpn;	/* windows of type 2 are bound to qpn */
	uint64_t start, len;
	uint32_t nr;		/* entries used of mtt or klm */
	uint32_t room;		/* entries that a UMR may fill */
	uint64_t *mtt;		/* bus addresses */
	struct cx_klm *klm;
};

/**
 * cx_mkey_check() - may the key be used so?
 * @pd: of the QP; @qpn: for windows of type 2
 * @len: 0 passes always with a valid key
 *
 * Return: the key, or NULL with *why: -EPERM (PD, access), -ENOKEY (no such
 * key, wrong variant, free), -ERANGE (bounds).
 */
struct cx_mkey *cx_mkey_check(struct cx_dev *d, uint32_t key, uint32_t pd,
			      uint32_t qpn, uint64_t addr, uint64_t len,
			      uint8_t access, int *why);
/*
 * May a window with these rights be bound to that part of a region? (A window
 * is no region.) 0, or why not as above.
 */
int cx_mkey_bindable(struct cx_dev *d, const struct cx_klm *klm, uint32_t pd,
		     uint8_t access);
/*
 * Moves bytes of a checked key; the range is checked once more, and access
 * through windows against the region behind. 0 or -EFAULT and those above.
 */
int cx_mkey_read(struct cx_dev *d, const struct cx_mkey *k, uint64_t addr,
		 void *to, size_t len);
int cx_mkey_write(struct cx_dev *d, const struct cx_mkey *k, uint64_t addr,
		  const void *from, size_t len);

#endif
