#!/usr/bin/env python3
"""Measures the gates on real commands and files: how often they object to what a careful team would not ask about, and what they let pass.

    cargo build --release
    benches/gate_corpora.py collect --from FOLDER --to CORPUS
    benches/gate_corpora.py judge CORPUS [--with 'target/release/nrv gate --jsonl'] [--into VERDICTS]
    benches/gate_corpora.py sample CORPUS
    benches/gate_corpora.py table CORPUS [--from VERDICTS] [--labels LABELS]

`gate_corpora.toml` lists the sources with their commits, the limits and the rule that halves them. `FOLDER/OWNER+NAME/repo` has a clone of each.
`collect` writes `commands.jsonl` and `files.jsonl`, in which every text occurs once, and prints the digest of both. `judge` writes the rules that object.
`sample` draws the silent commands to be read. `table` needs the labels, `gate_corpora.tsv`: the id of a text, why it was read, and what the first and
the second reader say. `yes`: a careful team wants to be asked before an agent runs it, since it destroys data for good, acts on shared systems, weakens the guard
or leaks credentials. `no`: it does not. `depends`: the line alone does not tell.

A group is a session, a person or a repository. A whole group is in one half, so that rules fitted to one half meet strangers in the other.
"""

import argparse
import hashlib
import json
import math
import re
import shlex
import subprocess
import tempfile
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
FENCE = re.compile(r"^(?P<indent>[ \t]*)```(?:bash|sh|shell|console|shell-session|zsh|terminal)\b[^\n]*\n(?P<body>.*?)^[ \t]*```[ \t]*$", re.M | re.S)
PLACEHOLDER = re.compile(r"<[A-Za-z][\w .-]*>|^\s*\.\.\.|\[\.\.\.\]", re.M)
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\r")
STEP = re.compile(r"mini-swe-agent \(step (?!0)\d+.*?```bash\n(.*?)\n```", re.S)
TOOL = re.compile(r'^<tool-use data-tool-type="shell"[^\n]*\n(.*?)^(?:</details>)?</tool-use>', re.M | re.S)
TOOL_COMMAND = re.compile(r"^```bash\n(.*?)\n```$|^`([^\n]+)`$", re.M | re.S)
HISTORY = re.compile(r"(^|/)\.?(bash|zsh)_?history$")


def digest(text):
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def folder(mirror, github):
    repository = Path(mirror) / github.replace("/", "+") / "repo"
    return repository / ".git" if (repository / ".git").exists() else repository


def listed(repository, commit):
    """The files of a commit: path, object and size."""
    listing = subprocess.run(["git", "-C", repository, "ls-tree", "-r", "-l", "-z", commit], stdout=subprocess.PIPE, check=True).stdout
    for row in listing.decode(errors="surrogateescape").split("\0"):
        if row:
            (mode, kind, object_id, size), path = row.split("\t")[0].split(), row.split("\t", 1)[1]
            if kind == "blob" and mode.startswith("100") and size.isdigit():
                yield path, object_id, int(size)


def contents(repository, rows):
    """The texts of files, in order; those that are no UTF-8 or hold a NUL are left out."""
    process = subprocess.Popen(["git", "-C", repository, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for path, object_id, _ in rows:
        process.stdin.write(object_id.encode() + b"\n")
        process.stdin.flush()
        head = process.stdout.readline().split()
        if len(head) < 3:
            continue
        data = process.stdout.read(int(head[2]) + 1)[:-1]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            yield path, text
    process.stdin.close()
    process.wait()


def joined(lines):
    """Logical lines, each without its continuations."""
    found, open_line = [], False
    for line in lines:
        if open_line:
            found[-1] += "\n" + line
        else:
            found.append(line)
        open_line = line.endswith("\\") and not line.endswith("\\\\")
    return found


def of_workflow(text):
    # Steps for other shells are no commands of a Unix shell.
    steps = re.split(r"(?m)^(?=\s*- )", text)
    lines, at = "".join(step for step in steps if not re.search(r"(?m)^\s*(- )?shell:(?! *['\"]?(ba|z)?sh\b)", step)).split("\n"), 0
    while at < len(lines):
        match = re.match(r"(\s*)(?:- )?run:\s*(.*)$", lines[at])
        at += 1
        if not match:
            continue
        if match[2][:1] in "|>" and match[2]:
            indent, block = len(match[1]), []
            while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > indent):
                block.append(lines[at])
                at += 1
            least = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
            command = (" " if match[2][0] == ">" else "\n").join(line[least:] for line in block)
        else:
            command = match[2].strip("'\"") if match[2][:1] in "'\"" else match[2]
        yield re.sub(r"\$\{\{.*?\}\}", "value", command, flags=re.S)


def of_dockerfile(text):
    for line in joined(line for line in text.split("\n") if not line.lstrip().startswith("#")):
        match = re.match(r"\s*RUN\s+((?:--\S+\s+)*)(.*)$", line, re.S | re.I)
        if match and not match[2].startswith(("[", "<<")):
            yield match[2]


def of_makefile(text):
    for line in joined(text.split("\n")):
        if line.startswith("\t") and "$(" not in re.sub(r"\$\([A-Za-z_]\w*\)", "", line.replace("$$(", "")):
            command = re.sub(r"(?<!\$)\$\(([A-Za-z_]\w*)\)", r"${\1}", line[1:].lstrip("@-+ \t"))
            yield re.sub(r"(?<!\$)\$[@<^*?]", "target", command).replace("$$", "$")


def of_package(text):
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError):
        scripts = {}
    yield from (script for script in scripts.values() if isinstance(script, str)) if isinstance(scripts, dict) else ()


def of_page(text):
    for match in FENCE.finditer(text):
        body = "\n".join(line.removeprefix(match["indent"]) for line in match["body"].split("\n"))
        if PLACEHOLDER.search(body):
            continue
        prompted = [line[2:] for line in joined(body.split("\n")) if line.startswith("$ ")]
        yield from prompted or ([body] if body.count("\n") <= 15 else [])


def of_script(text):
    if text.count("\n") <= 120:
        yield text


def of_history(text):
    for line in joined(text.split("\n")):
        match = re.match(r": \d+:\d+;(.*)$", line, re.S)
        command = match[1] if match else line
        if not re.match(r"#\d+$", command):
            yield command.replace("\\\n", "\n") if match else command


def of_mini_log(text):
    plain = ESCAPE.sub("", text)
    for match in STEP.finditer(plain):
        # The terminal breaks long lines at a blank, which it keeps.
        if not any(line.endswith(" ") or len(line) > 130 for line in match[1].split("\n")):
            yield match[1]


def of_mini_trajectory(text):
    trajectory = json.loads(text)
    for message in trajectory.get("messages", []) if isinstance(trajectory, dict) else []:
        actions = (message.get("extra") or {}).get("actions") if isinstance(message.get("extra"), dict) else None
        if message.get("role") != "assistant":
            continue
        if actions:
            yield from (action["command"] for action in actions if action.get("command"))
        elif isinstance(message.get("content"), str):
            yield from re.findall(r"```bash\n(.*?)\n```", message["content"], re.S)[:1]


def of_specstory(text):
    for match in TOOL.finditer(text):
        command = TOOL_COMMAND.search(match[1])
        if command:
            found = command[1] or command[2]
            yield found.replace("&#96;", "`").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def of_lines(text):
    yield from text.split("\n")


def of_tldr(text):
    for line in re.findall(r"^`([^`\n]+)`$", text, re.M):
        plain = re.sub(r"\{\{\[?(.*?)\]?\}\}", lambda found: found[1].split("|")[-1], line)
        yield plain


# The kinds of commands: which paths hold them, and how they are read.
PUBLISHED = [
    ("workflow", re.compile(r"^\.github/workflows/[^/]+\.ya?ml$|(^|/)action\.ya?ml$"), of_workflow),
    ("workflow", re.compile(r"^(ci|deployments|pages|automation)/[^/]+\.ya?ml$"), of_workflow),
    ("dockerfile", re.compile(r"(^|/)(Dockerfile|Containerfile)[^/]*$|\.dockerfile$", re.I), of_dockerfile),
    ("makefile", re.compile(r"(^|/)(GNU)?[Mm]akefile$|\.mk$"), of_makefile),
    ("package.json", re.compile(r"(^|/)package\.json$"), of_package),
    ("page", re.compile(r"\.(md|mdx)$"), of_page),
    ("script", re.compile(r"\.(sh|bash)$"), of_script),
]
SPECIAL = {
    "history": (HISTORY, of_history),
    "terminal-bench": (re.compile(r"swe-agent-mini.*/agent\.log$"), of_mini_log),
    "swe-bench": (re.compile(r"\.traj\.json$"), of_mini_trajectory),
    "sessions": (re.compile(r"\.specstory/history/.*\.md$"), of_specstory),
    "nl2bash": (re.compile(r"^data/bash/all\.cm$"), of_lines),
    "tldr": (re.compile(r"^pages/.*\.md$"), of_tldr),
}
FAMILIES = {"swe-bench": "agents", "terminal-bench": "agents", "sessions": "agents", "history": "histories", "nl2bash": "reference", "tldr": "reference"}
DECISIONS = ["allow", "warn", "require-confirmation", "block"]
LABELS = ["yes", "no", "depends"]
# Sources whose files are each a group of their own.
BY_FILE = ("terminal-bench", "swe-bench", "sessions", "tldr")


def commands_of(source, repository):
    rows = [row for row in listed(repository, source["commit"]) if row[2] < 4 << 20]
    readers = [(source["kind"], *SPECIAL[source["kind"]])] if source["kind"] in SPECIAL else PUBLISHED
    for kind, paths, reader in readers:
        for path, text in contents(repository, [row for row in rows if paths.search(row[0])]):
            name = re.sub(r".*/", "", path).removesuffix(".traj.json") if kind == "swe-bench" else path
            group = f"{source['github']}/{name}" if kind in BY_FILE else source["github"]
            for command in reader(text):
                yield kind, group + (digest(command) if kind == "nl2bash" else ""), command.strip()


def half(group):
    return "held out" if int(digest(group)[:2], 16) % 2 else "development"


def usable(command):
    """Whether a text is a command for a Unix shell, and no comment alone."""
    first = command.split("\n")[0]
    return 2 <= len(command) <= 20_000 and all(c.isprintable() or c in "\n\t" for c in command) \
        and any(line.strip() and not line.lstrip().startswith("#") for line in command.split("\n")) and ("sh" in first or not first.startswith("#!"))


def chosen(found, limit, each):
    """The first entries by digest, at most `each` of a group and `limit` of all."""
    taken, groups = [], Counter()
    for entry in sorted(found, key=lambda entry: entry["id"]):
        if groups[entry["cap"]] < each and len(taken) < limit:
            groups[entry["cap"]] += 1
            taken.append(entry)
    return taken


def collect(arguments, config):
    commands, files, seen = defaultdict(list), [], set()
    for source in config["sources"]:
        repository = folder(getattr(arguments, "from"), source["github"])
        for kind, group, command in commands_of(source, repository):
            name = digest(command)[:16]
            if usable(command) and name not in seen:
                seen.add(name)
                commands[kind].append({"id": name, "kind": kind, "half": half(group), "group": group, "cap": group, "command": command})
        if source["kind"] == "published":
            rows = [row for row in listed(repository, source["commit"]) if 0 < row[2] <= config["files"]["bytes"]]
            rows = sorted(rows, key=lambda row: digest(row[1]))[:config["files"]["each"] * 2]
            texts, taken = contents(repository, rows), 0
            for path, text in texts:
                name = digest(text)[:16]
                if name not in seen and taken < config["files"]["each"]:
                    seen.add(name)
                    taken += 1
                    files.append({"id": name, "kind": "file", "half": half(source["github"]), "group": source["github"], "path": path, "text": text})
    target = Path(arguments.to)
    target.mkdir(parents=True, exist_ok=True)
    commands = [entry for kind in commands for entry in chosen(commands[kind], *config["commands"][kind])]
    files = sorted(files, key=lambda entry: entry["id"])[:config["files"]["limit"]]
    for name, entries in (("commands", commands), ("files", files)):
        entries.sort(key=lambda entry: entry["id"])
        for entry in entries:
            entry.pop("cap", None)
        (target / f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        print(f"{name}: {len(entries)}, digest {digest(' '.join(entry['id'] for entry in entries))}")
        for key, count in sorted(Counter((entry["kind"], entry["half"]) for entry in entries).items()):
            print(f"    {count:6} {' '.join(key)}")


def entries(corpus, name):
    with open(Path(corpus) / f"{name}.jsonl") as lines:
        yield from map(json.loads, lines)


def judge(arguments, _):
    """Asks the gates about every text, and writes their decision and rules by its id."""
    with open(arguments.into or Path(arguments.corpus) / "verdicts.jsonl", "w") as into:
        for name, gates in (("commands", ("destructive-ops", "secrets")), ("files", ("secrets",))):
            with tempfile.TemporaryFile("w+") as requests:
                for entry in entries(arguments.corpus, name):
                    requests.write(json.dumps({key: entry[key] for key in ("id", "command", "path", "text") if key in entry}) + "\n")
                requests.flush()
                requests.seek(0)
                answers = subprocess.run(shlex.split(getattr(arguments, "with")), stdin=requests, stdout=subprocess.PIPE, text=True).stdout
            for answer in map(json.loads, answers.splitlines()):
                results = [result for result in answer.get("results", []) if result["gate_name"] in gates]
                decision = max((result["decision"] for result in results), key=DECISIONS.index) if results else "block"
                rules = sorted({rule for result in results for rule in result["triggered_rules"]})
                into.write(json.dumps({"id": answer["id"], "decision": decision, "rules": rules}) + "\n")


def verdicts(arguments):
    with open(getattr(arguments, "from", None) or Path(arguments.corpus) / "verdicts.jsonl") as lines:
        return {verdict["id"]: verdict for verdict in map(json.loads, lines)}


def sample(arguments, config):
    """Prints the silent commands to be read: as many of each half, by digest."""
    decided = verdicts(arguments)
    silent = defaultdict(list)
    for entry in entries(arguments.corpus, "commands"):
        if decided[entry["id"]]["decision"] == "allow":
            silent[entry["half"]].append(entry)
    for half_of in silent.values():
        for entry in sorted(half_of, key=lambda entry: digest("silent " + entry["id"]))[:config["sample"]["silent"] // 2]:
            print(json.dumps(entry))


def interval(count, total):
    """A rate per 1,000 with Wilson's interval of 95 %."""
    if not total:
        return "–"
    z, share = 1.96, count / total
    middle, margin = share + z * z / (2 * total), z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    low, high = (max(0, (middle + sign * margin) / (1 + z * z / total)) for sign in (-1, 1))
    return f"{1000 * share:.1f} ({1000 * low:.1f}–{1000 * high:.1f})"


def table(arguments, _):
    """Prints the figures of each half and kind. An alarm that nobody has read is `unread`. Misses are counted in the sample of silent commands alone."""
    decided, labels, silent, pairs = verdicts(arguments), {}, set(), []
    for line in Path(arguments.labels).read_text().splitlines():
        name, drawn, first, second = line.split("\t")
        labels[name] = first
        silent |= {name} if drawn == "silent" else set()
        pairs += [(first, second)] if second else []
    counts = defaultdict(Counter)
    for entry in (entry for name in ("commands", "files") for entry in entries(arguments.corpus, name)):
        verdict = decided[entry["id"]]
        alarm = verdict["decision"] in ("require-confirmation", "block")
        for kind in (entry["kind"], FAMILIES.get(entry["kind"], "published"), "commands") if entry["kind"] != "file" else ("file",):
            for half_of in (entry["half"], "both"):
                count = counts[half_of, kind]
                count["all"] += 1
                count["alarm"] += alarm
                count[labels.get(entry["id"], "unread")] += alarm
                count["silent read"] += entry["id"] in silent
                count["missed"] += not alarm and entry["id"] in silent and labels[entry["id"]] == "yes"
    print(f"{'half':12} {'kind':14} {'texts':>6} {'alarms per 1,000':>22} {'false per 1,000':>22}   no depends yes unread  missed/read")
    for (half_of, kind), count in sorted(counts.items()):
        print(f"{half_of:12} {kind:14} {count['all']:6} {interval(count['alarm'], count['all']):>22} {interval(count['no'], count['all']):>22} "
              f"{count['no']:4} {count['depends']:7} {count['yes']:3} {count['unread']:6}  {count['missed']}/{count['silent read']}")
    agreed = sum(first == second for first, second in pairs) / len(pairs)
    chance = sum(sum(pair[0] == label for pair in pairs) * sum(pair[1] == label for pair in pairs) for label in LABELS) / len(pairs) ** 2
    print(f"{len(pairs)} texts read twice: agreement {agreed:.2f}, kappa {(agreed - chance) / (1 - chance):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("collect")
    step.add_argument("--from", required=True)
    step.add_argument("--to", required=True)
    step.set_defaults(step=collect)
    step = steps.add_parser("judge")
    step.add_argument("corpus")
    step.add_argument("--with", default="target/release/nrv gate --jsonl")
    step.add_argument("--into")
    step.set_defaults(step=judge)
    for name, function in (("sample", sample), ("table", table)):
        step = steps.add_parser(name)
        step.add_argument("corpus")
        step.add_argument("--from")
        step.add_argument("--labels", default=HERE / "gate_corpora.tsv")
        step.set_defaults(step=function)
    arguments = parser.parse_args()
    arguments.step(arguments, tomllib.loads((HERE / "gate_corpora.toml").read_text()))


if __name__ == "__main__":
    main()
