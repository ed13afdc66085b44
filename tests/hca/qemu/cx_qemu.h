/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * What the two halves of the PCI devices "connectx4" and "connectx3" share: their
 * state, how the model is entered, and what cx_cable.c does for cx_qemu.c.
 */
#ifndef CX_QEMU_H
#define CX_QEMU_H

#include "qapi/qapi-types-common.h"
#include "chardev/char-fe.h"
#include "hw/pci/pci.h"

#include "cx.h"
#include "cx_compat.h"

#define TYPE_CONNECTX4 "connectx4"
#define TYPE_CONNECTX3 "connectx3"	/* a ConnectX-4 but for BARs and config.cx3 */
#define TYPE_MT25204 "mt25204"		/* likewise, and config.infinihost */
OBJECT_DECLARE_SIMPLE_TYPE(Connectx4, CONNECTX4)

/* Devices with the same "wire" share a hub; the last one frees it. */
typedef struct Cx4Wire {
	QLIST_ENTRY(Cx4Wire) next;
	QLIST_HEAD(, Connectx4) devices;
	char *name;
	struct cx_hub *hub;
	bool busy;		/* the model runs */
	bool notifying;
} Cx4Wire;

struct Connectx4 {
	PCIDevice parent_obj;
	QLIST_ENTRY(Connectx4) on_wire;
	MemoryRegion bar;
	MemoryRegion bar2;	/* of a ConnectX-3 or an InfiniHost */
	CharBackend chr;
	QEMUTimer *timer;
	QEMUBH *bh;
	Cx4Wire *wire;
	struct cx_dev *cx;
	uint64_t irqs;		/* vectors to be sent when the model returns */
	bool reset_due, timer_due, link_due;
	bool link_up;
	GByteArray *tx;		/* of the cable; sent up to tx_done */
	size_t tx_done;
	guint tx_watch;
	bool tx_refused;
	int64_t log_second;
	unsigned int log_lines;
	/* properties */
	struct cx_config config;
	char *wire_name, *port, *profile;
	OnOffAuto umr_lists;
	uint8_t log_level;
	bool uar_check;
	bool plugged;
};

/* ---- cx_qemu.c ---- */
/* False: the model runs already, further up this stack. */
bool cx4_enter(Connectx4 *s);
/* Sends the interrupts that the model raised. */
void cx4_leave(Connectx4 *s);

/* ---- cx_cable.c ---- */
/* The model's: all len bytes or none, as struct cx_host has it. */
int cx4_link_tx(void *opaque, const void *data, size_t len);
/* The character device's. */
int cx4_can_receive(void *opaque);
void cx4_receive(void *opaque, const uint8_t *buf, int size);
void cx4_chr_event(void *opaque, QEMUChrEvent event);

#endif
