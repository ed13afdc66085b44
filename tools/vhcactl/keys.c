// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The keys of a device specification (keys.h). The text comes from the
 * operator and is not hostile; messages about mistakes name the key and its
 * values.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "host/addr.h"
#include "host/window.h"
#include "keys.h"
#include "number.h"
#include "vhca-agent.h"
#include "vhca-keys.h"

#define KEY_HCA		XENVHCA_NODE_HCA
#define KEY_BACKEND	"backend"
#define KEY_PCI		XENVHCA_NODE_PCI
#define ITEM_MAX	(CTL_TEXT_MAX + 32)

#define PORT_ROW [CTL_PORT] = { .name = XENVHCA_NODE_PORT, .min = 1, \
	.max = XENVHCA_MOST_PORT, .def = XENVHCA_DEF_PORT },
#define KIND_ROW(KIND, word, dflt) [CTL_MAX_##KIND] = { \
	.name = "max-" #word, .min = 1, .max = XENVHCA_MAX_OBJECTS, \
	.def = (dflt) },
#define NUMBER_ROW(NODE, least, most, dflt) [CTL_##NODE] = { \
	.name = XENVHCA_NODE_##NODE, .min = (least), .max = (most), \
	.def = (dflt) },

const struct ctl_key ctl_keys[CTL_KEYS] = {
	PORT_ROW
	XENVHCA_KINDS(KIND_ROW)
	XENVHCA_NUMBERS(NUMBER_ROW)
};

static int count_ips(const char *text)
{
	struct host_addr addr[XENVHCA_MAX_IPS];

	return host_addrs_parse(text, addr);
}

static int count_vif(const char *text)
{
	uint64_t number;

	return vl_parse_u64(text, 0, XENVHCA_MOST_VIF, &number) ? -EINVAL : 1;
}

static int count_pkeys(const char *text)
{
	uint16_t pkey[XENVHCA_MAX_PKEYS];

	return host_pkeys_parse(text, pkey);
}

static int count_umads(const char *text)
{
	return !strcmp(text, XENVHCA_UMAD_QUERY) ||
	       !strcmp(text, XENVHCA_UMAD_ALL) ? 1 : -EINVAL;
}

static int count_windows(const char *text)
{
	struct host_window w;
	int rc = host_window_parse(text, &w);

	return rc ? rc : 1;
}

const struct ctl_text ctl_texts[CTL_TEXTS] = {
	[CTL_IP] = {
		XENVHCA_NODE_IP, count_ips,
		"at most 8 different addresses are needed, with blanks between them, as in 192.0.2.7/24 2001:db8::7/64",
	},
	[CTL_VIF] = {
		XENVHCA_NODE_VIF, count_vif,
		"the number of the guest's vif is needed, as xl network-list shows it",
	},
	[CTL_PKEYS] = {
		XENVHCA_NODE_PKEYS, count_pkeys,
		"at most 32 different P_Keys are needed, with blanks between them, as in 0xffff 0x8001",
	},
	[CTL_UMAD] = {
		XENVHCA_NODE_UMAD, count_umads,
		XENVHCA_UMAD_QUERY " or " XENVHCA_UMAD_ALL " is needed",
	},
	[CTL_DOORBELLS] = {
		XENVHCA_NODE_DOORBELL_STATIC, count_windows,
		"machine frame, guest frame and number of pages are needed, with blanks between them, as in 0x8000140 0x8000140 0x760 (vhca-devicetree writes them)",
	},
};

static int unknown_key(const char *key, char *err)
{
	size_t len;
	int i;

	snprintf(err, CTL_ERR_MAX, "unknown key \"%s\"; keys are " KEY_HCA
		 ", " KEY_BACKEND ", " KEY_PCI, key);
	for (i = 0; i < CTL_TEXTS; i++) {
		len = strlen(err);
		snprintf(err + len, CTL_ERR_MAX - len, ", %s",
			 ctl_texts[i].name);
	}
	for (i = 0; i < CTL_KEYS; i++) {
		len = strlen(err);
		snprintf(err + len, CTL_ERR_MAX - len, ", %s",
			 ctl_keys[i].name);
	}
	return -EINVAL;
}

static int twice(const char *key, char *err)
{
	snprintf(err, CTL_ERR_MAX, "%s is given twice", key);
	return -EINVAL;
}

/* A name that is valid as a xenstore value and as a file name. */
static int parse_name(const char *key, const char *val, char *dst, size_t size,
		      char *err)
{
	size_t len = strlen(val);

	if (*dst)
		return twice(key, err);
	if (!len || len >= size || val[0] == '.' ||
	    val[strspn(val, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			    "0123456789_.-")]) {
		snprintf(err, CTL_ERR_MAX,
			 "%s=%s: a name has 1..%zu characters of [A-Za-z0-9_.-]",
			 key, val, size - 1);
		return -EINVAL;
	}
	memcpy(dst, val, len + 1);
	return 0;
}

static int parse_pci(const char *val, struct ctl_conf *conf, char *err)
{
	if (conf->pci[0])
		return twice(KEY_PCI, err);
	if (!ctl_bdf_parse(val, conf->pci))
		return 0;
	snprintf(err, CTL_ERR_MAX,
		 KEY_PCI "=%s: a PCI address is needed, DDDD:BB:SS.F in hexadecimal as in 0000:00:05.0 (lspci -D)",
		 val);
	return -EINVAL;
}

static int parse_text(enum ctl_text_id id, const char *val,
		      struct ctl_conf *conf, char *err)
{
	const struct ctl_text *key = &ctl_texts[id];

	if (conf->text[id][0])
		return twice(key->name, err);
	if (strlen(val) >= CTL_TEXT_MAX || key->count(val) < 0) {
		snprintf(err, CTL_ERR_MAX, "%s=%s: %s", key->name, val,
			 key->want);
		return -EINVAL;
	}
	strcpy(conf->text[id], val);
	return 0;
}

static int parse_number(enum ctl_key_id id, const char *val,
			struct ctl_conf *conf, char *err)
{
	const struct ctl_key *key = &ctl_keys[id];
	uint64_t v = 0;

	if (conf->set[id])
		return twice(key->name, err);
	if (vl_parse_u64(val, key->min, key->max, &v)) {
		snprintf(err, CTL_ERR_MAX, "%s=%s: a number %" PRIu32 "..%"
			 PRIu32 " is needed (default %" PRIu32 ")", key->name,
			 val, key->min, key->max, key->def);
		return -EINVAL;
	}
	conf->set[id] = true;
	conf->val[id] = (uint32_t)v;
	return 0;
}

static int parse_item(char *item, struct ctl_conf *conf, char *err)
{
	char *val = strchr(item, '=');
	int i;

	if (!val) {
		snprintf(err, CTL_ERR_MAX, "\"%s\": key=value is needed", item);
		return -EINVAL;
	}
	*val++ = '\0';
	while (isspace((unsigned char)*val))
		val++;
	for (i = (int)strlen(item); i && isspace((unsigned char)item[i - 1]);)
		item[--i] = '\0';
	if (!strcmp(item, KEY_HCA))
		return parse_name(item, val, conf->hca, sizeof(conf->hca), err);
	if (!strcmp(item, KEY_BACKEND))
		return parse_name(item, val, conf->backend,
				  sizeof(conf->backend), err);
	if (!strcmp(item, KEY_PCI))
		return parse_pci(val, conf, err);
	for (i = 0; i < CTL_TEXTS; i++)
		if (!strcmp(item, ctl_texts[i].name))
			return parse_text((enum ctl_text_id)i, val, conf, err);
	for (i = 0; i < CTL_KEYS; i++)
		if (!strcmp(item, ctl_keys[i].name))
			return parse_number((enum ctl_key_id)i, val, conf, err);
	return unknown_key(item, err);
}

/* Copies the next item without the blanks around it; advances *spec. */
static int next_item(const char **spec, char *item, char *err)
{
	size_t len = strcspn(*spec, ",");
	const char *s = *spec;

	*spec += len + (s[len] == ',');
	while (len && isspace((unsigned char)*s)) {
		s++;
		len--;
	}
	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	if (len >= ITEM_MAX) {
		snprintf(err, CTL_ERR_MAX, "\"%.20s...\" is too long", s);
		return -EINVAL;
	}
	memcpy(item, s, len);
	item[len] = '\0';
	return 0;
}

/* Keys that need others, or exclude them. */
static int conf_fits(const struct ctl_conf *conf, char *err)
{
	const uint32_t *val = conf->val;

	if (conf->text[CTL_VIF][0] && !conf->text[CTL_IP][0]) {
		snprintf(err, CTL_ERR_MAX,
			 "vif=%s needs ip=: the addresses that the vif is to have, too",
			 conf->text[CTL_VIF]);
		return -EINVAL;
	}
	if (val[CTL_KERNEL] && val[CTL_KERNEL_POOL_MB] >= val[CTL_MAX_PINNED_MB]) {
		snprintf(err, CTL_ERR_MAX,
			 "kernel-pool-mb=%" PRIu32 " does not fit into max-pinned-mb=%"
			 PRIu32 ", which has to be larger for queues, too",
			 val[CTL_KERNEL_POOL_MB], val[CTL_MAX_PINNED_MB]);
		return -EINVAL;
	}
	if (val[CTL_KERNEL] && conf->text[CTL_UMAD][0]) {
		snprintf(err, CTL_ERR_MAX,
			 "umad=%s is for programs, which cannot use a device with kernel=1",
			 conf->text[CTL_UMAD]);
		return -EINVAL;
	}
	return 0;
}

int ctl_conf_parse(const char *spec, struct ctl_conf *conf, char *err)
{
	char item[ITEM_MAX];
	int i, rc;

	memset(conf, 0, sizeof(*conf));
	for (i = 0; i < CTL_KEYS; i++)
		conf->val[i] = ctl_keys[i].def;
	while (*spec) {
		rc = next_item(&spec, item, err);
		if (!rc)
			rc = parse_item(item, conf, err);
		if (rc)
			return rc;
	}
	if (!conf->hca[0]) {
		snprintf(err, CTL_ERR_MAX,
			 "hca=NAME is missing: the name of the RDMA device in the backend domain (rdma dev, ibv_devices)");
		return -EINVAL;
	}
	return conf_fits(conf, err);
}

static int no_quota(const char *key, char *err)
{
	size_t len;
	int i;

	snprintf(err, CTL_ERR_MAX,
		 "\"%s\" is no quota that can be changed; those are", key);
	for (i = CTL_PORT + 1; i < CTL_KEYS; i++) {
		len = strlen(err);
		snprintf(err + len, CTL_ERR_MAX - len, "%s %s",
			 i == CTL_PORT + 1 ? "" : ",", ctl_keys[i].name);
	}
	return -EINVAL;
}

int ctl_quota_parse(const char *text, struct ctl_conf *conf, char *err)
{
	size_t len = strcspn(text, "=");
	char key[ITEM_MAX];
	int i;

	if (!text[len] || len >= sizeof(key)) {
		snprintf(err, CTL_ERR_MAX,
			 "\"%.64s\": KEY=NUMBER or KEY=default is needed",
			 text);
		return -EINVAL;
	}
	snprintf(key, sizeof(key), "%.*s", (int)len, text);
	for (i = CTL_PORT + 1; i < CTL_KEYS; i++)
		if (!strcmp(key, ctl_keys[i].name))
			break;
	if (i == CTL_KEYS)
		return no_quota(key, err);
	if (strcmp(text + len + 1, "default"))
		return parse_number((enum ctl_key_id)i, text + len + 1, conf,
				    err);
	if (conf->set[i])
		return twice(key, err);
	conf->set[i] = conf->reset[i] = true;
	conf->val[i] = ctl_keys[i].def;
	return 0;
}
