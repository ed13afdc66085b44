/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Internals of vhcactl: functions for several commands. It has one thread. Values that
 * a guest or a backend domain wrote to xenstore are only shown; they never decide
 * which nodes are written or removed. The operator and /libxl, which only the control
 * domain writes, decide that.
 */
#ifndef CTL_H
#define CTL_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <json-c/json.h>
#include "keys.h"
#include "xenstore/node.h"
#include "xenstore/scan.h"
#include "xenstore/state.h"

enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILED = 1,		/* xenstore, the backend or the guest */
	CTL_USAGE = 2,		/* wrong arguments */
	CTL_NOT_FOUND = 3,	/* no such domain or device */
	CTL_TIMEOUT = 4,	/* the other side did not follow in time */
	CTL_WARNED = 5		/* check: nothing fails, but warnings */
};

/* Options and arguments of a command. */
struct ctl {
	struct xs_handle *xs;
	bool no_xs;		/* there is no xenstore */
	const char *devices;	/* then: xen-vhcad's folder of devices */
	bool arm;		/* this is an Arm machine */
	bool json, force, batch, openmetrics;
	int wait;		/* seconds; -1: the command's default */
	unsigned int own;	/* dom0less: number of this domain */
	int delay, count;	/* top: seconds; rounds, 0: until stopped */
	const char *run_dir;	/* folder of xen-vhcad's statistics */
	const char *agent_dir;	/* the same of xen-vhca-doorbelld */
	const char *lock;	/* lock file of commands that write; or NULL */
	const char *root;	/* before /sys and /proc; "" but in tests */
	/* Output of xl info; 0 or -errno. NULL in tests without one. */
	int (*xl_info)(char *buf, size_t size);
	/* The same of nft list tables. */
	int (*nft_tables)(char *buf, size_t size);
	int argc;		/* arguments behind the command's name */
	char **argv;
};

struct ctl_dev {
	unsigned int domid, devid, backend;
	bool moved;		/* from another backend domain, which is gone */
	char fe[XN_PATH_MAX];	/* /local/domain/DOMID/device/vhca/DEVID */
	char be[XN_PATH_MAX];	/* /local/domain/BACKEND/backend/vhca/... */
	char libxl[XN_PATH_MAX]; /* /libxl/DOMID/device/vhca/DEVID */
};

/* ---- out.c ---- */
/* One line on stderr. Returns rc, to be the exit code. */
int ctl_error(enum ctl_exit rc, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* One line on stdout. */
void ctl_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Print obj with the flags of json-c, and drop it. */
void ctl_put_json(struct json_object *obj, int flags);
/* Print obj, as JSON or as lines "name.name value", and drop it. */
void ctl_print_json(struct json_object *obj);
void ctl_print_flat(struct json_object *obj);
void ctl_json_int(struct json_object *o, const char *key, int64_t val);
void ctl_json_text(struct json_object *o, const char *key, const char *val);
/* An object with the three numbers of a device. */
struct json_object *ctl_json_dev(const struct ctl_dev *d);
#define CTL_COLUMNS 80		/* of a terminal; no table is wider */
/**
 * ctl_wrap() - the next line of a text
 * @text: moved behind that line and the blank that ends it
 * @width: the longest line, at least 1
 *
 * What is in parentheses, as commands are, stays on one line if it fits there. Returns
 * the line's length; 0 at the end.
 */
size_t ctl_wrap(const char **text, size_t width);
/* Lines of at most CTL_COLUMNS: head and text, and the rest of it as far to the right. */
void ctl_say_wrapped(const char *head, const char *text);
/* A text for a column: one that is too long ends with +. Returns buf, width + 1 bytes. */
char *ctl_cut(char *buf, const char *text, size_t width);

/* ---- lock.c ---- */
/* xn_transact(), while no other vhcactl of this domain is in one. */
int ctl_transact(struct ctl *c,
		 int (*fn)(struct xs_handle *xs, xs_transaction_t t, void *arg),
		 void *arg);

/* ---- device.c ---- */
/* Domain by number (which need not exist, for leftovers) or name; CTL_NOT_FOUND
 * with a message. */
int ctl_domain(struct ctl *c, const char *text, unsigned int *domid);
/* Name of a domain, or "" if there is none or it may not be read. */
void ctl_domain_name(struct ctl *c, unsigned int domid, char *name);
/* The domain that the first argument names; -1: there is no argument. */
int ctl_domain_given(struct ctl *c, int *domid);
/* A device by its text DEVID; CTL_NOT_FOUND or CTL_USAGE with a message. */
int ctl_dev_find(struct ctl *c, unsigned int domid, const char *devid,
		 struct ctl_dev *d);
/* The device that the first two arguments, DOMAIN and DEVID, name. */
int ctl_dev_named(struct ctl *c, struct ctl_dev *d);
/**
 * ctl_devs() - all devices that this domain can see
 * @domid: only devices of this domain; -1: of all
 * @devs: an array, to be freed
 *
 * The control domain sees every device of this host, also those whose backend domain
 * is gone, other domains the devices of which they are the backend. Returns the number
 * of devices; -1 with a message.
 */
int ctl_devs(struct ctl *c, int domid, struct ctl_dev **devs);
/* May this domain see all others? A utility domain beside a dom0 may not. */
bool ctl_sees_all(struct ctl *c);
/* Is its backend's directory gone, as after that domain's end? */
bool ctl_dev_orphan(struct ctl *c, const struct ctl_dev *d);
/**
 * ctl_dev_recorded() - the configuration of a device, from /libxl
 * @conf: filled completely; backend is a domain's name, "" if not recorded
 *
 * 0 or -errno.
 */
int ctl_dev_recorded(struct ctl *c, const struct ctl_dev *d,
		     struct ctl_conf *conf);
/**
 * ctl_dev_create() - write all nodes of a new device, as libxl would
 * @old: NULL, for the lowest free number; or the device whose number and place in the guest
 *	the new one takes. The guest's state stays, as when a worker starts anew.
 *
 * 0 or -errno.
 */
int ctl_dev_create(struct ctl *c, unsigned int domid, unsigned int backend,
		   const struct ctl_conf *conf, const struct ctl_dev *old, struct ctl_dev *d);
/* Remove all nodes, then directories that are empty. */
int ctl_dev_remove(struct ctl *c, const struct ctl_dev *d);
/**
 * ctl_dev_wait() - wait for a change of either side's state
 * @seconds: time limit
 * @done: called at once, and after every change; a value other than 0 ends the wait
 *
 * Returns what done() returned, 0 after the time limit.
 */
int ctl_dev_wait(struct ctl *c, const struct ctl_dev *d, int seconds,
		 int (*done)(struct ctl *c, const struct ctl_dev *d));
enum xenbus_state ctl_fe_state(struct ctl *c, const struct ctl_dev *d);
enum xenbus_state ctl_be_state(struct ctl *c, const struct ctl_dev *d);

/* The HCA's name, also of an orphan; "?": unknown. hca: XENVHCA_NAME_LEN bytes */
void ctl_dev_hca(struct ctl *c, const struct ctl_dev *d, char *hca);

/* ---- hint.c ---- */
#define CTL_HINT_MAX 640	/* with the NUL */
struct ctl_facts {
	unsigned int domid, devid, backend;
	enum xenbus_state be, fe;
	bool orphan;			/* its backend domain is gone */
	bool leaving;			/* the toolstack asked both ends to close */
	bool unserved;			/* its worker died; known in its backend domain only */
	bool agent_owes;		/* the doorbell agent has not answered */
	char be_why[XN_VALUE_MAX], fe_why[XN_VALUE_MAX];	/* reasons of the ends, or "" */
};
void ctl_facts(struct ctl *c, const struct ctl_dev *d, struct ctl_facts *f);
/**
 * ctl_hint() - why a device does not work, and what to do next
 * @text: one line without newline; "" if both ends are connected and nothing is wrong
 */
void ctl_hint(const struct ctl_facts *f, char *text, size_t size);
/* Both for a device. */
void ctl_dev_hint(struct ctl *c, const struct ctl_dev *d, char *text, size_t size);
/* Did the worker of a device of this backend domain die? */
bool ctl_unserved(const struct ctl *c, unsigned int domid, unsigned int devid);
/* Does a process hold the flock of this file (not below c->root)? */
bool ctl_locked(const struct ctl *c, const char *path);

/* ---- pci.c ---- */
/* Last component of the target of the symbolic link path; 0 or -errno. */
int ctl_link_name(const char *path, char *name, size_t size);
/**
 * ctl_pci_of_hca() - PCI address of an HCA of this domain
 * @root: before /sys
 * @hca: name in /sys/class/infiniband
 *
 * -ENODEV: no such HCA here, -ENOENT: it is no PCI device (Soft-RoCE).
 */
int ctl_pci_of_hca(const char *root, const char *hca, char bdf[CTL_BDF]);
/**
 * ctl_pci_resolve() - check or find conf->pci before a device is created
 *
 * Checks a given address against this domain's sysfs. Otherwise fills in the address of
 * an HCA of this domain; for another backend domain there is none. Returns an exit
 * code, with a message.
 */
int ctl_pci_resolve(struct ctl *c, unsigned int backend,
		    struct ctl_conf *conf);

/* ---- uars.c ---- */
struct ctl_uars {
	uint64_t have;		/* doorbell pages for guests; 0: unknown */
	uint64_t may;		/* that guests may take by their max-ucontext */
};
/* Of the HCA with that PCI address. */
void ctl_uars(struct ctl *c, const char *bdf, struct ctl_uars *u);
/* The HCA's PCI address on record; false: there is none. */
bool ctl_pci_recorded(struct ctl *c, const struct ctl_dev *d, char bdf[CTL_BDF]);

/* ---- cfg.c ---- */
#define CTL_CFG_MAX 16		/* devices in one configuration file */
#define CTL_SPEC_MAX 1024	/* of one of them, with the NUL */
struct ctl_cfg {
	char name[CTL_NAME_MAX];	/* of the domain */
	int nr;
	char spec[CTL_CFG_MAX][CTL_SPEC_MAX];
	int line[CTL_CFG_MAX];		/* of the file, where spec is */
};

/**
 * ctl_cfg_parse() - find name and vhca in the text of an xl configuration
 * @err: CTL_ERR_MAX bytes; begins with the line, "7: vhca: ..."
 *
 * Agrees with libxlutil on every text that libxlutil accepts. 0 or -EINVAL. Other keys
 * are left to xl.
 */
int ctl_cfg_parse(const char *text, struct ctl_cfg *cfg, char *err);

/* ---- statfile.c: the statistics file of a worker ---- */
/**
 * ctl_stats_load() - counters of a device
 * @obj: the file's object; json_object_put() it
 * @mtime_ms: when it was written, CLOCK_REALTIME in ms; may be NULL
 * @err: CTL_ERR_MAX bytes
 *
 * -ENOENT: there is no file; another -errno.
 */
int ctl_stats_load(struct ctl *c, const struct ctl_dev *d,
		   struct json_object **obj, int64_t *mtime_ms, char *err);
/* Number at obj.dir.key, or obj.key for dir NULL; 0 if there is none. */
uint64_t ctl_stats_num(struct json_object *obj, const char *dir,
		       const char *key);
struct json_object *ctl_stats_get(struct json_object *obj, const char *key);
/* Pages of the file in MiB, rounded up, so that 0 means none. */
uint64_t ctl_mb_of_pages(uint64_t pages);

/* One device of several that are printed together. */
struct ctl_stats_dev {
	struct ctl_dev dev;
	struct json_object *obj;
};

/* Print devices in OpenMetrics 1.0.0, with # EOF. */
void ctl_openmetrics(FILE *out, const struct ctl_stats_dev *s, int n);

/* ---- ctl_check.c ---- */
/* Output of xl info as a string. 0; -EIO: no xl, not root, not the control domain. */
int ctl_xl_info(char *buf, size_t size);
/* Output of nft list tables as a string. 0; -EIO: no nft, not root. */
int ctl_nft_tables(char *buf, size_t size);

/* ---- ctl_*.c: the commands; return an exit code ---- */
int ctl_attach(struct ctl *c);
int ctl_check(struct ctl *c);
int ctl_create(struct ctl *c);
int ctl_detach(struct ctl *c);
int ctl_dom0less(struct ctl *c);
int ctl_list(struct ctl *c);
int ctl_quota(struct ctl *c);
int ctl_reattach(struct ctl *c);
int ctl_show(struct ctl *c);
int ctl_stats(struct ctl *c);
int ctl_top(struct ctl *c);

/* ---- ctl_list.c ---- */
struct ctl_row {
	unsigned int domid, devid;
	int backend;			/* -1: no such column */
	char name[CTL_NAME_MAX], hca[XENVHCA_NAME_LEN];
	const char *be, *fe;		/* states */
	char hint[CTL_HINT_MAX];
};

void ctl_list_head(const char *backend);
/* Prints a device and its hint, or adds an object to a list that is not NULL. */
void ctl_list_row(const struct ctl_row *r, struct json_object *list);

/* ---- ctl_files.c: the same without xenstore ---- */
int ctl_files_list(struct ctl *c);
int ctl_files_detach(struct ctl *c);
struct dom0less;
/* Creates missing devices of the file; an exit code. */
int ctl_files_serve(struct ctl *c, const struct dom0less *all);

/* A whole text file, to be freed; NULL with a message. */
char *ctl_read_file(const char *file);
/* Read the file of create, and check its vhca devices; an exit code. */
int ctl_create_cfg(struct ctl *c, struct ctl_cfg *cfg);

/* Also used by ctl_create(), ctl_dom0less() and ctl_reattach(): the steps of an attach. */
#define CTL_ATTACH_WAIT 30	/* seconds */
int ctl_attach_spec(struct ctl *c, unsigned int domid, const char *spec,
		    struct ctl_dev *d);
/* conf->backend is a domain, "": domain 0; old: as ctl_dev_create(). */
int ctl_attach_conf(struct ctl *c, unsigned int domid, struct ctl_conf *conf,
		    const struct ctl_dev *old, struct ctl_dev *d);
int ctl_attach_wait(struct ctl *c, const struct ctl_dev *d, int seconds);

#endif
