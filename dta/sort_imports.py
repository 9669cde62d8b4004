#!/usr/bin/env python3
"""Sorts the lines of each block of plain imports in Python files.

An adapter of nrv: one JSON request on stdin, one JSON reply on stdout. `nrv.toml` names it.
"""

import json
import sys


def blocks(lines):
    """The ranges of lines that are plain imports, one below the other."""
    start = None
    for number, line in enumerate(lines + [""]):
        plain = line.startswith(("import ", "from ")) and not line.rstrip().endswith(("(", "\\", ";"))
        if plain and start is None:
            start = number
        if not plain and start is not None:
            yield start, number
            start = None


def key(line):
    return line.split()[1], line


def propose(text):
    lines = text.split("\n")
    for start, end in blocks(lines):
        lines[start:end] = sorted(lines[start:end], key=key)
    return "\n".join(lines)


def count(texts):
    """Blocks whose lines are not in order, counted in their own way: by neighbours."""
    total = unsorted = 0
    for text in texts:
        lines = text.split("\n")
        for start, end in blocks(lines):
            total += 1
            pairs = zip(lines[start:end], lines[start + 1 : end])
            unsorted += any(key(one) > key(other) for one, other in pairs)
    return {"blocks": total, "unsorted": unsorted}


def main():
    request = json.load(sys.stdin)
    # A file that is not UTF-8 has `b64` in place of `text`; it stays.
    files = [file for file in request["files"] if "text" in file]
    if request["phase"] == "propose":
        new = [{"path": file["path"], "text": propose(file["text"])} for file in files]
        reply = {"files": [one for one, file in zip(new, files) if one["text"] != file["text"]]}
    else:
        reply = {"counts": count([file["text"] for file in files])}
    json.dump(reply, sys.stdout)


main()
