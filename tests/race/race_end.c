// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The end of a device: front.c, the rings and file.c, with processes in verbs and with
 * open files, while the backend closes in order, dies, lies, or the device is removed.
 * Nobody uses a device that is freed, each process comes out of its verb, and nothing of
 * a connection is left.
 */
#include "backend.h"

#define list_first_entry_or_null(head, type, m)				\
	(list_empty(head) ? NULL : container_of((head)->next, type, m))
#define xa_insert(xa, i, obj, gfp) 0
#define xa_erase(xa, i)
#define root_device_unregister(dev)
#define down_killable(s)	0
#define up(s)

#include "copy/limit.c"
#include "copy/front.c"
#include "copy/nodes.h"
#include "copy/object.c"
#include "copy/file.c"

#define VERBS		3		/* processes */
#define FILES		2

static bool stop;
static atomic_t connections, verbs, files, failed;
static u32 theirs = XenbusStateInitialising, mine;
/* As ib_core: who is in a verb, or opens a file, keeps the device registered. */
static pthread_rwlock_t core = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t opens = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct vhca_dev *in_core, *in_opens;

static int command(struct vhca_dev *dev, u16 op, unsigned int flags)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(op, 0);
	int rc = vhca_ring_submit(dev, &cmd, flags);

	kfree(cmd);
	return rc;
}

int vhca_cmd_alloc_ownerless(struct vhca_dev *dev, u16 op, u16 undo, u32 *handle)
{
	*handle = 1;
	return command(dev, op, VHCA_CMD_OWNERLESS);
}

int vhca_cmd_dealloc_ownerless(struct vhca_dev *dev, u16 op, u32 handle)
{
	return command(dev, op, VHCA_CMD_DESTROY);
}

/* ---- of device.c, and of ib_core ---- */
struct vhca_dev *vhca_device_alloc(struct vhca_store *store)
{
	struct vhca_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	dev->store = store;
	spin_lock_init(&dev->evt_lock);
	INIT_LIST_HEAD(&dev->files);
	return dev;
}

static void set_in(pthread_rwlock_t *lock, struct vhca_dev **in, struct vhca_dev *dev)
{
	pthread_rwlock_wrlock(lock);
	*in = dev;
	pthread_rwlock_unlock(lock);
}

int vhca_device_register(struct vhca_dev *dev)
{
	int rc = command(dev, XENVHCA_OP_GET_INFO, 0);

	if (rc)
		return rc;
	WRITE_ONCE(dev->registered, true);
	set_in(&core, &in_core, dev);
	set_in(&opens, &in_opens, dev);
	atomic_inc(&connections);
	return 0;
}

void vhca_device_unregister(struct vhca_dev *dev)
{
	unsigned int objects;

	if (!READ_ONCE(dev->registered))
		return;
	WRITE_ONCE(dev->registered, false);
	set_in(&opens, &in_opens, NULL);
	vhca_files_close(dev);
	set_in(&core, &in_core, NULL);
	for (objects = any(4); objects; objects--)
		command(dev, XENVHCA_OP_DESTROY_QP, VHCA_CMD_DESTROY);
}

void vhca_device_free(struct vhca_dev *dev)
{
	if (!list_empty(&dev->files))
		wrong("an open file has a device that is freed");
	kfree(dev);
}

/* No device here is for the guest's kernel. */
void vhca_device_away(struct vhca_dev *dev) { }
u32 vhca_device_held(struct vhca_dev *dev) { return 0; }

/* ---- the rest of the module ---- */
int vhca_check_version(struct vhca_store *store) { return 0; }
int vhca_read_terms(struct vhca_store *store, struct vhca_terms *t) { t->order = 0; return 0; }
void vhca_read_nets(struct vhca_store *store, struct vhca_nets *nets) { }
u32 vhca_read_pool(struct vhca_store *store) { return 0; }
bool vhca_read_detached(struct vhca_store *store) { return false; }
void vhca_stats_add(struct vhca_dev *dev) { }
void vhca_stats_del(struct vhca_dev *dev) { }
struct vhca_window *vhca_window_new(void) { return NULL; }
void vhca_window_clear(struct vhca_window *w) { }
void vhca_window_free(struct vhca_window *w) { }
u64 vhca_grant_zombies(void) { return 0; }
bool vhca_grant_overdrawn(void) { return false; }
struct device *vhca_device_parent(struct vhca_store *store) { return NULL; }
void vhca_mem_put(struct vhca_mem *mem) { }

int vhca_offer(struct vhca_dev *dev, const struct vhca_terms *t)
{
	backend_start(dev);
	return 0;
}

/* ---- the store: the test is the toolstack ---- */
static sem_t gone;

static enum xenbus_state store_theirs(struct vhca_store *l) { return READ_ONCE(theirs); }
static enum xenbus_state store_mine(struct vhca_store *l) { return READ_ONCE(mine); }
static void store_broken(struct vhca_store *l, const char *reason) { }
static bool store_found(struct vhca_store *l) { return true; }
static void store_free(struct vhca_store *l) { sem_post(&gone); }

static int store_enter(struct vhca_store *l, enum xenbus_state state)
{
	WRITE_ONCE(mine, state);
	if (state == XenbusStateClosing)	/* the backend has nothing to do for it */
		WRITE_ONCE(theirs, XenbusStateClosed);
	return 0;
}

static struct vhca_store xen = {
	.ops = &(const struct vhca_store_ops){
		.theirs = store_theirs, .mine = store_mine, .enter = store_enter,
		.broken = store_broken, .found = store_found, .free = store_free,
	},
};

/* ---- processes ---- */
static void *in_verbs(void *arg)
{
	static const unsigned int kinds[] = { 0, VHCA_CMD_DESTROY, VHCA_CMD_OWNERLESS };

	race_seed = current->tgid = 1 + (unsigned long)arg;
	while (!READ_ONCE(stop)) {
		pthread_rwlock_rdlock(&core);
		if (in_core)
			atomic_inc(command(in_core, XENVHCA_OP_QUERY_PORT,
					   kinds[any(3)]) ? &failed : &verbs);
		pthread_rwlock_unlock(&core);
		usleep(any(300));
	}
	return NULL;
}

static void file_free_op(struct vhca_file *file)
{
	kfree(file);
}

static const struct vhca_file_ops file_ops = {
	.what = "file", .alloc = XENVHCA_OP_ALLOC_CM,
	.dealloc = XENVHCA_OP_DEALLOC_CM, .free = file_free_op,
};

static struct vhca_file *open_file(wait_queue_head_t *wait)
{
	struct vhca_file *file = NULL;

	pthread_rwlock_rdlock(&opens);
	if (in_opens) {
		file = kzalloc(sizeof(*file), GFP_KERNEL);
		vhca_file_init(file, &file_ops, wait);
		vhca_file_join(file, in_opens);
	}
	pthread_rwlock_unlock(&opens);
	return file;
}

/* Held during a command, and open when the device goes. */
static void use_file(struct vhca_file *file)
{
	unsigned int times = any(20);

	while (times-- && !vhca_file_lock(file)) {
		atomic_inc(command(file->dev, XENVHCA_OP_CM_COMMAND, 0) ? &failed : &files);
		mutex_unlock(&file->lock);
	}
	usleep(any(3000));
	vhca_file_release(file);
}

static void *in_files(void *arg)
{
	wait_queue_head_t wait;
	struct vhca_file *file;

	race_seed = current->tgid = 100 + (unsigned long)arg;
	init_waitqueue_head(&wait);
	while (!READ_ONCE(stop)) {
		file = open_file(&wait);
		if (file)
			use_file(file);
		else
			usleep(any(300));
	}
	return NULL;
}

/* ---- the toolstack ---- */
static void change(struct vhca_front *front, enum xenbus_state state)
{
	WRITE_ONCE(theirs, state);
	vhca_front_changed(front, state);
}

/* Until the frontend is there, or has given up. */
static void await(enum xenbus_state state)
{
	do {
		usleep(200);
	} while (READ_ONCE(mine) != state && READ_ONCE(mine) != XenbusStateClosed);
}

static void connect(struct vhca_front *front)
{
	change(front, XenbusStateInitWait);
	while (READ_ONCE(mine) != XenbusStateInitialised)
		usleep(200);
	change(front, XenbusStateConnected);
	await(XenbusStateConnected);
	usleep(any(20000));
}

static struct vhca_front *replace(struct vhca_front *front)
{
	vhca_front_end(front);
	vhca_front_ended(front);
	vhca_front_put(front);
	sem_wait(&gone);
	WRITE_ONCE(theirs, XenbusStateInitialising);
	return vhca_front_new(&xen);
}

static struct vhca_front *end_connection(struct vhca_front *front, unsigned int how)
{
	switch (how) {
	case 0:
		change(front, XenbusStateClosing);
		await(XenbusStateClosing);
		break;
	case 1:
		WRITE_ONCE(backend_lies, true);
		await(XenbusStateClosed);
		break;
	case 2:				/* removed while it begins anew */
		change(front, XenbusStateInitWait);
		usleep(any(3000));
		change(front, XenbusStateConnected);
		usleep(any(1000));
		return replace(front);
	case 3:
		return front;		/* the backend starts anew */
	}
	change(front, XenbusStateClosed);
	await(XenbusStateClosed);
	return front;
}

int main(void)
{
	unsigned long end = race_end(), i;
	pthread_t thread[VERBS + FILES];
	unsigned int rounds = 0;
	struct vhca_front *front;

	kernel_boot();
	sem_init(&gone, 0, 0);
	unmapped = backend_end;
	cmd_timeout = 3600;
	vhca_front_init();
	front = vhca_front_new(&xen);
	for (i = 0; i < VERBS + FILES; i++)
		thread[i] = race_thread(i < VERBS ? in_verbs : in_files, (void *)i);
	for (; rounds < 10 || time_before(jiffies, end); rounds++) {
		connect(front);
		front = end_connection(front, rounds % 5);
	}
	WRITE_ONCE(stop, true);
	for (i = 0; i < VERBS + FILES; i++)
		pthread_join(thread[i], NULL);
	front = replace(front);
	if (atomic_read(&kernel_allocs) != 1)
		wrong("something of a connection is left");
	if (counted)
		wrong("pages are lost");
	printf("%u connections: %u verbs, %u of files, %u failed\n", atomic_read(&connections),
	       atomic_read(&verbs), atomic_read(&files), atomic_read(&failed));
	return 0;
}
