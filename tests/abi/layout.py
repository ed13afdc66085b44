#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Turns what vhcaif.h says about layout in comments and drawings into C
# assertions, so that text and structure cannot drift apart. Prints a C file:
# every "/* N */" behind a field asserts its offset, behind "}" the size, and
# every field named in a drawing asserts the octet at which it is drawn.
# Fails if a field of a wire structure has no offset comment.

import re
import sys

FIELD = re.compile(r"^    (?:struct \w+|\w+) (\w+)(?:\[.*\])?;\s*(.*)$")
OFFSET = re.compile(r"/\*\s*(\d+)\b")
ROW = re.compile(r"^ \* (\|.*\|) ?(\d+)?$")
PLACE = re.compile(r"^ \* \|\s+(\w+)(\[\d+\])?[ ,(].*\|\s*octets? (\d+)")
OCTET_WIDTH = 17


def struct_facts(lines):
    """Yield (struct, field or None for the size, octets) of all comments."""
    name, union = None, False
    for number, line in enumerate(lines, 1):
        if m := re.match(r"^struct (xenvhca_\w+) \{", line):
            name = m.group(1)
            continue
        if name is None:
            continue
        if line.startswith("    union {"):
            union = True
            continue
        m = re.match(r"^    \} (\w+);\s*(.*)$", line) if union else None
        if m:
            union = False
        elif union:
            continue
        m = m or FIELD.match(line)
        end = line.startswith("};")
        if not m and not end:
            continue
        o = OFFSET.search(line)
        if not o:
            sys.exit(f"line {number}: no offset comment: {line.strip()}")
        yield name, None if end else m.group(1), int(o.group(1))
        if end:
            name = None


def row_fields(row, end):
    """Yield (field, index, octet) of one row of a drawing that ends at end."""
    bars = [i for i, c in enumerate(row) if c == "|"]
    for left, right in zip(bars, bars[1:]):
        text = row[left + 1:right].strip()
        m = re.match(r"(\w+)(?:\[(\d+)\])?(?:, (\d+) octets)?$", text)
        if not m:
            sys.exit(f"cannot read drawing cell '{text}'")
        start = end - int(m.group(3) or 4)
        yield m.group(1), m.group(2), start + left // OCTET_WIDTH


def drawing_facts(lines):
    """Yield (fields of one drawing, total octets, following structs)."""
    fields, end = [], 0
    for i, line in enumerate(lines):
        if m := PLACE.match(line):
            fields.append((m.group(1), None, int(m.group(3))))
        elif m := ROW.match(line):
            if not m.group(2):
                sys.exit(f"line {i + 1}: drawing row without its end octet")
            end = int(m.group(2))
            fields += row_fields(m.group(1), end)
        if m := re.match(r"^struct (xenvhca_\w+) \{", line):
            yield m.group(1), fields, end
            fields, end = [], 0


def split_drawings(lines):
    """A comment may draw two structures; 'Event:' and 'Kick:' begin one."""
    first, second, inside = [], [], False
    for line in lines:
        inside = (inside or bool(re.match(r"^ \* (Event|Kick):$", line)))
        if re.match(r"^struct xenvhca_(event|kick) \{", line):
            inside = False
            second.append(line)
            continue
        is_page = re.match(r"^struct xenvhca_(evt|kick)_page \{", line)
        (second if inside else first).append(line)
        if is_page:
            inside = False
    return first, second


def main():
    lines = open(sys.argv[1], encoding="ascii").read().split("\n")
    print('#include <stddef.h>\n#include "xen/io/vhcaif.h"')
    count = 0
    for struct, field, octet in struct_facts(lines):
        what = (f"offsetof(struct {struct}, {field})" if field
                else f"sizeof(struct {struct})")
        print(f'_Static_assert({what} == {octet}, "{struct} {field}");')
        count += 1
    drawn = 0
    for part in split_drawings(lines):
        for struct, fields, end in drawing_facts(part):
            for name, index, octet in fields:
                member = f"{name}[{index}]" if index else name
                print(f"_Static_assert(offsetof(struct {struct}, {member}) "
                      f'== {octet}, "drawing {struct}.{member}");')
                drawn += 1
            if end:
                print(f"_Static_assert(sizeof(struct {struct}) == {end}, "
                      f'"drawing {struct}");')
    print("int main(void) { return 0; }")
    if count < 200 or drawn < 30:
        sys.exit(f"only {count} fields and {drawn} drawn ones were found")


main()
