//! One step of a request: the files that it reads, and its results.

use super::{
    draft::Draft,
    effect::{Effect, Sides, check, must_be_free},
    patch::{DiffStep, PlannedStep},
};
use base::{
    change::Content,
    diff::{self, Lines},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};

/// The mode of a file that has no other source for one.
const NEW_FILE: u32 = 0o644;

/// One step.
#[derive(Debug)]
pub(super) enum Step {
    /// A file appears.
    Create { path: RepoPath, content: Content },
    /// A file goes.
    Remove { path: RepoPath, checksum: Sha256 },
    /// A file gets another path.
    Rename { from: RepoPath, to: RepoPath, checksum: Sha256 },
    /// A file gets other bytes.
    Write { path: RepoPath, bytes: Vec<u8>, checksum: Sha256 },
    /// One file's part of a diff is applied.
    Diff(DiffStep),
    /// A file gets its planned content.
    Planned(PlannedStep),
}

impl Step {
    /// A step that creates a file from a text.
    pub(super) fn create(path: RepoPath, text: &str) -> Self {
        Step::Create { path, content: Content::new(text.into(), NEW_FILE) }
    }

    /// Every file that the step reads or makes.
    pub(super) fn paths(&self) -> Vec<&RepoPath> {
        match self {
            Step::Create { path, .. }
            | Step::Remove { path, .. }
            | Step::Write { path, .. }
            | Step::Planned(PlannedStep { path, .. }) => vec![path],
            Step::Rename { from, to, .. } => vec![from, to],
            Step::Diff(step) => step.file.source().into_iter().chain(step.file.target()).collect(),
        }
    }

    /// The files that the step changes.
    pub(super) fn targets(&self) -> Vec<&RepoPath> {
        match self {
            Step::Diff(step) if step.copies() => step.file.target().into_iter().collect(),
            step => step.paths(),
        }
    }

    /// The number of the step's patch; none if it is not from a patch.
    pub(super) fn patch(&self) -> Option<usize> {
        match self {
            Step::Diff(step) => step.patch,
            Step::Create { .. } | Step::Remove { .. } | Step::Rename { .. } | Step::Write { .. } | Step::Planned(_) => {
                None
            }
        }
    }

    /// The source and the target, if contents move.
    pub(super) fn moves(&self) -> Option<(&RepoPath, &RepoPath)> {
        match self.paths()[..] {
            [from, to] if from != to => Some((from, to)),
            _ => None,
        }
    }

    /// Carries the step out on the draft.
    pub(super) fn carry_out(&self, draft: &Draft<'_>) -> Result<Effect, Error> {
        match self {
            Step::Create { path, content } => {
                must_be_free(draft, path)?;
                Ok(rewritten(path, None, Some(content.clone())))
            }
            Step::Remove { path, checksum } => Ok(rewritten(path, Some(checked(draft, path, *checksum)?), None)),
            Step::Rename { from, to, checksum } => {
                let before = checked(draft, from, *checksum)?;
                must_be_free(draft, to)?;
                let after = Some(before.clone());
                let lines = Lines::default();
                Ok(Effect::new(Sides { from, before: Some(before), to, after, copies: false, lines }))
            }
            Step::Write { path, bytes, checksum } => {
                let before = checked(draft, path, *checksum)?;
                let after = Content::new(bytes.clone(), before.mode);
                Ok(rewritten(path, Some(before), Some(after)))
            }
            Step::Diff(step) => step.carry_out(draft),
            Step::Planned(step) => step.carry_out(draft),
        }
    }

    /// The step of a plan as one that changes nothing; none unless the file is as the plan makes it.
    pub(super) fn done_before(&self, draft: &Draft<'_>) -> Result<Option<Effect>, Error> {
        match self {
            Step::Planned(step) => step.done_before(draft),
            _ => Ok(None),
        }
    }
}

/// A file that stays where it is.
fn rewritten(path: &RepoPath, before: Option<Content>, after: Option<Content>) -> Effect {
    let lines = diff::count(bytes(before.as_ref()), bytes(after.as_ref()));
    Effect::new(Sides { from: path, before, to: path, after, copies: false, lines })
}

fn bytes(content: Option<&Content>) -> &[u8] {
    content.map_or(&[], |content| &content.bytes)
}

/// A file that must have the caller's checksum.
fn checked(draft: &Draft<'_>, path: &RepoPath, checksum: Sha256) -> Result<Content, Error> {
    let found = draft.read(path)?;
    if found.as_ref().is_some_and(Content::is_link) {
        return Err(Error::new(Code::InvalidPath, format!("`{path}` is a symbolic link"))
            .detail("path", path.as_str())
            .hint("links are not followed; name the file itself, or give a git diff that changes the link"));
    }
    check(path, checksum, found.as_ref())?;
    found.ok_or_else(|| Error::new(Code::Internal, format!("`{path}` was checked and is not there")))
}
