// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counters of a device in debugfs, /sys/kernel/debug/xen-vhca/<device>/stats,
 * and of the module, xen-vhca/zombies, as lines "name value". Tests and
 * operators read them; nothing depends on their existence.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "ring/grant.h"
#include "vhca.h"

static struct dentry *root;

#define NAME(name) #name
static const char * const names[] = { VHCA_STATS(NAME) };
#define VALUE(name) (&st->name)

static int stats_show(struct seq_file *s, void *unused)
{
	const struct vhca_dev *dev = s->private;
	const struct vhca_stats *st = &dev->stats;
	const atomic64_t *value[] = { VHCA_STATS(VALUE) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		seq_printf(s, "%s %lld\n", names[i],
			   (long long)atomic64_read(value[i]));
	seq_printf(s, "zombies %llu\n", vhca_grant_zombies());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int zombies_show(struct seq_file *s, void *unused)
{
	seq_printf(s, "zombies %llu\n", vhca_grant_zombies());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(zombies);

void vhca_stats_add(struct vhca_dev *dev)
{
	dev->debugfs = debugfs_create_dir(dev_name(&dev->ibdev.dev), root);
	debugfs_create_file("stats", 0444, dev->debugfs, dev,
			    &stats_fops);
}

/* Waits until no process reads any more. */
void vhca_stats_del(struct vhca_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
	dev->debugfs = NULL;
}

void vhca_stats_init(void)
{
	root = debugfs_create_dir("xen-vhca", NULL);
	debugfs_create_file("zombies", 0444, root, NULL, &zombies_fops);
}

void vhca_stats_exit(void)
{
	debugfs_remove_recursive(root);
}
