//! The heads: where each run's chain ended, so that a chain that was cut short is noticed.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Runs,
    shared_file::{append_to, read_if_there},
};
use crate::shared_file::HEADS;
use base::{error::Error, hash::Sha256, json};

/// The end of a run's chain when the run stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The run.
    pub run: String,
    /// The number of its last record.
    pub seq: u64,
    /// The hash of its last record.
    pub hash: String,
    /// `done`, `failed`, `suspended`, …
    pub state: String,
    /// The data that a listing shows, so that it need not open the record; older heads have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<Value>,
}

/// A head as it stands in its line, which is canonical JSON: `check` comes first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    run: String,
    seq: u64,
    hash: String,
    state: String,
    #[serde(default)]
    overview: Option<Value>,
    /// The hash of the canonical JSON of everything else; older lines have none.
    #[serde(default)]
    check: Option<Sha256>,
}

/// The latest head of one run, and the fault of its lines.
#[derive(Debug, Default)]
pub(super) struct HeadsOf {
    /// The latest.
    pub(super) last: Option<Head>,
    /// The reason why its lines are not as they were written; none if they are.
    pub(super) fault: Option<&'static str>,
}

impl Head {
    /// The end of a run's chain with the number and hash of its last record, and how the run stopped.
    pub fn new(run: &str, (seq, hash): (u64, &str), state: &str) -> Self {
        Head { run: run.to_owned(), seq, hash: hash.to_owned(), state: state.to_owned(), overview: None }
    }

    /// Reads a line; none if it is no head, or not the one that was written.
    fn read(line: &[u8]) -> Option<Self> {
        // A line feed that became other white space would not matter to JSON.
        if line.last() != Some(&b'}') {
            return None;
        }
        let Line { run, seq, hash, state, overview, check } = serde_json::from_slice(line).ok()?;
        let is_whole = check.is_none_or(|check| {
            // The rest of the line, which is canonical itself, so that nothing has to be written once more to be hashed.
            let rest = line.strip_prefix(Self::opening(&check).as_bytes());
            rest.is_some_and(|rest| Sha256::of_parts(&[b"{", rest]) == check)
        });
        is_whole.then_some(Head { run, seq, hash, state, overview })
    }

    /// How a line begins, up to its second member.
    fn opening(check: &Sha256) -> String {
        format!("{{\"check\":\"{check}\",")
    }

    fn line(&self) -> Result<String, Error> {
        let text = json::canonical(self)?;
        Ok(Self::opening(&Sha256::of(text.as_bytes())) + &text[1..])
    }
}

impl Runs {
    /// Appends a head and waits until it is on the disk. One write, so that two processes don't mix their lines.
    pub fn add_head(&self, head: &Head) -> Result<(), Error> {
        let mut line = head.line()?;
        line.push('\n');
        let mut file = append_to(&self.path().join(HEADS))?;
        let whole = ends_a_line(&mut file).map_err(|error| Error::io("the heads of runs can't be read", &error))?;
        if !whole {
            // What a crash left of another head must not swallow this one.
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(|error| Error::io("the head of the run can't be recorded", &error))
    }

    /// The latest head of a run; none if it never stopped. Lines that are no heads are passed over.
    pub fn head(&self, run: &str) -> Result<Option<Head>, Error> {
        self.heads_of(run).map(|heads| heads.last)
    }

    /// The latest head of a run, and whether a later line of it is none, or any stands twice.
    pub(super) fn heads_of(&self, run: &str) -> Result<HeadsOf, Error> {
        self.check_format()?;
        let bytes = read_if_there(&self.path().join(HEADS))?.unwrap_or_default();
        let finder = memchr::memmem::Finder::new(run.as_bytes());
        let mut found = HeadsOf::default();
        let (mut later, own) = (None, format!("\"run\":\"{run}\""));
        for line in bytes.rsplit(|byte| *byte == b'\n').filter(|line| finder.find(line).is_some()) {
            // The line of a run that undid this one names it too.
            let is_own = memchr::memmem::find(line, own.as_bytes()).is_some();
            if found.last.is_none() {
                found.last = Head::read(line).filter(|head| head.run == run);
                found.fault =
                    found.fault.or((found.last.is_none() && is_own).then_some("the line of this run was altered"));
            }
            if is_own {
                // A run that stops again has gone on in between.
                found.fault = found.fault.or((later == Some(line)).then_some("a line of this run stands twice"));
                later = Some(line);
            }
        }
        Ok(found)
    }

    /// The latest head of every run that stopped, for whoever looks at all of them.
    pub fn heads(&self) -> Result<BTreeMap<String, Head>, Error> {
        self.check_format()?;
        let bytes = read_if_there(&self.path().join(HEADS))?.unwrap_or_default();
        let heads = bytes.split(|byte| *byte == b'\n').filter_map(Head::read);
        Ok(heads.map(|head| (head.run.clone(), head)).collect())
    }
}

/// True if a file is empty or ends with a line feed.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_was_cut_off_does_not_swallow_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(folder.path());
        runs.prepare().unwrap();
        let head = |run: &str| Head::new(run, (1, "h"), "done");
        runs.add_head(&head("a")).unwrap();
        append_to(&runs.path().join(HEADS)).unwrap().write_all(b"{\"run\":\"b\",\"se").unwrap();
        runs.add_head(&head("c")).unwrap();
        runs.add_head(&head("d")).unwrap();
        for run in ["a", "c", "d"] {
            assert_eq!(runs.head(run).unwrap(), Some(head(run)));
        }
        assert_eq!(runs.head("b").unwrap(), None);
        let later = Head { state: "expired".to_owned(), ..head("c") };
        runs.add_head(&later).unwrap();
        let old = br#"{"run":"e","seq":1,"hash":"h","state":"done"}"#;
        append_to(&runs.path().join(HEADS)).unwrap().write_all(old).unwrap();
        let all: Vec<Head> = runs.heads().unwrap().into_values().collect();
        assert_eq!(all, [head("a"), later, head("d"), head("e")]);
    }
}
