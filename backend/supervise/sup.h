/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The supervisor as its files share it: supervisor.c decides, list.c has the devices,
 * wait.c waits, share.c counts what all devices share, net.c has addresses put on the
 * network. One thread.
 */
#ifndef BE_SUP_H
#define BE_SUP_H

#include "bucket.h"
#include "cgroup.h"
#include "core/devices.h"
#include "guard.h"
#include "net.h"
#include "process.h"

struct sup_dev {
	struct sup_dev *next;
	unsigned int domid, devid;
	struct be_process worker;
	struct be_guard *guard;		/* of the worker, or NULL */
	unsigned int spinners;		/* of the worker, share.c */
	bool ended;			/* the worker, says its pidfd */
	bool seen;			/* by the scan that runs */
	bool refused;			/* no worker any more, was said */
	bool changed;			/* something below it, since it was looked at */
	struct be_share share;		/* all 0: not counted */
	struct be_net net;
	uint64_t next_ns;		/* not before */
	unsigned int backoff_ms;
	struct vl_bucket lives;		/* of workers that ended in order */
};

struct sup {
	const struct be_options *opt;
	be_devices_open_fn *devices_open;
	struct be_devices *all;		/* the source of devs */
	struct sup_dev *devs;
	int epoll_fd;
	int sig_fd;
	struct be_guard *guards;	/* of workers that died */
	struct be_net_job job;
	struct be_cgroups cgroups;	/* of workers */
	bool rescan;			/* scan again before waiting */
	bool look;			/* something happened that a scan finds */
	bool stop, failed;
	uint64_t wake_ns;		/* next timer, 0: none */
	uint64_t refused_ns;		/* refused devices are not looked at before */
};

/* ---- wait.c ---- */
/* Signals from now on; 0 or -errno. be_sup_wait_close() in both cases. */
int be_sup_wait_open(struct sup *s);
void be_sup_wait_close(struct sup *s);
/* Changes of the devices, too. 0 or -errno. */
int be_sup_listen_devices(struct sup *s);
/* Wait for the end of a process, too; dev: of a worker, NULL: of a script. */
void be_sup_listen(struct sup *s, struct be_process *p, struct sup_dev *dev);
/* Forget a process that was waited for. */
void be_sup_forget(struct sup *s, struct be_process *p);
/* Timers for workers that no event tells of. */
void be_sup_timers(struct sup *s);
/*
 * Waits for a change, a signal, the end of a worker or the timer. Sets s->look,
 * unless all that happened are changes of devices that have a worker. 0 or -errno.
 */
int be_sup_wait(struct sup *s);
void be_sup_timer(struct sup *s, uint64_t at);

/* ---- list.c ---- */
struct sup_dev *be_sup_find(struct sup *s, unsigned int domid,
			    unsigned int devid);
/* The device of that name, made if there is none; NULL: no memory. */
struct sup_dev *be_sup_get(struct sup *s, unsigned int domid,
			   unsigned int devid);
/* The frontend waits for a word: a worker that was killed could not say it. */
void be_sup_write_closed(struct sup *s, struct sup_dev *d);
/* Tells the operator once, in the log and in the node. True. */
bool be_sup_refuse(struct sup *s, struct sup_dev *d, const char *why);

/* ---- supervisor.c ---- */
/* Its worker has ended, in order or not: when the next one may start. */
void be_sup_backoff(struct sup *s, struct sup_dev *d, bool good);

/* ---- share.c ---- */
/* True: the device does not fit, and its nodes say why. A device that fits keeps its part
 * until its nodes are removed, also while it has no worker. */
bool be_sup_over(struct sup *s, struct sup_dev *d);
void be_sup_no_share(struct sup_dev *d);
/* Doorbell pages that a device with this share may take of its HCA. */
uint64_t be_sup_uars(const struct be_options *opt, const struct be_share *share);
#define BE_SPINNERS	2	/* threads of a worker that may poll: commands, kicks */
/**
 * be_share_spinners() - how many threads of one more worker may poll at once
 * @cpus: processors of this domain; with one, polling keeps the guest's answer away
 * @others: of all other workers, that may
 *
 * Return: with those of the others, fewer than there are processors.
 */
unsigned int be_share_spinners(long cpus, unsigned int others);
/* The same of a device's worker, which has them for its life. */
unsigned int be_sup_spinners(const struct sup *s);

/* ---- net.c ---- */
/* Devices of which an earlier supervisor left something on the network. */
void be_sup_net_list(struct sup *s);
/**
 * be_sup_net_up() - are the addresses of a device there?
 *
 * Return: true: its worker may start. False: not yet; something is under way, or a
 * timer is set, and whoever attached it was told why.
 */
bool be_sup_net_up(struct sup *s, struct sup_dev *d);
/* Tells the script what happened to a device's vif. The device's worker does not wait. */
void be_sup_net_follow(struct sup *s, struct sup_dev *d);
/* The device is served no more. True: nothing of it is left on the network. */
bool be_sup_net_down(struct sup *s, struct sup_dev *d);
/* The script's end, or its time is over. */
void be_sup_net_reap(struct sup *s);
/* At the end: wait for the script that runs, bounded. */
void be_sup_net_finish(struct sup *s);

#endif
