//! Verification by somebody else: a process of its own that has the record and the disk, and nothing from here.

use std::{collections::BTreeSet, ffi::OsStr, path::Path, sync::atomic::AtomicBool};

use serde::{Serialize, de::DeserializeOwned};

use super::samples;
use crate::{
    Context, Position,
    change::{draft::Draft, stored_proposal::StoredProposal},
    context::check_stop,
    life::attempts::detours,
    terms::Terms,
};
use adapter::{
    contract::{BaselineRecord, Failure, Verdict},
    evidence::{HASHES_MATCH, NOTHING_ELSE_CHANGED},
    source::{Kind, Source},
    verify::{ArtifactRef, Contents, Report, Request},
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};
use record::{
    FileRef, Record, RunFolder,
    event::{self, DtaApplied},
};
use service::exec;
use system::{
    process::{Command, capture_with},
    workspace::Proposed,
};

/// The hidden subcommand that verifies.
pub(crate) const SUBCOMMAND: &str = "__verify";

/// The words of Rust's runtime about an allocation that failed. The size in them varies.
const OUT_OF_MEMORY: &str = "memory allocation of ";

/// Verifies what was applied, from the record and the disk.
pub(crate) fn verify_applied(
    run: &Terms<'_>,
    folder: &RunFolder,
    stored: &StoredProposal,
    manifest: &FileRef,
    pack: Option<&str>,
) -> Result<Report, Error> {
    let request = Request {
        tool: stored.invocation.tool.clone(),
        root: run.context.workspace.root().to_owned(),
        run_folder: folder.path().to_owned(),
        baseline: artifact(&stored.baseline),
        manifest: artifact(manifest),
        contents: Contents::Before(folder.path().join(format!("packs/{}/pre", pack.unwrap_or("none")))),
        overlay: Vec::new(),
        hidden: run.policy.hidden(),
        is_later: false,
        threads: run.context.options.threads,
        source: source_now(run.context, &stored.invocation.tool)?,
        path: run.context.options.path(),
    };
    ask(run.context, &request, stored.invocation.constraints.timeout_ms, run.deadline.stop())
}

/// Verifies what a dry run proposes: the post-images lie in a file of the run's folder meanwhile.
pub(crate) fn verify_proposed(
    run: &Terms<'_>,
    folder: &RunFolder,
    draft: &Draft<'_>,
    position: &Position,
    stored: &StoredProposal,
) -> Result<Report, Error> {
    let name = format!("packs/{position}-proposed");
    // The verifier's process starts meanwhile.
    let request = || {
        let posts = stored.proposal.changes.changes().iter().filter_map(|change| change.after.as_ref());
        let posts: Vec<&[u8]> = posts.map(|content| content.bytes.as_slice()).collect();
        folder.write_parts(&format!("{name}/post"), &posts)?;
        Ok(Request {
            tool: stored.invocation.tool.clone(),
            root: run.context.workspace.root().to_owned(),
            run_folder: folder.path().to_owned(),
            baseline: artifact(&stored.baseline),
            manifest: artifact(&stored.planned),
            contents: Contents::After(folder.path().join(format!("{name}/post"))),
            overlay: draft.write_overlay(folder, &name)?,
            hidden: run.policy.hidden(),
            is_later: false,
            threads: run.context.options.threads,
            source: source_now(run.context, &stored.invocation.tool)?,
            path: run.context.options.path(),
        })
    };
    let verdict = ask_with(run.context, request, stored.invocation.constraints.timeout_ms, run.deadline.stop());
    folder.remove_folder(&name)?;
    verdict
}

impl Draft<'_> {
    /// Writes what earlier steps of this dry run proposed to where a process of its own can read it.
    pub(crate) fn write_overlay(&self, folder: &RunFolder, name: &str) -> Result<Vec<Proposed>, Error> {
        let mut all = Vec::new();
        for (index, (path, previewed)) in self.proposed.iter().enumerate() {
            let mut file = None;
            let content = previewed.after.as_ref();
            if let Some(content) = content {
                let place = format!("{name}/overlay/{index}");
                folder.write(&place, &content.bytes)?;
                file = Some(folder.path().join(place));
            }
            all.push(Proposed { path: path.clone(), file, mode: content.map_or(0, |content| content.mode) });
        }
        Ok(all)
    }
}

/// The source of an adapter that a user wrote, as this program has read it.
fn source_now(context: &Context, tool: &str) -> Result<Option<Source>, Error> {
    Ok(context.options.adapters.find(tool)?.source().cloned())
}

/// The recorded source of such an adapter when it last began to look.
fn source_then(folder: &RunFolder, before: &[Record], tool: &str) -> Result<Option<Source>, Error> {
    let started = before.iter().rev().find_map(|record| match &record.event {
        event::Event::DtaStarted(started) if started.tool == tool => Some((record, started.source.as_ref()?)),
        _ => None,
    });
    let Some((record, named)) = started else { return Ok(None) };
    let damaged =
        || Error::new(Code::RecordDamaged, format!("the source of `{tool}` in the record is not what it was"));
    let file = record.files.first().ok_or_else(damaged)?;
    let bytes = folder.read(&file.path)?;
    let source: Source = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
    if Sha256::of(&bytes) != file.sha256 || source.sha256 != named.sha256 || source.name != tool {
        return Err(damaged());
    }
    Ok(Some(source))
}

/// The source that verifies a step again, and a remark if it is not the present one.
///
/// A record brings no rights: the present source has those of the present policy. A recorded one that differs from it is run only
/// if it is no program, within the limits of the policy, and where adapters need no approval.
fn source_again(context: &Context, recorded: Option<Source>) -> Result<(Option<Source>, Option<String>), Error> {
    let Some(recorded) = recorded else { return Ok((None, None)) };
    let name = &recorded.name;
    let now = match context.options.adapters.find(name) {
        Ok(adapter) => Some(adapter.source().cloned().ok_or_else(|| {
            Error::new(Code::RecordDamaged, format!("the record has a source of `{name}`, which is a part of nrv"))
        })?),
        Err(_) => None,
    };
    if let Some(now) = now.filter(|now| now.sha256 == recorded.sha256) {
        if now.starts_program() {
            context.check_trust()?;
        }
        return Ok((Some(now), None));
    }
    let limits = context.policy.settings().script.limits.clone();
    let text = match &recorded.kind {
        Kind::Rhai { text, .. } => text.clone(),
        Kind::Program(_) => {
            let message = format!("the program of `{name}` is no longer the recorded one");
            return Err(Error::new(Code::PermissionDenied, message)
                .hint("a recorded program is started only if the policy still names the same"));
        }
    };
    if context.options.adapters.are_approved_only() {
        let message = format!("the recorded source of `{name}` is not the approved one");
        return Err(Error::new(Code::NotApproved, message)
            .detail("adapter", name.as_str())
            .hint("where `CI` is set, only approved adapters run; verify the run elsewhere"));
    }
    let remark = format!("recorded-source: the record's own `{name}` measured, which is not the present adapter");
    Ok((Some(Source { kind: Kind::Rhai { text, limits }, ..recorded }), Some(remark)))
}

fn artifact(file: &FileRef) -> ArtifactRef {
    ArtifactRef { path: file.path.clone(), sha256: file.sha256 }
}

/// Runs the verifier. One that dies, hangs or says something else has not passed.
pub(crate) fn ask(context: &Context, request: &Request, timeout_ms: u64, stop: &AtomicBool) -> Result<Report, Error> {
    ask_with(context, || Ok(request.clone()), timeout_ms, stop)
}

/// As [`ask`], with a request that is made while the verifier starts.
fn ask_with(
    context: &Context,
    request: impl FnOnce() -> Result<Request, Error>,
    timeout_ms: u64,
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let mut folder = None;
    let request = || {
        let request = request()?;
        folder = Some(request.run_folder.clone());
        Ok(request)
    };
    let report = ask_process(context, SUBCOMMAND, request, timeout_ms, stop);
    let run = folder.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    if let (Ok(Err(_)) | Err(_), Some(run)) = (&report, run) {
        // It died before it could remove them. A failure here would hide its own.
        let _ = exec::clear(run, &context.options.environment);
    }
    Ok(report?.unwrap_or_else(|reason| Report {
        failures: vec![Failure::new("verifier_ran", reason)],
        checks: vec!["verifier_ran".to_owned()],
        ..Report::default()
    }))
}

/// Asks a process of nrv's own, which a hidden subcommand makes. The inner error says why it gave no answer: it died, hung or
/// said something else.
pub(crate) fn ask_process<Q: Serialize, A: DeserializeOwned>(
    context: &Context,
    subcommand: &str,
    request: impl FnOnce() -> Result<Q, Error>,
    timeout_ms: u64,
    stop: &AtomicBool,
) -> Result<Result<A, String>, Error> {
    let command = Command {
        program: context.options.program.clone(),
        args: vec![subcommand.into()],
        cwd: None,
        env: std::collections::BTreeMap::new(),
        stdin: Vec::new(),
        timeout_ms,
        max_output: 64 << 20,
    };
    let captured = capture_with(command, Some(stop), || {
        serde_json::to_vec(&request()?).map_err(|error| Error::new(Code::Internal, error.to_string()))
    })?;
    check_stop(stop)?;
    if captured.timed_out {
        return Ok(Err(format!("it took longer than {timeout_ms} ms")));
    }
    match serde_json::from_slice::<A>(&captured.stdout) {
        Ok(answer) if captured.status.is_some() => Ok(Ok(answer)),
        _ => {
            let said = String::from_utf8_lossy(&captured.stderr);
            if said.contains(OUT_OF_MEMORY) {
                return Ok(Err("it ran out of memory; `script.limits.memory` bounds it".to_owned()));
            }
            if captured.is_out_of_time() {
                return Ok(Err("it needed more processor time; `script.limits.cpu_s` bounds it".to_owned()));
            }
            let how = match (captured.status, captured.signal) {
                (Some(code), _) => format!("it exited with code {code}"),
                (None, signal) => format!("signal {} ended it", signal.unwrap_or_default()),
            };
            Ok(Err(format!("{how} without a report: {}", said.trim())))
        }
    }
}

/// The result of verifying a step of a finished run again.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The adapter.
    pub tool: String,
    /// Where in the run.
    pub position: String,
    /// The present verdict of the verifier.
    pub verifier: Verdict,
}

impl Verified {
    /// True if a check fails that is not one of hashes.
    pub fn is_measured_wrong(&self) -> bool {
        let of_hashes = [HASHES_MATCH, NOTHING_ELSE_CHANGED];
        self.verifier.failures.iter().any(|failure| !of_hashes.contains(&failure.check.as_str()))
    }
}

/// Runs the verifiers of everything that a run applied, against the tree as it is now.
///
/// A step whose files a later step of the same run changed again is not judged: its result was meant to be replaced.
pub fn verify_again(context: &Context, folder: &RunFolder) -> Result<Vec<Verified>, Error> {
    let records = folder.readable_records()?;
    let mut all = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let Some(applied) = record.event.dta_applied() else { continue };
        let verifier = match later_change(&records[index + 1..], applied, &records) {
            Some(later) => Verdict { passed: true, checks: vec![format!("replaced_by_{later}")], ..Verdict::default() },
            None => {
                let source = source_then(folder, &records[..index], &applied.tool)?;
                let (source, remark) = source_again(context, source)?;
                let mut verdict = verify_recorded(context, folder, applied, source)?;
                verdict.remarks.extend(remark);
                verdict
            }
        };
        all.push(Verified { tool: applied.tool.clone(), position: record.position.clone(), verifier });
    }
    Ok(all)
}

fn verify_recorded(
    context: &Context,
    folder: &RunFolder,
    applied: &DtaApplied,
    source: Option<Source>,
) -> Result<Verdict, Error> {
    let tool = applied.tool.clone();
    let pack = applied.transaction.as_deref().unwrap_or("none");
    let request = Request {
        root: context.workspace.root().to_owned(),
        run_folder: folder.path().to_owned(),
        baseline: artifact(&applied.baseline),
        manifest: artifact(&applied.manifest),
        contents: Contents::Before(folder.path().join(format!("packs/{pack}/pre"))),
        overlay: Vec::new(),
        hidden: context.policy.hidden(),
        is_later: true,
        threads: context.options.threads,
        tool: tool.clone(),
        source,
        path: context.options.path(),
    };
    let report = ask(context, &request, context.policy.adapter(&tool).timeout_ms, &context.options.cancel)?;
    let mut verdict = report.verdict();
    if verdict.passed && !report.samples.is_empty() {
        let baseline: BaselineRecord = serde_json::from_slice(&folder.read(&request.baseline.path)?)
            .map_err(|_| Error::new(Code::RecordDamaged, format!("`{}` is no baseline", request.baseline.path)))?;
        samples::try_again(context, &baseline.input, report.samples, &mut verdict)?;
    }
    Ok(verdict)
}

/// The later transaction of the run that changed or brought back a file of this record's transaction.
fn later_change(later: &[Record], applied: &DtaApplied, all: &[Record]) -> Option<String> {
    let own = applied.transaction.as_ref()?;
    let mut committed = all.iter().filter_map(|record| record.event.committed());
    let mine: BTreeSet<&RepoPath> =
        committed.find(|committed| committed.transaction == *own)?.entries.iter().map(|entry| &entry.path).collect();
    let detours = detours(all);
    let changes = later.iter().filter_map(|record| record.event.moved());
    let mut changes = changes.filter(|moved| !detours.contains(moved.transaction.as_str()));
    let replaced = changes.find(|moved| moved.entries.iter().any(|entry| mine.contains(&entry.path)));
    replaced.map(|moved| moved.transaction.clone())
}
