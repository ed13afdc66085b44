// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counters in sysfs, and for "rdma statistic". Those of this vhca are always there
 * (hw_counters/vhca_*). Those of the physical port, which tell of its other users,
 * are there if the backend shows them: what the HCA's driver counts in
 * hw_counters, and the port's own in counters/, which ib_core asks for by MADs.
 * Names come at registration, values in the process that reads. Names, numbers and
 * counts of the backend are checked.
 */
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "ring/check.h"
#include "cmd.h"
#include "verbs.h"

/* As ib_core caches hw_counters. */
#define LIFESPAN	(HZ / 100)

#define NAME(name) ("vhca_" #name)
static const char * const own[] = { VHCA_STATS(NAME) };
#define VALUE(name) (&st->name)

struct group {
	u32 nr;
	char name[XENVHCA_MAX_COUNTERS][XENVHCA_COUNTER_NAME];
};

struct vhca_counters {
	struct group group[XENVHCA_COUNTER_GROUPS];
	/* Of hw_counters: the HCA's, then ours. */
	vhca_stat_t desc[XENVHCA_MAX_COUNTERS + ARRAY_SIZE(own)];
	/* Values for ib_core while it registers the device, which else leaks memory. */
	u64 first[XENVHCA_MAX_COUNTERS];
	bool has_first;
	struct mutex lock;		/* the fields below, of the port */
	bool fresh;
	unsigned long read;		/* jiffies */
	u64 value[XENVHCA_MAX_COUNTERS];
	u64 valid;			/* bit i: value[i] */
};

static int find(const struct group *g, const char *name)
{
	u32 i;

	for (i = 0; i < g->nr; i++)
		if (!strcmp(g->name[i], name))
			return i;
	return -ENOENT;
}

/* sysfs would log a backtrace for a duplicate name. */
static bool names_take(struct group *g,
		       const struct xenvhca_query_counter_names_rsp *rsp)
{
	u32 i;

	for (i = 0; i < rsp->count; i++) {
		if (find(g, rsp->name[i]) >= 0)
			return false;
		memcpy(g->name[g->nr++], rsp->name[i], sizeof(rsp->name[i]));
	}
	return true;
}

/* *g: out, empty before. */
static int vhca_query_counter_names(struct vhca_dev *dev, u32 group, struct group *g)
{
	struct xenvhca_query_counter_names_rsp rsp;
	u32 total = 0;
	int rc;

	do {
		rc = vhca_cmd_query_counter_names(dev, group, g->nr, &rsp);
		if (rc)
			return rc;
		if (!g->nr)
			total = rsp.total;
		if (!vhca_check_counter_names(&rsp, g->nr, total) ||
		    !names_take(g, &rsp)) {
			dev_err(dev->store->dev,
				"backend sent malformed names of counters\n");
			return -EPROTO;
		}
	} while (g->nr < total);
	return 0;
}

/* @value, @valid: of all counters of the group. 0 or -errno. */
static int vhca_query_counters(struct vhca_dev *dev, u32 group, u64 *value, u64 *valid)
{
	struct xenvhca_query_counters_rsp rsp;
	u32 nr = dev->counters->group[group].nr;
	u32 i, first = 0;
	int rc;

	if (READ_ONCE(dev->away))
		return -EIO;	/* without a wait for the next backend */
	*valid = 0;
	while (first < nr) {
		rc = vhca_cmd_query_counters(dev, group, first, &rsp);
		if (rc)
			return rc;
		if (!vhca_check_counters(&rsp, first, nr))
			return -EIO;
		for (i = 0; i < rsp.count; i++, first++) {
			value[first] = rsp.value[i];
			if (rsp.valid & BIT(i))
				*valid |= BIT_ULL(first);
		}
	}
	return 0;
}

/* A driver has all values or none. */
static int hw_read(struct vhca_dev *dev, u64 *value)
{
	u64 valid;
	int rc = vhca_query_counters(dev, XENVHCA_COUNTERS_HW, value, &valid);

	if (rc)
		return rc;
	return hweight64(valid) == dev->counters->group[XENVHCA_COUNTERS_HW].nr ?
	       0 : -EIO;
}

static int names_read(struct vhca_dev *dev, struct group *g)
{
	u32 i;
	int rc = 0;

	if (dev->info.flags & XENVHCA_INFO_COUNTERS)
		for (i = 0; i < XENVHCA_COUNTER_GROUPS && !rc; i++)
			rc = vhca_query_counter_names(dev, i, g + i);
	return rc;
}

/* sysfs and ib_core have their names. */
int vhca_counters_same(struct vhca_dev *dev)
{
	struct group *g = kcalloc(XENVHCA_COUNTER_GROUPS, sizeof(*g), GFP_KERNEL);
	int rc;

	if (!g)
		return -ENOMEM;
	rc = names_read(dev, g);
	if (!rc && memcmp(g, dev->counters->group, sizeof(dev->counters->group)))
		rc = -ESTALE;
	kfree(g);
	return rc;
}

int vhca_counters_read(struct vhca_dev *dev)
{
	struct vhca_counters *c = kzalloc(sizeof(*c), GFP_KERNEL);
	u32 i, n;
	int rc;

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	dev->counters = c;
	rc = names_read(dev, c->group);
	if (!rc)
		rc = hw_read(dev, c->first);
	if (rc)
		return rc;
	c->has_first = true;
	n = c->group[XENVHCA_COUNTERS_HW].nr;
	for (i = 0; i < n; i++)
		vhca_stat_name(c->desc[i]) = c->group[XENVHCA_COUNTERS_HW].name[i];
	for (i = 0; i < ARRAY_SIZE(own); i++)
		vhca_stat_name(c->desc[n + i]) = own[i];
	return 0;
}

void vhca_counters_free(struct vhca_dev *dev)
{
	kfree(dev->counters);
	dev->counters = NULL;
}

bool vhca_counters_of_port(const struct vhca_dev *dev)
{
	return dev->counters->group[XENVHCA_COUNTERS_PORT].nr;
}

struct rdma_hw_stats *vhca_alloc_hw_port_stats(struct ib_device *ibdev, vhca_port_t port)
{
	const struct vhca_counters *c = to_vdev(ibdev)->counters;

	return rdma_alloc_hw_stats_struct(c->desc,
		c->group[XENVHCA_COUNTERS_HW].nr + ARRAY_SIZE(own),
		RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static void own_values(const struct vhca_stats *st, u64 *value)
{
	const atomic64_t *from[] = { VHCA_STATS(VALUE) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(from); i++)
		value[i] = atomic64_read(from[i]);
}

/*
 * Own counters cost no command. Without a connection those of the HCA stay as they were.
 * stats->lock is held, or @stats is new.
 */
int vhca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      vhca_port_t port, int index)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	struct vhca_counters *c = dev->counters;
	int nr = c->group[XENVHCA_COUNTERS_HW].nr;
	int rc = 0;

	if (!port)
		return -EINVAL;
	own_values(&dev->stats, stats->value + nr);
	if (!c->has_first && nr && index >= nr && index < stats->num_counters)
		return index;
	if (READ_ONCE(dev->away))
		return stats->num_counters;
	if (c->has_first)
		memcpy(stats->value, c->first, nr * sizeof(*c->first));
	else
		rc = hw_read(dev, stats->value);
	c->has_first = false;
	return rc ? rc : stats->num_counters;
}

/*
 * Places in IBTA's PortCounters and PortCountersExtended, as bits from the first octet
 * on; PortSelect is the second octet.
 */
struct field {
	const char *name;
	u16 at;
	u8 width;
};

static const struct field basic[] = {
	{ "symbol_error", 32, 16 },
	{ "link_error_recovery", 48, 8 },
	{ "link_downed", 56, 8 },
	{ "port_rcv_errors", 64, 16 },
	{ "port_rcv_remote_physical_errors", 80, 16 },
	{ "port_rcv_switch_relay_errors", 96, 16 },
	{ "port_xmit_discards", 112, 16 },
	{ "port_xmit_constraint_errors", 128, 8 },
	{ "port_rcv_constraint_errors", 136, 8 },
	{ "local_link_integrity_errors", 152, 4 },
	{ "excessive_buffer_overrun_errors", 156, 4 },
	{ "VL15_dropped", 176, 16 },
	{ "port_xmit_data", 192, 32 },
	{ "port_rcv_data", 224, 32 },
	{ "port_xmit_packets", 256, 32 },
	{ "port_rcv_packets", 288, 32 },
	{ "port_xmit_wait", 320, 32 },
};

static const struct field extended[] = {
	{ "port_xmit_data", 64, 64 },
	{ "port_rcv_data", 128, 64 },
	{ "port_xmit_packets", 192, 64 },
	{ "port_rcv_packets", 256, 64 },
	{ "unicast_xmit_packets", 320, 64 },
	{ "unicast_rcv_packets", 384, 64 },
	{ "multicast_xmit_packets", 448, 64 },
	{ "multicast_rcv_packets", 512, 64 },
};

/* Counters saturate. The other nibble of an octet is another counter. */
static void field_put(u8 *data, const struct field *f, u64 value)
{
	u64 most = f->width < 64 ? BIT_ULL(f->width) - 1 : U64_MAX;
	u8 *p = data + f->at / 8;
	int i;

	value = min(value, most);
	if (f->width == 4) {
		*p |= value << (f->at % 8 ? 0 : 4);
		return;
	}
	for (i = f->width / 8 - 1; i >= 0; i--, value >>= 8)
		p[i] = value;
}

/* Values of the port, not older than ib_core's own would be. lock is held. */
static int port_refresh(struct vhca_dev *dev, struct vhca_counters *c)
{
	int rc;

	if (c->fresh && time_before(jiffies, c->read + LIFESPAN))
		return 0;
	rc = vhca_query_counters(dev, XENVHCA_COUNTERS_PORT, c->value, &c->valid);
	c->fresh = !rc;
	c->read = jiffies;
	return rc;
}

/* If one counter of the HCA could not be read, the whole MAD fails. */
static int fields_put(struct vhca_dev *dev, u8 *data, const struct field *f,
		      unsigned int nr)
{
	struct vhca_counters *c = dev->counters;
	int i, rc;

	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	rc = port_refresh(dev, c);
	for (; nr && !rc; nr--, f++) {
		i = find(&c->group[XENVHCA_COUNTERS_PORT], f->name);
		if (i >= 0 && c->valid & BIT_ULL(i))
			field_put(data, f, c->value[i]);
		else if (i >= 0)
			rc = -EIO;
	}
	mutex_unlock(&c->lock);
	return rc;
}

static void class_put(struct vhca_dev *dev, u8 *data)
{
	const struct group *g = &dev->counters->group[XENVHCA_COUNTERS_PORT];
	struct ib_class_port_info cpi = {
		.base_version = 1, .class_version = 1,
		.capability_mask = find(g, "unicast_rcv_packets") >= 0 ?
				   IB_PMA_CLASS_CAP_EXT_WIDTH :
				   IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF,
	};

	memcpy(data, &cpi, sizeof(cpi));
}

int vhca_process_mad(struct ib_device *ibdev, int flags, vhca_port_t port,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out, size_t *size,
		     u16 *pkey_index)
{
	struct vhca_dev *dev = to_vdev(ibdev);
	u8 *data = out->data + 40;	/* behind the header of the class */
	int rc = 0;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	memset(out->data, 0, sizeof(out->data));
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO)
		class_put(dev, data);
	else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS)
		rc = fields_put(dev, data, basic, ARRAY_SIZE(basic));
	else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT)
		rc = fields_put(dev, data, extended, ARRAY_SIZE(extended));
	else
		return IB_MAD_RESULT_SUCCESS;
	return rc ? IB_MAD_RESULT_FAILURE :
		    IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
