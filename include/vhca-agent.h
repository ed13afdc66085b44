/* SPDX-License-Identifier: MIT */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The dialogue of backend and doorbell agent, by two nodes of the backend's directory.
 *
 * Only for HCAs whose doorbells are pages of a PCI BAR. The backend asks the
 * doorbell agent of the control domain to map such a page into the guest; the
 * agent reads the PCI address of the HCA from the toolstack's own node
 * /libxl/<domid>/device/vhca/<devid>/pci ("0000:00:05.0").
 *
 * doorbell/requests
 *      Values:         up to XENVHCA_DOORBELL_BATCH of
 *                      "<n> <slot> map <mfn> <gfn> <nr>", "<n> <slot> unmap"
 *                      and "<n> all unmap", with ";" between them, and at most
 *                      XENVHCA_DOORBELL_TEXT octets; mfn, gfn and nr are
 *                      hexadecimal with 0x, gfn is 0x0 for a PV guest;
 *                      slot = 0 .. XENVHCA_DOORBELL_SLOTS - 1, decimal
 *      Default Value:  absent
 *      Writer:         backend
 *      Reader:         doorbell agent
 *
 *      Requests without an answer, and possibly some with one. map permits the
 *      guest to use nr (now: 1) pages from machine frame mfn on, a translated
 *      guest at guest frame gfn. A slot has one mapping at a time. "all unmap"
 *      ends all mappings of the device; a backend that finds this node when it
 *      starts sends it first.
 *
 *      n, decimal, is a number that no earlier request of the device had, and
 *      greater than that of the request before it in the list. So an answer
 *      belongs to one request however often the node was written meanwhile. The
 *      agent executes requests in this order and skips those that have an
 *      answer. A request that is removed from the list before it has an answer
 *      may have been executed. A list that breaks these rules is refused as a
 *      whole.
 *
 *      When the node or the device is removed, all mappings end without an
 *      answer.
 *
 * doorbell/answers
 *      Values:         "<n> mapped", "<n> unmapped" or "<n> refused <reason>",
 *                      with ";" between them
 *      Default Value:  absent
 *      Writer:         doorbell agent
 *      Reader:         backend
 *
 *      The agent's answers to requests that it has executed. n = 0 answers the
 *      whole list, which the agent did not understand. A refused map or unmap
 *      does not change its slot. An unmap of a slot without a mapping is
 *      answered "unmapped". With a reason of XENVHCA_DOORBELL_REASON_* another
 *      guest has the page, and another page of the HCA may be mapped; other
 *      reasons apply to each page.
 */
#ifndef VHCA_AGENT_H
#define VHCA_AGENT_H

#include <xen/io/vhcaif.h>

/* Xenstore node names. */
#define XENVHCA_NODE_DOORBELL           "doorbell"      /* directory */
#define XENVHCA_NODE_DOORBELL_REQUESTS  "requests"      /* in it */
#define XENVHCA_NODE_DOORBELL_ANSWERS   "answers"       /* in it */
#define XENVHCA_NODE_PCI                "pci"           /* below /libxl */

/* Words of doorbell requests and answers. */
#define XENVHCA_DOORBELL_MAP            "map"
#define XENVHCA_DOORBELL_UNMAP          "unmap"
#define XENVHCA_DOORBELL_ALL            "all"           /* instead of a slot */
#define XENVHCA_DOORBELL_MAPPED         "mapped"
#define XENVHCA_DOORBELL_UNMAPPED       "unmapped"
#define XENVHCA_DOORBELL_REFUSED        "refused"       /* + reason */
#define XENVHCA_DOORBELL_REASON_OTHER   "mapped into another guest"
#define XENVHCA_DOORBELL_REASON_HELD \
    "was mapped into another guest that still runs"

/* Limits of the dialogue. */
#define XENVHCA_DOORBELL_BATCH          16      /* requests at a time */
#define XENVHCA_DOORBELL_TEXT           1800    /* of 2,048 that xenstored allows */

#endif
