# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Copies files without identifiers of machines. Equal identifiers, in any notation, get
# the same name in all files: <gid-1>, <mac-2>, ...
#
#   awk -v from=FOLDER/ -v to=FOLDER/ -f redact.awk SECRETS... FILE...
#
# SECRETS are files named .secrets with lines "KIND VALUE", KIND being guid, gid, mac, ip
# or host. Everything else in the form of such an identifier is replaced, too, because no
# list has addresses of other machines. PCI addresses, versions and times stay.

BEGIN {
	# Our own words, and common names of hosts.
	n = split("host guest guest1 guest2 dom0 domain xen vhca xen-vhca localhost debian " \
		  "ubuntu hca mlx5 rxe none as at by in is it mb no of ok on or to us vm " \
		  "fail failed skip skipped passed facts check probe transfers cable pages " \
		  "speed wild hostile kernel ratios verbs doorbells beside", word, " ")
	for (i = 1; i <= n; i++)
		common[word[i]] = 1
}

FNR == 1 {
	if (target != "")
		close(target)
	lists = FILENAME ~ /\.secrets$/
	target = lists ? "" : to substr(FILENAME, length(from) + 1)
	if (!lists)
		printf "" >target
}

lists {
	if (NF == 2)
		learn($1, $2)
	next
}

{ print forms(known($0)) >target }

# Only hexadecimal digits, of which there are many notations.
function digits(s) {
	s = tolower(s)
	sub(/^0x/, "", s)
	gsub(/[:.-]/, "", s)
	return s
}
function zero(s) { return digits(s) ~ /^[0f]*$/ }

# An IPv6 address with all its digits: groups of 4, and "::" filled up.
function full(s,   half, n, left, right) {
	s = tolower(s)
	if (s ~ /\./)
		return s
	n = split(s, half, "::")
	left = groups(half[1])
	right = n > 1 ? groups(half[2]) : ""
	while (length(left right) < 32)
		left = left "0"
	return left right
}
function groups(s,   part, n, i, g) {
	n = split(s, part, ":")
	s = ""
	for (i = 1; i <= n; i++) {
		g = part[i]
		while (length(g) < 4)
			g = "0" g
		s = s g
	}
	return s
}

# The name of an identifier of that kind.
function name(kind, s,   key) {
	if (kind == "gid" && s !~ /\./)
		key = full(s)
	else if (kind == "guid" || kind == "mac")
		key = digits(s)
	else
		key = tolower(s)
	if (!((kind, key) in named))
		named[kind, key] = "<" kind "-" (++count[kind]) ">"
	return named[kind, key]
}

function learn(kind, s,   d) {
	s = tolower(s)
	if (kind == "host" && (s in common || length(s) < 2 || s !~ /^[a-z0-9._-]*$/))
		return
	if (kind != "host" && (zero(s) || s ~ /^127\./ || s == "::1"))
		return
	if (kind == "ip" && s ~ /:/)
		kind = "gid"
	add(s, name(kind, s))
	d = digits(s)
	if (kind == "mac" || kind == "guid")
		add(d, name(kind, s))
	if (kind == "guid" && length(d) == 16)
		add(substr(d, 1, 4) ":" substr(d, 5, 4) ":" substr(d, 9, 4) ":" substr(d, 13),
		    name(kind, s))
}
function add(s, as) {
	if (!(s in secret)) {
		secret[s] = as
		order[++secrets] = s
	}
}

# The line without listed identifiers, as whole words.
function known(line,   i, s, low, at, from_, done) {
	for (i = 1; i <= secrets; i++) {
		s = order[i]
		low = tolower(line)
		done = ""
		while ((at = index(low, s)) > 0) {
			done = done substr(line, 1, at - 1)
			from_ = at + length(s)
			if (inner(substr(done, length(done), 1)) || inner(substr(line, from_, 1)))
				done = done substr(line, at, length(s))
			else
				done = done secret[s]
			line = substr(line, from_)
			low = tolower(line)
		}
		line = done line
	}
	return line
}
function inner(c) { return c ~ /[0-9A-Za-z_]/ }

# The line without other identifiers: runs of hexadecimal digits and separators.
function forms(line,   done, run) {
	done = ""
	while (match(line, /[0-9A-Fa-f:][0-9A-Fa-f:.-]*/)) {
		done = done substr(line, 1, RSTART - 1)
		run = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		done = done form(run, substr(done, length(done), 1), substr(line, 1, 1))
	}
	return done line
}

# A group that belongs to a longer word is not part of the run; the "0x" of a number is no
# word.
function form(run, before, after,   head, tail, n) {
	head = tail = ""
	if (inner(before) && before != "x" && match(run, /[:.-]+/)) {
		head = substr(run, 1, RSTART + RLENGTH - 1)
		run = substr(run, RSTART + RLENGTH)
	} else if (inner(before) && before != "x") {
		return run
	}
	if (inner(after)) {
		n = length(run)
		while (n && substr(run, n, 1) !~ /[:.-]/)
			n--
		tail = substr(run, n + 1)
		run = substr(run, 1, n)
	}
	while (run ~ /[.-]$/ || run ~ /[^:]:$/) {
		tail = substr(run, length(run)) tail
		run = substr(run, 1, length(run) - 1)
	}
	while (run ~ /^:[^:]/) {
		head = head ":"
		run = substr(run, 2)
	}
	return head what(run) tail
}

# The name of the identifier, or the text itself.
function what(s,   part, n, i, two, four, quad, rest) {
	if (s !~ /[0-9A-Fa-f]/ || zero(s) || s == "::1")
		return s
	n = split(s, part, /[:-]/)
	two = four = n
	for (i = 1; i <= n; i++) {
		two -= part[i] ~ /^[0-9A-Fa-f][0-9A-Fa-f]$/
		four -= part[i] ~ /^[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]$/
	}
	if (n >= 6 && !two && n < 16)
		return name("mac", s)
	if (s ~ /::/ || (s ~ /:/ && n >= 8))
		return name("gid", s)
	if (s ~ /:/ && n >= 4 && !four)
		return name("guid", s)
	if (match(s, /^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+/)) {
		quad = substr(s, 1, RLENGTH)
		rest = substr(s, RLENGTH + 1)
		if (rest !~ /^\./ && address(quad))
			return name("ip", quad) (rest ~ /^-/ ? "-" what(substr(rest, 2)) : rest)
	}
	if (n == 1 && s ~ /[A-Fa-f]/ && s ~ /[0-9]/ && s !~ /[.]/) {
		if (length(s) == 12)
			return name("mac", s)
		if (length(s) == 16)
			return name("guid", s)
		if (length(s) == 32)
			return name("gid", s)
	}
	if (n == 5 && length(s) == 36)
		return name("uuid", s)
	return s
}

# Are the four numbers an address, neither loopback nor a mask?
function address(s,   part, i) {
	split(s, part, ".")
	for (i = 1; i <= 4; i++)
		if (length(part[i]) > 3 || part[i] + 0 > 255)
			return 0
	return part[1] != 127 && part[1] != 0 && part[1] != 255
}
