// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on flow tables, groups and entries, of received frames alone. They
 * are kept as the driver programs them, and interpreted (cx_steer.c). A table
 * goes on with tables of a higher level only, so no frame walks in circles.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define TYPE_NIC_RX	0u	/* FS_FT_NIC_RX */
#define ENABLE_OUTER	1u	/* match_criteria_enable: outer headers */
#define ROOT_DISCONNECT	1u	/* op_mod of SET_FLOW_TABLE_ROOT */
#define MODIFY_MISS	1u	/* MLX5_MODIFY_FLOW_TABLE_MISS_TABLE_ID */
#define MODIFY_DESTS	4u	/* MLX5_SET_FTE_MODIFY_ENABLE_MASK_DESTINATION_LIST */
#define MODIFY_MASK	7u	/* ... and action, tag */

/* All of these commands name the table alike. */
_Static_assert(CX_OFF(destroy_flow_table_in, table_id) ==
	       CX_OFF(set_fte_in, table_id) &&
	       CX_OFF(delete_fte_in, table_id) == CX_OFF(set_fte_in, table_id) &&
	       CX_OFF(create_flow_group_in, table_id) ==
	       CX_OFF(set_fte_in, table_id) &&
	       CX_OFF(destroy_flow_group_in, table_id) ==
	       CX_OFF(set_fte_in, table_id) &&
	       CX_OFF(modify_flow_table_in, table_id) ==
	       CX_OFF(set_fte_in, table_id) &&
	       CX_OFF(set_flow_table_root_in, table_id) ==
	       CX_OFF(set_fte_in, table_id) &&
	       CX_OFF(create_flow_table_in, table_type) ==
	       CX_OFF(set_fte_in, table_type), "one layout");
#define IN_TABLE(c)	CX_GET(set_fte_in, (c)->in, table_id)

static bool is_ours(const struct cx_cmd *c)
{
	return CX_GET(set_fte_in, c->in, table_type) == TYPE_NIC_RX &&
	       !CX_GET(set_fte_in, c->in, other_vport);
}

static struct cx_ft *get_ft(struct cx_dev *d, uint32_t n)
{
	return cx_ids_get(&d->fts, n);
}

/* Entries and groups are counted: they are the model's own memory. */
static void *flow_new(struct cx_dev *d, size_t size)
{
	void *p = d->nic.ftes < CX_MAX_FTE ? calloc(1, size) : NULL;

	d->nic.ftes += p != NULL;
	return p;
}

static void flow_del(struct cx_dev *d, void *p)
{
	d->nic.ftes--;
	free(p);
}

/* ---- tables ---- */
/* Where frames go that no entry matches. */
static enum cx_status miss_parse(struct cx_dev *d, const uint8_t *ctx,
				 uint8_t level, uint32_t *miss)
{
	const struct cx_ft *to;

	*miss = CX_NONE;
	switch (CX_GET(flow_table_context, ctx, table_miss_action)) {
	case MLX5_FLOW_TABLE_MISS_ACTION_DEF:
		return CX_OK;
	case MLX5_FLOW_TABLE_MISS_ACTION_FWD:
		*miss = CX_GET(flow_table_context, ctx, table_miss_id);
		to = get_ft(d, *miss);
		if (!to)
			return CX_BAD_RES;
		return to->level > level ? CX_OK : CX_BAD_PARAM;
	default:
		return CX_BAD_PARAM;
	}
}

static void ft_use(struct cx_dev *d, uint32_t n, int by)
{
	struct cx_ft *ft = get_ft(d, n);

	if (ft)
		ft->users += by;
}

static enum cx_status create_flow_table(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *ctx = CX_ADDR(create_flow_table_in, c->in,
				     flow_table_context);
	uint32_t level = CX_GET(flow_table_context, ctx, level);
	uint32_t log = CX_GET(flow_table_context, ctx, log_size);
	enum cx_status status;
	struct cx_ft *ft;
	uint32_t n, miss;

	if (!is_ours(c) || c->op_mod || level >= CX_FT_LEVELS ||
	    log > CX_LOG_FT_SZ ||
	    CX_GET(flow_table_context, ctx, reformat_en) ||
	    CX_GET(flow_table_context, ctx, decap_en) ||
	    CX_GET(flow_table_context, ctx, sw_owner) ||
	    CX_GET(flow_table_context, ctx, termination_table))
		return CX_BAD_PARAM;
	status = miss_parse(d, ctx, level, &miss);
	if (status)
		return status;
	ft = calloc(1, sizeof(*ft));
	n = ft ? cx_ids_add(&d->fts, ft) : CX_NONE;
	if (n == CX_NONE) {
		free(ft);
		return CX_LIM;
	}
	ft->level = level;
	ft->log_size = log;
	ft->miss = miss;
	ft_use(d, miss, 1);
	CX_SET(create_flow_table_out, c->out, table_id, n);
	return CX_OK;
}

static enum cx_status modify_flow_table(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *ctx = CX_ADDR(modify_flow_table_in, c->in,
				     flow_table_context);
	struct cx_ft *ft = get_ft(d, IN_TABLE(c));
	enum cx_status status;
	uint32_t miss;

	if (!is_ours(c) || !ft)
		return CX_BAD_RES;
	if (CX_GET(modify_flow_table_in, c->in, modify_field_select) !=
	    MODIFY_MISS)
		return CX_BAD_PARAM;
	status = miss_parse(d, ctx, ft->level, &miss);
	if (status)
		return status;
	ft_use(d, miss, 1);
	ft_use(d, ft->miss, -1);
	ft->miss = miss;
	return CX_OK;
}

static void ft_free(struct cx_dev *d, uint32_t n, struct cx_ft *ft)
{
	if (d->nic.root == n)
		d->nic.root = CX_NONE;
	ft_use(d, ft->miss, -1);
	cx_ids_del(&d->fts, n);
	free(ft);
}

static enum cx_status destroy_flow_table(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_ft *ft = get_ft(d, IN_TABLE(c));

	if (!is_ours(c) || !ft)
		return CX_BAD_RES;
	if (ft->users || ft->groups)
		return CX_BAD_RES_STATE;
	ft_free(d, IN_TABLE(c), ft);
	return CX_OK;
}

static enum cx_status set_root(struct cx_dev *d, struct cx_cmd *c)
{
	if (!is_ours(c) ||
	    CX_GET(set_flow_table_root_in, c->in, underlay_qpn))
		return CX_BAD_PARAM;
	if (c->op_mod == ROOT_DISCONNECT) {
		d->nic.root = CX_NONE;
		return CX_OK;
	}
	if (!get_ft(d, IN_TABLE(c)))
		return CX_BAD_RES;
	d->nic.root = IN_TABLE(c);
	return CX_OK;
}

/* ---- groups ---- */
static struct cx_fg **find_group(struct cx_ft *ft, uint32_t id)
{
	struct cx_fg **p;

	for (p = &ft->groups; *p && (*p)->id != id; p = &(*p)->next)
		;
	return p;
}

static bool is_free_range(const struct cx_ft *ft, uint32_t first, uint32_t last)
{
	const struct cx_fg *g;

	if (first > last || last >> ft->log_size)
		return false;
	for (g = ft->groups; g; g = g->next)
		if (first <= g->last && last >= g->first)
			return false;
	return true;
}

static enum cx_status create_flow_group(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t first = CX_GET(create_flow_group_in, c->in, start_flow_index);
	uint32_t last = CX_GET(create_flow_group_in, c->in, end_flow_index);
	uint32_t enable = CX_GET(create_flow_group_in, c->in,
				 match_criteria_enable);
	struct cx_ft *ft = get_ft(d, IN_TABLE(c));
	struct cx_fg *g;

	if (!is_ours(c) || !ft)
		return CX_BAD_RES;
	if ((enable & ~ENABLE_OUTER) ||
	    CX_GET(create_flow_group_in, c->in, group_type) ||
	    !is_free_range(ft, first, last))
		return CX_BAD_PARAM;
	g = flow_new(d, sizeof(*g));
	if (!g)
		return CX_LIM;
	g->id = ft->next_group++;
	g->first = first;
	g->last = last;
	if (enable)
		memcpy(g->criteria,
		       CX_ADDR(create_flow_group_in, c->in, match_criteria),
		       CX_MATCH);
	g->next = ft->groups;
	ft->groups = g;
	CX_SET(create_flow_group_out, c->out, group_id, g->id);
	return CX_OK;
}

static enum cx_status destroy_flow_group(struct cx_dev *d, struct cx_cmd *c)
{
	struct cx_ft *ft = get_ft(d, IN_TABLE(c));
	struct cx_fg *g, **p;

	if (!is_ours(c) || !ft)
		return CX_BAD_RES;
	p = find_group(ft, CX_GET(destroy_flow_group_in, c->in, group_id));
	g = *p;
	if (!g)
		return CX_BAD_RES;
	if (g->users)
		return CX_BAD_RES_STATE;
	*p = g->next;
	flow_del(d, g);
	return CX_OK;
}

/* ---- entries ---- */
static struct cx_fte **find_entry(struct cx_ft *ft, uint32_t index)
{
	struct cx_fte **p;

	for (p = &ft->entries; *p && (*p)->index < index; p = &(*p)->next)
		;
	return p;
}

static bool is_entry(const struct cx_fte *e, uint32_t index)
{
	return e && e->index == index;
}

static void dest_use(struct cx_dev *d, const struct cx_fte *e, int by)
{
	struct cx_tir *tir;

	if (e->dest == CX_DEST_FT)
		ft_use(d, e->id, by);
	if (e->dest != CX_DEST_TIR)
		return;
	tir = cx_ids_get(&d->tirs, e->id);
	tir->users += by;
}

/* One destination, as the capabilities say, or none: then frames are dropped. */
static enum cx_status dest_parse(struct cx_dev *d, const struct cx_ft *ft,
				 const struct cx_cmd *c, struct cx_fte *e)
{
	const uint8_t *ctx = CX_ADDR(set_fte_in, c->in, flow_context);
	const uint8_t *dest = CX_ADDR(flow_context, ctx, destination);
	const struct cx_ft *to;

	if (CX_GET(flow_context, ctx, action) ==
	    MLX5_FLOW_CONTEXT_ACTION_DROP)
		return CX_OK;
	if (CX_GET(flow_context, ctx, action) !=
	    MLX5_FLOW_CONTEXT_ACTION_FWD_DEST ||
	    CX_GET(flow_context, ctx, extended_destination) ||
	    CX_GET(flow_context, ctx, destination_list_size) != 1)
		return CX_BAD_PARAM;
	if (c->in_len < CX_BYTES(set_fte_in) + CX_BYTES(dest_format_struct))
		return CX_BAD_INP_LEN;
	e->id = CX_GET(dest_format_struct, dest, destination_id);
	switch (CX_GET(dest_format_struct, dest, destination_type)) {
	case MLX5_IFC_FLOW_DESTINATION_TYPE_FLOW_TABLE:
		e->dest = CX_DEST_FT;
		to = get_ft(d, e->id);
		return !to ? CX_BAD_RES :
		       to->level > ft->level ? CX_OK : CX_BAD_PARAM;
	case MLX5_IFC_FLOW_DESTINATION_TYPE_TIR:
		e->dest = CX_DEST_TIR;
		return cx_ids_get(&d->tirs, e->id) ? CX_OK : CX_BAD_RES;
	default:
		return CX_BAD_PARAM;
	}
}

/* Changes what its command names of an entry that is there. */
static enum cx_status modify_fte(struct cx_dev *d, struct cx_cmd *c,
				 struct cx_fte *e, const struct cx_fte *from)
{
	uint32_t mask = CX_GET(set_fte_in, c->in, modify_enable_mask);

	if (!e)
		return CX_BAD_RES;
	if ((mask & ~MODIFY_MASK) || from->group != e->group)
		return CX_BAD_PARAM;
	if (!(mask & MODIFY_DESTS))
		return CX_OK;
	dest_use(d, from, 1);
	dest_use(d, e, -1);
	e->dest = from->dest;
	e->id = from->id;
	return CX_OK;
}

static enum cx_status add_fte(struct cx_dev *d, struct cx_fte **p,
			      const struct cx_fte *from)
{
	struct cx_fte *e;

	if (is_entry(*p, from->index))
		return CX_BAD_RES_STATE;
	e = flow_new(d, sizeof(*e));
	if (!e)
		return CX_LIM;
	*e = *from;
	e->next = *p;
	*p = e;
	e->group->users++;
	dest_use(d, e, 1);
	return CX_OK;
}

static enum cx_status set_fte(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *ctx = CX_ADDR(set_fte_in, c->in, flow_context);
	struct cx_ft *ft = get_ft(d, IN_TABLE(c));
	struct cx_fte e = { 0 }, **p;
	enum cx_status status;

	if (!is_ours(c) || !ft)
		return CX_BAD_RES;
	e.index = CX_GET(set_fte_in, c->in, flow_index);
	e.tag = CX_GET(flow_context, ctx, flow_tag);
	e.group = *find_group(ft, CX_GET(flow_context, ctx, group_id));
	memcpy(e.value, CX_ADDR(flow_context, ctx, match_value), CX_MATCH);
	if (!e.group)
		return CX_BAD_RES;
	if (CX_GET(set_fte_in, c->in, ignore_flow_level) || c->op_mod > 1 ||
	    e.index < e.group->first || e.index > e.group->last)
		return CX_BAD_PARAM;
	status = dest_parse(d, ft, c, &e);
	if (status)
		return status;
	p = find_entry(ft, e.index);
	return c->op_mod ? modify_fte(d, c, is_entry(*p, e.index) ? *p : NULL,
				      &e) :
			   add_fte(d, p, &e);
}

static void del_fte(struct cx_dev *d, struct cx_fte **p)
{
	struct cx_fte *e = *p;

	dest_use(d, e, -1);
	e->group->users--;
	*p = e->next;
	flow_del(d, e);
}

static enum cx_status delete_fte(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t index = CX_GET(delete_fte_in, c->in, flow_index);
	struct cx_ft *ft = get_ft(d, IN_TABLE(c));
	struct cx_fte **p;

	if (!is_ours(c) || !ft)
		return CX_BAD_RES;
	p = find_entry(ft, index);
	if (!is_entry(*p, index))
		return CX_BAD_RES;
	del_fte(d, p);
	return CX_OK;
}

/* ---- all ---- */
void cx_flow_free(struct cx_dev *d)
{
	struct cx_fg *g;
	struct cx_ft *ft;
	uint32_t n;

	CX_EACH(&d->fts, n, ft) {
		while (ft->entries)
			del_fte(d, &ft->entries);
		while ((g = ft->groups)) {
			ft->groups = g->next;
			flow_del(d, g);
		}
	}
	CX_EACH(&d->fts, n, ft)
		ft_free(d, n, ft);
	cx_ids_free(&d->fts);
}

const struct cx_cmd_desc cx_cmds_flow[] = {
	CX_CMD(CREATE_FLOW_TABLE, create_flow_table, create_flow_table),
	CX_CMD(MODIFY_FLOW_TABLE, modify_flow_table, modify_flow_table),
	CX_CMD(DESTROY_FLOW_TABLE, destroy_flow_table, destroy_flow_table),
	CX_CMD(SET_FLOW_TABLE_ROOT, set_root, set_flow_table_root),
	CX_CMD(CREATE_FLOW_GROUP, create_flow_group, create_flow_group),
	CX_CMD(DESTROY_FLOW_GROUP, destroy_flow_group, destroy_flow_group),
	CX_CMD(SET_FLOW_TABLE_ENTRY, set_fte, set_fte),
	CX_CMD(DELETE_FLOW_TABLE_ENTRY, delete_fte, delete_fte),
	{ 0 }
};
