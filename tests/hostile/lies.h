/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The ways in which hostile-backend lies. It answers as a small HCA would
 * (model.c), except where the chosen lie says otherwise.
 */
#ifndef LIES_H
#define LIES_H

#include <time.h>

#include "peer.h"

enum stage { STAGE_BEGIN, STAGE_INITWAIT, STAGE_INITIALISED, STAGE_CONNECTED };

struct peer {
	const struct lie *lie;
	uint32_t domid;
	char front[PATH], back[PATH];
	const char *versions, *order;	/* nodes */
	bool refused;			/* the frontend will not go on */
	bool late;			/* versions come after InitWait */
	bool mlx5;			/* the HCA is one; else Soft-RoCE */
	bool files;			/* of rdma_cm and umad are served */
	bool kernel;			/* kernel=1: the HCA is an mlx5, and has rdma_cm */
	xengnttab_handle *gnt;
	xenevtchn_handle *ev;
	evtchn_port_t port[PORTS];
	uint32_t pages;
	struct xenvhca_sring *sring;
	xenvhca_back_ring_t ring;
	struct xenvhca_evt_page *evt;
	struct xenvhca_kick_page *kick;
	uint32_t evt_prod;
	uint32_t handle;		/* last one given out */
	uint32_t cq;			/* last one made, 0: none */
	time_t cq_since;
	uint32_t file[2];		/* of rdma_cm and umad, 0: none */
	uint32_t *record;		/* doorbell record of a CQ, or NULL */
	time_t detached;		/* when the backend began to close, or 0 */
	unsigned int served, told;	/* requests; lies told */
	unsigned int flood;		/* events of a flood */
	unsigned int asked;		/* for the port, since the flood began */
	bool gone;			/* the backend "died" */
	bool busy;			/* do not sleep */
};

/* ---- model.c ---- */
/* Fills an honest answer. */
void model_answer(struct peer *b, const struct xenvhca_request *req,
		  struct xenvhca_response *rsp);
void peer_put(struct peer *b, const struct xenvhca_response *rsp);
void peer_notify(struct peer *b, enum port p);
void peer_event(struct peer *b, const struct xenvhca_event *ev);
/*
 * Whether a flood rests: every third second, in which a guest with one slow processor
 * gets on with what the flood is to meet.
 */
bool peer_rests(struct peer *b);
/* One more of a flood; false: there is no room. peer_poured() notifies of all. */
bool peer_pour_one(struct peer *b, const struct xenvhca_event *ev);
void peer_poured(struct peer *b);
/* As many as there is room for, by one notification. */
void peer_pour(struct peer *b, const struct xenvhca_event *ev);

/* ---- arm.c ---- */
/* A lie's spoil: holds the doorbell record of the CQ that is made, while it is. */
bool arm_hold(struct peer *b, const struct xenvhca_request *req,
	      struct xenvhca_response *rsp);
/* A lie's idle: completions, each for a CQ that looks as armed anew. */
void arm_flood(struct peer *b);

/* ---- ranges.c: each spoils an answer; the number of lies told decides how ---- */
bool ranges_grefs(struct peer *b, const struct xenvhca_request *req,
		  struct xenvhca_response *rsp);
bool ranges_made(struct peer *b, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp);
bool ranges_huge(struct peer *b, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp);

/* ---- lies.c ---- */
bool lie_choose(struct peer *b, const char *name);
void lie_list(void);
/* True: the backend goes no further than this. */
bool lie_stage(struct peer *b, enum stage stage);
void lie_request(struct peer *b, const struct xenvhca_request *req);
/* Has this lie something to do while nobody asks? */
bool lie_has_idle(const struct peer *b);
/* Called all the time while connected. */
void lie_idle(struct peer *b);

#endif
