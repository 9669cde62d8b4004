#!/usr/bin/env python3
"""Judges `std:rename_symbol` by real projects: after a rename that nrv verified, a project has to pass its own check as before.

Public symbols are drawn from each project, the same ones in every run, and each is renamed by its place on a clean commit. The check
judges all renames of a project at once; if it fails, halves are checked until each broken rename is known.

    cargo build --release && benches/renames.py [--projects click,pflag] [--symbols 100]

`renames.toml` has the projects. They are fetched from GitHub, or from `--from FOLDER` with a repository `FOLDER/NAME` for each. Their
checks need pip, npm, Go and cargo.
"""

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter, namedtuple
from pathlib import Path
from types import SimpleNamespace

# Declarations at the left margin, as formatters write them.
EXPORTED = r"^export (?:declare |abstract |default |async )*(?P<kind>function\*?|class|const|let|var|interface|type|enum) (?P<name>\w+)"
DECLARATIONS = {
    "go": r"^(?P<kind>func|type|var|const) (?P<name>[A-Z]\w*)|^\t(?P<member>[A-Z]\w*)(?: [\w.*\[\]]+)? *=(?!=)",
    "javascript": EXPORTED + r"|^(?:async )?(?P<common>function\*?|class|const|let|var) (?P<listed>\w+)"
    r"|^(?:module\.)?exports\.(?P<property>\w+) =",
    "rust": r"^pub (?:async |unsafe |const (?=fn))*(?P<kind>fn|struct|enum|trait|type|const|static) (?P<name>\w+)",
    "typescript": EXPORTED,
}
ENDINGS = {"go": ["go"], "javascript": ["js", "mjs", "cjs"], "python": ["py"], "rust": ["rs"], "typescript": ["ts", "tsx"]}
NO_SOURCES = re.compile(r"(^|/)(tests?|__tests__|testdata|benches|examples?|_examples|docs?|fixtures|locale)/|[._]test\.|\.d\.ts$|\.min\.")


def projects():
    """The projects of the table beside this script, with what they have from their languages."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    for entry in table["projects"]:
        project = SimpleNamespace(**{"packages": ""} | table["languages"][entry["language"]] | entry)
        project.setup = project.setup.replace("PACKAGES", project.packages)
        yield project


def run(command, folder, **more):
    shell = isinstance(command, str)
    return subprocess.run(command, cwd=folder, shell=shell, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def must(command, folder, **more):
    ran = run(command, folder, **more)
    if ran.returncode != 0:
        raise SystemExit(f"error: {folder}: `{command}` failed:\n{ran.stdout[-3000:]}")
    return ran.stdout


def checkout(project, work, source):
    """A clean checkout of a project's commit, with the tools of its check beside it."""
    tree = work / project.name / "tree"
    if not tree.exists():
        tree.mkdir(parents=True)
        must(["git", "init", "-q"], tree)
        url = str((Path(source) / project.name).resolve()) if source else f"https://github.com/{project.github}"
        must(["git", "fetch", "-q", "--depth", "1", url, project.commit], tree)
        must(["git", "-c", "advice.detachedHead=false", "checkout", "-q", "FETCH_HEAD"], tree)
        (tree / ".git/info/exclude").write_text(".runs\n")
    cleaned(tree)
    done = work / project.name / "set-up"
    if not done.exists() or done.read_text() != project.setup:
        must(project.setup, tree, env=tools(tree))
        cleaned(tree)
        done.write_text(project.setup)
    return tree


def tools(tree):
    """The variables of a process that finds the tools beside a checkout, and writes nothing into it."""
    beside = tree.parent
    path = f"{beside}/node_modules/.bin:{beside}/venv/bin:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "CARGO_TARGET_DIR": str(beside / "target"), "PYTHONDONTWRITEBYTECODE": "1"}


def cleaned(tree):
    must("git checkout -q . && git clean -qfdx -e Cargo.lock", tree)


def check(project, tree):
    """None if the project passes its check, else what the check says."""
    ran = run(["timeout", "1800", "sh", "-c", project.check], tree, env=tools(tree))
    return None if ran.returncode == 0 else ran.stdout


class Symbol(namedtuple("Symbol", "name kind path line column")):
    def place(self):
        return f"{self.path}:{self.line}:{self.column}"

    def renamed(self):
        """A new name in the style of the old one."""
        if self.name.isupper():
            return self.name + "_RENAMED"
        snake = "_" in self.name or (self.name.islower() and self.path.endswith((".py", ".rs")))
        return self.name + ("_renamed" if snake else "Renamed")


def python_symbols(path, text):
    """The functions, classes and variables of a module, and what they are."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            word = "class" if isinstance(node, ast.ClassDef) else "def"
            found = re.search(rf"\b{word} +{node.name}\b", lines[node.lineno - 1])
            yield node.name, word, node.lineno, found.end() - len(node.name) + 1
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                before = lines[node.lineno - 1].encode()[:target.col_offset].decode()
                yield target.id, "variable", target.lineno, len(before) + 1


def other_symbols(language, text):
    """The same for the other languages, by the forms that formatters give declarations."""
    exports = set(re.findall(r"\w+", " ".join(re.findall(r"^module\.exports = (\{[^}]*\}|\w+$)", text, re.M))))
    exports |= set(re.findall(r"^(?:module\.)?exports\.\w+ = (\w+)", text, re.M))
    for match in re.finditer(DECLARATIONS[language], text, re.M):
        groups = {key: value for key, value in match.groupdict().items() if value}
        if "listed" in groups and groups["listed"] not in exports:
            continue
        key = next(key for key in ("name", "member", "listed", "property") if key in groups)
        before = text[:match.start(key)]
        kind = groups.get("kind") or groups.get("common") or key
        yield groups[key], kind, before.count("\n") + 1, len(before) - before.rfind("\n")


def symbols(project, tree):
    """The public symbols of a project at their declarations, one of each name, in the order in which they are drawn."""
    found = []
    for path in sorted(must(["git", "ls-files", "-z"], tree).split("\0")):
        inside = any(source == "." or path.startswith(source + "/") for source in project.sources)
        if not inside or path.rpartition(".")[2] not in ENDINGS[project.language] or NO_SOURCES.search(path):
            continue
        text = (tree / path).read_text()
        listed = python_symbols(path, text) if project.language == "python" else other_symbols(project.language, text)
        for name, kind, line, column in listed:
            if not name.startswith("_"):
                found.append(Symbol(name, kind, path, line, column))
    random.Random(project.name).shuffle(found)
    return list({symbol.name: symbol for symbol in reversed(found)}.values())[::-1]


def rename(binary, tree, symbol):
    """Renames a symbol: the outcome, its reason, and the changed lines by path and number as pairs of texts."""
    words = [f"from={symbol.name}", f"to={symbol.renamed()}", "glob=**/*", f"at={symbol.place()}"]
    line = ["timeout", "600", str(binary), "run", "std:rename_symbol", "--yes", "--json"]
    ran = subprocess.run(line + [part for word in words for part in ("--arg", word)], cwd=tree, text=True, capture_output=True,
                         stdin=subprocess.DEVNULL)
    shutil.rmtree(tree / ".runs", ignore_errors=True)
    changes = changed_lines(tree)
    cleaned(tree)
    if ran.returncode == 0:
        return "renamed", "", changes
    if ran.returncode == 2:
        raise SystemExit(f"error: {binary} does not take the arguments of the judge:\n{ran.stderr}")
    try:
        error = json.loads(ran.stdout)["error"]
    except (ValueError, KeyError, TypeError):
        error = {"code": f"exit {ran.returncode}", "message": ran.stderr[-2000:]}
    return ("no_match" if error["code"] == "no_match" else "refused"), f"{error['code']}: {error['message']}", changes


def lines_of(file):
    return file.read_bytes().decode().split("\n")


def changed_lines(tree):
    """The changed lines of a tree, which is clean afterwards."""
    changes = {}
    for path in must(["git", "diff", "--name-only", "-z"], tree).split("\0")[:-1]:
        after = lines_of(tree / path)
        must(["git", "checkout", "-q", "--", path], tree)
        before = lines_of(tree / path)
        if len(before) != len(after):
            raise SystemExit(f"error: {path} has another number of lines after a rename")
        changes.update({(path, n): pair for n, pair in enumerate(zip(before, after)) if pair[0] != pair[1]})
    return changes


def edits(before, after):
    """The words of a line that change, as ranges of words and what comes instead."""
    old, new = (re.findall(r"\w+|\W", line) for line in (before, after))
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(start, end, new[first:last]) for tag, start, end, first, last in codes if tag != "equal"]


def clash(one, other):
    return one[0] < other[1] and other[0] < one[1] or one[0] == other[0]


def batches(renames):
    """Puts renames together that change no common word: lists of renames, each with the lines that they make together."""
    made = []
    for rename in renames:
        own = {key: edits(*pair) for key, pair in rename["changes"].items()}
        for names, lines in made:
            if not any(clash(one, other) for key in own for one in own[key] for other in lines.get(key, [])):
                break
        else:
            names, lines = [], {}
            made.append((names, lines))
        names.append(rename)
        for key, changed in own.items():
            lines.setdefault(key, []).extend(changed)
    return made


def write(tree, lines):
    """Writes changed words into the files of a clean tree."""
    for path in {path for path, _ in lines}:
        texts = lines_of(tree / path)
        for (_, n), changed in ((key, changed) for key, changed in lines.items() if key[0] == path):
            words = re.findall(r"\w+|\W", texts[n])
            for start, end, new in sorted(changed, key=lambda edit: edit[:2], reverse=True):
                words[start:end] = new
            texts[n] = "".join(words)
        (tree / path).write_bytes("\n".join(texts).encode())


def broken(project, tree, renames):
    """The renames after which the check fails, with what it says. Those that fail only together are named together."""
    found = []
    for names, lines in batches(renames):
        cleaned(tree)
        write(tree, lines)
        said = check(project, tree)
        cleaned(tree)
        if said is None:
            continue
        half = len(names) // 2
        parts = broken(project, tree, names[:half]) + broken(project, tree, names[half:]) if half else []
        found += parts or [(names, said)]
    return found


def judge(binary, project, tree, drawn):
    """The outcome of each symbol, by its place."""
    outcomes = []
    for symbol in drawn:
        kind, reason, changes = rename(binary, tree, symbol)
        if kind == "renamed" and (symbol.path, symbol.line - 1) not in changes:
            kind, reason = "broken", "the declaration kept its name"
        outcomes.append({"symbol": symbol, "outcome": kind, "reason": reason, "changes": changes})
    for names, said in broken(project, tree, [one for one in outcomes if one["outcome"] == "renamed"]):
        for one in names:
            one.update(outcome="broken", reason=said[-4000:])
    return outcomes


def general(reason):
    """A refusal without its names and places: the first reason that it gives."""
    reason = reason.partition(" with certainty: ")[2] or reason
    return re.sub(r"`[^`]*`", "…", re.sub(r"^`[^`]*`(:\d+)?: ", "", reason.split("; `")[0]))


def lost(old, new):
    """How many symbols an older binary renamed rightly, how many points of them are refused now, and where these are."""
    right = [n for n, one in enumerate(old) if one["outcome"] == "renamed"]
    refused = [n for n in right if new[n]["outcome"] in ("refused", "no_match")]
    return {"right": len(right), "points": 100 * len(refused) / max(len(right), 1), "refused": [new[n]["symbol"].place() for n in refused]}


def shown(rows):
    print(f"{'project':12}{'language':12}{'symbols':>8}{'renamed':>9}{'refused':>9}{'no_match':>10}{'broken':>8}{'more refused':>16}")
    for row in rows:
        more = "{points:.1f} % of {right}".format(**row["before"]) if "before" in row else ""
        counts = Counter(one["outcome"] for one in row["symbols"])
        print(f"{row['project']:12}{row['language']:12}{len(row['symbols']):8}{counts['renamed']:9}{counts['refused']:9}"
              f"{counts['no_match']:10}{counts['broken']:8}{more:>16}")
    every = [(row, one) for row in rows for one in row["symbols"]]
    for language in ENDINGS:
        reasons = [(general(one["reason"]), one) for row, one in every if one["outcome"] == "refused" and row["language"] == language]
        for reason, count in Counter(reason for reason, _ in reasons).most_common():
            example = next(one for text, one in reasons if text == reason)
            print(f"{language}: {count} × {reason}\n    as {example['name']} at {example['place']}: {example['reason'][:300]}")
    for row, one in every:
        if one["outcome"] == "broken":
            print(f"BROKEN: {row['project']}: {one['name']} at {one['place']} was renamed and verified:\n{one['diff']}{one['reason']}")


def document(project, outcomes):
    """The outcomes of a project for `--json`."""
    listed = []
    for one in outcomes:
        symbol = one["symbol"]
        diff = "".join(f"{path}:{n + 1}\n-{before}\n+{after}\n" for (path, n), (before, after) in one["changes"].items())
        listed.append({"name": symbol.name, "kind": symbol.kind, "place": symbol.place(), "outcome": one["outcome"],
                       "reason": one["reason"], "diff": diff})
    return {"project": project.name, "language": project.language, "symbols": listed}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nrv", default="target/release/nrv", type=Path, help="the binary that is judged")
    parser.add_argument("--old", type=Path, help="an older binary; what it renamed rightly may be refused in 5 of 100 cases more")
    parser.add_argument("--from", dest="source", help="a folder with a repository for each project, instead of GitHub")
    parser.add_argument("--work", default=Path.home() / ".cache/nrv-bench/renames", type=Path, help="where checkouts and tools lie")
    parser.add_argument("--projects", help="names of `renames.toml`, with commas; all without it")
    parser.add_argument("--symbols", default=100, type=int, help="how many symbols of each project")
    parser.add_argument("--json", type=Path, help="a file for all outcomes")
    options = parser.parse_args()
    known = list(projects())
    wanted = options.projects.split(",") if options.projects else [project.name for project in known]
    if unknown := set(wanted) - {project.name for project in known}:
        raise SystemExit(f"error: there is no project {', '.join(sorted(unknown))}")
    rows, unjudged = [], 0
    for project in (project for project in known if project.name in wanted):
        start = time.monotonic()
        tree = checkout(project, options.work.resolve(), options.source)
        if said := check(project, tree):
            print(f"error: {project.name} can't be judged: it fails its check unchanged\n{said[-3000:]}", file=sys.stderr)
            unjudged += 1
            continue
        cleaned(tree)
        drawn = symbols(project, tree)[:options.symbols]
        if len(drawn) < options.symbols:
            print(f"{project.name} has only {len(drawn)} public symbols", file=sys.stderr)
        outcomes = judge(options.nrv.resolve(), project, tree, drawn)
        row = document(project, outcomes)
        if options.old:
            row["before"] = lost(judge(options.old.resolve(), project, tree, drawn), outcomes)
        rows.append(row)
        print(f"{project.name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    shown(rows)
    bad = any(row.get("before", {"points": 0})["points"] > 5 or any(one["outcome"] == "broken" for one in row["symbols"]) for row in rows)
    sys.exit(2 if unjudged else 1 if bad else 0)


if __name__ == "__main__":
    main()
