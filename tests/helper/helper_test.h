/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Between the files of vhca-helper-test.
 */
#ifndef HELPER_TEST_H
#define HELPER_TEST_H

#include <infiniband/verbs.h>
#include <stdint.h>

#define PAGE	4096u

extern int failed;

#define CHECK(cond) check(cond, #cond, __func__, __LINE__)

/* ---- helper_test.c ---- */
void check(int ok, const char *what, const char *fn, int line);
/* Of the module, in debugfs; -1: unknown. */
int counter(const char *name);
/* Waits up to 10 s for it. */
int counter_becomes(const char *name, int want);
/* Or the end of the program. */
int helper_open(void);
struct ibv_context *hca_open(const char *name);
/* The n-th mapping of a verbs file in this process, or NULL. */
void *mapping(uint32_t n, uint32_t *pages);

/* ---- frames.c ---- */
/* A software HCA is no device of a bus: it has neither registers nor DMA. */
int is_hardware(const char *hca);
void test_frame_errors(void);
void test_frames(const char *hca);
void test_cap(const char *hca);
/* Run a command while the HCA's DMA segments are capped. Exit code on error. */
int run_capped(const char *hca, char **command);

#endif
