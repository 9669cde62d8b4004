//! Repairs of small trees in memory.

mod cases;
mod generators;
mod mdx;
mod sites;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    diagnosis,
    history::History,
    page::{self, Kind, Manner, Page},
    params::{Dialect, Params},
    repair::{Broken, Decision, Repairer},
    resolve::{Facts, Rules},
    rewrite::{self, Original},
    roots::Roots,
    site::Sites,
    tree::Tree,
};
use base::path::RepoPath;
use system::git::Trace;

/// A tree with the files' contents, the parameters and the moves that its history knows.
struct Case<'a> {
    files: BTreeMap<&'a str, &'a str>,
    params: Value,
    moves: Vec<(&'a str, &'a str)>,
}

/// The changed files, and each link that is left, with the reason and the candidates.
type Outcome = (BTreeMap<String, String>, Vec<String>);

impl<'a> Case<'a> {
    fn new(files: &[(&'a str, &'a str)]) -> Self {
        Case { files: files.iter().copied().collect(), params: json!({}), moves: Vec::new() }
    }

    fn params(mut self, params: Value) -> Self {
        self.params = params;
        self
    }

    fn moved(mut self, from: &'a str, to: &'a str) -> Self {
        self.moves.push((from, to));
        self
    }

    fn outcome(&self) -> Outcome {
        let params = Params::parse(&self.params).unwrap();
        let paths: Vec<RepoPath> = self.files.keys().map(|path| RepoPath::parse(path).unwrap()).collect();
        let tree = Tree::new(&paths, &[], &[]);
        let sites = self.sites();
        let read = |(path, text): (&&str, &&str)| {
            let manner = Manner::of(&params, &sites, path);
            Some(((*path).to_owned(), page::read(Kind::of(path)?, text.as_bytes(), manner, &|| Ok(())).unwrap()))
        };
        let pages: BTreeMap<String, Page> = self.files.iter().filter_map(read).collect();
        let look = |path: &str, lines: bool| {
            let page = pages.get(path).filter(|_| !lines);
            Ok(Arc::new(Facts {
                anchors: page.map(|page| page.anchors.clone()),
                doubt: page.and_then(|page| page.doubt.clone()),
                has_prefix: matches!(sites.scheme(path).dialect, Dialect::Github | Dialect::Gitlab),
                lines: Some(self.files[path].lines().count() as u64),
                has_own_address: page.is_some_and(|page| page.has_own_address),
            }))
        };
        let roots = Roots::new(&tree, &params.site_root, &|path| self.files.get(path).map(|text| (*text).to_owned()));
        let rules = Rules {
            tree: &tree,
            roots: &roots,
            params: &params,
            look: &look,
            on_disk: &|path| (path == "ignored.txt").then_some(false),
            covers: &|path| path.starts_with("made/"),
            has_moved: &|_| false,
            led: &|_, _| false,
            earlier: &|_, _| Ok(Arc::default()),
        };
        rules.check().unwrap();
        let mut history = History::default();
        self.moves.iter().for_each(|(from, to)| history.add(from, to, Trace::Rename));
        let repairer = Repairer { rules, history: &history };
        repairer.check_choices().unwrap();
        let (mut changed, mut left) = (BTreeMap::new(), Vec::new());
        for (path, page) in &pages {
            self.mend(&repairer, (path, page), (&mut changed, &mut left));
        }
        (changed, left)
    }

    /// The sites of the tree.
    fn sites(&self) -> Sites {
        let dialect = Params::parse(&self.params).unwrap().anchors;
        let paths: Vec<RepoPath> = self.files.keys().map(|path| RepoPath::parse(path).unwrap()).collect();
        let tree = Tree::new(&paths, &[], &[]);
        let read = |path: &str| Ok(self.files.get(path).map(|text| (*text).to_owned()));
        Sites::of(dialect, &tree, &read, &|| Ok(())).unwrap()
    }

    fn mend(
        &self,
        repairer: &Repairer<'_>,
        (path, page): (&str, &Page),
        (changed, left): (&mut BTreeMap<String, String>, &mut Vec<String>),
    ) {
        let bytes = self.files[path].as_bytes();
        left.extend(page.skipped.as_ref().map(|reason| format!("{path}: {reason}")));
        let mut fixes = Vec::new();
        for defect in diagnosis::defects(&repairer.rules, (path, page), &|| Ok(())).unwrap() {
            let reference = &page.links[defect.link].reference;
            let broken = Broken { file: path, reference, why: defect.why, target: defect.target.as_ref() };
            match repairer.decide(broken).unwrap() {
                Decision::Fix(fix) => fixes.push((defect.link, fix)),
                Decision::Open(..) if defect.is_allowed => {}
                Decision::Open(reason, candidates) => {
                    left.push(format!("{} ({}): {reason} {candidates:?}", reference.text(), defect.why.name()));
                }
            }
        }
        let original = Original { path, kind: Kind::of(path).unwrap(), bytes, page };
        let rewritten = rewrite::rewrite(&repairer.rules, original, &fixes, &|| Ok(())).unwrap();
        let unwritten = fixes.iter().filter(|(link, _)| !rewritten.written.contains(link));
        left.extend(unwritten.map(|(link, _)| format!("{} is not written", page.links[*link].reference.text())));
        changed.extend(rewritten.bytes.map(|bytes| (path.to_owned(), String::from_utf8(bytes).unwrap())));
    }

    /// The file becomes this text, and no link is left.
    #[track_caller]
    fn becomes(self, path: &str, text: &str) {
        let expected = BTreeMap::from([(path.to_owned(), text.to_owned())]);
        assert_eq!(self.outcome(), (expected, Vec::new()));
    }

    /// Nothing changes, and these links are left.
    #[track_caller]
    fn leaves(self, left: &[&str]) {
        let (changed, found) = self.outcome();
        assert_eq!((changed, found.iter().map(String::as_str).collect::<Vec<_>>()), (BTreeMap::new(), left.to_vec()));
    }
}

const FILES: &[(&str, &str)] = &[
    ("docs/guide.md", "# Getting started\n\n## Set up\n\n## Usage\n\n## Usage\n"),
    ("docs/a b.md", ""),
    ("docs/ü.md", ""),
    ("docs/x(1.md", ""),
    ("img/the_logo.svg", ""),
    ("src/lib.rs", "a\nb\n"),
];

/// A page beside those files.
#[track_caller]
fn page(text: &str, expected: &str) {
    let files: Vec<_> = FILES.iter().copied().chain([("a.md", text)]).collect();
    Case::new(&files).becomes("a.md", expected);
}

#[track_caller]
fn left(text: &str, left: &[&str]) {
    let files: Vec<_> = FILES.iter().copied().chain([("a.md", text)]).collect();
    Case::new(&files).leaves(left);
}

#[test]
fn links_that_are_right_stay() {
    left(
        "# A b\n[a](docs/guide.md) [b](docs/guide.md#usage-1) [c](<docs/a b.md>) [d](docs/a%20b.md?x=1) [e](docs) [f](docs/)\n\
         [g](#a-b) [h](#) [i](#top) [j](./docs/../img/the_logo.svg#x) [k](src/lib.rs#L1-L2) [l](#user-content-a-b) [m](#fn-1)\n\
         [n](http://x/y) [o](mailto:a@b) [p](//x/y) [q]({{ x }}) [r](/x) <https://x> `[s](gone.md)` [t](#%61-b)\n\n\
         ```\n[u](gone.md)\n```\n<!-- [v](gone.md) -->\n\n[w]: docs/guide.md 'T'\n",
        &[],
    );
}

#[test]
fn each_way_of_repair() {
    page("[a](docs/GUIDE.md#usage)", "[a](docs/guide.md#usage)");
    page("[a](docs/a%2520b.md)", "[a](docs/a%20b.md)");
    page("[a](docs\\\\guide.md)", "[a](docs/guide.md)");
    page("[a](gone/guide.md#set-up 'T')", "[a](docs/guide.md#set-up 'T')");
    page("[a](docs/guide.md?x=1#Usage-1)", "[a](docs/guide.md?x=1#usage-1)");
    page("[a](docs/guide.md#geting-started)", "[a](docs/guide.md#getting-started)");
    page("[a](docs/guide.md#setup)", "[a](docs/guide.md#set-up)");
    page("[a](gone/guide.md#Set-Up)", "[a](docs/guide.md#set-up)");
}

#[test]
fn destinations_are_written_as_their_place_needs() {
    page("[a](./gone/a%20b.md)", "[a](./docs/a%20b.md)");
    page("[a](<gone/a b.md> (T))", "[a](<docs/a b.md> (T))");
    page("[a](gone/ü.md) [b](gone/%C3%BC.md)", "[a](docs/ü.md) [b](docs/%C3%BC.md)");
    page("[a](gone/x\\(1.md)", "[a](docs/x%281.md)");
    page(
        "[r]: gone/guide.md#usage\n  'T'\n\n[x][r] [y]\n\n[y]: <gone/guide.md>",
        "[r]: docs/guide.md#usage\n  'T'\n\n[x][r] [y]\n\n[y]: <docs/guide.md>",
    );
    page("> [a\n> b](\n> gone/guide.md\n> 'T')", "> [a\n> b](\n> docs/guide.md\n> 'T')");
    page("| a |\n|---|\n| [a](gone/guide.md) |", "| a |\n|---|\n| [a](docs/guide.md) |");
    page(
        "<img src=gone/the_logo.svg alt=x><a href='gone/guide.md?a&amp;b'>x</a>",
        "<img src=img/the_logo.svg alt=x><a href='docs/guide.md?a&amp;b'>x</a>",
    );
    page("[![a](gone/the_logo.svg)](gone/guide.md)", "[![a](img/the_logo.svg)](docs/guide.md)");
}

#[test]
fn doubtful_links_are_listed() {
    left(
        "[a](docs/guide.md#nothing-like-it)",
        &["docs/guide.md#nothing-like-it (anchor): `docs/guide.md` has no such anchor []"],
    );
    left("[a](../x.md)", &["../x.md (outside): `../x.md` does not exist []"]);
    left("[a](src/lib.rs#L3)", &["src/lib.rs#L3 (line): `src/lib.rs` has fewer lines []"]);
    left("[a](ignored.txt)", &["ignored.txt (ignored): `ignored.txt` is not in Git []"]);
    Case::new(&[("a.md", "[x](n.md)"), ("b/n.md", ""), ("c/n.md", "")])
        .leaves(&["n.md (file): `n.md` does not exist [\"b/n.md\", \"c/n.md\"]"]);
    Case::new(&[("a.md", "[x](b/README.md)"), ("c/README.md", "")])
        .leaves(&["b/README.md (file): `b/README.md` does not exist [\"c/README.md\"]"]);
    Case::new(&[("a.md", "[x](B.md)"), ("b.md", ""), ("c/B.md", "")]).becomes("a.md", "[x](b.md)");
    Case::new(&[("a.md", "[x](gone/b.md#y)"), ("c/b.md", "# z")])
        .leaves(&["gone/b.md#y (file): `c/b.md` has no such anchor []"]);
}

#[test]
fn history_leads_to_moved_files() {
    let files = [("a.md", "[x](old/b.md#t)"), ("new/c.md", "# T"), ("z/b.md", "# T")];
    Case::new(&files).moved("old/b.md", "new/c.md").becomes("a.md", "[x](new/c.md#t)");
    Case::new(&[("a.md", "[y](old/)"), ("new/c.md", "")])
        .moved("old/b.md", "new/c.md")
        .leaves(&["old/ (file): `old` does not exist []"]);
    let files = [("a.md", "[x](old/b.md) [y](old/) [z](old)"), ("new/b.md", ""), ("new/c.md", "")];
    Case::new(&files)
        .moved("old/b.md", "new/b.md")
        .moved("old", "new")
        .becomes("a.md", "[x](new/b.md) [y](new/) [z](new)");
    let files = [("new/a.md", "[x](b.md) [y](#t)\n# T"), ("old/b.md", "")];
    Case::new(&files).moved("old/a.md", "new/a.md").becomes("new/a.md", "[x](../old/b.md) [y](#t)\n# T");
    // A page left its folder; two faults in one link.
    let files =
        [("a.md", "[x](old/#t) [y](old\\B.md?raw=1#T)"), ("old/z.md", ""), ("new/b.md", "# T"), ("new/r.md", "# T")];
    Case::new(&files)
        .moved("old/README.md", "new/r.md")
        .moved("old/b.md", "new/b.md")
        .becomes("a.md", "[x](new/r.md#t) [y](new/b.md?raw=1#t)");
    // A moved file's links may mean the old place or the new one.
    let files = [("new/a.md", "[x](k.md)"), ("old/k.md", ""), ("new/K.md", "")];
    Case::new(&files)
        .moved("old/a.md", "new/a.md")
        .leaves(&["k.md (file): `new/k.md` may mean 2 files [\"new/K.md\", \"old/k.md\"]"]);
    let files = [("a.md", "[x](old.md)"), ("b.md", ""), ("c.md", "")];
    Case::new(&files)
        .moved("old.md", "b.md")
        .moved("old.md", "c.md")
        .leaves(&["old.md (file): `old.md` may mean 2 files [\"b.md\", \"c.md\"]"]);
}

#[test]
fn parameters_decide() {
    let files = [
        ("a.md", "[x](/b) [y](/b/#t) [z](c.html) [w](/img/the_bee.png)"),
        ("docs/b.md", "# T"),
        ("c.md", ""),
        ("static/img/the_bee.png", ""),
    ];
    let params = json!({"site_root": ["docs", "static"], "extensions": ["md"], "html_from": ["md"]});
    Case::new(&files).params(params).leaves(&[]);
    let files = [
        ("a.md", "[x](/B) [y](/B/#t) [z](C.html) [w](/pic/the_bee.png)"),
        ("docs/b.md", "# T"),
        ("c.md", ""),
        ("static/img/the_bee.png", ""),
    ];
    let params = json!({"site_root": ["docs", "static"], "extensions": ["md"], "html_from": ["md"]});
    Case::new(&files).params(params).becomes("a.md", "[x](/b) [y](/b/#t) [z](c.html) [w](/img/the_bee.png)");
    let files = [("a.md", "[x](b) [y](c)"), ("b/index.md", ""), ("c/README.md", "")];
    Case::new(&files).params(json!({"index": ["index.md"]})).leaves(&["c (file): `c` does not exist []"]);
    let files = [("a.md", "[x](gone.md#t) [y](gone.md) [z](../../issues)"), ("b.md", "# T"), ("c.md", "")];
    let params = json!({"choose": {"gone.md": "c.md", "gone.md#t": "b.md#t"}, "allow_broken": ["../../*"]});
    Case::new(&files).params(params).becomes("a.md", "[x](b.md#t) [y](c.md) [z](../../issues)");
    let files = [("a.md", "[x](B.md)"), ("b.md", "")];
    Case::new(&files).params(json!({"repairs": ["moved"]})).leaves(&["B.md (file): `B.md` does not exist [\"b.md\"]"]);
    let files = [("a.md", "[x](gone.md) [y](b.md#h-x)"), ("b.md", "# h {#x}")];
    let params = json!({"allow_broken": [{"file": "a.*", "link": "gone.md"}], "anchors": "github"});
    Case::new(&files).params(params).leaves(&[]);
}

#[test]
fn each_dialect_has_its_anchors() {
    for (dialect, heading, anchor) in [
        ("github", "A  b -- c", "a--b----c"),
        ("gitlab", "A  b -- c", "a-b-c"),
        ("mdbook", "A  b -- c", "a--b--c"),
        ("hugo", "A  b -- c", "a--b--c"),
        ("docusaurus", "A ![b](b.png) c", "a-b-c"),
        ("github", "A ![b](b.png) c", "a--c"),
        ("mdbook", "A {#b}", "b"),
        ("hugo", "A {#b .c}", "b"),
        ("docusaurus", "A {#b}", "b"),
        ("docusaurus", "A {/* #b */}", "b"),
        ("github", "A {#b}", "a-b"),
        ("mdbook", "!", ""),
        ("vitepress", "1. A  b -- Ç", "_1-a-b-c"),
        ("vitepress", "A {#b .c}", "b"),
        ("mkdocs", "1. A  b -- Ç", "1-a-b-c"),
        ("mkdocs", "A {#b .c}", "b"),
        ("mkdocs", "!", "_1"),
        ("hugo", "!", "heading"),
        ("gitlab", "1.2", "anchor-12"),
        ("gitlab", "Wiki **(PREMIUM)**", "wiki"),
        ("github", "a² `c d`_e_", "a-c-de"),
        ("hugo", "é\u{301} Ⅷ", "é-"),
        ("github", "<b>A</b> &amp; [c](d.md)", "a--c"),
    ] {
        let text = format!("# {heading}\n[x](#{anchor})\n");
        let files = [("a.md", text.as_str()), ("b.png", ""), ("d.md", "")];
        Case::new(&files).params(json!({"anchors": dialect})).leaves(&[]);
    }
}

#[test]
fn pages_with_another_base_are_left_alone() {
    Case::new(&[("a.html", "<base href=/x><a href=gone.md>")])
        .outcome()
        .1
        .iter()
        .for_each(|left| assert!(left.contains("<base href>") || left.starts_with("gone.md"), "{left}"));
}
