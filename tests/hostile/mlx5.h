/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a backend of an mlx5 answers, honest and not, without Xen: hostile-backend
 * sends it, and a unit test has the frontend's checks look at it.
 */
#ifndef MLX5_H
#define MLX5_H

#include <stdint.h>

#include <xen/io/vhcaif.h>

/*
 * Ways of answering the MMAP of a doorbell page, of which the first MLX5_WELL_FORMED
 * pass the frontend's checks: of those only Xen knows that they are lies.
 */
enum {
	MLX5_FRAME_RAM,		/* memory: Xen's, or some domain's */
	MLX5_FRAME_APIC,	/* registers that are no guest's */
	MLX5_FRAME_ROM,
	MLX5_FRAME_0,
	MLX5_FRAME_LAST,	/* the last one that an address may have */
	MLX5_WELL_FORMED,
	MLX5_FRAME_HUGE = MLX5_WELL_FORMED,
	MLX5_GRANTS,		/* of a kind that is for queues */
	MLX5_NO_KIND,
	MLX5_CACHED,		/* an attribute that registers must not have */
	MLX5_TWO_PAGES,
	MLX5_WITH_LIST,
	MLX5_DOORBELLS
};

/* GET_INFO: who we are. */
void mlx5_info(struct xenvhca_get_info_rsp *r);
/* Fills udata, where this operation has some; the rest of @rsp is made. */
void mlx5_udata(uint32_t handle, const struct xenvhca_request *req,
		struct xenvhca_response *rsp);
/* The answer to MMAP of a doorbell page in the way @how. */
void mlx5_doorbell(unsigned int how, struct xenvhca_response *rsp);

#endif
