#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The bash completion of vhcactl, with vhcactl and xl replaced by functions:
# commands, options, domains, devices, and keys in the middle of a word.
#
# Runs in the build folder, where the completion is.
#
# The functions are called by the completion, which shellcheck does not see.
# shellcheck disable=SC2317
set -u
bad=0

# shellcheck source=/dev/null
. ./tools/completion/vhcactl

# Answers for two devices of domain web; nothing for any other domain.
vhcactl()
{
	if [ "$#" = 2 ]; then
		printf '    "name": "web",\n    "name": "",\n'
	elif [ "$3" = web ]; then
		printf '    "devid": 0,\n    "devid": 1,\n'
	fi
}

xl()
{
	printf 'Name   ID Mem\nDomain-0   0 512\nweb   5 128\n'
}

_vhcactl_hcas()
{
	printf 'mlx5_0\nrxe0\n'
}

# There is no readline here to be told.
compopt()
{
	:
}

# EXPECTED WORD...: the last word is completed; words as readline breaks them.
check()
{
	local want=$1 got
	shift
	COMP_WORDS=(vhcactl "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_vhcactl
	got=${COMPREPLY[*]-}
	if [ "$got" != "$want" ]; then
		echo "vhcactl $*: \"$got\", not \"$want\""
		bad=1
	fi
}

check "check create" c
check "--version" --v
check "show stats" s
check "--openmetrics" stats --o
check "--batch --delay --iterations --json --run-dir" top -
check "" list --force
check "Domain-0 web" attach ""
check "web" show w
check "0 1" show web ""
check "all 0 1" detach web ""
check "0 1" quota --json web ""
check "" show nobody ""
check "" top --delay ""
check "hca=" attach web h
check "mlx5_0 rxe0" attach web hca =
check "mlx5_0" attach web hca = m
check "web" attach web backend = w
check "" attach web port =
check "max-pinned-mb=" quota web 0 max-pi
check "all Domain-0 web" reattach ""
check "web" reattach all w
check "" quota web 0 max-qp =
check "max-mr= max-mw= max-mcast= max-mmap=" quota web 0 max-qp = 7 max-m
# Behind a comma: only the rest of the word is replaced, from the last "=" on.
check "rxe0,spin-us=" attach web hca = rxe0,sp
check "mlx5_0" attach web port = 1,hca = m
check "rxe0,vif=" attach web hca = rxe0,v

exit "$bad"
