// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata, driven by the table of the HCA's provider (vhca-provider.h). This runs in the
 * process that made the system call. The request half comes from that process, the
 * response half from the backend, and neither is trusted. The backend's octets reach
 * only user memory, and never more of it than the process has room for. On a device for
 * the guest's kernel (own_uc) there is no process, and both halves are the kernel's.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "ring/grant.h"
#include "udata.h"
#include "verbs.h"
#include "vhca-provider.h"

/* Length without zeros past the known @max. */
static size_t udata_in(struct ib_udata *udata, size_t max)
{
	if (udata->inlen > max &&
	    ib_is_udata_cleared(udata, max, udata->inlen - max))
		return max;
	return udata->inlen;
}

static int copy_in(struct vhca_dev *dev, void *to, struct ib_udata *udata, size_t n)
{
	if (!dev->own_uc)
		return ib_copy_from_udata(to, udata, n);
	memcpy(to, (__force const void *)udata->inbuf, n);
	return 0;
}

static int copy_out(struct vhca_dev *dev, struct ib_udata *udata, const void *from,
		    size_t n)
{
	if (!dev->own_uc)
		return ib_copy_to_udata(udata, (void *)from, n);
	memcpy((__force void *)udata->outbuf, from, n);
	return 0;
}

int vhca_udata_load(struct vhca_dev *dev, struct vhca_cmd *cmd,
		    struct ib_udata *udata, bool outptr)
{
	const struct vhca_udata_op *row = cmd->row;
	size_t extra = outptr ? vhca_provider_outptr(row) : 0;
	struct xenvhca_request *req = &cmd->req;
	size_t in, out;
	int rc;

	/*
	 * As natively, longer udata is no error if the octets beyond are 0, nor is more
	 * room for the answer.
	 */
	in = udata_in(udata, row ? row->in_max : 0);
	out = row ? min_t(size_t, udata->outlen, row->out_max - extra) : 0;
	if (vhca_provider_check(dev->provider, req->op, in, out + extra)) {
		ibdev_dbg(&dev->ibdev,
			  "op %#x: udata of %zu/%zu octets is not of provider %s\n",
			  req->op, udata->inlen, udata->outlen,
			  dev->provider->name);
		return -EINVAL;
	}
	if (in) {
		rc = copy_in(dev, req->udata, udata, in);
		if (rc)
			return rc;
	}
	req->in_len = in;
	req->out_len = out + extra;
	return vhca_provider_check_zero(row, req);
}

/* Octets that the HCA's driver would have written to a user address. */
static int udata_outptr(const struct vhca_cmd *cmd, size_t pos)
{
	const struct vhca_field *f = cmd->row->req;
	const struct vhca_field *end = f + VHCA_MAX_FIELDS;
	u64 addr;

	for (; f < end && f->kind != VHCA_END; f++) {
		if (f->kind != VHCA_OUTPTR)
			continue;
		if (pos + f->arg > cmd->rsp.out_len)
			return -EIO;
		memcpy(&addr, cmd->req.udata + f->off, sizeof(addr));
		if (copy_to_user(u64_to_user_ptr(addr), cmd->rsp.udata + pos,
				 f->arg))
			return -EFAULT;
		pos += f->arg;
	}
	return 0;
}

int vhca_udata_store(struct vhca_dev *dev, const struct vhca_cmd *cmd,
		     struct ib_udata *udata, bool outptr)
{
	const struct vhca_udata_op *row = cmd->row;
	size_t own, len;
	int rc;

	if (cmd->rsp.out_len < row->out_min) {
		ibdev_warn_ratelimited(&dev->ibdev,
				       "op %#x: backend answered %u octets of udata, provider %s needs %u\n",
				       cmd->req.op, cmd->rsp.out_len,
				       dev->provider->name, row->out_min);
		return -EIO;
	}
	own = cmd->req.out_len - (outptr ? vhca_provider_outptr(row) : 0);
	len = min_t(size_t, cmd->rsp.out_len, own);
	if (len) {
		rc = copy_out(dev, udata, cmd->rsp.udata, len);
		if (rc)
			return rc;
	}
	return outptr ? udata_outptr(cmd, own) : 0;
}

/*
 * ---- pages of doorbell records ----
 *
 * The HCA's driver pins such a page once for all objects of a context, by its address in
 * the process. So it has one grant, which ends with the last of them.
 */

static bool dbpage_is(const struct vhca_mem *mem, u64 addr)
{
	return mem->umem->address == addr &&
	       mem->umem->owning_mm == current->mm;
}

/* Adds a user to the page @addr of this process: to @new if there is none yet. */
static struct vhca_mem *dbpage_share(struct vhca_ucontext *uc, u64 addr,
				     struct vhca_mem *new)
{
	struct vhca_mem *mem;

	spin_lock(&uc->orphan_lock);
	list_for_each_entry(mem, &uc->dbpages, list)
		if (dbpage_is(mem, addr))
			goto found;
	mem = new;
	if (new)
		list_add(&new->list, &uc->dbpages);
found:
	if (mem)
		mem->users++;
	spin_unlock(&uc->orphan_lock);
	return mem;
}

/* Memory that the HCA reads and writes. */
static struct vhca_mem *buf_alloc(struct vhca_dev *dev, u64 addr, u64 len)
{
	return dev->own_uc ? vhca_mem_new(dev, DIV_ROUND_UP_ULL(len, PAGE_SIZE)) :
			     vhca_mem_get(dev, addr, len, IB_ACCESS_LOCAL_WRITE);
}

/* A page of the kernel's has one record, and may outlive the context. */
static struct vhca_mem *dbpage_get(struct vhca_ucontext *uc, u64 addr)
{
	struct vhca_mem *new, *mem = dbpage_share(uc, addr, NULL);

	if (mem)
		return mem;
	new = buf_alloc(to_vdev(uc->ibuc.device), addr, PAGE_SIZE);
	if (IS_ERR(new) || !new->umem)
		return new;
	mem = dbpage_share(uc, addr, new);
	if (mem != new)		/* another thread was faster */
		vhca_mem_put(new);
	return mem;
}

static void dbpage_put(struct vhca_ucontext *uc, struct vhca_mem *mem)
{
	bool last;

	if (!mem->umem) {
		vhca_mem_put(mem);
		return;
	}
	spin_lock(&uc->orphan_lock);
	last = !--mem->users;
	if (last)
		list_del_init(&mem->list);
	spin_unlock(&uc->orphan_lock);
	if (last)
		vhca_mem_put(mem);
}

void vhca_dbpages_free(struct vhca_ucontext *uc)
{
	struct vhca_mem *mem, *next;

	list_for_each_entry_safe(mem, next, &uc->dbpages, list) {
		list_del_init(&mem->list);
		vhca_mem_put(mem);
	}
}

/* ---- queue memory ---- */

/* Memory of the field @f, if the object has such memory. */
static int buf_get(struct vhca_ucontext *uc, const struct vhca_cmd *cmd,
		   const struct vhca_field *f, struct vhca_bufs *bufs)
{
	struct vhca_mem **slot = f->kind == VHCA_DBPAGE ? &bufs->db :
				 bufs->buf ? &bufs->sq_buf : &bufs->buf;
	struct vhca_mem *mem;
	u64 addr, len;
	int rc;

	if (f->off + sizeof(u64) > cmd->req.in_len)
		return -EINVAL;
	memcpy(&addr, cmd->req.udata + f->off, sizeof(addr));
	len = f->arg;
	rc = f->length ? f->length(&cmd->req, &len) : 0;
	if (rc)
		return rc;
	if (!len)
		return 0;
	if (*slot)
		return -EINVAL;		/* one list too many */
	if (f->kind == VHCA_BUF) {
		mem = buf_alloc(to_vdev(uc->ibuc.device), addr, len);
	} else {
		mem = dbpage_get(uc, addr & PAGE_MASK);
		bufs->record = offset_in_page(addr);
	}
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	*slot = mem;
	return 0;
}

int vhca_bufs_get(struct vhca_ucontext *uc, const struct vhca_cmd *cmd,
		  struct vhca_bufs *bufs)
{
	const struct vhca_udata_op *row = cmd->row;
	const struct vhca_field *f;
	int rc;

	memset(bufs, 0, sizeof(*bufs));
	if (!row)
		return 0;
	for (f = row->req;
	     f < row->req + VHCA_MAX_FIELDS && f->kind != VHCA_END; f++) {
		if (f->kind != VHCA_BUF && f->kind != VHCA_DBPAGE)
			continue;
		rc = buf_get(uc, cmd, f, bufs);
		if (rc) {
			vhca_bufs_put(uc, bufs, false);
			return rc;
		}
	}
	return 0;
}

void vhca_bufs_put(struct vhca_ucontext *uc, struct vhca_bufs *bufs,
		   bool unknown)
{
	if (unknown) {
		/* The page of db keeps its user until the ucontext is gone. */
		vhca_uc_adopt(uc, bufs->buf);
		vhca_uc_adopt(uc, bufs->sq_buf);
		if (bufs->db && !bufs->db->umem)
			vhca_uc_adopt(uc, bufs->db);
	} else {
		vhca_mem_put(bufs->buf);
		vhca_mem_put(bufs->sq_buf);
		if (bufs->db)
			dbpage_put(uc, bufs->db);
	}
	memset(bufs, 0, sizeof(*bufs));
}
