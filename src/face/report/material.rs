//! What a report is made of: the record's events, what was asked, and patches, all without secrets.

use serde_json::{Value, json};

use super::{
    format::{self, moment, text},
    model::{Fact, Waiting},
};
use crate::{
    base::{error::Error, hash::Sha256, path::RepoPath},
    host::{self, Context},
    record::{Pack, Record, RunFolder},
    service::gate::{Rules, secrets},
};

/// Records of paths and hashes alone: they stand as they are.
const EXACT: &[&str] = &["committed", "undone", "undone_after_crash", "revoked"];

/// The kinds of records with which a session stops.
pub(super) const ENDS: &[&str] = &["run_finished", "run_suspended"];

/// What a report is made of.
pub(super) struct Material<'a> {
    folder: &'a RunFolder,
    rules: &'a Rules,
    /// The events.
    pub(super) records: Vec<Record>,
    pack: Pack,
    /// `run.json`, or null.
    run: Value,
    /// True if the record was imported without contents of files.
    pub(super) lacks_contents: bool,
}

impl<'a> Material<'a> {
    /// Reads a record.
    pub(super) fn read(context: &'a Context, folder: &'a RunFolder) -> Result<Self, Error> {
        let rules: &Rules = &context.rules;
        let mut records = folder.records()?;
        for record in records.iter_mut().filter(|record| !EXACT.contains(&record.kind.as_str())) {
            secrets::redact_json(&mut record.data, rules.secrets());
            if let Some(output) = record.volatile.get_mut("output") {
                secrets::redact_json(output, rules.secrets());
            }
        }
        let mut run: Value =
            folder.read("run.json").ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        secrets::redact_json(&mut run, rules.secrets());
        let pack = folder.pack().unwrap_or_default();
        Ok(Material { folder, rules, records, pack, run, lacks_contents: folder.lacks_contents()? })
    }

    /// The events of a kind.
    pub(super) fn of<'m>(&'m self, kind: &'static str) -> impl DoubleEndedIterator<Item = &'m Record> {
        self.records.iter().filter(move |record| record.kind == kind)
    }

    /// What the last session that stopped came to; null if none did.
    pub(super) fn ended(&self) -> &Value {
        const NONE: &Value = &Value::Null;
        self.end().map_or(NONE, |record| &record.data)
    }

    /// The last event with which a session stopped.
    pub(super) fn end(&self) -> Option<&Record> {
        self.records.iter().rfind(|record| ENDS.contains(&record.kind.as_str()))
    }

    /// How long all sessions took that stopped.
    pub(super) fn duration_ms(&self) -> Option<u64> {
        let ends = self.records.iter().filter(|record| ENDS.contains(&record.kind.as_str()));
        ends.filter_map(|record| record.volatile["duration_ms"].as_u64()).reduce(u64::saturating_add)
    }

    /// What was asked, with hashes in place of sources.
    pub(super) fn asked(&self) -> Value {
        self.of("run_started").next().map_or_else(|| json!({}), |record| record.data["asked"].clone())
    }

    /// The limits of the budgets.
    pub(super) fn limits(&self) -> &Value {
        &self.run["policy"]["budget"]
    }

    /// What was asked, and under which circumstances.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let asked = self.asked();
        let started = self.of("run_started").next();
        let data = started.map(|record| record.data.clone()).unwrap_or_default();
        let flags: Vec<String> = data["flags"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, given)| **given == true)
            .map(|(name, _)| format!("--{}", name.replace('_', "-")))
            .collect();
        let head = started.map(|record| &record.volatile["git_head"]).cloned().unwrap_or_default();
        let mut facts = asked_facts(&asked);
        facts.extend(
            [
                ("flags", flags.join(" ")),
                ("seed", format::value(&data["seed"])),
                ("started", started.map(|record| moment(&record.at)).unwrap_or_default()),
                ("commit", text(&head)),
                ("policy", text(&data["policy_sha256"])),
                ("nrv", text(&data["version"])),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        let said = facts.into_iter().filter(|(_, value)| !value.is_empty());
        said.map(|(name, value)| Fact { name, value }).collect()
    }

    /// The confirmation for which the run waits, without secrets.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        let host::Waiting { id, label, expires_at } = host::waiting(self.folder, &self.records)?;
        let label = secrets::redact(&label, self.rules.secrets()).into_owned();
        Some(Waiting { id, label, expires_at: Some(expires_at).filter(|at| !at.is_empty()) })
    }

    /// A confirmation's file.
    pub(super) fn confirmation(&self, id: &str) -> Value {
        let mut value: Value = match is_name(id) {
            true => self.folder.read(&format!("confirmations/{id}.json")).ok(),
            false => None,
        }
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
        secrets::redact_json(&mut value, self.rules.secrets());
        value
    }

    /// The patch of a transaction, exact; none if it is not here.
    pub(super) fn pack_patch(&self, transaction: &str) -> Option<Vec<u8>> {
        is_name(transaction).then(|| self.folder.read(&format!("packs/{transaction}/patch")).ok()).flatten()
    }

    /// A patch by its path among the artefacts, or by its hash in the pack.
    pub(super) fn patch(&self, named: &Value) -> Option<Vec<u8>> {
        if let Some(path) = named["path"].as_str() {
            let is_artifact = path.starts_with("artifacts/") && RepoPath::parse(path).is_ok();
            return is_artifact.then(|| self.folder.read(path).ok()).flatten();
        }
        let sha256: Sha256 = serde_json::from_value(named["sha256"].clone()).ok()?;
        self.pack.get(&sha256).ok()
    }

    /// A value that stands in a record or in the pack; none if it is not here.
    pub(super) fn value(&self, recorded: &Value) -> Option<Value> {
        self.pack.value(recorded).ok()
    }

    /// A part of a patch as text without secrets.
    pub(super) fn shown(&self, part: &[u8]) -> String {
        secrets::redact(&String::from_utf8_lossy(part), self.rules.secrets()).into_owned()
    }

    /// What the record does not hold, in sentences.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.lacks_contents {
            missing.push(
                "The record was imported without contents: diffs are not here, and the run can't be rolled back."
                    .to_owned(),
            );
        }
        if self.run.is_null() {
            missing.push("`run.json` is missing or can't be read: budgets have no limits here.".to_owned());
        }
        if self.records.is_empty() {
            missing.push("The record has no events: the run ended before it began.".to_owned());
        }
        missing
    }
}

/// What was asked, by kind.
fn asked_facts(asked: &Value) -> Vec<(String, String)> {
    let own = |name: &str, value: String| (name.to_owned(), value);
    match asked["kind"].as_str() {
        Some("script") => {
            let modules = asked["sources"].as_object().map_or(0, serde_json::Map::len).saturating_sub(1);
            let hash = text(&asked["sources"][text(&asked["path"])]);
            let mut facts = vec![own("script", text(&asked["path"])), own("source", hash)];
            if modules > 0 {
                facts.push(own("imports", format::count(modules as u64, "module")));
            }
            let args = asked["args"].as_object().into_iter().flatten();
            facts.extend(args.map(|(name, value)| (format!("--arg {name}"), format::value(value))));
            facts
        }
        Some("adapter") => vec![own("adapter", text(&asked["tool"])), own("input", format::value(&asked["input"]))],
        Some("program") => vec![own("program", text(&asked["name"]))],
        Some("session") => vec![own("session", "texts that a person gave one after another".to_owned())],
        Some("patch") => {
            let inputs = asked["inputs"].as_array().into_iter().flatten();
            inputs
                .map(|input| {
                    own("patch", format!("{} ({})", text(&input["name"]), format::short(&text(&input["sha256"]))))
                })
                .collect()
        }
        Some("planned") => {
            let plan = &asked["plan"];
            vec![own("plan", format!("{} ({})", text(&plan["name"]), format::short(&text(&plan["sha256"]))))]
        }
        Some("rollback") => {
            let mut facts = vec![own("rolls back", text(&asked["parent"]))];
            if asked["keep_later"] == true {
                facts.push(own("later changes", "kept".to_owned()));
            }
            facts
        }
        _ => Vec::new(),
    }
}

/// True for the name of a record file's folder or stem that leads nowhere else.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
