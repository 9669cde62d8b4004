//! On any bytes, in each format, the proposer does not panic, and the verifier's own parser agrees with it.
#![cfg_attr(fuzzing, no_main)]

use std::sync::atomic::AtomicBool;

use nrv::{
    Adapter,
    adapter::{
        self,
        evidence::{Evidence, Images},
    },
    base::{change::Content, path::RepoPath},
    system::workspace::{Overlay, View, Workspace},
};
use nrv_fuzz::fuzz_target;
use serde_json::json;

/// The first byte of an input chooses the format of the rest.
const NAMES: &[&str] = &["f.html", "f.md", "f.css", "f.xml", "f.svg", "f.txt", "f.json", "f.xhtml"];

fuzz_target!(|input: &[u8]| {
    let Some((format, file)) = input.split_first() else { return };
    let name = NAMES[usize::from(*format) % NAMES.len()];
    let empty = std::env::temp_dir().join("nrv-fuzz-empty");
    std::fs::create_dir_all(&empty).expect("a temporary folder can be made");
    let workspace = Workspace::open(&empty).expect("it was just made");
    let mut overlay = Overlay::new();
    overlay.insert(RepoPath::parse(name).expect("a plain name"), Some(Content::new(file.to_vec(), 0o644)));
    let cancel = AtomicBool::new(false);
    let ctx = adapter::Context::of_tree(View::new(&workspace, &overlay), 1, &cancel);
    let input = json!({
        "tool": "link_updater", "version": "1.0", "mode": "dry-run",
        "target": {"repo_path": ".", "glob": "*"},
        "params": {"from_hosts": ["a.b", "http://c:81"], "to_host": "https://d.e/f", "include": ["json", "json_ld"]},
        "constraints": {"max_files": 10, "timeout_ms": 100_000, "seed": 0},
    });
    let links = &adapter::link_updater::LinkUpdater;
    let input = adapter::parse(links, &input).expect("it fits the schema");
    let proposal = links.propose(&ctx, &input).expect("every file can be proposed for");
    let (baseline, manifest) = (proposal.baseline_record(&input), proposal.manifest_record("link_updater"));
    let looks_at = links.looks_at(&input);
    let evidence = Evidence::new(looks_at, (&baseline, &manifest), Images::Proposed(&proposal.changes));
    let report = adapter::verify::judge(&ctx, links, evidence).expect("what was proposed can be judged");
    assert!(report.passed, "{:?}", report.failures);
});
