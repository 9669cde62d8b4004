//! The plan of a fleet: a file of JSON lines, the first of which holds what all tasks share, and each other one a task.
//!
//! The same inputs give the same bytes. A task's id is the hash of everything that its result depends on.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, Write},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    form::{CommitForm, RequestForm, is_name},
    manifest::PolicyText,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
};
use script::remote::{check_address, is_commit};

/// The format that this version writes and reads.
pub(super) const FORMAT: u32 = 1;

/// The longest line that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// The parts of a plan that all tasks share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The format.
    pub format: u32,
    /// The fleet's name.
    pub fleet: String,
    /// The address of the store, relative to the plan's folder.
    pub store: String,
    /// The script's path.
    pub script: String,
    /// The script and all that it imports.
    pub sources: BTreeMap<String, String>,
    /// The policy that is the ceiling of every task.
    pub policy: PolicyText,
    /// The confirmations that the script's approval grants.
    pub grants: Vec<String>,
    /// How often a task that could not be done for a temporary reason is tried again.
    pub retries: u32,
    /// The seconds that a task rests after its first failure for a temporary reason.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_pause_s: u32,
    /// Minutes after which a claim counts no more.
    pub lease_minutes: u32,
    /// The most megabytes of a clone.
    pub clone_mb: u64,
    /// The commits that are pushed; none if patches are all that is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitForm>,
    /// The commands that open change requests; none if branches are all that is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestForm>,
    /// The most tasks that may fail before no other is begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<usize>,
    /// The hash of the ids of all tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Sha256>,
    /// How many tasks follow.
    pub tasks: usize,
    /// The hash of the other fields.
    pub seal: Option<Sha256>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form of functions that serde calls")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One task: the script on one commit of one repository, or on a shard of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The hash of its inputs.
    pub id: Sha256,
    /// Its name in reports: the repository's, and the number of its shard.
    pub name: String,
    /// The repository's address.
    pub url: String,
    /// The full hash of its commit.
    pub commit: String,
    /// The arguments of the script.
    pub args: Value,
    /// The glob that the task may write at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The hash of the repository's tables that start programs or send requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The parts that all tasks share.
    pub head: Head,
    /// The tasks, in the order of their names.
    pub tasks: Vec<Task>,
}

impl Head {
    /// The hash of what the results of all tasks depend on.
    pub(super) fn inputs(&self) -> Result<Sha256, Error> {
        let Head { format, script, sources, policy, grants, clone_mb, .. } = self;
        json::sha256(&json!({
            "format": format, "version": env!("CARGO_PKG_VERSION"), "script": script, "sources": sources, "policy": policy, "grants": grants, "clone_mb": clone_mb,
        }))
    }

    /// The head with the hash of its other fields.
    pub(super) fn sealed(self) -> Result<Self, Error> {
        let open = Head { seal: None, ..self };
        Ok(Head { seal: Some(json::sha256(&open)?), ..open })
    }
}

impl Task {
    /// The hash of the inputs of the task, of which those that all share are given as one.
    pub(super) fn hash(&self, shared: Sha256) -> Result<Sha256, Error> {
        let Task { name, url, commit, args, shard, trust, .. } = self;
        json::sha256(&json!({
            "shared": shared, "name": name, "url": url, "commit": commit, "args": args, "shard": shard, "trust": trust,
        }))
    }
}

impl Plan {
    /// Writes the plan as JSON lines; the hash of its bytes.
    pub fn write(&self, out: &mut dyn Write) -> Result<Sha256, Error> {
        let mut bytes = line(&self.head)?;
        for task in &self.tasks {
            bytes.extend(line(task)?);
        }
        out.write_all(&bytes).map_err(|error| Error::io("the plan can't be written", &error))?;
        Ok(Sha256::of(&bytes))
    }

    /// Reads a whole plan, and checks that each task has the hash of its inputs.
    pub fn read(input: &mut dyn BufRead) -> Result<Plan, Error> {
        let mut lines = Lines::of(input)?;
        let mut tasks = Vec::new();
        while let Some(task) = lines.next()? {
            tasks.push(task);
        }
        if tasks.len() != lines.head.tasks {
            return Err(damaged(tasks.len() + 1, "tasks are missing at its end"));
        }
        check_names(&tasks)?;
        Ok(Plan { head: lines.head, tasks })
    }

    /// Reads the head and the tasks of these numbers, which rise. Of the others nothing is looked at, so that a worker of a large fleet
    /// begins soon.
    pub fn read_part(input: &mut dyn BufRead, numbers: impl FnOnce(&Head) -> Vec<usize>) -> Result<Plan, Error> {
        let mut lines = Lines::of(input)?;
        let mut tasks = Vec::new();
        for number in numbers(&lines.head) {
            if !lines.skip_to(number)? {
                break;
            }
            tasks.extend(lines.next()?);
        }
        Ok(Plan { head: lines.head, tasks })
    }
}

/// The numbers of the tasks that are tried first: so many, spread over all in their order.
pub fn canaries(tasks: usize, n: usize) -> Vec<usize> {
    let n = n.min(tasks);
    (0..n).map(|at| at * tasks / n).collect()
}

/// An error if two tasks have one name: their patches would be one file, also where names differ by case alone.
pub(super) fn check_names(tasks: &[Task]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    match tasks.iter().find(|task| !seen.insert(task.name.to_ascii_lowercase())) {
        None => Ok(()),
        Some(task) => Err(Error::new(Code::InvalidInput, format!("two tasks have the name `{}`", task.name))
            .hint("give one of the repositories another `name`")),
    }
}

/// The lines of a plan, read one after another.
struct Lines<'i> {
    /// The parts that all tasks share.
    pub head: Head,
    shared: Sha256,
    input: &'i mut dyn BufRead,
    n_read: usize,
}

impl<'i> Lines<'i> {
    /// Reads the first line.
    fn of(input: &'i mut dyn BufRead) -> Result<Self, Error> {
        let text = next_line(input, 1)?.ok_or_else(|| damaged(1, "it is empty"))?;
        let format = serde_json::from_str::<Value>(&text).ok().and_then(|head| head.get("format")?.as_u64());
        if format != Some(u64::from(FORMAT)) {
            return Err(damaged(1, &format!("it has another format than {FORMAT}")));
        }
        let head: Head = serde_json::from_str(&text).map_err(|error| damaged(1, &error.to_string()))?;
        if head.clone().sealed()? != head || !is_name(&head.fleet) {
            return Err(damaged(1, "it is not as it was written"));
        }
        let commit = head.commit.as_ref().and_then(CommitForm::fault).map(str::to_owned);
        if let Some(why) = commit.or_else(|| head.request.as_ref()?.check().err()) {
            return Err(damaged(1, &why));
        }
        Ok(Lines { shared: head.inputs()?, head, input, n_read: 1 })
    }

    /// Skips the tasks before a number; false if there are no more.
    fn skip_to(&mut self, number: usize) -> Result<bool, Error> {
        while self.n_read <= number {
            if next_line(self.input, self.n_read + 1)?.is_none() {
                return Ok(false);
            }
            self.n_read += 1;
        }
        Ok(true)
    }

    /// The next task; none at the end.
    fn next(&mut self) -> Result<Option<Task>, Error> {
        let at = self.n_read + 1;
        let Some(text) = next_line(self.input, at)? else { return Ok(None) };
        let task: Task = serde_json::from_str(&text).map_err(|error| damaged(at, &error.to_string()))?;
        if task.hash(self.shared)? != task.id {
            return Err(damaged(at, "the id is not the hash of the task's inputs"));
        }
        // Whoever writes a plan can make hashes, too.
        if !is_name(&task.name) || !is_commit(&task.commit) || check_address(&task.url).is_err() {
            return Err(damaged(at, "the task has a name, an address or a commit that no plan has"));
        }
        self.n_read = at;
        Ok(Some(task))
    }
}

fn next_line(input: &mut dyn BufRead, at: usize) -> Result<Option<String>, Error> {
    let mut text = String::new();
    let read = std::io::Read::take(&mut *input, LONGEST).read_line(&mut text);
    match read.map_err(|error| Error::io("the plan can't be read", &error))? {
        0 => Ok(None),
        _ if !text.ends_with('\n') => Err(damaged(at, "it ends in the middle of a line")),
        _ => Ok(Some(text)),
    }
}

fn damaged(at: usize, why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("line {at} of the plan is wrong: {why}"))
        .hint("`nrv fleet plan` writes it anew; a plan is not edited")
}

fn line(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    json::canonical(value).map(|text| (text + "\n").into_bytes())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A plan of so many tasks.
    pub(in super::super) fn plan(n: usize) -> Plan {
        let head = Head {
            format: FORMAT,
            fleet: "f".to_owned(),
            store: "store".to_owned(),
            script: "a.rhai".to_owned(),
            sources: BTreeMap::from([("a.rhai".to_owned(), "1".to_owned())]),
            policy: PolicyText { file: "nrv.toml".to_owned(), text: String::new() },
            grants: Vec::new(),
            retries: 3,
            retry_pause_s: 0,
            lease_minutes: 60,
            clone_mb: 100,
            commit: None,
            request: None,
            max_failures: None,
            set: None,
            tasks: n,
            seal: None,
        };
        let head = head.sealed().unwrap();
        let shared = head.inputs().unwrap();
        let task = |n: usize| {
            let task = Task {
                id: Sha256::of(b""),
                name: format!("r{n:06}"),
                url: format!("file:///r/{n}"),
                commit: "0".repeat(40),
                args: json!({}),
                shard: None,
                trust: None,
            };
            Task { id: task.hash(shared).unwrap(), ..task }
        };
        Plan { head, tasks: (0..n).map(task).collect() }
    }

    #[test]
    fn canaries_are_spread_over_all_tasks() {
        assert_eq!(canaries(10, 3), [0, 3, 6]);
        assert_eq!(canaries(2, 5), [0, 1]);
        assert_eq!((canaries(0, 5), canaries(5, 0)), (vec![], vec![]));
        assert!(canaries(100_000, 999).windows(2).all(|two| two[0] < two[1]));
    }

    #[test]
    fn a_plan_is_read_as_it_was_written_and_not_after_an_edit() {
        let plan = plan(3);
        let mut bytes = Vec::new();
        let sha256 = plan.write(&mut bytes).unwrap();
        assert_eq!(sha256, Sha256::of(&bytes));
        assert_eq!(Plan::read(&mut bytes.as_slice()).unwrap(), plan);
        for numbers in [vec![0], vec![1, 2], vec![0, 2], vec![2, 3], vec![3], vec![9], vec![]] {
            let part = Plan::read_part(&mut bytes.as_slice(), |_| numbers.clone()).unwrap();
            let expected: Vec<Task> = numbers.iter().filter_map(|n| plan.tasks.get(*n)).cloned().collect();
            assert_eq!((part.head, part.tasks), (plan.head.clone(), expected));
        }
        let text = String::from_utf8(bytes).unwrap();
        for (edited, words) in [
            (text.replace("file:///r/1", "file:///r/9"), "line 3 of the plan is wrong: the id"),
            (text.replace("\"text\":\"\"", "\"text\":\"x\""), "line 1 of the plan is wrong: it is not as"),
            (text.replace("\"name\":\"r000001\"", "\"name\":\"../../x\""), "line 3"),
            (text.replace("\"fleet\":\"f\"", "\"fleet\":\"x;y\""), "line 1"),
            (text.lines().take(3).map(|line| format!("{line}\n")).collect(), "tasks are missing"),
            (text.trim_end().to_owned(), "in the middle of a line"),
            (text.replace("\"format\":1", "\"format\":2"), "another format"),
            (String::new(), "empty"),
        ] {
            let error = Plan::read(&mut edited.as_bytes()).unwrap_err();
            assert!(error.message().contains(words), "{words}: {error}");
        }
    }
}
