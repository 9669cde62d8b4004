//! Parses calls into steps, and refuses everything that needs no look at the tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::{
    backup,
    patch::{DiffStep, PlannedStep},
    step::Step,
};
use base::{
    call::{Blob, Call, LineEnds, NamedPatch, PlannedFile, Strategy},
    diff::{self, FilePatch, ParseOptions, Placement, Prose, Strip},
    error::{Code, Error},
    hash::Sha256,
    json::Keyed,
    path::RepoPath,
    text::counted,
};
use system::policy::Commitment;

/// The steps, and the mode.
#[derive(Debug)]
pub struct Request {
    steps: Vec<Step>,
    strategy: Strategy,
    kind: Kind,
    notice: Option<&'static str>,
    commitments: Vec<Commitment>,
}

/// The kinds of requests, by the number of their steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    One,
    Several,
    /// A plan, which reports all its stale files together.
    Planned,
}

/// The written form of a plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    diffs: Vec<Keyed<PlanDiff>>,
    #[serde(default)]
    post: Keyed<Post>,
    #[serde(default)]
    commitments: Vec<Keyed<Wanted>>,
}

/// A promise of the plan, with its assertion, which is not parsed here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    description: String,
    assertion: Value,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanDiff {
    path: String,
    checksum: Option<String>,
    unified_diff: Option<String>,
    unified_diff_b64: Option<String>,
    line_ends: Option<LineEnds>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Post {
    #[serde(default)]
    commands: Vec<Keyed<Command>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "commands are checked and recorded, not run")]
struct Command {
    program: String,
    #[serde(default)]
    args: Vec<String>,
    timeout_ms: Option<u64>,
}

impl Request {
    /// Parses one of the calls `apply.*`.
    pub fn of(call: &Call) -> Result<Self, Error> {
        let write_all = |kind| {
            let (steps, strategy) = (Vec::new(), Strategy::Write);
            Request { steps, strategy, kind, notice: None, commitments: Vec::new() }
        };
        let write = |step: Step| Request { steps: vec![step], ..write_all(Kind::One) };
        let request = match call {
            Call::ApplyCreate { path, text } => write(Step::create(RepoPath::parse(path)?, text)),
            Call::ApplyRemove { path, checksum } => {
                write(Step::Remove { path: RepoPath::parse(path)?, checksum: hash(checksum)? })
            }
            Call::ApplyRename { from, to, checksum } => write(rename(from, to, checksum)?),
            Call::ApplyWrite { path, text, checksum } => {
                let (path, checksum) = (RepoPath::parse(path)?, hash(checksum)?);
                write(Step::Write { path, bytes: text.as_bytes().to_vec(), checksum })
            }
            Call::ApplyDiff { path, unified_diff, unified_diff_b64, checksum, strategy, line_ends } => {
                let bytes = bytes(path, unified_diff.as_deref(), unified_diff_b64.as_deref())?;
                let step = of_one_file(path, &bytes, checksum.as_deref(), false)?;
                let step = DiffStep { line_ends: *line_ends, ..step };
                Request { strategy: strategy.clone(), ..write(Step::Diff(step)) }
            }
            Call::ApplyPlan { plan, strategy, strict } => of_plan(plan, strategy, *strict)?,
            Call::ApplyPatch { patches, strategy, .. } => {
                let steps = of_patches(patches, call)?;
                Request { steps, strategy: strategy.clone(), ..write_all(Kind::Several) }
            }
            Call::ApplyPlanned { files } => {
                let steps = files.iter().map(of_planned).collect::<Result<_, _>>()?;
                Request { steps, ..write_all(Kind::Planned) }
            }
            _ => return Err(Error::new(Code::Internal, format!("`{}` applies nothing", call.name()))),
        };
        if let Some(suffix) = request.backup_suffix() {
            backup::check_suffix(suffix)?;
        }
        Ok(request)
    }

    /// The same, but every hunk must apply exactly at the position in its header.
    pub fn strictly(mut self) -> Self {
        for step in &mut self.steps {
            if let Step::Diff(diff) = step {
                diff.placement = Placement::Exact;
            }
        }
        self
    }

    /// True if the result is to be written.
    pub fn writes(&self) -> bool {
        self.strategy != Strategy::DryRun
    }

    /// True if it concerns one file, so that it has one outcome.
    pub fn is_single(&self) -> bool {
        self.kind == Kind::One
    }

    /// The commitments of the plan.
    pub fn commitments(&self) -> &[Commitment] {
        &self.commitments
    }

    /// A notice for the caller.
    pub fn notice(&self) -> Option<&'static str> {
        self.notice
    }

    /// Every file that it may change, sorted, without backups.
    pub fn targets(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = self.steps.iter().flat_map(Step::targets).cloned().collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// The pairs of source and target between which contents may move: renames, copies and backups.
    pub fn moves(&self) -> Result<Vec<(RepoPath, RepoPath)>, Error> {
        let moved = self.steps.iter().filter_map(Step::moves);
        let mut moves: Vec<_> = moved.map(|(from, to)| (from.clone(), to.clone())).collect();
        if let Some(suffix) = self.backup_suffix() {
            for path in self.targets() {
                let backup = RepoPath::parse(&format!("{path}{suffix}"))?;
                moves.push((path, backup));
            }
        }
        Ok(moves)
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(super) fn is_planned(&self) -> bool {
        self.kind == Kind::Planned
    }

    pub(super) fn backup_suffix(&self) -> Option<&str> {
        match &self.strategy {
            Strategy::WriteBackup(suffix) => Some(suffix),
            Strategy::DryRun | Strategy::Write => None,
        }
    }
}

fn rename(from: &str, to: &str, checksum: &str) -> Result<Step, Error> {
    let (from, to) = (RepoPath::parse(from)?, RepoPath::parse(to)?);
    if from == to {
        let message = format!("`{from}` can't be renamed to itself");
        return Err(Error::new(Code::InvalidInput, message).hint("give another path"));
    }
    Ok(Step::Rename { from, to, checksum: hash(checksum)? })
}

fn of_plan(plan: &Value, strategy: &Strategy, strict: bool) -> Result<Request, Error> {
    let Keyed(Plan { diffs, post, commitments }) = Keyed::deserialize(plan).map_err(|error| {
        Error::new(Code::InvalidInput, format!("the plan can't be used: {error}")).hint(
            "its form is `{\"diffs\": [{\"path\", \"checksum\"?, \"unified_diff\", \"line_ends\"?}], \"post\"?: {\"commands\": [{\"program\", \"args\"?}]}, \"commitments\"?: [{\"description\", \"assertion\", \"timeout_ms\"?}]}`",
        )
    })?;
    let step = |(index, Keyed(diff)): (usize, &Keyed<PlanDiff>)| {
        let label = format!("diff {} of {}", index + 1, diffs.len());
        let bytes = bytes(&diff.path, diff.unified_diff.as_deref(), diff.unified_diff_b64.as_deref());
        let step = bytes.and_then(|bytes| of_one_file(&diff.path, &bytes, diff.checksum.as_deref(), strict));
        let step = step.map_err(|error| error.within(&label))?;
        let line_ends = diff.line_ends.unwrap_or_default();
        Ok(Step::Diff(DiffStep { label: Some(label), line_ends, ..step }))
    };
    let steps = diffs.iter().enumerate().map(step).collect::<Result<_, Error>>()?;
    let notice = (!post.0.commands.is_empty()).then_some("The plan's commands are not run.");
    let commitments = commitments.into_iter().map(|Keyed(wanted)| {
        let Wanted { description, assertion, timeout_ms } = wanted;
        Commitment { description, assertion, timeout_ms }
    });
    let commitments = commitments.collect();
    Ok(Request { steps, strategy: strategy.clone(), kind: Kind::Several, notice, commitments })
}

/// The bytes of a diff that is given as text or in base64.
fn bytes<'a>(path: &str, text: Option<&'a str>, base64: Option<&str>) -> Result<Cow<'a, [u8]>, Error> {
    match (text, base64) {
        (Some(text), None) => Ok(Cow::Borrowed(text.as_bytes())),
        (None, Some(base64)) => Ok(Cow::Owned(Blob::Base64(base64.to_owned()).bytes()?.into_owned())),
        (Some(_), Some(_)) | (None, None) => {
            let message = format!("the diff of `{}` must be given once", path.escape_debug());
            Err(Error::new(Code::InvalidInput, message)
                .hint("give `unified_diff`, or `unified_diff_b64` if the diff is not UTF-8"))
        }
    }
}

/// A diff that must concern exactly the given file.
fn of_one_file(path: &str, bytes: &[u8], checksum: Option<&str>, strict: bool) -> Result<DiffStep, Error> {
    let path = RepoPath::parse(path)?;
    let checksum = checksum.map(hash).transpose()?;
    let options = ParseOptions { strip: Strip::Guess, recount: false, prose: Prose::Refuse };
    let patch = diff::parse(bytes, &options).map_err(|error| error.detail("path", path.as_str()))?;
    let wrong =
        |what: String, hint: &str| Err(Error::new(Code::InvalidInput, what).detail("path", path.as_str()).hint(hint));
    let file = match <[FilePatch; 1]>::try_from(patch.files) {
        Ok([file]) => file,
        Err(files) => {
            return wrong(
                format!("the diff of `{path}` is about {}", counted(files.len(), "file")),
                "give one diff for each file",
            );
        }
    };
    let named: Vec<&RepoPath> = file.source().into_iter().chain(file.target()).collect();
    if !named.contains(&&path) {
        let other = named.first().map_or("nothing", |path| path.as_str());
        return wrong(
            format!("line {} of the diff names `{other}`, not `{path}`", file.line),
            "write the same path into the headers, with or without `a/` and `b/`",
        );
    }
    let placement = placement(strict || checksum.is_some());
    Ok(DiffStep {
        label: None,
        file,
        patch: None,
        checksum,
        placement,
        line_ends: LineEnds::default(),
        is_explicit: true,
        warnings: patch.warnings,
    })
}

fn placement(strict: bool) -> Placement {
    if strict { Placement::Exact } else { Placement::Unique }
}

fn of_patches(patches: &[NamedPatch], call: &Call) -> Result<Vec<Step>, Error> {
    let Call::ApplyPatch { strip, reverse, recount, strict, line_ends, .. } = call else {
        return Err(Error::new(Code::Internal, "only patches are read as patches"));
    };
    let options = ParseOptions {
        strip: strip.map_or(Strip::Guess, Strip::Exactly),
        recount: *recount,
        prose: if *strict { Prose::Refuse } else { Prose::Skip },
    };
    let mut steps = Vec::new();
    let mut ordered: Vec<&NamedPatch> = patches.iter().collect();
    if *reverse {
        ordered.reverse();
    }
    for (number, NamedPatch { name, diff }) in ordered.into_iter().enumerate() {
        let named = |error: Error| error.within(format!("`{}`", name.escape_debug()));
        let patch = diff.bytes().and_then(|bytes| diff::parse(&bytes, &options)).map_err(named)?;
        let mut files = patch.files;
        if *reverse {
            files = files.iter().rev().map(FilePatch::reversed).collect();
        }
        let mut warnings = patch.warnings;
        steps.extend(files.into_iter().map(|file| {
            let label = Some(format!("`{}`", name.escape_debug()));
            let warnings = std::mem::take(&mut warnings);
            let placement = placement(*strict);
            let patch = Some(number);
            let (line_ends, is_explicit) = (*line_ends, *strict);
            Step::Diff(DiffStep { label, file, patch, checksum: None, placement, line_ends, is_explicit, warnings })
        }));
    }
    Ok(steps)
}

fn of_planned(planned: &PlannedFile) -> Result<Step, Error> {
    let PlannedFile { path, before, after, diff } = planned;
    let path = RepoPath::parse(path)?;
    let damaged = || {
        Error::new(Code::RecordDamaged, format!("the plan is damaged: it has no diff of `{path}` alone"))
            .detail("path", path.as_str())
            .hint("make the plan again; a plan can't be edited")
    };
    let options = ParseOptions { strip: Strip::Exactly(1), recount: false, prose: Prose::Refuse };
    let bytes = diff.bytes()?;
    let parts = match bytes.is_empty() {
        true => Vec::new(),
        false => diff::parse(&bytes, &options).map_err(|_| damaged())?.files,
    };
    let mut named = parts.iter().flat_map(|part| part.source().into_iter().chain(part.target()));
    if !named.all(|named| *named == path) {
        return Err(damaged());
    }
    Ok(Step::Planned(PlannedStep { path, before: *before, after: *after, parts }))
}

/// A checksum, in lower or upper case.
fn hash(text: &str) -> Result<Sha256, Error> {
    text.to_ascii_lowercase().parse::<Sha256>().map_err(|_| {
        Error::new(Code::InvalidInput, format!("the checksum `{}` is not a SHA-256 hash", text.escape_debug()))
            .hint("give the 64 hex digits of the file's hash, as `nrv.files.sha256` gives them")
    })
}
