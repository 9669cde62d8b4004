//! What is known of past runs, for listings.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::retention::kept_until;
use crate::{
    base::error::{Code, Error},
    host::{Context, State, call::attempt::SET_ASIDE},
    record::{Record, RunFolder},
    system::{clock, lock::Holder},
};

/// One run in a listing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overview {
    /// The run.
    pub run: String,
    /// `running`, or how it ended.
    pub state: String,
    /// What it ran: a script's path, an adapter, a program's name for it, or the run that it rolled back.
    pub subject: String,
    /// True if it undid another run.
    pub is_rollback: bool,
    /// `dry-run` or `apply`.
    pub mode: String,
    /// When it started.
    pub started: String,
    /// How many files it changed, or would change.
    pub files_changed: u64,
    /// The exit code; none while it runs and after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u64>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// True if a change was applied and the verifier has not passed it.
    pub unverified: bool,
    /// Until when its record is kept, and with it the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<String>,
    /// What it holds while it is going on: its process, fencing number and path prefixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Holder>,
}

/// All runs in the order of their ids: oldest first, as far as the clock never went backwards.
///
/// Of a run that has stopped its head says enough; only the others are looked at one by one.
pub fn overviews(context: &Context) -> Result<Vec<Overview>, Error> {
    let ids = context.runs.list()?;
    let leased: BTreeSet<String> = context.locks().runs()?.into_iter().collect();
    let mut heads = context.runs.heads()?;
    let row = |id: &String| {
        let head = heads.remove(id).and_then(|head| head.overview).filter(|_| !leased.contains(id));
        match head.and_then(|overview| serde_json::from_value::<Overview>(overview).ok()) {
            Some(known) => {
                Ok(Overview { run: id.clone(), kept_until: kept_until(context, id).map(clock::rfc3339), ..known })
            }
            None => overview(context, &context.runs.open(id)?),
        }
    };
    ids.iter().map(row).collect()
}

/// What a head keeps of a run, for listings: nothing that changes after the run has stopped.
pub(in crate::host) fn listed(context: &Context, folder: &RunFolder) -> Result<Option<Value>, Error> {
    let overview = Overview { kept_until: None, ..of_record(context, folder, None) };
    serde_json::to_value(overview).map(Some).map_err(|error| Error::new(Code::Internal, error.to_string()))
}

/// What stands in the lines of records that an overview is made of.
const LOOKED_AT: &[&str] = &[
    r#""kind":"run_"#,
    r#""kind":"committed""#,
    r#""kind":"checked""#,
    r#""kind":"dta_verified""#,
    r#""kind":"undoing""#,
    r#""kind":"attempt_set_aside""#,
    r#""kind":"undone""#,
    r#""kind":"revoked""#,
];

/// One run.
pub fn overview(context: &Context, folder: &RunFolder) -> Result<Overview, Error> {
    Ok(of_record(context, folder, context.locks().holder(folder.id())?))
}

/// One run, as its record says and whether it is going on.
fn of_record(context: &Context, folder: &RunFolder, lock: Option<Holder>) -> Overview {
    // A damaged record is `runs verify`'s to report; a listing shows what can be read.
    let records = folder.records_with(LOOKED_AT).unwrap_or_default();
    let started = records.iter().find(|record| record.kind == "run_started");
    let last = records.iter().rfind(|record| {
        matches!(record.kind.as_str(), "run_finished" | "run_suspended" | "run_interrupted" | "run_resumed")
    });
    let ended = last.filter(|record| matches!(record.kind.as_str(), "run_finished" | "run_suspended"));
    let state = match ended.map(|record| text(&record.data["state"])) {
        Some(state) => state,
        None if lock.is_some() => "running".to_owned(),
        None => State::Interrupted.as_str().to_owned(),
    };
    let count = |key: &str| ended.and_then(|record| record.data[key].as_u64());
    Overview {
        run: folder.id().to_owned(),
        state,
        subject: started.map(|record| subject(&record.data["asked"])).unwrap_or_default(),
        is_rollback: started.is_some_and(|record| record.data["asked"]["kind"] == "rollback"),
        mode: started.map(|record| text(&record.data["mode"])).unwrap_or_default(),
        started: started.map(|record| record.at.clone()).unwrap_or_default(),
        files_changed: count("files_changed").unwrap_or_else(|| changed_files(&records)),
        exit_code: count("exit_code"),
        duration_ms: ended.and_then(|record| record.volatile["duration_ms"].as_u64()),
        unverified: !unverified(&records).is_empty(),
        kept_until: kept_until(context, folder.id()).map(clock::rfc3339),
        lock,
    }
}

/// Files that are otherwise than they were before the run.
fn changed_files(records: &[Record]) -> u64 {
    let mut files: BTreeMap<&str, (&Value, &Value)> = BTreeMap::new();
    for record in records.iter().filter(|record| matches!(record.kind.as_str(), "committed" | "undone")) {
        for entry in record.data["entries"].as_array().into_iter().flatten() {
            let path = entry["path"].as_str().unwrap_or_default();
            files.entry(path).or_insert((&entry["before"], &entry["after"])).1 = &entry["after"];
        }
    }
    files.values().filter(|(before, after)| before != after).count() as u64
}

/// The transactions that stand and that nothing has verified.
pub(in crate::host) fn unverified(records: &[Record]) -> BTreeSet<String> {
    let mut open: BTreeMap<String, &str> = BTreeMap::new();
    let mut about: BTreeMap<&str, &Value> = BTreeMap::new();
    for record in records {
        let (data, position) = (&record.data, record.position.as_str());
        let name = data["transaction"].as_str().unwrap_or_default();
        match record.kind.as_str() {
            "committed" => {
                open.insert(name.to_owned(), position);
            }
            "checked" => {
                open.remove(name);
            }
            // What a preview would come to says nothing of what was written.
            "dta_verified" if data["output"]["verifier"]["passed"] == true && data["output"]["phase"] == "verify" => {
                open.retain(|_, at| *at != position);
            }
            "revoked" => open.retain(|known, at| known != name && *at != position),
            "undoing" | SET_ASIDE => {
                about.insert(name, &data["of"]);
            }
            "undone" => match about.get(name).and_then(|of| of.as_array()) {
                Some(of) => open.retain(|name, _| !of.iter().any(|one| one == name.as_str())),
                // An older record does not say what was undone.
                None => open.clear(),
            },
            _ => {}
        }
    }
    open.into_keys().collect()
}

fn subject(asked: &Value) -> String {
    match asked["kind"].as_str() {
        Some("script") => text(&asked["path"]),
        Some("adapter") => format!("dta {}", text(&asked["tool"])),
        Some("program" | "session") => text(&asked["name"]),
        Some("patch") => {
            let names = asked["inputs"].as_array().into_iter().flatten().map(|input| text(&input["name"]));
            format!("apply {}", names.collect::<Vec<_>>().join(" "))
        }
        Some("planned") => format!("apply {}", text(&asked["plan"]["name"])),
        Some("rollback") => format!("rollback of {}", text(&asked["parent"])),
        _ => String::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The first line of a text of a session.
fn first_line(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default().trim_start();
    text.lines().next().unwrap_or_default().to_owned()
}

/// What a record says of a language model, in a few words.
fn model(record: &Record) -> Option<String> {
    let data = &record.data;
    let quoted = |value: &Value| format!("`{}`", crate::base::text::escape(value.as_str().unwrap_or_default()));
    let asked = |data: &Value| format!("{} of {}", quoted(&data["model"]), quoted(&data["provider"]));
    match record.kind.as_str() {
        "llm_cassettes" => Some(format!("{} {}", text(&data["mode"]), quoted(&data["folder"]))),
        "llm_sent" => Some(asked(data)),
        "llm_tried" => {
            let after =
                data["after"]["message"].as_str().map(|why| format!(" after: {}", crate::base::text::escape(why)));
            Some(format!("try {}{}", data["attempt"], after.unwrap_or_default()))
        }
        _ => {
            let by = data.get("answered_by")?;
            let recorded = if by["from"] == "cassette" { ", recorded" } else { "" };
            let label = by["label"].as_str().map(|label| format!(", `{}`", crate::base::text::escape(label)));
            Some(format!("{}{recorded}{}", asked(by), label.unwrap_or_default()))
        }
    }
}

/// A record in a few words, for listings.
pub fn summary(record: &Record) -> String {
    let data = &record.data;
    let known = [
        &data["call"],
        &data["args"]["name"],
        &data["tool"],
        &data["transaction"],
        &data["attempt"],
        &data["label"],
        &data["asked"]["kind"],
    ];
    let mut words: Vec<String> =
        known.iter().filter_map(|value| value.as_str()).map(crate::base::text::escape).collect();
    words.extend(model(record));
    words.extend(data["entries"].as_array().map(|entries| crate::base::text::counted(entries.len(), "file")));
    words.extend(data["error"]["message"].as_str().map(crate::base::text::escape));
    words.extend(data["state"].as_str().map(str::to_owned));
    if record.kind == "input" {
        words.extend([&data["name"], &data["text"]].map(|value| crate::base::text::escape(&first_line(value))));
    }
    if record.kind.starts_with("commitment_") {
        words.extend(
            ["id", "description", "reason"].iter().filter_map(|key| data[*key].as_str().map(crate::base::text::escape)),
        );
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(kind: &str, position: &str, data: Value) -> Record {
        let row = json!({"seq": 0, "at": "", "position": position, "kind": kind, "data": data, "files": [], "volatile": {},
            "prev": "0".repeat(64), "hash": "0".repeat(64)});
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn a_change_counts_as_verified_only_if_its_own_verifier_passed() {
        let committed = |name: &str, at: &str| record("committed", at, json!({"transaction": name, "entries": []}));
        let verified = |at: &str, passed: bool| {
            record("dta_verified", at, json!({"output": {"phase": "verify", "verifier": {"passed": passed}}}))
        };
        let checked = |name: &str, at: &str| record("checked", at, json!({"transaction": name}));
        let left = |records: &[Record]| unverified(records).into_iter().collect::<Vec<_>>();
        assert!(left(&[committed("t1", "1"), verified("1", true)]).is_empty());
        assert_eq!(left(&[committed("t1", "1"), verified("1", false)]), ["t1"]);
        let later = [committed("t1", "1"), verified("1", false), committed("t2", "2"), checked("t2", "2")];
        assert_eq!(left(&later), ["t1"], "what is verified later says nothing of it");
        let undoing = record("undoing", "", json!({"transaction": "t2", "of": ["t1"]}));
        let undone = record("undone", "", json!({"transaction": "t2", "entries": []}));
        assert!(left(&[committed("t1", "1"), verified("1", false), undoing, undone.clone()]).is_empty());
        assert!(left(&[committed("t1", "1"), undone]).is_empty());
    }
}
