//! How calls and their replies are recorded, and what of a record is compared between runs.

use std::{io, path::Path, sync::LazyLock};

use regex::Regex;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::position;
use crate::times;
use base::{
    call::Call,
    error::{Code, Error},
    hash::Hasher,
    json,
};
use gate::secrets;
use record::{
    Pack, Record, RunFolder,
    event::{self, Intent, Stored},
    named, packed_form,
};

/// A value longer than that goes into the pack; the event keeps its hash.
const INLINE: usize = 4096;

/// The arguments of `apply.*` and `edit.*` that hold what files hold, or are to hold.
const CONTENTS: &[&str] = &["files", "new", "old", "patches", "plan", "text", "unified_diff", "unified_diff_b64"];

/// The name and arguments of a call as a record has them. Two calls are the same exactly if these are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recorded {
    pub(super) name: String,
    pub(super) args: Stored,
}

impl Recorded {
    /// Of a call that was answered.
    pub(super) fn of(call: &event::Call) -> Self {
        Recorded { name: call.call.clone(), args: call.args.clone() }
    }

    /// Of a call that is about to be answered. Its arguments may not be recorded.
    pub(super) fn of_intent(intent: &Intent) -> Self {
        Recorded { name: intent.call.clone(), args: intent.args.clone().unwrap_or_default() }
    }
}

/// The answer that a record says was given to a call.
pub(super) fn answer_of(call: &event::Call, pack: &Pack) -> Result<Result<Value, Error>, Error> {
    if let Some(reply) = &call.reply {
        return pack.value(reply).map(|reply| Ok(times::joined(reply, call.volatile.reply.as_ref())));
    }
    if let Some(exact) = &call.error_exact {
        return serde_json::from_value(pack.value(exact)?).map(Err).map_err(|error| {
            Error::new(Code::RecordDamaged, format!("a recorded error of `{}` can't be read: {error}", call.call))
        });
    }
    let neither =
        || Error::new(Code::RecordDamaged, format!("a record of `{}` has neither a reply nor an error", call.call));
    call.error.clone().map(Err).ok_or_else(neither)
}

/// A call as it was made; what does not stand in the record itself is taken from the pack.
pub(crate) fn call_of(recorded: &Recorded, pack: &Pack) -> Result<Call, Error> {
    let mut args = pack.value(&recorded.args)?;
    let holds_contents = ["apply.", "edit."].iter().any(|area| recorded.name.starts_with(area));
    for (key, value) in args.as_object_mut().into_iter().flatten().filter(|_| holds_contents) {
        if CONTENTS.contains(&key.as_str()) {
            *value = pack.value(&Stored::of(value.take()))?;
        }
    }
    serde_json::from_value(json!({"name": recorded.name, "args": args})).map_err(|error| {
        let message = format!("the arguments of a recorded call `{}` can't be read: {error}", recorded.name);
        Error::new(Code::RecordDamaged, message)
    })
}

/// An answer as its record gives it back, so that who goes on with a run or replays it is told the same.
pub(crate) fn as_recorded(result: Result<Value, Error>) -> Result<Value, Error> {
    let told = |error: Error| serde_json::from_value(json::as_recorded(json!(error))).unwrap_or(error);
    result.map(json::as_recorded).map_err(told)
}

/// Returns a reply as JSON.
pub(super) fn as_value(reply: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(reply).map_err(|error| Error::new(Code::Internal, format!("a reply is no JSON: {error}")))
}

/// A call as a record would have it. Nothing is kept.
pub(super) fn recorded_form(call: &Call, rules: &secrets::Rules) -> Result<Recorded, Error> {
    recorded(call, &mut |value, always| packed_value(value, always, rules))
}

/// A value as a record would have it. Nothing is kept.
pub(super) fn packed_value(value: &Value, always: bool, rules: &secrets::Rules) -> Result<Stored, Error> {
    pack_with(value, always, rules, &|value| {
        let mut hasher = io::BufWriter::with_capacity(1 << 16, Hasher::default());
        let written = json::canonical_into(value, &mut hasher)?;
        let hasher = written.and_then(|()| hasher.into_inner().map_err(io::IntoInnerError::into_error));
        let hasher = hasher.map_err(|error| Error::io("a value can't be hashed", &error))?;
        let (hash, length) = hasher.finish();
        Ok(packed_form(&hash, usize::try_from(length).unwrap_or(usize::MAX)))
    })
}

/// True for the calls whose replies are contents of files, which never stand in the events, however short they are.
pub(super) fn replies_with_contents(call: &Call) -> bool {
    let reads = matches!(call, Call::FilesRead { .. } | Call::FilesGrep { .. } | Call::PromptCompose(_));
    reads || matches!(call, Call::CodeFind(_) | Call::EditFind(_) | Call::EditMake(_))
}

pub(super) fn recorded(
    call: &Call,
    packed: &mut dyn FnMut(&Value, bool) -> Result<Stored, Error>,
) -> Result<Recorded, Error> {
    let mut wire = serde_json::to_value(call).unwrap_or_default();
    let mut args = wire.get_mut("args").map(Value::take).unwrap_or_default();
    // What files are to hold stands in the events as little as what they held.
    for (key, value) in args.as_object_mut().into_iter().flatten().filter(|_| call.holds_contents()) {
        if CONTENTS.contains(&key.as_str()) {
            *value = packed(value, true)?.into_form();
        }
    }
    Ok(Recorded { name: call.name().to_owned(), args: packed(&args, false)? })
}

pub(super) fn pack_with(
    value: &Value,
    always: bool,
    rules: &secrets::Rules,
    keep: &dyn Fn(&Value) -> Result<Stored, Error>,
) -> Result<Stored, Error> {
    let value = json::exact(value);
    if !always && is_short(&value)? && named(&value).is_none() && !secrets::shows_secret(&value, rules) {
        return Ok(Stored::of(value.into_owned()));
    }
    keep(&value)
}

/// True if a value may stand in an event.
fn is_short(value: &Value) -> Result<bool, Error> {
    // What is as large as that in memory need not be written to be measured.
    Ok(json::weight(value) <= 64 * INLINE as u64 && json::canonical_value(value)?.len() <= INLINE)
}

/// A run's records as they are compared between runs: by position, without times, run ids, machine paths and chain hashes.
///
/// `root` is the workspace's, which differs from machine to machine.
pub fn canonical_records(run: &RunFolder, records: &[Record], root: &Path) -> Result<Vec<Value>, Error> {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|record| (position::key(&record.position), record.seq));
    let root = machine_path(root);
    let scrub = |text: &str| {
        let text = RUN_ID.replace_all(text, "<run>");
        let text = text.replace(run.id(), "<run>").replace(run.timestamp(), "<time>");
        root.replace_all(&text, "<root>$end").into_owned()
    };
    let row = |record: &&Record| {
        let files: Vec<String> = record.files.iter().map(|file| scrub(&file.path)).collect();
        let data = scrubbed(&record.data()?.0, &scrub);
        Ok(json!({"position": record.position, "kind": record.kind(), "data": data, "files": files}))
    };
    sorted.iter().map(row).collect()
}

/// A text with the ids of runs taken out, which differ each time.
pub fn without_run_ids(text: &str) -> String {
    RUN_ID.replace_all(text, "<run>").into_owned()
}

/// The shape of a run's id, as a lock's holder or the run that was rolled back is named.
static RUN_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}\b").expect("it is a pattern"));

/// Finds a folder's path, but not that of a neighbour whose name goes on.
fn machine_path(folder: &Path) -> Regex {
    let folder = regex::escape(&folder.display().to_string());
    Regex::new(&format!(r"{folder}(?P<end>[^\w.-]|$)")).expect("the path is escaped")
}

fn scrubbed(value: &Value, scrub: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(scrub(text)),
        Value::Array(items) => items.iter().map(|item| scrubbed(item, scrub)).collect(),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| match key.as_str() {
                // How long an error says that it waited is as volatile as any duration.
                "waited_ms" => (key.clone(), Value::from("<ms>")),
                "expires_at" => (key.clone(), Value::from("<time>")),
                _ => (key.clone(), scrubbed(value, scrub)),
            };
            map.iter().map(entry).collect::<Map<_, _>>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Chain, Runs};
    use record::{Note, event::Event};

    #[test]
    fn nothing_of_the_machine_or_of_other_runs_is_compared() {
        let canonical = |now_ms: u64, root: &str, holder: &str, waited_ms: u64| {
            let folder = tempfile::tempdir().unwrap();
            let run = Runs::of(folder.path()).create(now_ms, 1).unwrap();
            let message = format!("`{root}/.runs/locks/global` of run `{holder}` and {root}-2");
            let artifact = format!("dta/{}.1-x.json", run.timestamp());
            let error = Error::new(Code::LockTimeout, message).detail("holder", holder).detail("waited_ms", waited_ms);
            let error = error.detail("root", root).detail("artifact", artifact);
            let failed = event::InputFailed { error };
            let draft = Note::of_run(Event::InputFailed(failed.into())).draft().unwrap();
            Chain::open(&run).unwrap().append("t".to_owned(), draft).unwrap();
            canonical_records(&run, &run.records().unwrap(), Path::new(root)).unwrap()
        };
        let one = canonical(0, "/a/b", "20261121T202000Z-7f3a", 40);
        let data = &one[0]["data"];
        assert_eq!(data["error"]["message"], "`<root>/.runs/locks/global` of run `<run>` and /a/b-2");
        let details =
            json!({"holder": "<run>", "waited_ms": "<ms>", "root": "<root>", "artifact": "dta/<time>.1-x.json"});
        assert_eq!(data["error"]["details"], details);
        let other = canonical(86_400_000, "/a/b", "20251121T202000Z-0001", 41);
        assert_eq!(one, other);
    }
}
