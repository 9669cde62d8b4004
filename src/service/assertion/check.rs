//! The process that sees whether an assertion holds: a request on standard input, a verdict on standard output.
//!
//! It knows the tree and the request, nothing of the run that made the commitment, and nothing that anybody says of it.

use std::{
    io::{Read, Write},
    path::PathBuf,
    process::ExitCode,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Baseline, Sight, Verdict, measure, parse};
use crate::{
    base::error::{Code, Error},
    system::{
        policy::Hidden,
        workspace::{self, Overlay, Proposed, View, Workspace},
    },
};

/// What is to be seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workspace's root.
    pub root: PathBuf,
    /// The run's folder.
    pub run_folder: PathBuf,
    /// The assertion, as it was made.
    pub assertion: Value,
    /// Globs of files that are passed over; none: nothing is.
    pub hidden: Option<Vec<String>>,
    /// What `tree_unchanged` compares with.
    pub baseline: Option<Baseline>,
    /// What a dry run proposes; lies over the tree.
    pub overlay: Vec<Proposed>,
    /// How many threads it may use.
    pub threads: usize,
}

impl Request {
    /// What the process has to be able to read: the tree, what is ignored in it, the record.
    pub fn readable(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.root.clone(), self.run_folder.clone()];
        paths.extend(workspace::ignore_files_above(&self.root));
        paths
    }
}

/// Reads one [`Request`], writes one [`Verdict`]. Exit code 0 if it holds, 4 if not, 1 if it can't be told.
///
/// `confine` is called with the request before anything that it names is opened.
pub fn main(mut input: impl Read, mut output: impl Write, confine: impl FnOnce(&Request)) -> ExitCode {
    let mut text = String::new();
    let request = input.read_to_string(&mut text).map_err(|error| error.to_string());
    let request = request.and_then(|_| serde_json::from_str::<Request>(&text).map_err(|error| error.to_string()));
    let verdict = match request {
        Ok(request) => {
            confine(&request);
            answer(&request).unwrap_or_else(|error| Verdict::fails(format!("it can't be told: {}", error.message())))
        }
        Err(error) => Verdict::fails(format!("the request can't be read: {error}")),
    };
    let written = serde_json::to_vec(&verdict).map_err(std::io::Error::other).and_then(|line| {
        output.write_all(&line)?;
        output.flush()
    });
    match (written, verdict.ok) {
        (Err(_), _) => ExitCode::FAILURE,
        (Ok(()), true) => ExitCode::SUCCESS,
        (Ok(()), false) => ExitCode::from(Code::VerificationFailed.exit_code()),
    }
}

fn answer(request: &Request) -> Result<Verdict, Error> {
    let assertion = parse(&request.assertion)?;
    let workspace = Workspace::open(&request.root)?;
    let overlay = Overlay::read(&request.overlay)?;
    let hidden = request.hidden.as_deref().map(Hidden::new).transpose()?;
    let sight = Sight { view: View::new(&workspace, &overlay), hidden: hidden.as_ref(), threads: request.threads };
    Ok(measure(sight, &assertion, request.baseline.as_ref()))
}
