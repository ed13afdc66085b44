/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the files of the mlx5 driver's family share, beside its commands
 * (cx_cmd.h): its completion entries and send WQEs.
 */
#ifndef CX_MLX5_H
#define CX_MLX5_H

#include "cx_eng.h"

/* The free-running timer, also of completion entries. */
uint64_t cx_cycles(const struct cx_dev *d);

/* ---- cx_mlx5_cqe.c ---- */
/* An entry's opcode and time, and what is wrong, if something is. */
void cx_cqe_begin(struct cx_dev *d, struct mlx5_cqe64 *cqe, uint8_t op,
		  uint8_t syndrome, uint8_t vendor);
void cx_mlx5_complete(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
		      const struct cx_comp *comp);

/* ---- cx_mlx5_wqe.c ---- */
int cx_mlx5_sq_posted(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi);
int cx_mlx5_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		     struct cx_swqe *w);
int cx_mlx5_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		     struct cx_swqe *w);
uint8_t cx_mlx5_local(struct cx_dev *d, struct cx_qp *qp,
		      const struct cx_swqe *w);

/* ---- cx_tm.c ---- */
/* A WQE that changes the list; 0, -EINVAL. */
int cx_tm_op(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w);
/*
 * Marks the completion of a receive WQE of such a queue, or of a tagged buffer:
 * software gets the latter back also when the message failed.
 */
void cx_tm_stamp(struct cx_dev *d, struct cx_qp *qp, struct mlx5_cqe64 *cqe,
		 bool failed);

#endif
