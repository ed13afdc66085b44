// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The job threads (jobs.h): threads that execute what takes long or may wait for the network.
 *
 * Regions are mapped and unmapped one after the other, because two job threads would wait for
 * each other in the kernel, which maps for one thread of a process at a time. What ends
 * something goes before what makes something: whoever gives back does not wait for those
 * who want more.
 *
 * What may wait (docs/design/data-path.md has the table) does so for a second and longer. Of a
 * context, or a file of the connection manager, one job runs at a time, in order, and
 * contexts take turns, however many jobs one of them has. One job thread is left to regions.
 *
 * A job holds its context and what it uses: neither ends before the command thread
 * has ended the job (be_uc.jobs, be_pd.jobs, be_qp.jobs, be_mr.busy). So a job thread looks up
 * nothing, and needs no lock but that of the queues. What a job allocates was
 * charged before; a hostile guest gains nothing by the number of jobs: its ring bounds
 * them, and an end is one of a region that is there.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/be.h"
#include "jobs.h"
#include "uverbs/uverbs.h"
#include "cmd.h"
#include "ucontext.h"
#include "core/wake.h"

#define THREADS		6u
#define THREADS_WAIT	(THREADS - 1)	/* for what may wait */

struct queue { struct be_job *first, **last; };

struct be_jobs {
	pthread_t thread[THREADS];
	unsigned int started;
	int fd;				/* wakes one of them, for each job */
	pthread_mutex_t lock;		/* below; not while a job is executed */
	struct queue ends, todo, done;
	uint64_t turn;			/* the last one that a line has had */
	struct be_line regions;
	unsigned int waits;		/* job threads that run what may wait */
	bool stop;
	unsigned int n;			/* that may be dropped; command thread */
	bool any;			/* done has some */
};

static void queue_put(struct queue *q, struct be_job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static struct be_job *queue_take(struct queue *q, struct be_job **at)
{
	struct be_job *job = *at;

	if (!job)
		return NULL;
	*at = job->next;
	if (!*at)
		q->last = at;
	return job;
}

static bool may_run(const struct be_jobs *l, const struct be_line *line)
{
	return !line->busy && (line == &l->regions || l->waits < THREADS_WAIT);
}

/* The first one of the line that has waited longest. */
static struct be_job *todo_take(struct be_jobs *l)
{
	struct be_job **at, **best = NULL;

	for (at = &l->todo.first; *at; at = &(*at)->next)
		if (may_run(l, (*at)->line) &&
		    (!best || (*at)->line->turn < (*best)->line->turn))
			best = at;
	return best ? queue_take(&l->todo, best) : NULL;
}

/* With the lock. The next job that may run, if there is any. */
static struct be_job *job_begin(struct be_jobs *l)
{
	struct be_job *job = NULL;

	if (l->stop)
		return NULL;
	if (!l->regions.busy)
		job = queue_take(&l->ends, &l->ends.first);
	if (!job)
		job = todo_take(l);
	if (!job)
		return NULL;
	job->line->busy = true;
	l->waits += job->line != &l->regions;
	return job;
}

/* With the lock: who has the line may be gone once the command thread has the job. */
static void done_put(struct be_jobs *l, struct be_job *job)
{
	if (job->line)			/* it is no context's end */
		job->line->n--;
	queue_put(&l->done, job);
	__atomic_store_n(&l->any, true, __ATOMIC_RELAXED);
}

static void job_done(struct be_jobs *l, struct be_job *job)
{
	job->line->busy = false;
	job->line->turn = ++l->turn;	/* behind the other lines */
	l->waits -= job->line != &l->regions;
	done_put(l, job);
}

/*
 * Executes the next one; the command thread enters the result. False: none may run, or it
 * is to end.
 */
static bool job_step(struct be_dev *dev, struct be_jobs *l)
{
	uint64_t before = uv_errors;
	struct be_job *job;

	pthread_mutex_lock(&l->lock);
	job = job_begin(l);
	pthread_mutex_unlock(&l->lock);
	if (!job)
		return false;
	job->err = job->run(dev, job);
	job->refused = uv_errors - before;
	pthread_mutex_lock(&l->lock);
	job_done(l, job);
	pthread_mutex_unlock(&l->lock);
	be_wake(dev->wake_fd);
	return true;
}

static bool stopped(struct be_jobs *l)
{
	bool stop;

	pthread_mutex_lock(&l->lock);
	stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return stop;
}

/*
 * A job wakes a thread. If it may not run yet, it may when another one has been executed,
 * and whoever did that looks for the next.
 */
static void *job_thread(void *arg)
{
	struct be_dev *dev = arg;
	struct be_jobs *l = dev->jobs;
	uint64_t one;

	while (read(l->fd, &one, sizeof(one)) == sizeof(one) || errno == EINTR) {
		while (job_step(dev, l))
			;
		if (stopped(l))
			return NULL;
	}
	be_fault(dev, "a job thread cannot sleep: %s", strerror(errno));
	return NULL;
}

bool be_jobs_put(struct be_dev *dev, struct be_job *job)
{
	struct be_jobs *l = dev->jobs;

	if (!l || (job->drops && l->n >= XENVHCA_MAX_ID))
		return false;
	l->n += job->drops;
	job->uc->jobs++;
	pthread_mutex_lock(&l->lock);
	if (!job->line)
		job->line = &l->regions;
	if (!job->line->n++)
		job->line->turn = ++l->turn;
	queue_put(job->ends ? &l->ends : &l->todo, job);
	pthread_mutex_unlock(&l->lock);
	be_wake(l->fd);
	return true;
}

int be_job_do(const struct be_cmd *c, struct be_job *job, bool slow)
{
	job->uc = c->uc ? c->uc : c->dev->ctl;
	job->op = c->req->op;
	job->id = c->req->id;
	if (slow && be_jobs_put(c->dev, job)) {
		BE_STAT_ADD(c->dev, cmd_lanes, 1);
		return BE_PASSED;
	}
	job->err = slow && job->line && c->dev->jobs ? -EBUSY :
		   job->run(c->dev, job);
	return job->end(c, job);
}

void be_jobs_drop(struct be_dev *dev, const struct be_uc *uc)
{
	struct be_jobs *l = dev->jobs;
	struct be_job **p, *job;

	if (!l || !uc->jobs)
		return;
	pthread_mutex_lock(&l->lock);
	for (p = &l->todo.first; (job = *p);) {
		if (job->uc != uc || !job->drops) {
			p = &job->next;
			continue;
		}
		done_put(l, queue_take(&l->todo, p));
		job->err = -ENOENT;
	}
	pthread_mutex_unlock(&l->lock);
}

bool be_jobs_any(struct be_dev *dev)
{
	return dev->jobs && __atomic_load_n(&dev->jobs->any, __ATOMIC_RELAXED);
}

struct be_job *be_jobs_next(struct be_dev *dev)
{
	struct be_jobs *l = dev->jobs;
	struct be_job *job;

	if (!be_jobs_any(dev))
		return NULL;
	pthread_mutex_lock(&l->lock);
	job = queue_take(&l->done, &l->done.first);
	__atomic_store_n(&l->any, l->done.first, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&l->lock);
	return job;
}

int be_job_end(const struct be_cmd *c, struct be_job *job)
{
	struct be_jobs *l = c->dev->jobs;
	struct be_uc *uc = job->uc;
	int err;

	if (job == &uc->leave)		/* which ends the context, too */
		return job->end(c, job);
	l->n -= job->drops;
	uc->jobs--;
	uv_errors += job->refused;
	err = job->end(c, job);
	if (!uc->jobs && uc->file->state == BE_VFILE_LEAVING && !l->stop) {
		pthread_mutex_lock(&l->lock);
		done_put(l, &uc->leave);
		pthread_mutex_unlock(&l->lock);
	}
	return err;
}

static int threads_start(struct be_dev *dev, struct be_jobs *l)
{
	int rc = 0;

	for (; !rc && l->started < THREADS; l->started += !rc)
		rc = -pthread_create(&l->thread[l->started], NULL, job_thread,
				     dev);
	return rc;
}

int be_jobs_start(struct be_dev *dev)
{
	struct be_jobs *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	l->ends.last = &l->ends.first;
	l->todo.last = &l->todo.first;
	l->done.last = &l->done.first;
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	rc = l->fd < 0 ? -errno : 0;
	dev->jobs = l;
	if (!rc)
		rc = threads_start(dev, l);
	if (rc)
		be_jobs_stop(dev);
	return rc;
}

/* @err: of jobs that were not begun; else 0. Whoever ends the device ends its contexts. */
static void end_all(struct be_dev *dev, struct queue *q, int err)
{
	struct xenvhca_response rsp = {};
	struct xenvhca_request req = {};
	struct be_job *job;

	while ((job = queue_take(q, &q->first))) {
		const struct be_cmd c = { dev, job->uc, &req, &rsp };

		if (job->op == XENVHCA_OP_DEALLOC_UCONTEXT)
			continue;
		if (err)
			job->err = err;
		be_job_end(&c, job);
	}
}

void be_jobs_stop(struct be_dev *dev)
{
	struct be_jobs *l = dev->jobs;
	unsigned int i;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_mutex_unlock(&l->lock);
	for (i = 0; i < l->started; i++)
		be_wake(l->fd);
	for (i = 0; i < l->started; i++)
		pthread_join(l->thread[i], NULL);
	end_all(dev, &l->done, 0);
	end_all(dev, &l->ends, -ENOENT);
	end_all(dev, &l->todo, -ENOENT);
	dev->jobs = NULL;
	if (l->fd >= 0)
		close(l->fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
