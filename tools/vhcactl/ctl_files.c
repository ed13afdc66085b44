// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands without xenstore: devices are directories of files (host/tree.h), which
 * xen-vhcad --devices serves. dom0less creates them, list shows them, detach removes
 * them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "ctl.h"
#include "dom0less.h"
#include "host/tree.h"
#include "host/xenbus.h"
#include "number.h"
#include "vhca-keys.h"

#define DETACH_WAIT	30	/* seconds */
#define FORCE_WAIT	5	/* the same with -f */
#define POLL_NS		100000000
#define POLLS_PER_S	10

/* ---- dom0less ---- */

static int write_number(const char *dir, const char *node, unsigned int v)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", v);
	return host_tree_write(dir, node, text);
}

/* Writes the state last, which makes it a device. */
static int write_nodes(const char *dir, const char *name,
		       const struct ctl_conf *conf)
{
	int i, rc = host_tree_write(dir, HOST_TREE_NODE_NAME, name);

	if (!rc)
		rc = host_tree_write(dir, XENVHCA_NODE_HCA, conf->hca);
	for (i = 0; i < CTL_KEYS && !rc; i++)
		if (conf->set[i])
			rc = write_number(dir, ctl_keys[i].name, conf->val[i]);
	for (i = 0; i < CTL_TEXTS && !rc; i++)
		if (conf->text[i][0])
			rc = host_tree_write(dir, ctl_texts[i].name, conf->text[i]);
	if (!rc)
		rc = write_number(dir, HOST_TREE_NODE_REF, XENVHCA_STORE_FIRST_REF);
	if (!rc)
		rc = write_number(dir, HOST_TREE_NODE_STATE, XenbusStateInitialising);
	return rc ? rc : write_number(dir, HOST_TREE_NODE_ONLINE, 1);
}

static int make_dir(const char *path)
{
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

static enum xenbus_state state_of(const char *dir, const char *node)
{
	return (enum xenbus_state)host_tree_number(dir, node, XenbusStateInitialising,
						   XenbusStateClosed, XenbusStateUnknown);
}

static int give_device(struct ctl *c, const struct dom0less_guest *g)
{
	char dir[PATH_MAX], guest[PATH_MAX], err[CTL_ERR_MAX];
	struct ctl_conf conf;
	int rc;

	if (ctl_conf_parse(g->spec, &conf, err))
		return ctl_error(CTL_USAGE, "%s: %s", g->name, err);
	if (conf.text[CTL_DOORBELLS][0])
		return ctl_error(CTL_USAGE, "%s: %s needs xenstore: this domain has no hardware HCA",
				 g->name, XENVHCA_NODE_DOORBELL_STATIC);
	if (conf.text[CTL_VIF][0])
		return ctl_error(CTL_USAGE, "%s: %s needs xenstore: without it there is no netback",
				 g->name, XENVHCA_NODE_VIF);
	host_tree_guest(guest, c->devices, g->domid);
	host_tree_dir(dir, c->devices, g->domid, 0);
	if (state_of(dir, HOST_TREE_NODE_STATE) != XenbusStateUnknown)
		return CTL_OK;
	rc = make_dir(guest);
	if (!rc)
		rc = make_dir(dir);
	if (!rc)
		rc = write_nodes(dir, g->name, &conf);
	return rc ? ctl_error(CTL_FAILED, "%s: %s", dir, strerror(-rc)) : CTL_OK;
}

int ctl_files_serve(struct ctl *c, const struct dom0less *all)
{
	int i, one, rc = make_dir(c->devices);

	if (rc)
		return ctl_error(CTL_FAILED, "%s: %s", c->devices, strerror(-rc));
	for (i = 0; i < all->nr; i++) {
		const struct dom0less_guest *g = &all->guest[i];

		one = g->spec[0] ? give_device(c, g) : CTL_OK;
		rc = rc ? rc : one;
		if (!one)
			ctl_say("domain %u (%s): %s", g->domid, g->name,
				g->spec[0] ? "device 0" : "no vhca");
	}
	return rc;
}

/* ---- list, detach ---- */

struct each {
	struct ctl *c;
	int domid;		/* -1: all */
	int devid;
	unsigned int now;	/* the guest */
	int (*fn)(struct ctl *c, unsigned int domid, unsigned int devid,
		  const char *dir, void *arg);
	void *arg;
	int found;
};

static int each_device(unsigned int devid, void *arg)
{
	struct each *e = arg;
	char dir[PATH_MAX];

	if (e->devid >= 0 && devid != (unsigned int)e->devid)
		return CTL_OK;
	host_tree_dir(dir, e->c->devices, e->now, devid);
	e->found++;
	return e->fn(e->c, e->now, devid, dir, e->arg);
}

static int each_guest(unsigned int domid, void *arg)
{
	struct each *e = arg;
	char path[PATH_MAX];

	if (e->domid >= 0 && domid != (unsigned int)e->domid)
		return CTL_OK;
	e->now = domid;
	host_tree_guest(path, e->c->devices, domid);
	return host_tree_each(path, XN_MAX_DEVID, each_device, e);
}

static int each_run(struct each *e)
{
	if (!access(e->c->devices, X_OK))
		return host_tree_each(e->c->devices, XN_MAX_DOMID,
				      each_guest, e);
	return ctl_error(CTL_FAILED,
			 "there is neither a xenstore (is this a Xen domain, is xenstored running?) nor %s, which vhcactl dom0less makes: %s",
			 e->c->devices, strerror(errno));
}

/* Nobody has written the guest's state before it connects the first time. */
static void facts_of(struct ctl *c, unsigned int domid, unsigned int devid,
		     const char *dir, struct ctl_facts *f)
{
	*f = (struct ctl_facts){
		.domid = domid, .devid = devid,
		.be = state_of(dir, HOST_TREE_NODE_STATE),
		.fe = state_of(dir, HOST_TREE_NODE_FRONT),
		.leaving = !host_tree_number(dir, HOST_TREE_NODE_ONLINE, 0, 1, 1),
		.unserved = ctl_unserved(c, domid, devid),
	};
	if (f->fe == XenbusStateUnknown)
		f->fe = XenbusStateInitialising;
	if (host_tree_read(dir, XENVHCA_NODE_BROKEN, f->be_why, sizeof(f->be_why)))
		f->be_why[0] = '\0';
}

static int list_one(struct ctl *c, unsigned int domid, unsigned int devid,
		    const char *dir, void *arg)
{
	struct ctl_facts f;
	struct ctl_row r = {
		.domid = domid, .devid = devid, .backend = -1, .hca = "?",
		.be = host_state_name(state_of(dir, HOST_TREE_NODE_STATE)),
		.fe = host_state_name(state_of(dir, HOST_TREE_NODE_FRONT)),
	};

	facts_of(c, domid, devid, dir, &f);
	ctl_hint(&f, r.hint, sizeof(r.hint));
	if (host_tree_read(dir, HOST_TREE_NODE_NAME, r.name, sizeof(r.name)))
		strcpy(r.name, "");
	if (host_tree_read(dir, XENVHCA_NODE_HCA, r.hca, sizeof(r.hca)))
		strcpy(r.hca, "?");
	ctl_list_row(&r, arg);
	return CTL_OK;
}

/* Guests have only the names of the file here. */
static int guest_of(const char *text, int *domid)
{
	uint64_t id = 0;

	if (vl_parse_u64(text, 0, XN_MAX_DOMID, &id))
		return ctl_error(CTL_USAGE,
				 "\"%s\": the number of the domain is needed (vhcactl list shows it)",
				 text);
	*domid = (int)id;
	return CTL_OK;
}

int ctl_files_list(struct ctl *c)
{
	struct each e = { .c = c, .domid = -1, .devid = -1, .fn = list_one };
	int rc = c->argc ? guest_of(c->argv[0], &e.domid) : CTL_OK;

	if (rc)
		return rc;
	if (c->json)
		e.arg = json_object_new_array();
	else
		ctl_list_head("");
	rc = each_run(&e);
	if (e.arg)
		ctl_print_json(e.arg);
	return rc;
}

static bool closed_within(const char *dir, int seconds)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	int polls = seconds * POLLS_PER_S;

	while (state_of(dir, HOST_TREE_NODE_STATE) != XenbusStateClosed) {
		if (polls-- <= 0)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* -f: removes the state, upon which the worker closes the device. */
static int detach_one(struct ctl *c, unsigned int domid, unsigned int devid,
		      const char *dir, void *arg)
{
	int rc = write_number(dir, HOST_TREE_NODE_ONLINE, 0);
	int wait = c->wait >= 0 ? c->wait : c->force ? FORCE_WAIT : DETACH_WAIT;

	(void)arg;
	if (!rc && state_of(dir, HOST_TREE_NODE_STATE) != XenbusStateClosed)
		rc = write_number(dir, HOST_TREE_NODE_STATE, XenbusStateClosing);
	if (!rc && !closed_within(dir, wait) && !c->force)
		return ctl_error(CTL_TIMEOUT,
				 "device %u of domain %u does not close; vhcactl detach -f takes it away by force",
				 devid, domid);
	if (!rc)
		rc = host_tree_remove(c->devices, domid, devid);
	return rc ? ctl_error(CTL_FAILED, "%s: %s", dir, strerror(-rc)) : CTL_OK;
}

int ctl_files_detach(struct ctl *c)
{
	struct each e = { .c = c, .devid = -1, .fn = detach_one };
	uint64_t devid = 0;
	int rc = guest_of(c->argv[0], &e.domid);

	if (rc)
		return rc;
	if (strcmp(c->argv[1], "all")) {
		if (vl_parse_u64(c->argv[1], 0, XN_MAX_DEVID, &devid))
			return ctl_error(CTL_USAGE, "device \"%s\": a number or all",
					 c->argv[1]);
		e.devid = (int)devid;
	}
	rc = each_run(&e);
	if (!rc && !e.found && e.devid >= 0)
		return ctl_error(CTL_NOT_FOUND, "domain %s has no device %s",
				 c->argv[0], c->argv[1]);
	return rc;
}
