// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * For test_counts.c: system calls of the lanes are counted as those of the command thread,
 * and a lane executes nothing before that one is asleep.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lane.h"
#include "tests/fake/fake_xen.h"
#include "uverbs/uverbs.h"

struct start {
	void *(*fn)(void *);
	void *arg;
};
static bool lanes_start;		/* the worker's thread */
static __thread bool lane;

static void *counted(void *arg)
{
	const struct start s = *(struct start *)arg;

	free(arg);
	fake_calls_here();
	lane = true;
	return s.fn(s.arg);
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a,
			  void *(*fn)(void *), void *arg)
{
	struct start *s = lanes_start ? malloc(sizeof(*s)) : NULL;

	if (!s)
		return __real_pthread_create(t, a, fn, arg);
	*s = (struct start){ fn, arg };
	return __real_pthread_create(t, a, counted, s);
}

int __real_be_lane_start(struct be_dev *dev);
int __wrap_be_lane_start(struct be_dev *dev);
int __wrap_be_lane_start(struct be_dev *dev)
{
	int rc;

	lanes_start = true;
	rc = __real_be_lane_start(dev);
	lanes_start = false;
	return rc;
}

/* A lane has taken its command from a thread that is asleep by now. */
static void by_lane(void)
{
	if (lane)
		fake_calls_asleep();
}

int __real_uv_dereg_mr(int fd, uint32_t mr);
int __wrap_uv_dereg_mr(int fd, uint32_t mr);
int __wrap_uv_dereg_mr(int fd, uint32_t mr)
{
	by_lane();
	return __real_uv_dereg_mr(fd, mr);
}

int __real_uv_reg_mr(int fd, const struct ib_uverbs_reg_mr *mr,
		     const struct uv_udata *ud,
		     struct ib_uverbs_reg_mr_resp *resp);
int __wrap_uv_reg_mr(int fd, const struct ib_uverbs_reg_mr *mr,
		     const struct uv_udata *ud,
		     struct ib_uverbs_reg_mr_resp *resp);
int __wrap_uv_reg_mr(int fd, const struct ib_uverbs_reg_mr *mr,
		     const struct uv_udata *ud,
		     struct ib_uverbs_reg_mr_resp *resp)
{
	by_lane();
	return __real_uv_reg_mr(fd, mr, ud, resp);
}

int __real_uv_reg_dmabuf_mr(int fd, uint32_t driver, int dmabuf,
			    const struct ib_uverbs_reg_mr *mr,
			    struct ib_uverbs_reg_mr_resp *resp);
int __wrap_uv_reg_dmabuf_mr(int fd, uint32_t driver, int dmabuf,
			    const struct ib_uverbs_reg_mr *mr,
			    struct ib_uverbs_reg_mr_resp *resp);
int __wrap_uv_reg_dmabuf_mr(int fd, uint32_t driver, int dmabuf,
			    const struct ib_uverbs_reg_mr *mr,
			    struct ib_uverbs_reg_mr_resp *resp)
{
	by_lane();
	return __real_uv_reg_dmabuf_mr(fd, driver, dmabuf, mr, resp);
}

int __real_uv_create_ah(int fd, uint32_t pd, uint64_t user_handle,
			const struct ib_uverbs_ah_attr *attr,
			const struct uv_udata *ud, uint32_t *ah);
int __wrap_uv_create_ah(int fd, uint32_t pd, uint64_t user_handle,
			const struct ib_uverbs_ah_attr *attr,
			const struct uv_udata *ud, uint32_t *ah);
int __wrap_uv_create_ah(int fd, uint32_t pd, uint64_t user_handle,
			const struct ib_uverbs_ah_attr *attr,
			const struct uv_udata *ud, uint32_t *ah)
{
	by_lane();
	return __real_uv_create_ah(fd, pd, user_handle, attr, ud, ah);
}

int __real_uv_modify_qp(int fd, const struct ib_uverbs_ex_modify_qp *qp,
			const struct uv_udata *ud);
int __wrap_uv_modify_qp(int fd, const struct ib_uverbs_ex_modify_qp *qp,
			const struct uv_udata *ud);
int __wrap_uv_modify_qp(int fd, const struct ib_uverbs_ex_modify_qp *qp,
			const struct uv_udata *ud)
{
	by_lane();
	return __real_uv_modify_qp(fd, qp, ud);
}
