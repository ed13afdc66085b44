// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * The PCI devices "connectx4", "connectx3" and "mt25204" of QEMU around the models:
 * configuration space, the BARs, DMA, MSI-X, time, properties. No file but
 * this and cx_cable.c knows QEMU, none but cx_compat.h its versions. All of it runs under the big lock. It does
 * not trust the guest: the device reaches RAM only, and an MSI-X message that
 * the guest aims at the device itself does not find it in the middle of
 * something.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "migration/vmstate.h"

#include "cx_qemu.h"

#define CX4_VENDOR	0x15b3
#define CX4_DEVICE	0x1013
#define CX6DX_DEVICE	0x101d
#define CX3_DEVICE	0x1003
#define MT25204_DEVICE	0x6274
#define CX4_CLASS	0x0207		/* InfiniBand controller */
#define CX4_PM_CAP	0x40
#define CX4_EXP_CAP	0x60
#define CX4_SERIAL_CAP	0x100
#define CX4_SLICE	(512 * KiB)	/* bytes moved before others may run */
#define CX4_LOG_LINES	1000		/* a second */

static QLIST_HEAD(, Cx4Wire) cx4_wires = QLIST_HEAD_INITIALIZER(cx4_wires);
static unsigned int cx4_devices;	/* made so far: default GUIDs */

/* ---- entering and leaving the model ---- */

bool cx4_enter(Connectx4 *s)
{
	if (s->wire->busy)
		return false;
	s->wire->busy = true;
	return true;
}

/*
 * Interrupts are sent when the model has returned: the message is a store to
 * where the guest wants it, perhaps to a BAR of ours. One raised by such a
 * store waits for the bottom half, so that no loop of them ends the stack.
 */
void cx4_leave(Connectx4 *s)
{
	Cx4Wire *wire = s->wire;
	uint64_t irqs;
	Connectx4 *d;

	wire->busy = false;
	QLIST_FOREACH(d, &wire->devices, on_wire) {
		if (!d->irqs)
			continue;
		if (wire->notifying) {
			qemu_bh_schedule(d->bh);
			continue;
		}
		wire->notifying = true;
		irqs = d->irqs;
		d->irqs = 0;
		for (; irqs; irqs &= irqs - 1)
			msix_notify(&d->parent_obj, ctz64(irqs));
		wire->notifying = false;
	}
}

/* ---- what the model asks for ---- */

/* RAM only: no transfers to other devices, nor to its own registers. */
static const MemTxAttrs cx4_ram = { .memory = 1 };

static int cx4_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	return pci_dma_rw(opaque, addr, buf, len, DMA_DIRECTION_TO_DEVICE,
			  cx4_ram) == MEMTX_OK ? 0 : -EFAULT;
}

static int cx4_dma_write(void *opaque, uint64_t addr, const void *buf,
			 size_t len)
{
	return pci_dma_rw(opaque, addr, (void *)buf, len,
			  DMA_DIRECTION_FROM_DEVICE, cx4_ram) == MEMTX_OK ?
		0 : -EFAULT;
}

static void cx4_irq(void *opaque, unsigned int vector)
{
	Connectx4 *s = opaque;

	if (vector < CX_VECTORS)
		s->irqs |= 1ULL << vector;
}

static uint64_t cx4_now(void *opaque)
{
	return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void cx4_timer(void *opaque, uint64_t deadline)
{
	Connectx4 *s = opaque;

	if (deadline)
		timer_mod(s->timer, MIN(deadline, INT64_MAX));
	else
		timer_del(s->timer);
}

static void cx4_kick(void *opaque)
{
	Connectx4 *s = opaque;

	qemu_bh_schedule(s->bh);
}

/* A guest may provoke messages: not more than a disk bears. */
static void cx4_log(void *opaque, enum cx_log_level level, const char *text)
{
	Connectx4 *s = opaque;
	int64_t second = qemu_clock_get_ms(QEMU_CLOCK_REALTIME) / 1000;

	if ((int)level > s->log_level)
		return;
	if (second != s->log_second) {
		s->log_second = second;
		s->log_lines = 0;
	}
	if (s->log_lines++ >= CX4_LOG_LINES)
		return;
	if (level == CX_ERR)
		error_report("%s", text);
	else if (level == CX_WARN)
		warn_report("%s", text);
	else
		info_report("%s", text);
}

static const struct cx_host cx4_host = {
	.dma_read = cx4_dma_read,
	.dma_write = cx4_dma_write,
	.irq = cx4_irq,
	.now = cx4_now,
	.timer = cx4_timer,
	.kick = cx4_kick,
	.log = cx4_log,
};

static const struct cx_host cx4_host_cable = {
	.dma_read = cx4_dma_read,
	.dma_write = cx4_dma_write,
	.irq = cx4_irq,
	.now = cx4_now,
	.timer = cx4_timer,
	.kick = cx4_kick,
	.log = cx4_log,
	.link_tx = cx4_link_tx,
};

/* ---- what QEMU calls ---- */

static uint64_t cx4_read(void *opaque, hwaddr addr, unsigned int size)
{
	Connectx4 *s = opaque;
	uint64_t value;

	if (!cx4_enter(s))
		return ~0ULL;
	value = cx_mmio_read(s->cx, addr, size);
	cx4_leave(s);
	return value;
}

static void cx4_write(void *opaque, hwaddr addr, uint64_t value,
		      unsigned int size)
{
	Connectx4 *s = opaque;

	if (!cx4_enter(s))
		return;
	cx_mmio_write(s->cx, addr, value, size);
	cx4_leave(s);
}

static bool cx4_accepts(void *opaque, hwaddr addr, unsigned int size,
			bool is_write, MemTxAttrs attrs)
{
	return cx_mmio_accepts(size, is_write);
}

static const MemoryRegionOps cx4_ops = {
	.read = cx4_read,
	.write = cx4_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 1, .max_access_size = 8,
		   .accepts = cx4_accepts },
	.impl = { .min_access_size = 1, .max_access_size = 8 },
};

static uint64_t cx3_read2(void *opaque, hwaddr addr, unsigned int size)
{
	return cx4_read(opaque, CX_BAR2 + addr, size);
}

static void cx3_write2(void *opaque, hwaddr addr, uint64_t value,
		       unsigned int size)
{
	cx4_write(opaque, CX_BAR2 + addr, value, size);
}

static const MemoryRegionOps cx3_ops2 = {
	.read = cx3_read2,
	.write = cx3_write2,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 1, .max_access_size = 8,
		   .accepts = cx4_accepts },
	.impl = { .min_access_size = 1, .max_access_size = 8 },
};

/* A slice of the work, and what could not be done while the model ran. */
static void cx4_bh(void *opaque)
{
	Connectx4 *s = opaque;

	if (!cx4_enter(s)) {
		qemu_bh_schedule(s->bh);
		return;
	}
	if (s->reset_due) {
		s->reset_due = false;
		cx_reset(s->cx);
	}
	if (s->timer_due) {
		s->timer_due = false;
		cx_timer(s->cx);
	}
	if (s->link_due) {
		s->link_due = false;
		cx_link_state(s->cx, s->link_up);
	}
	if (cx_hub_run(s->wire->hub, CX4_SLICE))
		qemu_bh_schedule(s->bh);
	cx4_leave(s);
}

static void cx4_timer_cb(void *opaque)
{
	Connectx4 *s = opaque;

	if (!cx4_enter(s)) {
		s->timer_due = true;
		qemu_bh_schedule(s->bh);
		return;
	}
	cx_timer(s->cx);
	cx4_leave(s);
}

/* Power-on, bus reset and FLR. */
static void cx4_reset(DeviceState *dev)
{
	Connectx4 *s = CONNECTX4(dev);

	s->irqs = 0;
	msix_reset(&s->parent_obj);
	if (!cx4_enter(s)) {
		s->reset_due = true;
		qemu_bh_schedule(s->bh);
		return;
	}
	cx_reset(s->cx);
	s->irqs = 0;
	cx4_leave(s);
}

static void cx4_write_config(PCIDevice *pci, uint32_t addr, uint32_t value,
			     int len)
{
	pci_default_write_config(pci, addr, value, len);
	pcie_cap_flr_write_config(pci, addr, value, len);
}

static Cx4Wire *cx4_wire_get(const char *name)
{
	Cx4Wire *wire;

	QLIST_FOREACH(wire, &cx4_wires, next) {
		if (!strcmp(wire->name, name))
			return wire;
	}
	wire = g_new0(Cx4Wire, 1);
	wire->hub = cx_hub_new();
	if (!wire->hub) {
		g_free(wire);
		return NULL;
	}
	wire->name = g_strdup(name);
	QLIST_INIT(&wire->devices);
	QLIST_INSERT_HEAD(&cx4_wires, wire, next);
	return wire;
}

static void cx4_wire_put(Cx4Wire *wire)
{
	if (!QLIST_EMPTY(&wire->devices))
		return;
	QLIST_REMOVE(wire, next);
	cx_hub_free(wire->hub);
	g_free(wire->name);
	g_free(wire);
}

/* Registers in one BAR; MSI-X in another. */
static bool cx4_init_bars(Connectx4 *s, Error **errp)
{
	PCIDevice *pci = &s->parent_obj;

	if (msix_init_exclusive_bar(pci, CX_VECTORS, 2, errp))
		return false;
	memory_region_init_io(&s->bar, OBJECT(s), &cx4_ops, s,
			      TYPE_CONNECTX4, cx_bar_size(&s->config));
	pci_register_bar(pci, 0, PCI_BASE_ADDRESS_MEM_TYPE_64 |
			 PCI_BASE_ADDRESS_MEM_PREFETCH, &s->bar);
	return true;
}

/* Registers, with MSI-X among them, and doorbell pages. */
static bool cx3_init_bars(Connectx4 *s, Error **errp)
{
	PCIDevice *pci = &s->parent_obj;

	memory_region_init_io(&s->bar, OBJECT(s), &cx4_ops, s,
			      TYPE_CONNECTX3, CX3_BAR0_SIZE);
	memory_region_init_io(&s->bar2, OBJECT(s), &cx3_ops2, s,
			      TYPE_CONNECTX3 "-uar", MiB << CX_BAR2_LOG_MB);
	pci_register_bar(pci, 0, PCI_BASE_ADDRESS_MEM_TYPE_64, &s->bar);
	pci_register_bar(pci, 2, PCI_BASE_ADDRESS_MEM_TYPE_64 |
			 PCI_BASE_ADDRESS_MEM_PREFETCH, &s->bar2);
	return !msix_init(pci, CX_VECTORS, &s->bar, 0, CX3_MSIX_TABLE, &s->bar,
			  0, CX3_MSIX_PBA, 0, errp);
}

/* A ConnectX-3, and what came before it. */
static bool cx4_two_bars(const Connectx4 *s)
{
	return s->config.cx3 || s->config.infinihost;
}

static void cx4_msix_exit(Connectx4 *s)
{
	PCIDevice *pci = &s->parent_obj;

	if (cx4_two_bars(s))
		msix_uninit(pci, &s->bar, &s->bar);
	else
		msix_uninit_exclusive_bar(pci);
}

static bool cx4_init_pci(Connectx4 *s, Error **errp)
{
	PCIDevice *pci = &s->parent_obj;
	int pos, i;

	if (s->config.eth)
		pci_config_set_class(pci->config, PCI_CLASS_NETWORK_ETHERNET);
	if (s->config.cx6dx)
		pci_config_set_device_id(pci->config, CX6DX_DEVICE);
	pos = pci_add_capability(pci, PCI_CAP_ID_PM, CX4_PM_CAP,
				 PCI_PM_SIZEOF, errp);
	if (pos < 0)
		return false;
	pci_set_word(pci->config + pos + PCI_PM_PMC, PCI_PM_CAP_VER_1_2);
	pci_set_word(pci->config + pos + PCI_PM_CTRL,
		     PCI_PM_CTRL_NO_SOFT_RESET);
	pci_set_word(pci->wmask + pos + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
	if (pci_bus_is_express(pci_get_bus(pci))) {
		pos = pcie_endpoint_cap_init(pci, CX4_EXP_CAP);
		if (pos < 0) {
			error_setg(errp, "no PCI Express capability");
			return false;
		}
		pcie_cap_flr_init(pci);
		pcie_dev_ser_num_init(pci, CX4_SERIAL_CAP, s->config.guid);
	}
	if (cx4_two_bars(s) ? !cx3_init_bars(s, errp) : !cx4_init_bars(s, errp))
		return false;
	for (i = 0; i < CX_VECTORS; i++)
		msix_vector_use(pci, i);
	return true;
}

/* The neighbours on the wire learn of it: events, interrupts. */
static bool cx4_power_on(Connectx4 *s, bool cable)
{
	s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cx4_timer_cb, s);
	s->bh = qemu_bh_new(cx4_bh, s);
	s->tx = g_byte_array_new();
	cx4_enter(s);
	s->cx = cx_new(s->wire->hub, &s->config, cable ?
		       &cx4_host_cable : &cx4_host, s);
	if (s->cx && !s->plugged)
		cx_cable(s->cx, false);
	if (s->cx)
		QLIST_INSERT_HEAD(&s->wire->devices, s, on_wire);
	cx4_leave(s);
	if (s->cx)
		return true;
	timer_free(s->timer);
	qemu_bh_delete(s->bh);
	g_byte_array_free(s->tx, true);
	return false;
}

static void cx4_power_off(Connectx4 *s)
{
	qemu_chr_fe_deinit(&s->chr, false);
	if (s->tx_watch)
		g_source_remove(s->tx_watch);
	QLIST_REMOVE(s, on_wire);
	cx4_enter(s);
	cx_free(s->cx);
	cx4_leave(s);
	timer_free(s->timer);
	qemu_bh_delete(s->bh);
	g_byte_array_free(s->tx, true);
	cx4_wire_put(s->wire);
}

static void cx4_exit(PCIDevice *pci)
{
	Connectx4 *s = CONNECTX4(pci);

	cx4_power_off(s);
	if (pci_is_express(pci))
		pcie_cap_exit(pci);
	cx4_msix_exit(s);
}

/* Properties that the models of a ConnectX-3 and an InfiniHost do not know. */
static bool cx3_takes(Connectx4 *s, Error **errp)
{
	const struct {
		const char *name;
		bool set;
	} other[] = {
		{ "port=eth", s->config.eth },
		{ "profile", s->profile },
		{ "bar-mb", s->config.bar_mb },
		{ "cqe128", s->config.cqe128 },
		{ "tag-matching", s->config.tag_matching },
		{ "odp", s->config.odp },
		{ "umr-lists", s->umr_lists != ON_OFF_AUTO_AUTO },
		{ "cqe64", s->config.infinihost && s->config.cqe64 },
		{ "blueflame", s->config.infinihost && s->config.blueflame },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		if (!other[i].set)
			continue;
		error_setg(errp, "%s has no %s",
			   object_get_typename(OBJECT(s)), other[i].name);
		return false;
	}
	return true;
}

static bool cx4_takes(Connectx4 *s, Error **errp)
{
	if (!s->config.cqe64 && !s->config.blueflame)
		return true;
	error_setg(errp, "connectx4 has no cqe64 or blueflame: they are of connectx3");
	return false;
}

static void cx4_realize(PCIDevice *pci, Error **errp)
{
	Connectx4 *s = CONNECTX4(pci);
	bool cable = qemu_chr_fe_backend_connected(&s->chr);
	uint32_t mb = s->config.bar_mb;

	if (s->port && strcmp(s->port, "ib") && strcmp(s->port, "eth")) {
		error_setg(errp, "connectx4: port is ib or eth");
		return;
	}
	s->config.eth = s->port && !strcmp(s->port, "eth");
	if (cx4_two_bars(s) ? !cx3_takes(s, errp) : !cx4_takes(s, errp))
		return;
	s->config.uar_any = !s->uar_check;
	s->config.umr_lists = s->umr_lists != ON_OFF_AUTO_OFF;
	if (s->config.eth && s->config.lid) {
		error_setg(errp, "connectx4: an Ethernet port has no LID");
		return;
	}
	if (s->profile && strcmp(s->profile, "cx4") &&
	    strcmp(s->profile, "cx6dx")) {
		error_setg(errp, "connectx4: profile is cx4 or cx6dx");
		return;
	}
	s->config.cx6dx = s->profile && !strcmp(s->profile, "cx6dx");
	if (s->config.cx6dx && !s->config.eth) {
		error_setg(errp, "connectx4: a ConnectX-6 Dx has port=eth");
		return;
	}
	if (mb & (mb - 1) || mb == 1 || mb > CX_BAR_MB_MOST) {
		error_setg(errp, "connectx4: bar-mb is a power of two, 2 to %u",
			   CX_BAR_MB_MOST);
		return;
	}
	/* A number of Mellanox', so that no two of a process are equal. */
	cx4_devices++;
	if (!s->config.guid)
		s->config.guid = 0x0002c90300100000ULL + cx4_devices * 16;
	if (!cx4_init_pci(s, errp))
		return;
	s->wire = cx4_wire_get(s->wire_name ? s->wire_name : "wire0");
	if (!s->wire || !cx4_power_on(s, cable)) {
		if (s->wire)
			cx4_wire_put(s->wire);
		cx4_msix_exit(s);
		error_setg(errp, "connectx4: no memory, or the GUID is used");
		return;
	}
	if (cable)
		qemu_chr_fe_set_handlers(&s->chr, cx4_can_receive,
					 cx4_receive, cx4_chr_event, NULL, s,
					 NULL, true);
}

/* ---- properties ---- */

static bool cx4_get_cable(Object *obj, Error **errp)
{
	Connectx4 *s = CONNECTX4(obj);

	return s->cx ? cx_cable_get(s->cx) : s->plugged;
}

static void cx4_set_cable(Object *obj, bool value, Error **errp)
{
	Connectx4 *s = CONNECTX4(obj);

	s->plugged = value;
	if (s->cx && cx4_enter(s)) {
		cx_cable(s->cx, value);
		cx4_leave(s);
	}
}

static void cx4_get_loss(Object *obj, Visitor *v, const char *name,
			 void *opaque, Error **errp)
{
	visit_type_uint32(v, name, &CONNECTX4(obj)->config.wire_loss, errp);
}

static void cx4_set_loss(Object *obj, Visitor *v, const char *name,
			 void *opaque, Error **errp)
{
	Connectx4 *s = CONNECTX4(obj);
	uint32_t loss;

	if (!visit_type_uint32(v, name, &loss, errp))
		return;
	if (loss > CX_LOSS_MOST) {
		error_setg(errp, "connectx4: wire-loss is at most %u",
			   CX_LOSS_MOST);
		return;
	}
	s->config.wire_loss = loss;
	if (s->cx)
		cx_wire_loss(s->cx, loss);
}

static void cx4_get_stat(Object *obj, Visitor *v, const char *name,
			 void *opaque, Error **errp)
{
	Connectx4 *s = CONNECTX4(obj);
	uint64_t value = 0;

	if (s->cx)
		memcpy(&value, (const char *)cx_stats(s->cx) +
		       (uintptr_t)opaque, sizeof(value));
	visit_type_uint64(v, name, &value, errp);
}

static void cx4_get_port_state(Object *obj, Visitor *v, const char *name,
			       void *opaque, Error **errp)
{
	Connectx4 *s = CONNECTX4(obj);
	uint64_t value = s->cx ? cx_port_state(s->cx) : 0;

	visit_type_uint64(v, name, &value, errp);
}

static void cx4_get_pages_held(Object *obj, Visitor *v, const char *name,
			       void *opaque, Error **errp)
{
	Connectx4 *s = CONNECTX4(obj);
	uint64_t value = s->cx ? cx_pages_held(s->cx) : 0;

	visit_type_uint64(v, name, &value, errp);
}

#define STAT(name, field) { name, offsetof(struct cx_stats, field) }
static const struct {
	const char *name;
	size_t offset;
} cx4_stats[] = {
	STAT("commands", commands),
	STAT("commands-failed", cmd_failed),
	STAT("commands-unknown", cmd_unknown),
	STAT("doorbells-sq", doorbells_sq),
	STAT("doorbells-cq", doorbells_cq),
	STAT("doorbells-eq", doorbells_eq),
	STAT("doorbells-refused", doorbells_refused),
	STAT("wqes", wqes),
	STAT("cqes", cqes),
	STAT("eqes", eqes),
	STAT("irqs", irqs),
	STAT("frames-tx", frames_tx),
	STAT("frames-rx", frames_rx),
	STAT("frames-dropped", frames_dropped),
	STAT("frames-lost", frames_lost),
	STAT("retries", retries),
	STAT("dma-errors", dma_errors),
};

static CX4_PROPERTY cx4_properties[] = {
	DEFINE_PROP_UINT64("guid", Connectx4, config.guid, 0),
	DEFINE_PROP_UINT16("lid", Connectx4, config.lid, 0),
	DEFINE_PROP_STRING("port", Connectx4, port),
	DEFINE_PROP_STRING("profile", Connectx4, profile),
	DEFINE_PROP_BOOL("cqe128", Connectx4, config.cqe128, false),
	DEFINE_PROP_BOOL("tag-matching", Connectx4, config.tag_matching,
			 false),
	DEFINE_PROP_ON_OFF_AUTO("umr-lists", Connectx4, umr_lists,
				ON_OFF_AUTO_AUTO),
	DEFINE_PROP_BOOL("odp", Connectx4, config.odp, false),
	DEFINE_PROP_BOOL("cqe64", Connectx4, config.cqe64, false),
	DEFINE_PROP_BOOL("blueflame", Connectx4, config.blueflame, false),
	DEFINE_PROP_BOOL("uar-check", Connectx4, uar_check, true),
	DEFINE_PROP_UINT32("doorbell-bytes", Connectx4, config.doorbell_bytes,
			   0),
	DEFINE_PROP_UINT32("bar-mb", Connectx4, config.bar_mb, 0),
	DEFINE_PROP_STRING("wire", Connectx4, wire_name),
	DEFINE_PROP_UINT32("wire-seed", Connectx4, config.wire_seed, 0),
	DEFINE_PROP_CHR("chardev", Connectx4, chr),
	DEFINE_PROP_UINT8("log", Connectx4, log_level, CX_INFO),
	CX4_END_OF_PROPERTIES
};

static const VMStateDescription cx4_vmstate = {
	.name = TYPE_CONNECTX4,
	.unmigratable = 1,
};

static void cx4_instance_init(Object *obj)
{
	CONNECTX4(obj)->plugged = true;
	PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

static void cx4_class_init(ObjectClass *class, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(class);
	PCIDeviceClass *pc = PCI_DEVICE_CLASS(class);
	size_t i;

	pc->realize = cx4_realize;
	pc->exit = cx4_exit;
	pc->config_write = cx4_write_config;
	pc->vendor_id = CX4_VENDOR;
	pc->device_id = CX4_DEVICE;
	pc->subsystem_vendor_id = CX4_VENDOR;
	pc->subsystem_id = 0x0014;
	pc->class_id = CX4_CLASS;
	dc->desc = "model of a ConnectX-4 HCA with one port";
	device_class_set_legacy_reset(dc, cx4_reset);
	dc->vmsd = &cx4_vmstate;
	set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
	device_class_set_props(dc, cx4_properties);
	object_class_property_add_bool(class, "cable", cx4_get_cable,
				       cx4_set_cable);
	object_class_property_add(class, "wire-loss", "uint32", cx4_get_loss,
				  cx4_set_loss, NULL, NULL);
	object_class_property_add(class, "port-state", "uint64",
				  cx4_get_port_state, NULL, NULL, NULL);
	object_class_property_add(class, "pages-held", "uint64",
				  cx4_get_pages_held, NULL, NULL, NULL);
	for (i = 0; i < ARRAY_SIZE(cx4_stats); i++)
		object_class_property_add(class, cx4_stats[i].name, "uint64",
					  cx4_get_stat, NULL, NULL,
					  (void *)cx4_stats[i].offset);
}

static const TypeInfo cx4_type = {
	.name = TYPE_CONNECTX4,
	.parent = TYPE_PCI_DEVICE,
	.instance_size = sizeof(Connectx4),
	.instance_init = cx4_instance_init,
	.class_init = cx4_class_init,
	.interfaces = (InterfaceInfo[]) {
		{ INTERFACE_PCIE_DEVICE },
		{ INTERFACE_CONVENTIONAL_PCI_DEVICE },
		{ }
	},
};

static void cx3_instance_init(Object *obj)
{
	CONNECTX4(obj)->config.cx3 = true;
}

static void cx3_class_init(ObjectClass *class, void *data)
{
	PCI_DEVICE_CLASS(class)->device_id = CX3_DEVICE;
	DEVICE_CLASS(class)->desc = "model of a ConnectX-3 HCA with one port";
}

static const TypeInfo cx3_type = {
	.name = TYPE_CONNECTX3,
	.parent = TYPE_CONNECTX4,
	.instance_init = cx3_instance_init,
	.class_init = cx3_class_init,
};

static void mt25204_instance_init(Object *obj)
{
	CONNECTX4(obj)->config.infinihost = true;
}

static void mt25204_class_init(ObjectClass *class, void *data)
{
	PCI_DEVICE_CLASS(class)->device_id = MT25204_DEVICE;
	DEVICE_CLASS(class)->desc = "model of an InfiniHost III Lx HCA with one port";
}

static const TypeInfo mt25204_type = {
	.name = TYPE_MT25204,
	.parent = TYPE_CONNECTX4,
	.instance_init = mt25204_instance_init,
	.class_init = mt25204_class_init,
};

static void cx4_register(void)
{
	type_register_static(&cx4_type);
	type_register_static(&cx3_type);
	type_register_static(&mt25204_type);
}

type_init(cx4_register)
