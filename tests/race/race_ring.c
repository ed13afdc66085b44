// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend's command ring: threads of several processes submit, are killed and send what
 * nobody waits for, until the ring is broken under them. Each submit ends once, with the
 * answer to what it asked; no command is lost.
 */
#include "backend.h"

#define SUBMITTERS	6

static struct vhca_dev *dev;
static bool stop, broken;
static atomic64_t answered, killed, unwaited, failed;
static struct submitter {
	pthread_t thread;
	unsigned int nr;
	bool kill;
} submitters[SUBMITTERS];

void vhca_break(struct vhca_dev *d, const char *reason)
{
	WRITE_ONCE(broken, true);
	vhca_ring_break(d);
}

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
		if (!READ_ONCE(broken))
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
	if (cmd)
		vhca_cmd_free(cmd);
}

static void *submitter_main(void *arg)
{
	struct submitter *s = arg;

	race_seed = s->nr + jiffies;
	current->tgid = s->nr / 2;
	kernel_kill = &s->kill;
	while (!READ_ONCE(stop)) {
		submit_one();
		WRITE_ONCE(s->kill, false);
	}
	return NULL;
}

/* Some are killed meanwhile. */
static void let_them_run(unsigned int turns)
{
	while (turns--) {
		usleep(any(500));
		WRITE_ONCE(submitters[any(SUBMITTERS)].kill, true);
	}
}

/* How a round ends: in order, or by us, or by a backend that answers twice. */
static void end_ring(unsigned int how)
{
	if (how == 1)
		vhca_break(dev, "the test breaks it");
	if (how == 2)
		WRITE_ONCE(backend_lies, true);
	if (how)
		let_them_run(2);
	if (how == 3) {
		WRITE_ONCE(broken, true);
		vhca_ring_free(dev);
		let_them_run(1);
	}
	WRITE_ONCE(stop, true);
}

static void round_of(unsigned int how)
{
	unsigned int i;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	WRITE_ONCE(stop, false);
	WRITE_ONCE(broken, false);
	if (vhca_ring_init(dev, any(2)))
		wrong("no ring");
	backend_start(dev);
	for (i = 0; i < SUBMITTERS; i++) {
		submitters[i] = (struct submitter){ .nr = i };
		submitters[i].thread = race_thread(submitter_main, &submitters[i]);
	}
	let_them_run(1 + any(50));
	end_ring(how);
	for (i = 0; i < SUBMITTERS; i++)
		pthread_join(submitters[i].thread, NULL);
	vhca_ring_free(dev);
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
	printf("%u rings: %llu answers, %llu killed, %llu unwaited, %llu failed\n", rounds,
	       atomic64_read(&answered), atomic64_read(&killed),
	       atomic64_read(&unwaited), atomic64_read(&failed));
	return 0;
}
