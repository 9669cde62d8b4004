//! The effect of a step, and the checks before it.

use super::{
    ApplyOutcome, ApplyStatus, Part,
    draft::{Draft, File},
};
use base::{
    change::Content,
    diff::Lines,
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};

/// The files that a step has read and made, and its outcome.
#[derive(Debug)]
pub(super) struct Effect {
    pub(super) seen: Vec<File>,
    pub(super) made: Vec<File>,
    /// The change of its only file as a patch, if it is known.
    pub(super) part: Option<Part>,
    pub(super) outcome: ApplyOutcome,
}

/// A file before and after a step.
pub(super) struct Sides<'a> {
    pub(super) from: &'a RepoPath,
    pub(super) before: Option<Content>,
    /// The new path, if the file is renamed or copied.
    pub(super) to: &'a RepoPath,
    pub(super) after: Option<Content>,
    /// True if the first file stays although the path differs.
    pub(super) copies: bool,
    pub(super) lines: Lines,
}

impl Effect {
    pub(super) fn new(sides: Sides<'_>) -> Self {
        let Sides { from, before, to, after, copies, lines } = sides;
        let moved = from != to;
        let same = !moved && before.as_ref().map(Content::stamp) == after.as_ref().map(Content::stamp);
        let outcome = ApplyOutcome {
            path: to.clone(),
            from: moved.then(|| from.clone()),
            copied: copies,
            status: if same { ApplyStatus::Noop } else { ApplyStatus::Applied },
            written: false,
            hunks: Vec::new(),
            added: lines.added,
            removed: lines.removed,
            pre_sha256: before.as_ref().map(|content| content.sha256),
            post_sha256: after.as_ref().map(|content| content.sha256),
            backup: None,
            warnings: Vec::new(),
        };
        let mut seen = vec![(from.clone(), before)];
        let mut made = vec![(to.clone(), after)];
        if moved {
            seen.push((to.clone(), None));
        }
        if moved && !copies {
            made.push((from.clone(), None));
        }
        Effect { seen, made, part: None, outcome }
    }
}

/// Compares a checksum with the file, before any other check.
pub(super) fn check(path: &RepoPath, checksum: Sha256, found: Option<&Content>) -> Result<(), Error> {
    let stale = |what: &str| {
        Error::new(Code::StalePreimage, format!("`{path}` {what}"))
            .detail("path", path.as_str())
            .detail("expected", checksum.to_string())
            .hint("read the file again, and make the change for what is there now")
    };
    match found {
        None => Err(stale("does not exist, and the change was made for a file that does")),
        Some(content) if content.sha256 != checksum => {
            Err(stale("is not the file that the change was made for: its hash is not the checksum")
                .detail("found", content.sha256.to_string()))
        }
        Some(_) => Ok(()),
    }
}

/// An error if the place of a new file is taken.
pub(super) fn must_be_free(draft: &Draft<'_>, path: &RepoPath) -> Result<(), Error> {
    if !draft.is_taken(path)? {
        return Ok(());
    }
    Err(Error::new(Code::StalePreimage, format!("`{path}` exists already"))
        .detail("path", path.as_str())
        .hint("choose another path, or change the file that is there and give its checksum"))
}
