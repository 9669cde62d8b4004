//! From the store to one result: every record is verified, outcomes become rows, and failures that are the same become groups.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::LazyLock,
};

use regex::Regex;
use serde::Serialize;

use super::{
    changes,
    outcome::{Failure, Kind, Outcome},
    plan::{Head, Plan, Task},
    result::{self, CLAIMS, DONE, Part},
    work::canonical,
};
use base::{
    change::Entry,
    error::{Code, Error},
    hash::Sha256,
    json,
};
use host::{Asked, Context, Options, Source, Started};
use record::event;
use service::exec::PrivateFolder;
use system::{policy::Policy, store::Store, workspace::Workspace};

/// How far a fleet is, by the keys of the store alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// All tasks.
    pub tasks: usize,
    /// Those that are done, whatever became of them.
    pub done: usize,
    /// Those that were begun and are not done.
    pub begun: usize,
    /// Those that nobody has begun.
    pub open: usize,
}

/// One task of a collected fleet.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The task's name.
    pub name: String,
    /// The repository.
    pub url: String,
    /// The commit.
    pub commit: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The files that its run changed.
    #[serde(skip)]
    pub entries: Vec<Entry>,
}

/// Tasks that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The code of the error.
    pub code: String,
    /// The sentence, with names of files and numbers left out.
    pub message: String,
    /// The place in the script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The names of the tasks.
    pub tasks: Vec<String>,
}

/// A collected fleet.
#[derive(Clone, Debug, Serialize)]
pub struct Collected {
    /// The tasks that are done, in the order of the plan.
    pub rows: Vec<Row>,
    /// The names of those that are not.
    pub missing: Vec<String>,
    /// Tasks that failed, in groups: the largest first.
    pub groups: Vec<Group>,
    /// The hash of all patches together, each with the commit that it is for, and of the forms of commits and requests. An approval names it.
    pub patches: Sha256,
}

/// Takes the parts of a task that are to be kept: the row, the patch and the report.
pub type Keep<'k> = dyn FnMut(&Row, Option<&[u8]>, Option<&[u8]>) -> Result<(), Error> + 'k;

/// Tells how far a fleet is.
pub fn status(store: &Store, tasks: &[Task]) -> Result<Standing, Error> {
    let ids: BTreeSet<String> = tasks.iter().map(|task| task.id.to_string()).collect();
    let done: BTreeSet<String> = store.list(DONE)?.into_iter().filter(|id| ids.contains(id)).collect();
    let claims = store.list(CLAIMS)?;
    let claimed: BTreeSet<&str> = claims.iter().filter_map(|key| Some(key.rsplit_once('-')?.0)).collect();
    let begun = claimed.iter().filter(|id| ids.contains(**id) && !done.contains(**id)).count();
    Ok(Standing { tasks: ids.len(), done: done.len(), begun, open: ids.len() - done.len() - begun })
}

/// Collects the results of all tasks. Nothing is believed that is not verified: a damaged object is an error that names its task.
pub fn collect(store: &Store, plan: &Plan, options: &Options, keep: &mut Keep<'_>) -> Result<Collected, Error> {
    let Plan { head, tasks } = plan;
    let verifier = Verifier::new(options)?;
    let done: BTreeSet<String> = store.list(DONE)?.into_iter().collect();
    let (mut rows, mut missing, mut patches) = (Vec::new(), Vec::new(), Vec::new());
    for task in tasks {
        if options.cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Error::new(Code::Cancelled, "the collection was cancelled"));
        }
        let named = |error: Error| {
            let about = Error::new(error.code(), format!("the task `{}`: {}", task.name, error.message()));
            error.hint_text().map_or(about.clone(), |hint| about.hint(hint))
        };
        let is_done = done.contains(&task.id.to_string());
        let outcome = if is_done { result::outcome(store, task.id).map_err(named)? } else { None };
        let Some(outcome) = outcome else {
            missing.push(task.name.clone());
            continue;
        };
        let read = |part, sha256: Option<Sha256>| {
            sha256.map(|sha256| result::part(store, &outcome, part, sha256)).transpose().map_err(named)
        };
        let entries = match read(Part::Record, outcome.volatile.record)? {
            Some(record) => verifier.verify((head, task), &outcome, &record).map_err(named)?,
            // Without a run there is nothing but a failure to tell of.
            None if outcome.kind == Kind::Failed && outcome.patch.is_none() => Vec::new(),
            None => return Err(named(Error::new(Code::RecordDamaged, "its outcome has no record"))),
        };
        let patch = read(Part::Patch, outcome.patch)?;
        patch.as_ref().map_or(Ok(()), |patch| changes::check(patch, &entries)).map_err(named)?;
        let report = read(Part::Report, outcome.volatile.report)?;
        patches.extend(outcome.patch.map(|sha256| (task.url.clone(), task.commit.clone(), task.id, sha256)));
        let Task { name, url, commit, .. } = task.clone();
        let row = Row { name, url, commit, outcome, entries };
        keep(&row, patch.as_deref(), report.as_deref())?;
        rows.push(row);
    }
    let patches = json::sha256(&(patches, &head.commit, &head.request))?;
    Ok(Collected { groups: groups(&rows), rows, missing, patches })
}

/// A workspace into which records are taken, one at a time, to be verified.
struct Verifier {
    context: Context,
    _folder: PrivateFolder,
}

impl Verifier {
    fn new(options: &Options) -> Result<Self, Error> {
        let folder = PrivateFolder::make("collect")?;
        let workspace = Workspace::open(folder.path())?;
        let context = Context::with_policy(workspace, Policy::default(), options.clone())?;
        Ok(Verifier { context, _folder: folder })
    }

    /// Takes a record in, which verifies its chain, and compares it with the outcome; the files that it changed.
    fn verify(&self, asked: (&Head, &Task), outcome: &Outcome, mut record: &[u8]) -> Result<Vec<Entry>, Error> {
        let wrong = |why: &str| {
            Error::new(Code::RecordDamaged, format!("its record {why}")).hint("work the task again with another store")
        };
        let run = host::import(&self.context, &mut record)?;
        if outcome.volatile.run.as_deref() != Some(run.as_str()) {
            return Err(wrong("is of another run than the outcome says"));
        }
        let folder = self.context.runs.open(&run)?;
        let root = outcome.volatile.root.as_deref().unwrap_or("/nonexistent");
        let is_same = Some(canonical(&folder, Path::new(root))?) == outcome.canonical;
        let is_asked = is_of(asked, &Started::load(&folder)?.asked);
        let overview = host::overview(&self.context, &folder)?;
        let ended = folder.records_of(&[event::Kind::RunFinished])?;
        let entries = changes::of(&folder)?;
        let error = ended.iter().rev().find_map(|record| record.event.end()?.error.as_ref());
        folder.remove()?;
        let kind = match overview.state.as_str() {
            "done" if overview.files_changed > 0 => Kind::Changed,
            "done" => Kind::Nothing,
            "suspended" => Kind::Waits,
            _ if error.is_some_and(|error| error.code() == Code::NoMatch) => Kind::Nothing,
            _ => Kind::Failed,
        };
        let says = (outcome.kind, outcome.files_changed as u64, outcome.patch.is_some());
        let is_right = says == (kind, overview.files_changed, kind == Kind::Changed);
        match (is_asked, is_same && is_right) {
            (false, _) => Err(wrong("is of another script or of other arguments than the task's")),
            (true, false) => Err(wrong("says something else than the outcome")),
            (true, true) => Ok(entries),
        }
    }
}

/// True if a run was asked to do what a task is.
fn is_of((head, task): (&Head, &Task), asked: &Asked) -> bool {
    let Asked::Script { path, sources, args, .. } = asked else { return false };
    let is_source = |(name, source): (&String, &Source)| head.sources.get(name) == Some(&source.text);
    *path == head.script && *args == task.args && sources.iter().all(is_source)
}

/// Tasks that failed or wait, by what they say but for names and numbers.
fn groups(rows: &[Row]) -> Vec<Group> {
    let mut found: BTreeMap<(String, Option<String>, String), Vec<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| matches!(row.outcome.kind, Kind::Failed | Kind::Waits)) {
        let Some(Failure { code, message, at }) = row.outcome.error.clone() else { continue };
        found.entry((code, at, shape(&message))).or_default().push(row.name.clone());
    }
    let mut groups: Vec<Group> =
        found.into_iter().map(|((code, at, message), tasks)| Group { code, message, at, tasks }).collect();
    // The sort is stable, so that groups of the same size stay in the order of their words.
    groups.sort_by_key(|group| std::cmp::Reverse(group.tasks.len()));
    groups
}

/// A sentence without what is quoted in it and without its numbers.
fn shape(message: &str) -> String {
    static NAMES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("`[^`]*`|[0-9a-f]{40,64}|[0-9]+").expect("it is a pattern"));
    NAMES.replace_all(message, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::fleet::outcome::Volatile;

    fn row(name: &str, kind: Kind, message: &str) -> Row {
        let volatile = Volatile { attempt: 1, run: None, root: None, record: None, report: None, duration_ms: 1 };
        let error = Failure { code: "verification_failed".to_owned(), message: message.to_owned(), at: None };
        let outcome = Outcome {
            task: Sha256::of(name.as_bytes()),
            kind,
            exit_code: 4,
            error: Some(error),
            files_changed: 0,
            diff_lines: 0,
            patch: None,
            canonical: None,
            volatile,
        };
        Row { name: name.to_owned(), url: String::new(), commit: String::new(), outcome, entries: Vec::new() }
    }

    #[test]
    fn the_same_failure_of_other_files_is_one_group() {
        let rows = [
            row("a", Kind::Failed, "`x.md` has 3 links too many"),
            row("b", Kind::Failed, "there is no table"),
            row("c", Kind::Waits, "`docs/y.md` has 17 links too many"),
            row("d", Kind::Changed, "there is no table"),
        ];
        let groups = groups(&rows);
        let told: Vec<(&str, usize)> = groups.iter().map(|group| (group.message.as_str(), group.tasks.len())).collect();
        assert_eq!(told, [("… has … links too many", 2), ("there is no table", 1)]);
        let reversed: Vec<Row> = rows.iter().rev().cloned().collect();
        assert_eq!(
            super::groups(&reversed).iter().map(|group| &group.message).collect::<Vec<_>>(),
            groups.iter().map(|group| &group.message).collect::<Vec<_>>()
        );
    }

    #[test]
    fn status_counts_keys_of_this_fleet_alone() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open("s", place.path(), &std::collections::BTreeMap::new()).unwrap();
        let tasks = crate::face::fleet::plan::tests::plan(4).tasks;
        for key in [
            format!("done/{}", tasks[0].id),
            format!("done/{}", Sha256::of(b"another")),
            format!("claims/{}-1", tasks[0].id),
            format!("claims/{}-1", tasks[1].id),
            format!("claims/{}-2", tasks[1].id),
        ] {
            store.create(&key, b"").unwrap();
        }
        assert_eq!(status(&store, &tasks).unwrap(), Standing { tasks: 4, done: 1, begun: 1, open: 2 });
    }
}
