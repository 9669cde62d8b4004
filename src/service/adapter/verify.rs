//! The verifier's process: a request on standard input, a report on standard output, from the record and disk alone.
//!
//! Unreadable or malformed evidence is a failure; nothing passes by omission.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    Adapter, Adapters, Context,
    contract::{BaselineRecord, Counts, Failure, ManifestRecord, Verdict},
    evidence::{Evidence, HASHES_MATCH, Images, NOTHING_ELSE_CHANGED},
    record_files,
    source::Source,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};
use system::{
    git,
    policy::Hidden,
    workspace::{self, Overlay, Proposed, View, Workspace},
};

/// The baseline on disk is the recorded one.
pub const BASELINE_INTACT: &str = "baseline_intact";
/// The manifest on disk is the recorded one.
pub const MANIFEST_INTACT: &str = "manifest_intact";

/// The advice if a program's own adapter is unknown to its verifier.
const EMBEDDERS: &str = "a program with adapters of its own gives them to `nrv::entry::main_if_requested_with`";

/// A file of the record and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRef {
    /// Relative to the run's folder.
    pub path: String,
    /// The hash of its bytes when it was written.
    pub sha256: Sha256,
}

/// The places of the contents that the tree does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// The change was made. The folder with the contents before: file `n`, from 0, belongs to entry `n`; none for created files.
    Before(PathBuf),
    /// A preview. The file with the proposed contents, one behind the other in the order of the entries.
    After(PathBuf),
}

/// A request to the verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The adapter's name.
    pub tool: String,
    /// The workspace's root.
    pub root: PathBuf,
    /// The run's folder.
    pub run_folder: PathBuf,
    /// The record of the baseline.
    pub baseline: ArtifactRef,
    /// The manifest.
    pub manifest: ArtifactRef,
    /// The places of the contents that the tree does not hold.
    pub contents: Contents,
    /// Proposals of earlier steps of the same dry run; they lie over the tree.
    #[serde(default)]
    pub overlay: Vec<Proposed>,
    /// Globs of the files that nobody may look at, beside those of the target: `paths.read_deny`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// True for a verification after the run, when other files may have changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_later: bool,
    /// The number of threads that it may use.
    pub threads: usize,
    /// The source of the adapter, if a user wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The folders in which such an adapter's programs are looked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

/// Makes an adapter of the source that a user wrote.
pub type Rebuild<'a> = &'a dyn Fn(&Source, &Request) -> Result<Arc<dyn Adapter>, Error>;

/// The verifier's report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// True if every check passed.
    pub passed: bool,
    /// The checks that were made.
    pub checks: Vec<String>,
    /// The failures, sorted; empty if and only if `passed`.
    pub failures: Vec<Failure>,
    /// The counts.
    pub counts: Counts,
    /// The number of links probed over the network.
    pub sample_size: u64,
    /// New URLs that the host may probe, sorted; the verifier itself has no network.
    #[serde(default)]
    pub samples: Vec<String>,
    /// Further remarks, as sentences without final period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl Request {
    /// The paths that the verifier must read: the tree, the ignore files above it, its repository, the record.
    pub fn readable(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.root.clone(), self.run_folder.clone()];
        paths.extend(workspace::ignore_files_above(&self.root));
        paths.extend(git::readable(&self.root));
        paths
    }
}

impl Report {
    /// The verifier's part of an adapter's output.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            passed: self.passed,
            checks: self.checks.clone(),
            sample_size: self.sample_size,
            failures: self.failures.clone(),
            remarks: self.remarks.clone(),
        }
    }

    fn new(checks: &[&str], mut failures: Vec<Failure>) -> Self {
        failures.sort();
        failures.dedup();
        Report {
            passed: failures.is_empty(),
            checks: checks.iter().map(ToString::to_string).collect(),
            failures,
            ..Report::default()
        }
    }
}

/// Reads one [`Request`], writes one [`Report`]. The exit code is 0 if it passed, 4 if not, and 1 if there is no result.
///
/// `confine` is called with the request before any path in it is opened.
pub fn main(
    (adapters, rebuild): (&Adapters, Rebuild<'_>),
    mut input: impl Read,
    mut output: impl Write,
    confine: impl FnOnce(&Request),
) -> ExitCode {
    let mut text = String::new();
    let request = input.read_to_string(&mut text).map_err(|error| error.to_string());
    let request = request.and_then(|_| serde_json::from_str::<Request>(&text).map_err(|error| error.to_string()));
    let report = match request {
        Ok(request) => {
            confine(&request);
            answer(adapters, rebuild, &request)
        }
        Err(error) => Report::new(&[], vec![Failure::new("request", format!("the request can't be read: {error}"))]),
    };
    let written = serde_json::to_vec(&report).map_err(std::io::Error::other).and_then(|mut line| {
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()
    });
    match (written, report.passed) {
        (Err(_), _) => ExitCode::FAILURE,
        (Ok(()), true) => ExitCode::SUCCESS,
        (Ok(()), false) => ExitCode::from(Code::VerificationFailed.exit_code()),
    }
}

fn answer(adapters: &Adapters, rebuild: Rebuild<'_>, request: &Request) -> Report {
    if let Some(source) = &request.source {
        return match rebuild(source, request) {
            Ok(adapter) if adapter.name() == request.tool => verify(adapter.as_ref(), request),
            Ok(adapter) => {
                Report::new(&[], vec![Failure::new("request", format!("the source is that of `{}`", adapter.name()))])
            }
            Err(error) => Report::new(&[], vec![Failure::new("request", told(&error))]),
        };
    }
    match adapters.find(&request.tool) {
        Ok(adapter) => verify(adapter, request),
        Err(error) => {
            let reason = format!("{} in the program that verifies; {EMBEDDERS}", error.message());
            Report::new(&[], vec![Failure::new("request", reason)])
        }
    }
}

/// Verifies from the record and disk alone.
pub fn verify(adapter: &dyn Adapter, request: &Request) -> Report {
    let (baseline, manifest) = match records(request) {
        Ok(records) => records,
        Err(failures) => return Report::new(&[BASELINE_INTACT, MANIFEST_INTACT], failures),
    };
    let images = match &request.contents {
        Contents::Before(folder) => Images::Applied(folder.clone()),
        Contents::After(file) => Images::Preview(file.clone()),
    };
    let opened = Workspace::open(&request.root).and_then(|workspace| Ok((workspace, Overlay::read(&request.overlay)?)));
    let opened = opened.and_then(|(workspace, overlay)| Ok((workspace, overlay, Hidden::new(&request.hidden)?)));
    let report = opened.and_then(|(workspace, overlay, hidden)| {
        let cancel = Arc::new(AtomicBool::new(false));
        let view = View::new(&workspace, &overlay);
        // Settings of the user, who is not known here, don't change the history.
        let renames = || git::renames(&request.root, &BTreeMap::new(), &cancel);
        let contents = |names: &[String]| git::contents(&request.root, names, &BTreeMap::new(), &cancel);
        let run = request.run_folder.file_name().and_then(|name| name.to_str());
        let ctx = Context {
            run,
            hidden: Some(&hidden),
            is_later: request.is_later,
            renames: &renames,
            contents: &contents,
            ..Context::of_tree(view, request.threads, &cancel)
        };
        let looks_at = adapter.looks_at(&baseline.input);
        judge(&ctx, adapter, Evidence::new(looks_at, (&baseline, &manifest), images))
    });
    report.unwrap_or_else(|error| {
        Report::new(&[BASELINE_INTACT, MANIFEST_INTACT], vec![Failure::new("verifier", told(&error))])
    })
}

/// An error in one sentence, with its place and its hint.
fn told(error: &Error) -> String {
    let place = error.location().map(|at| format!(" ({}:{}:{})", at.path, at.line, at.column)).unwrap_or_default();
    let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{}{place}{hint}", error.message())
}

/// Makes every check on evidence whose records are intact.
pub fn judge(ctx: &Context<'_>, adapter: &dyn Adapter, evidence: Evidence<'_>) -> Result<Report, Error> {
    let measured = adapter.measure(ctx, &evidence.baseline.input, &evidence)?;
    let mut failures = measured.failures;
    failures.extend(evidence.into_failures(ctx));
    let mut checks = vec![BASELINE_INTACT, MANIFEST_INTACT, HASHES_MATCH, NOTHING_ELSE_CHANGED];
    checks.extend(measured.checks.iter().filter(|check| !checks.contains(check)).copied().collect::<Vec<_>>());
    Ok(Report {
        counts: measured.counts,
        sample_size: measured.sample_size,
        samples: measured.samples,
        remarks: measured.remarks,
        ..Report::new(&checks, failures)
    })
}

fn records(request: &Request) -> Result<(BaselineRecord, ManifestRecord), Vec<Failure>> {
    let baseline = artifact::<BaselineRecord>(&request.run_folder, &request.baseline, BASELINE_INTACT);
    let manifest = artifact::<ManifestRecord>(&request.run_folder, &request.manifest, MANIFEST_INTACT);
    let (baseline, manifest) = match (baseline, manifest) {
        (Ok(baseline), Ok(manifest)) => (baseline, manifest),
        (baseline, manifest) => return Err([baseline.err(), manifest.err()].into_iter().flatten().collect()),
    };
    let mut failures = Vec::new();
    if baseline.input.tool != request.tool {
        failures.push(Failure::new(BASELINE_INTACT, format!("it is of `{}`", baseline.input.tool)));
    }
    if baseline.adapter != request.source.as_ref().map(|source| source.sha256) {
        failures.push(Failure::new(BASELINE_INTACT, "it is of another version of the adapter's source"));
    }
    if manifest.tool != request.tool {
        failures.push(Failure::new(MANIFEST_INTACT, format!("it is of `{}`", manifest.tool)));
    }
    let twice = |pair: &[_]| -> bool { pair[0] >= pair[1] };
    if manifest.entries.iter().map(|entry| &entry.path).collect::<Vec<_>>().windows(2).any(twice) {
        failures.push(Failure::new(MANIFEST_INTACT, "its entries are not sorted by path"));
    }
    if failures.is_empty() { Ok((baseline, manifest)) } else { Err(failures) }
}

fn artifact<T: DeserializeOwned>(folder: &Path, artifact: &ArtifactRef, check: &str) -> Result<T, Failure> {
    let fail = |reason: String| Failure::at(check, &artifact.path, reason);
    let path = RepoPath::parse(&artifact.path).map_err(|error| fail(error.message().to_owned()))?;
    let bytes = record_files::read(&folder.join(path.as_str())).map_err(|error| fail(error.message().to_owned()))?;
    let found = Sha256::of(&bytes);
    if found != artifact.sha256 {
        return Err(fail(format!("its hash is {found}, not {}", artifact.sha256)));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| fail(format!("it does not have the shape that it must have: {error}")))
}
