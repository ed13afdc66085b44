#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Do the patches apply, each hunk with all of its context, to every supported release of
# Xen? Tests the trees of a clone of Xen's repository without a check-out. Status 0: all
# applied.
#
# Usage: apply.sh CLONE [REVISION...]    default: the releases named below, and HEAD
set -euo pipefail
patches=$(cd "$(dirname "$0")/.." && pwd)
clone=$(git -C "${1:?usage: apply.sh CLONE [REVISION...]}" rev-parse --absolute-git-dir)
shift
[ $# != 0 ] || set -- RELEASE-4.17.{0,7} RELEASE-4.18.0 RELEASE-4.19.0 \
	RELEASE-4.20.{0,4} RELEASE-4.21.{0,2} RELEASE-4.22.0 HEAD
work=$(mktemp -d "${TMPDIR:-/tmp}/vhca-apply.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/objects"
export GIT_DIR=$clone GIT_INDEX_FILE=$work/index GIT_OBJECT_DIRECTORY=$work/objects
export GIT_ALTERNATE_OBJECT_DIRECTORIES=$clone/objects

rc=0
for revision; do
	git read-tree "$revision"
	if git apply --cached "$patches"/*.patch; then
		echo "ok   $revision"
	else
		echo "FAIL $revision"
		rc=1
	fi
done
exit $rc
