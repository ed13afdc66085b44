// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The addresses of a device on the HCA's network of this domain. A script puts
 * them there before the device has a worker, and takes them off when it has none
 * any more (docs/design/addresses.md says why the supervisor runs it). It also tells the
 * script when the guest's vif comes or goes, for which no worker waits. What an earlier
 * supervisor left the script tells from the kernel: there is no file of it that a
 * worker could write. All text comes from the toolstack.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "clock.h"
#include "host/addr.h"
#include "core/log.h"
#include "sup.h"
#include "vhca-keys.h"

#define NET_LIMIT_MS	60000	/* then the script hangs */
#define NET_RETRY_MS	5000
#define NET_LOOK_MS	50	/* at what cannot be waited for */
#define NET_ENDS	100	/* such looks, at our end */
#define NET_LIST_MS	10000	/* to tell what is there */
#define NET_REAP	1000	/* looks at its end, a millisecond each */
#define NET_WORDS	3	/* for each address */
#define NET_WORD	64
#define NET_ENV		320

/* Command and environment of the script. */
struct net_args {
	char word[XENVHCA_MAX_IPS * NET_WORDS][NET_WORD];
	char env[7][NET_ENV];
	char *argv[2 + XENVHCA_MAX_IPS * NET_WORDS + 1], *envp[9];
};

static char net_path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
static char net_word[][8] = {
	[NET_ADD] = "add", [NET_REMOVE] = "remove", [NET_VIF] = XENVHCA_NODE_VIF,
};

static void net_read(struct sup *s, const struct sup_dev *d,
		     struct be_network *net)
{
	be_devices_network(s->all, d->domid, d->devid, net);
}

/* ---- what an earlier supervisor left ---- */
static void listed(struct sup *s, const char *line)
{
	unsigned int domid, devid;
	struct sup_dev *d;
	int end = 0;

	if (sscanf(line, "%u-%u%n", &domid, &devid, &end) != 2 || line[end]) {
		be_log(NULL, BE_WARN, "%s: %s", s->opt->script, line);
		return;
	}
	d = be_sup_get(s, domid, devid);
	if (!d)
		return;
	d->net.on = true;
	d->net.vif = true;
	net_read(s, d, &d->net.want);
}

/* Takes whole lines. Return: how much of another one text begins with now. */
static size_t list_lines(struct sup *s, char *text, size_t n)
{
	char *line = text, *end;

	text[n] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		listed(s, line);
		line = end + 1;
	}
	n -= (size_t)(line - text);
	memmove(text, line, n);
	return n;
}

/* True: it has said all. */
static bool list_read(struct sup *s, int out)
{
	uint64_t end_ns = vl_now_ns() + NET_LIST_MS * VL_MSEC_NS;
	struct pollfd p = { .fd = out, .events = POLLIN };
	char text[512];
	size_t have = 0;
	ssize_t n;

	while (have < sizeof(text) - 1 && vl_now_ns() < end_ns) {
		n = poll(&p, 1, NET_LOOK_MS) < 1 ? -1 :
		    read(out, text + have, sizeof(text) - 1 - have);
		if (!n)
			return true;
		if (n > 0)
			have = list_lines(s, text, have + (size_t)n);
	}
	return false;
}

void be_sup_net_list(struct sup *s)
{
	static char word[] = "list";
	char *argv[] = { (char *)(uintptr_t)s->opt->script, word, NULL };
	char *env[] = { net_path, NULL };
	struct be_process p;
	int out, i, status = 0;
	bool all;

	/* Without a script nothing was put there. */
	if (!argv[0] || access(argv[0], F_OK))
		return;
	all = !be_process_run(&p, argv, env, &out);
	if (all) {
		all = list_read(s, out);
		close(out);
		if (!all)
			be_process_signal(&p, SIGKILL);
		for (i = 0; i < NET_REAP && !be_process_dead(&p, &status); i++)
			usleep(1000);
		be_process_forget(&p);
	}
	if (!all || status)
		be_log(NULL, BE_WARN, "%s list failed: addresses of guests that are gone may stay on the network",
		       argv[0]);
}

/* ---- the script for a device ---- */
/* The network that an address is of; "-": none but itself. */
static void network_text(const struct host_addr *a, char text[NET_WORD])
{
	unsigned int first = a->family == AF_INET ? 12 : 0, bits = a->prefix, i;
	char addr[INET6_ADDRSTRLEN];
	uint8_t net[16];

	if (bits == (16 - first) * 8) {
		strcpy(text, "-");
		return;
	}
	memcpy(net, a->gid, 16);
	for (i = first; i < 16; i++) {
		net[i] &= bits >= 8 ? 0xff : (uint8_t)(0xff00 >> bits);
		bits -= bits >= 8 ? 8 : bits;
	}
	inet_ntop(a->family, net + first, addr, sizeof(addr));
	snprintf(text, NET_WORD, "%s/%u", addr, a->prefix);
}

static void addr_words(const struct host_addr *a, char word[][NET_WORD])
{
	unsigned int first = a->family == AF_INET ? 12 : 0, i;
	char *gid = word[2];

	inet_ntop(a->family, a->gid + first, word[0], NET_WORD);
	network_text(a, word[1]);
	for (i = 0; i < 16; i += 2)
		gid += sprintf(gid, "%s%02x%02x", i ? ":" : "", a->gid[i],
			       a->gid[i + 1]);
}

static void make_env(const struct sup *s, const struct sup_dev *d,
		     struct net_args *args)
{
	const struct be_network *net = &d->net.want;
	uint16_t pkey[XENVHCA_MAX_PKEYS];
	int n, i;

	snprintf(args->env[0], NET_ENV, "VHCA_HCA=%s", net->hca);
	snprintf(args->env[1], NET_ENV, "VHCA_PORT=%u", net->port);
	n = net->pkeys[0] ? host_pkeys_parse(net->pkeys, pkey) : 0;
	strcpy(args->env[2], "VHCA_PKEY=");
	if (n > 0)
		snprintf(args->env[2], NET_ENV, "VHCA_PKEY=0x%04x", pkey[0]);
	snprintf(args->env[3], NET_ENV, "VHCA_SYS=%s/sys", s->opt->root);
	snprintf(args->env[4], NET_ENV, "VHCA_DEVICE=%u-%u", d->domid, d->devid);
	strcpy(args->env[5], "VHCA_VIF=");
	if (net->vif != BE_NO_VIF)
		snprintf(args->env[5], NET_ENV, "VHCA_VIF=%u", net->vif);
	snprintf(args->env[6], NET_ENV, "VHCA_MAC=%s", net->mac);
	for (i = 0; i < 7; i++)
		args->envp[i] = args->env[i];
	args->envp[i++] = net_path;
	args->envp[i] = NULL;
}

static void make_args(const struct sup *s, const struct sup_dev *d,
		      enum be_net_verb verb, struct net_args *args)
{
	struct host_addr ip[XENVHCA_MAX_IPS];
	int i, n = 0, argc = 0;

	if (verb != NET_REMOVE)
		n = host_addrs_parse(d->net.want.ip, ip);
	args->argv[argc++] = (char *)(uintptr_t)s->opt->script;
	args->argv[argc++] = net_word[verb];
	for (i = 0; i < n; i++)
		addr_words(&ip[i], &args->word[i * NET_WORDS]);
	for (i = 0; i < n * NET_WORDS; i++)
		args->argv[argc++] = args->word[i];
	args->argv[argc] = NULL;
	make_env(s, d, args);
}

/* It goes on all the same: the operator may mend it. RDMA needs no vif. */
static void net_failed(struct sup *s, struct sup_dev *d, enum be_net_verb verb,
		       const char *why)
{
	static const char *const what[] = {
		[NET_ADD] = XENVHCA_NODE_IP,
		[NET_REMOVE] = "addresses that stay on the network",
		[NET_VIF] = XENVHCA_NODE_VIF,
	};
	struct be_net *n = &d->net;
	bool *told = verb == NET_VIF ? &n->vif_told : &n->told;
	char text[256];

	n->next_ns = vl_now_ns() + NET_RETRY_MS * VL_MSEC_NS;
	be_sup_timer(s, n->next_ns);
	snprintf(text, sizeof(text), "%s: %s", what[verb], why);
	if (!*told) {
		be_log(NULL, BE_ERR, "d%u/%u: %s", d->domid, d->devid, text);
		s->all->ops->write(s->all, d->domid, d->devid, XENVHCA_NODE_BROKEN,
				   text);
	}
	*told = true;
	n->followed = false;
	n->vif = true;
	if (verb == NET_ADD)
		be_sup_write_closed(s, d);
}

static void job_start(struct sup *s, struct sup_dev *d, enum be_net_verb verb)
{
	struct net_args args;
	char why[300];
	int rc;

	make_args(s, d, verb, &args);
	rc = be_process_run(&s->job.p, args.argv, args.envp, &s->job.out);
	if (rc) {
		snprintf(why, sizeof(why), "cannot run %s: %s", s->opt->script,
			 strerror(-rc));
		net_failed(s, d, verb, why);
		return;
	}
	be_sup_listen(s, &s->job.p, NULL);
	d->net.on = true;
	d->net.current &= verb == NET_VIF;
	d->net.followed = true;		/* but for what happens while it runs */
	d->net.vif = d->net.want.mac[0];
	s->job.dev = d;
	s->job.verb = verb;
	s->job.end_ns = vl_now_ns() + NET_LIMIT_MS * VL_MSEC_NS;
	be_sup_timer(s, s->job.end_ns);
}

/* What the script said, as one line. */
static void job_output(struct sup *s, int status, char *text, size_t size)
{
	ssize_t n = read(s->job.out, text, size - 1), i;

	close(s->job.out);
	for (n = n < 0 ? 0 : n; n && text[n - 1] == '\n'; n--)
		;
	text[n] = '\0';
	for (i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = text[i] == '\n' ? ';' : '?';
	if (!n)
		snprintf(text, size, "%s ended with %s %d", s->opt->script,
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) :
			 WEXITSTATUS(status));
}

static void job_end(struct sup *s, int status)
{
	struct sup_dev *d = s->job.dev;
	bool ok = WIFEXITED(status) && !WEXITSTATUS(status);
	char why[200];

	job_output(s, status, why, sizeof(why));
	be_sup_forget(s, &s->job.p);
	s->job.dev = NULL;
	d->net.on = s->job.verb != NET_REMOVE || !ok;
	d->net.current |= ok && s->job.verb == NET_ADD;
	if (!ok)
		net_failed(s, d, s->job.verb, why);
	else if (s->job.verb != NET_VIF)
		d->net.told = false;
	else if (d->net.vif_told)	/* no worker starts, which would remove it */
		s->all->ops->write(s->all, d->domid, d->devid, XENVHCA_NODE_BROKEN, NULL);
	d->net.vif_told &= !ok;
}

void be_sup_net_reap(struct sup *s)
{
	struct be_net_job *job = &s->job;
	uint64_t now = vl_now_ns();
	int status;

	if (!job->dev)
		return;
	if (be_process_dead(&job->p, &status)) {
		job_end(s, status);
		return;
	}
	if (now >= job->end_ns)
		be_process_signal(&job->p, SIGKILL);
	be_sup_timer(s, now < job->end_ns && job->p.pidfd >= 0 ? job->end_ns :
		     now + NET_LOOK_MS * VL_MSEC_NS);
}

void be_sup_net_finish(struct sup *s)
{
	int i;

	for (i = 0; i < NET_ENDS && s->job.dev; i++) {
		be_sup_net_reap(s);
		if (s->job.dev)
			usleep(NET_LOOK_MS * 1000);
	}
}

static bool same(const struct be_network *a, const struct be_network *b)
{
	return !strcmp(a->hca, b->hca) && a->port == b->port &&
	       !strcmp(a->ip, b->ip) && !strcmp(a->pkeys, b->pkeys) && a->vif == b->vif;
}

static bool overlap(const char *a, const char *b)
{
	struct host_addr of_a[XENVHCA_MAX_IPS], of_b[XENVHCA_MAX_IPS];
	int na = host_addrs_parse(a, of_a), nb = host_addrs_parse(b, of_b), i, j;

	for (i = 0; i < na; i++)
		for (j = 0; j < nb; j++)
			if (!memcmp(of_a[i].gid, of_b[j].gid, 16))
				return true;
	return false;
}

static bool going(struct sup *s, const struct sup_dev *d)
{
	return !d->seen || !s->all->ops->alive(s->all, d->domid) ||
	       !be_devices_online(s->all, d->domid, d->devid);
}

/* Has another device one of these addresses? One that goes is waited for. */
static bool taken(struct sup *s, struct sup_dev *d, const struct be_network *want)
{
	struct sup_dev *o;
	char why[128];

	for (o = s->devs; o; o = o->next) {
		if (o == d || !o->net.on)
			continue;
		/* Of what an earlier supervisor left nobody knows the addresses. */
		if (o->net.want.ip[0] ? !overlap(o->net.want.ip, want->ip) :
					o->net.told)
			continue;
		if (going(s, o) && !o->net.told) {
			be_sup_timer(s, vl_now_ns() + NET_LOOK_MS * VL_MSEC_NS);
			return true;
		}
		snprintf(why, sizeof(why), "device %u of domain %u has an address of these: give each its own",
			 o->devid, o->domid);
		net_failed(s, d, NET_ADD, why);
		return true;
	}
	return false;
}

/* False: not now. */
static bool may_start(struct sup *s, const struct sup_dev *d)
{
	if (s->job.dev)		/* its end is a reason to look again */
		return false;
	if (vl_now_ns() >= d->net.next_ns)
		return true;
	be_sup_timer(s, d->net.next_ns);
	return false;
}

bool be_sup_net_up(struct sup *s, struct sup_dev *d)
{
	struct host_addr ip[XENVHCA_MAX_IPS];
	struct be_net *n = &d->net;
	struct be_network want;
	bool bad;

	net_read(s, d, &want);
	if (n->current && same(&n->want, &want))
		return true;
	bad = host_addrs_parse(want.ip, ip) < 0;
	/* What is no address is for the worker to refuse. */
	if (!n->on && bad)
		return true;
	if (!may_start(s, d))
		return false;
	/* To add what an earlier supervisor left takes nothing from the network. */
	if (n->on && (bad || !same(&n->want, &want))) {
		job_start(s, d, NET_REMOVE);
	} else if (want.vif != BE_NO_VIF && !s->all->ops->vif_mac) {
		net_failed(s, d, NET_ADD, "without a toolstack this domain has no vif of a guest: leave vif out");
	} else if (!taken(s, d, &want)) {
		n->want = want;
		job_start(s, d, NET_ADD);
	}
	return false;
}

void be_sup_net_follow(struct sup *s, struct sup_dev *d)
{
	struct be_net *n = &d->net;

	if (n->followed || !n->on || n->want.vif == BE_NO_VIF || !s->all->ops->vif_mac ||
	    (!d->worker.pid && !n->current) || !may_start(s, d))
		return;
	s->all->ops->vif_mac(s->all, d->domid, n->want.vif, n->want.mac);
	n->followed = !n->vif && !n->want.mac[0];
	if (!n->followed)
		job_start(s, d, NET_VIF);
}

bool be_sup_net_down(struct sup *s, struct sup_dev *d)
{
	if (!d->net.on)
		return true;
	if (s->job.dev != d && may_start(s, d))
		job_start(s, d, NET_REMOVE);
	return false;
}
