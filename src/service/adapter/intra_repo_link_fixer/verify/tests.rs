//! Changes of every kind: right repairs pass, and each lie is caught by its check.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use serde_json::{Value, json};

use super::{super::params::Params, measure};
use crate::{
    Context,
    contract::{BaselineRecord, Counts, FileHash, Invocation, ManifestRecord, Setting},
    evidence::{Evidence, Images, Measured},
};
use base::{
    change::{Change, ChangeSet, Content},
    path::RepoPath,
};
use system::{
    git::{Renamed, Renames, Trace},
    workspace::{Overlay, View, Workspace},
};

/// A tree, a proposed change of it, and the counts that its proposer would record.
struct Case {
    files: BTreeMap<&'static str, String>,
    after: BTreeMap<&'static str, String>,
    params: Value,
    renamed: Vec<(&'static str, &'static str, Trace)>,
    lies: Vec<(&'static str, &'static str, u64)>,
    /// The reason that the history is not known as a whole.
    remark: Option<String>,
    /// The settings that its proposer would record.
    settings: Vec<Setting>,
}

fn case(files: &[(&'static str, &str)]) -> Case {
    let files: BTreeMap<&str, String> = files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
    let (renamed, lies, settings) = (Vec::new(), Vec::new(), Vec::new());
    Case { after: files.clone(), files, params: json!({}), renamed, lies, remark: None, settings }
}

impl Case {
    fn edit(mut self, path: &'static str, text: &str) -> Self {
        self.after.insert(path, text.to_owned());
        self
    }

    fn params(mut self, params: Value) -> Self {
        self.params = params;
        self
    }

    fn renamed(mut self, from: &'static str, to: &'static str) -> Self {
        self.renamed.push((from, to, Trace::Rename));
        self
    }

    fn shallow(mut self) -> Self {
        self.remark = Some("the repository is shallow".to_owned());
        self
    }

    /// Another number in the record: of `baseline` or `manifest`.
    fn lie(mut self, record: &'static str, name: &'static str, count: u64) -> Self {
        self.lies.push((record, name, count));
        self
    }

    fn measure(&self) -> Measured {
        let honest = self.measure_with(Counts::new(), Counts::new());
        let mut own = honest.clone();
        // The honest record: the counts of the tree before, and the repairs.
        own.counts.retain(|name, _| name.starts_with("repairs") || name == "files");
        let before = Case { after: self.files.clone(), ..case(&[]) };
        let settings = self.settings.clone();
        let before = Case { files: self.files.clone(), params: self.params.clone(), settings, ..before };
        let mut baseline = before.measure_with(Counts::new(), Counts::new()).counts;
        baseline.retain(|name, _| name != "files" && !name.starts_with("repairs"));
        let mut manifest = own.counts;
        for (record, name, count) in &self.lies {
            let counts = if *record == "baseline" { &mut baseline } else { &mut manifest };
            counts.insert((*name).to_owned(), *count);
        }
        self.measure_with(baseline, manifest)
    }

    #[expect(clippy::disallowed_methods, reason = "tests build trees")]
    fn measure_with(&self, baseline: Counts, manifest: Counts) -> Measured {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in &self.files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let workspace = Workspace::open(folder.path()).unwrap();
        let overlay = Overlay::default();
        let view = View::new(&workspace, &overlay);
        let input: Invocation = serde_json::from_value(json!({
            "tool": "intra_repo_link_fixer", "version": "1.0", "mode": "dry-run",
            "target": {"repo_path": ".", "glob": "**"}, "params": self.params,
            "constraints": {"max_files": 100, "timeout_ms": 60_000, "seed": 1},
        }))
        .unwrap();
        Params::parse(&input.params).unwrap();
        let path = |path: &str| RepoPath::parse(path).unwrap();
        let is_read = |name: &&&str| name.ends_with(".md") || name.ends_with(".html");
        let files = self
            .files
            .keys()
            .filter(is_read)
            .map(|name| FileHash { path: path(name), sha256: view.hash(&path(name)).unwrap().sha256 });
        let files: Vec<FileHash> = files.collect();
        let edited = self.after.iter().filter(|(name, text)| self.files.get(*name) != Some(text));
        let changes = edited.map(|(name, text)| Change {
            path: path(name),
            before: view.hash(&path(name)).ok(),
            after: Some(Content::new(text.clone().into_bytes(), 0o644)),
        });
        let changes = ChangeSet::new(changes.collect()).unwrap();
        let baseline = BaselineRecord {
            input: input.clone(),
            counts: baseline,
            files,
            skipped: Vec::new(),
            findings: Vec::new(),
            settings: self.settings.clone(),
            engine: None,
            adapter: None,
        };
        let tool = "intra_repo_link_fixer".to_owned();
        let manifest = ManifestRecord { tool, entries: changes.entries(), counts: manifest };
        let looks_at = vec!["**/*.md", "**/*.html"];
        let evidence = Evidence::new(looks_at, (&baseline, &manifest), Images::Proposed(&changes));
        let renamed = self.renamed.iter();
        let renamed: Vec<Renamed> =
            renamed.map(|(from, to, trace)| Renamed { from: path(from), to: path(to), trace: *trace }).collect();
        let renames = || Ok(Renames { renamed: renamed.clone(), remark: self.remark.clone(), ..Renames::default() });
        let cancel = AtomicBool::new(false);
        let ctx = Context { renames: &renames, ..Context::of_tree(view, 1, &cancel) };
        measure(&ctx, &input, &evidence).unwrap()
    }

    /// The only checks that fail, each once.
    #[track_caller]
    fn fails(&self, checks: &[&str]) {
        let measured = self.measure();
        let found: std::collections::BTreeSet<&str> =
            measured.failures.iter().map(|failure| failure.check.as_str()).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), checks, "{:#?}", measured.failures);
    }

    #[track_caller]
    fn repaired(&self, kind: &str) {
        self.fails(&[]);
        assert_eq!(self.measure().counts.get(&format!("repairs_{kind}")), Some(&1), "{kind}");
    }
}

#[test]
fn right_links_pass() {
    case(&[
        ("a.md", "# T\n[a](b/c.md#x-y) [d](b/) [e](<b/d e.md>) [f](b/d%20e.md?x#t) [g](#t) [h](src.rs#L1-L2) [i](http://x)\n"),
        ("b/c.md", "## X y\n[r][up]\n\n[up]: ../a.md#t\n"),
        ("b/d e.md", "# t\n<a href=../p.html#q>r</a>"),
        ("p.html", "<p id=q><a href='a.md#t'>x</a>"),
        ("src.rs", "fn main() {}\n"),
    ])
    .fails(&[]);
}

#[test]
fn broken_links_are_listed() {
    let tree = case(&[("a.md", "# T\n[a](b.md)\n[b](#u) [c](../x)\n")]);
    tree.fails(&["anchors_exist", "targets_exist"]);
    let measured = tree.measure();
    assert_eq!(measured.counts["links_broken_target"], 2);
    assert_eq!(measured.counts["links_broken_anchor"], 1);
    assert!(measured.failures.iter().any(|failure| failure.reason.starts_with("line 3: the anchor of `#u`")));
    let allow = json!({"allow_broken": ["b.md", "*#u", {"file": "a.*", "link": "../*"}]});
    case(&[("a.md", "# T\n[a](b.md)\n[b](#u) [c](../x)\n")]).params(allow).fails(&[]);
}

#[test]
fn repairs_are_counted_by_their_reason() {
    let edit = |from: &str, to: &str, files: &[(&'static str, &str)]| {
        case(&[&[("a.md", from)], files].concat()).edit("a.md", to)
    };
    edit("[x](b%2520c.md)", "[x](b%20c.md)", &[("b c.md", "")]).repaired("decoded");
    edit("[x](d\\e.md)", "[x](d/e.md)", &[("d/e.md", "")]).repaired("decoded");
    edit("[x](B.MD)", "[x](b.md)", &[("b.md", "")]).repaired("case");
    edit("[x](b.md)", "[x](c/d.md)", &[("c/d.md", "")]).renamed("b.md", "c/d.md").repaired("moved");
    edit("[x](../b.md)", "[x](e/b.md)", &[("e/b.md", "")]).renamed("e/f/a.md", "a.md").repaired("moved");
    edit("[x](old/)", "[x](new/)", &[("new/b.md", "")]).renamed("old", "new").repaired("moved");
    let mut content = edit("[x](b.md)", "[x](c.md)", &[("c.md", "")]);
    content.renamed.push(("b.md", "c.md", Trace::Content));
    content.repaired("content");
    edit("[x](b.md#t)", "[x](c/b.md#t)", &[("c/b.md", "# T")]).repaired("name");
    edit("[x](b.md#T)", "[x](b.md#t)", &[("b.md", "# T")]).repaired("case");
    edit("[x](b.md#instal)", "[x](b.md#install)", &[("b.md", "# Install")]).repaired("anchor");
    let chosen = edit("[x](b.md)", "[x](z.md#k)", &[("z.md", "# K")]);
    chosen.params(json!({"choose": {"b.md": "z.md#k"}})).repaired("chosen");
}

#[test]
fn a_site_has_rules_of_its_own() {
    let files = [
        ("docs/a.md", "[a](/b) [c](/d/) [e](f.html#g)"),
        ("docs/b.md", ""),
        ("docs/d/index.md", ""),
        ("docs/f.md", "# G"),
    ];
    let params = json!({"site_root": ["docs"], "extensions": ["md"], "html_from": ["md"], "index": ["index.md"]});
    case(&files).params(params).fails(&[]);
    case(&files).fails(&["targets_exist"]);
    case(&[("a.md", "[a](b/)"), ("b/c.md", "")]).params(json!({"index": ["index.md"]})).fails(&["targets_exist"]);
}

#[test]
fn a_site_that_was_missed_is_found() {
    case(&[("a.md", "[x](B.md) [y](B.md)"), ("b.md", "")])
        .edit("a.md", "[x](b.md) [y](B.md)")
        .fails(&["targets_exist"]);
    case(&[("a.md", "[x](B.md#t)"), ("b.md", "# T")])
        .edit("a.md", "[x](B.md#T)")
        .fails(&["anchors_exist", "repairs_explained", "targets_exist"][1..]);
}

#[test]
fn near_anchors_are_near() {
    let case = |old: &str, new: &str, page: &'static str| {
        let text = |anchor: &str| format!("[x](b.md#{anchor})");
        case(&[("a.md", &text(old)), ("b.md", page)]).edit("a.md", &text(new))
    };
    case("use-the-cli", "use-cli", "# Use CLI\n# Other").repaired("anchor");
    case("usage", "licence", "# Licence").fails(&["repairs_explained"]);
    case("step-1", "step-2", "# Step 2").fails(&["repairs_explained"]);
    case("instal", "instant", "# Install\n# Instant").fails(&["repairs_explained"]);
}

#[test]
fn headings_in_html_count() {
    let text = "<h2 align=\"center\">My <b>Tool</b> &amp; co</h2>\n\n[x](#my-tool--co)\n";
    case(&[("a.md", text)]).fails(&[]);
    case(&[("a.md", text)]).params(json!({"anchors": "mdbook"})).fails(&["anchors_exist"]);
}

#[test]
fn a_page_that_left_its_folder_is_found() {
    let files = [("a.md", "[x](b/#t)"), ("b/c.md", ""), ("d/e.md", "# T")];
    case(&files).edit("a.md", "[x](d/e.md#t)").renamed("b/README.md", "d/e.md").repaired("moved");
    case(&files).edit("a.md", "[x](d/e.md#t)").fails(&["repairs_explained"]);
}

#[test]
fn a_right_link_stays() {
    let files = [("a.md", "[x](b.md) [y](C.md)"), ("b.md", ""), ("c.md", "")];
    case(&files).edit("a.md", "[x](c.md) [y](c.md)").fails(&["good_links_kept"]);
    case(&[("a.md", "[x](http://x/) [y](C.md)"), ("c.md", "")])
        .edit("a.md", "[x](c.md) [y](c.md)")
        .fails(&["good_links_kept"]);
    let allowed = case(&[("a.md", "[x](B.md)"), ("b.md", "")]).params(json!({"allow_broken": ["B.md"]}));
    allowed.edit("a.md", "[x](b.md)").repaired("case");
}

#[test]
fn a_name_is_no_reason_beyond_a_documentation_or_in_a_shallow_clone() {
    let files = [("docs/a.md", "[x](gone/the_plan.md)"), ("docs/x/the_plan.md", "")];
    let near = || case(&files).edit("docs/a.md", "[x](x/the_plan.md)");
    near().repaired("name");
    near().shallow().fails(&["repairs_explained"]);
    let far = |folder: &'static str, to: &str| {
        let files = [("docs/de/a.md", "[x](gone/the_plan.md)"), (folder, "")];
        case(&files).edit("docs/de/a.md", &format!("[x]({to})"))
    };
    far("docs/de/x/the_plan.md", "x/the_plan.md").repaired("name");
    far("docs/en/the_plan.md", "../en/the_plan.md").fails(&["repairs_explained"]);
    far("src/the_plan.md", "../../src/the_plan.md").fails(&["repairs_explained"]);
    let moved = |from, to| far("docs/en/the_plan.md", "../en/the_plan.md").renamed(from, to);
    moved("docs/de/gone/the_plan.md", "docs/en/the_plan.md").fails(&["repairs_explained"]);
    let left = case(&[("docs/de/a.md", "[x](b/#t)"), ("docs/de/b/index.md", ""), ("docs/en/b.md", "# T")]);
    let left = left.edit("docs/de/a.md", "[x](../en/b.md#t)").renamed("docs/b/index.md", "docs/en/b.md");
    left.renamed("docs/a.md", "docs/de/a.md").fails(&["repairs_explained"]);
}

#[test]
fn a_target_that_another_copy_may_have_is_not_judged_and_its_link_stays() {
    let files = [(".gitignore", "dist/\n"), ("a.md", "[x](dist/b.md) [y](dist/b.md#z)"), ("docs/b.md", "")];
    case(&files).fails(&[]);
    assert_eq!(case(&files).measure().counts["links_unknown"], 2);
    case(&files).edit("a.md", "[x](docs/b.md) [y](dist/b.md#z)").fails(&["good_links_kept"]);
    let gone = [(".gitignore", "dist/\n"), ("a.md", "[x](old.md)")];
    case(&gone).renamed("old.md", "dist/b.md").edit("a.md", "[x](dist/b.md)").fails(&["repairs_explained"]);
    case(&files).lie("baseline", "links_unknown", 1).fails(&["counts_match"]);
}

#[test]
fn listed_links_stay_as_they_are() {
    let files = [("a.md", "[x](gone.md) [y](B.md) [z](b.md#u)"), ("b.md", "# T")];
    let list = || case(&files).params(json!({"unresolved": "list"}));
    list().fails(&[]);
    list().edit("a.md", "[x](gone.md) [y](b.md) [z](b.md#u)").repaired("case");
    list().edit("a.md", "[x](other.md) [y](b.md) [z](b.md#u)").fails(&["repairs_explained", "targets_exist"]);
    list().edit("a.md", "[x](gone.md) [y](b.md) [z](b.md#v)").fails(&["anchors_exist", "repairs_explained"]);
    assert_eq!(list().measure().counts["links_broken"], 3);
}

#[test]
fn a_guess_has_no_reason() {
    let files = [("a.md", "[x](gone.md)"), ("b.md", ""), ("c/d.md", ""), ("e/d.md", "")];
    case(&files).edit("a.md", "[x](b.md)").fails(&["repairs_explained"]);
    case(&[("a.md", "[x](d.md)"), ("c/d.md", ""), ("e/d.md", "")])
        .edit("a.md", "[x](c/d.md)")
        .fails(&["repairs_explained"]);
    let split = case(&files).edit("a.md", "[x](b.md)").renamed("gone.md", "b.md").renamed("gone.md", "c/d.md");
    split.fails(&["repairs_explained"]);
    case(&[("a.md", "[x](B.md#t)"), ("b.md", "# T")]).edit("a.md", "[x](b.md)").fails(&["repairs_explained"]);
    case(&[("a.md", "[x](B.md?q)"), ("b.md", "# T")]).edit("a.md", "[x](b.md)").fails(&["repairs_explained"]);
    case(&[("a.md", "[x](b.md#u)"), ("b.md", ""), ("c.md", "# U")])
        .edit("a.md", "[x](c.md#u)")
        .fails(&["repairs_explained"]);
}

#[test]
fn an_edit_outside_is_found() {
    let files = [("a.md", "[x](B.md) t\n\n[r]: B.md\n"), ("b.md", "")];
    case(&files).edit("a.md", "[x](b.md) t\n\n[r]: b.md\n").fails(&[]);
    for after in [
        "[x](b.md) u\n\n[r]: b.md\n",
        "[z](b.md) t\n\n[r]: b.md\n",
        "[x](b.md) t\n\n[r]: b.md",
        "[x](b.md 'n') t\n\n[r]: b.md\n",
        "[x](b.md) t \n\n[r]: b.md\n",
        "![x](b.md) t\n\n[r]: b.md\n",
    ] {
        case(&files).edit("a.md", after).fails(&["nothing_else_changed"]);
    }
    case(&files).edit("a.md", "[x](b.md) t\n\n[r]: b.md\n[s]: b.md\n").fails(&["counts_match", "nothing_else_changed"]);
    case(&files).edit("a.md", "t\n\n[r]: b.md\n").fails(&["counts_match", "nothing_else_changed"]);
}

#[test]
fn a_lying_record_is_found() {
    let honest = || case(&[("a.md", "[x](B.md) [y](#z)"), ("b.md", "")]).edit("a.md", "[x](b.md) [y](#z)");
    honest().fails(&["anchors_exist"]);
    for (record, name) in [
        ("baseline", "links_total"),
        ("baseline", "links_broken"),
        ("baseline", "links_broken_target"),
        ("baseline", "files_scanned"),
        ("manifest", "repairs"),
        ("manifest", "repairs_case"),
        ("manifest", "repairs_name"),
        ("manifest", "files"),
    ] {
        honest().lie(record, name, 7).fails(&["anchors_exist", "counts_match"]);
    }
}

#[test]
fn a_right_link_to_an_explicit_anchor_stays() {
    let text = |anchor: &str| format!("[m](#{anchor})\n\n## Calling {{#__call__}}\n\n## Call\n");
    for anchors in ["hugo", "mdbook"] {
        let page = text("__call__");
        let tree = || case(&[("a.md", page.as_str())]).params(json!({"anchors": anchors}));
        tree().fails(&[]);
        tree().edit("a.md", &text("call")).fails(&["good_links_kept"]);
    }
    // The anchor is in doubt, so it was not broken, and no other one is near for sure.
    for anchors in ["vitepress", "mkdocs"] {
        let page = text("__call__");
        let tree = case(&[("a.md", page.as_str())]).params(json!({"anchors": anchors}));
        assert_eq!(tree.measure().remarks, ["1 link leads to an anchor that is unknown"]);
        tree.edit("a.md", &text("call")).fails(&["good_links_kept"]);
    }
}

#[test]
fn a_new_anchor_is_known() {
    let files = [("a.md", "[x](B.md#use-case)"), ("b.md", "# Use <T> case\n")];
    let tree = || case(&files).params(json!({"anchors": "mkdocs"}));
    // The page is certain, and its anchor is in doubt as before.
    tree().edit("a.md", "[x](b.md#use-case)").repaired("case");
    tree().edit("a.md", "[x](b.md#use--case)").fails(&["repairs_explained"]);
    case(&[("a.md", "[x](old/b.md#use-case)"), files[1]])
        .params(json!({"anchors": "mkdocs"}))
        .edit("a.md", "[x](b.md#use-case)")
        .fails(&["anchors_exist"]);
    case(&files).edit("a.md", "[x](b.md#use--case)").fails(&[]);
}

#[test]
fn the_record_names_the_site_of_each_page() {
    let setting = |value: &str| Setting {
        name: "anchors".to_owned(),
        value: value.to_owned(),
        below: "docs".to_owned(),
        path: "mkdocs.yml".to_owned(),
        doubt: None,
    };
    let tree = |settings: &[Setting]| {
        let tree = case(&[("mkdocs.yml", "a: 1\n"), ("docs/a.md", "# \u{c4} b\n\n[x](#A-b)\n")]);
        Case { settings: settings.to_vec(), ..tree }.edit("docs/a.md", "# \u{c4} b\n\n[x](#a-b)\n")
    };
    tree(&[setting("mkdocs")]).repaired("case");
    tree(&[]).fails(&["counts_match"]);
    tree(&[setting("github")]).fails(&["counts_match"]);
    // The proposer took the rules of another generator.
    case(&[("mkdocs.yml", "a: 1\n"), ("docs/a.md", "# \u{c4} b\n\n[x](#\u{c4}-b)\n")])
        .edit("docs/a.md", "# \u{c4} b\n\n[x](#\u{e4}-b)\n")
        .fails(&["anchors_exist", "counts_match"]);
}
