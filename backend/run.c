// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of the run directory (run.h), which only root can write.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "be.h"
#include "run.h"

void be_run_path(char *path, const struct be_options *opt, unsigned int domid,
		 unsigned int devid, const char *ext)
{
	snprintf(path, PATH_MAX, "%s/%u-%u.%s", opt->run_dir, domid, devid,
		 ext);
}

void be_run_leave(int fd, unsigned int uars)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n%u\n", (int)getpid(), uars);

	if (pwrite(fd, text, (size_t)n, 0) != n)
		be_log(NULL, BE_WARN, "lock file: %s", strerror(errno));
}

unsigned int be_run_left(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unsigned int uars = 0;
	char text[32] = "";

	if (fd < 0)
		return 0;
	if (pread(fd, text, sizeof(text) - 1, 0) > 0 &&
	    sscanf(text, "%*d %u", &uars) != 1)
		uars = 0;
	close(fd);
	return uars;
}
