// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Attributes of verbs for Soft-RoCE. rdma_rxe believes some that a process chose
 * (tools/patches/linux-rxe/README.md lists them); an HCA's firmware judges them. The
 * command thread runs this.
 */
#include <errno.h>

#include "core/ib_core.h"
#include "queue.h"
#include "shadow.h"
#include "uverbs/uverbs.h"

#define MTU_MIN	1	/* IBV_MTU_256 */
#define MTU_MAX	5	/* IBV_MTU_4096 */

/* May the array of the peer's reads be made anew? From RTR on packets use it. */
static bool depth_may_change(const struct be_qp *qp,
			     const struct ib_uverbs_modify_qp *m)
{
	return m->attr_mask & IB_QP_STATE && m->qp_state == IB_QPS_RTR &&
	       qp->state == IB_QPS_INIT;
}

/* On the way to RTS only, as in ib_core's table, which the driver uses. */
static bool may_tell_state(const struct ib_uverbs_modify_qp *m)
{
	return (m->attr_mask & IB_QP_STATE ? m->qp_state : m->cur_qp_state) ==
	       IB_QPS_RTS;
}

int be_rxe_modify_qp(int fd, const struct be_qp *qp,
		     struct ib_uverbs_modify_qp *m)
{
	struct ib_uverbs_query_qp_resp q = {};
	int err;

	if (m->attr_mask & IB_QP_PATH_MTU &&
	    (m->path_mtu < MTU_MIN || m->path_mtu > MTU_MAX))
		return -EINVAL;
	if (m->attr_mask & IB_QP_MAX_DEST_RD_ATOMIC && !depth_may_change(qp, m))
		return -EINVAL;
	if (!(m->attr_mask & IB_QP_CUR_STATE))
		return 0;
	if (!may_tell_state(m))
		return -EINVAL;
	err = uv_query_qp(fd, qp->o.host, IB_QP_STATE, &q);
	if (!err && q.qp_state != m->cur_qp_state)
		err = -EINVAL;
	m->attr_mask &= ~IB_QP_CUR_STATE;	/* it may end in Error before */
	return err;
}

struct be_shadow *be_rxe_resize_srq(struct be_dev *dev, struct be_srq *srq,
				    uint32_t max_wr, int *err)
{
	uint64_t room = vhca_len_pow2((uint64_t)max_wr + 1) - 1;
	struct be_shadow *s = srq->rq;

	*err = 0;
	if (!s)			/* not mapped, so nothing is in it */
		return NULL;
	be_shadow_detach(dev, &srq->o);
	if (!s->behind && be_shadow_queued(s) <= room)
		return s;
	be_shadow_attach(dev, s, &srq->o);
	*err = -EINVAL;
	return NULL;
}
