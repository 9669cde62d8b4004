//! The sources of a report. Events and the request of the run are without secrets; `Material::shown` redacts parts of patches.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    format::{self, moment},
    model::{Fact, Unread, Waiting},
};
use base::{error::Error, hash::Sha256, output::Output, path::RepoPath};
use gate::{Rules, secrets};
use host::{Context, Left};
use record::{
    Pack, Record, RunFolder,
    event::{Asked, Event, FileRow, Input, RunEnd, RunStarted, Shown, Stored},
};

/// The most places that one proposal left and a report lists; the rest is only counted.
const MOST_PLACES: usize = 100;

/// The sources of the report of one run.
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
        let redacted = |record: Record| match record.event.is_exact() {
            // Paths and hashes alone stand as they are.
            true => Ok(record),
            false => record.edited(&|value| secrets::redact_json(value, rules.secrets())),
        };
        let records = folder.records()?.into_iter().map(redacted).collect::<Result<_, Error>>()?;
        let mut run: Value =
            folder.read("run.json").ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        secrets::redact_json(&mut run, rules.secrets());
        let pack = folder.pack().unwrap_or_default();
        Ok(Material { folder, rules, records, pack, run, lacks_contents: folder.lacks_contents()? })
    }

    /// The events of a kind.
    pub(super) fn of<'m, T: 'm>(
        &'m self,
        of_kind: impl Fn(&'m Event) -> Option<&'m T>,
    ) -> impl DoubleEndedIterator<Item = (&'m Record, &'m T)> {
        self.records.iter().filter_map(move |record| Some((record, of_kind(&record.event)?)))
    }

    /// The data of the last event with which a session stopped; none if no session did.
    pub(super) fn ended(&self) -> Option<&RunEnd> {
        self.end().map(|(_, end)| end)
    }

    /// The last event with which a session stopped.
    pub(super) fn end(&self) -> Option<(&Record, &RunEnd)> {
        self.of(Event::end).next_back()
    }

    /// How long all sessions took that stopped.
    pub(super) fn duration_ms(&self) -> Option<u64> {
        self.of(Event::end).filter_map(|(_, end)| end.volatile.duration_ms).reduce(u64::saturating_add)
    }

    /// The metrics that the script gave, by name.
    pub(super) fn metrics(&self) -> BTreeMap<String, Value> {
        let metrics = self.ended().into_iter().flat_map(|end| &end.metrics);
        metrics.map(|(name, value)| (name.clone(), value.0.clone())).collect()
    }

    /// How the run began.
    pub(super) fn started(&self) -> Option<&RunStarted> {
        self.of(Event::run_started).next().map(|(_, started)| started)
    }

    /// The request of the run, with hashes in place of sources.
    pub(super) fn asked(&self) -> Value {
        self.started().map_or_else(|| json!({}), |started| json!(started.asked))
    }

    /// The limits of the budgets.
    pub(super) fn limits(&self) -> &Value {
        &self.run["policy"]["budget"]
    }

    /// The request of the run and its circumstances, such as the seed and the policy.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let Some((record, started)) = self.of(Event::run_started).next() else { return Vec::new() };
        let flags: Vec<String> = started.flags.given().map(|name| format!("--{}", name.replace('_', "-"))).collect();
        let mut facts = asked_facts(&started.asked);
        facts.extend(
            [
                ("flags", flags.join(" ")),
                ("seed", started.seed.to_string()),
                ("started", moment(&record.at)),
                ("commit", started.volatile.git_head.clone().flatten().unwrap_or_default()),
                ("policy", started.policy_sha256.text()),
                ("nrv", started.version.clone()),
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

    /// A patch by its path among the artefacts.
    pub(super) fn artifact(&self, path: &str) -> Option<Vec<u8>> {
        let is_artifact = path.starts_with("artifacts/") && RepoPath::parse(path).is_ok();
        is_artifact.then(|| self.folder.read(path).ok()).flatten()
    }

    /// The places and files that the proposals of the run left.
    pub(super) fn left(&self) -> Left {
        let error = self.ended().and_then(|end| end.error.as_ref());
        Left::of(&self.records, error, |path| self.folder.read(path).ok())
    }

    /// The first places that one proposal left, a sentence each, and the number of the others.
    pub(super) fn left_by(&self, output: &Output) -> Vec<String> {
        let left = Left::of_proposal(output, |path| self.folder.read(path).ok()).unwrap_or_default();
        let (shown, more) = left.first_places(MOST_PLACES);
        shown.into_iter().chain(more).map(|line| self.shown(line.as_bytes())).collect()
    }

    /// The files that no proposal read, each with the reason.
    pub(super) fn unread(&self) -> Vec<Unread> {
        let shown = |text: &str| self.shown(text.as_bytes());
        let skipped = self.left().skipped;
        skipped.iter().map(|one| Unread { path: shown(&one.path), reason: shown(&one.reason) }).collect()
    }

    /// A content by its hash in the pack.
    pub(super) fn content(&self, sha256: &Sha256) -> Option<Vec<u8>> {
        self.pack.get(sha256).ok()
    }

    /// The files of a change that was judged; none if they are not here.
    pub(super) fn rows(&self, recorded: &Stored) -> Option<Vec<FileRow>> {
        self.pack.rows(recorded).ok()
    }

    /// A part of a patch as text without secrets.
    pub(super) fn shown(&self, part: &[u8]) -> String {
        secrets::redact(&String::from_utf8_lossy(part), self.rules.secrets()).into_owned()
    }

    /// Sentences about the parts that the record lacks.
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

/// The names and values of a request, by its kind.
fn asked_facts(asked: &Asked) -> Vec<(String, String)> {
    let own = |name: &str, value: String| (name.to_owned(), value);
    let input = |input: &Input| format!("{} ({})", input.name, format::short(&input.sha256.to_string()));
    match asked {
        Asked::Script { path, sources, args } => {
            let modules = sources.len().saturating_sub(1);
            let hash = sources.get(path).map(Shown::text).unwrap_or_default();
            let mut facts = vec![own("script", path.clone()), own("source", hash)];
            if modules > 0 {
                facts.push(own("imports", format::count(modules as u64, "module")));
            }
            let args = args.0.as_object().into_iter().flatten();
            facts.extend(args.map(|(name, value)| (format!("--arg {name}"), format::value(value))));
            facts
        }
        Asked::Adapter { tool, input } => vec![own("adapter", tool.clone()), own("input", format::value(&input.0))],
        Asked::Program { name } => vec![own("program", name.clone())],
        Asked::Client { name } => vec![own("client", name.clone())],
        Asked::Session { .. } => vec![own("session", "texts that a person gave one after another".to_owned())],
        Asked::Patch { inputs } => inputs.iter().map(|one| own("patch", input(one))).collect(),
        Asked::Edit { tool, path } => vec![own("edit", tool.as_str().to_owned()), own("file", path.clone())],
        Asked::Planned { plan } => vec![own("plan", input(plan))],
        Asked::Rollback { parent, keep_later, position } => {
            let mut facts = vec![own("rolls back", parent.clone())];
            if *keep_later {
                facts.push(own("later changes", "kept".to_owned()));
            }
            facts.extend(position.iter().map(|position| own("position", position.clone())));
            facts
        }
    }
}

/// True for the name of a record file's folder or stem that leads nowhere else.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
