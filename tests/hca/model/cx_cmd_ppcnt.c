// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The counters of an Ethernet port (register PPCNT), in the groups that a driver
 * asks for without the capability mask of port registers: ethtool -S, and what it
 * shows of MACs, sizes and priorities. RoCE is counted with the rest, but in the
 * histogram of sizes. What goes wrong on a real wire does not here: such counters
 * stay 0.
 */
#include <string.h>

#include "cx_cmd.h"

/* MLX5_*_GROUP of linux/mlx5/device.h */
enum group { GROUP_802_3 = 0, GROUP_2863 = 1, GROUP_2819 = 2,
	     GROUP_PRIORITY = 0x10, GROUP_PHYSICAL = 0x12 };

#define PORT	1u

/* Counts of one direction: Ethernet and RoCE. */
struct sums {
	struct cx_traffic all, unicast, multicast, broadcast;
};

static void add(struct cx_traffic *to, const struct cx_traffic *t)
{
	to->frames += t->frames;
	to->octets += t->octets;
}

static struct sums sum(const struct cx_side *side, struct cx_traffic unicast,
		       struct cx_traffic multicast)
{
	struct sums s = { .unicast = unicast, .multicast = multicast,
			  .broadcast = side->cast[CX_BROADCAST] };

	add(&s.unicast, &side->cast[CX_UNICAST]);
	add(&s.multicast, &side->cast[CX_MULTICAST]);
	add(&s.all, &s.unicast);
	add(&s.all, &s.multicast);
	add(&s.all, &s.broadcast);
	return s;
}

static struct sums sent(const struct cx_dev *d)
{
	const struct cx_port *p = &d->port;

	return sum(&d->nic.tx,
		   (struct cx_traffic){ p->xmit_pkts, p->xmit_data },
		   (struct cx_traffic){ p->mc_xmit_pkts, p->mc_xmit_data });
}

static struct sums received(const struct cx_dev *d)
{
	const struct cx_port *p = &d->port;

	return sum(&d->nic.rx,
		   (struct cx_traffic){ p->rcv_pkts, p->rcv_data },
		   (struct cx_traffic){ p->mc_rcv_pkts, p->mc_rcv_data });
}

/* A counter of 64 bits: of a layout, by its name without _high. */
#define TELL(layout, field, value) \
	cx_be64_set(group + CX_OFF(layout, field##_high) / 8, value)

static void tell_802_3(const struct cx_dev *d, uint8_t *group)
{
	const struct sums tx = sent(d), rx = received(d);

#define TELL_802_3(field, value) \
	TELL(eth_802_3_cntrs_grp_data_layout, a_##field, value)
	TELL_802_3(frames_transmitted_ok, tx.all.frames);
	TELL_802_3(frames_received_ok, rx.all.frames);
	TELL_802_3(octets_transmitted_ok, tx.all.octets);
	TELL_802_3(octets_received_ok, rx.all.octets);
	TELL_802_3(multicast_frames_xmitted_ok, tx.multicast.frames);
	TELL_802_3(multicast_frames_received_ok, rx.multicast.frames);
	TELL_802_3(broadcast_frames_xmitted_ok, tx.broadcast.frames);
	TELL_802_3(broadcast_frames_received_ok, rx.broadcast.frames);
}

static void tell_2863(const struct cx_dev *d, uint8_t *group)
{
	const struct sums tx = sent(d), rx = received(d);

#define TELL_2863(field, value) \
	TELL(eth_2863_cntrs_grp_data_layout, if_##field, value)
	TELL_2863(in_octets, rx.all.octets);
	TELL_2863(in_ucast_pkts, rx.unicast.frames);
	TELL_2863(in_multicast_pkts, rx.multicast.frames);
	TELL_2863(in_broadcast_pkts, rx.broadcast.frames);
	TELL_2863(out_octets, tx.all.octets);
	TELL_2863(out_ucast_pkts, tx.unicast.frames);
	TELL_2863(out_multicast_pkts, tx.multicast.frames);
	TELL_2863(out_broadcast_pkts, tx.broadcast.frames);
	TELL_2863(out_discards, d->port.xmit_discards);
}

static void tell_2819(const struct cx_dev *d, uint8_t *group)
{
	const struct sums rx = received(d);
	unsigned int i;

#define OFF_2819(field) \
	(CX_OFF(eth_2819_cntrs_grp_data_layout, ether_stats_##field##_high) / 8)
#define TELL_2819(field, value) cx_be64_set(group + OFF_2819(field), value)
	TELL_2819(octets, rx.all.octets);
	TELL_2819(pkts, rx.all.frames);
	TELL_2819(broadcast_pkts, rx.broadcast.frames);
	TELL_2819(multicast_pkts, rx.multicast.frames);
	for (i = 0; i < CX_SIZES; i++)
		cx_be64_set(group + OFF_2819(pkts64octets) + 8 * i,
			    d->nic.rx.sizes[i]);
}

static void tell_priority(const struct cx_dev *d, uint8_t *group, uint32_t prio)
{
#define TELL_PRIORITY(field, value) \
	TELL(eth_per_prio_grp_data_layout, field, value)
	TELL_PRIORITY(rx_octets, d->nic.rx.prio[prio].octets);
	TELL_PRIORITY(rx_frames, d->nic.rx.prio[prio].frames);
	TELL_PRIORITY(tx_octets, d->nic.tx.prio[prio].octets);
	TELL_PRIORITY(tx_frames, d->nic.tx.prio[prio].frames);
}

static void tell_physical(const struct cx_dev *d, uint8_t *group)
{
	uint64_t ms = (d->host->now(d->opaque) - d->born) / 1000000;

	TELL(phys_layer_cntrs, time_since_last_clear, ms);
	CX_SET(phys_layer_cntrs, group, link_down_events, d->port.link_downed);
}

enum cx_status cx_read_ppcnt(struct cx_dev *d, uint8_t *data)
{
	uint8_t *group = CX_ADDR(ppcnt_reg, data, counter_set);

	if (!d->config.eth || CX_GET(ppcnt_reg, data, local_port) != PORT)
		return CX_BAD_PARAM;
	memset(group, 0, CX_WIDTH(ppcnt_reg, counter_set) / 8);
	switch (CX_GET(ppcnt_reg, data, grp)) {
	case GROUP_802_3:
		tell_802_3(d, group);
		return CX_OK;
	case GROUP_2863:
		tell_2863(d, group);
		return CX_OK;
	case GROUP_2819:
		tell_2819(d, group);
		return CX_OK;
	case GROUP_PRIORITY:
		tell_priority(d, group, CX_GET(ppcnt_reg, data, prio_tc));
		return CX_OK;
	case GROUP_PHYSICAL:
		tell_physical(d, group);
		return CX_OK;
	default:
		return CX_BAD_PARAM;
	}
}
