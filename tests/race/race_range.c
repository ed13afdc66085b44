// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend's table of queue memory: threads of one process make objects of the same
 * owners, map the same ranges, hand mappings to each other as fork() does, and destroy
 * the owners meanwhile. What the backend has granted it hears the end of, once; what is
 * charged to the device never exceeds its limit, and is all given back.
 */
#include "race.h"

#define VM_SHARED		BIT(0)
#define vma_pages(vma)		(((vma)->vm_end - (vma)->vm_start) / PAGE_SIZE)

#include "copy/range_end.c"
#include "copy/range.c"

#define THREADS		4
#define OWNERS		6
#define RANGES		60000u		/* of a round */
#define PAGES		60		/* more than an answer holds */
#define MOST_PAGES	(4 * PAGES)	/* of the device */

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static bool stop;
static atomic_t made, mapped, refused, ended;
static int granted[RANGES];		/* the backend's: it waits for the end of this one */
static u32 child[RANGES];		/* pages that are mapped at this offset */

/* ---- the rest of the module, and the backend ---- */
int vhca_cmd_mmap(struct vhca_ucontext *u, const struct xenvhca_mmap_req *req,
		  unsigned int flags, struct xenvhca_mmap_rsp *rsp)
{
	u32 nr = req->length / PAGE_SIZE;

	if (!any(16))
		return -EDQUOT;
	__atomic_store_n(&granted[req->offset / PAGE_SIZE], 1, __ATOMIC_RELAXED);
	*rsp = (struct xenvhca_mmap_rsp){
		.kind = XENVHCA_MMAP_GRANT, .nr_pages = nr + !any(16),
		.count = min(nr - req->first, (u32)XENVHCA_MMAP_GREFS),
	};
	return 0;
}

int vhca_cmd_munmap(struct vhca_dev *d, u32 handle, const u64 *offset, unsigned int nr)
{
	while (nr--)
		if (__atomic_fetch_sub(&granted[offset[nr] / PAGE_SIZE], 1,
				       __ATOMIC_RELAXED) != 1)
			wrong("the end of a range is told twice, or of none");
	return 0;
}

/* *tried: whatever is returned, the end of the mapping comes by itself. */
int vhca_map_grants(struct vhca_ucontext *u, struct vm_area_struct *vma,
		    const grant_ref_t *ref, u32 nr, u64 offset, bool *tried)
{
	*tried = any(8);
	if (!*tried)
		return -ENOMEM;
	if (__atomic_exchange_n(&child[offset / PAGE_SIZE], nr, __ATOMIC_RELAXED))
		wrong("a range is mapped twice");
	return any(8) ? 0 : -EIO;
}

/* ---- the process ---- */
static u64 any_offset(void)
{
	unsigned int nr = min((unsigned int)atomic_read(&made), RANGES);

	return nr ? (u64)(nr - 1 - any(min(nr, 16u))) * PAGE_SIZE : 0;
}

static void create(void)
{
	unsigned int nr = __atomic_fetch_add(&made.v, 1, __ATOMIC_RELAXED);
	static const struct vhca_udata_op row = {
		.rsp = { { .kind = VHCA_KEY }, { .kind = VHCA_END } },
	};
	struct vhca_cmd cmd = { .row = &row, .rsp.out_len = 12 };
	u32 size = (1 + any(PAGES)) * PAGE_SIZE;
	u64 offset = (u64)nr * PAGE_SIZE;

	if (nr >= RANGES)
		return;
	if (any(2)) {			/* some references are in the answer */
		cmd.req.flags = XENVHCA_REQ_RANGES;
		cmd.rsp.u.made.count[0] = 1;
		__atomic_store_n(&granted[nr], 1, __ATOMIC_RELAXED);
	}
	memcpy(cmd.rsp.udata, &offset, sizeof(offset));
	memcpy(cmd.rsp.udata + sizeof(offset), &size, sizeof(size));
	vhca_ranges_fetch(&uc, 1 + any(OWNERS), &cmd);
}

static void map(u64 offset)
{
	struct vm_area_struct vma = {
		.vm_pgoff = offset >> PAGE_SHIFT, .vm_flags = VM_SHARED,
		.vm_end = (1 + any(4)) * PAGE_SIZE,
	};

	atomic_inc(vhca_range_mmap(&uc, &vma) ? &refused : &mapped);
}

/* The last of the processes that have the mapping unmaps it, as map.c does. */
static void unmap(u64 offset)
{
	u32 nr = __atomic_exchange_n(&child[offset / PAGE_SIZE], 0, __ATOMIC_RELAXED);

	if (!nr)
		return;
	vhca_range_uncharge(&dev, nr);
	vhca_range_end(&uc, offset, nr);
	atomic_inc(&ended);
}

static void *process(void *arg)
{
	race_seed = (unsigned long)arg + jiffies;
	while (!READ_ONCE(stop)) {
		switch (any(8)) {
		case 0:
			vhca_ranges_drop(&uc, 1 + any(OWNERS));
			break;
		case 1:
			vhca_ranges_flush(&uc);
			break;
		case 2:
		case 3:
			create();
			break;
		case 4:
		case 5:
			unmap(any_offset());
			break;
		default:
			map(any_offset());
		}
		if ((unsigned int)atomic_read(&dev.queue_pages) > MOST_PAGES)
			wrong("more pages than the device may have");
	}
	return NULL;
}

/* A context ends in order: its objects, its mappings, and then itself. */
static void end_context(void)
{
	u32 i;

	vhca_ranges_drop(&uc, 0);
	for (i = 0; i < RANGES; i++)
		unmap((u64)i * PAGE_SIZE);
	cancel_delayed_work_sync(&uc.ended_work);
	vhca_ranges_flush(&uc);
	vhca_ranges_free(&uc);
	for (i = 0; i < RANGES; i++)
		if (granted[i])
			wrong("the backend never heard of the end of a range");
	if (atomic_read(&dev.queue_pages))
		wrong("pages stay charged");
	if (atomic_read(&kernel_allocs) || !list_empty(&uc.ranges))
		wrong("ranges are lost");
}

static void round_of(void)
{
	pthread_t thread[THREADS];
	unsigned long i;

	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	vhca_ranges_init(&uc);
	atomic_set(&made, 0);
	WRITE_ONCE(stop, false);
	for (i = 0; i < THREADS; i++)
		thread[i] = race_thread(process, (void *)i);
	usleep(100000);
	WRITE_ONCE(stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	end_context();
}

int main(void)
{
	unsigned long end = race_end();
	unsigned int rounds = 0;

	kernel_boot();
	queue_pages = MOST_PAGES;
	for (; rounds < 4 || time_before(jiffies, end); rounds++)
		round_of();
	printf("%u contexts: %u mapped, %u refused, %u ended\n", rounds,
	       atomic_read(&mapped), atomic_read(&refused), atomic_read(&ended));
	return 0;
}
