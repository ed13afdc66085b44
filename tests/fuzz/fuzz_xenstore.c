// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Values of nodes: a xenstore whose every read returns the next piece of the
 * input. What the readers let pass is in its range.
 */
#include <errno.h>
#include <stdlib.h>

#include "host/xenbus.h"
#include "worker/conf.h"
#include "fuzz.h"
#include "xenstore/state.h"

static struct input store;

/* Takes the place of the library's. */
void *xs_read(struct xs_handle *h, xs_transaction_t t, const char *path,
	      unsigned int *len)
{
	uint8_t n = in_u8(&store);
	char *value;

	(void)h;
	(void)t;
	PROMISE(strlen(path) < XN_PATH_MAX);
	if (n == 255 || !store.left) {
		errno = ENOENT;
		return NULL;
	}
	value = malloc(n + 1u);
	PROMISE(value);
	in_bytes(&store, value, n);
	value[n] = 0;
	*len = n;
	return value;
}

static int next_value(struct be_store *l, enum be_side side, const char *node,
		      char *value, size_t size)
{
	return xn_read_str(NULL, XBT_NULL, l->name[side], node, value, size);
}

static const struct be_store_ops ops = { .read = next_value };
static struct be_store fed = { .ops = &ops, .name = { "b", "f" } };

static void configuration(void)
{
	struct be_dev dev;
	unsigned int t;

	PROMISE(!be_dev_init(&dev, 1, 0));
	if (!be_conf_read(&dev, &fed)) {
		PROMISE(dev.port);
		PROMISE(strlen(dev.hca) < XENVHCA_NAME_LEN && dev.hca[0]);
		PROMISE(!strchr(dev.hca, '/'));
		for (t = BE_UCONTEXT; t < BE_TYPES; t++)
			PROMISE(dev.quota.max[t] && dev.quota.max[t] <= 65535);
		PROMISE(dev.quota.spin_us <= 1000);
		PROMISE(dev.quota.max_pages <= 1048576ull * 256);
	} else {
		PROMISE(dev.fault && dev.fault_reason[0]);
	}
	be_dev_fini(&dev);
}

static void frontend(void)
{
	struct be_ring_params p;
	struct be_dev dev;

	PROMISE(!be_dev_init(&dev, 1, 0));
	fed.offer = 7;
	if (!be_conf_frontend(&dev, &fed, &p))
		PROMISE(p.ring_order <= XENVHCA_MAX_RING_ORDER && p.evt_ref &&
			p.kick_ref && p.cmd_port && p.evt_port && p.kick_port);
	else
		PROMISE(dev.fault && dev.fault_reason[0]);
	be_dev_fini(&dev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum xenbus_state s;

	be_log_level = BE_ERR;
	store = (struct input){ data, size };
	s = xn_state_read(NULL, XBT_NULL, "d");
	PROMISE(s >= XenbusStateUnknown && s <= XenbusStateReconfigured);
	PROMISE(host_state_name(s));
	if (in_u8(&store) % 2)
		configuration();
	else
		frontend();
	return 0;
}
