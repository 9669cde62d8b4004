//! Steps from diffs: an ordinary diff, and a planned one with a known result.

use std::borrow::Cow;

use super::{
    AppliedHunk,
    draft::Draft,
    effect::{Effect, Sides, check, must_be_free},
};
use base::{
    call::LineEnds,
    change::{Content, Stamp},
    diff::{self, FilePatch, Lines, Operation, Patched, PlacedHunk, Placement, Side},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};

/// One file's part of a diff.
#[derive(Debug)]
pub(super) struct DiffStep {
    /// The name of the diff in messages, if there are several.
    pub(super) label: Option<String>,
    pub(super) file: FilePatch,
    /// The number of its patch among several, whose parts git reads as one change; none for a diff of a plan.
    pub(super) patch: Option<usize>,
    /// The hash that the file must have before this step.
    pub(super) checksum: Option<Sha256>,
    pub(super) placement: Placement,
    pub(super) line_ends: LineEnds,
    /// True if the header must announce a new file.
    pub(super) is_explicit: bool,
    /// The warnings from reading the diff.
    pub(super) warnings: Vec<String>,
}

/// A file of a former plan.
#[derive(Debug)]
pub(super) struct PlannedStep {
    pub(super) path: RepoPath,
    pub(super) before: Option<Stamp>,
    pub(super) after: Option<Stamp>,
    /// None if only mode bits change that git does not keep, two if a file becomes a link or a link a file.
    pub(super) parts: Vec<FilePatch>,
}

impl DiffStep {
    /// True if the file that it reads stays.
    pub(super) fn copies(&self) -> bool {
        matches!(self.file.operation, Operation::Copy { .. })
    }

    pub(super) fn carry_out(&self, draft: &Draft<'_>) -> Result<Effect, Error> {
        self.apply(draft).map_err(|error| match &self.label {
            Some(label) => error.within(label),
            None => error,
        })
    }

    fn apply(&self, draft: &Draft<'_>) -> Result<Effect, Error> {
        let (source, target) = (self.file.source(), self.file.target());
        let Some(from) = source.or(target) else {
            return Err(Error::new(Code::Internal, "a diff is about no file"));
        };
        let to = target.unwrap_or(from);
        let mut warnings = self.warnings.clone();
        let before = self.read(draft, from, &mut warnings)?;
        if let Some(checksum) = self.checksum {
            check(from, checksum, before.as_ref())?;
        }
        if source.is_none() || from != to {
            must_be_free(draft, to).map_err(|error| self.occupied(error, to))?;
        }
        // In a patch that git takes, headers need not announce a new file.
        if self.is_explicit && source.is_some() && before.is_none() {
            return Err(Error::new(Code::PatchRejected, format!("`{from}` does not exist, and the diff changes it"))
                .detail("path", from.as_str())
                .hint("a diff that makes a file has `--- /dev/null` in place of its old name"));
        }
        let (file, remark) = match (self.line_ends, &before) {
            (LineEnds::File, Some(before)) => self.file.with_line_ends_of(&before.bytes)?,
            (LineEnds::File, None) | (LineEnds::Diff, _) => (Cow::Borrowed(&self.file), None),
        };
        warnings.extend(remark);
        let Patched { after, hunks, lines, warnings: more } =
            file.apply(before.as_ref().map(Side::from), self.placement)?;
        warnings.extend(more);
        let after = after.map(|(bytes, mode)| Content::new(bytes, mode));
        let part = match (&self.file.operation, &before, &after) {
            (Operation::Modify { .. }, Some(before), Some(after)) => {
                Some(diff::render_placed(&file, &hunks, (before.into(), after.into()))?)
            }
            _ => None,
        };
        let mut effect = Effect::new(Sides { from, before, to, after, copies: self.copies(), lines });
        effect.part = part;
        let hunk = |hunk: PlacedHunk| AppliedHunk { header_line: hunk.header_line, line: hunk.at, offset: hunk.offset };
        effect.outcome.hunks = hunks.into_iter().map(hunk).collect();
        effect.outcome.warnings = warnings;
        Ok(effect)
    }

    /// The file that the diff is about. Within a patch, a rename or copy takes the file as it was before the patch. Git reads
    /// and writes them so, and a copy often stands behind the part that changes its source.
    fn read(&self, draft: &Draft<'_>, from: &RepoPath, warnings: &mut Vec<String>) -> Result<Option<Content>, Error> {
        let moves = self.file.target().is_some_and(|to| to != from);
        let opened = self.patch.filter(|_| moves).and_then(|patch| draft.opened(from, patch));
        let now = draft.read(from)?;
        let verb = if self.copies() { "copies" } else { "renames" };
        match opened {
            Some(before) if before.as_ref().map(Content::stamp) == now.as_ref().map(Content::stamp) => Ok(now),
            Some(Some(before)) if self.copies() => {
                warnings.push(format!("it is a copy of `{from}` as it was before this patch"));
                Ok(Some(before.clone()))
            }
            Some(_) => Err(Error::new(
                Code::PatchRejected,
                format!("line {} of the diff {verb} `{from}`, which an earlier part changes or makes", self.file.line),
            )
            .detail("path", from.as_str())
            .detail("line", self.file.line)
            .hint("git reads all parts of a patch against the same tree; put this part into a patch of its own")),
            None => Ok(now),
        }
    }

    /// Adapts an error about an existing file at the place of a new one to the author of the diff.
    fn occupied(&self, error: Error, to: &RepoPath) -> Error {
        if error.code() != Code::StalePreimage {
            return error;
        }
        let line = self.file.line;
        Error::new(error.code(), format!("line {line} of the diff makes `{to}`, which exists already"))
            .detail("path", to.as_str())
            .detail("line", line)
            .hint("make a diff against the tree as it is; files change places by way of another path, in patches of their own")
    }
}

impl PlannedStep {
    /// The step as one that changes nothing; none unless the file is as it makes it.
    pub(super) fn done_before(&self, draft: &Draft<'_>) -> Result<Option<Effect>, Error> {
        let now = match draft.read(&self.path) {
            Ok(now) => now,
            // Whatever is there then, it is none of the plan's files.
            Err(error) if matches!(error.code(), Code::InvalidPath | Code::Unreadable | Code::Unwritable) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if now.as_ref().map(Content::stamp) != self.after {
            return Ok(None);
        }
        let (from, to, lines) = (&self.path, &self.path, Lines::default());
        Ok(Some(Effect::new(Sides { from, before: now.clone(), to, after: now, copies: false, lines })))
    }

    pub(super) fn carry_out(&self, draft: &Draft<'_>) -> Result<Effect, Error> {
        let path = &self.path;
        let stale = || Error::new(Code::StalePreimage, format!("`{path}` changed")).detail("path", path.as_str());
        let before = draft.read(path).map_err(|error| match error.code() {
            // A folder, a pipe, or a link on the way: all newer than the plan.
            Code::InvalidPath | Code::Unreadable | Code::Unwritable => stale(),
            _ => error,
        })?;
        if before.as_ref().map(Content::stamp) != self.before {
            return Err(stale());
        }
        let damaged = |what: &str| {
            Error::new(Code::RecordDamaged, format!("the plan is damaged: {what} `{path}`"))
                .detail("path", path.as_str())
                .hint("make the plan again; a plan can't be edited")
        };
        let mut made = before.as_ref().map(|content| (content.bytes.to_vec(), content.mode));
        let mut lines = Vec::new();
        for part in &self.parts {
            let side = made.as_ref().map(|(bytes, mode)| Side { bytes, mode: *mode });
            let patched = part.apply(side, Placement::Exact).map_err(|_| damaged("its diff does not fit"))?;
            made = patched.after;
            lines.push(patched.lines);
        }
        let lines: Lines = lines.into_iter().sum();
        let after = match (made, self.after) {
            (None, None) => None,
            (Some((bytes, mode)), Some(stamp)) if keeps(mode, stamp.mode) => Some(Content::new(bytes, stamp.mode)),
            _ => return Err(damaged("its diff makes something else of")),
        };
        if after.as_ref().map(Content::stamp) != self.after {
            return Err(damaged("its diff makes something else of"));
        }
        Ok(Effect::new(Sides { from: path, before, to: path, after, copies: false, lines }))
    }
}

/// True if a diff that makes one mode may mean the other: git keeps the owner's execute bit, and the bits that are not
/// permissions.
fn keeps(made: u32, planned: u32) -> bool {
    made == planned || planned & !0o777 == made & !0o777 && (made ^ planned) & 0o100 == 0
}

/// Every changed file of a plan, in one error; none if there is none.
pub(super) fn stale_files<'e>(errors: impl Iterator<Item = &'e Error>) -> Option<Error> {
    const NAMED: usize = 5;
    let stale = errors.filter(|error| error.code() == Code::StalePreimage);
    let files: Vec<&str> = stale.filter_map(|error| error.details().get("path")?.as_str()).collect();
    if files.is_empty() {
        return None;
    }
    let named: Vec<String> = files.iter().take(NAMED).map(|file| format!("`{file}`")).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("{}{more} changed since the plan was made", named.join(", "));
    Some(
        Error::new(Code::StalePreimage, message)
            .detail("files", files)
            .hint("make the plan again, and look at it again"),
    )
}
