/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The life of an object.
 */
#ifndef BE_OBJECT_H
#define BE_OBJECT_H

#include "core/be.h"
#include "udata.h"

/*
 * A kind of objects, be_kind_<word> in the kind's own file. A destroy command of
 * an object that others need (busy) is refused. end() is the physical object's, or
 * host_end() where the kernel's call is all of it: 0 or the kernel's error, the
 * object stays as it is; release() gives back what the HCA is done with. Each may be
 * NULL: nothing to do.
 */
struct be_kind {
	bool (*busy)(const struct be_obj *obj);
	int (*end)(struct be_dev *dev, struct be_obj *obj);
	int (*host_end)(int fd, uint32_t host);
	void (*release)(struct be_dev *dev, struct be_obj *obj);
};
#define BE_KIND_ROW_(KIND, word, def) extern const struct be_kind be_kind_##word;
XENVHCA_KINDS(BE_KIND_ROW_)
#undef BE_KIND_ROW_

/**
 * be_obj_new() - charge the quota, allocate, reserve a handle
 * @size: sizeof of the type's struct
 *
 * It is the command's ucontext's, or the device's own (be_dev.ctl). The handle is known
 * but not found by be_handle_get() until be_obj_publish(). Return: the object or NULL
 * with *err set.
 */
void *be_obj_new(const struct be_cmd *c, enum be_type type, size_t size,
		 int *err);
/* Make it visible: type and the list of its owner. */
void be_obj_publish(struct be_dev *dev, struct be_obj *obj, enum be_type type,
		    uint32_t host);
/**
 * be_obj_made() - end of a command that makes an object
 * @u: NULL if the command has no udata
 * @host: physical object
 * @err: of what made that; then the object is released and freed
 *
 * Otherwise be_obj_publish(), then be_udata_end(); if that fails the object is destroyed.
 * Return: the error.
 */
int be_obj_made(const struct be_cmd *c, struct be_udata *u, struct be_obj *obj,
		enum be_type type, uint32_t host, int err);
/* Undo be_obj_new() and be_obj_publish(). NULL is fine. */
void be_obj_free(struct be_dev *dev, struct be_obj *obj, enum be_type type);
/* Destroy the physical object, then release its memory and itself. Return: 0
 * or the kernel's error (the object stays as it is). */
int be_obj_destroy(struct be_dev *dev, struct be_obj *obj);
/* The physical object is gone: unmap its memory, free the rest. */
void be_obj_release(struct be_dev *dev, struct be_obj *obj);
/*
 * Destroy every object of a context that the HCA lets go of, down to the type @last
 * (XENVHCA_KINDS backwards: users first), but mappings of queue memory.
 */
void be_objs_destroy(struct be_dev *dev, struct be_uc *uc, unsigned int last);
#define BE_OBJS_ALL	(BE_NONE + 1)
/* Release those that it did not, which the end of the file destroys. Users go
 * first here, too: their release touches what they used. */
void be_objs_release(struct be_dev *dev, struct be_uc *uc);
/* Handler of every DESTROY, DEALLOC, DEREG with a handle. */
int be_destroy(const struct be_cmd *c, enum be_type type);

#endif
