// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/iw*.c: connections of the guest's kernel. No order of events, answers and
 * wishes makes iw_cm hear what it takes for a bug, and nothing is left of a connection.
 */
#include "front_iw.h"

#define DATA		"of the peer"

static int setup(void **state)
{
	(void)state;
	iw_begins();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	iw_ends();
	return be.ids;
}

static struct vhca_conn *conn_of(u32 cookie)
{
	return xa_load(&iw_kern.iw->conns, cookie);
}

static u32 last_cookie(void)
{
	return iw_kern.iw->next;
}

static void peer_has_data(void)
{
	strcpy((char *)be.event.param.conn.private_data, DATA);
	be.event.param.conn.private_data_len = sizeof(DATA);
	be.event.param.conn.responder_resources = 7;
	be.event.param.conn.initiator_depth = 4;
}

/* A listener, and a request: the last of iws. */
static struct iw *requested(void)
{
	struct iw *listener = iw_new(IW_IDLE);

	assert_int_equal(iw_listens(listener), 0);
	be.event.id = 55;
	be.ids++;
	be_says(last_cookie(), RDMA_CM_EVENT_CONNECT_REQUEST);
	return &iws[iw_nr - 1];
}

/* A connection in @state; its cookie is the last. */
static struct iw *conn_in(enum vhca_conn_state state)
{
	struct iw *iw;

	if (state == VHCA_CONN_LISTEN) {
		iw = iw_new(IW_IDLE);
		assert_int_equal(iw_listens(iw), 0);
		return iw;
	}
	if (state == VHCA_CONN_REQUEST)
		return requested();
	iw = iw_new(IW_IDLE);
	assert_int_equal(iw_connects(iw, 100, 9), 0);
	thread_runs();
	if (state >= VHCA_CONN_ROUTE)
		be_says(last_cookie(), RDMA_CM_EVENT_ADDR_RESOLVED);
	if (state >= VHCA_CONN_REPLY)
		be_says(last_cookie(), RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (state == VHCA_CONN_UP)
		be_says(last_cookie(), RDMA_CM_EVENT_CONNECT_RESPONSE);
	return iw;
}

static void states_are(enum vhca_conn_state state)
{
	assert_non_null(conn_of(last_cookie()));
	assert_int_equal(conn_of(last_cookie())->state, state);
}

/* ---- what should be ---- */

static void a_connection_goes_up_and_down(void **state)
{
	struct iw *iw = conn_in(VHCA_CONN_REPLY);

	states_are(VHCA_CONN_REPLY);
	assert_string_equal(be.said, "Carc");
	assert_int_equal(be.param.qp_num, 100);
	assert_int_equal(be.param.responder_resources, 5);
	assert_int_equal(be.param.initiator_depth, 16);	/* what the HCA can */
	assert_int_equal(be.param.valid, 1);
	assert_string_equal((char *)be.param.private_data, "connects");
	assert_int_equal(be.param.private_data_len, 9);
	peer_has_data();
	be.attr_mask = IB_QP_AV;
	be_says(last_cookie(), RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_string_equal(be.said, "CarcqqqA");
	assert_int_equal(be.param.valid, 0);
	assert_memory_equal(be.qp_steps, "\1\2\3", 3);
	assert_int_equal(be.qp_masks[0], IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_AV);
	assert_string_equal(iw->heard, "U");
	assert_string_equal((char *)iw->data, DATA);
	/* The peer's, as seen from there. */
	assert_int_equal(iw->ird, 4);
	assert_int_equal(iw->ord, 7);
	qp_to(iw_qp[0], IB_QPS_SQD);
	assert_int_equal(iw_qp[0]->qp.state, IB_QPS_RTS);	/* the thread does it */
	thread_runs();
	assert_int_equal(iw_qp[0]->qp.state, IB_QPS_ERR);
	assert_string_equal(iw->heard, "UDC");
	assert_string_equal(be.said, "CarcqqqAD");
}

static void a_request_is_accepted(void **state)
{
	struct iw *iw;

	peer_has_data();
	iw = requested();
	assert_string_equal(be.said, "CblQ");
	assert_int_equal(iw->ird, 4);
	assert_int_equal(iw->ord, 7);
	assert_int_equal(iw_accepts(iw, 101, 8), 0);
	thread_runs();
	states_are(VHCA_CONN_UP);
	assert_string_equal(be.said, "CblQqqqA");
	assert_int_equal(be.last, 55);
	assert_int_equal(be.param.qp_num, 101);
	assert_int_equal(be.param.valid, 1);
	assert_string_equal((char *)be.param.private_data, "accepts");
	assert_string_equal(iw->heard, "E");
	assert_false(iw->waits);		/* for a peer that says nothing */
	be_says(last_cookie(), RDMA_CM_EVENT_ESTABLISHED);
	assert_string_equal(iw->heard, "E");
	assert_int_equal(pauses, 0);		/* it was awaited */
	be_says(last_cookie(), RDMA_CM_EVENT_DISCONNECTED);
	assert_string_equal(iw->heard, "EDC");
	assert_int_equal(iw_qp[1]->qp.state, IB_QPS_ERR);
}

/* A peer that never takes the reply keeps no consumer waiting for the end. */
static void what_was_accepted_ends_without_the_peer(void **state)
{
	struct iw *iw = requested();

	assert_int_equal(iw_accepts(iw, 100, 0), 0);
	thread_runs();
	qp_to(iw_qp[0], IB_QPS_SQD);
	thread_runs();
	assert_string_equal(iw->heard, "EDC");
	iw = requested();
	qp_renewed(0);
	assert_int_equal(iw_accepts(iw, 100, 0), 0);
	thread_runs();
	be_says(last_cookie(), RDMA_CM_EVENT_UNREACHABLE);
	assert_string_equal(iw->heard, "EDC");
}

static void a_request_is_rejected_with_data(void **state)
{
	struct iw *iw = requested();

	iw_rejects(iw, 255);
	thread_runs();
	assert_string_equal(be.said, "CblQRD");
	assert_string_equal((char *)be.param.private_data, "rejects");
	assert_int_equal(be.param.private_data_len, 255);
	assert_null(conn_of(last_cookie()));
	assert_string_equal(iw->heard, "");
}

static void a_listener_that_fails_says_why(void **state)
{
	struct iw *iw = iw_new(IW_IDLE);

	be.fail[RDMA_USER_CM_CMD_LISTEN] = -EADDRINUSE;
	assert_int_equal(iw_listens(iw), -EADDRINUSE);
	assert_string_equal(be.said, "CbD");
	be.fail[RDMA_USER_CM_CMD_CREATE_ID] = -EDQUOT;
	assert_int_equal(iw_listens(iw), -EDQUOT);
	assert_int_equal(iw->refs, 1);
}

static int listens_at(sa_family_t family, u8 last, bool afonly)
{
	struct sockaddr_in6 in6 = { .sin6_family = family, .sin6_addr.s6_addr[15] = last };
	struct sockaddr_in in = { .sin_family = family, .sin_addr.s_addr = htonl(last) };
	struct iw *iw = iw_new(IW_IDLE);

	memcpy(&iw->id.m_local_addr, family == AF_INET ? (void *)&in : &in6,
	       family == AF_INET ? sizeof(in) : sizeof(in6));
	iw->id.afonly = afonly;
	memset(be.said, 0, sizeof(be.said));
	assert_int_equal(iw_listens(iw), 0);
	iw_destroys(iw);
	thread_runs();
	return strlen(be.said);
}

/* Else rdma_cm's listener, which is at all devices, fails as a whole. */
static void a_wildcard_of_a_family_without_an_address_listens(void **state)
{
	assert_int_equal(listens_at(AF_INET6, 0, true), 0);
	assert_int_equal(listens_at(AF_INET6, 0, false), 4);	/* of IPv4, too */
	assert_int_equal(listens_at(AF_INET6, 1, true), 4);	/* the backend's to refuse */
	assert_int_equal(listens_at(AF_INET, 0, true), 4);
	memset(iw_dev.nets.net[0].addr, 0xfd, 16);
	assert_int_equal(listens_at(AF_INET, 0, false), 0);
	assert_int_equal(listens_at(AF_INET, 1, false), 4);
	assert_int_equal(listens_at(AF_INET6, 0, true), 4);
}

/* ---- each event in each state ---- */

#define EVENT_END	20	/* beyond the last one */
#define EVENT_KINDS	17	/* and one that is none */

/* What iw_cm hears of an event, in a state: NULL: nothing, and the connection stays. */
static const char *expected(enum vhca_conn_state state, u32 event)
{
	static const u8 ends = 1, goes = 2;
	static const u8 what[VHCA_CONN_STATES][EVENT_END] = {
		[VHCA_CONN_LISTEN] = { [RDMA_CM_EVENT_CONNECT_REQUEST] = 2 },
		[VHCA_CONN_ADDR] = { [RDMA_CM_EVENT_ADDR_RESOLVED] = 2,
			[RDMA_CM_EVENT_ADDR_ERROR] = 1, [RDMA_CM_EVENT_DEVICE_REMOVAL] = 1 },
		[VHCA_CONN_ROUTE] = { [RDMA_CM_EVENT_ROUTE_RESOLVED] = 2,
			[RDMA_CM_EVENT_ROUTE_ERROR] = 1, [RDMA_CM_EVENT_DEVICE_REMOVAL] = 1 },
		[VHCA_CONN_REPLY] = { [RDMA_CM_EVENT_CONNECT_RESPONSE] = 2,
			[6] = 1, [7] = 1, [8] = 1, [10] = 1, [11] = 1 },
		[VHCA_CONN_UP] = { [6] = 1, [7] = 1, [8] = 1, [10] = 1, [11] = 1 },
	};

	if (what[state][event] == goes)
		return state == VHCA_CONN_REPLY ? "U" : "";
	if (what[state][event] != ends)
		return NULL;
	return state == VHCA_CONN_UP ? "UDC" : "R";
}

static void check_event(enum vhca_conn_state state, u32 event)
{
	struct iw *iw = conn_in(state);
	const char *hears = expected(state, event);
	struct vhca_conn *conn = conn_of(last_cookie());
	u32 cookie = last_cookie();

	assert_int_equal(conn->state, state);
	be_says(cookie, event);
	if (!hears) {
		assert_ptr_equal(conn_of(cookie), conn);
		assert_int_equal(conn->state, state);
		assert_string_equal(iw->heard, state == VHCA_CONN_UP ? "U" : "");
		return;
	}
	assert_string_equal(iw->heard, hears);
	if (*hears && hears[strlen(hears) - 1] != 'U')
		assert_null(conn_of(cookie));
	else
		assert_non_null(conn_of(cookie));
}

static void each_event_counts_in_its_state_only(void **state)
{
	static const enum vhca_conn_state all[] = {
		VHCA_CONN_LISTEN, VHCA_CONN_ADDR, VHCA_CONN_ROUTE, VHCA_CONN_REPLY,
		VHCA_CONN_REQUEST, VHCA_CONN_UP,
	};
	unsigned int i;
	u32 event;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		for (event = 0; event < EVENT_END; event++) {
			check_event(all[i], event);
			iw_ends();
			iw_begins();
		}
}

/*
 * Each order of so many events and wishes, with iw_cm's work done at once or as late as it
 * may be: iw_cm meets none of its BUG_ON()s (front_iw.h), and nothing is left.
 */
#define ORDER		4

enum { ACCEPTS = EVENT_KINDS, DISCONNECTS, DESTROYS, WORKS, LETTERS };

static void letter(struct iw *iw, u32 cookie, unsigned int what)
{
	switch (what) {
	case ACCEPTS:
		iw_accepts(iw, 100, 0);
		break;
	case DISCONNECTS:
		qp_to(iw_qp[0], IB_QPS_SQD);
		break;
	case DESTROYS:
		if (!iw->drops)
			iw_destroys(iw);
		break;
	case WORKS:
		iws_work();
		break;
	default:
		thread_runs();		/* what was asked for is done first */
		be.event.id = 55;
		be_says(cookie, what);
	}
}

/* A connection of @state, in the order of which @order has the letters. */
static void check_order(enum vhca_conn_state state, unsigned int order)
{
	struct iw *iw, *other;
	unsigned int i;
	u32 cookie;

	iw_later = false;
	iw = conn_in(state);
	cookie = last_cookie();
	iw_later = true;
	for (i = 0; i < ORDER; i++, order /= LETTERS)
		letter(iw, cookie, order % LETTERS);
	thread_runs();
	iws_work();
	qp_renewed(0);
	iws_work();
	/* Consumers end what is theirs. */
	for (other = iws; other < iws + iw_nr; other++)
		if (!other->drops)
			iw_destroys(other);
	thread_runs();
	for (other = iws; other < iws + iw_nr; other++)
		assert_int_equal(other->refs, 1);
	assert_true(xa_empty(&iw_kern.iw->conns));
	iw_nr = 0;
	iw_kern.iw->next = 0;
	be.ids = 0;
}

static void no_order_of_events_stops_the_kernel(void **state)
{
	static const enum vhca_conn_state all[] = {
		VHCA_CONN_LISTEN, VHCA_CONN_ADDR, VHCA_CONN_REQUEST, VHCA_CONN_UP,
	};
	unsigned int i, order, orders = LETTERS * LETTERS * LETTERS * LETTERS;

	peer_has_data();
	for (i = 0; i < ARRAY_SIZE(all); i++)
		for (order = 0; order < orders; order++)
			check_order(all[i], order);
}

/* What was asked for is done first; until then an event is of something else. */
static void no_event_counts_before_a_wish_is_done(void **state)
{
	struct iw *iw = requested(), *other;
	u32 event, cookie = last_cookie();

	assert_int_equal(iw_accepts(iw, 100, 0), 0);
	for (event = 0; event < EVENT_END; event++) {
		iw_kern.iw->ev = (struct rdma_ucm_event_resp){ .uid = cookie, .event = event };
		assert_false(vhca_conn_event(iw_kern.iw));
	}
	states_are(VHCA_CONN_ACCEPT);
	other = iw_new(IW_IDLE);
	assert_int_equal(iw_connects(other, 101, 0), 0);
	for (event = 0; event < EVENT_END; event++) {
		iw_kern.iw->ev = (struct rdma_ucm_event_resp){ .uid = last_cookie(),
							       .event = event };
		assert_false(vhca_conn_event(iw_kern.iw));
	}
	states_are(VHCA_CONN_OPEN);
	assert_string_equal(other->heard, "");
}

static void an_event_of_nobody_counts_for_nothing(void **state)
{
	struct vhca_iw *m = iw_kern.iw;
	struct iw *iw = conn_in(VHCA_CONN_ADDR);
	const u64 uids[] = { 0, last_cookie() + 1, 1ull << 32 | last_cookie(), ~0ull };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(uids); i++) {
		m->ev = (struct rdma_ucm_event_resp){ .uid = uids[i] };
		assert_false(vhca_conn_event(m));
	}
	m->ev = (struct rdma_ucm_event_resp){ .uid = last_cookie(), .event = ~0u };
	assert_false(vhca_conn_event(m));
	states_are(VHCA_CONN_ADDR);
	assert_string_equal(iw->heard, "");
}

/* ---- a backend that fails, or lies ---- */

/* Each command of a connection fails once: iw_cm hears of an end, and nothing is left. */
static void each_command_may_fail(void **state)
{
	static const u8 active[] = {
		RDMA_USER_CM_CMD_CREATE_ID, RDMA_USER_CM_CMD_RESOLVE_ADDR,
		RDMA_USER_CM_CMD_RESOLVE_ROUTE, RDMA_USER_CM_CMD_CONNECT,
		RDMA_USER_CM_CMD_INIT_QP_ATTR, RDMA_USER_CM_CMD_ACCEPT,
	};
	struct iw *iw;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(active); i++) {
		be.fail[active[i]] = -EINVAL;
		iw = conn_in(VHCA_CONN_UP);
		assert_string_equal(iw->heard, "R");
		assert_int_equal(iw->status, -EINVAL);
		assert_int_equal(be.ids, 0);
		be.fail[active[i]] = 0;
		qp_renewed(0);
	}
	for (i = 4; i < ARRAY_SIZE(active); i++) {
		iw = requested();
		be.fail[active[i]] = -EINVAL;
		assert_int_equal(iw_accepts(iw, 100, 0), 0);
		thread_runs();
		assert_string_equal(iw->heard, "EDC");	/* it was accepted */
		be.fail[active[i]] = 0;
	}
}

/* Answers of all lengths: too short ones are no answers. */
static void short_answers_end_a_connection(void **state)
{
	int i, room = sizeof(struct ib_uverbs_qp_attr);
	struct iw *iw;

	for (i = 1; i <= room; i++) {
		be.lacks[RDMA_USER_CM_CMD_INIT_QP_ATTR] = i;
		iw = conn_in(VHCA_CONN_UP);
		assert_string_equal(iw->heard, "R");
	}
	be.lacks[RDMA_USER_CM_CMD_INIT_QP_ATTR] = 0;
	for (i = 1; i <= 4; i++) {
		be.lacks[RDMA_USER_CM_CMD_CREATE_ID] = i;
		iw = conn_in(VHCA_CONN_ADDR);
		assert_string_equal(iw->heard, "R");
		be.ids--;	/* it is left until the file ends */
	}
}

static void short_events_count_for_nothing(void **state)
{
	int i, room = sizeof(struct rdma_ucm_event_resp);
	struct iw *iw = conn_in(VHCA_CONN_ADDR);

	for (i = sizeof(struct rdma_ucm_ece) + 5; i <= room; i++) {
		be.lacks[RDMA_USER_CM_CMD_GET_EVENT] = i;
		be_says(last_cookie(), RDMA_CM_EVENT_ADDR_RESOLVED);
		states_are(VHCA_CONN_ADDR);
	}
	assert_int_equal(pauses, room - sizeof(struct rdma_ucm_ece) - 4);
	be.lacks[RDMA_USER_CM_CMD_GET_EVENT] = sizeof(struct rdma_ucm_ece);	/* old ones */
	be_says(last_cookie(), RDMA_CM_EVENT_ADDR_RESOLVED);
	states_are(VHCA_CONN_ROUTE);
	assert_string_equal(iw->heard, "");
}

static void a_request_needs_addresses(void **state)
{
	struct iw *listener = iw_new(IW_IDLE);
	const sa_family_t families[][2] = { { 0, 0 }, { AF_INET, 0 }, { AF_INET, AF_INET6 },
					    { AF_UNIX, AF_UNIX }, { 27, 27 } };
	unsigned int i;
	u32 cookie;

	assert_int_equal(iw_listens(listener), 0);
	cookie = last_cookie();
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		be.route.src_addr.sin6_family = families[i][0];
		be.route.dst_addr.sin6_family = families[i][1];
		be.ids++;
		be_says(cookie, RDMA_CM_EVENT_CONNECT_REQUEST);
		assert_int_equal(iw_nr, 1);
		assert_int_equal(be.ids, 1);
	}
	be.route.src_addr.sin6_family = AF_INET6;
	be.route.dst_addr.sin6_family = AF_INET6;
	be.ids++;
	be_says(cookie, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(iw_nr, 2);
}

static void unanswered_requests_are_bounded(void **state)
{
	struct iw *listener = iw_new(IW_IDLE);
	unsigned int i;
	u32 cookie;

	assert_int_equal(iw_listens(listener), 0);
	cookie = last_cookie();
	for (i = 0; i < VHCA_IW_REQUESTS + 9; i++) {
		be.ids++;
		be_says(cookie, RDMA_CM_EVENT_CONNECT_REQUEST);
	}
	assert_int_equal(iw_nr, 1 + VHCA_IW_REQUESTS);
	assert_int_equal(be.ids, 1 + VHCA_IW_REQUESTS);
	iw_rejects(&iws[1], 0);
	assert_int_equal(iw_accepts(&iws[2], 100, 0), 0);
	thread_runs();
	assert_int_equal(iw_kern.iw->requests, VHCA_IW_REQUESTS - 2);
	be.ids++;
	be_says(cookie, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(iw_nr, 2 + VHCA_IW_REQUESTS);
}

static void a_request_without_memory_ends_at_the_backend(void **state)
{
	struct numbers *conns = &iw_kern.iw->conns;
	u32 i, cookie;

	assert_int_equal(iw_listens(iw_new(IW_IDLE)), 0);
	cookie = last_cookie();
	for (i = 1; i < ARRAY_SIZE(conns->at); i++)
		if (i != cookie)
			conns->at[i] = TAKEN;
	be.event.id = 77;
	be.ids++;
	be_says(cookie, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(be.last, 77);
	assert_int_equal(be.ids, 1);
	for (i = 1; i < ARRAY_SIZE(conns->at); i++)
		if (i != cookie)
			conns->at[i] = NULL;
}

static void a_backend_that_cries_wolf_is_asked_now_and_then(void **state)
{
	unsigned long begin = jiffies;

	be.silent = true;
	iw_kern.iw->f.events = true;
	thread_runs();			/* 10000 times */
	assert_int_equal(jiffies - begin, 10000);
	be.silent = false;		/* events, but of nobody */
	thread_runs();
	assert_int_equal(jiffies - begin, 20000);
	be.fail[RDMA_USER_CM_CMD_GET_EVENT] = -ENOMEM;
	thread_runs();
	assert_int_equal(jiffies - begin, 30000);
	iw_kern.iw->f.events = false;
}

static void private_data_without_memory_is_no_event(void **state)
{
	struct iw *iw = conn_in(VHCA_CONN_REPLY);

	peer_has_data();
	iw_no_memory = 1;
	be_says(last_cookie(), RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_string_equal(iw->heard, "R");
	assert_int_equal(iw->status, -ENOMEM);
	qp_renewed(0);
	iw = conn_in(VHCA_CONN_REPLY);
	iw_no_memory = 1;
	be_says(last_cookie(), RDMA_CM_EVENT_REJECTED);
	assert_string_equal(iw->heard, "R");
	assert_int_equal(iw->status, -ECONNRESET);
	assert_int_equal(iw->data_len, 0);
	iw_no_memory = 0;
	qp_renewed(0);
	iw = conn_in(VHCA_CONN_REPLY);
	be_says(last_cookie(), RDMA_CM_EVENT_REJECTED);
	assert_string_equal((char *)iw->data, DATA);
}

/* Which consumers take for a reason of their peer's, with its data. */
static void only_a_consumer_refuses(void **state)
{
	int status;
	struct iw *iw;

	for (status = -1; status < 40; status++) {
		iw = conn_in(VHCA_CONN_REPLY);
		be.event.status = status;
		be_says(last_cookie(), RDMA_CM_EVENT_REJECTED);
		assert_int_equal(iw->status, status == 28 ? -ECONNREFUSED : -ECONNRESET);
		qp_renewed(0);
	}
}

static void check_data(const struct iw *iw, u8 len)
{
	assert_int_equal(iw->data_len, len);
	assert_int_equal(iw->has_data, len > 0);
}

/* rdma_cm's consumers read it without a look at the length, or only at the pointer. */
static void private_data_is_as_long_as_the_cm_sends_it(void **state)
{
	static const struct { u8 says, gets; } all[] = { { 0, 0 }, { 1, 196 }, { 255, 255 } };
	unsigned int i;
	struct iw *iw;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		be.event.param.conn.private_data_len = all[i].says;
		check_data(requested(), all[i].gets);
		check_data(conn_in(VHCA_CONN_UP), all[i].gets);
		qp_renewed(0);
		iw = conn_in(VHCA_CONN_REPLY);
		be_says(last_cookie(), RDMA_CM_EVENT_REJECTED);
		check_data(iw, all[i].gets);
	}
}

/* ---- ends ---- */

/* In each state the queue pair may end first; nobody uses it afterwards. */
static void a_queue_pair_ends_its_connection(void **state)
{
	static const struct { enum vhca_conn_state state; const char *hears; } all[] = {
		{ VHCA_CONN_ADDR, "R" }, { VHCA_CONN_ROUTE, "R" }, { VHCA_CONN_REPLY, "R" },
		{ VHCA_CONN_UP, "UDC" },
	};
	struct iw *iw;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		iw = conn_in(all[i].state);
		assert_true(iw_qp[0]->iw.refs.n > 1);
		qp_renewed(0);
		assert_string_equal(iw->heard, all[i].hears);
		assert_null(conn_of(last_cookie()));
	}
}

static void wishes_end_with_the_queue_pair(void **state)
{
	struct iw *iw = requested(), *other = iw_new(IW_IDLE);

	assert_int_equal(iw_accepts(iw, 100, 0), 0);
	qp_renewed(0);
	assert_string_equal(iw->heard, "EDC");
	assert_int_equal(iw_connects(other, 101, 0), 0);
	qp_renewed(1);
	assert_string_equal(other->heard, "R");
	assert_string_equal(be.said, "CblQD");	/* nothing was begun */
}

static void a_listener_ends_its_unanswered_requests(void **state)
{
	struct iw *first = requested(), *second, *third;
	struct iw *listener = &iws[0];

	be.ids += 2;
	be_says((uintptr_t)listener->id.provider_data, RDMA_CM_EVENT_CONNECT_REQUEST);
	second = &iws[iw_nr - 1];
	be_says((uintptr_t)listener->id.provider_data, RDMA_CM_EVENT_CONNECT_REQUEST);
	third = &iws[iw_nr - 1];
	assert_int_equal(iw_accepts(first, 100, 0), 0);
	iw_destroys(listener);
	thread_runs();
	assert_int_equal(be.ids, 1);		/* the accepted one */
	assert_int_equal(iw_accepts(second, 101, 0), -ENOTCONN);
	iw_rejects(third, 3);
	thread_runs();
	assert_int_equal(listener->refs, 1);
	be_says(conn_of(1) ? 1 : 2, RDMA_CM_EVENT_ESTABLISHED);
	assert_string_equal(first->heard, "E");
}

static void without_a_backend_all_but_listeners_ends(void **state)
{
	struct iw *listener = conn_in(VHCA_CONN_LISTEN), *up = conn_in(VHCA_CONN_UP);
	struct iw *late = iw_new(IW_IDLE), *waits = iw_new(IW_IDLE);

	assert_int_equal(iw_connects(waits, 101, 0), 0);
	thread_runs();
	iw_dev.ring.state = VHCA_RING_BROKEN;
	iw_kern.iw->f.events = true;		/* event.c: an event was lost */
	thread_runs();
	assert_string_equal(up->heard, "UDC");
	assert_string_equal(waits->heard, "R");
	assert_int_equal(listener->refs, 2);
	assert_false(iw_kern.iw->f.events);
	assert_int_equal(iw_connects(late, 102, 0), 0);
	thread_runs();
	assert_string_equal(late->heard, "R");
	assert_int_equal(iw_listens(late), 0);
	be.ids = 0;
}

/* The connection of the ring ends, in order or not; then there is another one. */
static void goes_away(bool dies)
{
	if (dies)
		iw_dev.ring.state = VHCA_RING_BROKEN;
	vhca_iw_away(&iw_kern);
	iw_dev.ring.state = VHCA_RING_BROKEN;
	iw_dev.gen++;
	memset(be.said, 0, sizeof(be.said));
}

static void comes_back(void)
{
	iw_dev.ring.state = VHCA_RING_UP;
	vhca_iw_back(&iw_kern);
	thread_runs();
}

/* A suspend waits for it: the end of the context ends all that the backend has. */
static void the_end_of_the_ring_costs_a_connection_no_command(void **state)
{
	struct iw *up = conn_in(VHCA_CONN_UP);
	unsigned int steps = be.nr_steps;

	memset(be.said, 0, sizeof(be.said));
	vhca_iw_away(&iw_kern);
	assert_string_equal(up->heard, "UDC");
	assert_string_equal(be.said, "");
	assert_int_equal(be.nr_steps, steps);
	be.ids = 0;
}

static void a_listener_outlives_the_backend(void **state)
{
	struct iw *listener = conn_in(VHCA_CONN_LISTEN), *up;
	u32 cookie = last_cookie();
	int i;

	for (i = 0; i < 3; i++) {
		up = iw_new(IW_IDLE);
		iw_qp[i]->qp.gen = iw_dev.gen;
		assert_int_equal(iw_connects(up, 100 + i, 0), 0);
		thread_runs();
		files_shut = 0;
		goes_away(i & 1);
		assert_int_equal(files_shut, 1);
		assert_string_equal(up->heard, "R");
		assert_int_equal(listener->refs, 2);
		comes_back();
		assert_string_equal(be.said, "Cbl");
		assert_int_equal(be.ids, 1);
	}
	be.event.id = 55;
	be.ids++;
	be_says(cookie, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(iws[iw_nr - 1].state, IW_CONN_RECV);
	iw_rejects(&iws[iw_nr - 1], 0);
	thread_runs();
	iw_destroys(listener);
	thread_runs();
	assert_int_equal(listener->refs, 1);
}

static void a_listener_waits_for_a_backend(void **state)
{
	struct iw *first = iw_new(IW_IDLE), *second = iw_new(IW_IDLE);

	goes_away(true);
	assert_int_equal(iw_listens(first), 0);
	assert_int_equal(iw_listens(second), 0);
	assert_string_equal(be.said, "");
	iw_destroys(first);
	thread_runs();
	comes_back();
	assert_string_equal(be.said, "Cbl");
}

static void is_back(void)
{
	iw_dev.ring.state = VHCA_RING_UP;
	vhca_iw_back(&iw_kern);
}

/* Neither refused nor deaf. */
static void a_backend_returns_while_a_listener_is_made(void **state)
{
	struct iw *iw = iw_new(IW_IDLE);

	goes_away(true);
	meanwhile = is_back;
	assert_int_equal(iw_listens(iw), 0);
	assert_null(meanwhile);
	thread_runs();
	assert_string_equal(be.said, "Cbl");
}

/* iw_cm has no event that would say so; the next connection tries again. */
static void a_listener_that_is_refused_later_stays(void **state)
{
	struct iw *listener = conn_in(VHCA_CONN_LISTEN);

	goes_away(true);
	be.fail[RDMA_USER_CM_CMD_LISTEN] = -EADDRINUSE;
	comes_back();
	assert_string_equal(be.said, "CbD");
	assert_int_equal(listener->refs, 2);
	goes_away(true);
	be.fail[RDMA_USER_CM_CMD_LISTEN] = 0;
	comes_back();
	assert_string_equal(be.said, "Cbl");
	assert_int_equal(be.ids, 1);
}

/* The next connection of the ring is there, but is not the device's yet. */
static void away_no_command_is_sent(void **state)
{
	struct iw *iw = iw_new(IW_IDLE);

	goes_away(false);
	iw_dev.ring.state = VHCA_RING_UP;
	iw_qp[0]->qp.gen = iw_dev.gen;
	assert_int_equal(iw_connects(iw, 100, 0), 0);
	thread_runs();
	assert_string_equal(be.said, "");
	assert_string_equal(iw->heard, "R");
	comes_back();
	assert_int_equal(iw_connects(iw, 100, 0), 0);
	thread_runs();
	be_says(last_cookie(), RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_string_equal(be.said, "Car");
}

static void a_dead_queue_pair_has_no_connection(void **state)
{
	goes_away(true);
	comes_back();
	assert_int_equal(iw_connects(iw_new(IW_IDLE), 100, 0), -ENOTCONN);
	assert_string_equal(be.said, "");
}

static void a_file_that_is_closed_ends_all(void **state)
{
	struct iw *up = conn_in(VHCA_CONN_UP);

	iw_kern.iw->f.gone = true;
	thread_runs();
	assert_string_equal(up->heard, "UDC");
	be.ids = 0;
}

/* Its clients wait for their connects; connections that are up are theirs to end. */
static void a_device_that_leaves_waits_for_no_peer(void **state)
{
	struct iw *listener = conn_in(VHCA_CONN_LISTEN), *up = conn_in(VHCA_CONN_UP);
	struct iw *waits = iw_new(IW_IDLE), *late = iw_new(IW_IDLE);

	assert_int_equal(iw_connects(waits, 101, 0), 0);
	thread_runs();
	iw_dev.leaving = true;
	vhca_iw_leave(&iw_kern);
	thread_runs();
	assert_string_equal(waits->heard, "R");
	assert_string_equal(up->heard, "U");
	assert_int_equal(listener->refs, 2);
	assert_int_equal(iw_connects(late, 102, 0), -ENODEV);
	assert_string_equal(late->heard, "");
	iw_dev.leaving = false;
}

static void the_end_of_the_device_ends_all(void **state)
{
	conn_in(VHCA_CONN_LISTEN);
	conn_in(VHCA_CONN_UP);
	assert_int_equal(iw_connects(iw_new(IW_IDLE), 101, 0), 0);
	/* teardown() does it. */
}

static void a_reset_ends_the_connection(void **state)
{
	struct iw *iw = conn_in(VHCA_CONN_REPLY);

	qp_to(iw_qp[0], IB_QPS_RESET);
	thread_runs();
	assert_string_equal(iw->heard, "R");
	assert_null(conn_of(last_cookie()));
}

static void what_iw_cm_destroys_is_told_no_more(void **state)
{
	struct iw *iw = conn_in(VHCA_CONN_UP);

	iw_destroys(iw);
	assert_int_equal(iw_qp[0]->qp.state, IB_QPS_ERR);
	thread_runs();
	assert_string_equal(iw->heard, "U");
	assert_int_equal(be.ids, 0);
	iw = requested();
	iw_destroys(iw);
	thread_runs();
	assert_int_equal(be.ids, 1);
}

/* ---- consumers ---- */

static void a_queue_pair_has_one_connection(void **state)
{
	struct iw *iw = conn_in(VHCA_CONN_UP), *again = iw_new(IW_IDLE);

	assert_int_equal(iw_connects(again, 100, 0), -EISCONN);
	assert_int_equal(iw_connects(again, 99, 0), -EINVAL);
	assert_int_equal(again->refs, 1);
	again = requested();
	assert_int_equal(iw_accepts(again, 100, 0), -EISCONN);
	thread_runs();
	assert_string_equal(again->heard, "");
	assert_string_equal(iw->heard, "U");
}

static void private_data_has_a_bound(void **state)
{
	struct iw *iw = iw_new(IW_IDLE);

	assert_int_equal(iw_connects(iw, 100, 256), -EINVAL);
	assert_true(xa_empty(&iw_kern.iw->conns));
	assert_int_equal(iw_connects(iw, 100, 255), 0);
	thread_runs();
	iw = requested();
	assert_int_equal(iw_accepts(iw, 101, 256), -EINVAL);
	thread_runs();
	assert_int_equal(iw_kern.iw->requests, 0);
}

static void steps_of_iwarp_become_those_of_ib(void **state)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	int mask = IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT;

	assert_false(vhca_iw_modify(iw_qp[0], &attr, &mask));
	assert_int_equal(mask, IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT |
			 IB_QP_PKEY_INDEX);
	assert_int_equal(attr.pkey_index, 2);
	attr.pkey_index = 1;			/* a consumer's own choice */
	assert_false(vhca_iw_modify(iw_qp[0], &attr, &mask));
	assert_int_equal(attr.pkey_index, 1);
	attr.qp_state = IB_QPS_RTR;
	assert_true(vhca_iw_modify(iw_qp[0], &attr, &mask));
	mask |= IB_QP_AV;			/* by hand */
	assert_false(vhca_iw_modify(iw_qp[0], &attr, &mask));
	attr.qp_state = IB_QPS_SQD;
	assert_true(vhca_iw_modify(iw_qp[0], &attr, &mask));
	iw_dev.own_uc = NULL;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_connection_goes_up_and_down),
		T(a_request_is_accepted),
		T(what_was_accepted_ends_without_the_peer),
		T(a_request_is_rejected_with_data),
		T(a_listener_that_fails_says_why),
		T(a_wildcard_of_a_family_without_an_address_listens),
		T(each_event_counts_in_its_state_only),
		T(no_order_of_events_stops_the_kernel),
		T(no_event_counts_before_a_wish_is_done),
		T(an_event_of_nobody_counts_for_nothing),
		T(each_command_may_fail),
		T(short_answers_end_a_connection),
		T(short_events_count_for_nothing),
		T(a_request_needs_addresses),
		T(unanswered_requests_are_bounded),
		T(a_request_without_memory_ends_at_the_backend),
		T(a_backend_that_cries_wolf_is_asked_now_and_then),
		T(private_data_without_memory_is_no_event),
		T(only_a_consumer_refuses),
		T(private_data_is_as_long_as_the_cm_sends_it),
		T(a_queue_pair_ends_its_connection),
		T(wishes_end_with_the_queue_pair),
		T(a_listener_ends_its_unanswered_requests),
		T(without_a_backend_all_but_listeners_ends),
		T(a_listener_outlives_the_backend),
		T(a_listener_waits_for_a_backend),
		T(a_listener_that_is_refused_later_stays),
		T(a_backend_returns_while_a_listener_is_made),
		T(the_end_of_the_ring_costs_a_connection_no_command),
		T(away_no_command_is_sent),
		T(a_dead_queue_pair_has_no_connection),
		T(a_file_that_is_closed_ends_all),
		T(a_device_that_leaves_waits_for_no_peer),
		T(the_end_of_the_device_ends_all),
		T(a_reset_ends_the_connection),
		T(what_iw_cm_destroys_is_told_no_more),
		T(a_queue_pair_has_one_connection),
		T(private_data_has_a_bound),
		T(steps_of_iwarp_become_those_of_ib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
