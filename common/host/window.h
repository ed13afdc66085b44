/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell pages that a guest has for life (vhca-keys.h, XENVHCA_NODE_DOORBELL_STATIC), as the
 * device tree's tool writes them: "0x8000140 0x8000140 0x760".
 */
#ifndef HOST_WINDOW_H
#define HOST_WINDOW_H

#include <stdint.h>

struct host_window {
	uint64_t mfn, gfn, nr;	/* pages; nr 0: the guest has none */
};

/**
 * host_window_parse() - machine frame, guest frame, number of pages
 * @text: three hexadecimal numbers with 0x, blanks between them
 * @w: untouched on failure
 *
 * Return: 0; -EINVAL: malformed, a number is 0, or a range ends behind the last
 * address.
 */
int host_window_parse(const char *text, struct host_window *w);

#endif
