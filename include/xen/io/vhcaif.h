/* SPDX-License-Identifier: MIT */
/*
 * vhcaif.h
 *
 * Paravirtual RDMA host channel adapter (HCA) I/O interface for Xen guests.
 *
 * Copyright (C) 2026 The vhca authors
 */

#ifndef __XEN_PUBLIC_IO_VHCAIF_H__
#define __XEN_PUBLIC_IO_VHCAIF_H__

#include "ring.h"

/*
 ******************************************************************************
 *                           Protocol version
 ******************************************************************************
 */
#define XENVHCA_PROTOCOL_VERSION        "1"
#define XENVHCA_PROTOCOL_VERSION_INT     1

/*
 ******************************************************************************
 *                         Goals and non-goals
 ******************************************************************************
 *
 * A guest runs RDMA verbs programs, unmodified, on an HCA that another domain
 * (dom0 or a driver domain) owns. The frontend registers an RDMA device with
 * the guest's kernel and forwards verbs objects, together with the HCA's own
 * opaque user data ("udata"), to the backend, which repeats them on the
 * physical HCA. Posting work and polling for completions use the HCA's queue
 * memory directly and need no message of this protocol, except that an HCA
 * without doorbell registers (Soft-RoCE) is kicked through the kick ring. If
 * the HCA's driver trusts the contents of its work queues (Soft-RoCE), the
 * guest gets pages of the backend instead; the backend checks the requests in
 * them and posts them to the driver's queues.
 *
 * Not a goal: hiding the kind of the HCA (the guest sees and uses its native
 * user-space provider), live migration of connections.
 *
 ******************************************************************************
 *                  Example of the xenstore tree of a device
 ******************************************************************************
 *
 * Domain 0 owns the HCA rxe0, domain 5 has one vhca:
 *
 * /local/domain/0/backend/vhca/5/0/frontend = "/local/domain/5/device/vhca/0"
 * /local/domain/0/backend/vhca/5/0/frontend-id = "5"
 * /local/domain/0/backend/vhca/5/0/online = "1"
 * /local/domain/0/backend/vhca/5/0/state = "4"
 * /local/domain/0/backend/vhca/5/0/hca = "rxe0"
 * /local/domain/0/backend/vhca/5/0/versions = "1"
 * /local/domain/0/backend/vhca/5/0/setup = "4 70481223"
 *
 * /local/domain/5/device/vhca/0/backend = "/local/domain/0/backend/vhca/5/0"
 * /local/domain/5/device/vhca/0/backend-id = "0"
 * /local/domain/5/device/vhca/0/state = "4"
 * /local/domain/5/device/vhca/0/setup = "1 70481223 15 16 17 402 403 386 ... 401"
 *
 ******************************************************************************
 *                        Backend xenstore nodes
 ******************************************************************************
 *
 * An absent node means its default. Numbers are decimal ASCII. "Toolstack" is
 * xl/libxl or vhcactl. Nodes written by the toolstack exist before the
 * frontend's domain can see the device.
 *
 *------------------------------ Configuration --------------------------------
 *
 * The toolstack writes more nodes here than a frontend reads. They name the HCA
 * and limit what the guest may have of it, and are no part of this protocol: a
 * command over a limit fails.
 *
 * kernel, kernel-pool-mb
 *      Values:         0, 1; 1..1024 (MiB)
 *      Default Value:  0, 32
 *      Writer:         toolstack
 *      Reader:         frontend
 *
 *      1: the device is for consumers of RDMA in the guest's kernel alone; no
 *      process can open it. They need memory of kernel-pool-mb, which the
 *      frontend registers as one region of the HCA, and which max-pinned-mb has
 *      to allow beside their queues. To the backend such a guest is one with a
 *      single process, so it only checks the numbers. Not with Soft-RoCE.
 *
 * ip
 *      Values:         1..8 (XENVHCA_MAX_IPS) addresses, separated by blanks:
 *                      IPv4 or IPv6, each with /<prefix> or without (a network
 *                      of one address); none that is multicast or loopback; at
 *                      most 255 characters
 *      Default Value:  absent: the guest shares all addresses of the port
 *      Writer:         toolstack
 *
 *      The guest's own addresses on the HCA's network. The backend domain adds
 *      them before the guest can connect and removes them when the device is
 *      gone. With an Ethernet port the guest's GID table has the GIDs of these
 *      addresses only; with an InfiniBand port it has the port's.
 *
 *------------------------------ Negotiation ----------------------------------
 *
 * versions
 *      Values:         <string>, comma separated list of numbers
 *      Default Value:  none, mandatory
 *      Writer:         backend, before InitWait
 *
 * setup
 *      Values:         "<order> <offer>", two decimal numbers with a blank:
 *                      0..4 and <uint32_t>
 *      Default Value:  none, mandatory
 *      Writer:         backend, before InitWait
 *
 *      order is the largest size of the command ring, as log2 of the number of
 *      pages. offer identifies this connection: the frontend repeats it in its
 *      own setup, so that the backend ignores nodes of an earlier connection.
 *
 * broken
 *      Values:         <string>
 *      Default Value:  absent
 *      Writer:         backend
 *
 *      The reason why the backend last closed this device, or why it passes no
 *      traffic to its vif, for the operator.
 *
 ******************************************************************************
 *                        Frontend xenstore nodes
 ******************************************************************************
 *
 * All written by the frontend between InitWait of the backend and its own
 * Initialised; the backend reads them once, on Initialised.
 *
 * setup
 *      Values:         "<version> <offer> <cmd> <evt> <kick> <evt-ref>
 *                      <kick-ref> <ref>...", decimal numbers with a blank
 *                      between them
 *      Default Value:  none, mandatory
 *
 *      version is one of the backend's versions, offer that of the backend's
 *      setup. cmd, evt and kick are the event channels of the command ring (used
 *      in both directions), the event ring (backend to frontend) and the kick
 *      ring (frontend to backend). evt-ref and kick-ref are grant references of
 *      the pages of the latter two; the rest are those of the command ring, in
 *      order, 1 << n of them where n is at most order of the backend's setup.
 *      All are granted read-write. A setup with another offer is refused.
 *
 * doorbell-window
 *      Values:         "<gfn> <nr>", hexadecimal with 0x
 *      Default Value:  absent: no doorbells for a translated guest
 *
 *      Guest frames (PVH, HVM, Arm) where this guest permits doorbell pages.
 *      The doorbell agent refuses other frames, so that no backend can map a
 *      page over the guest's memory. The frontend removes the node before it
 *      uses these frames otherwise.
 *
 * broken
 *      Values:         <string>
 *
 *      The reason why the frontend last closed this device, for the operator.
 *
 ******************************************************************************
 *                            State diagram
 ******************************************************************************
 *
 * Front                                Back
 * =================================    =====================================
 * XenbusStateInitialising              XenbusStateInitialising
 *  o wait for InitWait                  o open the HCA, check the nodes
 *                                       o wait until the frontend is
 *                                         Initialising or Closed
 *                                       o write versions, limits
 *                                                   |
 *                                                   V
 *                                      XenbusStateInitWait
 *  o choose a version
 *  o allocate rings, event channels
 *  o write the frontend nodes
 *               |
 *               V
 * XenbusStateInitialised
 *                                       o read the frontend nodes
 *                                       o map rings, bind event channels
 *                                                   |
 *                                                   V
 *                                      XenbusStateConnected
 *  o GET_INFO, QUERY_* on the ring
 *  o register the RDMA device
 *               |
 *               V
 * XenbusStateConnected
 *
 * Orderly end by the frontend (module unload): the frontend destroys its
 * objects over the ring, enters Closing; the backend releases everything and
 * enters Closed; the frontend ends its grants and enters Closed.
 *
 * Orderly end by the toolstack (detach): the toolstack writes online = 0 and
 * the backend's state = Closing. The backend continues to serve the ring. The
 * frontend unregisters its device, which destroys its objects over the ring,
 * and enters Closing; then as above. After Closed on both sides the toolstack
 * removes the nodes. If the frontend does not follow within the toolstack's
 * time-out, the backend enters Closed.
 *
 * Recovery, backend died or closed the device: its state becomes Closed
 * without Closing. The frontend sends no further command, fails every waiter
 * with an I/O error, reports a fatal device event, unregisters its device and
 * enters Closed. Pages whose grants are still mapped stay allocated until
 * they are unmapped. If online is 1 a restarted backend enters Initialising
 * and the diagram starts again.
 *
 * Recovery, frontend died: the backend sees the frontend's directory vanish
 * or its state return to Initialising, destroys the physical objects, unmaps
 * all grants and enters Closed, and, if the domain still exists, Initialising.
 *
 ******************************************************************************
 *                        Limits and their origin
 ******************************************************************************
 *
 * Grants are 4 KiB. A guest with the default of 64 grant frames can grant
 * 128 MiB to all its backends (xl.cfg max_grant_frames), of which a frontend
 * should leave some to other devices; a backend domain can map as many pages
 * as it has maptrack entries (gnttab_max_maptrack_frames, 256 entries each;
 * a PV domain uses two per page). The backend reports the resulting
 * max_mr_size and the frontend lowers it to the limit of its own grant table.
 *
 ******************************************************************************
 *                                Rules
 ******************************************************************************
 *
 * - All fields are little-endian. Reserved fields and unused bytes of a
 *   request or response body are 0 and are checked by the receiver of a
 *   request.
 * - A response echoes id and op of its request. Ids are chosen by the
 *   frontend, 0..XENVHCA_MAX_ID - 1, unique among outstanding requests.
 *   Requests may be answered in any order. The backend echoes ids and does
 *   not check them; the frontend checks the ids of responses.
 * - Numeric values that verbs define (access flags, QP types and states,
 *   attribute masks, event types, link layers) have the values of Linux'
 *   <rdma/ib_user_verbs.h> and <rdma/ib_user_ioctl_verbs.h>.
 * - No message carries a kernel pointer. User addresses occur only as iova of
 *   a memory region and inside udata.
 * - status is 0 or a negative XEN_E* value of xen/errno.h. An unknown op is
 *   answered with -XEN_EOPNOTSUPP and is no reason to disconnect. A ring
 *   index or request header that violates the protocol closes the device.
 * - Handles are 32-bit, never 0, chosen by the backend, opaque to the
 *   frontend, and are not reused soon after they were released.
 * - The frontend reserves XENVHCA_DESTROY_SLOTS slots of the command ring for
 *   destroy commands, so that a process can always exit.
 * - A command does not overtake kicks: before it executes a request, the backend
 *   executes the kicks that were in the kick ring when it took the request.
 * - Destroying a ucontext destroys all objects in it; a frontend need not destroy
 *   them one by one before. XRC domains and XRC target queue pairs are in no
 *   ucontext: they belong to the device, live until they are destroyed or the
 *   connection ends, and are named with ucontext = 0.
 * - XRC is served if QUERY_DEVICE has IB_UVERBS_DEVICE_XRC (1 << 20) in
 *   device_cap_flags. Only then a frontend sends ALLOC_XRCD and the XRC types
 *   and fields of other requests.
 * - The backend answers a destroy command after the physical object is gone
 *   and the memory it used is unmapped; only then may the frontend end the
 *   grants of that memory.
 */

#define XENVHCA_DRIVER_NAME             "vhca"

/* Xenstore node names. */
#define XENVHCA_NODE_VERSIONS           "versions"
#define XENVHCA_NODE_BROKEN             "broken"
#define XENVHCA_NODE_KERNEL             "kernel"
#define XENVHCA_NODE_KERNEL_POOL_MB     "kernel-pool-mb"
#define XENVHCA_NODE_IP                 "ip"
#define XENVHCA_NODE_SETUP              "setup"         /* of both sides */
#define XENVHCA_NODE_DOORBELL_WINDOW    "doorbell-window"

/*
 * "compatible" of nodes in the guest's device tree: each "reg" is a range of doorbell
 * pages that this guest has for life. There may be several nodes.
 */
#define XENVHCA_TREE_DOORBELLS          "xen,vhca-doorbells"

/* Values of kernel-pool-mb: up to, and if there is none. */
#define XENVHCA_POOL_MB_MOST            1024
#define XENVHCA_POOL_MB_DEFAULT         32

/* Limits of the protocol. */
#define XENVHCA_PAGE_SIZE               4096
#define XENVHCA_MAX_RING_ORDER          4       /* 16 pages */
#define XENVHCA_SLOT_SIZE               512
#define XENVHCA_BODY_SIZE               240
#define XENVHCA_UDATA_SIZE              256
#define XENVHCA_MAX_ID                  256
#define XENVHCA_DESTROY_SLOTS           8
#define XENVHCA_MAX_GREFS_INLINE        8
#define XENVHCA_GREFS_PER_PAGE          1024
#define XENVHCA_MMAP_GREFS              48
#define XENVHCA_MADE_RANGES             4       /* of an answer */
#define XENVHCA_MUNMAP_RANGES           30
#define XENVHCA_QUEUE_PAGES             16384   /* mapped by a guest, unless */
                                                /* both sides raise it */
#define XENVHCA_GIDS_PER_RSP            8
#define XENVHCA_PKEYS_PER_RSP           100
#define XENVHCA_MAX_COUNTERS            64      /* of a group */
#define XENVHCA_COUNTER_NAME            32      /* with its NUL */
#define XENVHCA_NAMES_PER_RSP           7
#define XENVHCA_COUNTERS_PER_RSP        28
#define XENVHCA_CM_IN                   224     /* in the body; rest: udata */
#define XENVHCA_CM_OUT                  232
#define XENVHCA_CM_SLOTS                16
#define XENVHCA_CM_PORT                 1       /* the guest's name of it */
#define XENVHCA_UMAD_BODY               232     /* in the body; rest: udata */
#define XENVHCA_UMAD_SEND_MAX           320     /* header and one datagram */
#define XENVHCA_UMAD_RECV_MAX           (1u << 20)
#define XENVHCA_UMAD_AGENTS             32      /* of a file */
#define XENVHCA_NAME_LEN                64
#define XENVHCA_MAX_IPS                 8
#define XENVHCA_MAX_PKEYS               32
#define XENVHCA_DOORBELL_SLOTS          8192    /* of a device */

/*
 ******************************************************************************
 *                             Operations
 ******************************************************************************
 */
#define XENVHCA_OP_GET_INFO             0x10
#define XENVHCA_OP_QUERY_DEVICE         0x11
#define XENVHCA_OP_QUERY_PORT           0x12
#define XENVHCA_OP_QUERY_GID_TABLE      0x13
#define XENVHCA_OP_QUERY_PKEY_TABLE     0x14
#define XENVHCA_OP_QUERY_COUNTER_NAMES  0x15
#define XENVHCA_OP_QUERY_COUNTERS       0x16
#define XENVHCA_OP_ALLOC_UCONTEXT       0x18
#define XENVHCA_OP_DEALLOC_UCONTEXT     0x19
#define XENVHCA_OP_MMAP                 0x1a
#define XENVHCA_OP_MUNMAP               0x1b
#define XENVHCA_OP_ALLOC_PD             0x20
#define XENVHCA_OP_DEALLOC_PD           0x21
#define XENVHCA_OP_ALLOC_XRCD           0x22
#define XENVHCA_OP_DEALLOC_XRCD         0x23
#define XENVHCA_OP_REG_MR               0x24
#define XENVHCA_OP_REREG_MR             0x25
#define XENVHCA_OP_DEREG_MR             0x26
#define XENVHCA_OP_ALLOC_MW             0x28
#define XENVHCA_OP_DEALLOC_MW           0x29
#define XENVHCA_OP_CREATE_CQ            0x2c
#define XENVHCA_OP_RESIZE_CQ            0x2d
#define XENVHCA_OP_DESTROY_CQ           0x2e
#define XENVHCA_OP_MODIFY_CQ            0x2f
#define XENVHCA_OP_CREATE_QP            0x30
#define XENVHCA_OP_MODIFY_QP            0x31
#define XENVHCA_OP_QUERY_QP             0x32
#define XENVHCA_OP_DESTROY_QP           0x33
#define XENVHCA_OP_CREATE_SRQ           0x34
#define XENVHCA_OP_MODIFY_SRQ           0x35
#define XENVHCA_OP_QUERY_SRQ            0x36
#define XENVHCA_OP_DESTROY_SRQ          0x37
#define XENVHCA_OP_CREATE_AH            0x38
#define XENVHCA_OP_DESTROY_AH           0x39
#define XENVHCA_OP_ATTACH_MCAST         0x3c
#define XENVHCA_OP_DETACH_MCAST         0x3d
#define XENVHCA_OP_ALLOC_CM             0x40
#define XENVHCA_OP_DEALLOC_CM           0x41
#define XENVHCA_OP_CM_COMMAND           0x42
#define XENVHCA_OP_ALLOC_UMAD           0x44
#define XENVHCA_OP_DEALLOC_UMAD         0x45
#define XENVHCA_OP_REGISTER_UMAD        0x46
#define XENVHCA_OP_UNREGISTER_UMAD      0x47
#define XENVHCA_OP_SEND_UMAD            0x48
#define XENVHCA_OP_RECV_UMAD            0x49
#define XENVHCA_OP_MAX                  0x4c

/*
 * List of pages that the frontend grants to the backend, read-write unless flags
 * has XENVHCA_PAGES_READONLY.
 *
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |                             nr_pages                              | 4
 * +----------------+----------------+----------------+----------------+
 * |     level      |     flags      |            reserved             | 8
 * +----------------+----------------+----------------+----------------+
 * |                             gref[0]                               | 12
 * +----------------+----------------+----------------+----------------+
 *                                  ...
 * +----------------+----------------+----------------+----------------+
 * |                             gref[7]                               | 40
 * +----------------+----------------+----------------+----------------+
 *
 * nr_pages - number of data pages; 0 means that there is no list.
 * level - 0: gref[i] are the data pages (nr_pages <= 8).
 *         1: gref[i] are directory pages, each an array of up to 1024
 *            references of data pages (nr_pages <= 8 * 1024).
 *         2: gref[i] are root pages, each an array of up to 1024 references
 *            of directory pages (nr_pages <= 8 * 1024 * 1024).
 * flags - XENVHCA_PAGES_READONLY: the data pages are granted read-only. Only
 *   if GET_INFO has XENVHCA_INFO_READONLY, and only for a memory region whose
 *   access has none of IB_ACCESS_LOCAL_WRITE, _REMOTE_WRITE, _REMOTE_ATOMIC
 *   and _MW_BIND. Directory pages are granted read-write in any case.
 *
 * Every page of a tree but the last of its level is full, so nr_pages and
 * level define the number of used references; unused ones are 0. The depth is
 * bounded by the format and a cycle cannot be expressed. The backend copies
 * or maps directory and root pages; the frontend may end their grants as soon
 * as the request is answered.
 */
struct xenvhca_pages {
    uint32_t nr_pages;              /*   0 */
    uint8_t level;                  /*   4 */
    uint8_t flags;                  /*   5 */
    uint8_t reserved[2];            /*   6 */
    uint32_t gref[XENVHCA_MAX_GREFS_INLINE]; /*   8 */
};                                  /*  40 */
#define XENVHCA_PAGES_READONLY          (1u << 0)

#define XENVHCA_MAX_PAGES_LEVEL0        8u
#define XENVHCA_MAX_PAGES_LEVEL1        (8u * 1024u)
#define XENVHCA_MAX_PAGES_LEVEL2        (8u * 1024u * 1024u)

/*
 * GET_INFO: parameters of the device that the frontend needs to register it.
 * ucontext = 0, empty request body, no udata.
 *
 * driver_id, uverbs_abi_ver - of the physical HCA, choose the provider.
 * node_type - RDMA node type. The device has one port.
 * kicks - bit 0: send queues need a kick (XENVHCA_KICK_SEND);
 *         bit 1: arming a CQ needs a kick (XENVHCA_KICK_ARM).
 * flags - bit 0: page lists of memory regions may be read-only
 *   (XENVHCA_PAGES_READONLY). 0 if the backend's kernel registers writable
 *   memory only.
 *   bit 1: the GID table has only entries of this vhca; bit 2: so has the P_Key
 *   table. The backend refuses an index of another entry: a GID index in an
 *   address vector with ENODATA, or with EINVAL behind the end of the table, a
 *   P_Key index with EINVAL. 0 means that the port's tables are shared.
 *   bit 3: ALLOC_CM, DEALLOC_CM and CM_COMMAND are served (XENVHCA_INFO_CM). 0
 *   if the backend's domain has no connection manager for user space.
 *   bit 4: QUERY_COUNTER_NAMES and QUERY_COUNTERS are served
 *   (XENVHCA_INFO_COUNTERS). 0 without port-counters=1 in the configuration.
 *   bit 5: doorbell pages lie in the guest's device tree : a
 *   MMAP of such a page has gfn = 0, and its answer has the guest frame in
 *   frame. 0 if the backend uses the doorbell agent.
 *   bit 6: ALLOC_UMAD, DEALLOC_UMAD, REGISTER_UMAD, UNREGISTER_UMAD, SEND_UMAD
 *   and RECV_UMAD are served (XENVHCA_INFO_UMAD). 0 without umad in the
 *   configuration, or if the backend's domain has no such file of the port.
 * max_pages - largest number of data pages of one page list.
 * hca - name of the physical HCA, NUL terminated. fw - firmware version string,
 * likewise. hca_type, hw_rev, board_id - the card's, from the HCA's driver,
 * likewise; empty if the driver has none (Soft-RoCE).
 */
struct xenvhca_get_info_rsp {
    uint32_t driver_id;             /*   0 */
    uint32_t uverbs_abi_ver;        /*   4 */
    uint64_t node_guid;             /*   8, network byte order */
    uint32_t num_comp_vectors;      /*  16 */
    uint8_t node_type;              /*  20 */
    uint8_t reserved;               /*  21 */
    uint8_t kicks;                  /*  22 */
    uint8_t flags;                  /*  23 */
    uint32_t max_pages;             /*  24 */
    uint32_t reserved1;             /*  28 */
    char hca[XENVHCA_NAME_LEN];     /*  32 */
    char hca_type[16];              /*  96 */
    char hw_rev[16];                /* 112 */
    char board_id[32];              /* 128 */
    char fw[32];                    /* 160 */
};                                  /* 192 */
#define XENVHCA_INFO_KICK_SEND          (1u << 0)
#define XENVHCA_INFO_KICK_ARM           (1u << 1)
#define XENVHCA_INFO_READONLY           (1u << 0)       /* of flags */
#define XENVHCA_INFO_OWN_GIDS           (1u << 1)
#define XENVHCA_INFO_OWN_PKEYS          (1u << 2)
#define XENVHCA_INFO_CM                 (1u << 3)
#define XENVHCA_INFO_COUNTERS           (1u << 4)
#define XENVHCA_INFO_STATIC_DOORBELLS   (1u << 5)
#define XENVHCA_INFO_UMAD               (1u << 6)

/*
 * QUERY_DEVICE: limits of the device, already lowered to the quotas of this
 * vhca and to the limits of the grant tables. ucontext = 0 or, if udata is used,
 * the handle of a ucontext. Names and meanings as in struct ib_device_attr.
 *
 * max_cq_count, max_cq_period - limits of MODIFY_CQ. Both are 0 for an HCA
 *   without moderation.
 * tm_max_tags - entries of an SRQ with tag matching. For an HCA without tag
 *   matching this and the other four are 0, and such SRQs are refused.
 * tm_max_ops, tm_flags, tm_max_sge, tm_max_rndv_hdr - as in struct ib_tm_caps;
 *   of the flags XENVHCA_TM_RNDV_RC is IB_TM_CAP_RNDV_RC, others are 0.
 */
#define XENVHCA_TM_RNDV_RC              (1u << 0)
struct xenvhca_query_device_rsp {
    uint64_t fw_ver;                /*   0 */
    uint64_t sys_image_guid;        /*   8, network byte order */
    uint64_t max_mr_size;           /*  16 */
    uint64_t page_size_cap;         /*  24 */
    uint64_t device_cap_flags;      /*  32 */
    uint64_t timestamp_mask;        /*  40 */
    uint64_t hca_core_clock;        /*  48, kHz */
    uint32_t vendor_id;             /*  56 */
    uint32_t vendor_part_id;        /*  60 */
    uint32_t hw_ver;                /*  64 */
    uint32_t max_qp;                /*  68 */
    uint32_t max_qp_wr;             /*  72 */
    uint32_t max_send_sge;          /*  76 */
    uint32_t max_recv_sge;          /*  80 */
    uint32_t max_sge_rd;            /*  84 */
    uint32_t max_cq;                /*  88 */
    uint32_t max_cqe;               /*  92 */
    uint32_t max_mr;                /*  96 */
    uint32_t max_pd;                /* 100 */
    uint32_t max_qp_rd_atom;        /* 104 */
    uint32_t max_ee_rd_atom;        /* 108 */
    uint32_t max_res_rd_atom;       /* 112 */
    uint32_t max_qp_init_rd_atom;   /* 116 */
    uint32_t max_ee_init_rd_atom;   /* 120 */
    uint32_t atomic_cap;            /* 124 */
    uint16_t max_cq_count;          /* 128 */
    uint16_t max_cq_period;         /* 130, us */
    uint32_t max_ee;                /* 132 */
    uint32_t max_rdd;               /* 136 */
    uint32_t max_mw;                /* 140 */
    uint32_t tm_max_tags;           /* 144 */
    uint32_t tm_max_ops;            /* 148 */
    uint32_t max_mcast_grp;         /* 152 */
    uint32_t max_mcast_qp_attach;   /* 156 */
    uint32_t max_total_mcast_qp_attach; /* 160 */
    uint32_t max_ah;                /* 164 */
    uint32_t max_srq;               /* 168 */
    uint32_t max_srq_wr;            /* 172 */
    uint32_t max_srq_sge;           /* 176 */
    uint32_t tm_flags;              /* 180 */
    uint16_t tm_max_sge;            /* 184 */
    uint16_t tm_max_rndv_hdr;       /* 186, octets */
    uint16_t max_pkeys;             /* 188 */
    uint8_t local_ca_ack_delay;     /* 190 */
    uint8_t reserved1;              /* 191 */
};                                  /* 192 */

/*
 * QUERY_PORT: ucontext = 0. Names as in struct ib_port_attr; the port is the
 * one of the configuration.
 */
struct xenvhca_query_port_rsp {
    uint32_t state;                 /*   0 */
    uint32_t max_mtu;               /*   4, enum ib_mtu */
    uint32_t active_mtu;            /*   8, enum ib_mtu */
    uint32_t gid_tbl_len;           /*  12 */
    uint32_t port_cap_flags;        /*  16 */
    uint32_t max_msg_sz;            /*  20, bytes */
    uint32_t bad_pkey_cntr;         /*  24 */
    uint32_t qkey_viol_cntr;        /*  28 */
    uint32_t lid;                   /*  32 */
    uint32_t sm_lid;                /*  36 */
    uint16_t pkey_tbl_len;          /*  40 */
    uint16_t reserved1;             /*  42 */
    uint8_t lmc;                    /*  44 */
    uint8_t max_vl_num;             /*  45 */
    uint8_t sm_sl;                  /*  46 */
    uint8_t subnet_timeout;         /*  47 */
    uint8_t init_type_reply;        /*  48 */
    uint8_t active_width;           /*  49 */
    uint8_t phys_state;             /*  50 */
    uint8_t link_layer;             /*  51, 1 InfiniBand, 2 Ethernet */
    uint32_t active_speed;          /*  52 */
    uint8_t ip_gids;                /*  56, flag IBV_PORT_IP_BASED_GIDS */
    uint8_t reserved[7];            /*  57 */
};                                  /*  64 */

/*
 * QUERY_GID_TABLE: GIDs that this vhca may use, from index first on; entries
 * that are empty or not allowed are omitted. next is the index of the next
 * request, 0 at the end of the table.
 */
struct xenvhca_query_gid_table_req {
    uint32_t first;                 /*   0 */
    uint32_t reserved;              /*   4 */
};                                  /*   8 */
struct xenvhca_gid {
    uint8_t gid[16];                /*   0 */
    uint16_t index;                 /*  16 */
    uint8_t type;                   /*  18, 0 IB, 1 RoCE v1, 2 RoCE v2 */
    uint8_t reserved[5];            /*  19 */
};                                  /*  24 */
struct xenvhca_query_gid_table_rsp {
    uint32_t count;                 /*   0 */
    uint32_t next;                  /*   4 */
    struct xenvhca_gid gid[XENVHCA_GIDS_PER_RSP]; /*   8 */
};                                  /* 200 */

/*
 * QUERY_PKEY_TABLE: count P_Keys from index first on; QUERY_PORT has the length
 * of the table.
 */
struct xenvhca_query_pkey_table_req {
    uint32_t first;                 /*   0 */
    uint32_t reserved;              /*   4 */
};                                  /*   8 */
struct xenvhca_query_pkey_table_rsp {
    uint32_t count;                 /*   0 */
    uint32_t reserved;              /*   4 */
    uint16_t pkey[XENVHCA_PKEYS_PER_RSP]; /*   8 */
};                                  /* 208 */

/*
 * QUERY_COUNTER_NAMES: names of a group of counters, from index first on; there
 * are total of them. They do not change while the device is connected.
 *
 * group - XENVHCA_COUNTERS_PORT: of the port (IBTA's PortCounters and
 *   PortCountersExtended), named as Linux names them in sysfs; total is 0 if the
 *   HCA's driver has none. XENVHCA_COUNTERS_HW: other counters of the driver.
 * name - 1..31 characters of [A-Za-z0-9_], NUL terminated, each only once in a
 *   group, none "lifespan" and none that begins with "vhca_".
 *
 * QUERY_COUNTERS: count values from index first on. valid - bit i: value[i]
 *   could be read; else it is 0. A value is charged as a command.
 *
 * ucontext = 0, no udata.
 */
#define XENVHCA_COUNTERS_PORT           0
#define XENVHCA_COUNTERS_HW             1
#define XENVHCA_COUNTER_GROUPS          2
struct xenvhca_counters_req {
    uint32_t group;                 /*   0 */
    uint32_t first;                 /*   4 */
};                                  /*   8 */
struct xenvhca_query_counter_names_rsp {
    uint32_t count;                 /*   0 */
    uint32_t total;                 /*   4 */
    char name[XENVHCA_NAMES_PER_RSP][XENVHCA_COUNTER_NAME]; /*   8 */
};                                  /* 232 */
struct xenvhca_query_counters_rsp {
    uint32_t count;                 /*   0 */
    uint32_t valid;                 /*   4 */
    uint64_t value[XENVHCA_COUNTERS_PER_RSP]; /*   8 */
};                                  /* 232 */

/*
 * ALLOC_UCONTEXT: opens a verbs context of the HCA, one per open file of the
 * guest's uverbs device. ucontext = 0 in the request; udata both ways.
 * DEALLOC_UCONTEXT: closes the context named by the header and all it owns.
 */
struct xenvhca_alloc_ucontext_rsp {
    uint32_t ucontext;              /*   0 */
    uint32_t reserved;              /*   4 */
};                                  /*   8 */

/*
 * MMAP: gives the frontend memory of the HCA that the guest's provider maps by
 * mmap(). The backend maps it once per offset; further requests with first > 0
 * fetch the rest of the list.
 *
 * offset - mmap offset, as the HCA's driver returned it in udata, or that of a
 *   doorbell page, as the provider computes it.
 * length - bytes to map, a multiple of 4096; 4096 for a doorbell page.
 * first - index of the first page whose reference is requested.
 * gfn - guest frame for a doorbell page of a translated guest: a frame of its
 *   doorbell-window without a page. 0 otherwise.
 *
 * kind - XENVHCA_MMAP_GRANT: gref[0..count-1] are grant references, to be
 *   mapped read-write. nr_pages - pages of the whole range.
 *   XENVHCA_MMAP_MMIO: one doorbell page, which the guest may map now with
 *   the cache attribute prot (XENVHCA_PROT_*): a PV guest by the machine
 *   frame number frame, a translated one by the gfn it asked for (frame is
 *   0), or with XENVHCA_INFO_STATIC_DOORBELLS by the guest frame, which
 *   must lie in a range of its device tree. count is 0, nr_pages 1.
 *
 * A doorbell page stays until its ucontext is closed. When DEALLOC_UCONTEXT
 * was answered with 0 no gfn of the ucontext has a page any more; the guest
 * must have removed its page table entries before it sends that. As long as
 * a PV guest lives no other guest gets frames that it had. A backend enters
 * InitWait only when no page of an earlier connection is left at a gfn.
 *
 * MUNMAP, for granted ranges only: the frontend has unmapped these ranges; the
 * backend ends their grants. offset[0] is one of them; an offset of 0 behind it
 * ends the list, and all offsets behind that are 0. The backend ends all ranges
 * that exist; the answer is -XEN_ENOENT if one does not. Pages that the guest
 * still maps stay allocated until it unmaps them, and count against the domain:
 * if mapped pages and such pages are more than 64 MiB, new mappings are refused
 * with ENOMEM.
 */
struct xenvhca_mmap_req {
    uint64_t offset;                /*   0 */
    uint64_t length;                /*   8 */
    uint32_t first;                 /*  16 */
    uint32_t reserved;              /*  20 */
    uint64_t gfn;                   /*  24 */
};                                  /*  32 */
struct xenvhca_mmap_rsp {
    uint32_t nr_pages;              /*   0 */
    uint16_t count;                 /*   4 */
    uint8_t kind;                   /*   6 */
    uint8_t prot;                   /*   7 */
    uint32_t gref[XENVHCA_MMAP_GREFS]; /*   8 */
    uint64_t frame;                 /* 200 */
};                                  /* 208 */
#define XENVHCA_MMAP_GRANT              1
#define XENVHCA_MMAP_MMIO               2
#define XENVHCA_PROT_NC                 1       /* uncached */
#define XENVHCA_PROT_WC                 2       /* write-combining */
#define XENVHCA_PROT_DEV                3       /* Arm: device memory */
struct xenvhca_munmap_req {
    uint64_t offset[XENVHCA_MUNMAP_RANGES]; /*   0 */
};                                  /* 240 */

/*
 * ALLOC_PD, DEALLOC_PD: protection domain. udata both ways.
 *
 * ALLOC_XRCD, DEALLOC_XRCD: XRC domain, ucontext = 0, no udata. One for each
 * domain of the guest's kernel, however many processes share it. DEALLOC_XRCD
 * ends the handle; if SRQs or queue pairs use the domain it is answered with
 * -XEN_EBUSY, and the domain ends with the last of them.
 */
struct xenvhca_handle_rsp {
    uint32_t handle;                /*   0 */
    uint32_t reserved;              /*   4 */
};                                  /*   8 */
/* Body of every DEALLOC, DESTROY, DEREG and QUERY_SRQ. */
struct xenvhca_handle_req {
    uint32_t handle;                /*   0 */
    uint32_t reserved;              /*   4 */
};                                  /*   8 */

/*
 * REG_MR: registers guest memory.
 *
 * pd - handle. access - IB access flags. iova - address that work requests
 *   use, normally the guest virtual address. length - bytes. page_offset -
 *   offset of the first byte in the first page; iova and page_offset agree in
 *   their lower 12 bits.
 */
struct xenvhca_reg_mr_req {
    uint32_t pd;                    /*   0 */
    uint32_t access;                /*   4 */
    uint64_t iova;                  /*   8 */
    uint64_t length;                /*  16 */
    uint32_t page_offset;           /*  24 */
    uint32_t reserved;              /*  28 */
    struct xenvhca_pages pages;     /*  32 */
};                                  /*  72 */
struct xenvhca_mr_rsp {
    uint32_t handle;                /*   0 */
    uint32_t lkey;                  /*   4 */
    uint32_t rkey;                  /*   8 */
    uint32_t reserved;              /*  12 */
};                                  /*  16 */

/*
 * REREG_MR: flags - IB_MR_REREG_TRANS (1), _PD (2), _ACCESS (4). With TRANS
 * the list replaces the old one, whose pages are unmapped before the answer
 * if the command succeeds, and stay mapped if it fails. -XEN_EBUSY with TRANS:
 * the ucontext has memory windows, and a bound window would keep the old pages
 * in use. -XEN_EACCES: ACCESS without TRANS would permit writing to pages that
 * were granted read-only.
 */
struct xenvhca_rereg_mr_req {
    uint32_t handle;                /*   0 */
    uint32_t flags;                 /*   4 */
    struct xenvhca_reg_mr_req mr;   /*   8 */
};                                  /*  80 */

/* ALLOC_MW: type 1 or 2. The answer is a struct xenvhca_mr_rsp with lkey 0. */
struct xenvhca_alloc_mw_req {
    uint32_t pd;                    /*   0 */
    uint32_t type;                  /*   4 */
};                                  /*   8 */

/*
 * CREATE_CQ: buf and db are the queue memory and the page of the doorbell
 * record if the HCA's provider has them in user memory, else empty. Objects
 * of a context whose records are in one page name it by one grant reference:
 * its grant ends when the last of them is destroyed.
 * cqe in the answer is the number that the HCA chose.
 */
struct xenvhca_create_cq_req {
    uint32_t cqe;                   /*   0 */
    uint32_t comp_vector;           /*   4 */
    uint32_t flags;                 /*   8 */
    uint32_t reserved;              /*  12 */
    struct xenvhca_pages buf;       /*  16 */
    struct xenvhca_pages db;        /*  56 */
};                                  /*  96 */
struct xenvhca_cq_rsp {
    uint32_t handle;                /*   0 */
    uint32_t cqe;                   /*   4 */
};                                  /*   8 */
struct xenvhca_resize_cq_req {
    uint32_t handle;                /*   0 */
    uint32_t cqe;                   /*   4 */
    struct xenvhca_pages buf;       /*   8 */
};                                  /*  48 */
/*
 * MODIFY_CQ: moderation. An armed CQ raises its event after count completions,
 * or period after the first of them; 0, 0: with the first completion. The HCA's
 * driver refuses values above those of QUERY_DEVICE.
 */
struct xenvhca_modify_cq_req {
    uint32_t handle;                /*   0 */
    uint16_t count;                 /*   4 */
    uint16_t period;                /*   6, us */
};                                  /*   8 */

/*
 * CREATE_QP: qp_type RC 2, UC 3, UD 4, XRC initiator 9, XRC target 10; others
 * are refused. create_flags - IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK (2),
 * if the HCA's driver supports it; others are refused with -XEN_EOPNOTSUPP.
 * srq = 0: none. Capabilities as in struct ib_qp_cap; the answer has those of
 * the new queue pair.
 *
 * An XRC initiator has neither recv_cq nor srq: both are 0. An XRC target has
 * xrcd, which is 0 for every other type, and nothing else: ucontext, pd,
 * send_cq, recv_cq, srq are 0, lists and udata empty. Every later command
 * names it with ucontext = 0, so that it outlives the process that made it.
 */
struct xenvhca_qp_cap {
    uint32_t max_send_wr;           /*   0 */
    uint32_t max_recv_wr;           /*   4 */
    uint32_t max_send_sge;          /*   8 */
    uint32_t max_recv_sge;          /*  12 */
    uint32_t max_inline_data;       /*  16 */
    uint32_t reserved;              /*  20 */
};                                  /*  24 */
struct xenvhca_create_qp_req {
    uint32_t pd;                    /*   0 */
    uint32_t send_cq;               /*   4 */
    uint32_t recv_cq;               /*   8 */
    uint32_t srq;                   /*  12 */
    uint8_t qp_type;                /*  16 */
    uint8_t sq_sig_all;             /*  17 */
    uint16_t reserved;              /*  18 */
    uint32_t create_flags;          /*  20 */
    struct xenvhca_qp_cap cap;      /*  24 */
    struct xenvhca_pages buf;       /*  48 */
    struct xenvhca_pages sq_buf;    /*  88 */
    struct xenvhca_pages db;        /* 128 */
    uint32_t xrcd;                  /* 168 */
    uint32_t reserved1;             /* 172 */
};                                  /* 176 */
struct xenvhca_create_qp_rsp {
    uint32_t handle;                /*   0 */
    uint32_t qpn;                   /*   4 */
    struct xenvhca_qp_cap cap;      /*   8 */
};                                  /*  32 */

/*
 * Answer to CREATE_CQ, RESIZE_CQ, CREATE_QP and CREATE_SRQ if the request has
 * XENVHCA_REQ_RANGES. The answer's udata announces ranges of queue memory;
 * count[i] references of the i-th of them, in the order of the provider's
 * table, come with it, those of one range after those of the other. Such a range
 * is mapped as by MMAP with its length rounded up to pages, and MMAP with first =
 * count[i] fetches the rest, if any. 0: the range is not mapped, or there is
 * none; MMAP with first = 0 maps it, or returns the error.
 */
struct xenvhca_made_rsp {
    uint8_t answer[40];             /*   0, as without the flag */
    uint16_t count[XENVHCA_MADE_RANGES]; /*  40 */
    uint32_t gref[XENVHCA_MMAP_GREFS]; /*  48 */
};                                  /* 240 */

/*
 * Address of a path, for MODIFY_QP and CREATE_AH; as struct
 * ib_uverbs_ah_attr. The backend's domain, which is on the HCA's network,
 * resolves the Ethernet address of a RoCE peer.
 */
struct xenvhca_ah_attr {
    uint8_t dgid[16];               /*   0 */
    uint32_t flow_label;            /*  16 */
    uint16_t dlid;                  /*  20 */
    uint8_t sgid_index;             /*  22 */
    uint8_t hop_limit;              /*  23 */
    uint8_t traffic_class;          /*  24 */
    uint8_t sl;                     /*  25 */
    uint8_t src_path_bits;          /*  26 */
    uint8_t static_rate;            /*  27 */
    uint8_t is_global;              /*  28 */
    uint8_t port_num;               /*  29 */
    uint8_t reserved[10];           /*  30 */
};                                  /*  40 */

/*
 * MODIFY_QP: mask - IB_QP_* attribute mask; fields outside the mask are 0.
 * QUERY_QP answers with the same structure, plus the initial attributes.
 */
struct xenvhca_qp_attr {
    uint32_t mask;                  /*   0 */
    uint32_t qkey;                  /*   4 */
    uint32_t rq_psn;                /*   8 */
    uint32_t sq_psn;                /*  12 */
    uint32_t dest_qp_num;           /*  16 */
    uint32_t qp_access_flags;       /*  20 */
    uint16_t pkey_index;            /*  24 */
    uint16_t alt_pkey_index;        /*  26 */
    uint8_t qp_state;               /*  28 */
    uint8_t cur_qp_state;           /*  29 */
    uint8_t path_mtu;               /*  30 */
    uint8_t path_mig_state;         /*  31 */
    uint8_t en_sqd_async_notify;    /*  32 */
    uint8_t sq_draining;            /*  33 */
    uint8_t max_rd_atomic;          /*  34 */
    uint8_t max_dest_rd_atomic;     /*  35 */
    uint8_t min_rnr_timer;          /*  36 */
    uint8_t port_num;               /*  37 */
    uint8_t timeout;                /*  38 */
    uint8_t retry_cnt;              /*  39 */
    uint8_t rnr_retry;              /*  40 */
    uint8_t alt_port_num;           /*  41 */
    uint8_t alt_timeout;            /*  42 */
    uint8_t reserved;               /*  43 */
    uint32_t rate_limit;            /*  44 */
    struct xenvhca_ah_attr ah;      /*  48 */
    struct xenvhca_ah_attr alt_ah;  /*  88 */
};                                  /* 128 */
struct xenvhca_modify_qp_req {
    uint32_t handle;                /*   0 */
    uint32_t reserved;              /*   4 */
    struct xenvhca_qp_attr attr;    /*   8 */
};                                  /* 136 */
struct xenvhca_query_qp_req {
    uint32_t handle;                /*   0 */
    uint32_t mask;                  /*   4 */
};                                  /*   8 */
struct xenvhca_query_qp_rsp {
    struct xenvhca_qp_attr attr;    /*   0 */
    struct xenvhca_qp_cap cap;      /* 128 */
    uint8_t sq_sig_all;             /* 152 */
    uint8_t reserved[7];            /* 153 */
};                                  /* 160 */

/*
 * CREATE_SRQ: shared receive queue; srq_type basic 0, XRC 1, tag matching 2. An
 * XRC SRQ has xrcd, and cq for its completions; an SRQ with tag matching has cq,
 * and the number of its entries in max_tags, at most XENVHCA_MAX_TAGS. Fields
 * that a type does not have are 0. The entries themselves are work requests of a
 * queue pair with that SRQ, in memory that the backend does not read.
 */
#define XENVHCA_MAX_TAGS                0xffffu /* the HCA's index has 16 bits */
struct xenvhca_create_srq_req {
    uint32_t pd;                    /*   0 */
    uint32_t max_wr;                /*   4 */
    uint32_t max_sge;               /*   8 */
    uint32_t srq_limit;             /*  12 */
    struct xenvhca_pages buf;       /*  16 */
    struct xenvhca_pages db;        /*  56 */
    uint32_t srq_type;              /*  96 */
    uint32_t xrcd;                  /* 100 */
    uint32_t cq;                    /* 104 */
    uint32_t max_tags;              /* 108 */
};                                  /* 112 */
struct xenvhca_create_srq_rsp {
    uint32_t handle;                /*   0 */
    uint32_t max_wr;                /*   4 */
    uint32_t max_sge;               /*   8 */
    uint32_t srqn;                  /*  12 */
};                                  /*  16 */
/* MODIFY_SRQ: mask - IB_SRQ_MAX_WR (1), IB_SRQ_LIMIT (2). */
struct xenvhca_modify_srq_req {
    uint32_t handle;                /*   0 */
    uint32_t mask;                  /*   4 */
    uint32_t max_wr;                /*   8 */
    uint32_t srq_limit;             /*  12 */
    struct xenvhca_pages buf;       /*  16 */
};                                  /*  56 */
struct xenvhca_query_srq_rsp {
    uint32_t max_wr;                /*   0 */
    uint32_t max_sge;               /*   4 */
    uint32_t srq_limit;             /*   8 */
    uint32_t reserved;              /*  12 */
};                                  /*  16 */

/* CREATE_AH: address handle for UD. The answer is a struct xenvhca_handle_rsp. */
struct xenvhca_create_ah_req {
    uint32_t pd;                    /*   0 */
    uint32_t reserved;              /*   4 */
    struct xenvhca_ah_attr attr;    /*   8 */
};                                  /*  48 */

/* ATTACH_MCAST, DETACH_MCAST. */
struct xenvhca_mcast_req {
    uint32_t qp;                    /*   0 */
    uint16_t mlid;                  /*   4 */
    uint16_t reserved;              /*   6 */
    uint8_t gid[16];                /*   8 */
};                                  /*  24 */

/*
 * ALLOC_CM: opens a file of the connection manager of the backend's domain
 * (Linux: /dev/infiniband/rdma_cm); ucontext = 0, no udata. The answer is a
 * struct xenvhca_handle_rsp.
 * DEALLOC_CM: closes it. Its ids end, and nothing listens any more when this
 * is answered. ucontext = 0.
 *
 * CM_COMMAND: a command on such a file; ucontext = 0.
 *
 * cm - handle of the file. cmd - RDMA_USER_CM_CMD_* of Linux'
 *   <rdma/rdma_user_cm.h>, ABI 4.
 * in - the struct of that command, whole, of which response and fd are 0;
 *   SET_OPTION has optval = 0 and the octets of the option behind the struct.
 *   in_len octets in all: the first XENVHCA_CM_IN are here, the others are the
 *   udata of the slot.
 * out_len - size of the process's buffer for the answer, in octets.
 * from - MIGRATE_ID: handle of the file that the id is in; else 0.
 *
 * Ids are those of the backend's domain; an id is valid in its file only. Events
 * return uid unchanged. Port numbers of answers are 1, ibdev_index is 0: the
 * frontend inserts its own. A device of answers is that of this vhca or none: an
 * address that belongs to another device is refused with -XEN_ENODEV, or by the
 * event ADDR_ERROR; a connection request from there is rejected.
 *
 * out - the struct of the command's answer, out_len octets; the first
 *   XENVHCA_CM_OUT are here, the others are udata.
 * events - 1: the file has events. seq - orders this and XENVHCA_EVT_CM: the one
 *   with the later number is valid (modulo 2^16).
 *
 * GET_EVENT does not wait: out_len = 0 if there is no event.
 *
 * Besides XEN_E* the status may be -97, -101 or -113: EAFNOSUPPORT,
 * ENETUNREACH, EHOSTUNREACH of Linux.
 *
 * The commands of a file are executed one after the other, beside all other
 * ops. No more than XENVHCA_CM_SLOTS may be without an answer; one more is
 * answered with -XEN_EBUSY.
 */
struct xenvhca_cm_command_req {
    uint32_t cm;                    /*   0 */
    uint32_t cmd;                   /*   4 */
    uint16_t in_len;                /*   8 */
    uint16_t out_len;               /*  10 */
    uint32_t from;                  /*  12 */
    uint8_t in[XENVHCA_CM_IN];      /*  16 */
};                                  /* 240 */
struct xenvhca_cm_command_rsp {
    uint16_t out_len;               /*   0 */
    uint16_t seq;                   /*   2 */
    uint32_t events;                /*   4 */
    uint8_t out[XENVHCA_CM_OUT];    /*   8 */
};                                  /* 240 */

/*
 * ALLOC_UMAD: opens a file for management datagrams of the HCA's port (Linux:
 * /dev/infiniband/umad<n>); ucontext = 0, no udata. The answer is a struct
 * xenvhca_handle_rsp.
 * DEALLOC_UMAD: closes it. When this is answered, its agents are gone and their
 * sends are cancelled. ucontext = 0.
 *
 * REGISTER_UMAD: an agent of that file; ucontext = 0. Fields as in struct
 * ib_user_mad_reg_req2 of Linux' <rdma/ib_user_mad.h>; flags of it are 0. With
 * umad=query method_mask is 0: an agent that receives answers only.
 * UNREGISTER_UMAD: ends the agent; ucontext = 0. id - 0..XENVHCA_UMAD_AGENTS - 1.
 */
struct xenvhca_register_umad_req {
    uint32_t umad;                  /*   0 */
    uint32_t qpn;                   /*   4, 0 or 1 */
    uint64_t method_mask[2];        /*   8 */
    uint32_t oui;                   /*  24 */
    uint8_t mgmt_class;             /*  28 */
    uint8_t mgmt_class_version;     /*  29 */
    uint8_t rmpp_version;           /*  30 */
    uint8_t reserved;               /*  31 */
};                                  /*  32 */
struct xenvhca_register_umad_rsp {
    uint32_t id;                    /*   0 */
    uint32_t reserved;              /*   4 */
};                                  /*   8 */
struct xenvhca_unregister_umad_req {
    uint32_t umad;                  /*   0 */
    uint32_t id;                    /*   4 */
};                                  /*   8 */

/*
 * SEND_UMAD: a datagram; ucontext = 0.
 *
 * len - octets of packet: a struct ib_user_mad_hdr, whose status and length are
 *   0, and one datagram, 24 .. 256 octets. The first XENVHCA_UMAD_BODY octets
 *   are here, the others are the udata of the slot.
 *
 * pkey_index is that of the guest's table. The answer to a request has the upper
 * half of the request's transaction id, although another one is on the wire.
 * timeout_ms and retries may be reduced. -XEN_EPERM: not allowed with this
 * umad=. -XEN_EINVAL, also: the agent already waits for an answer to such a
 * transaction. -XEN_ENOMEM: it waits for too many. -XEN_EAGAIN: the rate is
 * exceeded, try again later.
 */
struct xenvhca_send_umad_req {
    uint32_t umad;                  /*   0 */
    uint16_t len;                   /*   4 */
    uint16_t reserved;              /*   6 */
    uint8_t packet[XENVHCA_UMAD_BODY]; /*   8 */
};                                  /* 240 */

/*
 * RECV_UMAD: octets from offset on of the file's first packet, which is a struct
 * ib_user_mad_hdr and the received datagram: at most XENVHCA_UMAD_BODY octets in
 * the answer's body, the others in udata, all of which is requested (out_len). It
 * does not wait. The packet is removed when its last octet was requested.
 * ucontext = 0.
 *
 * len - of the whole packet, at most XENVHCA_UMAD_RECV_MAX; 0: there is none.
 * events - 1: the file has a packet, perhaps this one. seq - as of CM_COMMAND,
 *   orders this and XENVHCA_EVT_UMAD.
 *
 * A longer answer is delivered as 24 octets with status EMSGSIZE (90), an answer
 * without room in the backend's quota as 24 octets with status ENOBUFS (105).
 */
struct xenvhca_recv_umad_req {
    uint32_t umad;                  /*   0 */
    uint32_t offset;                /*   4 */
};                                  /*   8 */
struct xenvhca_recv_umad_rsp {
    uint32_t len;                   /*   0 */
    uint16_t seq;                   /*   4 */
    uint16_t events;                /*   6 */
    uint8_t packet[XENVHCA_UMAD_BODY]; /*   8 */
};                                  /* 240 */

/*
 * Slot of the command ring.
 *
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |               id                |               op                | 4
 * +----------------+----------------+----------------+----------------+
 * |                             ucontext                              | 8
 * +----------------+----------------+----------------+----------------+
 * |         in_len                  |          out_len                | 12
 * +----------------+----------------+----------------+----------------+
 * |                              flags                                | 16
 * +----------------+----------------+----------------+----------------+
 * |                           u, 240 octets                           | 256
 * +----------------+----------------+----------------+----------------+
 * |                         udata, 256 octets                         | 512
 * +----------------+----------------+----------------+----------------+
 *
 * ucontext - handle of the verbs context, 0 where an op says so. 0 with
 *   MODIFY_QP, QUERY_QP and DESTROY_QP: an XRC target.
 * in_len - octets of udata that are valid in the request. out_len - size of the
 *   provider's buffer for the response's udata.
 * flags - XENVHCA_REQ_RANGES: struct xenvhca_made_rsp. Other bits, and this one
 *   with other ops, are refused.
 */
struct xenvhca_request {
    uint16_t id;                    /*   0 */
    uint16_t op;                    /*   2 */
    uint32_t ucontext;              /*   4 */
    uint16_t in_len;                /*   8 */
    uint16_t out_len;               /*  10 */
    uint32_t flags;                 /*  12 */
    union {
        uint8_t raw[XENVHCA_BODY_SIZE];
        uint64_t align;
        struct xenvhca_handle_req handle;
        struct xenvhca_query_gid_table_req query_gid_table;
        struct xenvhca_query_pkey_table_req query_pkey_table;
        struct xenvhca_counters_req counters;
        struct xenvhca_mmap_req mmap;
        struct xenvhca_munmap_req munmap;
        struct xenvhca_reg_mr_req reg_mr;
        struct xenvhca_rereg_mr_req rereg_mr;
        struct xenvhca_alloc_mw_req alloc_mw;
        struct xenvhca_create_cq_req create_cq;
        struct xenvhca_resize_cq_req resize_cq;
        struct xenvhca_modify_cq_req modify_cq;
        struct xenvhca_create_qp_req create_qp;
        struct xenvhca_modify_qp_req modify_qp;
        struct xenvhca_query_qp_req query_qp;
        struct xenvhca_create_srq_req create_srq;
        struct xenvhca_modify_srq_req modify_srq;
        struct xenvhca_create_ah_req create_ah;
        struct xenvhca_mcast_req mcast;
        struct xenvhca_cm_command_req cm_command;
        struct xenvhca_register_umad_req register_umad;
        struct xenvhca_unregister_umad_req unregister_umad;
        struct xenvhca_send_umad_req send_umad;
        struct xenvhca_recv_umad_req recv_umad;
    } u;                            /*  16 */
    uint8_t udata[XENVHCA_UDATA_SIZE]; /* 256 */
};                                  /* 512 */
#define XENVHCA_REQ_RANGES              (1u << 0)

/*
 * The response has the same layout; status takes the place of ucontext and
 * out_len is the number of valid octets of udata (never more than requested).
 *
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |               id                |               op                | 4
 * +----------------+----------------+----------------+----------------+
 * |                              status                               | 8
 * +----------------+----------------+----------------+----------------+
 * |         out_len                 |          reserved               | 12
 * +----------------+----------------+----------------+----------------+
 * |                            reserved1                              | 16
 * +----------------+----------------+----------------+----------------+
 * |                           u, 240 octets                           | 256
 * +----------------+----------------+----------------+----------------+
 * |                         udata, 256 octets                         | 512
 * +----------------+----------------+----------------+----------------+
 */
struct xenvhca_response {
    uint16_t id;                    /*   0 */
    uint16_t op;                    /*   2 */
    int32_t status;                 /*   4 */
    uint16_t out_len;               /*   8 */
    uint16_t reserved;              /*  10 */
    uint32_t reserved1;             /*  12 */
    union {
        uint8_t raw[XENVHCA_BODY_SIZE];
        uint64_t align;
        struct xenvhca_get_info_rsp get_info;
        struct xenvhca_query_device_rsp query_device;
        struct xenvhca_query_port_rsp query_port;
        struct xenvhca_query_gid_table_rsp query_gid_table;
        struct xenvhca_query_pkey_table_rsp query_pkey_table;
        struct xenvhca_query_counter_names_rsp query_counter_names;
        struct xenvhca_query_counters_rsp query_counters;
        struct xenvhca_alloc_ucontext_rsp alloc_ucontext;
        struct xenvhca_mmap_rsp mmap;
        struct xenvhca_handle_rsp handle; /* ALLOC_*, CREATE_AH */
        struct xenvhca_mr_rsp mr;               /* REG, REREG, ALLOC_MW */
        struct xenvhca_cq_rsp cq;               /* CREATE, RESIZE */
        struct xenvhca_create_qp_rsp create_qp;
        struct xenvhca_query_qp_rsp query_qp;
        struct xenvhca_create_srq_rsp create_srq;
        struct xenvhca_query_srq_rsp query_srq;
        struct xenvhca_made_rsp made;   /* CREATE_CQ, _QP, _SRQ, RESIZE_CQ */
        struct xenvhca_cm_command_rsp cm_command;
        struct xenvhca_register_umad_rsp register_umad;
        struct xenvhca_recv_umad_rsp recv_umad;
    } u;                            /*  16 */
    uint8_t udata[XENVHCA_UDATA_SIZE]; /* 256 */
};                                  /* 512 */

/*
 ******************************************************************************
 *                              Event ring
 ******************************************************************************
 *
 * One page, written by the backend, except cons. Indices run freely; slot =
 * index modulo XENVHCA_EVT_ENTRIES. The backend never overwrites a slot that
 * was not consumed: it drops the event, sets overflow to 1 and notifies. The
 * frontend clears overflow, then treats every CQ as completed and queries port,
 * GIDs and P_Keys. The backend holds XENVHCA_EVT_CQ, _QP, _SRQ and _PORT until
 * there is a slot, and drops them only if there is none for a second, or if they
 * arrive faster than the backend reads them.
 *
 * +----------------+----------------+----------------+----------------+
 * |      prod (backend)             | octet 0                         |
 * |      overflow                   | octet 4                         |
 * |      cons (frontend)            | octet 64                        |
 * |      event[256], 8 octets each  | octets 1024 .. 3071             |
 * +----------------+----------------+----------------+----------------+
 *
 * Event:
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |     type       |     event      |              seq                | 4
 * +----------------+----------------+----------------+----------------+
 * |                             handle                                | 8
 * +----------------+----------------+----------------+----------------+
 *
 * seq - of XENVHCA_EVT_CM and _UMAD; else 0.
 * type - XENVHCA_EVT_COMP: CQ handle has completions (event = 0).
 *        XENVHCA_EVT_CQ, _QP, _SRQ: asynchronous event (enum ib_event_type)
 *          of that object.
 *        XENVHCA_EVT_PORT: event of the port or device, handle = 0.
 *        XENVHCA_EVT_CM: the file handle of the connection manager has events
 *          (event = 0). Sent once, until the answer of a CM_COMMAND reports no
 *          more events; lost with an overflow, after which the frontend fetches
 *          the events of each file.
 *        XENVHCA_EVT_UMAD: the same for the file handle for management datagrams
 *          and its packets, with RECV_UMAD.
 */
#define XENVHCA_EVT_COMP                1
#define XENVHCA_EVT_CQ                  2
#define XENVHCA_EVT_QP                  3
#define XENVHCA_EVT_SRQ                 4
#define XENVHCA_EVT_PORT                5
#define XENVHCA_EVT_CM                  6
#define XENVHCA_EVT_UMAD                7
#define XENVHCA_EVT_ENTRIES             256

struct xenvhca_event {
    uint8_t type;                   /*   0 */
    uint8_t event;                  /*   1 */
    uint16_t seq;                   /*   2 */
    uint32_t handle;                /*   4 */
};                                  /*   8 */

struct xenvhca_evt_page {
    uint32_t prod;                  /*   0, backend */
    uint32_t overflow;              /*   4, frontend only clears it */
    uint8_t pad0[56];               /*   8 */
    uint32_t cons;                  /*  64, frontend */
    uint8_t pad1[956];              /*  68 */
    struct xenvhca_event event[XENVHCA_EVT_ENTRIES]; /* 1024 */
    uint8_t pad2[1024];             /* 3072 */
};                                  /* 4096 */

/*
 ******************************************************************************
 *                               Kick ring
 ******************************************************************************
 *
 * One page. The frontend writes prod, done_event and the entries, the backend
 * the rest. Indices run freely. An entry names a queue on which the backend
 * makes the system call that a native process would make.
 *
 * prod - entries produced. prod_event - the backend sleeps and needs a
 *   notification when prod reaches this value (as req_event of ring.h).
 * cons - entries copied out; advanced before an entry is executed, so that a
 *   queue whose entry is not yet consumed need not be named again: the
 *   frontend makes the work visible, then (full barrier) looks at cons; the
 *   backend advances cons, then (full barrier) looks at the work.
 * done - entries executed. done_event - the frontend sleeps and needs a
 *   notification when done reaches this value.
 *
 * +----------------+----------------+----------------+----------------+
 * |      prod        (frontend)     | octet 0                         |
 * |      done_event  (frontend)     | octet 4                         |
 * |      cons        (backend)      | octet 64                        |
 * |      done        (backend)      | octet 68                        |
 * |      prod_event  (backend)      | octet 72                        |
 * |      kick[256], 8 octets each   | octets 1024 .. 3071             |
 * +----------------+----------------+----------------+----------------+
 *
 * Kick:
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |     type       |     flags      |            reserved             | 4
 * +----------------+----------------+----------------+----------------+
 * |                             handle                                | 8
 * +----------------+----------------+----------------+----------------+
 *
 * type - XENVHCA_KICK_SEND: QP handle has new work in its send queue.
 *        XENVHCA_KICK_RECV: likewise its receive queue.
 *        XENVHCA_KICK_ARM: arm CQ handle; flags bit 0: solicited only. The
 *          frontend waits until done covers the entry, so that the arm is in
 *          force when the verb returns.
 */
#define XENVHCA_KICK_SEND               1
#define XENVHCA_KICK_RECV               2
#define XENVHCA_KICK_ARM                3
#define XENVHCA_KICK_SOLICITED          (1u << 0)
#define XENVHCA_KICK_ENTRIES            256

struct xenvhca_kick {
    uint8_t type;                   /*   0 */
    uint8_t flags;                  /*   1 */
    uint16_t reserved;              /*   2 */
    uint32_t handle;                /*   4 */
};                                  /*   8 */

struct xenvhca_kick_page {
    uint32_t prod;                  /*   0, frontend */
    uint32_t done_event;            /*   4, frontend */
    uint8_t pad0[56];               /*   8 */
    uint32_t cons;                  /*  64, backend */
    uint32_t done;                  /*  68, backend */
    uint32_t prod_event;            /*  72, backend */
    uint8_t pad1[948];              /*  76 */
    struct xenvhca_kick kick[XENVHCA_KICK_ENTRIES]; /* 1024 */
    uint8_t pad2[1024];             /* 3072 */
};                                  /* 4096 */

/*
 ******************************************************************************
 *                    A page in the place of xenstore
 ******************************************************************************
 *
 * Where domains have no xenstore (Xen without dom0, before 4.22), one page of
 * the guest for each device replaces the nodes of both ends. The guest grants it
 * to the backend domain, read-write, at a configured reference:
 * XENVHCA_STORE_FIRST_REF .. XENVHCA_STORE_LAST_REF, which kernels do not
 * allocate. The toolstack's nodes are files of the backend domain, so the page
 * has the frontend's nodes and the negotiation only.
 *
 * A node of the guest's device tree configures it:
 *
 *      vhca-2 {
 *              compatible = "xen-vhca,page";
 *              backend-domid = <3>;
 *              grant-ref = <2>;
 *      };
 *
 * The frontend writes the front half, the backend the back half. Each end copies
 * every number and text of the other half once, and checks the copy.
 *
 * magic - XENVHCA_STORE_MAGIC, written last, after the rest of the front half and
 *   before the page is granted. With another value the frontend withdraws the
 *   page: the backend unmaps it, then closes its end of the event channel, after
 *   which the frontend ends the grant.
 * layout - XENVHCA_STORE_LAYOUT, of this page. A backend that does not know the
 *   layout ignores the page.
 * port - an event channel that the frontend allocated for the backend. Each end
 *   notifies the other one after it wrote its state. The backend binds the
 *   channel as long as it maps the page. If it is unbound and the back half's
 *   state is not Closed, the backend has died.
 * state - enum xenbus_state. The writer issues a write barrier between its other
 *   fields and the state; the reader reads the state first, then issues a read
 *   barrier. The state diagram above holds.
 * versions, setup - as the nodes: text with a NUL; empty is an absent node.
 *
 * +----------------+----------------+----------------+----------------+
 * |      front_magic                | octet 0                         |
 * |      front_state                | octet 12                        |
 * |      front_setup                | octets 64 .. 319                |
 * |      back_state                 | octet 2048                      |
 * |      back_versions              | octets 2052 .. 2083             |
 * |      back_setup                 | octets 2084 .. 2115             |
 * +----------------+----------------+----------------+----------------+
 */
#define XENVHCA_STORE_COMPATIBLE         "xen-vhca,page"
#define XENVHCA_STORE_DOMID              "backend-domid"
#define XENVHCA_STORE_REF                "grant-ref"
#define XENVHCA_STORE_MAGIC              0x61636876      /* "vhca" */
#define XENVHCA_STORE_LAYOUT             1
#define XENVHCA_STORE_FIRST_REF          2       /* 0, 1: console, xenstore */
#define XENVHCA_STORE_LAST_REF           7
#define XENVHCA_STORE_TEXT               32
#define XENVHCA_STORE_SETUP              256     /* of the front half */

struct xenvhca_store_page {
    uint32_t front_magic;           /*   0 */
    uint32_t front_layout;          /*   4 */
    uint32_t front_port;            /*   8 */
    uint32_t front_state;           /*  12 */
    uint8_t front_pad0[48];         /*  16 */
    uint8_t front_setup[XENVHCA_STORE_SETUP]; /*  64 */
    uint8_t front_pad1[1728];       /* 320 */
    uint32_t back_state;            /* 2048 */
    uint8_t back_versions[XENVHCA_STORE_TEXT]; /* 2052 */
    uint8_t back_setup[XENVHCA_STORE_TEXT]; /* 2084 */
    uint8_t back_pad[1980];         /* 2116 */
};                                  /* 4096 */

DEFINE_RING_TYPES(xenvhca, struct xenvhca_request, struct xenvhca_response);

#endif /* __XEN_PUBLIC_IO_VHCAIF_H__ */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
