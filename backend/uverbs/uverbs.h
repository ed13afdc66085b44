/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kernel's uverbs ABI, one function per command: the core struct is built
 * here, the driver's udata is appended as it is. Callers have checked what the
 * guest sent. Every function returns 0 or -errno and may be called by any
 * thread that holds the fd open. Handles are uint32_t uverbs handles.
 */
#ifndef UVERBS_H
#define UVERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

/* Driver data of one command; out must have room for out_len octets. */
struct uv_udata {
	const void *in;
	void *out;
	uint16_t in_len, out_len;
};

struct ib_uverbs_ioctl_hdr;

/* ---- uverbs.c ---- */
/* Commands, mappings and files that the kernel refused to this thread: its driver
 * may have printed a line for each. */
extern __thread uint64_t uv_errors;
int uv_open(const char *path);			/* fd or -errno */
int uv_open_file(const char *path);		/* no file of verbs: does not block */
void uv_close(int *fd);				/* sets it to -1; -1 is fine */
int uv_mmap(int fd, uint64_t offset, size_t length, void **addr);
int uv_munmap(void *addr, size_t length);
int uv_ioctl(int fd, struct ib_uverbs_ioctl_hdr *hdr);
/**
 * uv_write() - one command of the original (4-byte) ABI
 * @cmd: enum ib_uverbs_write_cmds
 * @core: request struct; its first member is the response address, which is
 *	filled in here, if @resp_len is not 0
 * @resp: core response, @resp_len octets, zeroed first
 * @ud: driver data or NULL
 *
 * Return: 0, -EINVAL for lengths that the ABI cannot express, or the error of
 * the kernel.
 */
int uv_write(int fd, uint32_t cmd, const void *core, size_t core_len,
	     void *resp, size_t resp_len, const struct uv_udata *ud);
/* The same for the extended (8-byte) ABI; @core has no response member. */
int uv_write_ex(int fd, uint32_t cmd, const void *core, size_t core_len,
		void *resp, size_t resp_len, const struct uv_udata *ud);
/* uv_write() of the command NAME, with and without an answer and driver data. */
#define UV_CALL(fd, NAME, core, resp, ud)				\
	uv_write(fd, IB_USER_VERBS_CMD_##NAME, core, sizeof(*(core)),	\
		 resp, sizeof(*(resp)), ud)
#define UV_SEND(fd, NAME, core)						\
	uv_write(fd, IB_USER_VERBS_CMD_##NAME, core, sizeof(*(core)), NULL, 0, NULL)

/* ---- device.c ---- */
int uv_alloc_ucontext(int fd, const struct uv_udata *ud, int *async_fd,
		      uint32_t *num_comp_vectors);
/* Both: a verbs file and its context. *fd is to be closed also on errors. */
int uv_open_ucontext(const char *path, const struct uv_udata *ud, int *fd,
		     int *async_fd);
int uv_create_comp_channel(int fd, int *comp_fd);
int uv_query_device(int fd, const struct uv_udata *ud,
		    struct ib_uverbs_ex_query_device_resp *resp);
int uv_query_port(int fd, uint8_t port, struct ib_uverbs_query_port_resp *resp);
/* All entries of all ports' tables that are used, by port and index, in one
 * system call. @driver: of the HCA; -EINVAL if there are more than UV_GIDS. */
#define UV_GIDS	(UINT16_MAX / sizeof(struct ib_uverbs_gid_entry))
int uv_query_gid_table(int fd, uint32_t driver, struct ib_uverbs_gid_entry *gid,
		       uint64_t *n);

/* One entry. -EINVAL: the table ends before it; -ENODATA: it is empty. */
int uv_query_gid_entry(int fd, uint32_t driver, uint8_t port, uint32_t index,
		       struct ib_uverbs_gid_entry *gid);

/* ---- pd.c: PD, XRCD, MR, MW, AH ---- */
int uv_alloc_pd(int fd, const struct uv_udata *ud, uint32_t *pd);
int uv_dealloc_pd(int fd, uint32_t pd);
/* The domain of the inode behind @inode_fd, made if @create; -EAGAIN: there is
 * none. One domain has a handle in every file that opened it. */
int uv_alloc_xrcd(int fd, int inode_fd, bool create, uint32_t *xrcd);
int uv_dealloc_xrcd(int fd, uint32_t xrcd);
int uv_reg_mr(int fd, const struct ib_uverbs_reg_mr *mr,
	      const struct uv_udata *ud, struct ib_uverbs_reg_mr_resp *resp);
/* The same of a dma-buf, of which start is an offset; without driver data. */
int uv_reg_dmabuf_mr(int fd, uint32_t driver, int dmabuf,
		     const struct ib_uverbs_reg_mr *mr,
		     struct ib_uverbs_reg_mr_resp *resp);
int uv_rereg_mr(int fd, const struct ib_uverbs_rereg_mr *mr,
		const struct uv_udata *ud,
		struct ib_uverbs_rereg_mr_resp *resp);
int uv_dereg_mr(int fd, uint32_t mr);
int uv_alloc_mw(int fd, uint32_t pd, uint8_t type, const struct uv_udata *ud,
		struct ib_uverbs_alloc_mw_resp *resp);
int uv_dealloc_mw(int fd, uint32_t mw);
int uv_create_ah(int fd, uint32_t pd, uint64_t user_handle,
		 const struct ib_uverbs_ah_attr *attr,
		 const struct uv_udata *ud, uint32_t *ah);
int uv_destroy_ah(int fd, uint32_t ah);

/* ---- cq.c ---- */
int uv_create_cq(int fd, const struct ib_uverbs_ex_create_cq *cq,
		 const struct uv_udata *ud,
		 struct ib_uverbs_create_cq_resp *resp);
int uv_resize_cq(int fd, uint32_t cq, uint32_t cqe, const struct uv_udata *ud,
		 uint32_t *cqe_out);
/* @period: us */
int uv_modify_cq(int fd, uint32_t cq, uint16_t count, uint16_t period);
int uv_destroy_cq(int fd, uint32_t cq);
int uv_req_notify_cq(int fd, uint32_t cq, int solicited_only);

/* ---- qp.c ---- */
int uv_create_qp(int fd, const struct ib_uverbs_ex_create_qp *qp,
		 const struct uv_udata *ud,
		 struct ib_uverbs_create_qp_resp *resp);
int uv_modify_qp(int fd, const struct ib_uverbs_ex_modify_qp *qp,
		 const struct uv_udata *ud);
int uv_query_qp(int fd, uint32_t qp, uint32_t mask,
		struct ib_uverbs_query_qp_resp *resp);
int uv_destroy_qp(int fd, uint32_t qp);
/* The driver fetches work requests from the ring it shares with the user. */
int uv_post_send(int fd, uint32_t qp);
int uv_attach_mcast(int fd, uint32_t qp, const uint8_t gid[16], uint16_t mlid);
int uv_detach_mcast(int fd, uint32_t qp, const uint8_t gid[16], uint16_t mlid);

/* ---- srq.c ---- */
int uv_create_srq(int fd, const struct ib_uverbs_create_srq *srq,
		  const struct uv_udata *ud,
		  struct ib_uverbs_create_srq_resp *resp);
int uv_create_xsrq(int fd, const struct ib_uverbs_create_xsrq *srq,
		   const struct uv_udata *ud,
		   struct ib_uverbs_create_srq_resp *resp);
int uv_modify_srq(int fd, const struct ib_uverbs_modify_srq *srq,
		  const struct uv_udata *ud);
int uv_query_srq(int fd, uint32_t srq, struct ib_uverbs_query_srq_resp *resp);
int uv_destroy_srq(int fd, uint32_t srq);

#endif
