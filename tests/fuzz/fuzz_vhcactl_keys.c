// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The specification of a device as the operator writes it.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "tools/vhcactl/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[CTL_ERR_MAX] = "", *spec = malloc(size + 1);
	struct ctl_conf conf;
	int i, rc;

	PROMISE(spec);
	memcpy(spec, data, size);
	spec[size] = 0;
	rc = ctl_conf_parse(spec, &conf, err);
	PROMISE(memchr(err, 0, sizeof(err)));
	if (rc) {
		PROMISE(err[0]);
	} else {
		PROMISE(conf.hca[0] && memchr(conf.hca, 0, sizeof(conf.hca)));
		PROMISE(!strchr(conf.hca, '/') && !strchr(conf.backend, '/'));
		for (i = 0; i < CTL_KEYS; i++)
			PROMISE(conf.val[i] >= ctl_keys[i].min &&
				conf.val[i] <= ctl_keys[i].max);
	}
	free(spec);
	return 0;
}
