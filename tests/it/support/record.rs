//! Records that are built by hand, with any content that a test wants.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]
#![expect(clippy::disallowed_methods, reason = "a record that is put together by hand")]

use std::{fs::OpenOptions, io::Write};

use nrv::{
    base::{hash::Sha256, json::canonical},
    record::{EVENTS, FileRef, GENESIS, Record, RunFolder, Runs},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::site::Site;

/// The time of all recorded events.
const AT: &str = "2026-11-21T20:20:00.000Z";

/// A line of a chain as it stands there, whatever it says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) seq: u64,
    pub(crate) position: String,
    pub(crate) at: String,
    pub(crate) kind: String,
    pub(crate) data: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<FileRef>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) volatile: Value,
    pub(crate) prev: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) hash: String,
}

impl Line {
    /// A line of a kind, without a place in a chain.
    pub(crate) fn new(position: impl ToString, kind: &str, data: Value) -> Self {
        let (prev, hash) = (String::new(), String::new());
        let (position, at, kind) = (position.to_string(), AT.to_owned(), kind.to_owned());
        Line { seq: 0, position, at, kind, data, files: Vec::new(), volatile: Value::Null, prev, hash }
    }

    /// The line's text after another line, with its place in the chain.
    fn chain(&mut self, last: Option<&Line>) -> String {
        (self.seq, self.prev) = last.map_or((1, GENESIS.to_owned()), |last| (last.seq + 1, last.hash.clone()));
        self.hash.clear();
        self.hash = Sha256::of(canonical(&self).unwrap().as_bytes()).to_string();
        canonical(&self).unwrap() + "\n"
    }
}

/// The lines of records.
pub(crate) fn lines(records: &[Record]) -> Vec<Line> {
    let line = |record: &Record| serde_json::from_value(record.to_json().unwrap()).unwrap();
    records.iter().map(line).collect()
}

/// The text of lines, in a chain that holds.
pub(crate) fn chained(lines: &mut [Line]) -> String {
    let mut last = None;
    lines
        .iter_mut()
        .map(|line| {
            let text = line.chain(last);
            last = Some(&*line);
            text
        })
        .collect()
}

/// A record in the making.
pub(crate) struct Forged {
    pub(crate) folder: RunFolder,
    last: Option<Line>,
}

impl Forged {
    /// A record that begins with the request.
    pub(crate) fn new(site: &Site, asked: &Value, mode: &str) -> Self {
        let folder = Runs::of(&site.root()).create(1_795_292_400_000, 7).unwrap();
        let budget = json!({"calls": 10_000, "files": 5000, "diff_lines": 50_000, "bytes": 1_000_000, "wall_s": 7200});
        let run = json!({"run": folder.id(), "asked": asked, "policy": {"budget": budget}}).to_string();
        folder.write("run.json", run.as_bytes()).unwrap();
        let files = vec![FileRef { path: "run.json".to_owned(), sha256: Sha256::of(run.as_bytes()) }];
        let mut forged = Forged { last: None, folder };
        let flags = json!({"dry_run": mode == "dry-run", "yes": true});
        let hash = "ab".repeat(32);
        let data = json!({
            "asked": asked, "seed": 7, "flags": flags, "mode": mode, "policy_sha256": hash, "version": "0.1.0",
        });
        let volatile = json!({"git_head": "cd".repeat(20)});
        forged.append(Line { files, volatile, ..Line::new("", "run_started", data) });
        forged
    }

    /// A run of the script `s.rhai`.
    pub(crate) fn script(site: &Site) -> Self {
        let asked = json!({"kind": "script", "path": "s.rhai", "sources": {"s.rhai": "ef".repeat(32)}, "args": {}});
        Forged::new(site, &asked, "apply")
    }

    pub(crate) fn append(&mut self, mut line: Line) {
        let text = line.chain(self.last.as_ref());
        self.last = Some(line);
        let mut events = OpenOptions::new().create(true).append(true).open(self.folder.path().join(EVENTS)).unwrap();
        events.write_all(text.as_bytes()).unwrap();
    }

    /// An event at a position.
    pub(crate) fn event(&mut self, position: impl ToString, kind: &'static str, data: Value) {
        let volatile = if kind == "call" { json!({"duration_ms": 3}) } else { Value::Null };
        self.append(Line { volatile, ..Line::new(position, kind, data) });
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
        let files = vec![FileRef { path: name, sha256: Sha256::of(patch.as_bytes()) }];
        let data = json!({"transaction": transaction, "entries": entries});
        self.append(Line { files, ..Line::new(position, "committed", data) });
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
        self.append(Line { volatile, ..Line::new("", kind, data) });
        let Some(Line { seq, hash, .. }) = &self.last else { return };
        let head = json!({"run": self.folder.id(), "seq": seq, "hash": hash, "state": state});
        site.write(".runs/heads.jsonl", format!("{head}\n"));
    }
}
