/* SPDX-License-Identifier: MIT */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the toolstack writes for the backend of a device, beside the nodes of
 * <xen/io/vhcaif.h>: which HCA serves it, and limits of what the guest may have. They are
 * in the backend's directory. An absent node means its default; numbers are decimal ASCII.
 *
 * hca
 *      Values:         <string>, 1..63 characters of [A-Za-z0-9_.-]
 *      Default Value:  none, mandatory
 *      Writer:         toolstack
 *
 *      Name of the RDMA device of the backend domain (/sys/class/infiniband).
 *
 * port
 *      Values:         1..255
 *      Default Value:  1
 *      Writer:         toolstack
 *
 *      Physical port shown to the guest, there always as port 1.
 *
 * max-ucontext, max-pd, max-cq, max-qp, max-srq, max-ah, max-mr, max-mw,
 * max-mcast, max-mmap, max-xrcd, max-cm, max-umad
 *      Values:         1..65535
 *      Default Value:  128, 1024, 2048, 2048, 512, 4096, 8192, 1024, 256,
 *                      8192, 256, 1024, 64
 *      Writer:         toolstack
 *
 *      Number of objects of a kind that this device may own at once: open
 *      verbs contexts, protection domains, completion queues, queue pairs,
 *      shared receive queues, address handles, memory regions, memory windows,
 *      multicast attachments, ranges of queue memory granted to the guest and
 *      doorbell pages, XRC domains, open files of the connection manager, open
 *      files for management datagrams. For each of max-ucontext the guest may
 *      own XENVHCA_UCONTEXT_UARS doorbell pages of the HCA, mapped or not; of
 *      an mlx4 one.
 *      Contexts whose doorbell pages the guest may still reach (PV, Arm) count
 *      until the guest is gone; a later process that opens the device in the
 *      same way gets one of them.
 *
 * max-cm-id
 *      Values:         1..65535
 *      Default Value:  4096
 *      Writer:         toolstack
 *
 *      Number of ids of the connection manager (listeners, connections, joined
 *      multicast groups) that this device may have at once. As many requests
 *      again may wait at its listeners.
 *
 * max-pinned-mb
 *      Values:         1..1048576 (MiB)
 *      Default Value:  128
 *      Writer:         toolstack
 *
 *      Upper bound of guest memory mapped and pinned for this device, and, as
 *      a second sum, of queue memory that the HCA's driver allocates for it.
 *
 * max-cmd-rate, max-evt-rate
 *      Values:         0..10000000 (per second), 0 = unlimited
 *      Default Value:  20000, 100000
 *      Writer:         toolstack
 *
 *      Token buckets (one second deep) for commands other than destroy
 *      commands, and for events. A command over the rate waits, it does not
 *      fail; a completion over the rate is reported by the overflow flag.
 *
 *      Two more buckets of the backend have no node. Commands that the HCA's
 *      driver refuses, each of which may cost a line in the kernel log: 10 per
 *      second, 1000 deep; while the bucket is empty commands other than destroy
 *      commands wait. Kicks: 500000 per second; further ones are executed later.
 *
 * spin-us
 *      Values:         0..1000 (microseconds)
 *      Default Value:  50
 *      Writer:         toolstack
 *
 *      Longest time for which the backend polls the command ring or the kick
 *      ring before it sleeps. The backend polls less, or not at all, after
 *      polling found nothing. Each side writes req_event, rsp_event, prod_event
 *      or done_event only when it is about to sleep; while it polls it needs no
 *      notification.
 *
 * trusted
 *      Values:         0, 1
 *      Default Value:  0
 *      Writer:         toolstack
 *
 *      1: the guest may use features that, because of defects of the HCA's
 *      driver, can harm the backend domain and other guests. With Soft-RoCE
 *      these are memory windows and their invalidation.
 *
 * port-counters
 *      Values:         0, 1
 *      Default Value:  0
 *      Writer:         toolstack
 *
 *      1: the guest may read the counters of the physical port and of the HCA,
 *      which include the traffic of the backend domain and of other guests.
 *      Counters of this vhca alone are the frontend's.
 *
 * umad
 *      Values:         query, all
 *      Default Value:  absent: the guest sends and gets no management datagrams
 *      Writer:         toolstack
 *
 *      Management datagrams (MADs) of the port's general and subnet management
 *      interface that the guest's root may send. query: datagrams that change
 *      nothing: Get and GetTable of subnet administration without an SM_Key,
 *      Get of performance management, and the vendor class of ibping; all to
 *      queue pair 1 with its well-known Q_Key. The guest receives the answers
 *      only. all: all datagrams that the backend domain's root may send; the
 *      guest can then reconfigure the fabric.
 *
 * vif
 *      Values:         0..65535
 *      Default Value:  absent: to everything but RDMA, the addresses of ip are
 *                      the backend domain's
 *      Writer:         toolstack
 *      Notes:          only with ip
 *
 *      The number of the guest's vif, whose backend is the same domain. All other
 *      traffic to and from these addresses is the guest's: the backend domain
 *      passes it on between this vif and the HCA's network. The vif may come and
 *      go; RDMA does not depend on it.
 *
 * pkeys
 *      Values:         1..32 (XENVHCA_MAX_PKEYS) P_Keys, hexadecimal with 0x,
 *                      separated by blanks; bit 15 is full membership
 *      Default Value:  absent: with ip, the default partition (0xffff, or 0x7fff
 *                      where the port is a limited member); without, the guest
 *                      shares all partitions of the port
 *      Writer:         toolstack
 *
 *      The guest's P_Key table, in this order: its index 0 is the first one. An
 *      entry that the port does not have is 0 and cannot be used.
 *
 * doorbell-static
 *      Values:         "<mfn> <gfn> <nr>", hexadecimal with 0x
 *      Default Value:  absent: the doorbell agent maps doorbell pages
 *      Writer:         toolstack
 *
 *      Without a control domain Xen maps doorbell pages when it creates the
 *      guest: nr pages from machine frame mfn on, at guest frame gfn, which is in
 *      the guest's device tree (XENVHCA_TREE_DOORBELLS). The guest has them as
 *      long as it lives. The ranges of two guests must not overlap, and must not
 *      include pages of the HCA's driver. The backend gives the guest only
 *      contexts of the HCA with all their pages in this range.
 */
#ifndef VHCA_KEYS_H
#define VHCA_KEYS_H

#include <xen/io/vhcaif.h>

/* Xenstore node names. */
#define XENVHCA_NODE_HCA                "hca"
#define XENVHCA_NODE_PORT               "port"
#define XENVHCA_NODE_MAX_PINNED_MB      "max-pinned-mb"
#define XENVHCA_NODE_MAX_UCONTEXT       "max-ucontext"
#define XENVHCA_NODE_MAX_CM_ID          "max-cm-id"
#define XENVHCA_NODE_MAX_CMD_RATE       "max-cmd-rate"
#define XENVHCA_NODE_MAX_EVT_RATE       "max-evt-rate"
#define XENVHCA_NODE_SPIN_US            "spin-us"
#define XENVHCA_NODE_TRUSTED            "trusted"
#define XENVHCA_NODE_PORT_COUNTERS      "port-counters"
#define XENVHCA_NODE_UMAD               "umad"
#define XENVHCA_NODE_VIF                "vif"
#define XENVHCA_NODE_PKEYS              "pkeys"
#define XENVHCA_NODE_DOORBELL_STATIC    "doorbell-static"

/* Values of umad. */
#define XENVHCA_UMAD_QUERY              "query"
#define XENVHCA_UMAD_ALL                "all"

/*
 * Kinds of objects: X(KIND, word, default). The node "max-WORD" of the toolstack
 * bounds the number of them that a guest may have, 1..XENVHCA_MAX_OBJECTS. A kind
 * uses only kinds before it, so a context is emptied from the last kind to the
 * first. The comment of a row, here and below, is the text of the key in manuals.
 */
#define XENVHCA_MAX_OBJECTS             65535
#define XENVHCA_KINDS(X) \
    X(UCONTEXT, ucontext, 128)   /* verbs contexts; 8 doorbell pages each */ \
    X(XRCD, xrcd, 256)           /* XRC domains */ \
    X(PD, pd, 1024)              /* protection domains */ \
    X(CQ, cq, 2048)              /* completion queues */ \
    X(MR, mr, 8192)              /* memory regions */ \
    X(MW, mw, 1024)              /* memory windows */ \
    X(AH, ah, 4096)              /* address handles */ \
    X(SRQ, srq, 512)             /* shared receive queues */ \
    X(QP, qp, 2048)              /* queue pairs */ \
    X(MCAST, mcast, 256)         /* multicast attachments */ \
    X(MMAP, mmap, 8192)          /* queue memory ranges */ \
    X(CM, cm, 1024)              /* open files of the connection manager */ \
    X(UMAD, umad, 64)            /* open files for management datagrams */

/* Other numbers of the toolstack: X(NODE, least, most, default). */
#define XENVHCA_NUMBERS(X) \
    X(MAX_PINNED_MB, 1, 1048576, 128)       /* guest memory in use (MiB) */ \
    X(MAX_CM_ID, 1, 65535, 4096)            /* rdma_cm ids: listeners, connections, groups */ \
    X(MAX_CMD_RATE, 0, 10000000, 20000)     /* commands per second (0: any) */ \
    X(MAX_EVT_RATE, 0, 10000000, 100000)    /* events per second (0: any) */ \
    X(SPIN_US, 0, 1000, 50)                 /* longest busy wait (us) */ \
    X(TRUSTED, 0, 1, 0)                     /* 1: may harm the backend */ \
    X(PORT_COUNTERS, 0, 1, 0)               /* 1: may read the port's counters */ \
    X(KERNEL, 0, 1, 0)                      /* 1: for the guest's kernel alone */ \
    X(KERNEL_POOL_MB, 1, 1024, 32)          /* its memory for I/O (MiB) */

/* XENVHCA_DEF_MAX_PD and so on; XENVHCA_MOST_SPIN_US and so on. */
#define XENVHCA_KIND_(KIND, word, def) XENVHCA_DEF_MAX_##KIND = (def),
#define XENVHCA_NUMBER_(NODE, least, most, def) \
    XENVHCA_DEF_##NODE = (def), XENVHCA_MOST_##NODE = (most),
enum {
    XENVHCA_KINDS(XENVHCA_KIND_)
    XENVHCA_NUMBERS(XENVHCA_NUMBER_)
    XENVHCA_DEF_PORT = 1, XENVHCA_MOST_PORT = 255
};
#undef XENVHCA_KIND_
#undef XENVHCA_NUMBER_

_Static_assert((int)XENVHCA_DEF_KERNEL_POOL_MB == XENVHCA_POOL_MB_DEFAULT &&
               (int)XENVHCA_MOST_KERNEL_POOL_MB == XENVHCA_POOL_MB_MOST,
               "what the frontend takes for kernel-pool-mb");

#define XENVHCA_MOST_VIF                65535

#endif
