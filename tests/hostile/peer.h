/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What both hostile programs need: xenstore with waiting, three rings and
 * three event channels. Test programs: they print what they do, and give up
 * with a message when the machine, not the victim, is at fault.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <xenevtchn.h>
#include <xengnttab.h>
#include <xenstore.h>
#include <xen/io/xenbus.h>

#define xen_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define xen_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define xen_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
#include <xen/io/vhcaif.h>

#define PATH 256
#define PAGE ((size_t)XENVHCA_PAGE_SIZE)
#define RING_PAGES (1u << XENVHCA_MAX_RING_ORDER)

enum port { CMD, EVT, KICK, PORTS };

/* Ends the program with status 2. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* A line on stdout. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* As say(), and the program will end with status 1. */
void bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern int nr_bad;

void store_open(void);
extern struct xs_handle *xs;
/* "" if absent; the text lives until the next call but three. */
const char *store_get(const char *dir, const char *node);
void store_put(const char *dir, const char *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void store_rm(const char *dir, const char *node);
enum xenbus_state store_state(const char *dir);
/* Polls; false after ms milliseconds. */
bool store_wait(const char *dir, enum xenbus_state want, unsigned int ms);
void pause_ms(unsigned int ms);

uint32_t rnd(void);

/* Pending ports are read, so that they do not block. Never sleeps. */
void port_wait(xenevtchn_handle *h, int ms);
void port_clear(xenevtchn_handle *h);

#endif
