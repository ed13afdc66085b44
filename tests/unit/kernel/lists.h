/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Linux' lists, for kernel.h.
 */
#ifndef KERNEL_LISTS_H
#define KERNEL_LISTS_H

struct list_head { struct list_head *next, *prev; };
static __thread unsigned int list_steps;	/* elements that walks looked at */
#define LIST_HEAD(l)		struct list_head l = { &l, &l }
#define INIT_LIST_HEAD(l)	((l)->next = (l)->prev = (l))
#define list_empty(l)		((l)->next == (l))
#define list_for_each_entry(p, head, m)					\
	for (p = container_of((head)->next, typeof(*p), m);		\
	     &p->m != (head) && ++list_steps;				\
	     p = container_of(p->m.next, typeof(*p), m))
#define list_for_each_entry_safe(p, n, head, m)				\
	for (p = container_of((head)->next, typeof(*p), m),		\
	     n = container_of(p->m.next, typeof(*p), m);		\
	     &p->m != (head) && ++list_steps;				\
	     p = n, n = container_of(n->m.next, typeof(*n), m))

static inline void list_add_tail(struct list_head *new, struct list_head *head)
{
	new->prev = head->prev;
	new->next = head;
	head->prev->next = new;
	head->prev = new;
}

static inline void list_add(struct list_head *new, struct list_head *head)
{
	list_add_tail(new, head->next);
}

static inline void list_del(struct list_head *l)
{
	l->next->prev = l->prev;
	l->prev->next = l->next;
}

static inline void list_del_init(struct list_head *l)
{
	list_del(l);
	INIT_LIST_HEAD(l);
}

static inline void list_splice(struct list_head *from, struct list_head *head)
{
	if (from->next == from)
		return;
	from->next->prev = head;
	from->prev->next = head->next;
	head->next->prev = from->prev;
	head->next = from->next;
}

static inline void list_splice_init(struct list_head *from,
				    struct list_head *head)
{
	list_splice(from, head);
	INIT_LIST_HEAD(from);
}

#endif
