// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Shared memory that changes while it is read: a second thread writes into the
 * request slots, the directories and the indices all the time. Whatever the
 * backend sees, it looks once; the ledger at the end must balance.
 */
#include <pthread.h>
#include <stdlib.h>

#include "clock.h"
#include "tests/fake/fake_priv.h"
#include "core/wake.h"
#include "wire.h"

#define MILLISECONDS	400
#define RING_MEMORY	(48u << 20)	/* the fake kernel has 64 MiB */

static struct wire *volatile target;
static volatile bool stop;
static pthread_mutex_t calm = PTHREAD_MUTEX_INITIALIZER;

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*s >> 33);
}

/* Spoils one word of what the frontend owns; not its producer index. */
static void *mutate(void *arg)
{
	uint8_t *slots = (uint8_t *)loop_sring(target->loop)->ring;
	uint32_t *dir = loop_page(target->loop, 20);
	uint64_t seed = (uintptr_t)arg;
	volatile uint32_t *word;

	while (!stop) {
		pthread_mutex_lock(&calm);
		word = (uint32_t *)(slots + rnd(&seed) % (8 * 512 / 4) * 4);
		*word = rnd(&seed) % 3 ? rnd(&seed) % 256 : rnd(&seed);
		dir[rnd(&seed) % 1024] = rnd(&seed) % 4 ?
					 LOOP_REF(rnd(&seed) % 8) : 0;
		pthread_mutex_unlock(&calm);
	}
	return NULL;
}

static bool next(struct wire *w, const struct ctx *c, uint64_t *seed)
{
	struct xenvhca_response rsp;
	struct xenvhca_request req;

	while (!wire_good(c, (uint16_t)(rnd(seed) % XENVHCA_OP_MAX), &req))
		;
	if (req.op == XENVHCA_OP_REG_MR && rnd(seed) % 2) {
		req.u.reg_mr.iova = req.u.reg_mr.page_offset = 0;
		req.u.reg_mr.pages = (struct xenvhca_pages){
			.nr_pages = 64, .level = 1, .gref = { LOOP_REF(20) },
		};
		req.u.reg_mr.length = 64 * XENVHCA_PAGE_SIZE;
	}
	if (loop_put_request(w->loop, &req))
		return false;
	wire_run(w);
	while (loop_get_response(w->loop, &rsp))
		;
	return !w->dev.fault;
}

/* What lives without end would only fill the fake kernel. */
static bool again(struct world *w)
{
	pthread_mutex_lock(&calm);
	fake_settle(&w->a.dev);
	be_dev_close(&w->a.dev);
	assert_int_equal(loop_mapped(w->a.loop), 0);
	assert_int_equal(be_dev_open(&w->a.dev), 0);
	ctx_make(&w->a, &w->c);
	pthread_mutex_unlock(&calm);
	return fake.next_ring < RING_MEMORY;
}

static void mutated(void **state)
{
	struct world *w = *state;
	uint64_t seed = 1, end = vl_now_ns() + MILLISECONDS * VL_MSEC_NS;
	unsigned int n = 0;
	pthread_t thread;

	target = &w->a;
	stop = false;
	w->a.dev.quota.fail.rate = w->a.dev.quota.cmd.rate = 0; /* no waits */
	assert_int_equal(pthread_create(&thread, NULL, mutate, (void *)7), 0);
	while (vl_now_ns() < end && next(&w->a, &w->c, &seed))
		if (++n % 100 == 0 && !again(w))
			break;
	stop = true;
	pthread_join(thread, NULL);
	assert_true(n > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(mutated, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(mutated, world_setup_mlx5,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
