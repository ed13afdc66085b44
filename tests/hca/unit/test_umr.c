// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Page lists that the driver's UMR QP fills in, as mlx5r_umr_update_mr_pas() does for
 * regions of dma-bufs; with the property umr-lists.
 */
#include <stdlib.h>

#include "pair.h"

#define PAGE		4096u
#define PAGES		16u
#define VA		0x7f0000000000ull
#define FREE		BIT_ULL(29)
#define ENABLE		(FREE | BIT_ULL(0) | BIT_ULL(1) | BIT_ULL(6) | BIT_ULL(7) | \
			 BIT_ULL(13) | BIT_ULL(17) | BIT_ULL(18) | BIT_ULL(19) | \
			 BIT_ULL(20) | BIT_ULL(21))
#define REVOKE		(FREE | BIT_ULL(7))
#define CHECK_FREE	BIT(5)		/* not bound before */
#define OFFSET		BIT(4)
#define INLINE		BIT(7)

struct wqe {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_umr_ctrl_seg umr;
	struct mlx5_wqe_mkey_context_seg mkey;
	struct mlx5_wqe_data_seg data;
};

struct umr {
	struct pair *p;
	struct drv_qp qp;
	uint32_t dma, key;	/* of all memory; of the region */
	uint64_t *list;
};

static void begin(struct umr *u, struct pair *p)
{
	struct drv_qp_init init = { .type = DRV_UMR, .scq = &p->b.scq,
				    .rcq = &p->b.rcq };
	struct drv_path path = pair_path();

	u->p = p;
	ok(drv_qp(&p->b.drv, &u->qp, &init));
	ok(drv_qp_up(&u->qp, &path));
	ok(drv_dma_mr(&p->b.drv, &u->dma, DRV_LW));
	ok(drv_free_mr(&p->b.drv, &u->key, PAGES / 2));
	u->list = rig_alloc(p->rig, PAGE);
	assert_non_null(u->list);
	memset(u->list, 0, PAGE);
}

static void end(struct umr *u)
{
	ok(drv_mkey_destroy(&u->p->b.drv, u->key));
	ok(drv_mkey_destroy(&u->p->b.drv, u->dma));
	ok(drv_qp_destroy(&u->qp));
}

static void post(struct umr *u, struct drv_qp *qp, struct wqe *w)
{
	size_t len = w->umr.flags & INLINE ? sizeof(*w) - 16 : sizeof(*w);
	size_t i;

	mlx5dv_set_ctrl_seg(&w->ctrl, qp->sq_pi, MLX5_OPCODE_UMR, 0, qp->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, len / 16, 0,
			    htobe32(u->key));
	for (i = 0; i < len; i += 16)
		memcpy(qp->sq + (qp->sq_pi * 64UL + i) % (64UL << qp->log_sq),
		       (const uint8_t *)w + i, 16);
	qp->sq_pi += (len + 63) / 64;
	drv_ring(qp, &w->ctrl, qp->uar);
}

/* List entries from one on, of which the first is at position at of the region. */
static struct wqe list_wqe(struct umr *u, unsigned int first, unsigned int octo,
			   unsigned int at, uint64_t mask, uint64_t len)
{
	struct wqe w = {
		.umr.flags = CHECK_FREE | (at ? OFFSET : 0),
		.umr.klm_octowords = htobe16(octo),
		.umr.translation_offset = htobe16(at / 2),
		.umr.mkey_mask = htobe64(mask),
		.mkey.access_flags = 0x7c,	/* all */
		.mkey.qpn_mkey = htobe32(0xffffff00 | (u->key & 0xff)),
		.mkey.flags_pd = htobe32(u->p->b.drv.pd),
		.mkey.start_addr = htobe64(VA),
		.mkey.len = htobe64(len),
		.mkey.log_page_size = 12,
	};

	mlx5dv_set_data_seg(&w.data, octo * 16, u->dma,
			    rig_bus(u->p->rig, u->list + first));
	return w;
}

/* The region's pages in the order of b's memory, or in the opposite one. */
static void pages(struct umr *u, unsigned int nr, bool backwards)
{
	unsigned int i, n;

	for (i = 0; i < nr; i++) {
		n = backwards ? nr - 1 - i : i;
		u->list[i] = htobe64(rig_bus(u->p->rig, u->p->b.mem + n * PAGE)
				     | 3);
	}
}

static void done(struct umr *u)
{
	struct drv_wc wc = get_wc(&u->p->b, &u->p->b.scq, MLX5_CQE_REQ);

	assert_int_equal(be32toh(wc.cqe.sop_drop_qpn) >> 24, MLX5_OPCODE_UMR);
}

static void failed(struct umr *u)
{
	get_err(&u->p->b, &u->p->b.scq, MLX5_CQE_SYNDROME_MW_BIND_ERR);
}

static void write_to(struct umr *u, uint64_t off, uint32_t len)
{
	struct pair *p = u->p;

	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, len, VA + off,
		 u->key);
}

static void written(struct umr *u, bool backwards)
{
	struct pair *p = u->p;
	unsigned int i, n;

	fill(p->a.mem, PAGES * PAGE, 9);
	write_to(u, 0, PAGES * PAGE);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	for (i = 0; i < PAGES; i++) {
		n = backwards ? PAGES - 1 - i : i;
		assert_memory_equal(p->b.mem + n * PAGE, p->a.mem + i * PAGE,
				    PAGE);
	}
}

static void announced(void **state)
{
	struct pair *p = *state;
	uint8_t caps[4096];

	ok(drv_caps(&p->a.drv, 1, caps));
	assert_int_equal(CX_GET(cmd_hca_cap, caps,
				umr_modify_entity_size_disabled), 0);
}

static void enabled_and_revoked(void **state)
{
	struct umr u;
	struct wqe w;

	begin(&u, *state);
	pages(&u, PAGES, true);
	w = list_wqe(&u, 0, PAGES / 2, 0, ENABLE, PAGES * PAGE);
	post(&u, &u.qp, &w);
	done(&u);
	written(&u, true);
	/* mlx5r_umr_revoke_mr(); the key is used again, with other pages */
	w = (struct wqe){ .umr.flags = INLINE, .umr.mkey_mask = htobe64(REVOKE),
			  .mkey.free = MLX5_WQE_MKEY_CONTEXT_FREE,
			  .mkey.flags_pd = htobe32(u.p->b.drv.pd),
			  .mkey.qpn_mkey = htobe32(0xffffff00) };
	post(&u, &u.qp, &w);
	done(&u);
	pages(&u, PAGES, false);
	w = list_wqe(&u, 0, PAGES / 2, 0, ENABLE, PAGES * PAGE);
	post(&u, &u.qp, &w);
	done(&u);
	written(&u, false);
	end(&u);
}

static void without_pages_it_is_not_reached(void **state)
{
	struct umr u;
	struct wqe w;

	begin(&u, *state);
	write_to(&u, 0, 8);		/* it has no pages yet */
	get_err(&u.p->a, &u.p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	pages(&u, PAGES, false);
	w = list_wqe(&u, 0, PAGES / 2, 0, ENABLE, PAGES * PAGE);
	post(&u, &u.qp, &w);
	done(&u);
	end(&u);
}

/* A long list comes in parts; the last one enables the region. */
static void in_parts(void **state)
{
	struct umr u;
	struct wqe w;

	begin(&u, *state);
	pages(&u, PAGES, true);
	w = list_wqe(&u, 0, 4, 0, 0, 0);
	post(&u, &u.qp, &w);
	done(&u);
	w = list_wqe(&u, 8, 4, 8, ENABLE, PAGES * PAGE);
	post(&u, &u.qp, &w);
	done(&u);
	written(&u, true);
	end(&u);
}

/* As the driver fills lists up: zeros behind the last page do not matter. */
static void filled_up(void **state)
{
	struct umr u;
	struct wqe w;

	begin(&u, *state);
	pages(&u, PAGES, true);
	w = list_wqe(&u, 0, PAGES / 2 + 3, 0, ENABLE, PAGES * PAGE);
	post(&u, &u.qp, &w);
	done(&u);
	written(&u, true);
	end(&u);
}

static void one_refused(void **state, unsigned int octo, unsigned int at,
			uint64_t len)
{
	struct umr u;
	struct wqe w;

	begin(&u, *state);
	pages(&u, PAGES + 2, false);
	w = list_wqe(&u, 0, octo, at, ENABLE, len);
	post(&u, &u.qp, &w);
	failed(&u);
	end(&u);
}

static void more_than_it_has_room_for(void **state)
{
	one_refused(state, PAGES / 2 + 1, 0, PAGES * PAGE);
}

static void behind_its_room(void **state)
{
	one_refused(state, 2, PAGES, PAGES * PAGE);
}

static void longer_than_its_pages(void **state)
{
	one_refused(state, PAGES / 2, 0, PAGES * PAGE + 1);
}

static void not_by_a_process(void **state)
{
	struct umr u;
	struct wqe w;

	begin(&u, *state);
	pages(&u, PAGES, false);
	w = list_wqe(&u, 0, PAGES / 2, 0, ENABLE, PAGES * PAGE);
	post(&u, &u.p->b.qp, &w);
	failed(&u);
	end(&u);
}

static void not_without_the_property(void **state)
{
	one_refused(state, PAGES / 2, 0, PAGES * PAGE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup_umr, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(announced),
		T(enabled_and_revoked),
		T(without_pages_it_is_not_reached),
		T(in_parts),
		T(filled_up),
		T(more_than_it_has_room_for),
		T(behind_its_room),
		T(longer_than_its_pages),
		T(not_by_a_process),
		cmocka_unit_test_setup_teardown(not_without_the_property,
						pair_setup_rc, pair_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
