// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The indices of a ring, and when a side is notified, in every order in which two
 * processors can do it: a store becomes visible at any time after it, but not before
 * earlier ones of its own word, or of any word behind a write barrier; a full barrier
 * waits for all of them. Loads are made in order (what virt_rmb() is for, race_ring
 * shows). No notification is lost, and no entry is read before it is written.
 *
 * The steps are those of the macros of xen/io/ring.h, with which frontend and backend
 * send requests and answers, and of ring_kick.c with its two waiters for one word.
 *
 *   model_events ring|kicks [FAULT]    a barrier, or a rule, that is left out
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES		3		/* that the one side produces */
#define SLOTS		2		/* of the ring: it is used again */
#define THREADS		4
#define STORES		4		/* on their way, of a thread */
#define WMB		0xff		/* among these: order, no word */

enum word { PROD, EVENT, SLOT, WORDS = SLOT + SLOTS };

struct thread {
	uint8_t pc, index, seen, nr;	/* index: of its next entry */
	struct { uint8_t word, value; } store[STORES];
};

struct state {
	uint8_t word[WORDS];
	struct thread thread[THREADS];
	uint8_t raised;			/* upcall that is to come */
	uint8_t kick_seen, kick_done;	/* as in struct vhca_ring */
	uint8_t woken;			/* a bit for each waiter */
};

struct model {
	const char *name;
	unsigned int threads;
	/* One step of a thread. False: it can make none now. */
	bool (*step)(struct state *s, unsigned int t);
	/* Nothing can happen any more: is that an end? */
	bool (*ended)(const struct state *s);
};

static const char *fault = "";
static const char *found;		/* what is wrong */

static bool leaves_out(const char *what)
{
	return !strcmp(fault, what);
}

/* ---- memory ---- */
static uint8_t load(const struct state *s, unsigned int t, uint8_t word)
{
	const struct thread *th = &s->thread[t];
	unsigned int i;

	for (i = th->nr; i--; )
		if (th->store[i].word == word)
			return th->store[i].value;
	return s->word[word];
}

static void store(struct state *s, unsigned int t, uint8_t word, uint8_t value)
{
	struct thread *th = &s->thread[t];

	th->store[th->nr].word = word;
	th->store[th->nr++].value = value;
}

static void wmb(struct state *s, unsigned int t)
{
	if (s->thread[t].nr && !leaves_out("wmb"))
		store(s, t, WMB, 0);
}

/* Is a full barrier through? */
static bool mb(const struct state *s, unsigned int t, const char *name)
{
	return !s->thread[t].nr || leaves_out(name);
}

/* May the i-th store of a thread become visible before those in front of it? */
static bool may_leave(const struct thread *th, unsigned int i)
{
	unsigned int j;

	for (j = 0; j < i; j++)
		if (th->store[j].word == WMB || th->store[i].word == WMB ||
		    th->store[j].word == th->store[i].word)
			return false;
	return true;
}

static void leave(struct state *s, unsigned int t, unsigned int i)
{
	struct thread *th = &s->thread[t];

	if (th->store[i].word != WMB)
		s->word[th->store[i].word] = th->store[i].value;
	th->nr--;
	memmove(&th->store[i], &th->store[i + 1], (th->nr - i) * sizeof(th->store[0]));
	memset(&th->store[th->nr], 0, sizeof(th->store[0]));
}

/* ---- requests or answers ---- */
static bool produce(struct state *s, unsigned int t)
{
	struct thread *th = &s->thread[t];

	switch (th->pc) {
	case 0:
		/* The other side's index says that the slot is free, as answers do. */
		if (th->index == ENTRIES || th->index - s->thread[1].index == SLOTS)
			return false;
		store(s, t, SLOT + th->index % SLOTS, th->index + 1);
		th->index++;
		wmb(s, t);
		break;
	case 1:
		store(s, t, PROD, th->index);
		break;
	case 2:
		if (!mb(s, t, "mb of the producer"))
			return false;
		s->raised |= load(s, t, EVENT) == th->index;
		th->pc = 0;
		return true;
	}
	th->pc++;
	return true;
}

static bool consume(struct state *s, unsigned int t)
{
	struct thread *th = &s->thread[t];

	switch (th->pc) {
	case 0:				/* all that are there */
		th->seen = load(s, t, PROD);
		th->pc = th->seen == th->index ? 2 : 1;
		return true;
	case 1:
		if (load(s, t, SLOT + th->index % SLOTS) != th->index + 1)
			found = "an entry is read before it is written";
		th->pc = ++th->index == th->seen ? 0 : 1;
		return true;
	case 2:				/* RING_FINAL_CHECK_FOR_...() */
		store(s, t, EVENT, th->index + 1);
		th->pc = 3;
		return true;
	case 3:
		if (!mb(s, t, "mb of the consumer"))
			return false;
		th->pc = load(s, t, PROD) != th->index && !leaves_out("the final check") ?
			 0 : 4;
		return true;
	}
	if (!s->raised)
		return false;
	s->raised = th->pc = 0;
	return true;
}

static bool ring_step(struct state *s, unsigned int t)
{
	return t ? consume(s, t) : produce(s, t);
}

static bool ring_ended(const struct state *s)
{
	return s->thread[1].index == ENTRIES;
}

/*
 * ---- kicks ---- The backend executes two. One process waits for the first of them, one
 * for both. PROD is done, EVENT done_event. kick_lock makes is_kick_done() one step.
 */
enum { BACKEND, FIRST, BOTH, UPCALL };
static const char unlocked[] = "kick_lock around done_event";

static bool execute(struct state *s, struct thread *th)
{
	if (th->pc == 0) {
		if (th->index == BOTH)
			return false;
		store(s, BACKEND, PROD, ++th->index);
		th->pc = 1;
		return true;
	}
	if (!mb(s, BACKEND, "mb of the producer"))
		return false;
	s->raised |= load(s, BACKEND, EVENT) == th->index;
	th->pc = 0;
	return true;
}

static uint8_t is_kick_done(struct state *s, unsigned int t)
{
	uint8_t done = load(s, t, PROD);

	if (done != s->kick_seen)
		s->woken = FIRST | BOTH;
	s->kick_seen = done;
	return done;
}

/* What was stored under a lock is there when the next one has it. */
static bool is_kick_locked(const struct state *s, unsigned int t)
{
	return !leaves_out(unlocked) &&
	       ((t != FIRST && s->thread[FIRST].nr) || (t != BOTH && s->thread[BOTH].nr));
}

/* It is not executed: done_event is written, under the same lock or later. */
static void ask(struct state *s, unsigned int t, struct thread *th)
{
	th->pc = 1;
	if (leaves_out(unlocked))
		return;
	store(s, t, EVENT, th->seen + 1);
	th->pc = 2;
}

/* kick_executed(), in wait_event(). */
static bool await_kick(struct state *s, unsigned int t, struct thread *th)
{
	uint8_t before = th->seen;

	if (th->pc != 1 && th->pc != 3 && is_kick_locked(s, t))
		return false;
	switch (th->pc) {
	case 0:
		s->woken &= ~t;
		th->seen = is_kick_done(s, t);
		if (th->seen >= t)
			th->pc = 4;
		else
			ask(s, t, th);
		return true;
	case 1:
		store(s, t, EVENT, th->seen + 1);
		th->pc = 2;
		return true;
	case 2:
		if (!mb(s, t, "mb of the consumer"))
			return false;
		if (!leaves_out("the final check"))
			th->seen = is_kick_done(s, t);
		if (th->seen >= t || th->seen == before)
			th->pc = th->seen >= t ? 4 : 3;
		else
			ask(s, t, th);
		return true;
	case 3:
		if (s->woken & t)
			th->pc = 0;
		return s->woken & t;
	}
	return false;
}

/* vhca_ring_kick_irq() */
static bool upcall(struct state *s)
{
	uint8_t done;

	if (!s->raised || is_kick_locked(s, UPCALL))
		return false;
	s->raised = 0;
	done = is_kick_done(s, UPCALL);
	if (done != s->kick_done)
		s->woken = FIRST | BOTH;
	s->kick_done = done;
	return true;
}

static bool kick_step(struct state *s, unsigned int t)
{
	if (t == UPCALL)
		return upcall(s);
	return t ? await_kick(s, t, &s->thread[t]) : execute(s, &s->thread[t]);
}

static bool kick_ended(const struct state *s)
{
	return s->thread[FIRST].pc == 4 && s->thread[BOTH].pc == 4;
}

/* ---- every order ---- */
#define SEEN		(1u << 20)
static struct state seen[SEEN];
static bool is_seen[SEEN];
static unsigned int nr_seen;

static bool is_new(const struct state *s)
{
	const uint8_t *byte = (const uint8_t *)s;
	uint32_t hash = 2166136261u;
	unsigned int i;

	for (i = 0; i < sizeof(*s); i++)
		hash = (hash ^ byte[i]) * 16777619u;
	for (hash %= SEEN; is_seen[hash]; hash = (hash + 1) % SEEN)
		if (!memcmp(&seen[hash], s, sizeof(*s)))
			return false;
	if (++nr_seen > SEEN / 2)
		abort();
	is_seen[hash] = true;
	seen[hash] = *s;
	return true;
}

static void search(const struct model *m, const struct state *s);

static bool go_on(const struct model *m, const struct state *s, unsigned int t)
{
	struct state next = *s;
	unsigned int i;
	bool any;

	any = s->thread[t].nr < STORES - 1 && m->step(&next, t);
	if (any)
		search(m, &next);
	for (i = 0; i < s->thread[t].nr; i++) {
		if (!may_leave(&s->thread[t], i))
			continue;
		next = *s;
		leave(&next, t, i);
		search(m, &next);
		any = true;
	}
	return any;
}

static void search(const struct model *m, const struct state *s)
{
	bool any = false;
	unsigned int t;

	if (found || !is_new(s))
		return;
	for (t = 0; t < m->threads && !found; t++)
		any |= go_on(m, s, t);
	if (!any && !found && !m->ended(s))
		found = "a notification is lost";
}

int main(int argc, char **argv)
{
	static const struct model models[] = {
		{ "ring", 2, ring_step, ring_ended },
		{ "kicks", 4, kick_step, kick_ended },
	};
	struct state first = { .word[EVENT] = 1 };
	const struct model *m = models;

	if (argc < 2)
		return 99;
	if (argc > 2)
		fault = argv[2];
	m += !!strcmp(argv[1], m->name);
	search(m, &first);
	printf("%u states of %s\n", nr_seen, m->name);
	if (found)
		printf("wrong: %s\n", found);
	return !!found;
}
