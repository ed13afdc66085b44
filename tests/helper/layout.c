// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Only compiled, by layout.sh: the helper's ioctls have the numbers and
 * layouts that daemons and modules of other ages use, in 32 bit programs too.
 */
#include <stddef.h>
#include <uapi/vhca-helper.h>

#define SIZE(type, n) \
	_Static_assert(sizeof(struct vhca_helper_##type) == (n), #type)
#define AT(type, field, n) \
	_Static_assert(offsetof(struct vhca_helper_##type, field) == (n), \
		       #type "." #field)
#define NUMBER(name, n) \
	_Static_assert(VHCA_HELPER_##name == (n), #name)

SIZE(grant, 32);
AT(grant, addr, 0);
AT(grant, refs, 8);
AT(grant, nr_pages, 16);
AT(grant, domid, 20);
AT(grant, reserved, 22);
AT(grant, id, 24);
AT(grant, reserved1, 28);
NUMBER(GRANT, 0xc0205601u);

SIZE(ungrant, 8);
AT(ungrant, id, 0);
AT(ungrant, flags, 4);
NUMBER(UNGRANT, 0x40085602u);

NUMBER(KEEP_MM, 0x5603u);

SIZE(frames, 24);
AT(frames, addr, 0);
AT(frames, frames, 8);
AT(frames, nr_pages, 16);
AT(frames, cache, 20);
NUMBER(FRAMES, 0xc0185604u);

SIZE(cap_dma, 72);
AT(cap_dma, hca, 0);
AT(cap_dma, fd, 64);
AT(cap_dma, result, 68);
NUMBER(CAP_DMA, 0xc0485605u);
