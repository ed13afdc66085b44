// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the helper module knows of the HCA: frames of doorbell pages, DMA segments.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include "helper.h"
#include "uapi/vhca-helper.h"

int be_helper_frame(int helper_fd, void *addr, struct be_bell *bell)
{
	struct vhca_helper_frames f = {
		.addr = (uintptr_t)addr, .frames = (uintptr_t)&bell->frame,
		.nr_pages = 1,
	};

	if (ioctl(helper_fd, VHCA_HELPER_FRAMES, &f) < 0)
		return -errno;
	switch (f.cache) {
	case VHCA_HELPER_CACHE_NC:
		bell->prot = XENVHCA_PROT_NC;
		return 0;
	case VHCA_HELPER_CACHE_WC:
		bell->prot = XENVHCA_PROT_WC;
		return 0;
	case VHCA_HELPER_CACHE_DEV:
		bell->prot = XENVHCA_PROT_DEV;
		return 0;
	default:
		return -EIO;
	}
}

int be_helper_cap_dma(int helper_fd, const char *hca, int fd)
{
	struct vhca_helper_cap_dma c = { .fd = fd };

	snprintf(c.hca, sizeof(c.hca), "%s", hca);
	return ioctl(helper_fd, VHCA_HELPER_CAP_DMA, &c) < 0 ? -errno : 0;
}
