/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Octets that a slot carries in its body and, what has no room there, in its udata: in
 * commands of the connection manager and management datagrams. Plain C, in the module
 * and in the daemon.
 */
#ifndef VHCA_SLOT_H
#define VHCA_SLOT_H

#ifdef __KERNEL__
#include <linux/string.h>
#include <linux/types.h>
#else
#include <stdint.h>
#include <string.h>
#endif

/* Of @len octets, those that are udata. @room: of the body. */
static inline uint16_t vhca_slot_more(uint16_t len, uint16_t room)
{
	return len > room ? len - room : 0;
}

/* The caller has checked that the slot has room. Return: octets of udata. */
static inline uint16_t vhca_slot_put(uint8_t *body, uint16_t room, uint8_t *udata,
				     const uint8_t *from, uint16_t len)
{
	uint16_t more = vhca_slot_more(len, room);

	memcpy(body, from, len - more);
	memcpy(udata, from + len - more, more);
	return more;
}

/* The caller has checked that the slot has as many octets. */
static inline void vhca_slot_take(uint8_t *to, uint16_t len, const uint8_t *body,
				  uint16_t room, const uint8_t *udata)
{
	uint16_t more = vhca_slot_more(len, room);

	memcpy(to, body, len - more);
	memcpy(to + len - more, udata, more);
}

#endif
