#!/usr/bin/env python3
"""Drives `nrv dta run rename_refactor --jsonl` by cases of renames: requests on stdin, answers on stdout."""
import json, os, subprocess, sys

NRV = os.environ.get("NRV", "nrv")
TEXTS = {}


def request(case):
    TEXTS[case["id"]] = case["files"]
    scope = {"path": case["path"], "line": case["line"], "column": case["column"] + 1}
    params = {"from": case["old_name"], "to": case["new_name"], "scope": scope}
    if case["language"] == "go":
        # gopls renames the comment above a declaration with it.
        params["comments"] = "documentation"
    if os.environ.get("ENGINE"):
        params["engine"] = os.environ["ENGINE"]
    return {
        "id": case["id"],
        "input": {
            "tool": "rename_refactor", "version": "1.0", "mode": "dry-run",
            "target": {"repo_path": ".", "glob": "**/*"},
            "params": params, "constraints": {"max_files": 1000, "timeout_ms": 60000, "seed": 0},
        },
        "files": case["files"],
    }


def answer(line):
    if "error" in line:
        return {"id": line["id"], "refused": line["error"]["message"]}
    verifier = line["output"]["verifier"]
    if not verifier["passed"]:
        return {"id": line["id"], "refused": "verifier: " + json.dumps(verifier["failures"])}
    if not line["files"]:
        return {"id": line["id"], "refused": "nothing to rename"}
    return {"id": line["id"], "files": line["files"]}


lines = "".join(json.dumps(request(json.loads(line))) + "\n" for line in sys.stdin if line.strip())
done = subprocess.run([NRV, "dta", "run", "rename_refactor", "--jsonl"], input=lines, capture_output=True, text=True)
sys.stderr.write(done.stderr)
for line in done.stdout.splitlines():
    print(json.dumps(answer(json.loads(line))))
