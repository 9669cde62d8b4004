//! `nrv gate edit`: judges present files, the new content of a file, and all files of folders.

use std::{fs, path::PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::{Bench, arguments::EditArguments, exit_code, place, sarif};
use crate::face::cli::{Here, output::Output};
use base::{
    diff,
    error::{Code, Error},
};
use gate::{Edit, Finding, Gate, Subject, Text, Verdict};
use system::workspace::{Globs, Workspace, parallel_map};

/// A file that is judged.
struct Target {
    /// Its path in the form that the policy uses.
    place: String,
    file: PathBuf,
    /// False if it was found in a folder: only its content is judged, since no write is asked for.
    is_named: bool,
}

/// The verdict on a file.
#[derive(Serialize)]
struct Judged {
    path: String,
    #[serde(flatten)]
    verdict: Verdict,
    #[serde(skip)]
    findings: Vec<(&'static dyn Gate, Vec<Finding>)>,
    #[serde(skip)]
    is_named: bool,
}

/// Writes the verdicts on files, and returns the exit code of the strictest decision.
pub(super) fn judge(here: &Here, bench: &Bench<'_>, arguments: &EditArguments, out: &mut Output) -> Result<u8, Error> {
    let targets = targets(here, arguments)?;
    let judged = on_each(here, arguments, &targets, |target, subject| Judged {
        path: target.place.clone(),
        verdict: bench.decide(subject),
        findings: if arguments.sarif { gate::findings(subject, &bench.policy, bench.rules) } else { Vec::new() },
        is_named: target.is_named,
    })?;
    let strictest = judged.iter().map(|one| one.verdict.decision).max().unwrap_or_default();
    if arguments.sarif {
        let found =
            judged.iter().flat_map(|one| one.findings.iter().map(|(gate, found)| (&*one.path, *gate, &**found)));
        out.document(&sarif::document(found));
    } else if let [Judged { verdict, is_named: true, .. }] = &judged[..] {
        out.document(verdict);
    } else {
        // A folder may have many files, so only those with a remark of a gate are shown.
        let says = |one: &&Judged| one.is_named || one.verdict.remarks().next().is_some();
        out.document(&judged.iter().filter(says).collect::<Vec<_>>());
    }
    Ok(exit_code(strictest))
}

/// Explains the verdict on one file, or on each of several.
pub(super) fn explained(here: &Here, bench: &Bench<'_>, arguments: &EditArguments) -> Result<Value, Error> {
    let targets = targets(here, arguments)?;
    let mut all = on_each(here, arguments, &targets, |target, subject| {
        let mut explanation = bench.explain(subject);
        explanation["path"] = json!(target.place);
        explanation
    })?;
    let one = matches!(&targets[..], [Target { is_named: true, .. }]);
    Ok(if one { all.remove(0) } else { Value::Array(all) })
}

/// The files that the arguments name, those of folders in the order of their paths.
fn targets(here: &Here, arguments: &EditArguments) -> Result<Vec<Target>, Error> {
    if arguments.content.is_some() && arguments.paths.len() != 1 {
        return Err(Error::new(Code::Usage, "`--content` is the new content of one file, and several are given"));
    }
    let mut targets = Vec::new();
    for path in &arguments.paths {
        let path = here.place.folder.join(path);
        match fs::canonicalize(&path) {
            Ok(folder) if folder.is_dir() && arguments.content.is_none() => {
                targets.extend(files_of(here, &folder)?);
            }
            Ok(_) | Err(_) => {
                targets.push(Target { place: place::in_workspace(here, &path), file: path, is_named: true });
            }
        }
    }
    Ok(targets)
}

/// The files of a folder that git does not ignore.
fn files_of(here: &Here, folder: &std::path::Path) -> Result<Vec<Target>, Error> {
    let listing = Workspace::open(folder)?.list(&Globs::parse(&["**"])?, here.context.options.threads)?;
    if let Some(name) = listing.unnameable.first() {
        let message = format!("`{}` can't be judged: its name is not UTF-8", folder.join(name).display());
        return Err(Error::new(Code::Unreadable, message).hint("rename it, or name other folders"));
    }
    let target = |file: PathBuf| Target { place: place::in_workspace(here, &file), file, is_named: false };
    Ok(listing.paths.iter().map(|path| target(folder.join(path.as_str()))).collect())
}

/// Calls `take` on each file; returns the results in order.
fn on_each<T: Send>(
    here: &Here,
    arguments: &EditArguments,
    targets: &[Target],
    take: impl Fn(&Target, &Subject<'_>) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let one = |target: &Target| with_subject(here, arguments, target, |subject| take(target, subject));
    parallel_map(here.context.options.threads, targets, one).into_iter().collect()
}

/// Makes the subject of one file with its present or new content.
fn with_subject<T>(
    here: &Here,
    arguments: &EditArguments,
    target: &Target,
    take: impl FnOnce(&Subject<'_>) -> T,
) -> Result<T, Error> {
    let place = target.place.as_str().into();
    if !target.is_named {
        let after = here.read_bytes(&target.file)?.into();
        let text = Text { place: Some(place), is_file: true, after, ..Text::default() };
        return Ok(take(&Subject::Text { text: &text }));
    }
    let (before, after) = match &arguments.content {
        Some(content) if !target.file.exists() => (Vec::new(), here.read_bytes(content)?),
        Some(content) => (here.read_bytes(&target.file)?, here.read_bytes(content)?),
        // Nothing changes, but the whole content is judged.
        None => (Vec::new(), here.read_bytes(&target.file)?),
    };
    let diff_lines = arguments.content.as_ref().map_or(0, |_| diff::count(&before, &after).total());
    let edit = Edit { path: place, before: before.into(), after: after.into(), diff_lines };
    Ok(take(&Subject::Edit { edit: &edit, run_lines_so_far: 0 }))
}
