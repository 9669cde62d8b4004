//! Recorded replies that answer, or are recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use system::policy;

/// Recorded replies of language models: what is done with them, and the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tape {
    /// The mode: it says whether recorded replies answer, and whether replies are recorded.
    pub mode: policy::Cassettes,
    /// The folder of the files, as whoever reads and writes them names it.
    pub folder: String,
    /// The files: `KEY.json` and its text.
    #[serde(skip)]
    pub files: BTreeMap<String, String>,
}
