/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of the connection manager, and the ids in them.
 *
 * Commands on them may wait for the kernel, so job threads execute them (jobs.h): those of a
 * file in order, those of several files at once, with be_dev.cm_lock held but in the
 * kernel. Who executes a command of a file has that file's ids to itself. The command
 * thread frees a file when no command of that file is left.
 */
#ifndef BE_CM_OBJECT_H
#define BE_CM_OBJECT_H

#include <sys/socket.h>

#include "file.h"
#include "jobs.h"
#include "uverbs/cm.h"

struct be_cm {
	struct be_file f;
	struct be_line line;
	/* Of the command thread: */
	bool closing;			/* DEALLOC_CM was taken */
	bool held;			/* an id is on its way to another file */
	unsigned int jobs;		/* that have no answer */
};

/* An id of the kernel, as it is known in a file, or a multicast group joined. */
struct be_cm_id {
	struct be_cm_id *next;		/* same hash */
	struct be_cm *cm;
	struct be_cm_id *of;		/* group: id that joined it; else NULL */
	uint32_t id;			/* two name spaces: of ids, of groups */
	uint32_t backlog;		/* listener: requests that may wait */
	uint32_t unseen;		/* its events that the guest did not get */
	uint64_t uid;			/* what its events come with; of an id */
	bool foreign;			/* bound to what is not the guest's */
	bool ud;			/* of datagrams */
	struct sockaddr_storage group;	/* address of a group */
};

/* One command, on its way. */
struct be_cm_call {
	struct be_dev *dev;
	struct be_cm *cm;
	struct be_cm *from;		/* MIGRATE_ID: where the id is; else NULL */
	struct be_cm_id *id;		/* NULL: a command without one */
	struct uv_cm uv;
};

/* A command for the kernel: without the lock, as it may wait. */
static inline int be_cm_kernel(struct be_dev *dev, const struct be_cm *cm, struct uv_cm *uv)
{
	int err;

	pthread_mutex_unlock(&dev->cm_lock);
	err = uv_cm_command(cm->f.ready.fd, uv);
	pthread_mutex_lock(&dev->cm_lock);
	return err;
}

/* A command of our own, into *uv, as be_cm_kernel() of one that a guest sent. */
static inline int be_cm_own(struct be_dev *dev, const struct be_cm *cm, struct uv_cm *uv,
			    uint32_t cmd, const void *in, size_t len, size_t out_len)
{
	int err;

	*uv = (struct uv_cm){
		.cmd = cmd, .op = vhca_cm_op(cmd, &err), .in_len = (uint16_t)len,
		.out_len = (uint16_t)out_len,
	};
	memcpy(uv->in, in, len);
	return err ? err : be_cm_kernel(dev, cm, uv);
}

/* ---- cm_id.c ---- */
int be_cm_open(struct be_dev *dev);	/* the table of ids; 0 or -ENOMEM */
void be_cm_close(struct be_dev *dev);
/* In this file; else NULL, *err = -EINVAL: in another one of this guest's, or
 * -ENOENT. @group: a multicast group. */
struct be_cm_id *be_cm_id_get(const struct be_cm_call *c, const struct be_cm *cm,
			      uint32_t id, bool group, int *err);
/* The one that gives its events this uid; NULL: none in this file. */
struct be_cm_id *be_cm_id_of_uid(const struct be_dev *dev,
				 const struct be_cm *cm, uint64_t uid);
/* 0, or -EDQUOT: the guest has max-cm-id; or, of groups, max-mcast. */
int be_cm_id_check(const struct be_dev *dev, bool group);
/* Has @of joined @group, as the kernel compares addresses when it leaves one? */
bool be_cm_id_joined(const struct be_dev *dev, const struct be_cm_id *of,
		     const struct sockaddr_storage *group);
/* @of: group: who joined it; else NULL. NULL: no memory, or
 * be_cm_id_check() says no. */
struct be_cm_id *be_cm_id_add(struct be_dev *dev, struct be_cm *cm, uint32_t id,
			      struct be_cm_id *of);
/* An id goes with its groups; NULL: all of the file. */
void be_cm_id_del(struct be_dev *dev, const struct be_cm *cm,
		  const struct be_cm_id *id);
void be_cm_id_move(struct be_dev *dev, struct be_cm_id *id, struct be_cm *to);
/* How many requests a listener gets that wants @asked (0: as many as possible). */
uint32_t be_cm_id_backlog(struct be_dev *dev, struct be_cm_id *id,
			  uint32_t asked);

/* ---- cm_addr.c ---- */
/* May the guest name the addresses of this command? 0 or the error of a kernel
 * that has no such address. */
int be_cm_addr_check(struct be_cm_call *c);
/**
 * be_cm_judge() - is what the kernel bound an id to the guest's?
 *
 * Its HCA, its port, on InfiniBand a partition of its. The kernel binds an id once, and
 * while it resolves an address at any moment, so each command that needs a device asks.
 *
 * Return: 1: it is; 0: nothing yet; -ENODEV: it is not, and the id is foreign for good.
 */
int be_cm_judge(const struct be_cm_call *c, struct be_cm_id *id);

/* ---- cm_event.c ---- */
/* GET_EVENT: into c->uv; its out_len is 0 if there is none. */
int be_cm_event(struct be_cm_call *c);

#endif
