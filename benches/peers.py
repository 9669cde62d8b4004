#!/usr/bin/env python3
"""Measures how tools that change many files behave when they are killed, when one file fails, and when two run at once.

Each tool replaces `foo(n)` by `bar(n)` in files of JavaScript. Tools that are not on the PATH are left out:

    npm install --global jscodeshift @ast-grep/cli codemod
    cargo build --release && PATH="$PWD/target/release:$PATH" benches/peers.py [TOOL…]
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JSCODESHIFT = """module.exports = (file, api) => api.jscodeshift(file.source)
  .find(api.jscodeshift.Identifier, { name: FROM }).forEach(path => { path.node.name = TO; }).toSource();
"""
CODEMOD = """export default async function transform(root) {
  const found = root.root().findAll({ rule: { pattern: FROM + "($A)" } });
  if (found.length === 0) return null;
  return root.root().commitEdits(found.map(node => node.replace(TO + `(${node.getMatch("A").text()})`)));
}
"""
# Each file calls two functions, far enough from each other for two patches.
TEXT = "const x = foo({n});\n" + "// a comment\n" * 12 + "const y = one({n});\n"
RENAMES = [("foo", "bar"), ("one", "two")]


def make(folder, files):
    """A repository with files, and for each renaming a patch and transforms beside it."""
    source = folder / "tree" / "src"
    source.mkdir(parents=True)
    for n in range(files):
        (source / f"f{n:05}.js").write_text(TEXT.replace("{n}", str(n)))
    git = ["git", "-C", str(folder / "tree"), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(git + command, check=True)
    for name, to in RENAMES:
        (folder / f"{name}.js").write_text(JSCODESHIFT.replace("FROM", repr(name)).replace("TO", repr(to)))
        (folder / f"{name}.ts").write_text(CODEMOD.replace("FROM", repr(name)).replace("TO", repr(to)))
        for file in source.iterdir():
            file.write_text(file.read_text().replace(f"{name}(", f"{to}("))
        patch = subprocess.run(git + ["diff"], capture_output=True, check=True).stdout
        (folder / f"{name}.patch").write_bytes(patch)
        subprocess.run(git + ["checkout", "-q", "."], check=True)
    return folder / "tree"


def command(tool, folder, name, to):
    """How a tool makes one renaming."""
    return {
        "git apply": ["git", "apply", f"../{name}.patch"],
        "ast-grep": ["ast-grep", "run", "-l", "js", "-p", f"{name}($A)", "-r", f"{to}($A)", "-U", "src"],
        "jscodeshift": ["jscodeshift", "--silent", "-t", f"../{name}.js", "src"],
        "codemod": ["codemod", "jssg", "run", "--disable-analytics", "--no-interactive", "--allow-dirty", "--language",
                    "javascript", "--target", "src", f"../{name}.ts"],
        "nrv": ["nrv", "apply", "--yes", "--allow-dirty", f"../{name}.patch"],
    }[tool]


def start(tool, folder, rename):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(command(tool, folder, *rename), cwd=folder / "tree", start_new_session=True, **quiet)


def count(tree, texts):
    """How many files hold all texts."""
    return sum(all(text in file.read_text() for text in texts) for file in (tree / "src").glob("f*.js"))


def state(tree, files):
    """The changed and the missing files of a tree, for people."""
    missing = files - len(list((tree / "src").glob("f*.js")))
    return f"{count(tree, ['bar('])} changed" + (f" and {missing} missing" if missing else "")


def is_touched(file):
    try:
        return b"bar(" in file.read_bytes()
    except FileNotFoundError:
        return True


def killed(tool):
    """Kills a run after its first changed file: the changed and missing files then."""
    files, moments = 2000, []
    for delay in (0.0, 0.01, 0.03, 0.1):
        with tempfile.TemporaryDirectory() as name:
            tree = make(Path(name), files)
            watched = sorted((tree / "src").iterdir())[:: files // 20]
            run = start(tool, Path(name), RENAMES[0])
            while run.poll() is None and not any(map(is_touched, watched)):
                time.sleep(0.001)
            time.sleep(delay)
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            after = state(tree, files)
            if tool == "nrv":
                subprocess.run(["nrv", "recover"], cwd=tree, capture_output=True)
                after += f", after `nrv recover` {state(tree, files)}"
            moments.append(after)
    return f"of {files} files after kill -9: " + "; ".join(moments)


def one_fails(tool):
    """One of 200 files can't be written: the exit code and the files that were changed."""
    with tempfile.TemporaryDirectory() as name:
        tree = make(Path(name), 200)
        file = str(tree / "src" / "f00100.js")
        subprocess.run(["chattr", "+i", file], check=True)
        try:
            code = start(tool, Path(name), RENAMES[0]).wait()
            return f"exit {code}, {count(tree, ['bar('])} of 200 changed"
        finally:
            subprocess.run(["chattr", "-i", file], check=True)


def two_at_once(tool):
    """Two renamings of the same 500 files start together: the exit codes, and the files that have both."""
    results = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as name:
            tree = make(Path(name), 500)
            codes = [run.wait() for run in [start(tool, Path(name), rename) for rename in RENAMES]]
            first, second = count(tree, ["bar("]), count(tree, ["two("])
            results.append(f"exits {codes}, first {first}, second {second}, both {count(tree, ['bar(', 'two('])}")
    return "; ".join(results)


def main():
    tools = ["git apply", "ast-grep", "jscodeshift", "codemod", "nrv"]
    for tool in sys.argv[1:] or tools:
        if shutil.which(tool.split()[0]) is None:
            print(f"{tool}: not on the PATH", file=sys.stderr)
            continue
        for measure in (killed, one_fails, two_at_once):
            print(f"{tool}: {measure.__name__}: {measure(tool)}", flush=True)


if __name__ == "__main__":
    main()
