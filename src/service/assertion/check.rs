//! The process that checks an assertion: a request on standard input, a verdict on standard output.
//!
//! It knows the tree and the request, but neither the run that made the commitment nor any claim about it.

use std::{
    io::{Read, Write},
    path::PathBuf,
    process::ExitCode,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Baseline, Sight, Verdict, measure, parse};
use base::error::{Code, Error};
use system::{
    policy::Hidden,
    workspace::{self, Overlay, Proposed, View, Workspace},
};

/// A request for a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workspace's root.
    pub root: PathBuf,
    /// The run's folder.
    pub run_folder: PathBuf,
    /// The assertion, as the commitment states it.
    pub assertion: Value,
    /// Globs of files to ignore; if none, nothing is ignored.
    pub hidden: Option<Vec<String>>,
    /// The state that `tree_unchanged` compares with.
    pub baseline: Option<Baseline>,
    /// The proposals of a dry run; they lie over the tree.
    pub overlay: Vec<Proposed>,
    /// The number of threads that it may use.
    pub threads: usize,
}

impl Request {
    /// The paths that the process must read: the tree, the ignore files above it, the record.
    pub fn readable(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.root.clone(), self.run_folder.clone()];
        paths.extend(workspace::ignore_files_above(&self.root));
        paths
    }
}

/// Reads one [`Request`], writes one [`Verdict`]. The exit code is 0 if it holds, 4 if not, and 1 if there is no result.
///
/// `confine` is called with the request before any path in it is opened.
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
