// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/counters.c: what there is in sysfs with and without the backend's leave,
 * where a counter stands in a MAD, and how many commands a read costs. check.c
 * judges each answer; what the answers say together is judged here.
 */
#include <endian.h>

#include "kernel.h"

#define BIT_ULL(n)			(1ull << (n))
#define U64_MAX				UINT64_MAX
#define hweight64			__builtin_popcountll
#define time_before(a, b)		((long)((a) - (b)) < 0)
#define RDMA_HW_STATS_DEFAULT_LIFESPAN	10
#define IB_MGMT_CLASS_PERF_MGMT		4
#define IB_MGMT_METHOD_GET		1
#define IB_MGMT_METHOD_SET		2
#define IB_PMA_CLASS_PORT_INFO		htobe16(1)
#define IB_PMA_PORT_COUNTERS		htobe16(0x12)
#define IB_PMA_PORT_COUNTERS_EXT	htobe16(0x1d)
#define IB_PMA_CLASS_CAP_EXT_WIDTH	htobe16(1 << 9)
#define IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF htobe16(1 << 10)
enum { IB_MAD_RESULT_FAILURE, IB_MAD_RESULT_SUCCESS, IB_MAD_RESULT_REPLY };

struct ib_wc;
struct ib_grh;
struct rdma_stat_desc { const char *name; unsigned int flags; };
struct rdma_hw_stats { const struct rdma_stat_desc *descs; int num_counters; u64 value[128]; };
struct ib_mad {
	struct { u8 mgmt_class, method; u16 attr_id; u8 rest[20]; } mad_hdr;
	u8 data[232];
};
struct ib_class_port_info { u8 base_version, class_version; u16 capability_mask; u8 rest[68]; };

static struct rdma_hw_stats *rdma_alloc_hw_stats_struct(const struct rdma_stat_desc *d,
							int nr, unsigned long lifespan)
{
	struct rdma_hw_stats *s = calloc(1, sizeof(*s));

	s->descs = d;
	s->num_counters = nr;
	return s;
}

#include "copy/counters.c"

#define OWN	((int)ARRAY_SIZE(own))

static struct vhca_dev *dev;
static char names[XENVHCA_COUNTER_GROUPS][XENVHCA_MAX_COUNTERS][XENVHCA_COUNTER_NAME];
static u64 numbers[XENVHCA_COUNTER_GROUPS][XENVHCA_MAX_COUNTERS];
static u32 total[XENVHCA_COUNTER_GROUPS], unread, grows;
static int asked, rc_of_values;

/* ---- the backend ---- */
int vhca_cmd_query_counter_names(struct vhca_dev *d, u32 group, u32 first,
				 struct xenvhca_query_counter_names_rsp *rsp)
{
	memset(rsp, 0, sizeof(*rsp));
	asked++;
	rsp->total = total[group] + (first ? grows : 0);
	rsp->count = min(total[group] - first, (u32)XENVHCA_NAMES_PER_RSP);
	memcpy(rsp->name, names[group][first], rsp->count * XENVHCA_COUNTER_NAME);
	return 0;
}

int vhca_cmd_query_counters(struct vhca_dev *d, u32 group, u32 first,
			    struct xenvhca_query_counters_rsp *rsp)
{
	u32 i;

	memset(rsp, 0, sizeof(*rsp));
	asked++;
	rsp->count = min(total[group] - first, (u32)XENVHCA_COUNTERS_PER_RSP);
	for (i = 0; i < rsp->count; i++) {
		rsp->value[i] = numbers[group][first + i];
		if (first + i + 1 != unread)
			rsp->valid |= 1u << i;
	}
	return rc_of_values;
}

static void counter(u32 group, const char *name, u64 value)
{
	strcpy(names[group][total[group]], name);
	numbers[group][total[group]++] = value;
}

/* ---- tests ---- */
static int setup(void **state)
{
	memset(names, 0, sizeof(names));
	memset(total, 0, sizeof(total));
	asked = rc_of_values = 0;
	unread = grows = 0;
	dev = calloc(1, sizeof(*dev));
	dev->store = calloc(1, sizeof(*dev->store));
	dev->info.flags = XENVHCA_INFO_COUNTERS;
	return 0;
}

static int teardown(void **state)
{
	vhca_counters_free(dev);
	free(dev->store);
	free(dev);
	return 0;
}

static int get(struct rdma_hw_stats *s, int index)
{
	return vhca_get_hw_stats(&dev->ibdev, s, 1, index);
}

static int pma(u16 attr, struct ib_mad *out)
{
	struct ib_mad in = { .mad_hdr = { IB_MGMT_CLASS_PERF_MGMT,
					  IB_MGMT_METHOD_GET, attr } };

	memset(out, 0xa5, sizeof(*out));
	return vhca_process_mad(&dev->ibdev, 0, 1, NULL, NULL, &in, out, NULL, NULL);
}

#define ANSWERED	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)

/* A device that outlives its backend keeps its files in sysfs. */
static void other_names_are_not_the_same(void **state)
{
	counter(XENVHCA_COUNTERS_HW, "out_of_buffer", 7);
	counter(XENVHCA_COUNTERS_PORT, "port_rcv_data", 7);
	assert_int_equal(vhca_counters_read(dev), 0);
	assert_int_equal(vhca_counters_same(dev), 0);
	strcpy(names[XENVHCA_COUNTERS_HW][0], "out_of_buffers");
	assert_int_equal(vhca_counters_same(dev), -ESTALE);
	strcpy(names[XENVHCA_COUNTERS_HW][0], "out_of_buffer");
	assert_int_equal(vhca_counters_same(dev), 0);
	counter(XENVHCA_COUNTERS_PORT, "port_xmit_data", 7);
	assert_int_equal(vhca_counters_same(dev), -ESTALE);
}

/* The next connection may take its time. Own counters go on. */
static void away_nobody_is_asked(void **state)
{
	struct rdma_hw_stats *s;
	u64 cmds;
	int before;

	counter(XENVHCA_COUNTERS_HW, "out_of_buffer", 7);
	assert_int_equal(vhca_counters_read(dev), 0);
	s = vhca_alloc_hw_port_stats(&dev->ibdev, 1);
	assert_int_equal(get(s, 0), 1 + OWN);	/* of the registration */
	before = asked;
	dev->away = true;
	cmds = s->value[1];
	atomic64_inc(&dev->stats.cmds);
	assert_int_equal(get(s, 0), 1 + OWN);
	assert_int_equal(s->value[0], 7);
	assert_int_equal(s->value[1], cmds + 1);
	assert_int_equal(asked, before);
	dev->away = false;
	assert_int_equal(get(s, 0), 1 + OWN);
	assert_int_equal(asked, before + 1);
	free(s);
}

/* Also with a backend that knows nothing of them. */
static void its_own_are_always_there(void **state)
{
	struct rdma_hw_stats *s;

	dev->info.flags = 0;
	counter(XENVHCA_COUNTERS_HW, "out_of_buffer", 7);
	assert_int_equal(vhca_counters_read(dev), 0);
	assert_false(vhca_counters_of_port(dev));
	s = vhca_alloc_hw_port_stats(&dev->ibdev, 1);
	assert_int_equal(s->num_counters, OWN);
	assert_string_equal(s->descs[0].name, "vhca_cmds");
	atomic64_add(5, &dev->stats.cmds);
	atomic64_add(9, &dev->stats.pool_out);
	assert_int_equal(get(s, 0), OWN);
	assert_true(s->value[0] == 5);
	assert_true(s->value[OWN - 1] == 9);
	assert_int_equal(asked, 0);
	free(s);
}

static void the_hcas_come_first(void **state)
{
	struct rdma_hw_stats *s;
	char name[16];
	int i;

	for (i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "n%02d", i);
		counter(XENVHCA_COUNTERS_HW, name, 100 + i);
	}
	assert_int_equal(vhca_counters_read(dev), 0);
	assert_int_equal(asked, 5 + 1 + 2);	/* 7 names each; no port's; values */
	s = vhca_alloc_hw_port_stats(&dev->ibdev, 1);
	assert_int_equal(s->num_counters, 30 + OWN);
	assert_string_equal(s->descs[29].name, "n29");
	assert_string_equal(s->descs[30].name, "vhca_cmds");
	asked = 0;
	numbers[XENVHCA_COUNTERS_HW][0] = 7;
	/* ib_core, for the registration: it could not bear a failure */
	rc_of_values = -EIO;
	assert_int_equal(get(s, s->num_counters), s->num_counters);
	rc_of_values = 0;
	assert_int_equal(asked, 0);
	assert_true(s->value[0] == 100 && s->value[29] == 129);
	numbers[XENVHCA_COUNTERS_HW][0] = 100;
	s->value[0] = 0;
	assert_int_equal(get(s, 3), s->num_counters);
	assert_int_equal(asked, 2);		/* 28 values each */
	assert_true(s->value[0] == 100 && s->value[29] == 129);
	assert_int_equal(get(s, 30), 30);	/* ours: no command */
	assert_int_equal(asked, 2);
	unread = 30;				/* one is missing: all are */
	assert_int_equal(get(s, s->num_counters), -EIO);
	rc_of_values = -EINTR;
	assert_int_equal(get(s, 0), -EINTR);
	assert_int_equal(vhca_get_hw_stats(&dev->ibdev, s, 0, 0), -EINVAL);
	free(s);
}

static void values_that_cannot_be_read_are_no_device(void **state)
{
	counter(XENVHCA_COUNTERS_HW, "out_of_buffer", 1);
	unread = 1;
	assert_int_equal(vhca_counters_read(dev), -EIO);
}

/* sysfs would complain of it, at length. */
static void a_name_comes_once(void **state)
{
	int i;

	for (i = 0; i < 8; i++)
		counter(XENVHCA_COUNTERS_PORT, i % 7 ? "b" : "symbol_error", 0);
	assert_int_equal(vhca_counters_read(dev), -EPROTO);
}

static void the_total_stays(void **state)
{
	char name[16];
	int i;

	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "n%02d", i);
		counter(XENVHCA_COUNTERS_PORT, name, 0);
	}
	grows = 1;
	assert_int_equal(vhca_counters_read(dev), -EPROTO);
}

/* As Linux' sysfs reads it. */
static u64 at(const struct ib_mad *out, int octet, int octets)
{
	u64 v = 0;

	while (octets--)
		v = v << 8 | out->data[40 + octet++];
	return v;
}

static void the_port_answers_mads(void **state)
{
	struct ib_mad out;

	counter(XENVHCA_COUNTERS_PORT, "symbol_error", 0x12345);	/* 16 bits */
	counter(XENVHCA_COUNTERS_PORT, "link_downed", 0x42);
	counter(XENVHCA_COUNTERS_PORT, "local_link_integrity_errors", 0x5);
	counter(XENVHCA_COUNTERS_PORT, "excessive_buffer_overrun_errors", 0x77);
	counter(XENVHCA_COUNTERS_PORT, "port_xmit_data", 0x123456789abull);
	assert_int_equal(vhca_counters_read(dev), 0);
	assert_true(vhca_counters_of_port(dev));
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS, &out), ANSWERED);
	assert_int_equal(at(&out, 4, 2), 0xffff);
	assert_int_equal(at(&out, 7, 1), 0x42);
	assert_int_equal(at(&out, 19, 1), 0x5f);
	assert_int_equal(at(&out, 24, 4), 0xffffffff);
	assert_int_equal(at(&out, 28, 4), 0);
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS_EXT, &out), ANSWERED);
	assert_true(at(&out, 8, 8) == 0x123456789abull);
	assert_int_equal(pma(IB_PMA_CLASS_PORT_INFO, &out), ANSWERED);
	assert_int_equal(at(&out, 2, 2), 1 << 10);
}

static void the_port_says_what_it_has(void **state)
{
	struct ib_mad out, in = { .mad_hdr = { IB_MGMT_CLASS_PERF_MGMT,
					       IB_MGMT_METHOD_SET, IB_PMA_PORT_COUNTERS } };

	counter(XENVHCA_COUNTERS_PORT, "unicast_rcv_packets", 1);
	counter(XENVHCA_COUNTERS_PORT, "link_downed", 1);
	assert_int_equal(vhca_counters_read(dev), 0);
	assert_int_equal(pma(IB_PMA_CLASS_PORT_INFO, &out), ANSWERED);
	assert_int_equal(at(&out, 2, 2), 1 << 9);
	/* nobody clears them from here */
	assert_int_equal(vhca_process_mad(&dev->ibdev, 0, 1, NULL, NULL, &in,
					  &out, NULL, NULL), IB_MAD_RESULT_SUCCESS);
	assert_int_equal(pma(htobe16(0x10), &out), IB_MAD_RESULT_SUCCESS);
	unread = 2;		/* link_downed, which the extended ones have not */
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS, &out), IB_MAD_RESULT_FAILURE);
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS_EXT, &out), ANSWERED);
}

/* A folder of files that are read one after the other is few commands. */
static void values_are_young(void **state)
{
	struct ib_mad out;

	counter(XENVHCA_COUNTERS_PORT, "link_downed", 1);
	assert_int_equal(vhca_counters_read(dev), 0);
	asked = 0;
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS, &out), ANSWERED);
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS, &out), ANSWERED);
	assert_int_equal(asked, 1);
	numbers[XENVHCA_COUNTERS_PORT][0] = 2;
	jiffies += LIFESPAN;
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS, &out), ANSWERED);
	assert_int_equal(at(&out, 7, 1), 2);
	assert_int_equal(asked, 2);
	rc_of_values = -EIO;
	jiffies += LIFESPAN;
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS, &out), IB_MAD_RESULT_FAILURE);
	rc_of_values = 0;	/* a failure is not held */
	assert_int_equal(pma(IB_PMA_PORT_COUNTERS, &out), ANSWERED);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(its_own_are_always_there),
		T(other_names_are_not_the_same),
		T(away_nobody_is_asked),
		T(the_hcas_come_first),
		T(values_that_cannot_be_read_are_no_device),
		T(a_name_comes_once),
		T(the_total_stays),
		T(the_port_answers_mads),
		T(the_port_says_what_it_has),
		T(values_are_young),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
