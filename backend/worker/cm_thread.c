// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A command of the connection manager may wait in the kernel for its handlers, for
 * routing tables or for other guests' commands; verbs must not wait for it. The
 * command thread checks such a request as any other, finds the files that it names,
 * and leaves it here; this thread executes one after the other; the command thread
 * then sends the answers. A file is closed behind all its commands, and freed by the
 * command thread after that, so this thread looks up no handle.
 *
 * Requests come from a hostile guest: how many may wait is bounded.
 */
#include <errno.h>
#include <stdlib.h>

#include "cm_thread.h"
#include "verbs/cm.h"

struct job {
	struct xenvhca_request req;
	struct xenvhca_response rsp;
	struct be_cm *cm, *from;
	int err;
};

struct be_cms {
	pthread_t thread;
	pthread_mutex_t lock;		/* below; not while a job is executed */
	pthread_cond_t more;
	struct job job[XENVHCA_MAX_ID];
	unsigned int taken, done, put;	/* run freely; taken <= done <= put */
	unsigned int commands;		/* CM_COMMAND from taken to put */
	bool stop;
};

static struct job *job_at(struct be_cms *s, unsigned int i)
{
	return &s->job[i % XENVHCA_MAX_ID];
}

static void job_execute(struct be_dev *dev, struct job *j)
{
	j->err = 0;
	if (j->req.op == XENVHCA_OP_DEALLOC_CM)
		be_cm_shut(dev, j->cm);
	else
		j->err = be_cm_execute(dev, &j->req, &j->rsp, j->cm, j->from);
}

static void *cm_thread(void *arg)
{
	struct be_dev *dev = arg;
	struct be_cms *s = dev->cms;
	struct job *j;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->stop && s->done == s->put)
			pthread_cond_wait(&s->more, &s->lock);
		if (s->stop)
			break;
		j = job_at(s, s->done);
		pthread_mutex_unlock(&s->lock);
		job_execute(dev, j);
		pthread_mutex_lock(&s->lock);
		s->done++;
		be_sleep_wake(&dev->sleep);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool room(const struct be_cms *s, bool command)
{
	if (command)
		return s->commands < XENVHCA_CM_SLOTS;
	return s->put - s->taken < XENVHCA_MAX_ID;
}

int be_cm_pass(const struct be_cmd *c)
{
	bool command = c->req->op == XENVHCA_OP_CM_COMMAND;
	struct be_cms *s = c->dev->cms;
	struct be_cm *cm, *from;
	struct job *j;
	int err = be_cm_find(c, &cm, &from);

	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	if (room(s, command)) {
		j = job_at(s, s->put++);
		*j = (struct job){ .req = *c->req, .cm = cm, .from = from };
		s->commands += command;
		cm->closing = !command;
		pthread_cond_signal(&s->more);
	} else {
		err = -EBUSY;
	}
	pthread_mutex_unlock(&s->lock);
	return err ? err : BE_PASSED;
}

bool be_cm_next(struct be_dev *dev, struct xenvhca_request *req,
		struct xenvhca_response *rsp, int *err)
{
	struct be_cms *s = dev->cms;
	struct job *j;
	bool some;

	if (!s)
		return false;
	pthread_mutex_lock(&s->lock);
	some = s->taken != s->done;
	if (some) {
		j = job_at(s, s->taken++);
		*req = j->req;
		*rsp = j->rsp;
		*err = j->err;
		s->commands -= req->op == XENVHCA_OP_CM_COMMAND;
	}
	pthread_mutex_unlock(&s->lock);
	return some;
}

int be_cm_start(struct be_dev *dev)
{
	struct be_cms *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	dev->cms = s;
	rc = -pthread_create(&s->thread, NULL, cm_thread, dev);
	if (!rc)
		return 0;
	dev->cms = NULL;
	pthread_cond_destroy(&s->more);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return rc;
}

void be_cm_stop(struct be_dev *dev)
{
	struct be_cms *s = dev->cms;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	dev->cms = NULL;
	pthread_cond_destroy(&s->more);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
