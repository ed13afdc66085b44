// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
#include <netinet/in.h>
#include <string.h>

#include "be.h"

bool be_addr_given(const struct be_dev *dev)
{
	return dev->addr.n_ips != 0;
}

bool be_addr_gid(const struct be_dev *dev, const void *gid)
{
	unsigned int i;

	for (i = 0; i < dev->addr.n_ips; i++)
		if (!memcmp(dev->addr.ip[i].gid, gid, 16))
			return true;
	return false;
}

bool be_addr_own(const struct be_dev *dev, const struct sockaddr *sa,
		 socklen_t len)
{
	uint8_t gid[16] = { [10] = 0xff, 0xff };
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (len < sizeof(sa->sa_family))
		return false;
	if (sa->sa_family == AF_INET && len >= sizeof(in)) {
		memcpy(&in, sa, sizeof(in));
		memcpy(gid + 12, &in.sin_addr, 4);
	} else if (sa->sa_family == AF_INET6 && len >= sizeof(in6)) {
		memcpy(&in6, sa, sizeof(in6));
		memcpy(gid, &in6.sin6_addr, 16);
	} else {
		return false;
	}
	return be_addr_gid(dev, gid);
}

socklen_t be_addr_any(const struct be_dev *dev, sa_family_t family,
		      struct sockaddr_storage *sa)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	const struct host_addr *a = dev->addr.ip;

	while (a < dev->addr.ip + dev->addr.n_ips && a->family != family)
		a++;
	if (a == dev->addr.ip + dev->addr.n_ips)
		return 0;
	memset(sa, 0, sizeof(*sa));
	if (family == AF_INET) {
		memcpy(&in.sin_addr, a->gid + 12, 4);
		memcpy(sa, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, a->gid, 16);
	memcpy(sa, &in6, sizeof(in6));
	return sizeof(in6);
}
