#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The source tree has no complaint of check.py (and of the kernel's checkpatch,
# if there is one: CHECKPATCH=FILE), and the checks notice what they are for: each
# rule is broken once in a copy of the tree; faults that do not hide each other at once.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/lib/claim.sh
. "$top/tests/lib/claim.sh"

# noticed TEXT FILE LINE COMPLAINT: plants that line into the copy, for look().
tab=$(printf '\t')
noticed() {
	printf '%b\n' "$3" >>"$work/tree/$2"
	printf '%s\t%s\t%s\n' "$2" "$4" "$1" >>"$work/faults"
}
# look GATE: it refuses the copy, with each complaint (FILE:.*WORDS). The faults go.
look() {
	python3 "$top/tests/style/$1" --top "$work/tree" >"$work/noticed" && : >"$work/noticed"
	while IFS=$tab read -r file complaint what; do
		claim "$what is noticed" grep "^$complaint" "$work/noticed"
		rm -f "$work/tree/$file"
		[ ! -e "$top/$file" ] || cp "$top/$file" "$work/tree/$file"
	done <"$work/faults"
	rm "$work/faults"
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
noticed "exit() in the daemon" backend/core/quota.c 'void f(void) { exit(1); }' \
	'backend/core/quota.c:.*exit() in the daemon'
noticed "exit() in the agent" tools/doorbelld/agent.c 'void f(void) { exit(1); }' \
	'tools/doorbelld/agent.c:.*exit() in the daemon'
noticed "BUG() in the module" frontend/verbs/pd.c 'void f(void) { BUG(); }' \
	'frontend/verbs/pd.c:.*BUG() in a module'
noticed "six lines that stand twice" frontend/verbs/pd.c \
	"$(sed -n 14,30p "$top/frontend/verbs/mw.c")" 'frontend/verbs/pd.c:.*as frontend/verbs/mw.c'
noticed "a node name as a literal" xenstore/scan.c 'char *s = "doorbell-window";' \
	'xenstore/scan.c:.*node name "doorbell-window"'
noticed "a character beyond ASCII" docs/design/teardown.md '\0303\0244' \
	'docs/design/teardown.md:.*not printable ASCII'
noticed "a blank at the end of a line" docs/design/teardown.md 'x ' \
	'docs/design/teardown.md:.*blanks at the end'
noticed "a wide cell of a table" docs/glossary.md "| word | $(printf '%0101d' 0) |" \
	'docs/glossary.md:.*a cell of 101'
noticed "an opcode without a handler" include/xen/io/vhcaif.h \
	'#define XENVHCA_OP_EXTRA                0x3e' \
	'include/xen/io/vhcaif.h:.*OP_EXTRA lacks be_extra()'
noticed "a second file that reads the ring" backend/core/quota.c \
	'void f(void) { RING_COPY_REQUEST(a, b, c); }' 'backend/core/quota.c:.*touches a ring'
noticed "a second file that maps guest memory" backend/verbs/mr.c \
	'void *f(struct be_transport *t) { return t->ops->map(t, 0, 1, false); }' \
	'backend/verbs/mr.c:.*maps guest memory'
noticed "a kind of objects that nobody can set a limit for" \
	include/vhca-keys.h '    X(WQ, wq, 7) /* work queues */' \
	'tools/patches/xen-libxl/.*:.*no NUMBER() for max-wq'
noticed "a private header of another part" tools/vhcactl/out.c \
	'#include "backend/verbs/object.h"' 'tools/vhcactl/out.c:.*private to another part'
noticed "headers in a circle" backend/core/quota.h '#include "be.h"' \
	'backend/core/be.h:.*includes itself'
noticed "a header of another room" backend/supervise/supervisor.c \
	'#include "verbs/object.h"' "backend/supervise/supervisor.c:.*none of this room's"
noticed "a worker that chooses xenstore" backend/worker/worker.c \
	'struct be_store *f(void) { return be_store_xenstore(0, 5, 0); }' \
	'backend/worker/worker.c:.*xenstore: only'
noticed "a supervisor that includes xenstore" backend/supervise/supervisor.c \
	'#include "xenstore/scan.h"' 'backend/supervise/supervisor.c:.*xenstore: only'
noticed "a scenario that sleeps" tests/qemu/scenarios/40-exit.sh 'true; sleep 3' \
	'tests/qemu/scenarios/40-exit.sh:.*waits for a time'
noticed "a proof by a test that is not there" docs/design/threat-model.md \
	'| B99 | a rule | `test_of_nothing`, 60 |' \
	'docs/design/threat-model.md:.*no test test_of_nothing'
noticed "a proof by a scenario that is not there" docs/design/threat-model.md \
	'| F99 | a rule | 60, 99 |' 'docs/design/threat-model.md:.*no scenario 99'
noticed "a proof that only the long tier has" docs/design/threat-model.md '| B99 | a rule | 45 |' \
	'docs/design/threat-model.md:.*45 is wrong about the tier'
noticed "a state without a row" backend/core/vfile.h 'enum be_vfile_state { BE_VFILE_LOST };' \
	'backend/core/vfile.h:.*no row of BE_VFILE_LOST'
noticed "a transition that the code does not have" docs/design/teardown.md \
	'    spoilt -- never -> parked' \
	'docs/design/teardown.md:.*spoilt -> parked is in the drawing only'
noticed "a transition that is not drawn" backend/context/vfile.c \
	'int x[] = { [BE_VFILE_SPOILT] = TO(OPEN), };' \
	'docs/design/teardown.md:.*spoilt -> open is in the table'
noticed "a static with the prefix of its part" backend/core/log.c \
	'static int be_none(void);' 'backend/core/log.c:.*be_none is static'
noticed "a file without a license" backend/new.c 'int x;' \
	'backend/new.c:.*no SPDX-License-Identifier'
look check.py
noticed "a folder that calls one above it" frontend/ring/spin.c \
	'void f(struct vhca_ucontext *uc) { vhca_uc_adopt(uc, NULL); }' \
	'frontend/mmap:.*folders call each other'
look calls.py
noticed "a circle of calls" frontend/ring/check.c \
	'void f(struct vhca_dev *d) { vhca_ring_submit(d, NULL, 0); }' \
	'frontend/ring/check.c:.*files call each other'
look calls.py

verdict
