/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The thread that executes commands of the connection manager (cm_thread.c).
 */
#ifndef BE_CM_THREAD_H
#define BE_CM_THREAD_H

#include "be.h"
#include "verbs/cmd.h"

int be_cm_start(struct be_dev *dev);
/*
 * Waits for the command that is being executed; the others have no answer. No limit:
 * while the kernel has a command, it does not let go of the file either, whoever ends.
 */
void be_cm_stop(struct be_dev *dev);

/**
 * be_cm_pass() - leave a request to the thread
 *
 * Command thread. Return: BE_PASSED: be_cm_next() has it when it was executed;
 * -ENOENT; -EBUSY: too many wait.
 */
int be_cm_pass(const struct be_cmd *c);
/*
 * The next request that was executed, in the order in which they were passed, its
 * answer in @rsp and its result in *err. Command thread. False: none yet.
 */
bool be_cm_next(struct be_dev *dev, struct xenvhca_request *req,
		struct xenvhca_response *rsp, int *err);

#endif
