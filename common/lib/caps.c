// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "caps.h"

/* Without CAP_SETPCAP the bounding set stays, which does no harm. */
static int bounding_set(uint32_t retain)
{
	int cap;

	for (cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if ((cap > 31 || !(retain & 1u << cap)) &&
		    prctl(PR_CAPBSET_DROP, cap) && errno != EPERM)
			return -errno;
	return 0;
}

int vl_caps_retain(uint32_t retain)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
	int rc = bounding_set(retain);

	if (rc)
		return rc;
	/* Not readable by processes with as few rights, before the rights are dropped. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    syscall(SYS_capget, &head, data))
		return -errno;
	data[0].permitted &= retain;
	data[0].effective &= retain;
	data[0].inheritable = 0;
	data[1] = (struct __user_cap_data_struct){};
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}
