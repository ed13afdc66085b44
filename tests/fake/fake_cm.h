/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The connection manager of the fake kernel: files, ids, multicast groups and events
 * behind /dev/infiniband/rdma_cm, with the lengths and the ownership checked as the
 * kernel checks them. Commands may be those of several threads; what tests ask and tell
 * is one thread's.
 */
#ifndef FAKE_CM_H
#define FAKE_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

unsigned int fake_cm_files(void);	/* open now */
unsigned int fake_cm_ids(void);		/* ids and groups that are alive */
unsigned int fake_cm_listening(void);	/* ids */
unsigned int fake_cm_commands(void);	/* so far */
bool fake_cm_alive(uint32_t id);	/* an id or a group */
/* The last command of a kind, as long as @len; false: there was none. */
bool fake_cm_last(uint32_t cmd, void *in, size_t len);
/* Backlog of the last LISTEN. */
uint32_t fake_cm_backlog(void);
/* From now on ids are bound to another device, or to another port of ours. */
void fake_cm_foreign(bool device, bool port);
/* The P_Key of what ids are bound to. */
void fake_cm_partition(uint16_t pkey);
/* Where the kernel finds the P_Keys of a connection: INIT_QP_ATTR says so. */
void fake_cm_pkeys(uint16_t index, uint16_t alt);
/* The Q_Key of IPoIB's broadcast group; 0: its interface joins it now. */
void fake_cm_broadcast(uint32_t qkey);
/* The n-th command from now on fails. */
void fake_cm_fail(unsigned int n, int err);
/* Commands wait until this is taken back; for another thread. */
void fake_cm_block(bool block);
void fake_cm_block_only(uint32_t cmd);	/* those, until the same is taken back */
/* An event of an id, as the kernel reports it. */
void fake_cm_event(uint32_t id, uint32_t event);
/* The same with a port number where datagrams have their address vector. */
void fake_cm_event_port(uint32_t id, uint32_t event, uint8_t port);
void fake_cm_bind(uint32_t id);		/* by what was resolved */
/* Last octet of the last option that was set. */
uint8_t fake_cm_option(void);
/* A request to connect waits at a listener. The id that the kernel made for it. */
uint32_t fake_cm_request(uint32_t listener);

/* ---- for fake_uverbs.c ---- */
bool fake_cm_has(int fd);
int fake_cm_open(void);
int fake_cm_close(int fd);
ssize_t fake_cm_write(int fd, const void *buf, size_t len);

#endif
