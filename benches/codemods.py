#!/usr/bin/env python3
"""Runs codemods on real repositories, by themselves and by nrv in turns, compares the trees, and prints a table of Markdown.

usage: benches/codemods.py [--nrv PATH] [--rounds N] [--read FOLDER]… FOLDER [TOOL…]

FOLDER holds clones of the repositories, each by its name: vuejs/core, eslint/eslint, jestjs/jest, django/django (or a
repository of its source package), kubernetes/client-go and rust-lang/rust-clippy. A tool that is not on the PATH is left
out; `--read` names the folders of tools outside of the system's:

    npm install --global prettier eslint jscodeshift @ast-grep/cli codemod
    pip install ruff black isort
    apt-get install golang-go                # rustfmt comes with Rust

A change and its way back are checked in each round: both trees have the same files, with the same bytes and modes, and
`nrv rollback` restores the tree that was there.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """//! Runs a codemod and takes its change.
const WORKFLOW = #{
    name: "codemod",
    args: #{
        type: "object",
        properties: #{
            command: #{ type: "array", items: #{ type: "string" }, minItems: 1 },
            writes: #{ type: "array", items: #{ type: "string" }, minItems: 1 },
        },
        required: ["command", "writes"],
    },
    permissions: #{ write: ["**"], exec: ["*"] },
    budget: #{ files: 10000, diff_lines: 2000000 },
};

let words = args.command;
// Some fail while findings or files with errors remain, and have changed the rest.
let done = nrv.exec.run(#{ program: words.shift(), args: words, writes: args.writes });
#{ changed: done.changed.len(), status: done.status }
"""
POLICY = """[budget]
files = 10000
diff_lines = 2000000

[exec]
read = READ
scratch = ["**/node_modules/**"]

[[exec.allow]]
prefix = [PROGRAM]
"""
ESLINT = """export default [{ files: ["**/*.js"], linterOptions: { reportUnusedDisableDirectives: "off" },
  rules: { "prefer-template": "error", "object-shorthand": ["error", "never"], "arrow-body-style": ["error", "always"] } }]
"""
JSCODESHIFT = """module.exports = (file, api) => {
  const found = api.jscodeshift(file.source).find(api.jscodeshift.Identifier, { name: 'toBe' })
  return found.size() ? found.forEach(path => { path.node.name = 'toEqual' }).toSource() : undefined
}
"""
CODEMOD = """export default async function transform(root) {
  const found = root.root().findAll({ rule: { pattern: "assert.strictEqual($A, $B)" } });
  if (found.length === 0) return null;
  const to = node => `assert.equal(${node.getMatch("A").text()}, ${node.getMatch("B").text()})`;
  return root.root().commitEdits(found.map(node => node.replace(to(node))));
}
"""

# By tool: the repository, the command, the files that it may change, and files that it needs beside them.
TOOLS = {
    "prettier": ("core", ["prettier", "--write", "--log-level", "warn", "--tab-width", "4", "packages/reactivity"],
                 ["packages/**"], {}),
    "eslint": ("eslint", ["eslint", "--fix", "--no-config-lookup", "--config", "codemod.config.mjs", "lib"],
               ["lib/**"], {"codemod.config.mjs": ESLINT}),
    "jscodeshift": ("jest", ["jscodeshift", "--silent", "--parser=tsx", "--extensions=ts,tsx", "-t", "codemod.cjs", "packages/expect"],
                    ["packages/**"], {"codemod.cjs": JSCODESHIFT}),
    "codemod": ("eslint", ["codemod", "jssg", "run", "--disable-analytics", "--no-interactive", "--allow-dirty", "--language",
                           "javascript", "--target", "tests/lib", "codemod.ts"], ["tests/lib/**"], {"codemod.ts": CODEMOD}),
    "ast-grep": ("jest", ["ast-grep", "run", "-l", "ts", "-p", "expect($A).toBe($B)", "-r", "expect($A).toEqual($B)", "-U",
                          "packages"], ["packages/**"], {}),
    "ruff check": ("django", ["ruff", "check", "--no-cache", "--quiet", "--fix", "--unsafe-fixes", "--exit-zero", "--isolated",
                              "--select", "UP,I,C4"], ["**/*.py", "**/*.pyi"], {}),
    "ruff format": ("django", ["ruff", "format", "--no-cache", "--quiet", "--isolated", "--line-length", "100"],
                    ["**/*.py", "**/*.pyi"], {}),
    "black": ("django", ["black", "--quiet", "--no-cache", "--line-length", "100", "django/forms"], ["django/**"], {}),
    "isort": ("django", ["isort", "--quiet", "--force-single-line-imports", "django", "tests"], ["django/**", "tests/**"], {}),
    "gofmt": ("client-go", ["gofmt", "-w", "-r", "fmt.Errorf(a) -> errors.New(a)", "."], ["**/*.go"], {}),
    "rustfmt": ("rust-clippy", ["rustfmt", "--edition", "2024", "--config", "max_width=90,hard_tabs=true", "clippy_lints/src/lib.rs",
                                "clippy_utils/src/lib.rs"], ["clippy_lints/**", "clippy_utils/**"], {}),
}


def git(tree, *words):
    name = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", str(tree), *name, *words], check=True, capture_output=True, text=True).stdout


def make(folder, source, tool, words, others, read):
    """A clone with a policy, the script and the files that the tool needs, all of them committed."""
    subprocess.run(["git", "clone", "-q", str(source), str(folder)], check=True)
    policy = POLICY.replace("READ", json.dumps(read)).replace("PROGRAM", json.dumps(words[0]))
    for name, text in {"nrv.toml": policy, "codemod.rhai": SCRIPT, **others}.items():
        (folder / name).write_text(text)
    with open(folder / ".git/info/exclude", "a") as excluded:
        excluded.write(".runs\n")
    git(folder, "add", "-A", "-f", "nrv.toml", "codemod.rhai", *others)
    git(folder, "commit", "-q", "-m", f"a policy for {tool}")


def state(tree):
    """Each file below a tree with its mode and hash, without those of git and nrv, and installed packages."""
    files = {}
    for at, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name not in (".git", ".runs", "node_modules")]
        for name in names:
            path = Path(at, name)
            data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            files[str(path.relative_to(tree))] = (path.lstat().st_mode, hashlib.sha256(data).hexdigest())
    return files


def timed(command, tree):
    """Runs a command: seconds, exit code, output and messages."""
    started = time.monotonic()
    done = subprocess.run(command, cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return time.monotonic() - started, done.returncode, done.stdout, done.stderr


def by_nrv(command, tree):
    """Runs nrv, which has to succeed: seconds, and the status of its codemod."""
    took, code, said, messages = timed(command, tree)
    if code != 0:
        sys.exit(f"failed with {code}: {command}\n{messages[-3000:]}")
    return took, json.loads(said).get("result", {}).get("status")


def version(program):
    ask = ["go", "version"] if program == "gofmt" else [program, "--version"]
    said = subprocess.run(ask, capture_output=True, text=True).stdout
    return next((word.lstrip("vgo") for word in said.replace("@", " ").split() if word.lstrip("vgo")[:1].isdigit()), "")


def compare(name, settings):
    """A row of the table."""
    repository, words, writes, others = TOOLS[name]
    with tempfile.TemporaryDirectory(prefix="codemods-", dir=settings.work) as work:
        alone, held = Path(work, "alone"), Path(work, "nrv")
        for tree in (alone, held):
            make(tree, settings.folder / repository, name, words, others, settings.read)
        before = state(held)
        run = [settings.nrv, "run", "codemod.rhai", "--yes", "--json", "--arg", f"command={json.dumps(words)}",
               "--arg", f"writes={json.dumps(writes)}"]
        times = {"alone": [], "nrv": []}
        for count in range(settings.rounds + 1):
            took, status = {}, {}
            for side in ("alone", "nrv") if count % 2 else ("nrv", "alone"):
                took[side], status[side] = timed(words, alone)[:2] if side == "alone" else by_nrv(run, held)
            if count:  # The first one warms up.
                [times[side].append(took[side]) for side in times]
            after, wanted = state(held), state(alone)
            check(name, "the run", after, wanted)
            if status["alone"] != status["nrv"]:
                sys.exit(f"{name} ends with {status['alone']} by itself, and with {status['nrv']} in nrv")
            by_nrv([settings.nrv, "rollback", "last", "--json"], held)
            git(alone, "checkout", "-q", ".")
            git(alone, "clean", "-fdq")
            check(name, "the rollback", state(held), before)
        changed = sum(before.get(path) != after.get(path) for path in before.keys() | after.keys())
        ratio = statistics.median(times["nrv"]) / statistics.median(times["alone"])
        print(name, {side: [round(one, 2) for one in times[side]] for side in times}, status["nrv"], file=sys.stderr)
        return f"| {name} | {version(words[0])} | {repository} | {len(before):,} | {changed:,} | yes | {ratio:.2f} |"


def check(name, cause, found, wanted):
    """Ends unless two trees are the same."""
    differ = sorted(path for path in found.keys() | wanted.keys() if found.get(path) != wanted.get(path))
    if differ:
        sys.exit(f"{name}: after {cause} {len(differ)} files differ, such as {', '.join(differ[:5])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nrv", default="nrv", type=shutil.which)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--read", action="append", default=[], help="a folder that a tool reads, such as that of its libraries")
    parser.add_argument("--work", help="where the trees are made")
    parser.add_argument("folder", type=Path)
    parser.add_argument("tools", nargs="*", metavar="TOOL")
    settings = parser.parse_args()
    os.environ.update(NRV_TRUSTED_PATHS="/")
    print("| tool | version | repository | files | changed | same tree | ratio |\n|---|---|---|---|---|---|---|", flush=True)
    for name, (repository, words, _, _) in TOOLS.items():
        if (settings.tools and name not in settings.tools) or not shutil.which(words[0]):
            continue
        if not (settings.folder / repository).is_dir():
            print(f"no {repository} in {settings.folder}", file=sys.stderr)
            continue
        print(compare(name, settings), flush=True)


main()
