/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Configuration of one device as the operator writes it:
 * "hca=rxe0,port=1,backend=DOMAIN,max-qp=64,...". One table holds every
 * number key, its range and its default; no xenstore here, so that the parser
 * can be tested alone.
 */
#ifndef CTL_KEYS_H
#define CTL_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xen/io/vhcaif.h>
#include "number.h"
#include "vhca-keys.h"

#define CTL_NAME_MAX	64	/* domain name or id, with the NUL */
#define CTL_ERR_MAX	736	/* error text, with the NUL */
#define CTL_BDF		VL_BDF
#define CTL_TEXT_MAX	256	/* value of a key of words, with the NUL */

#define CTL_KIND_(KIND, word, def) CTL_MAX_##KIND,
#define CTL_NUMBER_(NODE, least, most, def) CTL_##NODE,
enum ctl_key_id {
	CTL_PORT,
	XENVHCA_KINDS(CTL_KIND_)
	XENVHCA_NUMBERS(CTL_NUMBER_)
	CTL_KEYS
};
#undef CTL_KIND_
#undef CTL_NUMBER_

struct ctl_key {
	const char *name;		/* also the name of the node */
	uint32_t min, max, def;
};

extern const struct ctl_key ctl_keys[CTL_KEYS];

/* Keys whose value is a list of words; they have no default. */
enum ctl_text_id { CTL_IP, CTL_VIF, CTL_PKEYS, CTL_UMAD, CTL_DOORBELLS, CTL_TEXTS };

struct ctl_text {
	const char *name;		/* also the name of the node */
	int (*count)(const char *text);	/* of the words, or -errno */
	const char *want;		/* accepted values */
};

extern const struct ctl_text ctl_texts[CTL_TEXTS];

struct ctl_conf {
	char hca[XENVHCA_NAME_LEN];
	char backend[CTL_NAME_MAX];	/* empty: domain 0 */
	char pci[CTL_BDF];		/* of the HCA; empty: not given */
	char text[CTL_TEXTS][CTL_TEXT_MAX];	/* empty: not given */
	bool set[CTL_KEYS];
	bool reset[CTL_KEYS];		/* quota: KEY=default */
	uint32_t val[CTL_KEYS];		/* the default where not set */
};

/**
 * ctl_conf_parse() - parse a device specification
 * @spec: text as above; blanks around keys and values are ignored
 * @conf: filled completely, on failure with unspecified content
 * @err: CTL_ERR_MAX bytes; the mistake and the accepted values
 *
 * 0 or -EINVAL.
 */
int ctl_conf_parse(const char *spec, struct ctl_conf *conf, char *err);

/**
 * ctl_quota_parse() - parse one KEY=VALUE of vhcactl quota
 * @conf: zeroed before the first; set, val and reset are filled
 * @err: CTL_ERR_MAX bytes
 *
 * VALUE is a number, or "default". Only number keys but port. 0 or -EINVAL.
 */
int ctl_quota_parse(const char *text, struct ctl_conf *conf, char *err);

/**
 * ctl_bdf_parse() - "0000:00:05.0", or without the domain "00:05.0"
 * @bdf: the long form in small letters
 *
 * 0 or -EINVAL.
 */
int ctl_bdf_parse(const char *s, char bdf[CTL_BDF]);

#endif
