# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Guests that a scenario leaves as they started are used again: under emulation a
# guest takes half a minute to start, as long as many a claim takes to show. A guest
# is kept only if its scenario passed, it is of plain configuration, has no vhca any
# more, no process but its own, no complaint of its kernel, and its frontend could
# be unloaded: then all that is ours in it is new for the next one. What may
# hurt a guest in other ways calls spoilt. POOL=no keeps none. Sourced after lib.sh.

POOL=${POOL:-yes}
POOL_DIR=$GUEST_RUN/pool
POOL_MAX=2	# of each type

# pool_key NAME: what guests must have in common, of a file of guest_config; status 1
# if it is not plain.
pool_key() {
	local cfg=$GUEST_RUN/$1.cfg
	[ "$POOL" = yes ] && [ -e "$cfg" ] && [ ! -s "$cfg.extra" ] &&
		grep -q -E '^type = "pvh?"' "$cfg" &&
		grep -q ' vhca.name=[^ ]* "$' "$cfg" || return 1
	sed -n 's/^\(type\|memory\|vcpus\|cpus\) = //p' "$cfg" | tr '\n' ' '
	echo
}

# spoilt GUEST...: it may look as it was, but should not be trusted with more.
spoilt() {
	local g
	for g; do
		touch "$GUEST_RUN/$g.spoilt"
	done
}

# Is what the scenario did gone from this guest? Asked there.
# shellcheck disable=SC2016
as_started() {
	guest_sh -t 20 "$1" 'set -e
		modprobe -r xen-vhcafront
		[ -z "$(xenstore-ls device/vhca 2>/dev/null)" ]
		if dmesg | grep -E "'"$BAD_KERNEL"'"; then exit 1; fi
		pids=$(ps -e -o pid=,ppid=,comm= | awk "\$2 != 2 && \$1 > 2 { print \$3 }" |
			grep -v -x -e init -e systemd-udevd -e "(udev-worker)" \
				-e guest-shell -e bash -e ps -e awk -e grep) || true
		[ -z "$pids" ]
		dmesg -C
		rm -rf /tmp/*'
}

# pool_keep NAME: the guest for later scenarios; status 1: it is to be destroyed.
pool_keep() {
	local key n
	[ ! -e "$GUEST_RUN/$1.spoilt" ] && key=$(pool_key "$1") || return 1
	mkdir -p "$POOL_DIR"
	[ "$(cat "$POOL_DIR"/*.key 2>/dev/null | grep -c -x -F -e "$key")" \
		-lt $POOL_MAX ] || return 1
	as_started "$1" >/dev/null 2>&1 || return 1
	n=$(new_guest_number)
	xl rename "$1" "pool$n" || return 1
	cp "$GUEST_RUN/$1.ip" "$POOL_DIR/pool$n.ip"
	echo "$key" >"$POOL_DIR/pool$n.key"
}

# pool_take NAME: a kept guest of NAME's configuration becomes NAME.
pool_take() {
	local file name key
	key=$(pool_key "$1") || return 1
	for file in "$POOL_DIR"/*.key; do
		[ -e "$file" ] && [ "$(cat "$file")" = "$key" ] || continue
		# Another job of the scenario may want one, too.
		mv "$file" "$file.$1" 2>/dev/null || continue
		name=$(basename "$file" .key)
		xl rename "$name" "$1" || continue
		cp "$POOL_DIR/$name.ip" "$GUEST_RUN/$1.ip"
		guest_sh -t 10 "$1" "echo $1 >/proc/sys/kernel/hostname" &&
			return 0
		xl destroy "$1"
		cp "$GUEST_RUN/$1.cfg.ip" "$GUEST_RUN/$1.ip"
	done
	return 1
}

# pool_end: no kept guest is left, nor what the backend keeps for one as long as it lives
# (docs/design/teardown.md: doorbell pages, the memory of a dead worker that had them).
pool_end() {
	local file
	for file in "$POOL_DIR"/*.key; do
		[ -e "$file" ] && mv "$file" "$file.ended" || continue
		xl destroy "$(basename "$file" .key)"
	done
}
