#!/usr/bin/env python3
"""Removes blanks at the ends of lines: an adapter of nrv.

It reads one JSON request on stdin and writes one JSON reply to stdout. `[adapters.NAME]` in `nrv.toml` names it.
"""

import json
import sys


def propose(text):
    return "\n".join(line.rstrip(" ") for line in text.split("\n"))


def count(files):
    lines = (line for file in files for line in file["text"].split("\n"))
    return {"blanks": sum(line.endswith(" ") for line in lines)}


request = json.load(sys.stdin)
# A file that is not UTF-8 has `b64` in place of `text`; it stays.
files = [file for file in request["files"] if "text" in file]
if request["phase"] == "propose":
    new = ({"path": file["path"], "text": propose(file["text"])} for file in files)
    reply = {"files": [one for one, file in zip(new, files) if one["text"] != file["text"]]}
else:
    reply = {"counts": count(files)}
json.dump(reply, sys.stdout)
