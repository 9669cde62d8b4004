//! The heads: where each run's chain ended, so that a chain that was cut short is noticed.

use std::io::Write;

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
}
