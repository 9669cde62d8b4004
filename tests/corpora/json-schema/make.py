#!/usr/bin/env python3
"""Writes the corpora of this folder from the JSON Schema test suite, which the sources of the package `jsonschema` on PyPI ship.

pip download --no-deps --no-binary :all: jsonschema==4.25.1 && tests/corpora/json-schema/make.py jsonschema-4.25.1.tar.gz
"""
import gzip
import json
import pathlib
import sys
import tarfile

SOURCE = {"source": "json-schema-org/JSON-Schema-Test-Suite", "licence": "MIT"}
DRAFTS = {"draft4": "4", "draft6": "6", "draft7": "7", "draft2019-09": "2019-09", "draft2020-12": "2020-12"}


def files(archive):
    """The JSON files of the suite, each as its path within the suite and its text, sorted."""
    with tarfile.open(archive) as packed:
        for member in sorted(packed.getmembers(), key=lambda member: member.name):
            _, _, path = member.name.partition("/json/")
            if member.isfile() and path.endswith(".json"):
                yield path, packed.extractfile(member).read().decode()


def groups(path, text):
    """The cases of a file of required tests: each is a schema with its tests."""
    _, draft, name = path.split("/")
    for at, group in enumerate(json.loads(text)):
        tests = [{key: test[key] for key in ("description", "data", "valid")} for test in group["tests"]]
        schema = {"description": group["description"], "schema": group["schema"], "tests": tests}
        yield {"id": f"{draft}/{name}/{at}", **SOURCE, "draft": DRAFTS[draft], **schema}


def write(name, cases):
    lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    path = pathlib.Path(__file__).with_name(f"{name}.jsonl.gz")
    path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes")


suite, remotes = [], []
for path, text in files(sys.argv[1]):
    parts = path.split("/")
    if parts[0] == "tests" and len(parts) == 3 and parts[1] in DRAFTS:
        suite.extend(groups(path, text))
    elif parts[0] == "remotes":
        remotes.append({"id": path.removeprefix("remotes/"), **SOURCE, "text": text})
write("suite", suite)
write("remotes", remotes)
