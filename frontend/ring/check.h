/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Checks of the numbers that a backend sends. This is plain C without kernel types, so
 * that unit tests and fuzzers run the code of the module itself. All arguments are
 * private copies, and there is no state. A function that returns a string returns NULL
 * if all is well, else the reason to give the device up.
 */
#ifndef VHCA_CHECK_H
#define VHCA_CHECK_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#include <xen/io/vhcaif.h>

/* ---- ring_cmd.c, ring_event.c, ring_kick.c ---- */
/* @prod: response index, read once from the ring; @cons: responses taken; @sent: requests */
const char *vhca_check_rsp_prod(uint32_t prod, uint32_t cons, uint32_t sent);
/* Must pass before the id of a response is used as an index. */
const char *vhca_check_rsp_id(const struct xenvhca_response *rsp);
/* @req: the request with this id; NULL: none is outstanding */
const char *vhca_check_rsp(const struct xenvhca_response *rsp,
			   const struct xenvhca_request *req);
/*
 * @op: of the request. Returns 0 or the errno; -EIO if it is no errno, or one by which a
 * caller that lent memory would hold it as if there were no answer.
 */
int vhca_check_status(uint16_t op, int32_t status);
/* @cons: entries consumed so far */
const char *vhca_check_evt_prod(uint32_t prod, uint32_t cons);
/* @prod: entries produced so far */
const char *vhca_check_kick_cons(uint32_t cons, uint32_t prod);
/* @seen: the last value that passed; @prod: read after @done */
const char *vhca_check_kick_done(uint32_t done, uint32_t seen, uint32_t prod);

/* ---- event.c ---- */
/* Can this event happen to an object of this type? False: ignore it. */
bool vhca_check_event(const struct xenvhca_event *ev);

/* ---- bodies of responses ---- */
/* Are the strings printable and terminated? Clears all behind the terminators. */
bool vhca_check_info(struct xenvhca_get_info_rsp *info);
/* @nr_pages: pages asked for; @first: index of the first reference */
bool vhca_check_mmap(const struct xenvhca_mmap_rsp *rsp, uint32_t first,
		     uint32_t nr_pages);
/* Of the @n-th range of an answer; *first: out, where its list begins. */
bool vhca_check_made(const struct xenvhca_made_rsp *rsp, unsigned int n,
		     uint32_t nr_pages, uint32_t *first);
bool vhca_check_mmio(const struct xenvhca_mmap_rsp *rsp);
/*
 * Is the answer a sorted part of a table of length @len, from index @first on? *end: out,
 * the answer is for the indices first .. end - 1.
 */
bool vhca_check_gids(const struct xenvhca_query_gid_table_rsp *rsp,
		     uint32_t first, uint32_t len, uint32_t *end);
bool vhca_check_pkeys(const struct xenvhca_query_pkey_table_rsp *rsp);
/*
 * Is the answer a part, from @first on, of a list of @total names that are fit for sysfs?
 * Duplicates pass.
 */
bool vhca_check_counter_names(const struct xenvhca_query_counter_names_rsp *rsp,
			      uint32_t first, uint32_t total);
/* Is the answer a part, from @first on, of @total values? */
bool vhca_check_counters(const struct xenvhca_query_counters_rsp *rsp,
			 uint32_t first, uint32_t total);
/* @asked: least number of entries for ib_core */
bool vhca_check_cqe(uint32_t cqe, uint32_t asked);
bool vhca_check_qp(const struct xenvhca_qp_attr *attr);

#endif
