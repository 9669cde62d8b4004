#!/usr/bin/env python3
"""Runs nrv and its peers side by side and prints their figures as a table of Markdown.

usage: benches/compare.py [--nrv PATH] [--before PATH] [--cache DIR] [--rounds N] [SUITE…]

The commands of a suite take turns, so that a drift of the machine hits all of them alike; figures are medians. A command
that changes its tree gets a copy of its own each time: all copies are made first, and nothing is deleted until the end,
because ext4 takes longer to make files while others were deleted a moment ago. A peer that is not installed is left out.
Ratios are to the row that is marked 1.00. With `--before`, each command of nrv is timed with that program too, and the suite
`releases`, which needs no cache, has the common commands.
"""

import argparse
import importlib.util
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

SITE = Path(__file__).resolve().parent.parent
MANY, FEW, NEW = "www.apache.org", "docs.python.org", "www.new.example"
SCRIPTS = ["migrate_links.rhai", "migrate_all_links.rhai"]
PATHS = os.environ["PATH"] + ":" + str(Path.home() / ".cargo/bin")


class Row:
    """A command of a suite; `{tree}` is where it runs, `{nrv}` the program, `before` what is done first and not timed."""

    def __init__(self, name, command, tree=None, changes=False, needs=(), reference=False, figure=None, before=None):
        self.name, self.command, self.tree, self.changes = name, command, tree, changes
        self.needs, self.reference, self.figure, self.before = needs, reference, figure, before
        self.walls, self.cpus, self.peaks, self.figures = [], [], [], []
        self.nrv = self.twin = None

    def of(self, nrv):
        """The same command with another program."""
        name = f"{self.name}, before"
        other = Row(name, self.command, self.tree, self.changes, self.needs, False, self.figure, self.before)
        other.nrv, self.twin = nrv, other
        return other


def measure(command, folder):
    """Wall and processor seconds and the largest process in MB; an error if the command fails."""
    started = time.monotonic()
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"failed: {command}\n{said.decode(errors='replace')[-2000:]}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def committed(tree):
    """Seconds from the last question to the commit mark, by the latest record: the apply alone."""
    run = sorted((tree / ".runs").glob("2*"))[-1]
    at = {}
    for line in (run / "events.jsonl").read_text().splitlines():
        record = json.loads(line)
        at[record["kind"]] = datetime.fromisoformat(record["at"].replace("Z", "+00:00"))
    return (at["committed"] - at["confirmation_used"]).total_seconds()


def arguments(work, name, host, glob):
    path = work / f"{name}.json"
    path.write_text(json.dumps({"from": [host], "to": f"https://{NEW}", "glob": glob}))
    return path


def patched(folder, files, edit):
    """Writes `a` with the files, and a patch that makes the edited ones of them; their paths."""
    for name, lines in files:
        for side, text in (("a", lines), ("b", edit(lines))):
            path = folder / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(text))
    # It exits with 1, since the sides differ.
    diff = subprocess.run(["git", "diff", "--no-index", "--no-prefix", "a", "b"], cwd=folder, stdout=subprocess.PIPE)
    (folder / "x.patch").write_bytes(diff.stdout)
    shutil.rmtree(folder / "b")
    return folder / "a", folder / "x.patch"


def patches(work):
    """2,000 files of HTML, three lines of each changed, and one file of 100,000 lines with every hundredth changed."""
    chance = random.Random(1)
    words = "the of a link page with site moved to old new host text item list name".split()

    def lines(n):
        text = (" ".join(chance.choices(words, k=chance.randint(3, 16))) for _ in range(n))
        return [f"<p class=\"c{n}\">{sentence}</p>\n" for n, sentence in enumerate(text)]

    def every(n):
        return lambda lines: [f"<b>{line}" if at % n == n // 2 else line for at, line in enumerate(lines)]

    many = ((f"d{n % 40}/page{n}.html", lines(min(4000, int(chance.lognormvariate(5.3, 0.9)) + 12))) for n in range(2000))
    thirds = lambda lines: every(max(10, len(lines) // 3))(lines)
    return patched(work / "many", many, thirds), patched(work / "long", [("long.html", lines(100_000))], every(100))


def apply_suites(work):
    """One patch over many files and one with many hunks; `-p1`, with which nrv and its peers read the same paths."""
    (tree, patch), (long, hunks) = patches(work)
    git, nrv = f"git apply {patch}", f"{{nrv}} apply --yes -p1 {patch}"
    change = [
        Row("nrv apply", nrv, tree, True),
        Row("git apply", git, tree, True, reference=True),
        Row("patch", f"patch -s -p1 -i {patch}", tree, True, ["patch"]),
        Row("patch -b, which keeps the old files", f"patch -b -s -p1 -i {patch}", tree, True, ["patch"]),
    ]
    back = [
        Row("nrv rollback", "{nrv} rollback last", tree, True, before=nrv),
        Row("git apply -R", f"git apply -R {patch}", tree, True, reference=True, before=git),
    ]
    in_memory = lambda rows: [Row(r.name, r.command, tree, True, r.needs, r.reference, before=r.before) for r in rows]
    return {
        "apply": change,
        "apply-in-memory": in_memory(change),
        "apply-check": [
            Row("nrv apply --dry-run", f"{{nrv}} apply --dry-run -p1 {patch}", tree),
            Row("git apply --check", f"git apply --check {patch}", tree, reference=True),
        ],
        "apply-back": back,
        "apply-back-in-memory": in_memory(back),
        "apply-long-in-memory": [
            Row("nrv apply", f"{{nrv}} apply --yes -p1 {hunks}", long, True),
            Row("git apply", f"git apply {hunks}", long, True, reference=True),
            Row("patch", f"patch -s -p1 -i {hunks}", long, True, ["patch"]),
        ],
        "apply-long-check": [
            Row("nrv apply --dry-run", f"{{nrv}} apply --dry-run -p1 {hunks}", long),
            Row("git apply --check", f"git apply --check {hunks}", long, reference=True),
        ],
    }


def gate_suites(work):
    """Secrets in one file each, beside gitleaks, and what loading the rules adds to a run."""
    words = ("password api_key token secret aws_access_key_id AKIA ghp_ xoxb- sk_live_ eyJ Bearer -----BEGIN client_secret "
             "authorization: postgres:// AccountKey= heroku datadog npm_ glpat-").split()
    keywords = "".join(f"{words[n % len(words)]} = \"${{NAME_{n}}}\" # {words[n % len(words)]}\n" for n in range(7600))
    sources = "".join(path.read_text() for path in sorted((SITE / "src").rglob("*.rs")))
    off = "".join(f"[gates.{name}]\nenabled = false\n" for name in ("destructive", "secrets"))
    for name, policy in (("on", ""), ("off", off)):
        folder = work / "gates" / name
        folder.mkdir(parents=True)
        (folder / "nrv.toml").write_text(policy)
        (folder / "empty.rhai").write_text("()\n")
    (work / "gates/keywords.py").write_text(keywords[:310 << 10])
    (work / "gates/sources.rs").write_text(sources[:1 << 20])
    judge = lambda name: f"{{nrv}} --root gates/on gate edit gates/{name} > /dev/null || test $? = 3"
    rival = lambda name: f"gitleaks dir --no-banner --log-level error --exit-code 0 gates/{name}"
    beside = lambda name: [
        Row("nrv gate edit", judge(name)),
        Row("gitleaks dir", rival(name), needs=["gitleaks"], reference=True),
    ]
    return {
        "gates-keywords": beside("keywords.py"),
        "gates-sources": beside("sources.rs"),
        "gates-start": [
            Row("true", "true", reference=True),
            Row("nrv --version", "{nrv} --version"),
            Row("nrv gate command -- ls", "{nrv} --root gates/on gate command -- ls"),
            Row("nrv run, an empty script", "{nrv} --root gates/on run gates/on/empty.rhai"),
            Row("the same, gates off", "{nrv} --root gates/off run gates/off/empty.rhai"),
        ],
    }


def prepare(tree, copy):
    """A copy of a tree, a workspace of its own, with the shipped workflows and larger budgets."""
    shutil.copytree(tree, copy, symlinks=True)
    (copy / "scripts").mkdir()
    policy = (
        "[adapters.link_updater]\nmax_files = 100000\n[adapters.intra_repo_link_fixer]\nmax_files = 100000\n"
        "[adapters.json_schema_migrator]\nmax_files = 100000\n[adapters.code_rewrite]\nmax_files = 100000\n"
        "[adapters.rename_refactor]\nmax_files = 100000\n[budget]\nfiles = 100000\ndiff_lines = 10000000\n"
        "[[exec.allow]]\nprefix = [\"/bin/true\"]\n")
    with (copy / "nrv.toml").open("a") as file:
        file.write(policy)
    for name in SCRIPTS:
        text = (SITE / "scripts" / name).read_text()
        larger = text.replace("files: 5000, diff_lines: 50000", "files: 100000, diff_lines: 10000000")
        (copy / "scripts" / name).write_text(larger)


def releases(work):
    """What people and programs do most, on small trees and on 2,000 pages."""
    pages, few = work / "pages", work / "few"
    for folder, count in ((pages, 2000), (few, 20)):
        for n in range(count):
            path = folder / f"d{n % 40}" / f"page{n}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            links = "".join(f'<p><a href="https://{MANY}/{n}/{at}">link</a> and text</p>\n' for at in range(40))
            path.write_text(f"<!doctype html><title>{n}</title>\n{links}")
    for folder in (pages, few):
        (folder / "empty.rhai").write_text("()\n")
        (folder / "true.rhai").write_text("const WORKFLOW = #{ name: \"t\", permissions: #{ exec: [\"*\"] } };\n"
                                          "for n in 0..100 { nrv.exec.run(#{ program: \"/bin/true\", args: [], timeout_ms: 10000 }); }\n")
    move = arguments(work, "releases", MANY, ["**/*.html"])
    run = f"{{nrv}} run scripts/migrate_links.rhai --args {move}"
    rows = lambda tree, named: [Row(name, command, tree, changes) for name, command, changes in named]
    return {
        "releases-start": [
            Row("nrv --version", "{nrv} --version"),
            Row("nrv gate command -- ls", "{nrv} gate command -- ls"),
            Row("nrv run, an empty script", "{nrv} run empty.rhai", few, True),
            Row("nrv run, 100 × /bin/true", "{nrv} run true.rhai", few, True),
        ],
        "releases-move": rows(pages, [
            ("nrv run --dry-run, 2,000 files", f"{run} --dry-run", True),
            ("nrv run --yes, 2,000 files", f"{run} --yes", True),
        ]) + rows(few, [
            ("nrv run --dry-run, 20 files", f"{run} --dry-run", True),
            ("nrv run --yes, 20 files", f"{run} --yes", True),
        ]),
        "releases-records": [
            Row("nrv runs report", "{nrv} runs report last", pages, True, before=f"{run} --yes"),
            Row("nrv runs verify", "{nrv} runs verify last", pages, True, before=f"{run} --yes"),
            Row("nrv replay", "{nrv} replay last", pages, True, before=f"{run} --yes"),
            Row("nrv rollback", "{nrv} rollback last", pages, True, before=f"{run} --yes"),
        ],
    }


def invocation(work, name, tool, glob, params, mode="dry-run"):
    path = work / f"{name}.invocation.json"
    path.write_text(json.dumps({
        "tool": tool, "version": "1.0", "mode": mode, "target": {"repo_path": ".", "glob": glob}, "params": params,
        "constraints": {"max_files": 100_000, "timeout_ms": 600_000, "seed": 0},
    }))
    return path


def adapter_suites(work, cache):
    """Validation of many files, and broken links of a documentation; what a tool finds is no failure of it."""
    packages, markdown = cache / "corpora" / "package-json", cache / "corpora" / "markdown"
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^(@[^/]+/)?[^/]+$"}, "version": {"type": "string"},
            "private": {"type": "boolean"}, "keywords": {"type": "array", "items": {"type": "string"}},
            "scripts": texts, "dependencies": texts, "devDependencies": texts, "peerDependencies": texts,
            "files": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
    }
    (work / "schema.json").write_text(json.dumps(schema))
    (work / "alone.py").write_text(
        "import json, pathlib, jsonschema_rs\n"
        f"valid = jsonschema_rs.validator_for(json.load(open('{work / 'schema.json'}')))\n"
        "print(sum(valid.is_valid(json.loads(path.read_bytes())) for path in pathlib.Path('.').rglob('package.json')))\n")
    migrate = invocation(work, "migrate", "json_schema_migrator", "**/package.json", {"schema": schema, "allow_invalid": ["**"]})
    links = invocation(work, "links", "intra_repo_link_fixer", "**/*.md", {"allow_broken": ["*"]})
    crate = [Row("the jsonschema crate by Python", f"python3 {work / 'alone.py'}", packages, needs=["python3"], reference=True)]
    alone = crate if importlib.util.find_spec("jsonschema_rs") else []
    run = "{nrv} dta run"
    return {
        "adapters-json": alone + [
            Row("nrv dta run json_schema_migrator --dry-run", f"{run} json_schema_migrator --input {migrate} --dry-run", packages, True,
                reference=not alone),
            Row("ajv validate", f"ajv validate --strict=false -s {work / 'schema.json'} -d '**/package.json'; true", packages, needs=["ajv"]),
        ],
        "adapters-links": [
            Row("nrv dta run intra_repo_link_fixer --dry-run", f"{run} intra_repo_link_fixer --input {links} --dry-run", markdown, True,
                reference=True),
            Row("lychee --include-fragments", "lychee --offline --include-fragments --no-progress --extensions md . ; true", markdown,
                needs=["lychee"]),
        ],
    }


def code_suites(work, cache):
    """Calls rewritten in TypeScript by nrv and by ast-grep; the trees are equal afterwards. Any folder of sources may be the corpus."""
    sources = cache / "corpora" / "typescript"
    pattern, fix = "expect($A).to.equal($B)", "expect($A).toBe($B)"
    params = {"pattern": pattern, "fix": fix, "lang": "ts", "allow_errors": True}
    rewrite = invocation(work, "rewrite", "code_rewrite", "**/*.ts", params)
    applied = invocation(work, "rewritten", "code_rewrite", "**/*.ts", params, "apply")
    run = f"ast-grep run -l ts -p '{pattern}'"
    return {
        "code": [
            Row("ast-grep run -U", f"{run} -r '{fix}' -U .", sources, True, needs=["ast-grep"], reference=True),
            Row("nrv dta run code_rewrite", f"{{nrv}} dta run code_rewrite --input {applied} --yes", sources, True),
        ],
        "code-dry-run": [
            Row("ast-grep run", f"{run} --json=stream .", sources, needs=["ast-grep"], reference=True),
            Row("nrv dta run code_rewrite --dry-run", f"{{nrv}} dta run code_rewrite --input {rewrite} --dry-run", sources, True),
        ],
    }


def rename_suites(work, cache):
    """An interface of many files renamed by nrv, which resolves and verifies it, and by ast-grep, which leaves out the places in types."""
    sources = cache / "corpora" / "typescript"

    def beside(name, home):
        if not (sources / home).is_file():
            return []
        lines = enumerate((sources / home).read_text().splitlines(), 1)
        number, line = next((number, line) for number, line in lines if f"export interface {name} " in line)
        place = {"path": home, "line": number, "column": line.index(name) + 1}
        params = {"from": name, "to": f"{name}Renamed", "scope": place}
        applied, tried = (invocation(work, f"rename-{mode}", "rename_refactor", "**/*.ts", params, mode) for mode in ("apply", "dry-run"))
        peer = f"ast-grep run -l ts -p {name} -r {name}Renamed -U ."
        run = "{nrv} dta run rename_refactor --input"
        return [
            Row("ast-grep run -U", peer, sources, True, needs=["ast-grep"], reference=True),
            Row("nrv dta run rename_refactor", f"{run} {applied} --yes", sources, True),
            Row("nrv dta run rename_refactor --dry-run", f"{run} {tried} --dry-run", sources, True),
        ]

    return {
        "rename": beside("QueryRunner", "typeorm/src/query-runner/QueryRunner.ts"),
    }


def own_suites(work):
    """1,000 Markdown files with small headings, by an adapter in Rhai, the same in Rust, and a program in Python."""
    chance = random.Random(1)
    words = "the of a link page with site moved to old new host text item list name".split()
    tree = work / "headings"
    for n in range(1000):
        page = tree / f"docs/d{n % 40}/p{n}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        parts = []
        for _ in range(chance.randint(3, 12)):
            heading = " ".join(chance.choices(words, k=4))
            parts.append("#" * chance.randint(1, 4) + " " + (heading if chance.random() < 0.1 else heading.capitalize()))
            parts += [" ".join(chance.choices(words, k=chance.randint(10, 60))) for _ in range(chance.randint(1, 6))]
        page.write_text("\n\n".join(parts) + "\n")
    (tree / "dta").mkdir()
    shutil.copy(SITE / "dta/heading_case.rhai", tree / "dta")
    program = work / "headings-python"
    shutil.copytree(tree, program)
    shutil.copy(SITE / "src/face/cli/templates/adapter.py", program / "dta/blanks.py")
    (program / "nrv.toml").write_text(
        '[adapters.blanks]\nprogram = ["/usr/bin/python3", "dta/blanks.py"]\nglob = ["**/*.md"]\nwork = "blanks"\n')
    rhai, python = (invocation(work, name, name, "docs/**", {}) for name in ("heading_case", "blanks"))
    rust = SITE / "target/release/examples/heading_case"
    return {
        "adapters-own": [
            Row("heading_case in Rust", f"{rust} .", tree, True, needs=[str(rust)], reference=True),
            Row("heading_case in Rhai", f"{{nrv}} dta run heading_case --input {rhai} --dry-run", tree, True),
            Row("blanks in Python", f"{{nrv}} dta run blanks --input {python} --dry-run", program, True, needs=["/usr/bin/python3"]),
        ],
    }


def suites(work, cache):
    html, large, markdown = (cache / "corpora" / name for name in ("html-5k", "html-50k", "markdown"))
    pages = ["**/*.html", "**/*.htm"]
    many, few = arguments(work, "many", MANY, pages), arguments(work, "few", FEW, pages)
    readme = arguments(work, "readme", "travis-ci.org", ["**/*.md"])
    run = "{nrv} run scripts/migrate_links.rhai --args"
    list_files = f"rg -l --fixed-strings {MANY} ."
    edit = f"s#//{MANY.replace('.', '[.]')}#//{NEW}#g"
    move = [
        Row("nrv run: propose, patch, apply, verify", f"{run} {many} --yes", html, True, figure=committed),
        Row("fastmod (in place)", f"fastmod --accept-all -e html,htm --fixed-strings //{MANY} //{NEW} .", html, True, ["fastmod"]),
        Row("rg -l | xargs perl -pi", f"{list_files} | xargs perl -pi -e '{edit}'", html, True, ["rg", "perl"], True),
        Row("rg -l | xargs sed -i", f"{list_files} | xargs sed -i '{edit}'", html, True, ["rg"]),
    ]
    return {
        "start": [
            Row("true", "true", reference=True),
            Row("nrv --version", "{nrv} --version"),
            Row("nrv run, an empty script", "{nrv} run empty.rhai", "empty"),
            Row("nrv run, 10,000 × nrv.files.exists", "{nrv} run exists.rhai", "empty"),
            Row("node, an empty program", "node -e 0", needs=["node"]),
            Row("python3, an empty program", "python3 -c pass", needs=["python3"]),
        ],
        "dry-run": [
            Row("rg -c (827 files hold the host)", f"rg -c --fixed-strings {MANY} .", html, needs=["rg"], reference=True),
            Row("nrv run --dry-run, 827 files would change", f"{run} {many} --dry-run", html),
            Row("nrv run --dry-run, 25 files would change", f"{run} {few} --dry-run", html),
            Row("cat of all files", "find . -type f -print0 | xargs -0 cat", html),
            Row("sha256sum of all files", "find . -type f -print0 | xargs -0 sha256sum", html),
            Row("lychee --dump (lists the links)", "lychee --dump --offline --extensions html,htm .", html, needs=["lychee"]),
        ],
        "move": move,
        "move-in-memory": [Row(row.name, row.command, html, True, row.needs, row.reference, row.figure) for row in move],
        "large": [
            Row("nrv run --dry-run, 5,000 files", f"{run} {many} --dry-run", html, reference=True),
            Row("nrv run --dry-run, 50,000 files", f"{run} {many} --dry-run", large),
        ],
        "markdown": [
            Row("rg -c", "rg -c --fixed-strings travis-ci.org -g '*.md' .", markdown, needs=["rg"], reference=True),
            Row("nrv run --dry-run", f"{run.replace('links', 'all_links')} {readme} --dry-run", markdown),
            Row("lychee --dump", "lychee --dump --offline --extensions md .", markdown, needs=["lychee"]),
        ],
        **adapter_suites(work, cache),
        **code_suites(work, cache),
        **rename_suites(work, cache),
        **own_suites(work),
        **apply_suites(work),
        **gate_suites(work),
        **releases(work),
    }


def run_suite(name, rows, options, work):
    if options.before:
        beside = lambda row: [row.of(options.before), row] if "{nrv}" in row.command else [row]
        rows = [one for row in rows for one in beside(row)]
        if not any(row.reference for row in rows):
            rows[0].reference = True
    rows = [row for row in rows if all(shutil.which(need, path=PATHS) for need in row.needs)]
    rows = [row for row in rows if row.tree is None or row.tree == "empty" or Path(row.tree).is_dir()]
    if not any(row.reference for row in rows):
        print(f"\n## {name}\n\nskipped: its reference is not there")
        return
    base = Path("/dev/shm") if name.endswith("in-memory") else work
    folder = Path(tempfile.mkdtemp(prefix=f"nrv-{name}-", dir=base))
    shared = {}
    for row in rows:
        copies = options.rounds if row.changes else 1
        if row.tree is None:
            row.trees = [work] * options.rounds
            continue
        key = (row.tree, "" if not row.changes else row.name)
        if key not in shared:
            shared[key] = [folder / f"{len(shared)}-{n}" for n in range(copies)]
            for copy in shared[key]:
                if row.tree == "empty":
                    copy.mkdir()
                    (copy / "empty.rhai").write_text("()\n")
                    (copy / "exists.rhai").write_text("for n in 0..10000 { nrv.files.exists(\"a/b.html\"); }\n")
                else:
                    prepare(row.tree, copy)
        row.trees = shared[key] if row.changes else shared[key] * options.rounds
        for tree in row.trees if row.before else ():
            measure(row.before.replace("{nrv}", row.nrv or options.nrv), tree)
    os.sync()
    if any(row.changes for row in rows) and base == work:
        time.sleep(options.settle)
    for row in rows:
        if not row.changes:
            measure(row.command.replace("{nrv}", row.nrv or options.nrv), row.trees[0])
    for n in range(options.rounds):
        for row in rows:
            wall, cpu, peak = measure(row.command.replace("{nrv}", row.nrv or options.nrv), row.trees[n])
            row.walls.append(wall)
            row.cpus.append(cpu)
            row.peaks.append(peak)
            if row.figure:
                row.figures.append(row.figure(row.trees[n]))
    report(name, rows)
    shutil.rmtree(folder)


def report(name, rows):
    first = statistics.median(next(row for row in rows if row.reference).walls)
    print(f"\n## {name}\n\n| | wall, s | least | CPU, s | MB | ratio |\n|---|---|---|---|---|---|")
    for row in rows:
        wall = statistics.median(row.walls)
        one = statistics.median(row.twin.walls) if row.twin else first
        print(f"| {row.name} | {wall:.3f} | {min(row.walls):.3f} | {statistics.median(row.cpus):.3f} "
              f"| {statistics.median(row.peaks):.0f} | {wall / one:.2f} |")
        if row.figures:
            alone = statistics.median(row.figures)
            print(f"| … of which the apply alone | {alone:.3f} | {min(row.figures):.3f} | | | {alone / one:.2f} |")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nrv", default=str(SITE / "target/release/nrv"))
    parser.add_argument("--before", help="a program of an earlier release, timed beside the other")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/nrv-bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--settle", type=int, default=45, help="seconds to wait after copies were made")
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args()
    os.environ["PATH"] = PATHS
    os.environ["NRV_TRUSTED_PATHS"] = "/"
    options.cache.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="nrv-bench-", dir=options.cache))
    known = suites(work, options.cache)
    for name in options.suites or known:
        if name not in known:
            sys.exit(f"there is no suite `{name}`; there are {', '.join(known)}")
        run_suite(name, known[name], options, work)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
