// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "host/addr.h"

#define BLANKS		" \t"
#define WORD_MAX	(INET6_ADDRSTRLEN + 4)	/* with /128 */

/* Copies the next word and advances *text. 1; 0: none; -EINVAL: too long. */
static int word_next(const char **text, char word[WORD_MAX])
{
	size_t len;

	*text += strspn(*text, BLANKS);
	len = strcspn(*text, BLANKS);
	if (len >= WORD_MAX)
		return -EINVAL;
	memcpy(word, *text, len);
	word[len] = '\0';
	*text += len;
	return len ? 1 : 0;
}

/* Only digits of base @base; strtoul() accepts signs and blanks, too. */
static int number_parse(const char *s, int base, unsigned long max,
			unsigned long *val)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	char *end;

	if (!*s || strlen(s) > 5 || (base == 10 && strspn(s, "0123456789") !=
	    strlen(s)) || strspn(s, digits) != strlen(s))
		return -EINVAL;
	*val = strtoul(s, &end, base);
	return *end || *val > max ? -EINVAL : 0;
}

/* Can a guest have this address? IPv4 is in the last four octets. */
static bool usable(const struct host_addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff }, zero[16];

	if (a->family == AF_INET)
		return a->gid[12] && a->gid[12] != 127 && a->gid[12] < 224;
	/* ::, ::1 and ::a.b.c.d; an IPv4 address is written as one. */
	if (!memcmp(a->gid, zero, 12) || !memcmp(a->gid, mapped, 12))
		return false;
	return a->gid[0] != 0xff;
}

static int addr_parse(char *word, struct host_addr *a)
{
	char *slash = strchr(word, '/');
	unsigned long prefix;

	memset(a, 0, sizeof(*a));
	if (slash)
		*slash++ = '\0';
	a->family = strchr(word, ':') ? AF_INET6 : AF_INET;
	prefix = a->family == AF_INET ? 32 : 128;
	if (slash && number_parse(slash, 10, prefix, &prefix))
		return -EINVAL;
	a->prefix = (uint8_t)prefix;
	if (a->family == AF_INET)
		a->gid[10] = a->gid[11] = 0xff;
	if (inet_pton(a->family, word, a->family == AF_INET ? a->gid + 12 :
		      a->gid) != 1)
		return -EINVAL;
	return prefix && usable(a) ? 0 : -EINVAL;
}

int host_addrs_parse(const char *text, struct host_addr addr[XENVHCA_MAX_IPS])
{
	char word[WORD_MAX];
	int i, n, r;

	for (n = 0; (r = word_next(&text, word)) > 0; n++) {
		if (n == XENVHCA_MAX_IPS)
			return -E2BIG;
		if (addr_parse(word, &addr[n]))
			return -EINVAL;
		for (i = 0; i < n; i++)
			if (!memcmp(addr[i].gid, addr[n].gid, 16))
				return -EINVAL;
	}
	return r < 0 || !n ? -EINVAL : n;
}

static int pkey_parse(const char *word, uint16_t *pkey)
{
	unsigned long val;

	if (word[0] != '0' || (word[1] != 'x' && word[1] != 'X') ||
	    number_parse(word + 2, 16, UINT16_MAX, &val) || !(val & 0x7fff))
		return -EINVAL;
	*pkey = (uint16_t)val;
	return 0;
}

int host_pkeys_parse(const char *text, uint16_t pkey[XENVHCA_MAX_PKEYS])
{
	char word[WORD_MAX];
	int i, n, r;

	for (n = 0; (r = word_next(&text, word)) > 0; n++) {
		if (n == XENVHCA_MAX_PKEYS)
			return -E2BIG;
		if (pkey_parse(word, &pkey[n]))
			return -EINVAL;
		for (i = 0; i < n; i++)
			if (pkey[i] == pkey[n])
				return -EINVAL;
	}
	return r < 0 || !n ? -EINVAL : n;
}
