//! Records that are built by hand, with any content that a test wants.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]
#![expect(clippy::disallowed_methods, reason = "a record that is put together by hand")]

use nrv::{
    base::hash::Sha256,
    record::{Chain, FileRef, Note, RunFolder, Runs},
};
use serde_json::{Value, json};

use super::site::Site;

/// The time of all recorded events.
const AT: &str = "2026-11-21T20:20:00.000Z";

/// A record in the making.
pub(crate) struct Forged {
    pub(crate) folder: RunFolder,
    chain: Chain,
}

impl Forged {
    /// A record that begins with the request.
    pub(crate) fn new(site: &Site, asked: &Value, mode: &str) -> Self {
        let folder = Runs::of(&site.root()).create(1_795_292_400_000, 7).unwrap();
        let budget = json!({"calls": 10_000, "files": 5000, "diff_lines": 50_000, "bytes": 1_000_000, "wall_s": 7200});
        let run = json!({"run": folder.id(), "asked": asked, "policy": {"budget": budget}}).to_string();
        folder.write("run.json", run.as_bytes()).unwrap();
        let files = vec![FileRef { path: "run.json".to_owned(), sha256: Sha256::of(run.as_bytes()) }];
        let mut forged = Forged { chain: Chain::open(&folder).unwrap(), folder };
        let flags = json!({"dry_run": mode == "dry-run", "yes": true});
        let hash = "ab".repeat(32);
        let data = json!({
            "asked": asked, "seed": 7, "flags": flags, "mode": mode, "policy_sha256": hash, "version": "0.1.0",
        });
        let volatile = json!({"git_head": "cd".repeat(20)});
        forged.append(Note { kind: "run_started", data, files, volatile, ..Note::default() });
        forged
    }

    /// A run of the script `s.rhai`.
    pub(crate) fn script(site: &Site) -> Self {
        let asked = json!({"kind": "script", "path": "s.rhai", "sources": {"s.rhai": "ef".repeat(32)}, "args": {}});
        Forged::new(site, &asked, "apply")
    }

    pub(crate) fn append(&mut self, note: Note) {
        self.chain.append(AT.to_owned(), note).unwrap();
    }

    /// An event at a position.
    pub(crate) fn event(&mut self, position: impl ToString, kind: &'static str, data: Value) {
        let volatile = if kind == "call" { json!({"duration_ms": 3}) } else { Value::Null };
        self.append(Note { position: position.to_string(), kind, data, volatile, ..Note::default() });
    }

    /// A call that was answered.
    pub(crate) fn call(&mut self, position: impl ToString, name: &str, args: &Value) {
        self.event(
            position,
            "call",
            json!({"call": name, "args": args, "decision": "allow", "results": [], "reply": null}),
        );
    }

    /// A transaction with one part of a patch for each file, which are given with it.
    pub(crate) fn committed(&mut self, position: impl ToString, transaction: &str, files: &[(&str, &str)]) {
        let stamp = |n: usize| json!({"sha256": format!("{n:064x}"), "mode": 0o644, "length": 100});
        let entries: Vec<Value> = files
            .iter()
            .enumerate()
            .map(|(n, (path, _))| json!({"path": path, "before": stamp(2 * n), "after": stamp(2 * n + 1)}))
            .collect();
        let patch: String = files.iter().map(|(_, part)| *part).collect();
        let name = format!("packs/{transaction}/patch");
        std::fs::create_dir_all(self.folder.path().join("packs").join(transaction)).unwrap();
        self.folder.write(&name, patch.as_bytes()).unwrap();
        let note = Note {
            position: position.to_string(),
            kind: "committed",
            data: json!({"transaction": transaction, "entries": entries}),
            files: vec![FileRef { path: name, sha256: Sha256::of(patch.as_bytes()) }],
            ..Note::default()
        };
        self.append(note);
    }

    /// The end, with further fields beside the state; the record is sealed.
    pub(crate) fn end(mut self, site: &Site, state: &str, more: &Value) {
        let kind = if state == "suspended" { "run_suspended" } else { "run_finished" };
        let mut data = json!({
            "state": state, "exit_code": 0, "error": null, "files_changed": 0, "diff_lines": 0, "undone": 0,
            "would_ask": [], "tools": [], "metrics": {}, "violations": [],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            data[key] = value.clone();
        }
        let volatile = json!({"duration_ms": 1234});
        self.append(Note { kind, data, volatile, ..Note::default() });
        let (seq, hash) = self.chain.tip();
        let head = json!({"run": self.folder.id(), "seq": seq, "hash": hash, "state": state});
        site.write(".runs/heads.jsonl", format!("{head}\n"));
    }
}
