//! Tests of the whole adapter: on disk, in several threads, and against damage of every kind.

mod comments;
mod fixes;
mod input;
mod tamper;
mod variations;

use std::{fs, path::Path, sync::atomic::AtomicBool};

use serde_json::{Value, json};

use super::*;
use crate::{
    contract::{BaselineRecord, ManifestRecord},
    parse,
    verify::{ArtifactRef, Contents, Report, Request, verify},
};
use base::{error::Code, hash::Sha256};
use system::workspace::{Overlay, View, Workspace};

/// A schema with a member for each kind of fix.
fn server() -> Value {
    json!({
        "type": "object", "required": ["name", "port", "mode"], "additionalProperties": false,
        "properties": {
            "name": {"type": "string"}, "port": {"type": "integer"}, "mode": {"enum": ["fast", "safe"], "default": "safe"},
            "tags": {"type": "array", "items": {"type": "string"}}, "note": {"type": "string", "default": "none"},
        },
    })
}

fn invocation(params: &Value) -> Invocation {
    invoked(params, "apply")
}

fn invoked(params: &Value, mode: &str) -> Invocation {
    let input = json!({
        "tool": "json_schema_migrator", "version": "1.0", "mode": mode, "params": params,
        "target": {"repo_path": ".", "glob": ["**/*", "!schemas/**"]},
        "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 42},
    });
    parse(&JsonSchemaMigrator, &input).unwrap()
}

fn propose_in(root: &Path, threads: usize, input: &Invocation) -> Result<Proposal, Error> {
    let (workspace, overlay) = (Workspace::open(root).unwrap(), Overlay::default());
    let cancel = AtomicBool::new(false);
    let view = View::new(&workspace, &overlay);
    JsonSchemaMigrator.propose(&Context::of_tree(view, threads, &cancel), input)
}

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// A run's record beside a tree with its change, or with a mere proposal.
struct Recorded {
    tree: tempfile::TempDir,
    run: tempfile::TempDir,
    request: Request,
}

impl Recorded {
    fn new(files: &[(&str, &str)], input: &Invocation, applied: bool) -> Self {
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
        let request = Request {
            tool: "json_schema_migrator".to_owned(),
            path: String::new(),
            source: None,
            root: tree.path().to_owned(),
            run_folder: run.path().to_owned(),
            baseline: write(run.path(), "baseline.json", &proposal.baseline_record(input)),
            manifest: write(run.path(), "manifest.json", &proposal.manifest_record("json_schema_migrator")),
            contents: match applied {
                true => Contents::Before(run.path().join("pre")),
                false => Contents::After(run.path().join("posts")),
            },
            overlay: Vec::new(),
            hidden: Vec::new(),
            is_later: false,
            threads: 2,
        };
        Recorded { tree, run, request }
    }

    fn verify(&self) -> Report {
        verify(&JsonSchemaMigrator, &self.request)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.tree.path().join(path)).unwrap()
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

    /// Puts another text in place of the first change, and makes the record agree with it.
    fn replace(&mut self, path: &str, text: &str) {
        fs::write(self.tree.path().join(path), text).unwrap();
        self.rewrite("manifest.json", |manifest: &mut ManifestRecord| {
            let entry = manifest.entries.iter_mut().find(|entry| entry.path.as_str() == path).unwrap();
            let after = entry.after.as_mut().unwrap();
            (after.sha256, after.length) = (Sha256::of(text.as_bytes()), text.len() as u64);
        });
    }

    #[track_caller]
    fn fails(&self, check: &str, path: Option<&str>) {
        let report = self.verify();
        let hit = |failure: &crate::contract::Failure| failure.check == check && failure.path.as_deref() == path;
        assert!(!report.passed && report.failures.iter().any(hit), "{report:#?}");
    }
}

fn write(folder: &Path, name: &str, record: &impl serde::Serialize) -> ArtifactRef {
    let bytes = serde_json::to_vec(record).unwrap();
    fs::write(folder.join(name), &bytes).unwrap();
    ArtifactRef { path: name.to_owned(), sha256: Sha256::of(&bytes) }
}

const OLD: &str = "{\n  \"name\": \"a\",\n  \"port\": \"80\", // the old one\n  \"extra\": 1.50\n}\n";

fn lenient() -> Value {
    json!({
        "schema": server(), "formats": ["json", "jsonc", "yaml", "toml"],
        "fixes": {"coerce": true, "defaults": true, "remove_unknown": true},
    })
}

#[test]
fn every_format_keeps_its_text() {
    let files = [
        ("a.jsonc", OLD),
        ("b.yaml", "# head\nname: a   # why\nport: \"80\"\nextra: [1, 2]\n"),
        ("c.toml", "# head\nname = 'a' # why\nport = \"80\"\nextra = 1_000"),
        ("d.json", "\u{feff}{\"name\":\"a\",\r\n\"port\":\"80\",\"mode\":\"fast\"}"),
        ("e.json", "{\"name\": \"\\u0061\", \"port\": 1.0, \"mode\": \"fast\"}"),
        ("f.Json", "{\"name\": \"f\", \"port\": \"1\", \"mode\": \"fast\"}"),
    ];
    let recorded = Recorded::new(&files, &invocation(&lenient()), true);
    let report = recorded.verify();
    assert!(report.passed, "{report:#?}");
    assert_eq!(
        recorded.text("a.jsonc"),
        "{\n  \"name\": \"a\",\n  \"port\": 80, // the old one\n  \"mode\": \"safe\"\n}\n"
    );
    assert_eq!(recorded.text("b.yaml"), "# head\nname: a   # why\nport: 80\nmode: safe\n");
    assert_eq!(recorded.text("c.toml"), "# head\nname = 'a' # why\nport = 80\nmode = \"safe\"");
    assert_eq!(recorded.text("d.json"), "\u{feff}{\"name\":\"a\",\r\n\"port\":80,\"mode\":\"fast\"}");
    assert_eq!(recorded.text("e.json"), files[4].1);
    assert_eq!(recorded.text("f.Json"), files[5].1.replace("\"1\"", "1"));
    let again = propose_in(recorded.tree.path(), 1, &invocation(&lenient())).unwrap();
    assert!(again.changes.is_empty() && again.baseline.counts["files_invalid"] == 0);
}

#[test]
fn the_proposal_counts_and_does_not_depend_on_threads() {
    let files = [
        ("a.json", "{\"name\": \"a\", \"port\": \"80\"}"),
        ("b.json", "{}"),
        ("c.json", "{\"a\": 1, \"a\": 1}"),
        ("x.js", ""),
    ];
    let folder = tree(&files);
    let input = invoked(&lenient(), "dry-run");
    let proposal = propose_in(folder.path(), 1, &input).unwrap();
    let counts = json!({
        "files_scanned": 3, "files_skipped": 0, "files_ignored": 1, "files_valid": 0, "files_invalid": 3,
        "violations": 4, "violations_required": 2, "violations_syntax": 1, "violations_type": 1,
    });
    assert_eq!(serde_json::to_value(&proposal.baseline.counts).unwrap(), counts);
    let changed = json!({"files": 1, "fixes": 2, "fixes_coerce": 1, "fixes_defaults": 1});
    assert_eq!(serde_json::to_value(&proposal.counts).unwrap(), changed);
    let findings: Vec<_> =
        proposal.baseline.findings.iter().map(|one| (one.path.as_str(), one.kind.as_str(), one.line)).collect();
    assert_eq!(findings, [("b.json", "required", Some(1)), ("c.json", "syntax", Some(1))]);
    for threads in [2, 8] {
        assert_eq!(propose_in(folder.path(), threads, &input).unwrap(), proposal);
    }
}

#[test]
fn an_apply_that_would_leave_files_invalid_is_refused_at_once() {
    let folder = tree(&[("a.json", "{\n\"port\": []}"), ("b.json", "{\"name\": \"b\", \"port\": \"1\"}")]);
    let error = propose_in(folder.path(), 1, &invocation(&lenient())).unwrap_err();
    assert_eq!(error.code(), Code::VerificationFailed);
    assert!(error.message().starts_with("1 file can't be made valid by `params.fixes`: `a.json`"), "{error}");
    assert!(error.hint_text().unwrap().contains("allow_invalid"), "{error}");
    let mut params = lenient();
    params["allow_invalid"] = json!(["a.*"]);
    let recorded = Recorded::new(
        &[("a.json", "{}"), ("b.json", "{\"name\": \"b\", \"port\": \"1\"}")],
        &invocation(&params),
        true,
    );
    let report = recorded.verify();
    assert!(report.passed, "{report:#?}");
    assert_eq!((report.counts["files_valid"], report.counts["files_invalid"]), (1, 1));
    assert_eq!(recorded.text("a.json"), "{}");
}

#[test]
fn schemas_are_found_beneath_the_root_only() {
    let files = [
        ("schemas/a.json", r##"{"$id": "https://example.com/s/a.json", "$ref": "sub/b.json#/$defs/x"}"##),
        (
            "schemas/sub/b.json",
            r##"{"$defs": {"x": {"$anchor": "here", "properties": {"p": {"$ref": "../c.json#n"}}}}}"##,
        ),
        ("schemas/c.json", r##"{"$defs": {"n": {"$anchor": "n", "type": "integer"}}}"##),
        ("d.json", "{\"p\": \"1\"}"),
    ];
    let params = json!({"schema": "schemas/a.json", "fixes": {"coerce": true}});
    let recorded = Recorded::new(&files, &invocation(&params), true);
    let report = recorded.verify();
    assert!(report.passed, "{report:#?}");
    assert_eq!(recorded.text("d.json"), "{\"p\": 1}");
    let refused = |schema: Value| {
        propose_in(tree(&files).path(), 1, &invocation(&json!({"schema": schema}))).unwrap_err().to_string()
    };
    assert!(refused(json!({"$ref": "https://elsewhere.org/x.json"})).contains("nothing is ever fetched"));
    assert!(refused(json!({"$ref": "../x.json"})).contains("x.json"));
    assert!(refused(json!({"pattern": "(?=a)b"})).contains("linear"));
    assert!(refused(json!("none.json")).contains("none.json"));
    let with_ref = json!({"schema": {"$ref": "https://elsewhere.org/n#/$defs/n"}, "refs": {"https://elsewhere.org/n": "schemas/c.json"}});
    let dry = Recorded::new(&[files[2], ("d.json", "1")], &invocation(&with_ref), false);
    assert!(dry.verify().passed, "{:#?}", dry.verify());
}
