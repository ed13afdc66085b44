// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What every object has in common: quota, handle, list of its ucontext,
 * destruction. Command thread. be_dev.lock is held for writing only around
 * the change of tables and lists, never during a call into the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "obj.h"
#include "shadow.h"

void *be_obj_new(struct be_dev *dev, enum be_type type, size_t size, int *err)
{
	struct be_obj *obj;

	*err = be_quota_take(&dev->quota, type);
	if (*err) {
		be_log_peer(dev, "no more than %u objects of type %s (max-%s)",
			    dev->quota.max[type], be_type_name[type],
			    be_type_name[type]);
		return NULL;
	}
	obj = calloc(1, size);
	if (!obj) {
		be_quota_give(&dev->quota, type);
		*err = -ENOMEM;
		return NULL;
	}
	pthread_rwlock_wrlock(&dev->lock);
	*err = be_handle_add(dev->handles, obj);
	pthread_rwlock_unlock(&dev->lock);
	if (*err) {
		be_quota_give(&dev->quota, type);
		free(obj);
		return NULL;
	}
	return obj;
}

static struct be_obj **obj_list(struct be_dev *dev, const struct be_obj *obj)
{
	if (obj->type == BE_UCONTEXT)
		return &dev->ucontexts;
	return &((struct be_uc *)obj->uc)->objs[obj->type];
}

void be_obj_publish(struct be_dev *dev, struct be_obj *obj, enum be_type type,
		    struct be_uc *uc, uint32_t host)
{
	struct be_obj **head;

	pthread_rwlock_wrlock(&dev->lock);
	obj->type = type;
	obj->uc = uc ? &uc->o : NULL;
	obj->host = host;
	head = obj_list(dev, obj);
	obj->next = *head;
	if (obj->next)
		obj->next->prev = obj;
	*head = obj;
	pthread_rwlock_unlock(&dev->lock);
	be_log(dev, BE_DEBUG, "created %s %#x", be_type_name[type],
	       obj->handle);
}

static void obj_unlink(struct be_dev *dev, struct be_obj *obj)
{
	if (obj->prev)
		obj->prev->next = obj->next;
	else
		*obj_list(dev, obj) = obj->next;
	if (obj->next)
		obj->next->prev = obj->prev;
}

void be_obj_free(struct be_dev *dev, struct be_obj *obj, enum be_type type)
{
	bool published;
	uint32_t handle;

	if (!obj)
		return;
	published = obj->type != BE_NONE;
	handle = obj->handle;
	pthread_rwlock_wrlock(&dev->lock);
	if (published)
		obj_unlink(dev, obj);
	be_handle_del(dev->handles, obj);
	pthread_rwlock_unlock(&dev->lock);
	be_quota_give(&dev->quota, type);
	free(obj);
	if (published)
		be_log(dev, BE_DEBUG, "destroyed %s %#x", be_type_name[type],
		       handle);
}

void *be_obj_get(const struct be_cmd *c, uint32_t handle, enum be_type type,
		 int *err)
{
	void *obj = be_handle_get(c->dev->handles, handle, type, &c->uc->o);

	*err = obj ? 0 : -ENOENT;
	return obj;
}

/* The physical object only. */
static int host_destroy(const struct be_dev *dev, const struct be_obj *obj)
{
	int fd = ((struct be_uc *)obj->uc)->fd;

	switch (obj->type) {
	case BE_PD:
		return uv_dealloc_pd(fd, obj->host);
	case BE_CQ:
		return uv_destroy_cq(fd, obj->host);
	case BE_QP:
		return uv_destroy_qp(fd, obj->host);
	case BE_SRQ:
		return uv_destroy_srq(fd, obj->host);
	case BE_AH:
		return uv_destroy_ah(fd, obj->host);
	case BE_MR:
		return uv_dereg_mr(fd, obj->host);
	case BE_MW:
		return uv_dealloc_mw(fd, obj->host);
	case BE_XRCD:
		return uv_close_xrcd(fd, obj->host);
	case BE_MCAST:
		return be_mcast_end(dev, (const struct be_mcast *)obj);
	default:
		return 0;
	}
}

/* What the HCA used for the object. */
static void host_release(struct be_dev *dev, struct be_obj *obj)
{
	struct be_uc *uc = (struct be_uc *)obj->uc;

	switch (obj->type) {
	case BE_CQ:
		be_bufs_release(dev, uc, &((struct be_cq *)obj)->bufs);
		break;
	case BE_QP:
		be_bufs_release(dev, uc, &((struct be_qp *)obj)->bufs);
		be_xrcd_put(dev, ((struct be_qp *)obj)->xrcd);
		break;
	case BE_SRQ:
		be_bufs_release(dev, uc, &((struct be_srq *)obj)->bufs);
		be_srq_leave(dev, uc, (struct be_srq *)obj);
		break;
	case BE_XRCD:
		close(((struct be_xrcd *)obj)->inode_fd);
		break;
	case BE_MR:
		be_gmap_unmap(dev, &((struct be_mr *)obj)->mem);
		break;
	default:
		break;
	}
}

void be_obj_release(struct be_dev *dev, struct be_obj *obj)
{
	if (obj->uc)
		be_keys_drop(dev, (struct be_uc *)obj->uc, obj->handle);
	be_shadow_detach(dev, obj);
	host_release(dev, obj);
	be_obj_free(dev, obj, obj->type);
}

int be_obj_destroy(struct be_dev *dev, struct be_obj *obj)
{
	int err = host_destroy(dev, obj);

	if (!err)
		be_obj_release(dev, obj);
	return err;
}

/* Attachments point to their QP, so they must go first, as natively. */
static bool qp_has_mcast(const struct be_obj *qp)
{
	const struct be_obj *o = ((struct be_uc *)qp->uc)->objs[BE_MCAST];

	for (; o; o = o->next)
		if (&((const struct be_mcast *)o)->qp->o == qp)
			return true;
	return false;
}

int be_destroy(const struct be_cmd *c, enum be_type type)
{
	int err;
	struct be_obj *obj = be_obj_get(c, c->req->u.handle.handle, type, &err);

	if (!obj)
		return err;
	if (type == BE_QP && qp_has_mcast(obj))
		return -EBUSY;
	return be_obj_destroy(c->dev, obj);
}
