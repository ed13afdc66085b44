/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the frontend demands of the numbers that a backend sends. This is plain
 * C without kernel types, so that unit tests and fuzzers run the code of the
 * module itself. All arguments are private copies, and there is no state. A
 * function that returns a string returns NULL if all is well, else the reason
 * to give the device up.
 */
#ifndef VHCA_CHECK_H
#define VHCA_CHECK_H

#include <xen/io/vhcaif.h>

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
#endif

/* ---- ring_cmd.c, ring_event.c, ring_kick.c ---- */
/**
 * vhca_check_rsp_prod() - may the response index be what the backend says?
 * @prod: read once from the ring
 * @cons: responses taken so far
 * @sent: requests sent so far
 */
const char *vhca_check_rsp_prod(uint32_t prod, uint32_t cons, uint32_t sent);
/* Must pass before the id of a response is used as an index. */
const char *vhca_check_rsp_id(const struct xenvhca_response *rsp);
/**
 * vhca_check_rsp() - does a response answer its request?
 * @rsp: private copy of the answer
 * @req: what was sent with this id; NULL: nothing is outstanding
 */
const char *vhca_check_rsp(const struct xenvhca_response *rsp,
			   const struct xenvhca_request *req);
/*
 * The status as an errno of Linux: 0, what it was, or -EIO if it is none, or one by
 * which a waiter says that there was no answer.
 */
int vhca_check_status(int32_t status);
/* @cons: entries consumed so far */
const char *vhca_check_evt_prod(uint32_t prod, uint32_t cons);
/* @prod: entries produced so far */
const char *vhca_check_kick_cons(uint32_t cons, uint32_t prod);
/* @seen: what passed last time; @prod: as it was not before @done was read */
const char *vhca_check_kick_done(uint32_t done, uint32_t seen, uint32_t prod);

/* ---- event.c ---- */
/* Can this happen to an object of this type? Else it is to be ignored. */
bool vhca_check_event(const struct xenvhca_event *ev);

/* ---- bodies of responses ---- */
/* Strings ended, printable and cut there; false: this is no description. */
bool vhca_check_info(struct xenvhca_get_info_rsp *info);
/* @nr_pages: pages asked for; @first: index of the first reference */
bool vhca_check_mmap(const struct xenvhca_mmap_rsp *rsp, uint32_t first,
		     uint32_t nr_pages);
/* The same of the @n-th range of an answer; *first: out, where its list begins. */
bool vhca_check_made(const struct xenvhca_made_rsp *rsp, unsigned int n,
		     uint32_t nr_pages, uint32_t *first);
bool vhca_check_mmio(const struct xenvhca_mmap_rsp *rsp);
/**
 * vhca_check_gids() - is this a sorted part of a table?
 * @rsp: the answer
 * @first: index asked for
 * @len: length of the table
 * @end: out, the answer speaks for the indices first .. end - 1
 */
bool vhca_check_gids(const struct xenvhca_query_gid_table_rsp *rsp,
		     uint32_t first, uint32_t len, uint32_t *end);
bool vhca_check_pkeys(const struct xenvhca_query_pkey_table_rsp *rsp);
/**
 * vhca_check_counter_names() - is this a part of a list of names?
 * @rsp: the answer
 * @first: index asked for
 * @total: names that the answers before this one promised
 *
 * The names are fit for sysfs; whether one comes twice is not looked at.
 */
bool vhca_check_counter_names(const struct xenvhca_query_counter_names_rsp *rsp,
			      uint32_t first, uint32_t total);
/* Likewise of values; there are @total. */
bool vhca_check_counters(const struct xenvhca_query_counters_rsp *rsp,
			 uint32_t first, uint32_t total);
/* @asked: entries that ib_core wanted at least */
bool vhca_check_cqe(uint32_t cqe, uint32_t asked);
bool vhca_check_qp(const struct xenvhca_qp_attr *attr);

#endif
