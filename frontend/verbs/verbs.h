/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The verbs that the frontend implements, one line per operation of ib_core,
 * and what the object files share. Every op runs in process context, may sleep
 * (docs/design/locking.md), and returns 0 or a negative errno as the physical HCA's driver
 * would.
 */
#ifndef VHCA_VERBS_H
#define VHCA_VERBS_H

#include "vhca.h"

/* ---- object.c ---- */
/*
 * May the memory of an object be released, whose destroy command returned @rc? A destroy
 * verb succeeds towards ib_core whatever the backend answers, or a process could not
 * exit; a refusal is the late consequence of a command that was given up, or a lie. It is
 * logged, and the end of the ucontext destroys the object. True: the backend has let go
 * of the memory, or is broken, so that vhca_mem_put() finds the pages that are still
 * mapped. False: vhca_uc_adopt() the memory.
 */
bool vhca_gone(struct vhca_dev *dev, const char *what, u32 handle, int rc);
/* Leave memory granted until the ucontext is gone. NULL is allowed. */
void vhca_uc_adopt(struct vhca_ucontext *uc, struct vhca_mem *mem);
/* The second half of a destroy verb: vhca_gone(), then put or adopt. */
void vhca_release(struct vhca_ucontext *uc, const char *what, u32 handle,
		  int rc, struct vhca_mem *mem);
/*
 * The connection @gen of @dev is there until vhca_let_go(). -ENETDOWN: it is over, or none
 * is there yet; then that is not to be called.
 */
static inline int vhca_hold(struct vhca_dev *dev, u32 gen)
{
	down_read(&dev->gate);
	if (gen == dev->gen && !dev->away)
		return 0;
	up_read(&dev->gate);
	return -ENETDOWN;
}

static inline void vhca_let_go(struct vhca_dev *dev)
{
	up_read(&dev->gate);
}

/*
 * @rc of a verb that makes an object, before vhca_let_go(). A consumer in the kernel hears
 * of a ring that broke as of none: sunrpc tries that again later, and fails at -EIO.
 */
static inline int vhca_made(const struct vhca_dev *dev, int rc)
{
	return rc == -EIO && dev->own_uc && !vhca_ring_up(&dev->ring) ? -ENETDOWN : rc;
}

/* Of the HCA: consumers in the kernel share one, which each connection makes anew. */
static inline u32 vhca_pd_handle(struct ib_pd *ibpd)
{
	struct vhca_dev *dev = to_vdev(ibpd->device);

	return dev->own_uc ? dev->own_pd : to_vpd(ibpd)->handle;
}

/*
 * Lets events find an object in @table (cqs, qps, srqs or file_handles of @dev), by
 * vhca_key(). Return: 0, -ENOMEM, -EIO if the backend used a handle twice, which breaks @dev.
 */
int vhca_publish(struct vhca_dev *dev, struct xarray *table, unsigned long key,
		 void *obj);
/* No event handler uses the object any more when this returns. */
void vhca_unpublish(struct vhca_dev *dev, struct xarray *table, unsigned long key);
/* Result of a destroy command without a wait, or that was not sent. */
#define VHCA_LEFT	1
/* An object was made in @uc (1), or is going to be ended (-1). */
void vhca_leave_count(struct vhca_ucontext *uc, int nr);
/*
 * A destroy command of @uc has been waited for since @begin (jiffies). The waits since
 * the last object was made have a bound in all, beyond which the device breaks.
 */
void vhca_leave_waited(struct vhca_ucontext *uc, unsigned long begin);
/*
 * Is the end of an object of @uc left to DEALLOC_UCONTEXT? True: send no command, and
 * vhca_uc_adopt() the memory of the object. It stays true until the context ends, so a
 * user of an object is not left when the object is not.
 */
bool vhca_leave(const struct vhca_ucontext *uc);
/* Does the process wait for nothing but the end of the context? */
bool vhca_leaving(const struct vhca_ucontext *uc);

/* ---- port.c ---- */
#define VHCA_PORT	1	/* the only one */

int vhca_query_port(struct ib_device *ibdev, vhca_port_t port,
		    struct ib_port_attr *attr);
int vhca_query_gid(struct ib_device *ibdev, vhca_port_t port, int index,
		   union ib_gid *gid);
int vhca_query_pkey(struct ib_device *ibdev, vhca_port_t port, u16 index, u16 *pkey);
enum rdma_link_layer vhca_get_link_layer(struct ib_device *ibdev, vhca_port_t port);
int vhca_get_port_immutable(struct ib_device *ibdev, vhca_port_t port,
			    struct ib_port_immutable *immutable);
void vhca_port_init(struct vhca_dev *dev);
/* Its state and tables from the backend, before registration; 0 or -errno. */
int vhca_port_read(struct vhca_dev *dev);
/* Are link layer and lengths of the tables still the backend's? 0, -ESTALE or -errno. */
int vhca_port_same(struct vhca_dev *dev);
void vhca_port_exit(struct vhca_dev *dev);

/* ---- gid.c ---- */
int vhca_enable_driver(struct ib_device *ibdev);
/*
 * May an address vector name that entry of the GID table? Return: 0, as always if the
 * tables are shared; -EINVAL behind the end; -ENODATA: the entry is not this guest's. Any
 * context.
 */
int vhca_gid_usable(struct vhca_dev *dev, u32 index);
/* May a queue pair name that entry of the P_Key table? 0 or -EINVAL. */
int vhca_pkey_usable(struct vhca_dev *dev, u32 index);
/* ib_core has handled @event (enum ib_event_type). Sleeps. */
void vhca_gids_event(struct vhca_dev *dev, int event);

/* ---- netdev.c ---- */
int vhca_netdev_init(void);
void vhca_netdev_exit(void);
/* The device names the network devices that have its addresses, until it is removed. */
void vhca_netdev_add(struct vhca_dev *dev);
void vhca_netdev_del(struct vhca_dev *dev);		/* idempotent */
/* ib_core has made the entries of the GID table anew. Takes rtnl. */
void vhca_netdev_follow(struct vhca_dev *dev);
struct net_device *vhca_get_netdev(struct ib_device *ibdev, vhca_port_t port);
/* The GID of a device of iWARP: the hardware address of its network device, or zeros. */
void vhca_netdev_gid(struct vhca_dev *dev, union ib_gid *gid);

/* ---- counters.c ---- */
/* Names of all counters, before registration. -EPROTO: a name is not fit for sysfs. */
int vhca_counters_read(struct vhca_dev *dev);
/* Are they still the backend's? 0, -ESTALE or -errno. */
int vhca_counters_same(struct vhca_dev *dev);
void vhca_counters_free(struct vhca_dev *dev);
/* Has the physical port counters, and may the guest see them? */
bool vhca_counters_of_port(const struct vhca_dev *dev);
struct rdma_hw_stats *vhca_alloc_hw_port_stats(struct ib_device *ibdev, vhca_port_t port);
int vhca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      vhca_port_t port, int index);
/* Answers the MADs of sysfs for ports/1/counters, and no others. */
int vhca_process_mad(struct ib_device *ibdev, int flags, vhca_port_t port,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out, size_t *size,
		     u16 *pkey_index);

/* ---- sysfs.c ---- */
/* hca_type, hw_rev, board_id of an HCA whose driver has them. */
extern const struct attribute_group vhca_attrs;
/*
 * The HCA's PCI ids, as files of the device's parent, where programs look for them. A parent
 * has one device at a time.
 */
void vhca_pci_ids_add(struct vhca_dev *dev);
void vhca_pci_ids_del(struct vhca_dev *dev);
/* node_desc is the guest's own: the backend is not told. */
int vhca_modify_device(struct ib_device *ibdev, int mask,
		       struct ib_device_modify *modify);

/* ---- uapi_mlx5.c ---- */
extern const struct uapi_definition * const vhca_mlx5_uapi;

/* ---- ucontext.c ---- */
int vhca_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void vhca_dealloc_ucontext(struct ib_ucontext *ibuc);
void vhca_disassociate_ucontext(struct ib_ucontext *ibuc);
int vhca_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
/* Context of the process that made the call; @udata is never NULL. */
struct vhca_ucontext *vhca_udata_uc(struct ib_udata *udata);
/* Owner of an object, also when no process is calling. */
struct vhca_ucontext *vhca_pd_uc(struct ib_pd *ibpd);

/* ---- pd.c ---- */
int vhca_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vhca_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* ---- xrcd.c ---- */
int vhca_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vhca_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

/* ---- mr.c, mw.c ---- */
struct ib_mr *vhca_reg_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
			  int access, VHCA_DMAH struct ib_udata *udata);
vhca_rereg_t vhca_rereg_mr(struct ib_mr *ibmr, int flags, u64 start,
			    u64 length, u64 iova, int access,
			    struct ib_pd *ibpd, struct ib_udata *udata);
int vhca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int vhca_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vhca_dealloc_mw(struct ib_mw *ibmw);

/* ---- cq.c ---- */
int vhca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct vhca_cq_attrs *attrs);
/* For a process or the kernel: @uc has the context, @udata the private data. */
int vhca_cq_make(struct vhca_cq *cq, struct vhca_ucontext *uc,
		 const struct ib_cq_init_attr *attr, struct ib_udata *udata);
int vhca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vhca_resize_cq(struct ib_cq *ibcq, vhca_cqe cqe, struct ib_udata *udata);
int vhca_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int vhca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/* ---- qp.c ---- */
int vhca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int vhca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int vhca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int vhca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int vhca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int vhca_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vhca_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* ---- srq.c ---- */
int vhca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata);
int vhca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int vhca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int vhca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
/* Limits of the HCA for tag matching. */
void vhca_srq_caps(struct ib_tm_caps *tm,
		   const struct xenvhca_query_device_rsp *rsp);

/* ---- ah.c ---- */
int vhca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata);
int vhca_destroy_ah(struct ib_ah *ibah, u32 flags);
/* Is the source GID of @a this guest's? 0 or -errno. Any context. */
int vhca_ah_check(struct vhca_dev *dev, const struct rdma_ah_attr *a);
void vhca_ah_to_wire(struct xenvhca_ah_attr *w, const struct rdma_ah_attr *a);
void vhca_ah_from_wire(struct ib_device *ibdev, struct rdma_ah_attr *a,
		       const struct xenvhca_ah_attr *w);

#endif
