// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The version of the kernel that runs (kernel.h).
 */
#include "kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define DEBIAN	"Debian "

struct number { unsigned int major, minor, sub; };

/* The first version of each examined series with all fixes that protect from guests. */
static const struct number mended[] = {
	{ 6, 1, 191 }, { 6, 12, 112 }, { 7, 2, 8 },
};

#define SERIES	(sizeof(mended) / sizeof(mended[0]))

void host_kernel(char version[HOST_VERSION_LEN])
{
	struct utsname u;

	version[0] = '\0';
	if (!uname(&u))
		snprintf(version, HOST_VERSION_LEN, "%s %s", u.release,
			 u.version);
}

/* The compiler's version may precede the '#'. */
static const char *number_in(const char *version)
{
	const char *p = strchr(version, '#');

	p = p ? strstr(p, DEBIAN) : NULL;
	if (p && isdigit((unsigned char)p[strlen(DEBIAN)]))
		return p + strlen(DEBIAN);
	return version + strcspn(version, "0123456789");
}

bool host_rxe_mended(const char *version, char *number, size_t size)
{
	const struct number *last = &mended[SERIES - 1];
	struct number n = {};
	size_t i;

	number[0] = '\0';
	if (sscanf(number_in(version), "%u.%u.%u", &n.major, &n.minor,
		   &n.sub) < 2)
		return true;
	snprintf(number, size, "%u.%u.%u", n.major, n.minor, n.sub);
	for (i = 0; i < SERIES; i++)
		if (n.major == mended[i].major && n.minor == mended[i].minor)
			return n.sub >= mended[i].sub;
	return n.major > last->major ||
	       (n.major == last->major && n.minor > last->minor);
}
