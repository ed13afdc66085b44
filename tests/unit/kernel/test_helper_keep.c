// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * backend/helper/keep.c: the memory of a worker outlives it as long as something in it
 * is pinned, and no longer, whatever the worker asked for.
 */
#include "kernel.h"

/* ---- what keep.c uses beyond kernel.h ---- */
#define DEFINE_MUTEX(l)		struct mutex l
#define __module_get(m)
#undef current
#define current			(&task)
#define mm_struct		helper_mm
#define vm_area_struct		helper_vma
/* A work that runs may free its keep: that is done after the test. */
#undef kfree
#define kfree(p)		(freed[n_freed++] = (p))

struct file { int refs; };
struct vm_area_struct { unsigned long vm_start, vm_end; struct file *vm_file; };
#define get_file(f)		((f)->refs++, (f))
#define fput(f)			((f)->refs--)
#define kvcalloc		kcalloc
#undef kvfree
#define kvfree(p)		free(p)

/* The process is one user, a child that shares the memory another. */
struct mm_struct {
	atomic_t mm_users;
	atomic64_t pinned_vm;
	struct vm_area_struct *verbs;	/* a mapping of a verbs file */
};

static struct { struct mm_struct *mm; int tgid; } task = { .tgid = 42 };
static struct mm_struct worker, other, *used;
static struct file verbs;
static struct vm_area_struct mapping = { 0x1000, 0x3000, &verbs };
static void *freed[16];
static size_t n_freed;
static void (*on_last_put)(void);

#define VMA_ITERATOR(it, mm, addr) struct mm_struct *it = (mm)
#define for_each_vma(it, vma)						\
	for ((vma) = (it)->verbs; (vma); (vma) = NULL)
#define mmap_read_lock(mm)
#define mmget(mm)		atomic_inc(&(mm)->mm_users)
#define kthread_use_mm(mm)	(used = (mm))
#define kthread_unuse_mm(mm)	(used = NULL)
#define vm_munmap(start, len)	(used->verbs = NULL, 0)
#define flush_delayed_fput()

static void mmput(struct mm_struct *mm)
{
	assert_true(mm->mm_users.v > 0);
	if (--mm->mm_users.v)
		return;
	/* A file of a mapping that goes with the memory is held by the keep. */
	assert_true(!mm->verbs || verbs.refs);
	mm->verbs = NULL;
	assert_int_equal(mm->pinned_vm.v, 0);
	if (on_last_put)
		on_last_put();
}

#include "helper/keep.c"

struct workqueue_struct *vh_wq;
atomic_t vh_kept;

bool vh_is_uverbs(const struct vm_area_struct *vma)
{
	return vma == &mapping;
}

/* ---- workers ---- */
static struct vh_file one, two;

static void begins(struct mm_struct *mm)
{
	mm->mm_users.v = 1;
	mm->verbs = &mapping;
	task.mm = mm;
}

/* Its memory first, its files then. */
static void dies(struct mm_struct *mm)
{
	task.mm = NULL;
	mmput(mm);
}

/* What a process that dies does with its copy of the file. */
static void flushes(struct vh_file *vf)
{
	vh_keep_flush(vf->keep);
	kernel_advance(HZ);
}

static void closes(struct vh_file *vf)
{
	vh_keep_release(vf->keep);
	vf->keep = NULL;
}

static int setup(void **state)
{
	(void)state;
	memset(&worker, 0, sizeof(worker));
	memset(&other, 0, sizeof(other));
	on_last_put = NULL;
	begins(&worker);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kernel_advance(HZ);
	assert_int_equal(vh_kept.v, 0);
	kernel_idle();
	while (n_freed)
		free(freed[--n_freed]);
	return 0;
}

static void what_is_pinned_stays(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	assert_int_equal(vh_keep_mm(&one), -EBUSY);
	assert_int_equal(vh_kept.v, 1);
	mmget(&worker);				/* a child */
	worker.pinned_vm.v = 3;
	dies(&worker);
	closes(&one);
	kernel_advance(10 * HZ);
	assert_non_null(worker.verbs);
	mmput(&worker);
	kernel_advance(HZ);
	assert_null(worker.verbs);
	assert_int_equal(worker.mm_users.v, 1);
	worker.pinned_vm.v = 0;
	kernel_advance(HZ);
	assert_int_equal(worker.mm_users.v, 0);
}

/* Two that keep one memory would wait for each other for ever. */
static void memory_is_kept_once(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	assert_int_equal(vh_keep_mm(&two), -EBUSY);
	assert_int_equal(vh_kept.v, 1);
	assert_int_equal(worker.mm_users.v, 2);
	dies(&worker);
	closes(&two);
	kernel_advance(HZ);
	assert_int_equal(worker.mm_users.v, 1);
	closes(&one);
	kernel_advance(HZ);
	assert_int_equal(worker.mm_users.v, 0);
}

static void each_worker_has_its_own(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	begins(&other);
	assert_int_equal(vh_keep_mm(&two), 0);
	assert_int_equal(vh_kept.v, 2);
	dies(&other);
	dies(&worker);
	closes(&one);
	closes(&two);
}

/* One that closes its file may ask again, with another one. */
static void the_living_give_it_up(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	vh_keep_flush(one.keep);
	closes(&one);
	assert_int_equal(vh_kept.v, 0);
	assert_int_equal(worker.mm_users.v, 1);
	assert_int_equal(vh_keep_mm(&two), 0);
	dies(&worker);
	closes(&two);
}

static void another_gets_the_place(void)
{
	on_last_put = NULL;
	begins(&worker);
	assert_int_equal(vh_keep_mm(&two), 0);
}

/* The next process may have its address space where that of a dead one was. */
static void an_end_is_no_obstacle(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	dies(&worker);
	on_last_put = another_gets_the_place;
	closes(&one);
	kernel_advance(HZ);
	assert_null(on_last_put);
	assert_int_equal(vh_kept.v, 1);
	dies(&worker);
	closes(&two);
}

/* A guard is for the verbs files: they stay, and the memory does not. */
static void a_guard_keeps_no_memory(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	dies(&worker);
	task.tgid++;
	flushes(&one);				/* somebody else's copy */
	assert_int_equal(worker.mm_users.v, 1);
	task.tgid--;
	flushes(&one);
	assert_int_equal(worker.mm_users.v, 0);
	assert_int_equal(vh_kept.v, 0);
	assert_int_equal(verbs.refs, 1);
	flushes(&one);
	assert_int_equal(verbs.refs, 1);
	closes(&one);
	kernel_advance(HZ);
	assert_int_equal(verbs.refs, 0);
}

/* A worker that ends in order closes its copy while it lives. */
static void nor_does_one_of_a_worker_that_closed_it(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	flushes(&one);
	assert_int_equal(worker.mm_users.v, 2);
	dies(&worker);
	kernel_advance(HZ);
	assert_int_equal(worker.mm_users.v, 0);
	assert_int_equal(vh_kept.v, 0);
	assert_int_equal(verbs.refs, 1);
	closes(&one);
	kernel_advance(HZ);
	assert_int_equal(verbs.refs, 0);
}

/* Unless something in it is pinned, until the end of the guard. */
static void a_guard_keeps_what_is_pinned(void **state)
{
	(void)state;
	assert_int_equal(vh_keep_mm(&one), 0);
	worker.pinned_vm.v = 1;
	dies(&worker);
	flushes(&one);
	assert_int_equal(worker.mm_users.v, 1);
	assert_non_null(worker.verbs);
	closes(&one);
	kernel_advance(HZ);
	assert_null(worker.verbs);
	worker.pinned_vm.v = 0;
	kernel_advance(HZ);
	assert_int_equal(worker.mm_users.v, 0);
	assert_int_equal(verbs.refs, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_pinned_stays),
		T(memory_is_kept_once),
		T(each_worker_has_its_own),
		T(the_living_give_it_up),
		T(an_end_is_no_obstacle),
		T(a_guard_keeps_no_memory),
		T(nor_does_one_of_a_worker_that_closed_it),
		T(a_guard_keeps_what_is_pinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
