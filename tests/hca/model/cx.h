/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A model of a ConnectX-4 HCA (mlx5 driver interface, a port of InfiniBand or
 * Ethernet), of a ConnectX-3 (mlx4 driver interface, InfiniBand) and of an InfiniHost
 * III Lx (mthca driver interface, InfiniBand): what a machine emulator, a test or a
 * fuzzer needs to run one. The model knows
 * nothing of QEMU: it is driven by register accesses, cx_hub_run() and
 * cx_timer(), and acts through struct cx_host.
 *
 * One thread at a time per hub (under QEMU: the big lock). No call blocks.
 */
#ifndef CX_H
#define CX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CX_BAR_SIZE	(16u << 20)	/* bytes by default; UAR page n is at n * 4096 */
#define CX_BAR_MB_MOST	256u
#define CX_UAR_FIRST	256u		/* the first index that ALLOC_UAR gives */
#define CX_UAR_END	(CX_BAR_SIZE / 4096u)
#define CX_VECTORS	64u		/* MSI-X */
/*
 * A ConnectX-3 and an InfiniHost have two BARs: of 1 MiB, and of doorbell pages. Accesses to the
 * second have these offsets.
 */
#define CX_BAR2		(1ULL << 32)
#define CX_BAR2_LOG_MB	3u
#define CX3_BAR0_SIZE	(1u << 20)
#define CX3_MSIX_TABLE	0x7c000u	/* in BAR 0; not the model's */
#define CX3_MSIX_PBA	0x7d000u

struct cx_dev;
struct cx_hub;

enum cx_log_level { CX_ERR, CX_WARN, CX_INFO, CX_DEBUG };

/*
 * What the model needs of its surroundings; opaque is passed back. None of
 * these may call the model, not even for another device of the hub.
 */
struct cx_host {
	/* Bus addresses of the device, through its IOMMU. 0 or -EFAULT. */
	int (*dma_read)(void *opaque, uint64_t addr, void *buf, size_t len);
	int (*dma_write)(void *opaque, uint64_t addr, const void *buf,
			 size_t len);
	/* Sends an MSI-X message, vector < CX_VECTORS. */
	void (*irq)(void *opaque, unsigned int vector);
	/* Nanoseconds of the guest's time. */
	uint64_t (*now)(void *opaque);
	/* One shot: call cx_timer() at that time; 0 forgets it. */
	void (*timer)(void *opaque, uint64_t deadline);
	/* Call cx_hub_run() soon, from a context without a caller to block. */
	void (*kick)(void *opaque);
	void (*log)(void *opaque, enum cx_log_level level, const char *text);
	/*
	 * The cable to another process, or NULL. Takes all len bytes or none
	 * (-EAGAIN; then cx_link_ready() follows when there is room).
	 */
	int (*link_tx)(void *opaque, const void *data, size_t len);
};

struct cx_config {
	uint64_t guid;		/* node and port GUID; distinct on a wire */
	uint16_t lid;		/* not 0: the port starts ACTIVE, no SM needed */
	bool cx3;		/* a ConnectX-3 (mlx4): of what follows, the wire's alone */
	bool infinihost;	/* an InfiniHost III Lx (MT25204, mthca): likewise */
	bool eth;		/* an Ethernet port, with RoCE; lid is 0 */
	bool cqe128;		/* announce 128-byte CQEs (cqe_64B is always) */
	bool tag_matching;	/* as a ConnectX-5 has it */
	bool umr_lists;		/* the kernel may fill page lists by UMR */
	bool odp;		/* announce on-demand paging, on no transport */
	bool cx6dx;		/* announce what a ConnectX-6 Dx does; eth alone */
	bool uar_any;		/* a queue is rung from any UAR page */
	bool cqe64;		/* of a ConnectX-3: entries of 64 octets (ABI 4) */
	bool blueflame;		/* ... and doorbells that are copies of WQEs */
	uint32_t doorbell_bytes;	/* moved within a doorbell; 0: 128 KiB */
	uint32_t wire_loss;	/* see cx_wire_loss() */
	uint32_t wire_seed;
	uint32_t bar_mb;	/* a power of two, 2..CX_BAR_MB_MOST; 0: CX_BAR_SIZE */
};

static inline uint32_t cx_bar_size(const struct cx_config *config)
{
	return config->bar_mb ? config->bar_mb << 20 : CX_BAR_SIZE;
}

/* What tests ask the model. All count since cx_new(). */
struct cx_stats {
	uint64_t commands, cmd_failed, cmd_unknown;
	uint64_t doorbells_sq, doorbells_cq, doorbells_eq;
	uint64_t doorbells_refused;	/* object of another UAR page, or none */
	uint64_t wqes, cqes, eqes, irqs;
	uint64_t frames_tx, frames_rx, frames_dropped, retries;
	uint64_t frames_lost;		/* by the wire, on their way here */
	uint64_t dma_errors;
};

/**
 * cx_hub_new() - one simulated wire, to which any number of devices connect
 * Return: NULL without memory.
 */
struct cx_hub *cx_hub_new(void);
/* All its devices must be gone. */
void cx_hub_free(struct cx_hub *hub);

/**
 * cx_new() - a device after power-on
 * @hub: its wire
 * @host: must live as long as the device
 *
 * Return: NULL without memory.
 */
struct cx_dev *cx_new(struct cx_hub *hub, const struct cx_config *config,
		      const struct cx_host *host, void *opaque);
void cx_free(struct cx_dev *d);

/* PCI reset or FLR: everything is forgotten but the configuration. */
void cx_reset(struct cx_dev *d);

/**
 * cx_mmio_accepts() - whether the card takes an access of that kind
 * @size: octets, a power of two
 *
 * Single octets are read too: the driver's health poll does it, and a refusal is
 * fatal where the CPU reports one (Arm).
 */
bool cx_mmio_accepts(unsigned int size, bool write);

/**
 * cx_mmio_read(), cx_mmio_write() - an access to BAR 0
 * @offset: bytes; @size: what cx_mmio_accepts() takes; naturally aligned. The
 *          value is as a little endian CPU sees it (registers are big endian
 *          inside).
 *
 * A write may move a bounded amount of data before it returns; the rest comes
 * by cx_hub_run().
 */
uint64_t cx_mmio_read(struct cx_dev *d, uint64_t offset, unsigned int size);
void cx_mmio_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		   unsigned int size);

/**
 * cx_hub_run() - moves data
 * @budget: about how many bytes may be moved
 *
 * Return: true if work is left (then kick() has been asked for too).
 */
bool cx_hub_run(struct cx_hub *hub, size_t budget);

/* The deadline set by host->timer() has come. */
void cx_timer(struct cx_dev *d);

/* ---- the cable to another process ---- */
/* Bytes from the peer, in any portions. Return: -EPROTO ends the link. */
int cx_link_rx(struct cx_dev *d, const void *data, size_t len);
void cx_link_ready(struct cx_dev *d);
/* The peer came or went. Without a hub neighbour nor peer the port is down. */
void cx_link_state(struct cx_dev *d, bool connected);

/* ---- for tests and operators (QMP) ---- */
#define CX_LOSS_MOST	300u
/*
 * The wire to the device, from now on: of 1000 frames it loses so many, as
 * many are overtaken by others, and as many come twice; 0: a perfect one.
 */
void cx_wire_loss(struct cx_dev *d, uint32_t loss);
/* Pulls or plugs the cable: port down and up, with the async events. */
void cx_cable(struct cx_dev *d, bool plugged);
bool cx_cable_get(const struct cx_dev *d);
const struct cx_stats *cx_stats(const struct cx_dev *d);
/* Physical port state as in PortInfo: 1 down, 2 init, 3 armed, 4 active. */
unsigned int cx_port_state(const struct cx_dev *d);
/* Number of pages of host memory the device may still touch. */
uint64_t cx_pages_held(const struct cx_dev *d);
/*
 * Whether any MKEY or queue of the device covers that bus address; the keys
 * that a kernel makes for all of memory do not count.
 */
bool cx_may_touch(const struct cx_dev *d, uint64_t addr);

#endif
