// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend's command and kick rings: threads of several processes submit, are killed and
 * send what nobody waits for, and arm CQs, until the ring is broken under them. Each submit
 * ends once, with the answer to what it asked, and no command is lost.
 */
#include "backend.h"

#define SUBMITTERS	6
#define KICKERS		2		/* threads behind them */

static struct vhca_dev *dev;
static atomic64_t answered, kicked, killed, unwaited, failed;
static struct submitter {
	pthread_t thread;
	unsigned int nr;
	bool kill, stop;
} submitters[SUBMITTERS + KICKERS];

static void ring_broken(struct vhca_dev *d)
{
}

static const struct vhca_ring_ops ops = { .broken = ring_broken };

static void check_answer(const struct vhca_cmd *cmd, u64 token, unsigned int flags, int rc)
{
	u64 got;

	switch (rc) {
	case 0:
		memcpy(&got, cmd->rsp.u.raw, sizeof(got));
		if (got != token)
			wrong("somebody else's answer");
		atomic64_inc(&answered);
		return;
	case -EINPROGRESS:
		if (cmd || !(flags & VHCA_CMD_NOWAIT))
			wrong("nobody waits for it, who should");
		atomic64_inc(&unwaited);
		return;
	case -EINTR:
		if (!kernel_killed() || (flags & VHCA_CMD_CERTAIN &&
					 (!cmd || flags & VHCA_CMD_RESERVED)))
			wrong("killed for nothing, or in what is not killable");
		atomic64_inc(&killed);
		return;
	case -EIO:
		if (!READ_ONCE(dev->ring.reason))
			wrong("an error on a ring that is not broken");
		atomic64_inc(&failed);
		usleep(any(500));
		return;
	}
	wrong("no answer in time");
}

static void submit_one(void)
{
	static const unsigned int kinds[] = {
		0, 0, VHCA_CMD_DESTROY, VHCA_CMD_APART, VHCA_CMD_OWNERLESS,
		VHCA_CMD_DESTROY | VHCA_CMD_NOWAIT, VHCA_CMD_RESERVED,
	};
	unsigned int flags = kinds[any(ARRAY_SIZE(kinds))];
	struct vhca_cmd *cmd = vhca_cmd_alloc(1 + any(3), 0);
	u64 token = atomic64_add_return(1, &race_token);
	int rc;

	memcpy(cmd->req.u.raw, &token, sizeof(token));
	rc = vhca_ring_submit(dev, &cmd, flags);
	check_answer(cmd, token, flags, rc);
	kfree(cmd);
}

static void kick_one(void)
{
	struct vhca_kick kick = { .type = XENVHCA_KICK_ARM, .handle = 1 };
	int rc = vhca_ring_kick_wait(dev, &kick);

	if (rc == -EIO ? !READ_ONCE(dev->ring.reason) : rc == -EINTR ? !kernel_killed() : rc)
		wrong("an error of a kick");
	atomic64_inc(rc ? &failed : &kicked);
	usleep(any(rc ? 500 : 100));
}

static void *submitter_main(void *arg)
{
	struct submitter *s = arg;

	race_seed = s->nr + jiffies;
	current->tgid = s->nr / 2;
	kernel_kill = &s->kill;
	while (!READ_ONCE(s->stop)) {
		if (s->nr < SUBMITTERS)
			submit_one();
		else
			kick_one();
		WRITE_ONCE(s->kill, false);
	}
	return NULL;
}

/* Some are killed meanwhile. */
static void let_them_run(unsigned int turns)
{
	while (turns--) {
		usleep(any(500));
		WRITE_ONCE(submitters[any(ARRAY_SIZE(submitters))].kill, true);
	}
}

static void join(unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) {
		WRITE_ONCE(submitters[i].stop, true);
		WRITE_ONCE(submitters[i].kill, true);
	}
	for (i = from; i < to; i++)
		pthread_join(submitters[i].thread, NULL);
}

/*
 * How a round ends: in order, or by us, or by a backend that answers twice. Who kicks is
 * in a verb, which has ended when the rings are freed; who submits, may be in a work.
 */
static void end_ring(unsigned int how)
{
	if (how == 1 || how == 3)
		vhca_break(dev, "the test breaks it");
	if (how == 2)
		WRITE_ONCE(backend_lies, true);
	if (how)
		let_them_run(2);
	join(SUBMITTERS, SUBMITTERS + KICKERS);
	if (how == 3) {
		vhca_ring_free(dev);
		let_them_run(1);
	}
	join(0, SUBMITTERS);
	vhca_ring_free(dev);
}

static void round_of(unsigned int how)
{
	unsigned int i;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (vhca_ring_init(dev, any(2), &ops))
		wrong("no ring");
	backend_start(dev);
	for (i = 0; i < ARRAY_SIZE(submitters); i++)
		submitters[i] = (struct submitter){ .nr = i };
	for (i = 0; i < ARRAY_SIZE(submitters); i++)
		submitters[i].thread = race_thread(submitter_main, &submitters[i]);
	let_them_run(1 + any(50));
	end_ring(how);
	kfree(dev);
	if (atomic_read(&kernel_allocs))
		wrong("commands are lost");
	if (counted)
		wrong("pages are lost");
}

int main(void)
{
	unsigned long end = race_end();
	unsigned int rounds = 0;

	kernel_boot();
	cmd_timeout = 3600;
	unmapped = backend_end;
	while (rounds < 8 || time_before(jiffies, end))
		round_of(rounds++ % 4);
	printf("%u rings: %llu answers, %llu kicks, %llu killed, %llu unwaited, %llu failed\n", rounds,
	       atomic64_read(&answered), atomic64_read(&kicked), atomic64_read(&killed),
	       atomic64_read(&unwaited), atomic64_read(&failed));
	return 0;
}
