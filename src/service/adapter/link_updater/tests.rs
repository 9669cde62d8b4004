//! Tests of the whole adapter: on disk, in several threads, and against damage of every kind.

mod agreement;
mod census;
mod formats;
mod hostile;
mod left;
mod link_text;
mod properties;
mod spellings;
mod tamper;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::atomic::AtomicBool};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    contract::{BaselineRecord, ManifestRecord},
    evidence::Images,
    parse,
    verify::{ArtifactRef, Contents, Report, Request, judge, verify},
};
use base::{error::Code, hash::Sha256};
use system::workspace::{Overlay, View, Workspace};

fn invocation(change: impl Fn(&mut Value)) -> Invocation {
    let mut input = json!({
        "tool": "link_updater", "version": "1.0", "mode": "apply", "target": {"repo_path": ".", "glob": "**/*"},
        "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"},
        "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 42},
    });
    change(&mut input);
    parse(&LinkUpdater, &input).unwrap()
}

fn propose_in(root: &Path, threads: usize, input: &Invocation) -> Result<Proposal, Error> {
    let (workspace, overlay) = (Workspace::open(root).unwrap(), Overlay::default());
    let cancel = AtomicBool::new(false);
    let view = View::new(&workspace, &overlay);
    LinkUpdater.propose(&Context::of_tree(view, threads, &cancel), input)
}

fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

const A: &[u8] = b"<a href=http://old.example.com/a>a</a>";
const B: &[u8] = b"<p><a href=//old.example.com/b?x>b</a><a href=c>";
const C: &[u8] = b"<p>nothing <a href=d>d</a>";

#[test]
fn the_proposal_counts_and_does_not_depend_on_threads() {
    let folder = tree(&[("a.html", A), ("s/b.htm", B), ("s/c.html", C), ("s/x.js", b"a"), ("u.html", b"\xff\xfe<\0")]);
    let proposal = propose_in(folder.path(), 1, &invocation(|_| {})).unwrap();
    let counts = json!({
        "files_scanned": 3, "files_skipped": 1, "files_ignored": 1, "links_total": 4, "links_to_update": 2,
        "files_html": 3, "links_html": 4, "updates_html": 2,
    });
    assert_eq!(serde_json::to_value(&proposal.baseline.counts).unwrap(), counts);
    assert_eq!(serde_json::to_value(&proposal.counts).unwrap(), json!({"files": 2, "link_updates": 2}));
    assert_eq!(proposal.baseline.skipped[0].reason, "it is UTF-16");
    for threads in [2, 7] {
        assert_eq!(propose_in(folder.path(), threads, &invocation(|_| {})).unwrap(), proposal);
    }
}

#[test]
fn limits_are_refused_with_the_way_out() {
    let folder = tree(&[("a.html", A), ("b.html", b"\0"), ("c.html", C)]);
    let refused = |change: fn(&mut Value)| propose_in(folder.path(), 1, &invocation(change)).unwrap_err();
    let error = refused(|input| input["constraints"]["max_files"] = json!(2));
    assert_eq!(error.code(), Code::InvalidInput);
    // The policy is the ceiling of the invocation, so that raising one of them may not do.
    assert_eq!(error.message(), "the glob matches 3 files, more than `constraints.max_files` or the policy allows (2)");
    let hint = error.hint_text().unwrap();
    assert!(hint.contains("`constraints.max_files`") && hint.contains("`[adapters.link_updater]`"), "{hint}");
    let error = refused(|input| input["params"]["on_skip"] = json!("error"));
    assert_eq!(
        (error.code(), error.message()),
        (Code::Unreadable, "`b.html` can't be read as its format: it is binary")
    );
}

#[test]
fn a_cancelled_run_stops() {
    let folder = tree(&[("a.html", A)]);
    let (workspace, overlay) = (Workspace::open(folder.path()).unwrap(), Overlay::default());
    let cancel = AtomicBool::new(true);
    let view = View::new(&workspace, &overlay);
    let ctx = Context::of_tree(view, 1, &cancel);
    assert_eq!(LinkUpdater.propose(&ctx, &invocation(|_| {})).unwrap_err().code(), Code::Cancelled);
}

#[test]
fn an_xhtml_page_that_html_would_misread_is_left_alone() {
    let page = b"<script src='x'/><a href='http://old.example.com/'/>";
    let folder = tree(&[("a.xhtml", page), ("b.xhtml", b"<a href='http://old.example.com/'/>")]);
    let proposal = propose_in(folder.path(), 1, &invocation(|_| {})).unwrap();
    assert_eq!((proposal.changes.len(), proposal.baseline.skipped.len()), (1, 1));
}

#[test]
fn the_example_site_is_moved_and_its_traps_stay() {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/site");
    let input = invocation(|_| {});
    let proposal = propose_in(&site, 2, &input).unwrap();
    let counts = json!({
        "files_scanned": 27, "files_skipped": 0, "files_ignored": 0, "links_total": 510, "links_to_update": 422,
        "files_html": 24, "links_html": 493, "updates_html": 406,
        "files_markdown": 1, "links_markdown": 3, "updates_markdown": 2,
        "files_css": 1, "links_css": 2, "updates_css": 2,
        "files_xml": 1, "links_xml": 12, "updates_xml": 12,
        "left_files": 15, "left_lines": 30,
    });
    assert_eq!(serde_json::to_value(&proposal.baseline.counts).unwrap(), counts);
    for change in proposal.changes.changes() {
        let text = |content: &base::change::Content| String::from_utf8_lossy(&content.bytes).into_owned();
        let before = fs::read(site.join(change.path.as_str())).unwrap();
        let (before, after) = (String::from_utf8_lossy(&before), text(change.after.as_ref().unwrap()));
        for kept in [
            "old.example.com:8080/",
            "http://old.example.com:443/",
            "http://old.example.com.mirror",
            "cloud-old.example.com",
            "/web/2023/http://old.example.com/",
            "?from=http://old.example.com/",
            "mailto:hello@old.example.com",
            "\"http://old.example.com/count?page=\"",
            "curl http://old.example.com",
            "<!-- The old banner: <a href=\"http://old.example.com/spring-sale\">",
            "data-note=\"http://old.example.com",
            "\"url\": \"http://old.example.com/docs/api.html\"",
            "title=\"\u{fffd}bersicht: http://old.example.com/\"",
        ] {
            assert_eq!(before.matches(kept).count(), after.matches(kept).count(), "{kept} in {}", change.path);
        }
        let after = after.replace("href=\"http://old.example.com/spring-sale", "");
        assert!(!after.contains("href=\"http://old.example.com/"), "{}", change.path);
    }
}

/// A run's record beside a tree with its change, or with a mere proposal.
struct Recorded {
    tree: tempfile::TempDir,
    run: tempfile::TempDir,
    request: Request,
}

impl Recorded {
    fn new(files: &[(&str, &[u8])], input: &Invocation, applied: bool) -> Self {
        let (tree, run) = (tree(files), tempfile::tempdir().unwrap());
        let proposal = propose_in(tree.path(), 2, input).unwrap();
        fs::create_dir(run.path().join("pre")).unwrap();
        let mut posts = Vec::new();
        for (n, change) in proposal.changes.changes().iter().enumerate() {
            let (file, after) = (tree.path().join(change.path.as_str()), &change.after.as_ref().unwrap().bytes);
            posts.extend_from_slice(after);
            if applied {
                fs::copy(&file, run.path().join(format!("pre/{n}"))).unwrap();
                fs::write(&file, &**after).unwrap();
            }
        }
        fs::write(run.path().join("posts"), posts).unwrap();
        let baseline = write(run.path(), "baseline.json", &proposal.baseline_record(input));
        let manifest = write(run.path(), "manifest.json", &proposal.manifest_record("link_updater"));
        let request = Request {
            tool: "link_updater".to_owned(),
            root: tree.path().to_owned(),
            run_folder: run.path().to_owned(),
            baseline,
            manifest,
            contents: match applied {
                true => Contents::Before(run.path().join("pre")),
                false => Contents::After(run.path().join("posts")),
            },
            overlay: Vec::new(),
            hidden: Vec::new(),
            is_later: false,
            threads: 2,
            source: None,
            path: String::new(),
        };
        Recorded { tree, run, request }
    }

    fn rewrite<T: serde::Serialize + serde::de::DeserializeOwned>(&mut self, name: &str, change: impl Fn(&mut T)) {
        let mut record = serde_json::from_slice(&fs::read(self.run.path().join(name)).unwrap()).unwrap();
        change(&mut record);
        let artifact = write(self.run.path(), name, &record);
        match name {
            "baseline.json" => self.request.baseline = artifact,
            _ => self.request.manifest = artifact,
        }
    }

    #[track_caller]
    fn fails(&self, check: &str, path: Option<&str>) {
        let report = verify(&LinkUpdater, &self.request);
        let hit = |failure: &crate::contract::Failure| failure.check == check && failure.path.as_deref() == path;
        assert!(!report.passed && report.failures.iter().any(hit), "{report:#?}");
    }
}

fn write(folder: &Path, name: &str, record: &impl serde::Serialize) -> ArtifactRef {
    let bytes = serde_json::to_vec(record).unwrap();
    fs::write(folder.join(name), &bytes).unwrap();
    ArtifactRef { path: name.to_owned(), sha256: Sha256::of(&bytes) }
}

fn recorded(applied: bool) -> Recorded {
    let files: &[(&str, &[u8])] = &[("a.html", A), ("b.html", B), ("c.html", C), ("d.html", b"\0"), ("e.js", b"")];
    Recorded::new(files, &invocation(|_| {}), applied)
}

#[test]
fn what_was_done_as_promised_passes() {
    for applied in [true, false] {
        let report = verify(&LinkUpdater, &recorded(applied).request);
        assert!(report.passed, "{report:#?}");
        let checks = [
            "baseline_intact",
            "manifest_intact",
            "hashes_match",
            "nothing_else_changed",
            "counts_match",
            "targets_match",
            "links_to_update_zero",
            "old_hosts_listed",
        ];
        assert_eq!(report.checks, checks);
        let counts = json!({
            "files": 2, "files_html": 3, "files_ignored": 1, "files_scanned": 3, "files_skipped": 1, "link_updates": 2,
            "links_html": 4, "links_in_changed_files": 3, "links_to_update": 0, "links_total": 4, "updates_html": 2,
        });
        assert_eq!(serde_json::to_value(&report.counts).unwrap(), counts);
    }
}

#[test]
fn a_tampered_record_fails() {
    let damaged = recorded(true);
    fs::write(damaged.run.path().join("baseline.json"), "{}").unwrap();
    damaged.fails("baseline_intact", Some("baseline.json"));
    let damaged = recorded(true);
    fs::remove_file(damaged.run.path().join("manifest.json")).unwrap();
    damaged.fails("manifest_intact", Some("manifest.json"));
    let damaged = recorded(true);
    fs::write(damaged.run.path().join("pre/0"), "<a href=x>").unwrap();
    damaged.fails("hashes_match", Some("a.html"));
    let damaged = recorded(false);
    fs::write(damaged.run.path().join("posts"), "<a").unwrap();
    damaged.fails("hashes_match", Some("b.html"));
}

#[test]
fn a_tampered_tree_fails() {
    let tampered = recorded(true);
    fs::write(tampered.tree.path().join("a.html"), A).unwrap();
    tampered.fails("hashes_match", Some("a.html"));
    tampered.fails("links_to_update_zero", Some("a.html"));
    let tampered = recorded(true);
    fs::set_permissions(tampered.tree.path().join("a.html"), fs::Permissions::from_mode(0o600)).unwrap();
    tampered.fails("hashes_match", Some("a.html"));
    let tampered = recorded(true);
    fs::write(tampered.tree.path().join("c.html"), "x").unwrap();
    tampered.fails("nothing_else_changed", Some("c.html"));
    let tampered = recorded(true);
    fs::write(tampered.tree.path().join("new.html"), "x").unwrap();
    tampered.fails("nothing_else_changed", Some("new.html"));
    let tampered = recorded(true);
    fs::remove_file(tampered.tree.path().join("d.html")).unwrap();
    tampered.fails("nothing_else_changed", Some("d.html"));
    let tampered = recorded(false);
    fs::write(tampered.tree.path().join("a.html"), "x").unwrap();
    tampered.fails("hashes_match", Some("a.html"));
}

#[test]
fn a_record_that_lies_consistently_fails() {
    let mut lying = recorded(true);
    lying.rewrite("manifest.json", |manifest: &mut ManifestRecord| {
        *manifest.counts.get_mut("link_updates").unwrap() = 3
    });
    lying.fails("counts_match", None);
    let mut lying = recorded(true);
    lying.rewrite("baseline.json", |baseline: &mut BaselineRecord| {
        *baseline.counts.get_mut("links_to_update").unwrap() = 1
    });
    lying.fails("counts_match", None);
    let mut lying = recorded(true);
    lying.rewrite("manifest.json", |manifest: &mut ManifestRecord| drop(manifest.entries.remove(0)));
    lying.fails("nothing_else_changed", Some("a.html"));
}

/// The change itself is wrong, and everything in the record agrees with it.
#[track_caller]
fn wrong_change(wrong: &str, check: &str) {
    let mut lying = recorded(true);
    fs::write(lying.tree.path().join("a.html"), wrong).unwrap();
    lying.rewrite("manifest.json", |manifest: &mut ManifestRecord| {
        let after = manifest.entries[0].after.as_mut().unwrap();
        (after.sha256, after.length) = (Sha256::of(wrong.as_bytes()), wrong.len() as u64);
    });
    lying.fails(check, Some("a.html"));
}

#[test]
fn a_wrong_change_fails() {
    wrong_change("<a href=https://new.example.com/b>a</a>", "targets_match");
    wrong_change("<a href=https://old.example.com/a>a</a>", "links_to_update_zero");
    wrong_change("<a href=https://new.example.com/a>b</a>", "nothing_else_changed");
    wrong_change("<a >a</a>", "counts_match");
}

#[test]
fn a_link_that_was_missed_fails() {
    let files: &[(&str, &[u8])] = &[("a.html", A), ("b.html", b"<p>")];
    let mut missed = Recorded::new(files, &invocation(|_| {}), true);
    let page = b"<a href='http:/\n/&#111ld.example.com'>";
    fs::write(missed.tree.path().join("b.html"), page).unwrap();
    missed.rewrite("baseline.json", |baseline: &mut BaselineRecord| baseline.files[1].sha256 = Sha256::of(page));
    missed.fails("links_to_update_zero", Some("b.html"));
}

#[test]
fn links_may_arrive_at_a_host_that_others_leave() {
    let input = invocation(|input| {
        input["params"] = json!({"moves": [
            {"from_hosts": ["a.example"], "to_host": "https://b.example"},
            {"from_hosts": ["b.example"], "to_host": "https://a.example"},
        ]});
    });
    let page: &[u8] = b"<a href=http://a.example/1><a href=https://b.example/2>";
    let swapped = Recorded::new(&[("p.html", page)], &input, true);
    assert_eq!(
        fs::read(swapped.tree.path().join("p.html")).unwrap(),
        b"<a href=https://b.example/1><a href=https://a.example/2>"
    );
    let report = verify(&LinkUpdater, &swapped.request);
    assert!(report.passed, "{report:#?}");
}

#[test]
fn a_request_that_can_not_be_read_fails() {
    let mut output = Vec::new();
    crate::verify::main(
        (&crate::Adapters::default(), &|_, _| panic!("nothing is made of a source")),
        &b"{}"[..],
        &mut output,
        |_| {},
    );
    let report: Report = serde_json::from_slice(&output).unwrap();
    assert!(!report.passed && report.failures[0].check == "request");
}

/// The moved page and the verifier's report.
fn in_memory(page: &[u8]) -> (Vec<u8>, Proposal, Report) {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, cancel) = (Workspace::open(folder.path()).unwrap(), AtomicBool::new(false));
    let mut overlay = Overlay::default();
    let path = base::path::RepoPath::parse("p.html").unwrap();
    overlay.insert(path, Some(base::change::Content::new(page.to_vec(), 0o644)));
    let view = View::new(&workspace, &overlay);
    let ctx = Context::of_tree(view, 1, &cancel);
    let input = invocation(|_| {});
    let proposal = LinkUpdater.propose(&ctx, &input).unwrap();
    let (baseline, manifest) = (proposal.baseline_record(&input), proposal.manifest_record("link_updater"));
    let looks_at = LinkUpdater.looks_at(&input);
    let evidence = Evidence::new(looks_at, (&baseline, &manifest), Images::Proposed(&proposal.changes));
    let report = judge(&ctx, &LinkUpdater, evidence).unwrap();
    let moved = proposal.changes.changes().first().and_then(|change| change.after.as_ref());
    (moved.map_or(page.to_vec(), |content| content.bytes.to_vec()), proposal, report)
}

/// Fragments that, in any order, make pages of the kind that confuse parsers.
const FRAGMENTS: &[&str] = &[
    "<a href=\"",
    "<a href='",
    "<a href=",
    "<img src=x srcset=\"",
    "<p title='",
    "<meta http-equiv=refresh content='0;url=",
    "<meta property=og:image content=\"",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<math>",
    "</math>",
    "<title>",
    "</title>",
    "<desc>",
    "</desc>",
    "<foreignObject>",
    "</foreignobject>",
    "<use xlink:href=",
    "<use href=\"",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<textarea>",
    "</textarea>",
    "<noscript>",
    "</noscript>",
    "<template>",
    "<iframe src=\"",
    "</iframe>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<!",
    "<?",
    "</",
    "<p>",
    "</p>",
    "<select>",
    "<script src=>",
    "<title a= >",
    "<xmp =>",
    "<style = >",
    "<option>",
    "<mi>",
    "</mi>",
    "<font size=1>",
    "http://old.example.com",
    "//old.example.com/x",
    "HTTPS://OLD.example.com:443/?a&amp;b",
    "http&#58;//old.example.com",
    "http://old.example.com.evil.org/",
    "http:/old.example.com",
    "http://u:p@old.example.com",
    "\u{fffd}é",
    ",",
    " 2x, ",
    "\"",
    "'",
    " ",
    "\n",
    "\r\n",
    "\t",
    "/",
    ">",
    "/>",
    "=",
    "<",
    "&",
    "&amp",
    "&copy=",
    ";",
    "a",
    "href=b",
    "(",
    ")",
    "\\\\old.example.com\\",
];

/// The two texts without their longest common head and tail.
fn difference<'a>(mut a: &'a [u8], mut b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    while let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_first(), b.split_first())
        && x == y
    {
        (a, b) = (rest_a, rest_b);
    }
    while let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_last(), b.split_last())
        && x == y
    {
        (a, b) = (rest_a, rest_b);
    }
    (a, b)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_parsers_agree_on_any_page(parts in proptest::collection::vec(proptest::sample::select(FRAGMENTS), 0..24)) {
        let page = parts.concat();
        let params = json!({"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"});
        let params = params::Params::parse(&params).unwrap();
        let Some((links, moved)) = propose::links_and_page_for_tests(Format::Html, page.as_bytes(), &params) else { return Ok(()) };
        let (seen, failures) = verify::links_and_failures_for_tests(page.as_bytes(), &moved, &params);
        // Only the verifier's parser makes one character of each line end.
        let unified = |links: Vec<String>| links.join("|").replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(unified(links), unified(seen), "{:?}", page);
        prop_assert!(failures.is_empty(), "{page:?} {failures:#?}");
        let (_, again) = propose::links_and_page_for_tests(Format::Html, &moved, &params).unwrap();
        prop_assert_eq!(again, moved, "a second pass changes nothing");
    }

    #[test]
    fn bytes_outside_origins_stay(text in "[ -~\\n\u{e9}]{0,30}", tail in "[/?#][ -!#-~]{0,10}", latin in any::<u8>()) {
        let head = [text.replace('<', " ").as_bytes(), &[latin.max(1) & 0xf7 | 0x80]].concat();
        let page = [&head[..], b"<a href=\"http://old.example.com", tail.as_bytes(), b"\">", &head].concat();
        let (moved, _, report) = in_memory(&page);
        prop_assert!(report.passed, "{:#?}", report.failures);
        let (old, new) = difference(&page, &moved);
        prop_assert_eq!((old, new), (&b"://old"[..], &b"s://new"[..]));
    }
}
