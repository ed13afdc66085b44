// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages on Xen: the helper reports the frame, the agent makes it
 * reachable. The agent is trusted. It may answer late, or not at all while it
 * is restarted, and a request without an answer may have been executed.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "clock.h"
#include "doorbell_xen.h"
#include "number.h"
#include "uapi/vhca-helper.h"
#include "xenstore/scan.h"

#define AGENT_START_MS	10000	/* for an answer, before there are commands */
#define AGENT_WAIT_MS	1000	/* for an unmap: commands wait, too, but once */
#define AGENT_MAP_MS	5000	/* for a map, which lets commands pass: */
#define AGENT_FIRST_MS	20	/* most answers come in that time */
#define AGENT_AGAIN_MS	2	/* for one that was asked before */

/* ---- one request ---- */
struct agent_request {
	const char *dir;		/* of the slot */
	const char *text;
};

/* Removes the old answer in the same transaction: it would be taken for ours. */
static int agent_request_fn(struct xs_handle *xs, xs_transaction_t t,
			    void *arg)
{
	const struct agent_request *r = arg;
	int rc = xn_rm(xs, t, r->dir, XENVHCA_NODE_DOORBELL_ANSWER);

	return rc ? rc : xn_write_str(xs, t, r->dir,
				      XENVHCA_NODE_DOORBELL_REQUEST, r->text);
}

static int slot_dir(const struct be_agent *a, uint32_t slot, char *dir)
{
	char name[16];

	snprintf(name, sizeof(name), "%" PRIu32, slot);
	return xn_path(dir, a->dir, name);
}

static void agent_alive(struct be_agent *a)
{
	if (a->silent)
		be_log(a->dev, BE_INFO, "the doorbell agent answers again");
	a->silent = false;
}

/* Is the request that had no answer still without one? Does not wait. */
static bool agent_silent(struct be_agent *a)
{
	char dir[XN_PATH_MAX];

	if (a->silent && !slot_dir(a, a->late, dir) &&
	    xn_exists(a->xs, XBT_NULL, dir, XENVHCA_NODE_DOORBELL_ANSWER))
		agent_alive(a);
	return a->silent;
}

/*
 * The watch fires for every slot of this device: read ours again. -EINPROGRESS:
 * no answer until then.
 */
static int agent_wait(struct be_agent *a, const char *dir, char *answer,
		      uint32_t wait_ms)
{
	uint64_t end = vl_now_ns() + (a->silent ? 0 : wait_ms * VL_MSEC_NS);
	struct pollfd p = { .fd = xs_fileno(a->xs), .events = POLLIN };
	char token[XN_PATH_MAX];
	uint64_t now;
	int rc;

	for (;;) {
		while ((rc = xn_watch_next(a->xs, token, NULL)) > 0)
			;
		if (rc < 0)
			return rc;
		rc = xn_read_str(a->xs, XBT_NULL, dir,
				 XENVHCA_NODE_DOORBELL_ANSWER, answer,
				 XN_VALUE_MAX);
		now = vl_now_ns();
		if (rc != -ENOENT || now >= end)
			break;
		poll(&p, 1, (int)((end - now) / VL_MSEC_NS) + 1);
	}
	if (rc == -ENOENT)
		return -EINPROGRESS;
	agent_alive(a);
	return rc;
}

/* If *asked is set the agent has the request, and an error tells nothing of it. */
static int agent_ask(struct be_agent *a, uint32_t slot, const char *dir,
		     const char *text, char *answer, bool *asked,
		     uint32_t wait_ms)
{
	struct agent_request r = { .dir = dir, .text = text };
	int rc = xn_transact(a->xs, agent_request_fn, &r);

	*asked = !rc;
	a->asked_ns[slot] = vl_now_ns();
	return rc ? rc : agent_wait(a, dir, answer, wait_ms);
}

/* Waits no longer for an answer. */
static int agent_late(struct be_agent *a, uint32_t slot)
{
	if (!a->silent)
		be_log(a->dev, BE_ERR, "the doorbell agent does not answer; start xen-vhca-doorbelld in the control domain");
	a->silent = true;
	a->late = slot;
	return -ETIMEDOUT;
}

/* ---- slots ---- */
static uint32_t slot_take(struct be_agent *a)
{
	uint32_t i;

	for (i = 0; i < XENVHCA_DOORBELL_SLOTS; i++) {
		if (a->used[i])
			continue;
		a->used[i] = true;
		return i;
	}
	return BE_NO_SLOT;
}

/* Nothing is mapped there: the nodes count for this domain's quota. */
static void slot_give(struct be_agent *a, uint32_t slot, const char *dir)
{
	xn_rm(a->xs, XBT_NULL, dir, NULL);
	a->used[slot] = false;
}

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

/* What an answer to a map request says; rc: of agent_wait(). */
static int map_answered(struct be_agent *a, uint32_t *slot, const char *dir,
			const char *text, const char *answer, int rc)
{
	uint64_t waited = vl_now_ns() - a->asked_ns[*slot];

	if (rc == -EINPROGRESS && (a->silent ||
				   waited >= AGENT_MAP_MS * VL_MSEC_NS))
		rc = agent_late(a, *slot);
	if (rc || !strcmp(answer, XENVHCA_DOORBELL_MAPPED))
		return rc;
	be_log_peer(a->dev, "doorbell agent: %s: %s", text, answer);
	slot_give(a, *slot, dir);
	*slot = BE_NO_SLOT;
	return page_taken(answer) ? -EPERM : -EACCES;
}

/* Sets *slot if the agent has the request. */
static int map_ask(struct be_agent *a, const char *text, uint32_t *slot)
{
	char dir[XN_PATH_MAX], answer[XN_VALUE_MAX];
	uint32_t i = slot_take(a);
	bool asked = false;
	int rc;

	if (i == BE_NO_SLOT)
		return -ENOSPC;
	rc = slot_dir(a, i, dir);
	if (!rc)
		rc = agent_ask(a, i, dir, text, answer, &asked, AGENT_FIRST_MS);
	if (!asked) {
		slot_give(a, i, dir);
		return rc;
	}
	*slot = i;
	return map_answered(a, slot, dir, text, answer, rc);
}

int be_agent_map(struct be_agent *a, uint64_t frame, uint64_t gfn,
		 uint32_t *slot)
{
	char dir[XN_PATH_MAX], text[96], answer[XN_VALUE_MAX];
	int rc;

	snprintf(text, sizeof(text), XENVHCA_DOORBELL_MAP " 0x%" PRIx64
		 " 0x%" PRIx64 " 0x1", frame, gfn);
	if (*slot == BE_NO_SLOT)
		return agent_silent(a) ? -ETIMEDOUT : map_ask(a, text, slot);
	rc = slot_dir(a, *slot, dir);
	if (!rc)
		rc = agent_wait(a, dir, answer, AGENT_AGAIN_MS);
	return map_answered(a, slot, dir, text, answer, rc);
}

/* Was it answered after we had stopped waiting? */
static bool unmapped_late(struct be_agent *a, const char *dir, char *answer)
{
	return !xn_read_str(a->xs, XBT_NULL, dir,
			    XENVHCA_NODE_DOORBELL_REQUEST, answer,
			    XN_VALUE_MAX) &&
	       !strcmp(answer, XENVHCA_DOORBELL_UNMAP) &&
	       !xn_read_str(a->xs, XBT_NULL, dir, XENVHCA_NODE_DOORBELL_ANSWER,
			    answer, XN_VALUE_MAX) &&
	       !strcmp(answer, XENVHCA_DOORBELL_UNMAPPED);
}

int be_agent_unmap(struct be_agent *a, uint32_t slot)
{
	char dir[XN_PATH_MAX], answer[XN_VALUE_MAX];
	int rc = slot_dir(a, slot, dir);
	bool asked;

	agent_silent(a);
	if (!rc && unmapped_late(a, dir, answer))
		agent_alive(a);
	else if (!rc)
		rc = agent_ask(a, slot, dir, XENVHCA_DOORBELL_UNMAP, answer,
			       &asked, a->wait_ms);
	if (rc == -EINPROGRESS)
		rc = agent_late(a, slot);
	if (rc)
		return rc;
	if (strcmp(answer, XENVHCA_DOORBELL_UNMAPPED)) {
		be_log(a->dev, BE_ERR, "doorbell agent: slot %" PRIu32 ": %s",
		       slot, answer);
		return -EBUSY;
	}
	slot_give(a, slot, dir);
	return 0;
}

/* ---- life ---- */
/* Ends what a killed worker left behind. */
static int agent_clear(struct be_agent *a)
{
	char **names = NULL;
	uint64_t slot = 0;
	int i, n, rc = 0;

	n = xn_list(a->xs, XBT_NULL, a->dir, &names);
	if (n < 0)
		return n;
	for (i = 0; i < n && !rc; i++)
		if (!vl_parse_u64(names[i], 0, XENVHCA_DOORBELL_SLOTS - 1,
				  &slot))
			rc = be_agent_unmap(a, (uint32_t)slot);
	free(names);
	return rc;
}

int be_agent_open(struct be_agent *a, struct be_dev *dev)
{
	char back[XN_PATH_MAX];
	int own, rc;

	a->dev = dev;
	a->wait_ms = AGENT_START_MS;
	a->xs = xs_open(0);
	own = a->xs ? xn_own_domid(a->xs) : -errno;
	rc = own < 0 ? own : xn_backend_dir(back, (unsigned int)own,
					    (unsigned int)dev->domid,
					    (unsigned int)dev->devid);
	if (!rc)
		rc = xn_path(a->dir, back, XENVHCA_NODE_DOORBELL);
	if (!rc)
		rc = xn_watch(a->xs, a->dir, "slots");
	if (!rc)
		rc = agent_clear(a);
	a->wait_ms = AGENT_WAIT_MS;
	if (rc == -ETIMEDOUT)
		be_fault(dev, "an earlier connection left doorbell pages with the guest, and the doorbell agent does not answer: start xen-vhca-doorbelld in the control domain");
	else if (rc)
		be_fault(dev, "doorbell slots: %s", strerror(-rc));
	return rc;
}

void be_agent_close(struct be_agent *a)
{
	if (a->xs)
		xs_close(a->xs);
	a->xs = NULL;
}

/* ---- helper module ---- */
int be_frame_find(int helper_fd, void *addr, struct be_bell *bell)
{
	struct vhca_helper_frames f = {
		.addr = (uintptr_t)addr, .frames = (uintptr_t)&bell->frame,
		.nr_pages = 1,
	};

	if (ioctl(helper_fd, VHCA_HELPER_FRAMES, &f) < 0)
		return -errno;
	switch (f.cache) {
	case VHCA_HELPER_CACHE_NC:
		bell->prot = XENVHCA_PROT_NC;
		return 0;
	case VHCA_HELPER_CACHE_WC:
		bell->prot = XENVHCA_PROT_WC;
		return 0;
	case VHCA_HELPER_CACHE_DEV:
		bell->prot = XENVHCA_PROT_DEV;
		return 0;
	default:
		return -EIO;
	}
}

int be_hca_cap_dma(int helper_fd, const char *hca, int fd)
{
	struct vhca_helper_cap_dma c = { .fd = fd };

	snprintf(c.hca, sizeof(c.hca), "%s", hca);
	return ioctl(helper_fd, VHCA_HELPER_CAP_DMA, &c) < 0 ? -errno : 0;
}
