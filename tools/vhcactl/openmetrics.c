// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counters of devices in the text format of OpenMetrics 1.0.0, for Prometheus
 * (node_exporter's textfile collector). All samples of a family are adjacent,
 * so families are the outer loop and devices the inner one.
 */
#include <inttypes.h>
#include <string.h>
#include "ctl.h"
#include "host/xenbus.h"
#include "vhca-keys.h"

#define PAGE_BYTES	((uint64_t)XENVHCA_PAGE_SIZE)
#define NS_PER_S	1000000000ull

static const struct counter {
	const char *family, *key, *help;
	bool ns;		/* the file has ns, the family seconds */
} counters[] = {
	{ "vhca_commands", "cmds", "Commands of the guest", false },
	{ "vhca_command_errors", "cmd_errors",
	  "Commands answered with an error", false },
	{ "vhca_command_lanes", "cmd_lanes",
	  "Commands that were left to job threads, as they take long", false },
	{ "vhca_command_spins", "cmd_spins",
	  "Times that polling the command ring paid", false },
	{ "vhca_command_sleeps", "cmd_sleeps",
	  "Times that the command thread went to sleep", false },
	{ "vhca_command_notifications", "cmd_notifies",
	  "Notifications of answers sent to the guest", false },
	{ "vhca_kicks", "kicks", "Kicks of queues by the guest", false },
	{ "vhca_kick_spins", "kick_spins",
	  "Times that polling the kick ring paid", false },
	{ "vhca_kick_sleeps", "kick_sleeps",
	  "Times that the kick thread went to sleep", false },
	{ "vhca_events", "events", "Events sent to the guest", false },
	{ "vhca_events_dropped", "events_dropped",
	  "Events lost to the rate limit or a full ring", false },
	{ "vhca_mapped_pages", "map_pages", "Guest pages mapped", false },
	{ "vhca_dmabuf_pages", "dmabuf_pages",
	  "Guest pages mapped for the HCA alone", false },
	{ "vhca_dmabufs_refused", "dmabuf_refused",
	  "Dma-bufs that could not be used for a region", false },
	{ "vhca_map_seconds", "map_ns", "Time spent mapping guest pages",
	  true },
	{ "vhca_unmap_seconds", "unmap_ns", "Time spent unmapping guest pages",
	  true },
	{ "vhca_list_pages", "list_pages",
	  "Pages of grant references copied from the guest", false },
	{ "vhca_faults", "faults", "Violations of the protocol by the guest",
	  false },
	{ "vhca_work_requests", "wqes",
	  "Work requests copied from queues of the guest", false },
	{ "vhca_work_requests_refused", "wqes_refused",
	  "Work requests that the HCA's driver must not see", false },
	{ "vhca_receive_polls", "recv_polls",
	  "Looks at receive queues without a kick", false },
	{ "vhca_rate_waits", "rate_waits",
	  "Commands and kicks that waited for their rate", false },
};

static void family(FILE *out, const char *name, const char *type,
		   const char *unit, const char *help)
{
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s.\n", name, help);
}

static void label_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\n')
			fputs("\\n", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else	/* stdout may be the operator's terminal */
			fputc(*s < 0x20 || *s > 0x7e ? '?' : *s, out);
	}
}

static const char *text_of(const struct ctl_stats_dev *s, const char *key)
{
	const char *t = json_object_get_string(ctl_stats_get(s->obj, key));

	return t ? t : "";
}

/* NAME{domid="5",devid="0",hca="rxe0"[,type="qp"]} and a blank */
static void sample(FILE *out, const char *name, const struct ctl_stats_dev *s,
		   const char *type)
{
	fprintf(out, "%s{domid=\"%u\",devid=\"%u\",hca=\"", name,
		s->dev.domid, s->dev.devid);
	label_text(out, text_of(s, XENVHCA_NODE_HCA));
	fputc('"', out);
	if (type) {
		fputs(",type=\"", out);
		label_text(out, type);
		fputc('"', out);
	}
	fputs("} ", out);
}

static void print_counter(FILE *out, const struct counter *k,
			  const struct ctl_stats_dev *s, int n)
{
	char name[64];
	uint64_t v;
	int i;

	family(out, k->family, "counter", k->ns ? "seconds" : NULL, k->help);
	snprintf(name, sizeof(name), "%s_total", k->family);
	for (i = 0; i < n; i++) {
		v = ctl_stats_num(s[i].obj, "counters", k->key);
		sample(out, name, &s[i], NULL);
		if (k->ns)
			fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n",
				(uint64_t)(v / NS_PER_S),
				(uint64_t)(v % NS_PER_S));
		else
			fprintf(out, "%" PRIu64 "\n", v);
	}
}

static void print_objects(FILE *out, const char *name, const char *key,
			  const char *help, const struct ctl_stats_dev *s,
			  int n)
{
	struct json_object *objects;
	int i;

	family(out, name, "gauge", NULL, help);
	for (i = 0; i < n; i++) {
		objects = ctl_stats_get(s[i].obj, "objects");
		if (!json_object_is_type(objects, json_type_object))
			continue;
		json_object_object_foreach(objects, type, val) {
			sample(out, name, &s[i], type);
			fprintf(out, "%" PRIu64 "\n",
				ctl_stats_num(val, NULL, key));
		}
	}
}

static void print_bytes(FILE *out, const char *name, const char *key,
			const char *help, const struct ctl_stats_dev *s, int n)
{
	int i;

	family(out, name, "gauge", "bytes", help);
	for (i = 0; i < n; i++) {
		sample(out, name, &s[i], NULL);
		fprintf(out, "%" PRIu64 "\n", PAGE_BYTES *
			ctl_stats_num(s[i].obj, "pages", key));
	}
}

static void print_state(FILE *out, const struct ctl_stats_dev *s, int n)
{
	const char *connected = host_state_name(XenbusStateConnected);
	int i;

	family(out, "vhca_connected", "gauge", NULL,
	       "1 while the backend is connected");
	for (i = 0; i < n; i++) {
		sample(out, "vhca_connected", &s[i], NULL);
		fprintf(out, "%d\n",
			!strcmp(text_of(&s[i], XN_NODE_STATE), connected));
	}
}

void ctl_openmetrics(FILE *out, const struct ctl_stats_dev *s, int n)
{
	size_t k;

	print_state(out, s, n);
	for (k = 0; k < sizeof(counters) / sizeof(counters[0]); k++)
		print_counter(out, &counters[k], s, n);
	print_objects(out, "vhca_objects", "used", "Verbs objects in use", s,
		      n);
	print_objects(out, "vhca_objects_limit", "max",
		      "Verbs objects that are allowed", s, n);
	print_bytes(out, "vhca_pinned_bytes", "used", "Guest memory in use", s,
		    n);
	print_bytes(out, "vhca_pinned_limit_bytes", "max",
		    "Guest memory that is allowed", s, n);
	fputs("# EOF\n", out);
}
