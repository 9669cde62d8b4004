#!/usr/bin/env python3
"""Writes the corpus of this folder from the TOML test suite.

git clone https://github.com/toml-lang/toml-test && git -C toml-test checkout d168c2a4 && tests/corpora/toml-test/make.py toml-test
"""
import base64
import gzip
import json
import pathlib
import subprocess
import sys

SOURCE = {"source": "toml-lang/toml-test", "licence": "MIT"}


def show(path):
    """A file of the last commit."""
    return subprocess.run(["git", "-C", sys.argv[1], "show", f"HEAD:{path}"], check=True, capture_output=True).stdout


lists = {version: set(show(f"tests/files-toml-{version}.0").decode().split()) for version in ("1.0", "1.1")}
cases = []
for path in sorted(set().union(*lists.values())):
    if not path.endswith(".toml"):
        continue
    content = show(f"tests/{path}")
    try:
        body = {"text": content.decode()}
    except UnicodeDecodeError:
        body = {"b64": base64.b64encode(content).decode()}
    case = {"id": path.removesuffix(".toml"), **SOURCE, "versions": [v for v in lists if path in lists[v]], **body}
    if path.startswith("valid/"):
        case["value"] = json.loads(show(f"tests/{path.removesuffix('.toml')}.json"))
    cases.append(case)
lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
path = pathlib.Path(__file__).with_name("suite.jsonl.gz")
path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes")
