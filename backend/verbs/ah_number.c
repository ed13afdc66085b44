// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A WQE of Soft-RoCE names an address handle by the driver's number. Of a number that is
 * no handle of the queue pair's domain the driver prints two lines and ends the
 * queue pair (rxe_av.c, rxe_get_av), so rxe_wqe.c looks each number up.
 */
#include "object.h"

static struct be_ah **hash_head(struct be_dev *dev, uint32_t num)
{
	return &dev->ahs[num % BE_AH_HEADS];
}

bool be_ah_known(const struct be_dev *dev, uint32_t num, uint32_t pd)
{
	const struct be_ah *ah = dev->ahs[num % BE_AH_HEADS];

	while (ah && ah->num != num)
		ah = ah->next;
	return ah && ah->pd == pd;
}

void be_ah_number_add(struct be_dev *dev, struct be_ah *ah)
{
	struct be_ah **head = hash_head(dev, ah->num);

	pthread_rwlock_wrlock(&dev->lock);
	ah->next = *head;
	ah->prev = head;
	if (ah->next)
		ah->next->prev = &ah->next;
	*head = ah;
	pthread_rwlock_unlock(&dev->lock);
}

void be_ah_number_del(struct be_dev *dev, struct be_ah *ah)
{
	if (!ah->prev)
		return;
	pthread_rwlock_wrlock(&dev->lock);
	*ah->prev = ah->next;
	if (ah->next)
		ah->next->prev = ah->prev;
	ah->prev = NULL;
	pthread_rwlock_unlock(&dev->lock);
}
