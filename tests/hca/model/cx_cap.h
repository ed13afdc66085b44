/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lists of capabilities: fields of a capability structure, and what they hold.
 */
#ifndef CX_CAP_H
#define CX_CAP_H

#include <stdbool.h>

#include "cx_prm.h"

/* enum mlx5_cap_type */
enum {
	CAP_GENERAL = 0, CAP_ETHERNET = 1, CAP_ODP = 2, CAP_ATOMIC = 3,
	CAP_ROCE = 4, CAP_FLOW_TABLE = 7, CAP_QOS = 0xc, CAP_DEV_MEM = 0xf,
	CAP_DEV_EVENT = 0x14, CAP_GENERAL_2 = 0x20, CAP_PORT_SELECTION = 0x25,
};

struct cap {
	uint16_t off, width;
	uint32_t value;
};

#define CAP_OF(type, field, value) \
	{ CX_OFF(type, field), CX_WIDTH(type, field), value }
#define CAP(field, value) CAP_OF(cmd_hca_cap, field, value)
#define ETH(field, value) \
	CAP_OF(per_protocol_networking_offload_caps, field, value)
#define ROCE(field, value) CAP_OF(roce_cap, field, value)
#define FT(field, value) CAP_OF(flow_table_nic_cap, \
				flow_table_properties_nic_receive.field, value)

#define FILL(caps, list) \
	cx_caps_fill(caps, list, sizeof(list) / sizeof((list)[0]))
static inline void cx_caps_fill(uint8_t *caps, const struct cap *list, size_t nr)
{
	for (; nr--; list++)
		cx_bits_set(caps, list->off, list->width, list->value);
}

/*
 * Adds what a ConnectX-6 Dx announces to what the model does.
 * Return: whether it has capabilities of that type.
 */
bool cx_caps_cx6dx(uint16_t type, uint8_t *caps);

#endif
