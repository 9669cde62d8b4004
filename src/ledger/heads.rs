//! The heads: where each run's chain ended, so that a chain that was cut short is noticed.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use serde::{Deserialize, Serialize};

use super::{
    Runs,
    folder::{append_to, read_if_there},
};
use crate::error::{Code, Error};

const HEADS: &str = "heads.jsonl";

/// The end of a run's chain when the run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl Runs {
    /// Appends a head and waits until it is on the disk. One write, so that two processes don't mix their lines.
    pub fn add_head(&self, head: &Head) -> Result<(), Error> {
        let mut line = serde_json::to_string(head).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
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
        let bytes = read_if_there(&self.path().join(HEADS))?.unwrap_or_default();
        let mut heads = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Head>(line).ok());
        Ok(heads.rfind(|head| head.run == run))
    }

    /// The latest head of every run that stopped, for whoever looks at all of them.
    pub fn heads(&self) -> Result<BTreeMap<String, Head>, Error> {
        let bytes = read_if_there(&self.path().join(HEADS))?.unwrap_or_default();
        let heads = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Head>(line).ok());
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
        let head = |run: &str| Head { run: run.to_owned(), seq: 1, hash: "h".to_owned(), state: "done".to_owned() };
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
        let all: Vec<Head> = runs.heads().unwrap().into_values().collect();
        assert_eq!(all, [head("a"), later, head("d")]);
    }
}
