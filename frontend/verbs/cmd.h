/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * One function per opcode of vhcaif.h, named after it, and one for most opcodes that
 * end an object. Request and result are the wire bodies; lists of pages that come from
 * udata are filled in here. All functions sleep.
 *
 * They return 0; the backend's negative errno; -EIO if the device is broken; -EINVAL or
 * -EFAULT for bad udata; -ENOMEM. On -EINTR (fatal signal) and -ETIMEDOUT it is unknown
 * whether the backend has executed or will execute the command (vhca_cmd_unknown()):
 * memory named in it has to stay granted until the ucontext is gone. If the result cannot
 * be copied to the process, the new object is destroyed again and -EFAULT is returned.
 */
#ifndef VHCA_CMD_H
#define VHCA_CMD_H

#include "udata.h"

static inline bool vhca_cmd_unknown(int rc)
{
	return rc == -EINTR || rc == -ETIMEDOUT;
}

int vhca_cmd_get_info(struct vhca_dev *dev, struct xenvhca_get_info_rsp *rsp);
/* @uc, @udata: NULL if the caller is not a process with private data. */
int vhca_cmd_query_device(struct vhca_dev *dev, struct vhca_ucontext *uc,
			  struct ib_udata *udata,
			  struct xenvhca_query_device_rsp *rsp);
int vhca_cmd_query_port(struct vhca_dev *dev,
			struct xenvhca_query_port_rsp *rsp);
int vhca_cmd_query_gid_table(struct vhca_dev *dev, u32 first,
			     struct xenvhca_query_gid_table_rsp *rsp);
int vhca_cmd_query_pkey_table(struct vhca_dev *dev, u32 first,
			      struct xenvhca_query_pkey_table_rsp *rsp);

/* @group: XENVHCA_COUNTERS_*; @first: index to begin with. */
int vhca_cmd_query_counter_names(struct vhca_dev *dev, u32 group, u32 first,
				 struct xenvhca_query_counter_names_rsp *rsp);
int vhca_cmd_query_counters(struct vhca_dev *dev, u32 group, u32 first,
			    struct xenvhca_query_counters_rsp *rsp);

/* Not killable: nothing would ever close a context whose handle was lost. */
int vhca_cmd_alloc_ucontext(struct vhca_dev *dev, struct ib_udata *udata,
			    u32 *ucontext);
int vhca_cmd_dealloc_ucontext(struct vhca_dev *dev, u32 ucontext);

int vhca_cmd_alloc_pd(struct vhca_ucontext *uc, struct ib_udata *udata,
		      u32 *handle);

/* Not killable: the object belongs to no ucontext, so nothing would clean it up. */
int vhca_cmd_alloc_ownerless(struct vhca_dev *dev, u16 op, u16 undo,
			     u32 *handle);

int vhca_cmd_reg_mr(struct vhca_ucontext *uc,
		    const struct xenvhca_reg_mr_req *req,
		    struct ib_udata *udata, struct xenvhca_mr_rsp *rsp);
int vhca_cmd_rereg_mr(struct vhca_ucontext *uc,
		      const struct xenvhca_rereg_mr_req *req,
		      struct ib_udata *udata, struct xenvhca_mr_rsp *rsp);
int vhca_cmd_alloc_mw(struct vhca_ucontext *uc,
		      const struct xenvhca_alloc_mw_req *req,
		      struct ib_udata *udata, struct xenvhca_mr_rsp *rsp);

int vhca_cmd_create_cq(struct vhca_ucontext *uc,
		       const struct xenvhca_create_cq_req *req,
		       struct ib_udata *udata, struct vhca_bufs *bufs,
		       struct xenvhca_cq_rsp *rsp);
int vhca_cmd_resize_cq(struct vhca_ucontext *uc,
		       const struct xenvhca_resize_cq_req *req,
		       struct ib_udata *udata, struct vhca_bufs *bufs,
		       struct xenvhca_cq_rsp *rsp);
int vhca_cmd_modify_cq(struct vhca_ucontext *uc,
		       const struct xenvhca_modify_cq_req *req);

/*
 * @uc: NULL for an XRC target, which is in no context, has no udata, and is
 * made by a command that cannot be killed.
 */
int vhca_cmd_create_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
		       const struct xenvhca_create_qp_req *req,
		       struct ib_udata *udata, struct vhca_bufs *bufs,
		       struct xenvhca_create_qp_rsp *rsp);
int vhca_cmd_modify_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
		       const struct xenvhca_modify_qp_req *req,
		       struct ib_udata *udata);
int vhca_cmd_query_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
		      u32 handle, u32 mask, struct xenvhca_query_qp_rsp *rsp);

int vhca_cmd_create_srq(struct vhca_ucontext *uc,
			const struct xenvhca_create_srq_req *req,
			struct ib_udata *udata, struct vhca_bufs *bufs,
			struct xenvhca_create_srq_rsp *rsp);
int vhca_cmd_modify_srq(struct vhca_ucontext *uc,
			const struct xenvhca_modify_srq_req *req,
			struct ib_udata *udata, struct vhca_bufs *bufs);
int vhca_cmd_query_srq(struct vhca_ucontext *uc, u32 handle,
		       struct xenvhca_query_srq_rsp *rsp);

int vhca_cmd_create_ah(struct vhca_ucontext *uc,
		       const struct xenvhca_create_ah_req *req,
		       struct ib_udata *udata, u32 *handle);
int vhca_cmd_attach_mcast(struct vhca_ucontext *uc,
			  const struct xenvhca_mcast_req *req);
int vhca_cmd_detach_mcast(struct vhca_ucontext *uc,
			  const struct xenvhca_mcast_req *req);

/*
 * The commands that end an object. They use the reserved slots and are not
 * killable; a time-out breaks the device. VHCA_LEFT: see verbs.h.
 */
/* Any object of a ucontext, by the op that ends its kind. */
int vhca_cmd_destroy(struct vhca_ucontext *uc, u16 op, u32 handle);
int vhca_cmd_dealloc_ownerless(struct vhca_dev *dev, u16 op, u32 handle);
int vhca_cmd_destroy_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
			u32 handle);

#endif
