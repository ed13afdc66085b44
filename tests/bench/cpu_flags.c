// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Does the (emulated) processor keep the flags that cmpxchg8b and cmpxchg16b do not
 * change? They follow a comparison of two addresses in one block, and are read right
 * behind it, as an interrupt would. Ends with status 0 if so, else says what came.
 *
 * Usage: cpu-flags
 */
#include <inttypes.h>
#include <stdio.h>

#define FLAG_ZF 0x40u

struct pair {
	uint64_t low, high;
} __attribute__((aligned(16)));

/*
 * flags_after(exchange): EFLAGS after a comparison, and exchange behind it. popfq ends the
 * emulator's block with flags that need no computation; the red zone is spared.
 */
#define flags_after(exchange) ({					\
	struct pair at = { 1, 2 };					\
	uint64_t flags, rax = 1, rdx = 2;				\
									\
	asm volatile("lea	-128(%%rsp), %%rsp\n\t"			\
		     "pushq	$0x202\n\t"				\
		     "popfq\n\t"					\
		     "cmpq	%[right], %[left]\n\t"			\
		     exchange "\n\t"					\
		     "pushfq\n\t"					\
		     "popq	%[flags]\n\t"				\
		     "lea	128(%%rsp), %%rsp"			\
		     : [flags] "=&r" (flags), [at] "+m" (at),		\
		       "+a" (rax), "+d" (rdx)				\
		     : [left] "r" (0xffff888007841600ull),		\
		       [right] "r" (0xffff88800adfbe80ull),		\
		       [pointer] "D" (&at), "b" (3ull), "c" (4ull)	\
		     : "cc", "memory");					\
	flags;								\
})

static int differs(const char *what, uint64_t flags, uint64_t want)
{
	if ((flags | FLAG_ZF) == (want | FLAG_ZF))
		return 0;
	printf("%s: flags %#" PRIx64 ", they were %#" PRIx64 "\n", what, flags,
	       want);
	return 1;
}

int main(void)
{
	uint64_t want = flags_after("nop");
	int bad = 0;

	bad |= differs("cmpxchg8b", flags_after("cmpxchg8b (%[pointer])"), want);
	bad |= differs("cmpxchg16b", flags_after("cmpxchg16b (%[pointer])"), want);
	return bad;
}
