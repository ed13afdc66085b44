// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * See check.h. The backend may be hostile: every index, length and number is any 32
 * bits.
 */
#include "check.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#endif

#define STATUS_MAX	133		/* EHWPOISON, the last errno */
#define QP_STATE_MAX	6		/* IB_QPS_ERR */

const char *vhca_check_rsp_prod(uint32_t prod, uint32_t cons, uint32_t sent)
{
	if (prod - cons > sent - cons)
		return "backend answered more commands than it got";
	return NULL;
}

const char *vhca_check_rsp_id(const struct xenvhca_response *rsp)
{
	if (rsp->id >= XENVHCA_MAX_ID)
		return "backend answered with an id out of range";
	return NULL;
}

const char *vhca_check_rsp(const struct xenvhca_response *rsp,
			   const struct xenvhca_request *req)
{
	if (!req)
		return "backend answered an id that is not pending";
	if (rsp->op != req->op)
		return "backend answered another operation than asked";
	if (rsp->out_len > req->out_len || rsp->out_len > XENVHCA_UDATA_SIZE)
		return "backend answered with more udata than asked";
	return NULL;
}

int vhca_check_status(uint16_t op, int32_t status)
{
	/* XEN_E* has the numbers of Linux' errno. */
	if (status > 0 || status < -STATUS_MAX)
		return -EIO;
	/* A neighbour on Ethernet did not answer. These two commands lend no memory. */
	if (status == -ETIMEDOUT && (op == XENVHCA_OP_MODIFY_QP || op == XENVHCA_OP_CREATE_AH))
		return status;
	/* These two tell a waiter that there was no answer. */
	if (status == -EINTR || status == -ETIMEDOUT)
		return -EIO;
	return status;
}

const char *vhca_check_evt_prod(uint32_t prod, uint32_t cons)
{
	if (prod - cons > XENVHCA_EVT_ENTRIES)
		return "backend overran the event ring";
	return NULL;
}

const char *vhca_check_kick_cons(uint32_t cons, uint32_t prod)
{
	if (prod - cons > XENVHCA_KICK_ENTRIES)
		return "backend overran the kick ring";
	return NULL;
}

const char *vhca_check_kick_done(uint32_t done, uint32_t seen, uint32_t prod)
{
	if (done - seen > prod - seen)
		return "backend executed more kicks than it got";
	return NULL;
}

#define EV(n) (1u << (n))

/* enum ib_event_type has these numbers in every version of the kernel. */
bool vhca_check_event(const struct xenvhca_event *ev)
{
	static const uint32_t allowed[] = {
		[XENVHCA_EVT_COMP] = EV(0),
		[XENVHCA_EVT_CQ] = EV(0),		/* CQ_ERR */
		[XENVHCA_EVT_QP] = EV(1) | EV(2) | EV(3) | EV(4) | EV(5) |
				   EV(6) | EV(7) | EV(16),
		[XENVHCA_EVT_SRQ] = EV(14) | EV(15),
		[XENVHCA_EVT_PORT] = EV(8) | EV(9) | EV(10) | EV(11) | EV(12) |
				     EV(13) | EV(17) | EV(18),
		[XENVHCA_EVT_CM] = EV(0),
		[XENVHCA_EVT_UMAD] = EV(0),
	};

	if (ev->type >= sizeof(allowed) / sizeof(allowed[0]) || ev->event > 31)
		return false;
	return allowed[ev->type] & EV(ev->event);
}

/* The text goes to logs and sysfs: no control characters, no escapes. */
static bool text_ok(char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size && text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	if (i == size)
		return false;
	memset(text + i, 0, size - i);
	return true;
}

bool vhca_check_info(struct xenvhca_get_info_rsp *info)
{
	return text_ok(info->hca, sizeof(info->hca)) &&
	       text_ok(info->hca_type, sizeof(info->hca_type)) &&
	       text_ok(info->hw_rev, sizeof(info->hw_rev)) &&
	       text_ok(info->board_id, sizeof(info->board_id)) &&
	       text_ok(info->fw, sizeof(info->fw));
}

bool vhca_check_mmap(const struct xenvhca_mmap_rsp *rsp, uint32_t first,
		     uint32_t nr_pages)
{
	return rsp->kind == XENVHCA_MMAP_GRANT && rsp->nr_pages == nr_pages &&
	       rsp->count && rsp->count <= XENVHCA_MMAP_GREFS &&
	       first < nr_pages && rsp->count <= nr_pages - first;
}

bool vhca_check_made(const struct xenvhca_made_rsp *rsp, unsigned int n,
		     uint32_t nr_pages, uint32_t *first)
{
	unsigned int i;

	*first = 0;
	for (i = 0; i < n; i++)
		*first += rsp->count[i];
	return rsp->count[n] <= nr_pages &&
	       *first + rsp->count[n] <= XENVHCA_MMAP_GREFS;
}

bool vhca_check_mmio(const struct xenvhca_mmap_rsp *rsp)
{
	/* 52 address bits, in pages */
	return rsp->kind == XENVHCA_MMAP_MMIO && rsp->nr_pages == 1 &&
	       !rsp->count && rsp->frame < 1ull << 40;
}

bool vhca_check_gids(const struct xenvhca_query_gid_table_rsp *rsp,
		     uint32_t first, uint32_t len, uint32_t *end)
{
	uint32_t i, next = first;

	if (rsp->count > XENVHCA_GIDS_PER_RSP)
		return false;
	if (rsp->next && rsp->next <= first)
		return false;		/* the frontend would ask for ever */
	*end = rsp->next && rsp->next < len ? rsp->next : len;
	for (i = 0; i < rsp->count; i++) {
		if (rsp->gid[i].index < next || rsp->gid[i].index >= *end)
			return false;
		next = rsp->gid[i].index + 1u;
	}
	return true;
}

bool vhca_check_pkeys(const struct xenvhca_query_pkey_table_rsp *rsp)
{
	return rsp->count && rsp->count <= XENVHCA_PKEYS_PER_RSP;
}

/* A file of sysfs, beside those of the frontend ("vhca_...") and Linux' own. */
static bool counter_name_ok(const char *name)
{
	unsigned int i;

	for (i = 0; i < XENVHCA_COUNTER_NAME && name[i]; i++)
		if (!(name[i] >= 'a' && name[i] <= 'z') &&
		    !(name[i] >= 'A' && name[i] <= 'Z') &&
		    !(name[i] >= '0' && name[i] <= '9') && name[i] != '_')
			return false;
	return i && i < XENVHCA_COUNTER_NAME && strcmp(name, "lifespan") &&
	       strncmp(name, "vhca_", 5);
}

bool vhca_check_counter_names(const struct xenvhca_query_counter_names_rsp *rsp,
			      uint32_t first, uint32_t total)
{
	uint32_t i;

	if (rsp->total != total || total > XENVHCA_MAX_COUNTERS ||
	    rsp->count > XENVHCA_NAMES_PER_RSP || first > total ||
	    rsp->count > total - first || (!rsp->count && first < total))
		return false;
	for (i = 0; i < rsp->count; i++)
		if (!counter_name_ok(rsp->name[i]))
			return false;
	return true;
}

bool vhca_check_counters(const struct xenvhca_query_counters_rsp *rsp,
			 uint32_t first, uint32_t total)
{
	return rsp->count && rsp->count <= XENVHCA_COUNTERS_PER_RSP &&
	       first < total && rsp->count <= total - first;
}

bool vhca_check_cqe(uint32_t cqe, uint32_t asked)
{
	return cqe >= asked && cqe <= 0x7fffffffu;
}

bool vhca_check_qp(const struct xenvhca_qp_attr *attr)
{
	return attr->qp_state <= QP_STATE_MAX &&
	       attr->cur_qp_state <= QP_STATE_MAX;
}
