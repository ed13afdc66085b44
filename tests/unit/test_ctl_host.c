// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A host for the tests of vhcactl (test_ctl_host.h). One thread. Needs no root
 * and no Xen.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"

char host_root[64];
static char *texts[2];
static int saved[2], files[2];

/* ---- what fake_xs.c leaves out of libxenstore ---- */
bool xs_mkdir(struct xs_handle *h, xs_transaction_t t, const char *path)
{
	(void)h;
	(void)t;
	fake_xs_set(path, "");
	return true;
}

bool xs_set_permissions(struct xs_handle *h, xs_transaction_t t,
			const char *path, struct xs_permissions *perms,
			unsigned int num_perms)
{
	(void)h;
	(void)t;
	(void)path;
	(void)perms;
	return num_perms > 0;
}

/* ---- the root folder ---- */
int host_new(void **state)
{
	(void)state;
	snprintf(host_root, sizeof(host_root), "./test_ctl.XXXXXX");
	fake_xs_reset();
	fake_xs_set("domid", "0");
	fake_xs_set("/local/domain/0/name", "Domain-0");
	fake_xs_set("/local/domain/5/name", "web");
	return mkdtemp(host_root) ? 0 : -1;
}

static int drop(const char *path, const struct stat *st, int flag,
		struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

int host_end(void **state)
{
	(void)state;
	free(texts[0]);
	free(texts[1]);
	texts[0] = texts[1] = NULL;
	return nftw(host_root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

/* The whole path; folders above it are made. */
static void make_path(char *full, const char *path)
{
	char *p;

	snprintf(full, PATH_MAX, "%s%s", host_root, path);
	for (p = full + strlen(host_root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
}

void host_file(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	make_path(full, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

void host_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	make_path(full, path);
	assert_int_equal(symlink(target, full), 0);
}

void host_dir(const char *path)
{
	char full[PATH_MAX];

	make_path(full, path);
	assert_int_equal(mkdir(full, 0755), 0);
}

void host_pci_hca(const char *hca, const char *bdf)
{
	char path[256], target[256];

	snprintf(path, sizeof(path), "/sys/devices/pci0000:00/%s/subsystem",
		 bdf);
	host_link(path, "../../../bus/pci");
	snprintf(path, sizeof(path), "/sys/devices/pci0000:00/%s/infiniband/%s/device",
		 bdf, hca);
	snprintf(target, sizeof(target), "../../../%s", bdf);
	host_link(path, target);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", hca);
	snprintf(target, sizeof(target),
		 "../../devices/pci0000:00/%s/infiniband/%s", bdf, hca);
	host_link(path, target);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
	snprintf(target, sizeof(target), "../../../devices/pci0000:00/%s", bdf);
	host_link(path, target);
}

/* ---- output ---- */
void host_capture(void)
{
	static const int fd[2] = { STDOUT_FILENO, STDERR_FILENO };
	char name[] = "./test_ctl_out.XXXXXX";
	int i;

	fflush(NULL);
	for (i = 0; i < 2; i++) {
		free(texts[i]);
		texts[i] = NULL;
		strcpy(strrchr(name, '.'), ".XXXXXX");
		files[i] = mkstemp(name);
		assert_true(files[i] >= 0);
		unlink(name);
		saved[i] = dup(fd[i]);
		dup2(files[i], fd[i]);
	}
}

void host_captured(char **out, char **err)
{
	static const int fd[2] = { STDOUT_FILENO, STDERR_FILENO };
	off_t size;
	int i;

	fflush(NULL);
	for (i = 0; i < 2; i++) {
		dup2(saved[i], fd[i]);
		close(saved[i]);
		size = lseek(files[i], 0, SEEK_END);
		texts[i] = calloc(1, (size_t)size + 1);
		assert_non_null(texts[i]);
		assert_int_equal(pread(files[i], texts[i], (size_t)size, 0),
				 size);
		close(files[i]);
	}
	if (out)
		*out = texts[0];
	if (err)
		*err = texts[1];
}

void host_device(struct ctl *c, const char *spec, struct ctl_dev *d)
{
	memset(c, 0, sizeof(*c));
	c->wait = -1;
	c->root = host_root;
	c->run_dir = host_root;
	assert_int_equal(ctl_attach_spec(c, 5, spec, d), CTL_OK);
}
