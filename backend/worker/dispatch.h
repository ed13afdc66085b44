/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * From a request to its handler, by a table (dispatch.c).
 */
#ifndef BE_DISPATCH_H
#define BE_DISPATCH_H

#include <stdbool.h>
#include <xen/io/vhcaif.h>

struct be_dev;

/* True for commands that release something: never delayed by others. */
bool be_op_destroys(uint16_t op);
enum be_done {
	BE_AGAIN,			/* no answer yet: to be executed again */
	BE_ANSWERED,			/* the whole response is filled in */
	BE_ELSEWHERE,			/* be_dispatched() has it later */
};
/* Executes one request, or has another thread do it. Command thread only. */
enum be_done be_dispatch(struct be_dev *dev, const struct xenvhca_request *req,
			 struct xenvhca_response *rsp);
/* Fills in the answer of a request that another thread has executed since; false:
 * there is none. Command thread only. */
bool be_dispatched(struct be_dev *dev, struct xenvhca_response *rsp);

/* Puts a response on the ring. Command thread only. */
void be_reply(struct be_dev *dev, const struct xenvhca_response *rsp);
/* The same with all that be_dispatched() has. Was there any? Command thread only. */
bool be_reply_elsewhere(struct be_dev *dev);

#endif
