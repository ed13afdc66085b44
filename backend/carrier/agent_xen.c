// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The dialogue with the doorbell agent over xenstore. The agent is trusted. It may answer
 * late, or not at all while it is restarted, and a request without an answer may have
 * been executed.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "agent_xen.h"
#include "number.h"
#include "vhca-agent.h"
#include "xenstore/scan.h"

#define AGENT_START_MS	10000	/* for an answer, before there are commands */
#define AGENT_WAIT_MS	1000	/* for an unmap: commands wait, too, but once */
#define AGENT_MAP_MS	5000	/* without any answer: a map lets commands pass */
#define AGENT_LAST_MS	30000	/* for one request, whatever else is answered */
#define AGENT_FIRST_MS	20	/* most answers come in that time; for unmaps behind one */
#define AGENT_AGAIN_MS	2	/* for one that was asked before */

/* ---- the queue: requests without an answer, in the order of their numbers ---- */
static void queue_add(struct be_agent *a, uint32_t i)
{
	struct be_slot *s = &a->slot[i];

	s->n = ++a->n;
	s->asked_ns = vl_now_ns();
	s->sent = false;
	s->next = BE_NO_SLOT;
	if (a->first == BE_NO_SLOT)
		a->first = i;
	else
		a->slot[a->last].next = i;
	a->last = i;
	a->maps += !s->unmap;
}

static void queue_remove(struct be_agent *a, uint32_t i)
{
	uint32_t *p = &a->first, before = BE_NO_SLOT;

	if (!a->slot[i].n)
		return;
	while (*p != i) {
		before = *p;
		p = &a->slot[*p].next;
	}
	*p = a->slot[i].next;
	if (a->last == i)
		a->last = before;
	a->slot[i].n = 0;
	a->maps -= !a->slot[i].unmap;
}

static int request_text(const struct be_agent *a, uint32_t i, char *text,
			size_t size)
{
	const struct be_slot *s = &a->slot[i];

	if (i == BE_EVERY_SLOT)
		return snprintf(text, size, "%" PRIu64 " "
				XENVHCA_DOORBELL_ALL " "
				XENVHCA_DOORBELL_UNMAP, s->n);
	if (s->unmap)
		return snprintf(text, size, "%" PRIu64 " %" PRIu32 " "
				XENVHCA_DOORBELL_UNMAP, s->n, i);
	return snprintf(text, size, "%" PRIu64 " %" PRIu32 " "
			XENVHCA_DOORBELL_MAP " 0x%" PRIx64 " 0x%" PRIx64 " 0x1",
			s->n, i, s->frame, s->gfn);
}

/*
 * Writes the front of the queue, if there is something that the agent does not have
 * yet. What it has answered goes from the node with that, so there is no write
 * of an answer's own.
 */
static int queue_send(struct be_agent *a)
{
	char text[XENVHCA_DOORBELL_TEXT + 1];
	uint32_t i, k;
	bool news = false;
	size_t len = 0;
	int rc;

	for (k = 0, i = a->first; i != BE_NO_SLOT && k < XENVHCA_DOORBELL_BATCH;
	     i = a->slot[i].next, k++) {
		news |= !a->slot[i].sent;
		if (k)
			text[len++] = ';';
		len += (size_t)request_text(a, i, text + len,
					    sizeof(text) - len);
	}
	if (!news)
		return 0;
	rc = xn_write_str(a->xs, XBT_NULL, a->dir,
			  XENVHCA_NODE_DOORBELL_REQUESTS, text);
	if (rc)
		return rc;
	for (i = a->first; k--; i = a->slot[i].next)
		a->slot[i].sent = true;
	return 0;
}

/* ---- answers ---- */
/*
 * Has another guest the page? One that this guest has already is no reason to
 * look for another: it asked for it by two offsets.
 */
static bool page_taken(const char *answer)
{
	static const char *const taken[] = {
		XENVHCA_DOORBELL_REFUSED " " XENVHCA_DOORBELL_REASON_OTHER,
		XENVHCA_DOORBELL_REFUSED " " XENVHCA_DOORBELL_REASON_HELD,
	};
	size_t i;

	for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcmp(answer, taken[i]))
			return true;
	return false;
}

static void answered(struct be_agent *a, uint32_t i, const char *answer)
{
	struct be_slot *s = &a->slot[i];
	char text[128];

	request_text(a, i, text, sizeof(text));
	queue_remove(a, i);
	if (a->silent)
		be_log(a->dev, BE_INFO, "the doorbell agent answers again");
	a->silent = a->slow = false;
	a->heard_ns = vl_now_ns();
	s->rc = 0;
	if (s->unmap && strcmp(answer, XENVHCA_DOORBELL_UNMAPPED)) {
		be_log(a->dev, BE_ERR, "doorbell agent: %s: %s", text, answer);
		s->rc = -EBUSY;
	} else if (!s->unmap && strcmp(answer, XENVHCA_DOORBELL_MAPPED)) {
		be_log_peer(a->dev, "doorbell agent: %s: %s", text, answer);
		s->rc = page_taken(answer) ? -EPERM : -EACCES;
	}
}

/* One answer, "<n> <text>". Numbers that nobody waits for are old ones. */
static void take_answer(struct be_agent *a, char *s)
{
	char *text = strchr(s, ' ');
	uint64_t n = 0;
	uint32_t i;

	if (!text)
		return;
	*text++ = '\0';
	if (vl_parse_u64(s, 0, UINT64_MAX, &n))
		return;
	if (!n)
		be_log_peer(a->dev, "doorbell agent: %s", text);
	for (i = a->first; i != BE_NO_SLOT && a->slot[i].n != n;)
		i = a->slot[i].next;
	if (i != BE_NO_SLOT)
		answered(a, i, text);
}

static int take_answers(struct be_agent *a)
{
	char text[XENVHCA_DOORBELL_TEXT + 1], *rest = text, *s;
	int rc = xn_read_str(a->xs, XBT_NULL, a->dir,
			     XENVHCA_NODE_DOORBELL_ANSWERS, text, sizeof(text));

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	while ((s = strsep(&rest, ";")))
		take_answer(a, s);
	return queue_send(a);		/* what had no place in the node */
}

int be_agent_heard(struct be_agent *a)
{
	char token[XN_PATH_MAX];
	int rc;

	while ((rc = xn_watch_next(a->xs, token, NULL)) > 0)
		a->unread = true;
	return rc;
}

/* Takes the answers that are there, without waiting for more. */
static int agent_look(struct be_agent *a)
{
	int rc = be_agent_heard(a);

	if (rc || !a->unread)
		return rc;
	rc = take_answers(a);
	a->unread = rc && rc != -EINVAL && rc != -E2BIG;
	return rc;
}

/* -EINPROGRESS: no answer until then; else what it was. */
static int agent_wait(struct be_agent *a, uint32_t i, uint32_t wait_ms)
{
	uint64_t now = vl_now_ns();
	uint64_t end = now + (a->silent ? 0 : wait_ms * VL_MSEC_NS);
	struct pollfd p = { .fd = a->fd, .events = POLLIN };
	const struct be_slot *s = &a->slot[i];
	int rc;

	for (;;) {
		rc = s->n ? agent_look(a) : 0;
		if (rc || !s->n)
			return rc ? rc : s->rc;
		now = vl_now_ns();
		if (now >= end)
			return -EINPROGRESS;
		poll(&p, 1, (int)((end - now) / VL_MSEC_NS) + 1);
	}
}

/* Waits no longer for an answer. */
static int agent_late(struct be_agent *a)
{
	if (!a->silent)
		be_log(a->dev, BE_ERR, "the doorbell agent does not answer; start xen-vhca-doorbelld in the control domain");
	a->silent = true;
	return -ETIMEDOUT;
}

/* ---- slots ---- */
static uint32_t slot_take(struct be_agent *a)
{
	for (; a->low < XENVHCA_DOORBELL_SLOTS; a->low++) {
		if (a->slot[a->low].used)
			continue;
		a->slot[a->low].used = true;
		a->used++;
		return a->low;
	}
	return BE_NO_SLOT;
}

/* Nothing is mapped there. */
static void slot_give(struct be_agent *a, uint32_t i)
{
	queue_remove(a, i);
	a->slot[i].used = false;
	a->used--;
	if (i < a->low)
		a->low = i;
}

/* An agent that has many guests to answer is slow, not silent. */
static bool is_late(const struct be_agent *a, const struct be_slot *s)
{
	uint64_t now = vl_now_ns();
	uint64_t heard = a->heard_ns > s->asked_ns ? a->heard_ns : s->asked_ns;

	return now - heard >= AGENT_MAP_MS * VL_MSEC_NS ||
	       now - s->asked_ns >= AGENT_LAST_MS * VL_MSEC_NS;
}

/* What came of a map request; rc: of agent_wait(). */
static int map_answered(struct be_agent *a, uint32_t *slot, int rc)
{
	const struct be_slot *s = &a->slot[*slot];

	if (rc == -EINPROGRESS && (a->silent || is_late(a, s)))
		return agent_late(a);
	if (rc && !s->n && rc == s->rc) {	/* refused */
		slot_give(a, *slot);
		*slot = BE_NO_SLOT;
	}
	return rc;
}

/* Sets *slot if the agent may have the request. */
static int map_ask(struct be_agent *a, uint64_t frame, uint64_t gfn,
		   uint32_t *slot)
{
	/* Who comes behind others does not wait: the agent reads all of them at once. */
	uint32_t wait_ms = a->first == BE_NO_SLOT ? AGENT_FIRST_MS : 0;
	uint32_t i = slot_take(a);
	int rc;

	if (i == BE_NO_SLOT)
		return -ENOSPC;
	a->slot[i].frame = frame;
	a->slot[i].gfn = gfn;
	a->slot[i].unmap = false;
	queue_add(a, i);
	rc = queue_send(a);
	if (rc) {
		slot_give(a, i);
		return rc;
	}
	*slot = i;
	return map_answered(a, slot, agent_wait(a, i, wait_ms));
}

/* Of all that wait, one looks for all, and the others have what it found. */
static int map_again(struct be_agent *a, uint32_t *slot)
{
	int rc;

	if (a->skip && a->slot[*slot].n && !a->silent) {
		a->skip--;
		return -EINPROGRESS;
	}
	rc = agent_wait(a, *slot, AGENT_AGAIN_MS);
	a->skip = rc == -EINPROGRESS ? a->maps - 1 : 0;
	return map_answered(a, slot, rc);
}

int be_agent_map(struct be_agent *a, uint64_t frame, uint64_t gfn,
		 uint32_t *slot)
{
	int rc;

	if (*slot != BE_NO_SLOT)
		return map_again(a, slot);
	rc = a->silent ? agent_look(a) : 0;
	if (rc || a->silent)
		return rc ? rc : -ETIMEDOUT;
	return map_ask(a, frame, gfn, slot);
}

int be_agent_unmap(struct be_agent *a, uint32_t slot)
{
	struct be_slot *s = &a->slot[slot];
	int rc = agent_look(a);

	if (!rc && s->unmap && !s->n && !s->rc) {
		slot_give(a, slot);	/* answered after we had stopped waiting */
		return 0;
	}
	if (!rc && !(s->unmap && s->n)) {
		queue_remove(a, slot);	/* a map that we wait for no longer */
		s->unmap = true;
		queue_add(a, slot);
	}
	if (!rc)
		rc = queue_send(a);
	if (!rc)
		rc = agent_wait(a, slot, a->slow ? AGENT_FIRST_MS : a->wait_ms);
	if (rc == -EINPROGRESS) {
		a->slow = true;
		return is_late(a, s) ? agent_late(a) : -ETIMEDOUT;
	}
	if (!rc)
		slot_give(a, slot);
	return rc;
}

/* ---- life ---- */
/* Ends what a killed worker left behind. */
static int agent_clear(struct be_agent *a)
{
	char **names = NULL;
	int n;

	n = xn_list(a->xs, XBT_NULL, a->dir, &names);
	free(names);
	if (n <= 0)
		return n;
	a->slot[BE_EVERY_SLOT].used = true;
	a->used++;
	return be_agent_unmap(a, BE_EVERY_SLOT);
}

static int agent_dir(struct be_agent *a, const struct be_dev *dev)
{
	int own = a->xs ? xn_own_domid(a->xs) : -errno;
	char back[XN_PATH_MAX];

	if (own < 0)
		return own;
	xn_backend_dir(back, (unsigned int)own, (unsigned int)dev->domid,
		       (unsigned int)dev->devid);
	return xn_path(a->dir, back, XENVHCA_NODE_DOORBELL);
}

int be_agent_open(struct be_agent *a, struct be_dev *dev)
{
	char path[XN_PATH_MAX];
	int rc;

	a->dev = dev;
	a->first = a->last = BE_NO_SLOT;
	/* Numbers go on where those of a worker before this one cannot be. */
	a->n = vl_now_ns();
	a->wait_ms = AGENT_START_MS;
	a->xs = xs_open(0);
	rc = agent_dir(a, dev);
	if (!rc)
		a->fd = xs_fileno(a->xs);
	if (!rc)
		rc = xn_path(path, a->dir, XENVHCA_NODE_DOORBELL_ANSWERS);
	if (!rc)
		rc = xn_watch(a->xs, path, XENVHCA_NODE_DOORBELL_ANSWERS);
	if (!rc)
		rc = agent_clear(a);
	a->wait_ms = AGENT_WAIT_MS;
	if (rc == -ETIMEDOUT)
		be_fault(dev, "an earlier connection left doorbell pages with the guest, and the doorbell agent does not answer: start xen-vhca-doorbelld in the control domain");
	else if (rc)
		be_fault(dev, "doorbell slots: %s", strerror(-rc));
	return rc;
}

/* Without nodes the next worker needs no agent to start. */
void be_agent_close(struct be_agent *a)
{
	if (!a->xs)
		return;
	if (a->dir[0] && !a->used) {
		xn_rm(a->xs, XBT_NULL, a->dir, XENVHCA_NODE_DOORBELL_REQUESTS);
		xn_rm(a->xs, XBT_NULL, a->dir, XENVHCA_NODE_DOORBELL_ANSWERS);
	}
	xs_close(a->xs);
	a->xs = NULL;
}
