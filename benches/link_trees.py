#!/usr/bin/env python3
"""Judges `std:fix_links` by real documentation: copies of public trees are damaged, so that the right target of each link is known.

    cargo build --release && benches/link_trees.py run --from FOLDER [--trees httpx,vite] [--variants history,squashed]
    benches/link_trees.py table

`link_trees.toml` lists the trees. `FOLDER/OWNER+NAME/repo` has a clone of each. `run` seeds, fixes and judges one copy after the other, and deletes
it; `seed`, `fix` and `judge` are its steps, and leave the copy. The variants of a tree:

    unseeded    as it is
    history     files and folders moved, renamed, edited, swapped and deleted, and headings misspelt, in two commits
    squashed    the same without swaps, and without any history
    imported    as `squashed`, with one more commit on top
    absent      files moved, then a folder left out by a sparse checkout, and another one made a submodule that is not checked out

The rules of the judge are simpler than those of nrv, on purpose. It skips a link whose meaning it is not sure of, and lists the change of one as
`unjudged`. `half` is a right page with a fragment that the damage broke, `style` a right target in another form, such as a page for an
address, and `copy` another file with the content of a deleted one.
"""

import argparse
import hashlib
import json
import os
import posixpath
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

VARIANTS = ["unseeded", "history", "squashed", "imported", "absent"]
COLUMNS = ["trees", "one answer", "right", "copy", "half", "style", "missed", "wrong", "needless", "outside", "code", "unjudged", "stays", "elsewhere", "refused"]
PAGES = (".md", ".mdx", ".markdown")
UNSURE = ("", "")
# What each generator reads relative to the file, besides links to pages in Markdown: other files, paths without an extension, raw HTML.
RELATIVE = {"github": "other bare html", "sphinx": "other bare html", "mdbook": "other html", "vitepress": "other bare", "mkdocs": "other",
            "docusaurus": "other", "astro": "other", "hugo": ""}
LINK = re.compile(
    r"\]\([ \t]*(?P<inline><[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)(?=[ \t\n)])"
    r"|^[ >]{0,6}\[[^\]\n]+\]:[ \t]*(?:\n[ \t]+)?(?P<definition><[^<>\n]*>|\S+)"
    r"|\b(?:href|src)=(?:\"(?P<double>[^\"\n]*)\"|'(?P<single>[^'\n]*)')", re.M)
CODE = re.compile(
    r"\A---\n.*?^---$|^[ \t>*+-]*(?P<fence>```+|~~~+)[^\n]*\n.*?(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<comment><!--.*?-->|\{/\*.*?\*/\})|(?<!`)(?P<ticks>`+)(?!`)[^`](?:.(?!\n[ \t]*\n))*?(?<!`)(?P=ticks)(?!`)", re.M | re.S)
EXTERNAL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/\\]{2}|.*(?:\{\{|\{%|<%|\$\{|<\?|\\|&)|[{@%$]")
COMMON = re.compile(r"(readme|index|_index|summary|license|changelog)\.", re.I)
TONGUE = re.compile(r"v?\d+(\.\w+)*|version-.*|[a-z]{2}([-_][A-Za-z]{2,4})?")
SETTINGS = ["user.name=a", "user.email=a@b", "commit.gpgsign=false", "core.hooksPath=/dev/null", "core.autocrlf=false", "filter.lfs.smudge=",
            "filter.lfs.clean=", "filter.lfs.process=", "filter.lfs.required=false"]


def git(tree, *arguments, check=True):
    command = ["git", *(word for setting in SETTINGS for word in ("-c", setting)), *arguments]
    ran = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if check and ran.returncode != 0:
        raise SystemExit(f"error: {tree}: `git {' '.join(arguments)}` failed:\n{ran.stderr.decode(errors='replace')[-2000:]}")
    return ran.stdout.decode(errors="surrogateescape")


def read(tree, path):
    try:
        return (tree / path).read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return ""


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def links(text):
    """The places that may be links, in order; `code` is true where they are none."""
    masks, found = [match.span() for match in CODE.finditer(text)], []
    for match in LINK.finditer(text):
        start, end = match.span(match.lastgroup)
        if text[start:end].startswith("<"):
            start, end = start + 1, end - 1
        found.append(SimpleNamespace(start=start, end=end, dest=text[start:end], html=match.lastgroup in ("double", "single"),
                                     line=text.count("\n", 0, start) + 1, code=any(first <= start < last for first, last in masks),
                                     indented=text.startswith(("    ", "\t"), text.rfind("\n", 0, start) + 1)))
    return found


def skeleton(text):
    """A text without the destinations of its links."""
    ends = [0] + [link.end for link in links(text)]
    return [text[end:start] for end, start in zip(ends, [link.start for link in links(text)] + [len(text)])]


def headings(text):
    """The plain headings whose anchor occurs once, on which all generators agree, by anchor: their number and place."""
    masks = [match.span() for match in CODE.finditer(text) if not match["ticks"]]
    found = defaultdict(list)
    for number, match in enumerate(re.finditer(r"^#{1,6}[ \t]+(.*?)[ \t]*#*$", text, re.M)):
        if not any(first <= match.start() < last for first, last in masks):
            plain = re.fullmatch(r"[A-Za-z]+(?: [A-Za-z0-9]+)*", match[1])
            found[re.sub(r"[^a-z0-9]+", "-", match[1].lower()).strip("-")].append((number, match.span(1)) if plain else None)
    return {slug: places[0] for slug, places in found.items() if len(places) == 1 and places[0]}


class Site:
    """The files of a tree, and where its links lead."""

    def __init__(self, entry, tree):
        self.entry, self.tree, self.folders, self.anchors = entry, tree, {"."}, {}
        names = [name for name in git(tree, "ls-files", "-z").split("\0") if name]
        self.files = {name for name in names if os.path.isfile(tree / name) and os.path.realpath(tree / name) == str(tree.resolve() / name)}
        self.lower = {file.lower(): file for file in sorted(self.files)} if entry.generator in ("hugo", "astro") else {}  # as addresses are
        for file in self.files:
            while (file := posixpath.dirname(file)) and file not in self.folders:
                self.folders.add(file)

    def in_scope(self, path):
        return not self.entry.folders or path.startswith(tuple(self.entry.folders))

    def heading(self, page, fragment):
        """The number of the heading that a fragment means, if that is certain."""
        if page not in self.anchors:
            self.anchors[page] = headings(read(self.tree, page)) if page.endswith(PAGES) else {}
        return self.anchors[page].get(fragment, [None])[0]

    def resolve(self, source, link):
        """The target and the fragment of a link, `None` if nothing is there, or `UNSURE`."""
        path, _, fragment = link.dest.partition("#")
        path = unquote(path.partition("?")[0])
        if not link.dest or EXTERNAL.match(link.dest) or link.code or not path and not fragment:
            return UNSURE
        if not path:
            return source, fragment
        bases = self.entry.site_root if path.startswith("/") else [posixpath.dirname(source)] if self.is_relative(source, path, link.html) else []
        for base in bases:
            target = self.find(posixpath.normpath(posixpath.join(base, path.lstrip("/"))), path.endswith("/"))
            if target:
                return (target, fragment) if target != "?" else UNSURE
        return None if bases else UNSURE

    def is_relative(self, source, path, html):
        extension = posixpath.splitext(path.rstrip("/"))[1]
        if not html and (extension in PAGES or extension == ".html" and self.entry.html_from):
            return True
        kind = "html" if html else "other" if re.fullmatch(r"\.[A-Za-z]\w{1,5}", extension) and extension != ".html" else "bare"
        if self.entry.generator == "hugo" and kind == "other":
            return posixpath.basename(source) in ("index.md", "_index.md") and not path.startswith("..")
        return kind in RELATIVE[self.entry.generator].split()

    def find(self, path, slash):
        """A file, a folder with `/` at its end, `?` if that depends, or nothing."""
        if path in self.files and not slash:
            return path
        indexes = [posixpath.join(path, name) for name in self.entry.index]
        pages = [f"{path}.{end}" for end in self.entry.extensions]
        sources = [path[:-4] + end for end in self.entry.html_from if path.endswith(".html")]
        if path in self.folders and not indexes:
            return path + "/" if self.entry.generator in ("github", "sphinx") else "?"
        return next((self.lower.get(file.lower(), file) for file in indexes + pages + sources if file in self.files or file.lower() in self.lower), None)

    def links(self):
        """Each link that leads to something, with its place among those of its page."""
        found = []
        for page in sorted(file for file in self.files if file.endswith(PAGES) and self.in_scope(file) and ".test/" not in file):
            for at, link in enumerate(links(read(self.tree, page))):
                target, fragment = self.resolve(page, link) or UNSURE
                if target:
                    found.append({"page": page, "at": at, "dest": link.dest, "target": target, "fragment": fragment,
                                  "heading": self.heading(target, fragment)})
        return found


class Damage:
    """Damage of a tree, with the new place of each old file: `None` if it is gone."""

    def __init__(self, site, known, rng):
        self.tree, self.site, self.known, self.rng = site.tree, site, known, rng
        self.now, self.kinds, self.headings, self.digests, self.taken = {}, {}, {}, {}, set(site.files)
        self.homes = sorted({posixpath.dirname(file) for file in site.files if file.endswith(PAGES) and site.in_scope(file)})
        self.free = sorted({link["target"] for link in known if link["target"] != link["page"] and link["target"] in site.files
                            and site.in_scope(link["target"]) and not COMMON.match(posixpath.basename(link["target"]))})
        rng.shuffle(self.free)
        self.each = max(2, min(12, len(self.free) // 12))

    def take(self, count=None):
        taken, self.free = self.free[:count or self.each], self.free[count or self.each:]
        return taken

    def move(self, old, new, kind):
        """Moves a file from where it is now, unless the new place is taken, or is the address of a folder."""
        at = self.now.get(old, old)
        if new in self.taken or posixpath.splitext(new)[0] in self.site.folders or (self.tree / new).exists():
            return False
        (self.tree / new).parent.mkdir(parents=True, exist_ok=True)
        os.rename(self.tree / at, self.tree / new)
        self.taken.add(new)
        self.now[old], self.kinds[old] = new, self.kinds.get(old, kind)
        return True

    def away(self, file, kind):
        """Moves a file to another folder of pages in the same language and version."""
        def marks(folder):
            return [folder.split("/")[0]] + [part for part in folder.split("/") if TONGUE.fullmatch(part)]
        here, name = posixpath.split(self.now.get(file, file))
        homes = [home for home in self.homes if home != here and marks(home) == marks(here)]
        return self.move(file, posixpath.join(self.rng.choice(homes) if homes else posixpath.join(here, "more"), name), kind)

    def rename(self, file, words, kind):
        stem, end = posixpath.splitext(self.now.get(file, file))
        return self.move(file, f"{stem}-{self.rng.choice(words)}{end}", kind)

    def folder(self):
        """Renames a folder, or moves it below another one."""
        kept = {folder.rstrip("/") for folder in self.site.entry.folders + self.site.entry.site_root}
        folders = [folder for folder in sorted({posixpath.dirname(file) for file in self.free}) if "/" in folder and folder not in kept
                   and not TONGUE.fullmatch(posixpath.basename(folder)) and self.site.in_scope(folder + "/")]
        self.rng.shuffle(folders)
        for folder in folders:
            inside = sorted(file for file in self.site.files if file.startswith(folder + "/"))
            used = set(inside) & set(self.kinds) or any((new or "").startswith(folder + "/") for new in self.now.values())
            parent, name = posixpath.split(folder)
            goal = self.rng.choice([posixpath.join(parent, name + "-pages"), posixpath.join(parent, "archive", name)])
            if 2 <= len(inside) <= 60 and not used and goal not in self.site.folders:
                for file in inside:
                    self.move(file, goal + file[len(folder):], "folder")
                self.now[folder + "/"], self.kinds[folder + "/"] = goal + "/", "folder"
                self.free = [file for file in self.free if file not in inside]
                return

    def misspell(self):
        """Doubles or drops a letter of headings that links lead to."""
        wanted = defaultdict(set)
        for link in self.known:
            if link["heading"] is not None:
                wanted[link["target"]].add(link["heading"])
        for target in self.rng.sample(sorted(wanted), min(self.each * 2, len(wanted))):
            place = self.now.get(target, target) or target
            text, number = read(self.tree, place), self.rng.choice(sorted(wanted[target]))
            spans = [span for at, span in headings(text).values() if at == number]
            words = [word.start() for span in spans for word in re.finditer(r"[A-Za-z]{6,}", text[:span[1]]) if word.start() >= span[0]]
            if words:
                at = self.rng.choice(words) + self.rng.randint(2, 4)
                changed = text[:at] + self.rng.choice(["", text[at] * 2]) + text[at + 1:]
                if number in [at for at, _ in headings(changed).values()]:
                    (self.tree / place).write_bytes(changed.encode())
                    self.headings[target] = number

    def commit(self):
        git(self.tree, "add", "-A", "-f", ".")
        git(self.tree, "commit", "-q", "--no-verify", "--allow-empty", "-m", "Move pages")

    def everything(self, swap):
        names = Counter(posixpath.basename(file).lower() for file in self.site.files)
        self.free.sort(key=lambda file: names[posixpath.basename(file).lower()] == 1)
        for file in self.take():  # at first those whose name another file has
            self.digests[file] = digest(self.tree / file)
            os.remove(self.tree / file)
            self.now[file], self.kinds[file] = None, "deleted"
        self.rng.shuffle(self.free)
        for _ in range(min(3, 1 + self.each // 4)):
            self.folder()
        for file in self.take():
            self.away(file, "moved")
        for file in self.take():
            self.rename(file, ["guide", "notes", "basics"], "renamed")
        if self.site.entry.generator not in ("hugo", "astro"):  # which read addresses in any case
            for folder, name in map(posixpath.split, self.take(2)):
                self.move(posixpath.join(folder, name), posixpath.join(folder, name[0].swapcase() + name[1:]), "case")
        pair = self.take(2)
        if swap and len({posixpath.splitext(file)[1] for file in pair}) == 1 and len(pair) == 2:
            first, second = [self.tree / file for file in pair]
            texts = first.read_bytes(), second.read_bytes()
            first.write_bytes(texts[1])
            second.write_bytes(texts[0])
            self.now |= {pair[0]: pair[1], pair[1]: pair[0]}
            self.kinds |= {file: "swapped" for file in pair}
        for file in self.take():
            if file.endswith(PAGES) and self.away(file, "edited"):
                with open(self.tree / self.now[file], "a") as out:
                    out.write("\n\nMore words about the same thing.\n" * max(1, len(read(self.tree, self.now[file])) // 400))
        twice = [file for file in self.take() if self.away(file, "twice")]
        self.misspell()
        self.commit()
        for file in twice:
            self.rename(file, ["again"], "twice")
        self.commit()

    def absent(self):
        """Moves files, and takes two folders away without deleting them."""
        for file in self.take(self.each * 2):
            self.away(file, "moved")
        self.commit()
        kept = [folder.rstrip("/") for folder in self.site.entry.folders + self.site.entry.site_root]
        places = {self.now.get(link["target"], link["target"]) for link in self.known}
        folders = [folder for folder in sorted({posixpath.dirname(place.rstrip("/")) for place in places}) if folder and folder not in kept
                   and self.site.in_scope(folder + "/") and sum(file.startswith(folder + "/") for file in self.taken) <= max(3, len(self.site.files) // 4)]
        gone = self.rng.sample(folders, min(1, len(folders)))
        others = [folder for folder in folders if not (folder + "/").startswith(gone[0] + "/") and not (gone[0] + "/").startswith(folder + "/")]
        if others:
            gone.append(self.rng.choice(others))
            git(self.tree, "rm", "-q", "-r", "-f", "--cached", gone[1])
            shutil.rmtree(self.tree / gone[1])
            (self.tree / gone[1]).mkdir()
            git(self.tree, "update-index", "--add", "--cacheinfo", f"160000,{git(self.tree, 'rev-parse', 'HEAD').strip()},{gone[1]}")
            with open(self.tree / ".gitmodules", "a") as out:
                out.write(f'[submodule "absent"]\n\tpath = {gone[1]}\n\turl = ../absent.git\n')
            git(self.tree, "add", ".gitmodules")
            git(self.tree, "commit", "-q", "--no-verify", "-m", "Make a folder a submodule")
        if gone:
            git(self.tree, "sparse-checkout", "set", "--no-cone", "/*", f"!/{gone[0]}/")
        return gone


def shorten(base, commits):
    """Keeps so many commits of the first parent, as a history of its own."""
    kept = git(base, "log", "--first-parent", f"-{commits}", "--format=%T", "HEAD").split()
    head = []
    for tree in reversed(kept):
        head = ["-p", git(base, "commit-tree", tree, *head, "-m", "Change pages").strip()]
    git(base, "update-ref", "HEAD", head[1])


def seed(entry, variant, options):
    """A damaged copy with its truth beside it."""
    folder = options.work / entry.name / variant
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree, base = folder / "tree", options.work / entry.name / "base"
    if not base.exists():
        git(base.parent, "clone", "-q", "--bare", "--no-hardlinks", str(options.source / entry.github.replace("/", "+") / "repo"), "base")
        shorten(base, options.commits)
    git(folder, "clone", "-q", "--no-checkout", str(base), "tree")
    git(tree, "checkout", "-q", "-f", "HEAD", check=False)
    site = Site(entry, tree)
    known = site.links()
    damage = Damage(site, known, random.Random(f"{entry.name} {'absent' if variant == 'absent' else 'all'} {options.seed}"))
    damage.commit()  # of what the clone lacks
    gone = damage.absent() if variant == "absent" else []
    if variant in ("history", "squashed", "imported"):
        damage.everything(variant == "history")
    if variant in ("squashed", "imported"):
        shutil.rmtree(tree / ".git")
        git(tree, "init", "-q")
        damage.commit()
    if variant == "imported":
        (tree / "NEWS.txt").write_text("Nothing new.\n")
        damage.commit()
    (tree / ".git/info/exclude").write_text(".runs\n")
    (folder / "truth.json").write_text(json.dumps({"links": known, "now": damage.now, "kinds": damage.kinds, "headings": damage.headings,
                                                   "digests": damage.digests, "gone": gone}))


def fix(entry, variant, options):
    """A run of nrv in a copy, with what it listed."""
    folder = options.work / entry.name / variant
    lists = {"glob": [scope + "**/*.{md,markdown,mdx,html,htm}" for scope in entry.folders], "site_root": entry.site_root,
             "extensions": entry.extensions, "index": entry.index, "html_from": entry.html_from}
    command = [str(options.nrv), "run", "std:fix_links", "--yes", "--arg", "unresolved=list"]
    command += [word for name, values in lists.items() if values for word in ("--arg", f"{name}={json.dumps(values)}")]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder / "tree", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        told, code = process.communicate(timeout=options.limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        process.terminate()
        told, code = process.communicate()[0], "time limit"
    baselines = [json.loads(path.read_text()) for path in (folder / "tree/.runs").glob("*/dta/*/*-baseline.json")]
    (folder / "run.json").write_text(json.dumps({"command": command, "exit": code, "seconds": round(time.monotonic() - began, 1),
                                                 "said": told.decode(errors="replace"), "baseline": baselines[0] if baselines else {}}))


class Verdict:
    """What a run did with each link, by the truth of the copy."""

    def __init__(self, entry, variant, folder):
        self.entry, self.variant, self.tree = entry, variant, folder / "tree"
        self.truth, self.ran = [json.loads((folder / name).read_text()) for name in ("truth.json", "run.json")]
        self.now, self.site, self.counts, self.entries = self.truth["now"], Site(entry, self.tree), Counter(), []
        self.names = Counter(posixpath.basename(file).lower() for file in self.site.files)
        self.skipped = {one["path"]: one | {"kind": "not read"} for one in self.ran["baseline"].get("skipped", [])}
        self.listed = {(one["path"], one.get("line"), one.get("place")): one for one in self.ran["baseline"].get("findings", [])}

    def leads(self, found, link):
        """Whether a link leads where the original one led."""
        if not found or found[0] != link["want"]:
            return False
        return found[1] == link["fragment"] if link["heading"] is None else self.site.heading(*found) == link["heading"]

    def gone(self, path):
        return any(path.startswith(folder + "/") for folder in self.truth["gone"])

    def one_answer(self, link, found):
        """Whether the copy tells the right target."""
        target, want = link["target"], link["want"]
        if want is None or link["fragment"] and link["heading"] is None or self.gone(want) or self.gone(target):
            return False
        name = posixpath.basename(want.rstrip("/"))
        only = name == posixpath.basename(target.rstrip("/")) and self.names[name.lower()] == 1 and not COMMON.match(name)
        return bool(self.variant not in ("squashed", "imported") or found or only)

    def kind(self, link):
        kinds, page = self.truth["kinds"], self.truth["kinds"].get(link["page"], "swapped")
        misspelt = self.truth["headings"].get(link["target"]) == link["heading"] is not None
        return " + ".join([kinds.get(link["target"], "page stays")] + ["heading"] * misspelt + ["in a moved page"] * (page != "swapped"))

    def verdict(self, page, old, new, link):
        """A word for what became of a link, with its reason if nrv listed it."""
        if link is None:
            return "" if old.dest == new.dest else "code" if old.code else "unjudged"
        same, found, after = old.dest == new.dest, self.site.resolve(page, old), self.site.resolve(page, new)
        sound, right, there = self.leads(found, link), self.leads(after, link), bool(after) and after[0] == link["want"]
        unsure = after == UNSURE or there and link["heading"] is None and after[1] != link["fragment"]
        if sound:
            return "" if same else "needless" if right else "unjudged" if unsure else "wrong"
        one = self.one_answer(link, found)
        if not same:
            paths = [dest.partition("#")[0].partition("?") for dest in (old.dest, new.dest)]
            bare = "." not in posixpath.basename(paths[0][0]) and (paths[1][0].endswith(PAGES) or self.site.lower and paths[1][0] != paths[1][0].lower())
            self.counts["one answer"] += one or right
            if right and not self.gone(link["want"]):
                return "style" if bare or paths[0][2] != paths[1][2] else "right"
            if after and after[0] in self.site.files and digest(self.tree / after[0]) == self.truth["digests"].get(link["target"]):
                return "copy"
            return "half" if there and after[1] == link["fragment"] else "unjudged" if unsure else "wrong"
        listed = self.listed.get((page, old.line, old.dest)) or self.skipped.get(page) or {"kind": "unlisted, indented" if old.indented else "unlisted"}
        link["listed"] = re.sub(r"`[^`]*`", "`…`", f"{listed['kind']}: {listed.get('reason', '')}; {len(listed.get('candidates', []))} candidates")
        if found and found != UNSURE and found[0] != link["want"]:
            return "elsewhere"
        self.counts["one answer"] += one
        return "missed" if one else "stays"

    def judge(self):
        known, before = defaultdict(dict), {new: old for old, new in self.now.items() if new}
        for link in self.truth["links"]:
            known[link["page"]][link["at"]] = link | {"want": self.now.get(link["target"], link["target"]), "kind": self.kind(link)}
        changed = {name for name in git(self.tree, "diff", "--name-only", "-z", "HEAD").split("\0") if name}
        for page in sorted(self.site.files & (changed | {self.now.get(page, page) for page in known})):
            after = before_text = read(self.tree, page)
            if page in changed:
                before_text = git(self.tree, "show", f"HEAD:{page}").encode(errors="surrogateescape").decode(errors="replace")
                self.counts["outside"] += skeleton(before_text) != skeleton(after)
            for at, (old, new) in enumerate(zip(links(before_text), links(after))):
                link = known[before.get(page, page)].get(at)
                word = self.verdict(page, old, new, link if link and link["dest"] == old.dest else None)
                self.counts[word or ("intact" if link else "not judged")] += 1
                if word:
                    self.entries.append({"verdict": word, "place": f"{page}:{old.line}", "before": old.dest, "after": new.dest} | (link or {}))
        self.counts["refused"] += self.ran["exit"] != 0


def judge(entry, variant, options):
    folder, results = options.work / entry.name / variant, options.work / "results"
    verdict = Verdict(entry, variant, folder)
    verdict.judge()
    results.mkdir(exist_ok=True)
    kept = {"name": entry.name, "generator": entry.generator, "variant": variant, "counts": verdict.counts, "entries": verdict.entries}
    (results / f"{entry.name}.{variant}.json").write_text(json.dumps(kept | verdict.ran, indent=1))
    (results / f"{entry.name}.{variant}.diff").write_text(git(folder / "tree", "diff", "HEAD"), errors="surrogateescape")
    counts = ", ".join(f"{count} {name}" for name, count in sorted(verdict.counts.items()) if count)
    print(f"{entry.name} {variant}: exit {verdict.ran['exit']}, {verdict.ran['seconds']} s: {counts}", flush=True)


def table(options):
    """Results by generator and variant."""
    rows = defaultdict(Counter)
    for path in sorted((options.work / "results").glob("*.json")):
        result = json.loads(path.read_text())
        for generator in (result["generator"], "total"):
            rows[generator, result["variant"]].update(result["counts"] | {"trees": 1})
    print(f"| generator | variant | {' | '.join(COLUMNS)} | done |\n{'|---' * (len(COLUMNS) + 3)}|")
    for (generator, variant), row in sorted(rows.items()):
        done = f"{100 * (row['right'] + row['style']) / row['one answer']:.1f} %" if row["one answer"] else "–"
        print(f"| {generator} | {variant} | {' | '.join(str(row[name]) for name in COLUMNS)} | {done} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["seed", "fix", "judge", "run", "table"])
    parser.add_argument("--from", dest="source", type=Path, help="folder of clones")
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/nrv-bench/link-trees")
    parser.add_argument("--trees", type=lambda text: text.split(","), default=[])
    parser.add_argument("--variants", type=lambda text: text.split(","), default=VARIANTS)
    parser.add_argument("--nrv", type=Path, default=Path(__file__).resolve().parent.parent / "target/release/nrv")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a run of nrv")
    parser.add_argument("--commits", type=int, default=300, help="length of the history that a copy keeps, by the first parent")
    parser.add_argument("--seed", default="1", help="another damage")
    options = parser.parse_args()
    if options.command == "table":
        return table(options)
    none = {"folders": [], "site_root": [], "extensions": [], "index": [], "html_from": []}
    for entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["trees"]:
        entry = SimpleNamespace(**none | {"name": entry["github"].partition("/")[2]} | entry)
        for variant in options.variants if not options.trees or entry.name in options.trees else []:
            for step in [seed, fix, judge] if options.command == "run" else [globals()[options.command]]:
                step(entry, variant, options)
        if options.command == "run":
            shutil.rmtree(options.work / entry.name, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
