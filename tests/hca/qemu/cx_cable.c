// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * The cable of a "connectx4": the character device that carries frames to
 * another process, with what waits until it takes more. The other end is not
 * trusted: one that breaks the protocol is disconnected.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"

#include "cx_qemu.h"

#define CX4_CABLE_MAX	(4 * MiB)	/* bytes waiting for the cable */

static gboolean cx4_tx_ready(void *unused, GIOCondition cond, void *opaque);

/* Writes what waits, and asks to be called again if it is too much. */
static void cx4_tx_flush(Connectx4 *s)
{
	int n;

	while (s->tx_done < s->tx->len) {
		n = qemu_chr_fe_write(&s->chr, s->tx->data + s->tx_done,
				      s->tx->len - s->tx_done);
		if (n <= 0)
			break;
		s->tx_done += n;
	}
	if (s->tx_done == s->tx->len) {
		g_byte_array_set_size(s->tx, 0);
		s->tx_done = 0;
	} else if (!s->tx_watch) {
		s->tx_watch = qemu_chr_fe_add_watch(&s->chr, G_IO_OUT |
						    G_IO_HUP, cx4_tx_ready, s);
	}
}

static gboolean cx4_tx_ready(void *unused, GIOCondition cond, void *opaque)
{
	Connectx4 *s = opaque;

	s->tx_watch = 0;
	cx4_tx_flush(s);
	if (s->tx_refused && s->tx->len - s->tx_done < CX4_CABLE_MAX / 2 &&
	    cx4_enter(s)) {
		s->tx_refused = false;
		cx_link_ready(s->cx);
		cx4_leave(s);
	}
	return G_SOURCE_REMOVE;
}

int cx4_link_tx(void *opaque, const void *data, size_t len)
{
	Connectx4 *s = opaque;

	if (s->tx->len - s->tx_done + len > CX4_CABLE_MAX) {
		s->tx_refused = true;
		return -EAGAIN;
	}
	if (s->tx_done > CX4_CABLE_MAX) {
		g_byte_array_remove_range(s->tx, 0, s->tx_done);
		s->tx_done = 0;
	}
	g_byte_array_append(s->tx, data, len);
	if (!s->tx_watch)
		cx4_tx_flush(s);
	return 0;
}

int cx4_can_receive(void *opaque)
{
	Connectx4 *s = opaque;

	return s->wire->busy ? 0 : 64 * KiB;
}

void cx4_receive(void *opaque, const uint8_t *buf, int size)
{
	Connectx4 *s = opaque;
	int err;

	if (!cx4_enter(s))
		return;
	err = cx_link_rx(s->cx, buf, size);
	cx4_leave(s);
	if (err) {
		warn_report("connectx4: the cable's other end breaks the "
			    "protocol, disconnected");
		qemu_chr_fe_disconnect(&s->chr);
	}
}

void cx4_chr_event(void *opaque, QEMUChrEvent event)
{
	Connectx4 *s = opaque;

	if (event != CHR_EVENT_OPENED && event != CHR_EVENT_CLOSED)
		return;
	if (s->tx_watch)
		g_source_remove(s->tx_watch);
	s->tx_watch = 0;
	s->tx_refused = false;
	s->tx_done = 0;
	g_byte_array_set_size(s->tx, 0);
	s->link_up = event == CHR_EVENT_OPENED;
	/* A write of the model's may be what finds the other end gone. */
	if (!cx4_enter(s)) {
		s->link_due = true;
		qemu_bh_schedule(s->bh);
		return;
	}
	cx_link_state(s->cx, s->link_up);
	cx4_leave(s);
}
