/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Objects as the wire names them: handles, and what each object begins with
 * (core/handle.c).
 */
#ifndef BE_HANDLE_H
#define BE_HANDLE_H

#include "quota.h"

struct be_uc;
struct be_obj {
	enum be_type type;
	uint32_t handle;		/* wire */
	uint32_t host;			/* uverbs handle */
	struct be_uc *uc;		/* owner, NULL for a ucontext */
	struct be_obj *next, *prev;	/* list of the owner */
};
struct be_handles;
struct be_handles *be_handles_new(void);
void be_handles_free(struct be_handles *h);
/* Generation in the upper bits; never 0; -ENOMEM. */
int be_handle_add(struct be_handles *h, struct be_obj *obj);
void be_handle_del(struct be_handles *h, struct be_obj *obj);
/* The object, whose struct begins with be_obj; NULL unless type and owner (uc; NULL: any)
 * agree. */
void *be_handle_get(struct be_handles *h, uint32_t handle, enum be_type type,
		    const struct be_uc *uc);

#endif
