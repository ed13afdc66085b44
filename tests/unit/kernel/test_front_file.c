// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/files/file.c: a file that is closed while its device goes. Whoever of the two comes
 * first, the device is not let go before the other one has done with it.
 */
#include "kernel.h"
#include "lists.h"

#define list_first_entry_or_null(head, type, m)				\
	(list_empty(head) ? NULL : container_of((head)->next, type, m))
#define down_killable(s)	0
#define up(s)
#define DEFINE_MUTEX(m)		struct mutex m
#define kref_init(r)		((r)->n = 1)
#define kref_get(r)		((r)->n++)
#define kref_put(r, release)	(--(r)->n ? 0 : (release(r), 1))

#include "copy/file.c"

static struct vhca_dev dev;
static wait_queue_head_t wait;
static unsigned int allocated, freed, events;
static int alloc_status, publish_status;
static void (*meanwhile)(struct vhca_file *file);
static struct vhca_file *closing;

int vhca_publish(struct vhca_dev *d, struct xarray *table, unsigned long key, void *obj)
{
	events += !publish_status;
	return publish_status;
}

void vhca_unpublish(struct vhca_dev *d, struct xarray *table, unsigned long key)
{
	events--;
}

bool vhca_gone(struct vhca_dev *d, const char *what, u32 handle, int rc)
{
	assert_ptr_equal(d, &dev);
	return true;
}

/* No test here sends a command of the file. */
int vhca_ring_submit(struct vhca_dev *d, struct vhca_cmd **cmd, unsigned int flags)
{
	return -EIO;
}

int vhca_cmd_alloc_ownerless(struct vhca_dev *d, u16 op, u16 undo, u32 *handle)
{
	assert_int_equal(op, XENVHCA_OP_ALLOC_CM);
	assert_int_equal(undo, XENVHCA_OP_DEALLOC_CM);
	if (alloc_status)
		return alloc_status;
	*handle = 7;
	allocated++;
	return 0;
}

/* The backend does not answer yet. */
int vhca_cmd_dealloc_ownerless(struct vhca_dev *d, u16 op, u32 handle)
{
	assert_int_equal(op, XENVHCA_OP_DEALLOC_CM);
	assert_ptr_equal(d, &dev);
	assert_int_equal(handle, 7);
	if (meanwhile && closing)
		meanwhile(closing);
	allocated--;
	return 0;
}

static void file_free_op(struct vhca_file *file)
{
	freed++;
	free(file);
}

static const struct vhca_file_ops ops = {
	.what = "file", .alloc = XENVHCA_OP_ALLOC_CM,
	.dealloc = XENVHCA_OP_DEALLOC_CM, .free = file_free_op,
};

static struct vhca_file *opened(void)
{
	struct vhca_file *file = calloc(1, sizeof(*file));

	vhca_file_init(file, &ops, &wait);
	vhca_file_join(file, &dev);
	return file;
}

static void used(struct vhca_file *file)
{
	assert_int_equal(vhca_file_lock(file), 0);
	mutex_unlock(&file->lock);
}

static int setup(void **state)
{
	(void)state;
	memset(&dev, 0, sizeof(dev));
	INIT_LIST_HEAD(&dev.files);
	allocated = freed = events = 0;
	alloc_status = publish_status = 0;
	meanwhile = NULL;
	closing = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(allocated, 0);
	assert_int_equal(events, 0);
	assert_true(list_empty(&dev.files));
	return 0;
}

/* The device would wait for its lock. */
static void is_found_by_the_device(struct vhca_file *file)
{
	assert_false(list_empty(&dev.files));
	assert_ptr_equal(list_first_entry_or_null(&dev.files, struct vhca_file,
						  list), file);
	assert_true(file->lock.held);
	meanwhile = NULL;
}

static void who_is_being_closed_is_waited_for(void **state)
{
	(void)state;
	closing = opened();
	used(closing);
	meanwhile = is_found_by_the_device;
	vhca_file_release(closing);
	assert_null(meanwhile);		/* that was looked at */
	assert_int_equal(freed, 1);
}

static void a_device_that_goes_closes_its_files(void **state)
{
	struct vhca_file *a = opened(), *b = opened();

	(void)state;
	used(a);			/* b was never used */
	assert_int_equal(allocated, 1);
	vhca_files_close(&dev);
	assert_int_equal(allocated, 0);
	assert_int_equal(freed, 0);	/* the processes have them */
	assert_true(a->gone && b->gone);
	assert_int_equal(vhca_file_lock(a), -EIO);
	assert_int_equal(vhca_file_lock(b), -EIO);
	vhca_file_release(a);
	vhca_file_release(b);
	assert_int_equal(freed, 2);
}

static void the_backend_hears_of_it_with_the_first_command(void **state)
{
	struct vhca_file *a = opened();

	(void)state;
	assert_int_equal(allocated, 0);
	alloc_status = -ENOMEM;
	assert_int_equal(vhca_file_lock(a), -ENOMEM);
	assert_false(a->lock.held);
	alloc_status = 0;
	publish_status = -ENOMEM;	/* and no event can find it */
	assert_int_equal(vhca_file_lock(a), -ENOMEM);
	assert_int_equal(allocated, 0);
	publish_status = 0;
	used(a);
	used(a);
	assert_int_equal(allocated, 1);
	a->lock.held = true;		/* a command of another thread */
	assert_int_equal(vhca_file_lock(a), -EINTR);
	a->lock.held = false;
	vhca_file_release(a);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(who_is_being_closed_is_waited_for),
		T(a_device_that_goes_closes_its_files),
		T(the_backend_hears_of_it_with_the_first_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
