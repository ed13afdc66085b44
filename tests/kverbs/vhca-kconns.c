// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A consumer of rdma_cm in the kernel, for scenarios: many connections at a time. A command
 * is written to "run" of the debugfs folder vhca-kconns; the write ends with the command, and
 * fails if it failed. "info" has: connections that are up, those that are not over, those that
 * were begun, and the last command's result.
 *
 *   listen PORT         accepts connections, and answers each message with the same one
 *   connect IPV4 PORT N N connections, all at once; fails if one does not come up
 *   use N               N messages and answers on each of them, all at once
 *   close               ends the listener and all connections
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#define MOST		64	/* connections that are not over */
#define SIZE		64	/* octets of a message */
#define TIMEOUT_MS	5000
#define WAIT		(40 * HZ)	/* for connections */
#define ANSWER_WAIT	(20 * HZ)

struct slot {			/* a request, and its memory */
	struct ib_cqe cqe;
	u8 *buf;
	u64 dma;
	bool done;
	enum ib_wc_status status;
	u32 len;
};

struct conn {
	struct list_head list;	/* in conns */
	struct rdma_cm_id *id;
	bool active;
	struct mutex lock;	/* ended: nobody makes objects or posts any more */
	bool up, ended, over;	/* over: its objects are gone */
	struct work_struct end;
	unsigned long ends;	/* bit 0: the work is asked for */
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct slot rx, tx;
	u32 sum;		/* of the peer's private data */
};

static LIST_HEAD(conns);
static DEFINE_MUTEX(conns_lock);
static unsigned int begun;
static struct workqueue_struct *ender;
static struct rdma_cm_id *listener;
static DEFINE_MUTEX(command_lock);	/* listener, result; frees active connections */
static char result[96];
static DECLARE_WAIT_QUEUE_HEAD(news);

#define RESULT(...)	snprintf(result, sizeof(result), __VA_ARGS__)

/* ---- messages ---- */

static int post_receive(struct conn *c)
{
	struct ib_sge sge = {
		.addr = c->rx.dma, .length = SIZE, .lkey = c->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &c->rx.cqe, .sg_list = &sge, .num_sge = 1 };

	WRITE_ONCE(c->rx.done, false);
	return ib_post_recv(c->id->qp, &wr, NULL);
}

static int post_send(struct conn *c)
{
	struct ib_sge sge = {
		.addr = c->tx.dma, .length = SIZE, .lkey = c->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &c->tx.cqe, .sg_list = &sge, .num_sge = 1,
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};

	ib_dma_sync_single_for_device(c->id->device, c->tx.dma, SIZE, DMA_TO_DEVICE);
	return ib_post_send(c->id->qp, &wr, NULL);
}

static void slot_done(struct slot *s, const struct ib_wc *wc)
{
	s->status = wc->status;
	s->len = wc->byte_len;
	smp_store_release(&s->done, true);	/* pairs with answered() */
	wake_up(&news);
}

static void sent(struct ib_cq *cq, struct ib_wc *wc)
{
	slot_done(container_of(wc->wr_cqe, struct slot, cqe), wc);
}

static void received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct conn *c = container_of(wc->wr_cqe, struct conn, rx.cqe);

	slot_done(&c->rx, wc);
	if (c->active || wc->status != IB_WC_SUCCESS || wc->byte_len != SIZE)
		return;
	ib_dma_sync_single_for_cpu(c->id->device, c->rx.dma, SIZE, DMA_FROM_DEVICE);
	memcpy(c->tx.buf, c->rx.buf, SIZE);
	if (!post_receive(c))
		post_send(c);
}

/* ---- objects ---- */

static int slot_new(struct conn *c, struct slot *s, enum dma_data_direction dir)
{
	s->cqe.done = s == &c->rx ? received : sent;
	s->buf = kzalloc(SIZE, GFP_KERNEL);
	if (!s->buf)
		return -ENOMEM;
	s->dma = ib_dma_map_single(c->id->device, s->buf, SIZE, dir);
	if (!ib_dma_mapping_error(c->id->device, s->dma))
		return 0;
	kfree(s->buf);
	s->buf = NULL;
	return -ENOMEM;
}

static void slot_end(struct conn *c, struct slot *s, enum dma_data_direction dir)
{
	if (!s->buf)
		return;
	ib_dma_unmap_single(c->id->device, s->dma, SIZE, dir);
	kfree(s->buf);
	s->buf = NULL;
}

static void objects_end(struct conn *c)
{
	if (c->id->qp) {
		ib_drain_qp(c->id->qp);
		rdma_destroy_qp(c->id);
	}
	if (!IS_ERR_OR_NULL(c->cq))
		ib_free_cq(c->cq);
	slot_end(c, &c->rx, DMA_FROM_DEVICE);
	slot_end(c, &c->tx, DMA_TO_DEVICE);
	if (!IS_ERR_OR_NULL(c->pd))
		ib_dealloc_pd(c->pd);
	c->cq = NULL;
	c->pd = NULL;
}

static int objects_make(struct conn *c)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int rc;

	c->pd = ib_alloc_pd(c->id->device, 0);
	if (IS_ERR(c->pd))
		return PTR_ERR(c->pd);
	c->cq = ib_alloc_cq(c->id->device, c, 16, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(c->cq))
		return PTR_ERR(c->cq);
	init.send_cq = c->cq;
	init.recv_cq = c->cq;
	rc = rdma_create_qp(c->id, c->pd, &init);
	if (!rc)
		rc = slot_new(c, &c->rx, DMA_FROM_DEVICE);
	if (!rc)
		rc = slot_new(c, &c->tx, DMA_TO_DEVICE);
	return rc ? rc : post_receive(c);
}

static int objects_new(struct conn *c)
{
	int rc = objects_make(c);

	if (rc)
		objects_end(c);
	return rc;
}

/* ---- connections ---- */

/* Its id is not destroyed by its own handler. */
static void conn_end(struct work_struct *work)
{
	struct conn *c = container_of(work, struct conn, end);

	mutex_lock(&c->lock);
	c->ended = true;
	mutex_unlock(&c->lock);
	rdma_disconnect(c->id);
	objects_end(c);
	rdma_destroy_id(c->id);
	mutex_lock(&conns_lock);
	c->up = false;
	c->over = true;
	mutex_unlock(&conns_lock);
	wake_up(&news);
}

static void conn_ends(struct conn *c)
{
	if (!test_and_set_bit(0, &c->ends))
		queue_work(ender, &c->end);
}

/* NULL: there are too many, or no memory. Under conns_lock. */
static struct conn *conn_new(bool active)
{
	struct conn *c, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(c, next, &conns, list) {
		n += !c->over;
		if (!c->over || c->active)
			continue;
		flush_work(&c->end);
		list_del(&c->list);
		kfree(c);
	}
	c = n < MOST ? kzalloc(sizeof(*c), GFP_KERNEL) : NULL;
	if (!c)
		return NULL;
	c->active = active;
	mutex_init(&c->lock);
	INIT_WORK(&c->end, conn_end);
	return c;
}

static void conn_show(struct conn *c)
{
	list_add_tail(&c->list, &conns);
	begun++;
}

static const struct rdma_conn_param conn_param = {
	.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
	.rnr_retry_count = 7, .private_data = "vhca-kconns", .private_data_len = 12,
};

/* As consumers do: as much as the CM's message has, whatever the length. */
static void data_read(struct conn *c, const struct rdma_cm_event *event)
{
	const u8 *data = event->param.conn.private_data;
	unsigned int i;

	for (i = 0; data && i < IB_CM_REP_PRIVATE_DATA_SIZE; i++)
		c->sum += data[i];
}

static int connects(struct conn *c)
{
	struct rdma_conn_param param = conn_param;
	int rc;

	mutex_lock(&c->lock);	/* conn_end() may be at it, with an id that is not yet gone */
	rc = c->ended ? -ECONNRESET : objects_new(c);
	if (!rc)
		rc = rdma_connect_locked(c->id, &param);
	mutex_unlock(&c->lock);
	return rc;
}

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct conn *c = id->context;
	int rc = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rc = rdma_resolve_route(id, TIMEOUT_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rc = connects(c);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		data_read(c, event);
		WRITE_ONCE(c->up, true);
		wake_up(&news);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		data_read(c, event);
		rc = -ECONNRESET;
	}
	if (rc)
		conn_ends(c);
	return 0;
}

/* An error: rdma_cm destroys the id. Under conns_lock. */
static int request_accept(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = conn_param;
	struct conn *c = conn_new(false);
	int rc;

	if (!c)
		return -ENOMEM;
	c->id = id;
	data_read(c, event);
	rc = objects_new(c);
	id->context = c;
	id->event_handler = conn_event;
	if (!rc) {
		rc = rdma_accept(id, &param);
		if (rc)
			objects_end(c);
	}
	if (rc)
		kfree(c);
	else
		conn_show(c);
	return rc;
}

static int listener_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	int rc;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	mutex_lock(&conns_lock);
	rc = request_accept(id, event);
	mutex_unlock(&conns_lock);
	return rc;
}

/* ---- commands ---- */

static int do_listen(u16 port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct rdma_cm_id *id;
	int rc;

	if (listener)
		return -EBUSY;
	id = rdma_create_id(&init_net, listener_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	rc = rdma_bind_addr(id, (struct sockaddr *)&in);
	if (!rc)
		rc = rdma_listen(id, MOST);
	if (rc)
		rdma_destroy_id(id);
	else
		listener = id;
	return rc;
}

/* rdma_cm's locks are outer to ours. */
static int connect_one(struct sockaddr_in *to)
{
	struct conn *c;
	int rc;

	mutex_lock(&conns_lock);
	c = conn_new(true);
	mutex_unlock(&conns_lock);
	if (!c)
		return -ENOMEM;
	c->id = rdma_create_id(&init_net, conn_event, c, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(c->id)) {
		rc = PTR_ERR(c->id);
		kfree(c);
		return rc;
	}
	mutex_lock(&conns_lock);
	conn_show(c);
	mutex_unlock(&conns_lock);
	rc = rdma_resolve_addr(c->id, NULL, (struct sockaddr *)to, TIMEOUT_MS);
	if (rc)
		conn_ends(c);
	return rc;
}

/* @up: of all; @waiting: active, neither up nor over. */
static void count(unsigned int *up, unsigned int *there, unsigned int *waiting)
{
	struct conn *c;

	*up = 0;
	*there = 0;
	*waiting = 0;
	mutex_lock(&conns_lock);
	list_for_each_entry(c, &conns, list) {
		*up += READ_ONCE(c->up) && !c->over;
		*there += !c->over;
		*waiting += c->active && !READ_ONCE(c->up) && !c->over;
	}
	mutex_unlock(&conns_lock);
}

/* Of those that were begun here. */
static unsigned int active_up(void)
{
	unsigned int n = 0;
	struct conn *c;

	mutex_lock(&conns_lock);
	list_for_each_entry(c, &conns, list)
		n += c->active && READ_ONCE(c->up) && !c->over;
	mutex_unlock(&conns_lock);
	return n;
}

/* No connection is on its way, or (@all) there is none. */
static bool settled(bool all)
{
	unsigned int up, there, waiting;

	count(&up, &there, &waiting);
	return all ? !there : !waiting;
}

/* wait_event() would count with the task's state set, and counting sleeps. */
static bool settles(bool all)
{
	unsigned long end = jiffies + WAIT;

	while (!settled(all)) {
		if (time_after(jiffies, end))
			return false;
		msleep(20);
	}
	return true;
}

static int do_connect(__be32 addr, u16 port, u32 n)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = addr,
	};
	unsigned int before = active_up(), came, up, there, waiting;
	u32 i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++)
		rc = connect_one(&to);
	if (!settles(false))
		rc = -ETIMEDOUT;
	count(&up, &there, &waiting);
	came = active_up() - before;
	RESULT("%u of %u came up, %u wait", came, n, waiting);
	return rc ? rc : came == n ? 0 : -ENOTCONN;
}

static u8 octet(u32 at, u32 seed)
{
	return at * 7 + seed * 13;
}

static int ask(struct conn *c, u32 seed)
{
	u32 i;
	int rc = -ENOTCONN;

	mutex_lock(&c->lock);
	if (!c->ended && c->up) {
		for (i = 0; i < SIZE; i++)
			c->tx.buf[i] = octet(i, seed);
		rc = post_send(c);
	}
	mutex_unlock(&c->lock);
	return rc;
}

static bool answered(struct conn *c)
{
	return smp_load_acquire(&c->rx.done) || READ_ONCE(c->ended);
}

/* The answer; the next receive is posted. */
static int take(struct conn *c, u32 seed)
{
	int rc = -ENOTCONN;
	u32 i;

	if (!wait_event_timeout(news, answered(c), ANSWER_WAIT))
		return -ETIMEDOUT;
	mutex_lock(&c->lock);
	if (c->ended)
		goto out;
	rc = c->rx.status != IB_WC_SUCCESS || c->rx.len != SIZE ? -EIO : 0;
	if (rc)
		goto out;
	ib_dma_sync_single_for_cpu(c->id->device, c->rx.dma, SIZE, DMA_FROM_DEVICE);
	for (i = 0; i < SIZE && !rc; i++)
		rc = c->rx.buf[i] == octet(i, seed) ? 0 : -EBADMSG;
	if (!rc)
		rc = post_receive(c);
out:
	mutex_unlock(&c->lock);
	return rc;
}

/* The command's lock keeps active connections. */
static int use_once(u32 round, unsigned int *used)
{
	struct conn *c;
	unsigned int n = 0;
	int rc = 0;

	list_for_each_entry(c, &conns, list)
		if (c->active && !rc)
			rc = ask(c, round + n++);
	*used = 0;
	list_for_each_entry(c, &conns, list)
		if (c->active && !rc)
			rc = take(c, round + (*used)++);
	return rc;
}

static int do_use(u32 n)
{
	unsigned int used = 0;
	u32 i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++)
		rc = use_once(i, &used);
	RESULT("%u messages on each of %u, %d", i, used, rc);
	return rc ? rc : used ? 0 : -ENOTCONN;
}

/* Waits for all, however long that takes. */
static int do_close(void)
{
	struct conn *c, *next;
	bool good;

	if (listener)
		rdma_destroy_id(listener);
	listener = NULL;
	mutex_lock(&conns_lock);
	list_for_each_entry(c, &conns, list)
		conn_ends(c);
	mutex_unlock(&conns_lock);
	good = settles(true);
	flush_workqueue(ender);
	mutex_lock(&conns_lock);
	list_for_each_entry_safe(c, next, &conns, list) {
		list_del(&c->list);
		kfree(c);
	}
	mutex_unlock(&conns_lock);
	return good ? 0 : -ETIMEDOUT;
}

static int run(const char *line)
{
	char what[16] = "", addr[16] = "";
	u32 x = 0, y = 0;

	if (sscanf(line, "connect %15s %u %u", addr, &x, &y) == 3)
		return do_connect(in_aton(addr), x, y);
	if (sscanf(line, "%15s %u", what, &x) < 1)
		return -EINVAL;
	if (!strcmp(what, "listen"))
		return do_listen(x);
	if (!strcmp(what, "use"))
		return do_use(x);
	return !strcmp(what, "close") ? do_close() : -EINVAL;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t len,
			 loff_t *pos)
{
	char line[64] = "";
	int rc;

	if (len >= sizeof(line) || copy_from_user(line, from, len))
		return -EINVAL;
	mutex_lock(&command_lock);
	RESULT("ok");
	rc = run(line);
	pr_info("vhca-kconns: %.16s: %d, %s\n", strim(line), rc, result);
	mutex_unlock(&command_lock);
	return rc ? rc : len;
}

static ssize_t info_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	unsigned int up, there, waiting;
	char line[128];
	int n;

	count(&up, &there, &waiting);
	n = scnprintf(line, sizeof(line), "%u %u %u %s\n", up, there, READ_ONCE(begun), result);
	return simple_read_from_buffer(to, len, pos, line, n);
}

static const struct file_operations run_ops = {
	.owner = THIS_MODULE,
	.write = run_write,
};

static const struct file_operations info_ops = {
	.owner = THIS_MODULE,
	.read = info_read,
};

static struct dentry *folder;

static int __init kconns_init(void)
{
	ender = alloc_workqueue("vhca-kconns", WQ_UNBOUND, 0);
	if (!ender)
		return -ENOMEM;
	folder = debugfs_create_dir("vhca-kconns", NULL);
	debugfs_create_file("run", 0200, folder, NULL, &run_ops);
	debugfs_create_file("info", 0400, folder, NULL, &info_ops);
	return 0;
}

static void __exit kconns_exit(void)
{
	debugfs_remove(folder);
	do_close();
	destroy_workqueue(ender);
}

module_init(kconns_init);
module_exit(kconns_exit);

MODULE_DESCRIPTION("A consumer of rdma_cm in the kernel, for tests of vhca");
MODULE_LICENSE("GPL");
