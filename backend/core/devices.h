/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which devices this domain serves, and what the supervisor may know and say of
 * each: what its toolstack configured, not what its guest writes. With a
 * toolstack that is xenstore (carrier/devices_xenstore.c), without one files
 * (carrier/devices_files.c). A device is a guest's domain id and a number among
 * that guest's devices. One thread calls this.
 */
#ifndef BE_DEVICES_H
#define BE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xen/io/vhcaif.h>
#include <xen/io/xenbus.h>
#include "number.h"

#define BE_NO_VIF	UINT32_MAX

struct be_devices;

/* A device's part of the resources that all devices share (supervise/share.c). */
struct be_share {
	char hca[XENVHCA_NAME_LEN];
	uint32_t pinned_mb;	/* entries of the maptrack table, as MiB */
	uint32_t ucontexts;	/* each with XENVHCA_UCONTEXT_UARS of the HCA */
};

/* What a device has on the HCA's network. */
struct be_network {
	char hca[XENVHCA_NAME_LEN];
	uint32_t port;
	char ip[256], pkeys[256];	/* as in the nodes; "": absent */
	uint32_t vif;			/* of the guest, has the addresses, too; BE_NO_VIF */
	char mac[VL_MAC];		/* "": that vif is not there (yet) */
};

/* Not 0: scan() ends with it. */
typedef int be_device_fn(unsigned int domid, unsigned int devid, void *arg);
typedef void be_guest_fn(unsigned int domid, void *arg);

struct be_devices_ops {
	/* From now on fd is readable after a change. 0 or -errno. */
	int (*watch)(struct be_devices *s);
	int (*fd)(struct be_devices *s);
	/* Take what fd tells. below() hears of each device of which only its
	 * configuration or state changed, vifs() of each guest of which a vif came or
	 * went. 0; 1: something else changed, which scan() finds; -errno: the devices
	 * are lost. */
	int (*changed)(struct be_devices *s, be_device_fn *below, be_guest_fn *vifs,
		       void *arg);
	/* All devices that there are. 0 or -errno. */
	int (*scan)(struct be_devices *s, be_device_fn *seen, void *arg);
	/* Does the guest live, as far as this domain can know? */
	bool (*alive)(struct be_devices *s, unsigned int domid);
	/* The value of a node as text. 0; -ENOENT: absent; another -errno, then text is
	 * undefined. */
	int (*read)(struct be_devices *s, unsigned int domid, unsigned int devid,
		    const char *node, char *text, size_t size);
	/* The MAC address of a vif; "": there is none (yet). NULL: this domain has no vifs. */
	void (*vif_mac)(struct be_devices *s, unsigned int domid, unsigned int vif,
			char mac[VL_MAC]);
	/* text NULL: remove it. 0; -errno, -ENOENT if the device is gone: nothing is made
	 * anew. */
	int (*write)(struct be_devices *s, unsigned int domid, unsigned int devid,
		     const char *node, const char *text);
	/* Our side of a guest that is dead. 0 or -errno: try again. */
	int (*remove)(struct be_devices *s, unsigned int domid,
		      unsigned int devid);
	void (*free)(struct be_devices *s);
};

struct be_devices {
	const struct be_devices_ops *ops;
	const char *name;		/* of all of them, for messages */
};

/* The state of our side; XenbusStateUnknown: the device is gone; -errno: unknown. */
int be_devices_state(struct be_devices *s, unsigned int domid, unsigned int devid);
/* Enter Closed in the place of a worker that is dead. 0 or -errno. */
int be_devices_close(struct be_devices *s, unsigned int domid, unsigned int devid);
/* Does the toolstack want the device served? */
bool be_devices_online(struct be_devices *s, unsigned int domid, unsigned int devid);
/* Reads a device's part of the shared resources, as its worker will read it. */
void be_devices_share(struct be_devices *s, unsigned int domid, unsigned int devid,
		      struct be_share *share);
/* Reads a device's addresses on the network; no ip: it has none. */
void be_devices_network(struct be_devices *s, unsigned int domid, unsigned int devid,
			struct be_network *net);

/* Opens them, for the supervisor. NULL, with the reason logged. */
typedef struct be_devices *be_devices_open_fn(void);

#endif
