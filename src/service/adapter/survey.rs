//! A proposer's walk over its target: it lists the files, and reads each of them once.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Context, Work,
    contract::{Baseline, Counts, FileHash, Finding, Invocation, Proposal, SKIPPED, Setting, Skipped},
    deadline::Deadline,
    listing::{self, Listed},
};
use base::{
    change::{Change, ChangeSet, Stamp},
    error::{Code, Error},
    path::{RepoPath, protected},
    text::counted,
};
use system::{
    git::{self, Tracked},
    workspace::{self, Globs},
};

/// Larger files are skipped, in bytes.
const LARGEST: u64 = 64 << 20;

/// The number of files that were read as their format.
pub const FILES_SCANNED: &str = "files_scanned";
/// The number of files that were left alone, each with a reason.
pub const FILES_SKIPPED: &str = "files_skipped";
/// The number of files under the glob that the adapter does not look at.
pub const FILES_IGNORED: &str = "files_ignored";

/// The treatment of a file that can't be read as its format: the parameter `on_skip` of an adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSkip {
    /// List it with its reason.
    #[default]
    List,
    /// Fail.
    Error,
}

/// A file of the target.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The file.
    pub path: &'a RepoPath,
    /// Its bytes.
    pub bytes: &'a [u8],
    pulse: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

impl Source<'_> {
    /// An error if the run was cancelled or the time is over. Long work calls it again and again.
    pub fn pulse(&self) -> Result<(), Error> {
        (self.pulse)()
    }
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look<T> {
    /// The findings.
    Read(T),
    /// The reason to leave the file alone.
    Skip(Cow<'static, str>),
}

/// A file that was read, with the findings in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Surveyed<T> {
    /// The file.
    pub path: RepoPath,
    /// Its hash, mode and length.
    pub before: Stamp,
    /// The findings.
    pub found: T,
}

/// The results of an adapter beside those of the survey.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Its own counts of the baseline.
    pub counts: Counts,
    /// Its own counts of the changes; `files` is added.
    pub changed: Counts,
    /// The changes, in any order.
    pub changes: Vec<Change>,
    /// The defects that the changes leave, in any order.
    pub findings: Vec<Finding>,
    /// The settings that were read from files of the tree, sorted.
    pub settings: Vec<Setting>,
}

/// The files of a target.
#[derive(Clone, Debug)]
pub struct Survey<T> {
    /// Files that were read as their format, sorted by path.
    pub files: Vec<Surveyed<T>>,
    /// Every file whose bytes were read, sorted by path.
    hashes: Vec<FileHash>,
    /// Files that were left alone, sorted by path.
    pub skipped: Vec<Skipped>,
    /// The number of files under the glob that the adapter does not look at.
    pub ignored: u64,
}

/// Reads every file of the target that matches `looks_at`, each once, by `ctx.threads` threads. The result does not depend on
/// their number.
///
/// `invalid_input` if the glob matches more files than `constraints.max_files`; then nothing is read. `budget_exhausted` after
/// `constraints.timeout_ms`.
pub fn survey<T: Send>(
    ctx: &Context<'_>,
    input: &Invocation,
    looks_at: &[&str],
    look: impl Fn(&Source<'_>) -> Result<Look<T>, Error> + Sync,
) -> Result<Survey<T>, Error> {
    let deadline = Deadline::begin(input, "looking at the files");
    let globs = input.target.globs(ctx.view)?;
    let looked_at = Globs::parse(looks_at)?;
    let mut listed = listing::list(ctx, &globs, &looked_at)?;
    let paths = listed.take_paths();
    let raised = format!("`constraints.max_files`, and `max_files` of `[adapters.{}]` in `nrv.toml`,", input.tool);
    let limit = ("`constraints.max_files` or the policy", raised.as_str());
    check_number(paths.len(), input.constraints.max_files, limit)?;
    let done = AtomicU64::new(0);
    let pulse = || deadline.check(ctx);
    let results = workspace::parallel_map_with(ctx.threads, &paths, Vec::new, |buffer, path| {
        pulse()?;
        let result = read(ctx, path, buffer, &pulse, &look);
        (ctx.progress)(Work::Discover, done.fetch_add(1, Ordering::Relaxed) + 1, paths.len() as u64);
        result
    });
    let Listed { ignored, skipped, .. } = listed;
    let mut survey = Survey { files: Vec::new(), hashes: Vec::new(), skipped, ignored };
    for (path, result) in paths.into_iter().zip(results) {
        survey.add(path, result?);
    }
    survey.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(survey)
}

/// The stamp of a file if it was read, and the result.
type Found<T> = (Option<Stamp>, Look<T>);

fn read<T>(
    ctx: &Context<'_>,
    path: &RepoPath,
    bytes: &mut Vec<u8>,
    pulse: &(dyn Fn() -> Result<(), Error> + Sync),
    look: &impl Fn(&Source<'_>) -> Result<Look<T>, Error>,
) -> Result<Found<T>, Error> {
    let Some(before) = ctx.view.read_into(path, LARGEST, bytes)? else {
        return Ok((None, Look::Skip("it is larger than 64 MiB".into())));
    };
    let found = look(&Source { path, bytes, pulse }).map_err(|error| error.detail("path", path.as_str()))?;
    Ok((Some(before), found))
}

/// Refuses more files than a limit allows; `limit` names it, and `raised` what a person may raise.
pub fn check_number(files: usize, most: u64, (limit, raised): (&str, &str)) -> Result<(), Error> {
    let files = files as u64;
    if files <= most {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidInput,
        format!("the glob matches {}, more than {limit} allows ({most})", counted(files, "file")),
    )
    .detail("files", files)
    .detail("max_files", most)
    .hint(format!("raise {raised} or narrow `target.glob`; nothing was read")))
}

/// The files of a workspace that Git tracks or does not ignore.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole {
    /// Those that are there, sorted.
    pub(crate) paths: Vec<RepoPath>,
    /// Tracked files and folders that are not: left out by a sparse checkout, or in a repository of their own.
    pub(crate) absent: Vec<(String, Tracked)>,
}

/// Lists the files of the workspace. Ignore files have no effect on a tracked file.
pub(crate) fn whole(ctx: &Context<'_>) -> Result<Whole, Error> {
    let mut paths = ctx.view.list(&Globs::parse(&["**/*"])?, ctx.threads)?.paths;
    let is_listed = |path: &str| paths.binary_search_by(|listed| listed.as_str().cmp(path)).is_ok();
    let mut unlisted = git::tracked(ctx.view.workspace().root())?;
    let is_hidden = |path: &str| path.split('/').any(protected::is_hidden_folder);
    unlisted.retain(|(path, tracked)| !is_hidden(path) && (*tracked != Tracked::File || !is_listed(path)));
    let (ignored, absent): (Vec<_>, Vec<_>) = unlisted.into_iter().partition(|(_, tracked)| *tracked == Tracked::File);
    paths.extend(ignored.iter().filter_map(|(path, _)| RepoPath::parse(path).ok()));
    paths.sort_unstable();
    Ok(Whole { paths, absent })
}

impl<T> Survey<T> {
    /// True for a file of the target, read or skipped.
    pub(crate) fn has(&self, path: &RepoPath) -> bool {
        self.files.binary_search_by(|file| file.path.cmp(path)).is_ok()
            || self.skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(path)).is_ok()
    }

    fn add(&mut self, path: RepoPath, (before, look): Found<T>) {
        if let Some(before) = before {
            self.hashes.push(FileHash { path: path.clone(), sha256: before.sha256 });
        }
        match (before, look) {
            (Some(before), Look::Read(found)) => self.files.push(Surveyed { path, before, found }),
            (None, Look::Read(_)) => {}
            (_, Look::Skip(reason)) => {
                self.skipped.push(Skipped { path: path.to_string(), reason: reason.into_owned() });
            }
        }
    }

    /// `unreadable` if a file was left alone and `on_skip` says that this is an error.
    pub fn check_skipped(&self, on_skip: OnSkip) -> Result<(), Error> {
        let (OnSkip::Error, Some(first)) = (on_skip, self.skipped.first()) else { return Ok(()) };
        Err(Error::new(Code::Unreadable, format!("`{}` can't be read as its format: {}", first.path, first.reason))
            .detail("files", self.skipped.iter().map(|skipped| skipped.path.clone()).collect::<Vec<_>>())
            .detail(SKIPPED, json!(self.skipped))
            .hint("exclude it with `!` in `target.glob`, or set `params.on_skip` to `list`"))
    }

    /// The proposal: counts and files of the survey, and the adapter's results.
    pub fn propose(self, results: Results) -> Result<Proposal, Error> {
        let changes = ChangeSet::new(results.changes)?;
        let mut baseline = Counts::from([
            (FILES_SCANNED.to_owned(), self.files.len() as u64),
            (FILES_SKIPPED.to_owned(), self.skipped.len() as u64),
            (FILES_IGNORED.to_owned(), self.ignored),
        ]);
        baseline.extend(results.counts);
        let mut counts = Counts::from([("files".to_owned(), changes.len() as u64)]);
        counts.extend(results.changed);
        let mut findings = results.findings;
        findings.sort();
        let baseline = Baseline {
            counts: baseline,
            files: self.hashes,
            skipped: self.skipped,
            findings,
            settings: results.settings,
            engine: None,
        };
        Ok(Proposal { baseline, counts, changes })
    }
}
