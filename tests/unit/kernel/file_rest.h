/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What frontend/files/file.c calls of the rest of the module, for tests of commands of
 * files: the backend has each file. Included after it.
 */
#ifndef TEST_FILE_REST_H
#define TEST_FILE_REST_H

static u32 handles;			/* of files, as they are first used */

int vhca_cmd_alloc_ownerless(struct vhca_dev *d, u16 op, u16 undo, u32 *handle)
{
	*handle = ++handles;
	return 0;
}

int vhca_cmd_dealloc_ownerless(struct vhca_dev *d, u16 op, u32 handle)
{
	return 0;
}

int vhca_publish(struct vhca_dev *d, struct xarray *table, unsigned long key, void *obj)
{
	return 0;
}

void vhca_unpublish(struct vhca_dev *d, struct xarray *table, unsigned long key)
{
}

bool vhca_gone(struct vhca_dev *d, const char *what, u32 handle, int rc)
{
	return true;
}

#endif
