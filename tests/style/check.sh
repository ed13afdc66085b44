#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The source tree has no complaint of check.py (and of the kernel's checkpatch,
# if there is one: CHECKPATCH=FILE), and the checks notice what they are for: each
# rule is broken once in a copy of the tree.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/lib/claim.sh
. "$top/tests/lib/claim.sh"

# noticed TEXT FILE LINE-TO-APPEND [OTHER]: the copy with that line is refused by $gate,
# in that file or in another one.
gate=check.py
noticed() {
	cp "$work/tree/$2" "$work/saved"
	printf '%b\n' "$3" >>"$work/tree/$2"
	python3 "$top/tests/style/$gate" --top "$work/tree" \
		>"$work/noticed" && : >"$work/noticed"
	claim "$1 is noticed" grep "^${4:-$2}:" "$work/noticed"
	cp "$work/saved" "$work/tree/$2"
}

# Types left out: what plain C shared with user space, lists of rows, and code for several
# versions of the kernel, cannot do without; and ENOSYS, Linux' word for a command of
# rdma_cm that it does not have.
checkpatch() {
	cd "$work" && find "$top/frontend" "$top/backend/helper" \
		"$top/common/provider" -name '*.[ch]' \
		-exec "$CHECKPATCH" --no-tree --terse --no-summary --file \
		--max-line-length=100 --ignore SPDX_LICENSE_TAG,MACRO_ARG_REUSE \
		--ignore ARRAY_SIZE,VOLATILE,LINUX_VERSION_CODE,CONSTANT_COMPARISON \
		--ignore COMPLEX_MACRO,ENOSYS {} +
}

claim "the tree has no complaint" python3 "$top/tests/style/check.py"
claim "no circle of calls is larger than its limit" python3 "$top/tests/style/calls.py"

CHECKPATCH=${CHECKPATCH:-$(find /usr/src -path '*/scripts/checkpatch.pl' \
	2>/dev/null | sort | tail -n 1)}
if [ -n "$CHECKPATCH" ]; then
	claim "checkpatch agrees" checkpatch
else
	echo "note checkpatch.pl is not installed (set CHECKPATCH=FILE)"
fi

mkdir "$work/tree"
(cd "$top" && tar -cf - --exclude=build --exclude=.git .) | tar -xf - -C "$work/tree"
noticed "exit() in the daemon" backend/core/quota.c 'void f(void) { exit(1); }'
noticed "exit() in the agent" tools/doorbelld/agent.c 'void f(void) { exit(1); }'
noticed "BUG() in the module" frontend/verbs/pd.c 'void f(void) { BUG(); }'
noticed "six lines that stand twice" frontend/verbs/pd.c "$(sed -n 14,30p "$top/frontend/verbs/mw.c")"
noticed "a node name as a literal" xenstore/scan.c 'char *s = "doorbell-window";'
noticed "a character beyond ASCII" docs/design/teardown.md '\0303\0244'
noticed "a blank at the end of a line" docs/design/teardown.md 'x '
noticed "a wide cell of a table" docs/glossary.md "| word | $(printf '%0101d' 0) |"
noticed "an opcode without a handler" include/xen/io/vhcaif.h \
	'#define XENVHCA_OP_EXTRA                0x3e'
noticed "a second file that reads the ring" backend/core/quota.c \
	'void f(void) { RING_COPY_REQUEST(a, b, c); }'
noticed "a second file that maps guest memory" backend/verbs/mr.c \
	'void *f(struct be_transport *t) { return t->ops->map(t, 0, 1, false); }'
noticed "a kind of objects that nobody can set a limit for" \
	include/xen/io/vhcaif.h '    X(WQ, wq, 7) /* work queues */' 'tools/patches/xen-libxl/.*'
noticed "a private header of another part" tools/vhcactl/out.c \
	'#include "backend/verbs/queue.h"'
noticed "headers in a circle" backend/core/quota.h '#include "be.h"' backend/core/be.h
noticed "a header of another room" backend/supervise/supervisor.c \
	'#include "verbs/queue.h"'
noticed "a worker that chooses xenstore" backend/worker/worker.c \
	'struct be_link *f(void) { return be_link_xenstore(0, 5, 0); }'
noticed "a supervisor that includes xenstore" backend/supervise/supervisor.c \
	'#include "xenstore/scan.h"'
noticed "a scenario that sleeps" tests/qemu/scenarios/40-exit.sh 'true; sleep 3'
noticed "a proof by a test that is not there" docs/design/threat-model.md \
	'| B99 | a rule | `test_of_nothing`, 60 |'
noticed "a proof by a scenario that is not there" docs/design/threat-model.md \
	'| F99 | a rule | 60, 99 |'
noticed "a proof that only the long tier has" docs/design/threat-model.md '| B99 | a rule | 45 |'
noticed "a state without a row" backend/verbs/ucontext.h 'enum be_uc_state { BE_UC_LOST };'
noticed "a static with the prefix of its part" backend/core/log.c \
	'static int be_none(void);'
: >"$work/tree/backend/new.c"
noticed "a file without a license" backend/new.c 'int x;'
gate=calls.py
noticed "a folder that calls one above it" frontend/ring/spin.c \
	'void f(struct vhca_ucontext *uc) { vhca_uc_adopt(uc, NULL); }' frontend/mmap
noticed "a circle of calls" frontend/ring/check.c \
	'void f(struct vhca_dev *d) { vhca_ring_submit(d, NULL, 0); }'

verdict
